//! Query times in the states in which users find an index: during a load, just loaded, compacted,
//! just opened, and short of memory.
//!
//! `cargo bench --bench states -- load DIR DOCUMENTS [TIER_SEGMENTS_MAX]` creates an index in DIR.
//! It measures the index during the load, just loaded, after waits of up to twice the time of the
//! load, and compacted. `open DIR DOCUMENTS SECONDS [pread]` opens the index and measures it at
//! once and after SECONDS. `edit DIR DOCUMENTS BYTES` loads documents with payloads, replaces half
//! of them at random, compacts and verifies; it prints the bytes written, the bytes on disk, and
//! the time of each step. `steady DIR DOCUMENTS RATE SECONDS` loads and compacts documents with the
//! default bands, then inserts RATE more per second in batches of 100 while another thread asks,
//! and measures now and then. `verify DIR NAME` verifies the index NAME three times. `scan DIR
//! DOCUMENTS` measures the time per candidate of queries that amount to a scan: with 3,000
//! candidates, and with nine documents in ten. To limit memory and processors, start the program
//! that `cargo bench --no-run` names in a cgroup, or with `taskset -c 0`.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

mod support;

use nearkin::{Batch, Index, Maintenance, Options, Params, ReadMode, Shingles, Signature};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of queries per figure.
const QUERIES: u64 = 1_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<u64>().ok()).unwrap_or(0);
    match args.first().map(String::as_str) {
        Some("load") => load(args[1].as_ref(), number(2), number(3)),
        Some("steady") => steady(args[1].as_ref(), number(2), number(3), number(4)),
        Some("edit") => edit(args[1].as_ref(), number(2), number(3)),
        Some("compact") => compact(&Path::new(&args[1]).join(&args[2])),
        Some("scan") => {
            scan(&Path::new(&args[1]).join("sparse"), number(2), 3_000);
            scan(&Path::new(&args[1]).join("dense"), number(2), number(2) * 9 / 10);
        }
        Some("verify") => verify(&Path::new(&args[1]).join(&args[2])),
        Some("open") => {
            let is_pread = args.last().is_some_and(|arg| arg == "pread");
            open(args[1].as_ref(), number(2), Duration::from_secs(number(3)), is_pread);
        }
        _ => eprintln!("SKIPPED: its arguments are in the first lines of benches/states.rs"),
    }
}

/// Signatures of stored documents, or of unknown ones, in random order.
fn queries(params: &Params, documents: u64, seed: u64, are_stored: bool) -> Vec<Signature> {
    let mut state = seed;
    let mut next = || support::random(&mut state) % documents;
    let apart = if are_stored { 0 } else { 10 * documents };
    (0..QUERIES).map(|_| support::signature(params, next() + apart)).collect()
}

/// Mean, median and 99th percentile of the query times, in microseconds. Every stored document must
/// be found.
fn timed(index: &Index, queries: &[Signature], are_stored: bool) -> (f64, f64, f64) {
    let begin = Instant::now();
    let one = |query: &Signature| {
        let begin = Instant::now();
        let found = index.query(query).run().unwrap().found;
        let took = begin.elapsed();
        assert_eq!(found > 0, are_stored);
        took
    };
    let mut times: Vec<Duration> = queries.iter().map(one).collect();
    let mean = begin.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    (mean, at(50), at(99))
}

/// Prints a line of the table, from queries drawn with `seed`.
fn print_line(index: &Index, documents: u64, seed: u64, state: &str) {
    print_line_with(index, &support::params(), documents, seed, state);
}

fn print_line_with(index: &Index, params: &Params, documents: u64, seed: u64, state: &str) {
    for (kind, are_stored) in [("hit", true), ("miss", false)] {
        let (mean, p50, p99) =
            timed(index, &queries(params, documents, seed, are_stored), are_stored);
        println!("{state:<28} {kind:<5} mean {mean:9.2}  p50 {p50:8.2}  p99 {p99:8.2} us");
    }
}

fn load(folder: &Path, documents: u64, tier: u64) {
    let params = support::params();
    let path = folder.join("states.nearkin");
    let mut options = Options::default().maintenance(Maintenance::Shared);
    if tier > 0 {
        options = options.tier_segments_max(usize::try_from(tier).unwrap());
    }
    let index = Index::create(&path, &params, options).unwrap();
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    for first in (0..documents).step_by(usize::try_from(support::BATCH).unwrap()) {
        let batch = support::batches(&params, first, support::BATCH).pop().unwrap();
        let written = Instant::now();
        index.write(batch).unwrap();
        longest = longest.max(written.elapsed());
        // Measures after each fifth of the load, except the last. The time of these measurements
        // counts as part of the load.
        if first > 0 && first % (documents / 5).next_multiple_of(support::BATCH) == 0 {
            print_line(&index, first, first, &format!("loading, {first}"));
        }
    }
    let took = begin.elapsed();
    println!("loaded {documents} in {:.2} s, longest batch {longest:.1?}", took.as_secs_f64());
    for tenths in [0, 5, 10, 20] {
        std::thread::sleep((begin + took + took * tenths / 10).duration_since(Instant::now()));
        let stats = index.stats().unwrap();
        let label = format!("as loaded, after {:.1} loads", f64::from(tenths) / 10.0);
        print_line(&index, documents, u64::from(tenths) + 1, &label);
        println!(
            "  segments {}, written {:.2} GB",
            stats.segments,
            stats.bytes_written as f64 / 1e9
        );
    }
    let begin = Instant::now();
    index.compact().unwrap();
    println!("compact() took {:.2} s", begin.elapsed().as_secs_f64());
    let stats = index.stats().unwrap();
    println!("  on disk {:.2} GB", stats.bytes_on_disk as f64 / 1e9);
    print_line(&index, documents, 77, "compacted");
    print_line(&index, documents, 77, "compacted, asked again");
    index.close().unwrap();
}

/// Parameters with the default bands, and rows of a byte.
fn default_bands() -> Params {
    Params::for_threshold(0.7).hashes(128).bands(17, 5).lane_bits(8).build().unwrap()
}

fn write_batch(index: &Index, params: &Params, numbers: std::ops::Range<u64>) -> Duration {
    let insert = |batch: Batch, number| {
        batch.insert(support::key(number), &support::signature(params, number))
    };
    let batch = numbers.fold(Batch::new(), insert);
    let begin = Instant::now();
    index.write(batch).unwrap();
    begin.elapsed()
}

/// Asks until `end`, a fifth of the time, for documents at random: those who use an index keep its
/// pages in memory. (A system that reclaims what was not read for some seconds would drop them.)
fn keep_asking(index: &Index, params: &Params, documents: u64, end: Instant) {
    let mut seed = 1_000;
    while Instant::now() < end {
        let begin = Instant::now();
        timed(index, &queries(params, documents, seed, true), true);
        seed += 1;
        std::thread::sleep(
            (begin.elapsed() * 4).min(end.saturating_duration_since(Instant::now())),
        );
    }
}

fn steady(folder: &Path, documents: u64, rate: u64, seconds: u64) {
    let params = default_bands();
    // A writer that never stops leaves no idle time; so that the state right after the load lasts
    // until it is measured, there is none here either.
    let options = Options::default().maintenance(Maintenance::Shared).merge_when_idle(false);
    let index = Index::create(folder.join("steady.nearkin"), &params, options).unwrap();
    let mut longest = Duration::ZERO;
    for first in (0..documents).step_by(1_000) {
        longest = longest.max(write_batch(&index, &params, first..first + 1_000));
    }
    let account = |longest: Duration| {
        let stats = index.stats().unwrap();
        let (segments, recent) = (stats.segments, stats.memtable_documents);
        let times = stats.bytes_written as f64 / stats.bytes_on_disk as f64;
        println!(
            "  segments {segments}, memtable {recent}, longest batch {longest:.0?}, written \
             {times:.2} times what is on disk"
        );
    };
    let now = Instant::now();
    keep_asking(&index, &params, documents, now + Duration::from_secs(documents / 1_000_000 + 1));
    print_line_with(&index, &params, documents, 1, "as loaded");
    account(longest);
    index.compact().unwrap();
    let now = Instant::now();
    keep_asking(&index, &params, documents, now + Duration::from_secs(documents / 1_000_000 + 1));
    print_line_with(&index, &params, documents, 2, "compacted");
    account(Duration::ZERO);
    let (written, longest) = (AtomicU64::new(documents), AtomicU64::new(0));
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for batch in 0.. {
                let due = begin + Duration::from_secs_f64(f64::from(batch * 100) / rate as f64);
                if due > end {
                    break;
                }
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let first = written.load(Ordering::Relaxed);
                let took = write_batch(&index, &params, first..first + 100);
                longest.fetch_max(u64::try_from(took.as_micros()).unwrap(), Ordering::Relaxed);
                written.store(first + 100, Ordering::Release);
            }
        });
        for part in 1..=8_u32 {
            let due = begin + Duration::from_secs(seconds).mul_f64(f64::from(part) / 8.0);
            keep_asking(&index, &params, written.load(Ordering::Acquire), due);
            let label = format!("{rate}/s, after {:.0?}", begin.elapsed());
            let seed = 10 + u64::from(part);
            print_line_with(&index, &params, written.load(Ordering::Acquire), seed, &label);
            account(Duration::from_micros(longest.load(Ordering::Relaxed)));
        }
    });
    index.close().unwrap();
}

fn open(folder: &Path, documents: u64, wait: Duration, is_pread: bool) {
    let mode = if is_pread { ReadMode::Pread } else { ReadMode::Mmap };
    let options = Options::default().maintenance(Maintenance::Shared).read_mode(mode);
    let begin = Instant::now();
    let index = Index::open(folder.join("states.nearkin"), options).unwrap();
    println!("open took {:.2?}", begin.elapsed());
    print_line(&index, documents, 1, "at once");
    std::thread::sleep(wait);
    print_line(&index, documents, 2, &format!("after {wait:?}"));
    print_line(&index, documents, 2, "the same again");
    index.close().unwrap();
}

/// CPU time of this thread in seconds.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Writes documents with payloads in batches.
fn put(index: &Index, params: &Params, payload: &[u8], numbers: &mut dyn Iterator<Item = u64>) {
    loop {
        let insert = |batch: Batch, number| {
            batch.insert_with_payload(
                support::key(number),
                &support::signature(params, number),
                payload,
            )
        };
        let batch = numbers.take(1_000).fold(Batch::new(), insert);
        if batch.is_empty() {
            return;
        }
        index.write(batch).unwrap();
    }
}

fn edit(folder: &Path, documents: u64, payload_bytes: u64) {
    let params = support::params();
    let options = || Options::default().maintenance(Maintenance::Shared);
    let index = Index::create(folder.join("edit.nearkin"), &params, options()).unwrap();
    let each = |what: &str, (begin, cpu): (Instant, f64)| {
        let stats = index.stats().unwrap();
        println!(
            "{what:<16} {:7.2} s, {:6.2} of this thread; written {:7.0} B, on disk {:7.0} B a \
             document; segments {}, {} dead",
            begin.elapsed().as_secs_f64(),
            thread_seconds() - cpu,
            stats.bytes_written as f64 / documents as f64,
            stats.bytes_on_disk as f64 / documents as f64,
            stats.segments,
            stats.dead,
        );
    };
    let payload = vec![7; usize::try_from(payload_bytes).unwrap()];
    let now = || (Instant::now(), thread_seconds());
    let begin = now();
    put(&index, &params, &payload, &mut (0..documents));
    each("loaded", begin);
    std::thread::sleep(2 * begin.0.elapsed());
    each("two loads later", begin);
    let mut state = 5;
    let begin = now();
    let mut random = (0..documents / 2).map(|_| support::random(&mut state) % documents);
    put(&index, &params, &[&payload[..], b"!"].concat(), &mut random);
    each("half replaced", begin);
    std::thread::sleep(2 * begin.0.elapsed());
    each("two of that later", begin);
    let begin = now();
    index.compact().unwrap();
    each("compacted", begin);
    index.close().unwrap();
    verify(&folder.join("edit.nearkin"));
}

fn verify(path: &Path) {
    let index = Index::open(path, Options::default().maintenance(Maintenance::Inline)).unwrap();
    let bytes = index.stats().unwrap().bytes_on_disk as f64;
    for _ in 0..3 {
        let (begin, cpu) = (Instant::now(), thread_seconds());
        assert!(index.verify().unwrap().problems.is_empty());
        let (wall, cpu) = (begin.elapsed().as_secs_f64(), thread_seconds() - cpu);
        println!(
            "verify() of {:.0} MB: {:.0} MB/s, {:.0} of processor time",
            bytes / 1e6,
            bytes / 1e6 / wall,
            bytes / 1e6 / cpu
        );
    }
    index.close().unwrap();
}

fn compact(path: &Path) {
    let index = Index::open(path, Options::default().maintenance(Maintenance::Inline)).unwrap();
    let mut keys = index.snapshot().iter().map(|document| document.unwrap().key);
    let keys: Vec<_> = keys.by_ref().take(3).collect();
    for key in keys {
        index.remove(&key).unwrap();
        let (begin, cpu) = (Instant::now(), thread_seconds());
        index.compact().unwrap();
        let (wall, cpu) = (begin.elapsed().as_secs_f64(), thread_seconds() - cpu);
        println!("compact() of {}: {wall:.2} s, {cpu:.2} of processor time", index.len());
    }
    index.close().unwrap();
}

/// Measures queries whose candidates are not similar: each shares only one band of two rows with
/// the query, as unrelated documents do by accident.
fn scan(path: &Path, documents: u64, candidates: u64) {
    let params = Params::for_threshold(0.3).shingles(Shingles::Items).build().unwrap();
    let index = Index::create(path, &params, Options::default()).unwrap();
    let (mut state, mut draw, mut left) = (1, 2, candidates);
    let mut rows = || -> Vec<u8> {
        let words = 0..params.signature_bytes() / 8;
        words.flat_map(|_| support::random(&mut state).to_le_bytes()).collect()
    };
    let query_rows = rows();
    let band = params.band_bytes();
    let bands = 0..params.bands();
    let mut batch = Batch::new();
    for (number, at) in (0..documents).zip(bands.cycle()) {
        let mut other = rows();
        if support::random(&mut draw) % (documents - number) < left {
            let shared = at * band..(at + 1) * band;
            other[shared.clone()].copy_from_slice(&query_rows[shared]);
            left -= 1;
        }
        let signature = Signature::from_bytes(&params, &other, 200).unwrap();
        batch = batch.insert(support::key(number), &signature);
        if batch.len() == 10_000 || number + 1 == documents {
            index.write(std::mem::take(&mut batch)).unwrap();
        }
    }
    index.compact().unwrap();
    let query = Signature::from_bytes(&params, &query_rows, 200).unwrap();
    let one = || {
        let begin = Instant::now();
        index.query(&query).run().unwrap();
        begin.elapsed()
    };
    let shortest = std::iter::repeat_with(one).take(200).min().unwrap();
    let each = shortest.as_secs_f64() * 1e9 / candidates as f64;
    println!("{candidates} candidates of {documents}: {each:.1} ns each");
    index.close().unwrap();
}
