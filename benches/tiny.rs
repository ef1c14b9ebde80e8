//! Many tiny indexes: the cost of creating, filling, opening and querying an index of ten
//! documents, its size on disk, and the cost of many indexes that are open at the same time.
//!
//! `cargo bench --bench tiny -- DIR [INDEXES] [OPEN_AT_ONCE]`. DIR must not exist. On a file system
//! in memory (`/dev/shm`), syncs take no time, so the result is the time of everything else.

#![expect(clippy::print_stdout, reason = "a program for people prints")]
#![expect(clippy::disallowed_methods, reason = "looks at the files that an index leaves")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nearkin::{Batch, Index, Options, Params, Signature};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const DOCUMENTS: u32 = 10;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = PathBuf::from(args.next().ok_or("which directory?")?);
    let indexes = args.next().map_or(Ok(10_000), |text| text.parse::<usize>())?;
    let at_once = args.next().map_or(Ok(1_000), |text| text.parse::<usize>())?.min(indexes);
    fs::create_dir_all(&dir)?;
    let params = Params::for_threshold(0.7).build()?;
    let text = |number: u32| format!("document {number} of a tiny index that holds only a few");
    let sketcher = nearkin::Sketcher::new(&params);
    let signatures = (0..DOCUMENTS)
        .map(|number| sketcher.text(&text(number)))
        .collect::<nearkin::Result<Vec<_>>>()?;
    let path = |number: usize| dir.join(format!("{number:05}"));

    let [mut create, mut fill, mut close, mut open, mut query] = [(); 5].map(|()| Vec::new());
    let (mut syncs_created, mut syncs_filled) = (0, 0);
    for number in 0..indexes {
        let index =
            timed(&mut create, || Index::create(path(number), &params, Options::default()))?;
        if number == 0 {
            syncs_created = index.stats()?.syncs;
            say("empty, open", &path(0))?;
        }
        timed(&mut fill, || index.write(batch_of(&signatures)))?;
        if number == 0 {
            syncs_filled = index.stats()?.syncs - syncs_created;
            say("10 documents, open", &path(0))?;
        }
        timed(&mut close, || index.close())?;
    }
    say("10 documents, closed", &path(0))?;
    for number in 0..indexes {
        let index = timed(&mut open, || Index::open(path(number), Options::default()))?;
        let answer = timed(&mut query, || index.query(&signatures[0]).limit(3).run())?;
        assert!(answer.matches[0].similarity > 0.999);
        index.close()?;
    }
    println!("syncs: {syncs_created} to create, {syncs_filled} for the first write");
    for (what, times) in [
        ("create", &mut create),
        ("first write", &mut fill),
        ("close", &mut close),
        ("open", &mut open),
        ("query", &mut query),
    ] {
        times.sort_unstable();
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len())?;
        println!("{what}: median {:?}, mean {mean:?}, of {}", times[times.len() / 2], times.len());
    }
    open_at_once(&(0..at_once).map(path).collect::<Vec<_>>(), &signatures[1])
}

fn open_at_once(paths: &[PathBuf], signature: &Signature) -> Outcome<()> {
    let at_once = paths.len();
    let before = Process::now()?;
    let begin = Instant::now();
    let opened = paths.iter().map(|path| Index::open(path, Options::default()));
    let opened = opened.collect::<nearkin::Result<Vec<Index>>>()?;
    println!("{at_once} opened at once in {:?}", begin.elapsed());
    std::thread::sleep(Duration::from_secs(2));
    let idle = Process::now()?;
    println!("idle: {}", idle.beside(&before));
    let begin = Instant::now();
    for index in &opened {
        index.write(Batch::new().insert("one more", signature))?;
    }
    println!("each written to once in {:?}: {}", begin.elapsed(), Process::now()?.beside(&before));
    let begin = Instant::now();
    std::thread::sleep(Duration::from_secs(5));
    let busy = Process::now()?.processor_ms - idle.processor_ms;
    println!("the 5 s after took {busy} ms of a processor ({:?})", begin.elapsed());
    let begin = Instant::now();
    drop(opened);
    println!("dropped in {:?}", begin.elapsed());
    Ok(())
}

fn batch_of(signatures: &[Signature]) -> Batch {
    let insert = |batch: Batch, (key, signature): (u32, _)| {
        batch.insert_with_payload(key.to_string(), signature, "a payload")
    };
    (0..DOCUMENTS).zip(signatures).fold(Batch::new(), insert)
}

fn timed<T, E>(times: &mut Vec<Duration>, act: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let begin = Instant::now();
    let done = act();
    times.push(begin.elapsed());
    done
}

/// Prints the total size of the files of an index.
fn say(what: &str, dir: &Path) -> Outcome<()> {
    let mut files = Vec::new();
    collect(dir, &mut files)?;
    let (mut bytes, mut allocated) = (0, 0);
    let mut list = String::new();
    for path in files {
        let about = fs::metadata(&path)?;
        bytes += about.len();
        allocated += std::os::unix::fs::MetadataExt::blocks(&about) * 512;
        let name = path.strip_prefix(dir)?.display();
        let _ = write!(list, " {name} {}", about.len());
    }
    println!("{what}: {bytes} bytes in files, {allocated} on disk:{list}");
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Resource use of this process, from /proc.
struct Process {
    threads: u64,
    descriptors: u64,
    resident_kib: u64,
    maps: u64,
    processor_ms: u64,
}

impl Process {
    fn now() -> Outcome<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| -> Outcome<u64> {
            let line = status.lines().find(|line| line.starts_with(name)).ok_or("a field")?;
            Ok(line.split_whitespace().nth(1).ok_or("a number")?.parse()?)
        };
        let stat = fs::read_to_string("/proc/self/stat")?;
        let mut times = stat.rsplit(')').next().ok_or("a name")?.split_whitespace().skip(11);
        let mut ticks = || -> Outcome<u64> { Ok(times.next().ok_or("ticks")?.parse()?) };
        Ok(Self {
            threads: field("Threads:")?,
            descriptors: u64::try_from(fs::read_dir("/proc/self/fd")?.count())?,
            resident_kib: field("VmRSS:")?,
            maps: u64::try_from(fs::read_to_string("/proc/self/maps")?.lines().count())?,
            // A tick is 10 ms on Linux.
            processor_ms: (ticks()? + ticks()?) * 10,
        })
    }

    fn beside(&self, before: &Self) -> String {
        let Self { threads, descriptors, resident_kib, maps, .. } = self;
        format!(
            "{} threads, {} descriptors, {} maps, {} MiB more",
            threads - before.threads,
            descriptors - before.descriptors,
            maps - before.maps,
            resident_kib.saturating_sub(before.resident_kib) >> 10,
        )
    }
}
