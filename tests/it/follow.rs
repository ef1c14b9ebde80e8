//! A reader process beside a writer at full speed, with continuous flushes and merges. Each answer
//! must equal brute force at the change that the answer names.
//!
//! The content of change n follows from n, so the number determines the expected documents.
//! `NEARKIN_FOLLOW_SECONDS` is the duration (default 4). Prints the writer's speed, alternately
//! alone and beside the reader, and the reader's counts:
//!
//! ```text
//! NEARKIN_FOLLOW_SECONDS=600 cargo test --release --test it follow -- --nocapture
//! ```

use crate::support::{Random, Scratch, again, equal_rows, params, run};
use nearkin::{Batch, ErrorKind, Index, Options, Reader, Signature};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Environment variable for the reader process: the path of the index.
const VARIABLE: &str = "NEARKIN_TEST_FOLLOWING_READER";
/// Documents per change.
const BATCH: u64 = 32;
/// Number of keys. Writes go through them again and again.
const KEYS: u64 = 6_000;
const SIGNATURES: u64 = 2_000;
const THRESHOLD: f64 = 0.4;
/// Number of queries between two refreshes. The answer to the last query is compared with brute
/// force.
const QUERIES: u64 = 16;

/// Determines the content of all changes.
struct Script {
    signatures: Vec<Signature>,
}

/// The key of write number `number`, counted over all changes.
fn key(number: u64) -> String {
    format!("k{}", number % KEYS)
}

impl Script {
    fn new() -> Self {
        // The signatures of each group of eight are similar to each other.
        let begin = |number: u64| u32::try_from((number / 8) * 1_000 + (number % 8) * 3).unwrap();
        Self { signatures: (0..SIGNATURES).map(|number| run(begin(number), 30)).collect() }
    }

    fn which(number: u64) -> u64 {
        Random(number).next() % SIGNATURES
    }

    /// Whether this write is a remove.
    fn removes(number: u64) -> bool {
        number % 7 == 3
    }

    fn batch(&self, change: u64) -> Batch {
        let mut batch = Batch::new();
        for number in change * BATCH..(change + 1) * BATCH {
            if Self::removes(number) {
                batch = batch.remove(key(number));
            } else {
                let signature = &self.signatures[usize::try_from(Self::which(number)).unwrap()];
                batch = batch.insert_with_payload(key(number), signature, number.to_string());
            }
        }
        batch
    }

    /// The numbers of the writes whose documents are live after a change.
    fn live(change: u64) -> Vec<u64> {
        let end = (change + 1) * BATCH;
        // Change 0 is the empty index, so the first write has the number `BATCH`.
        let numbers = BATCH.max(end.saturating_sub(KEYS))..end;
        numbers.filter(|number| !Self::removes(*number)).collect()
    }

    /// Computes the expected matches by brute force.
    fn query(&self, query: u64, live: &[u64]) -> Vec<(String, String, u32)> {
        let query = &self.signatures[usize::try_from(query).unwrap()];
        let (params, width) = (params(), params().band_bytes());
        let alike = |other: &Signature| {
            let (a, b) = (query.as_bytes(), other.as_bytes());
            let mut bands = a.chunks(width).zip(b.chunks(width)).take(params.bands());
            let equal = equal_rows(&params, query, other);
            (bands.any(|(a, b)| a == b) && equal >= params.equal_rows_min(THRESHOLD))
                .then_some(equal)
        };
        let alike: Vec<Option<u32>> = self.signatures.iter().map(alike).collect();
        let mut found: Vec<(String, String, u32)> = Vec::new();
        for number in live {
            if let Some(equal) = alike[usize::try_from(Self::which(*number)).unwrap()] {
                found.push((key(*number), number.to_string(), equal));
            }
        }
        found.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        found
    }
}

/// Counts of a reader process.
#[derive(Debug, Default)]
struct Figures {
    opened: u64,
    refreshed: u64,
    newer: u64,
    queries: u64,
    verified: u64,
    change: u64,
}

impl Figures {
    fn line(&self) -> String {
        let Self { opened, refreshed, newer, queries, verified, change } = self;
        format!("{opened} {refreshed} {newer} {queries} {verified} {change}")
    }

    fn parse(line: &str) -> Self {
        let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
        let mut next = || numbers.next().unwrap();
        let (opened, refreshed, newer) = (next(), next(), next());
        Self { opened, refreshed, newer, queries: next(), verified: next(), change: next() }
    }

    fn add(&mut self, other: &Self) {
        self.opened += other.opened;
        self.refreshed += other.refreshed;
        self.newer += other.newer;
        self.queries += other.queries;
        self.verified += other.verified;
        self.change = other.change;
    }
}

fn ask(reader: &Reader, script: &Script, random: &mut Random, figures: &mut Figures) {
    let change = reader.change();
    let mut last = None;
    for _ in 0..QUERIES {
        let number = random.next() % SIGNATURES;
        let signature = &script.signatures[usize::try_from(number).unwrap()];
        let answer = reader.query(signature).threshold(THRESHOLD).run().unwrap();
        assert_eq!(answer.change, change);
        last = Some((number, answer));
        figures.queries += 1;
    }
    let (number, answer) = last.unwrap();
    let live = Script::live(change);
    assert_eq!(usize::try_from(reader.len()).unwrap(), live.len(), "documents at {change}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let found = answer.into_iter().map(|m| (text(m.key), text(m.payload), m.equal_rows));
    let found: Vec<_> = found.collect();
    assert_eq!(found, script.query(number, &live), "signature {number} at change {change}");
    figures.verified += 1;
}

#[test]
fn the_reading_process() {
    let Some(dir) = std::env::var_os(VARIABLE) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    std::thread::spawn(move || {
        // Returns when the writer closes the pipe or exits.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopped.store(true, Ordering::Relaxed);
    });
    let script = Script::new();
    let mut random = Random(5);
    let mut figures = Figures::default();
    // On a busy machine, the reader may return `Unsettled`: then try again.
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let reader = match Reader::open(&dir, Options::default()) {
            Err(error) if error.kind() == ErrorKind::Unsettled => {
                let may_come = figures.opened > 0 || begin.elapsed() < Duration::from_secs(60);
                assert!(may_come, "it never settles");
                continue;
            }
            opened => opened.unwrap(),
        };
        if figures.opened == 0 {
            println!("\nready");
        }
        figures.opened += 1;
        for _ in 0..100 {
            ask(&reader, &script, &mut random, &mut figures);
            let before = reader.change();
            let newer = match reader.refresh() {
                Err(error) if error.kind() == ErrorKind::Unsettled => false,
                newer => newer.unwrap(),
            };
            assert_eq!(newer, reader.change() > before, "{} after {before}", reader.change());
            figures.refreshed += 1;
            figures.newer += u64::from(newer);
            figures.change = reader.change();
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    println!("read {}", figures.line());
}

/// A process that reads until its input is closed.
struct Reading {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Reading {
    fn begin(dir: &Path) -> Self {
        let mut command = again("follow::the_reading_process", VARIABLE, dir);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().map(Result::unwrap).any(|line| line == "ready"));
        Self { child, lines }
    }

    fn end(mut self) -> Figures {
        drop(self.child.stdin.take());
        let lines: Vec<String> = self.lines.map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success(), "the reader failed: {lines:#?}");
        let read = lines.iter().find_map(|line| line.strip_prefix("read "));
        Figures::parse(read.expect("what it did"))
    }
}

/// Writes for this time. Returns the number of changes per second.
fn write(index: &Index, script: &Script, change: &mut u64, time: Duration) -> f64 {
    let (begin, first) = (Instant::now(), *change);
    while begin.elapsed() < time {
        *change += 1;
        assert_eq!(index.write(script.batch(*change)).unwrap().change, *change);
    }
    f64::from(u32::try_from(*change - first).unwrap()) / begin.elapsed().as_secs_f64()
}

#[test]
fn a_reader_process_answers_by_the_law_beside_a_busy_writer() {
    let seconds: u32 =
        std::env::var("NEARKIN_FOLLOW_SECONDS").map_or(4, |text| text.parse().unwrap());
    // The two speeds are measured alternately, because the speed of the machine varies.
    let turns = (seconds / 20).clamp(1, 30);
    let time = Duration::from_secs(u64::from(seconds)) / (2 * turns);
    let scratch = Scratch::new();
    let options = Options::default().memtable_bytes_max(1 << 20).tier_segments_max(4);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let script = Script::new();
    let mut change = 0;
    write(&index, &script, &mut change, time / 4);
    let (mut alone, mut beside, mut all) = (0.0, 0.0, Figures::default());
    for _ in 0..turns {
        alone += write(&index, &script, &mut change, time);
        let first = change;
        let reading = Reading::begin(&scratch.dir());
        beside += write(&index, &script, &mut change, time);
        let figures = reading.end();
        assert!(figures.newer > 0 && figures.change > first, "{figures:?} after {first}");
        all.add(&figures);
    }
    let share = 100.0 * beside / alone;
    println!("{change} changes of {BATCH} documents; reader: {all:?}");
    let turns = f64::from(turns);
    println!(
        "changes a second: {:.0} alone, {:.0} beside a reader: {share:.0} %",
        alone / turns,
        beside / turns
    );
    assert_eq!(index.len(), u64::try_from(Script::live(change).len()).unwrap());
    index.close().unwrap();
    let reader = Reader::open(scratch.dir(), Options::default()).unwrap();
    assert_eq!(reader.change(), change);
    ask(&reader, &script, &mut Random(7), &mut all);
}
