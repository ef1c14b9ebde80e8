//! Write speed: durable batches, single writes, removes, reopening.
//!
//! `cargo bench --bench write_speed -- DIR [DOCUMENTS [BATCH [THREADS]]]`. DIR must not exist. With
//! 0 documents, it must exist and is only opened. With 0 threads, one thread writes, and the
//! process then exits as if killed. A signature has 128 rows of 8 bits, in 16 bands of 8. One
//! document in ten is similar to an earlier one. Besides the wall-clock time, the benchmark prints
//! the CPU time of the writing thread, which is less sensitive to other load.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::path::Path;
use std::time::{Duration, Instant};

use nearkin::{Batch, Index, Options, Params, Shingles, Signature, Sketcher};

/// Items per document.
const ITEMS: u64 = 40;
/// Up to this many documents, all signatures are made before the run; with more documents, they are
/// made between writes.
const MADE_MAX: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = args.next().ok_or("which directory?")?;
    let mut number = |default| args.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (documents, batch, threads) = (number(100_000)?, number(1_000)?, number(1)?);
    if documents == 0 {
        let clock = Clock::start();
        let index = Index::open(&dir, Options::default())?;
        clock.report("reopen", 1, &dir);
        println!("{:?}", index.stats()?.recovery);
        return Ok(());
    }
    let params = Params::builder().shingles(Shingles::Items).bands(16, 8).lane_bits(8).build()?;
    let index = Index::create(&dir, &params, Options::default())?;
    let sketcher = index.sketcher();
    let made = if documents > MADE_MAX { Vec::new() } else { signatures(&sketcher, documents)? };
    let clock = Clock::start();
    let mut longest = Duration::ZERO;
    if threads > 1 {
        std::thread::scope(|scope| {
            let per = documents / threads;
            for thread in 0..threads {
                let (index, made) = (&index, &made);
                scope.spawn(move || write(index, made, thread * per, per, batch));
            }
        });
    } else if made.is_empty() {
        let mut sketching = 0.0;
        for begin in (0..documents).step_by(100_000) {
            let before = thread_seconds();
            let part = part(&sketcher, begin, 100_000.min(documents - begin))?;
            sketching += thread_seconds() - before;
            longest = longest.max(write_from(&index, &part, begin, batch)?);
        }
        println!("of the CPU time {sketching:.2} s went into sketching");
    } else {
        longest = write(&index, &made, 0, documents, batch)?;
    }
    clock.report("insert", documents, &dir);
    if threads == 0 {
        println!("{} documents in the memtable", index.stats()?.memtable_documents);
        std::process::exit(0);
    }
    println!("longest write {longest:.1?}, {} segments", index.stats()?.segments);
    memory();
    let clock = Clock::start();
    for begin in (0..documents / 10).step_by(1_000) {
        let keys = (begin..begin + 1_000).map(|at| key(at * 7 % documents));
        index.write(keys.fold(Batch::new(), Batch::remove))?;
    }
    clock.report("remove", documents / 10, &dir);
    let clock = Clock::start();
    index.compact()?;
    clock.report("compact", documents, &dir);
    memory();
    index.close()?;
    let clock = Clock::start();
    drop(Index::open(&dir, Options::default())?);
    clock.report("reopen", 1, &dir);
    Ok(())
}

fn key(at: u64) -> String {
    format!("doc-{at:010}")
}

fn write(
    index: &Index,
    made: &[Signature],
    from: u64,
    count: u64,
    batch: u64,
) -> Result<Duration, nearkin::Error> {
    let begin = usize::try_from(from).unwrap_or(0);
    let end = usize::try_from(from + count).unwrap_or(0);
    write_from(index, &made[begin..end], from, batch)
}

/// Writes the documents in batches. Returns the longest time of a write.
fn write_from(
    index: &Index,
    signatures: &[Signature],
    from: u64,
    batch: u64,
) -> Result<Duration, nearkin::Error> {
    let mut longest = Duration::ZERO;
    let mut at = from;
    for chunk in signatures.chunks(usize::try_from(batch).unwrap_or(1)) {
        let begin = Instant::now();
        let mut batch = Batch::new();
        for signature in chunk {
            batch = batch.insert(key(at), signature);
            at += 1;
        }
        index.write(&batch)?;
        longest = longest.max(begin.elapsed());
    }
    Ok(longest)
}

fn signatures(sketcher: &Sketcher, documents: u64) -> Result<Vec<Signature>, nearkin::Error> {
    part(sketcher, 0, documents)
}

fn part(sketcher: &Sketcher, from: u64, count: u64) -> Result<Vec<Signature>, nearkin::Error> {
    let like = |at: u64| if at % 10 == 9 { at / 2 } else { at };
    let item =
        |at: u64, item: u64| if item < 2 { at * ITEMS + item } else { like(at) * ITEMS + item };
    (from..from + count)
        .map(|at| sketcher.items((0..ITEMS).map(|number| i128::from(item(at, number)))))
        .collect()
}

struct Clock {
    wall: Instant,
    cpu: f64,
    written: u64,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_seconds(), written: written() }
    }

    fn report(&self, what: &str, count: u64, dir: &str) {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = thread_seconds() - self.cpu;
        let bytes = written() - self.written;
        println!(
            "{what}: {:.0}/s ({wall:.3} s; CPU of this thread {cpu:.3} s, {:.0} ns each), written \
             {} MB, on disk {} MB",
            count as f64 / wall,
            cpu / count as f64 * 1e9,
            bytes >> 20,
            size(Path::new(dir)) >> 20,
        );
    }
}

/// CPU time of this thread in seconds.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Number of bytes that this process has passed to write calls.
fn written() -> u64 {
    field("/proc/self/io", "wchar:")
}

/// Prints the anonymous memory, now and at its peak.
fn memory() {
    let status = |name| field("/proc/self/status", name) >> 10;
    println!("anonymous {} MiB, peak with maps {} MiB", status("RssAnon:"), status("VmHWM:"));
}

fn field(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}
