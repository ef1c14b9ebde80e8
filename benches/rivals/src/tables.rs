//! Measures all engines on synthetic signatures, in turn, in one process.

use crate::clock::{Latencies, by_turns, queries, query_rate, time};
use crate::engines::{Engine, Kind};
use crate::machine::{disk_bytes, disk_traffic, evict};
use crate::made::{self, Random, Signature};
use crate::options::Options;
use crate::results::{Result, Results, Subject, median};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Documents per durable batch, as in an application that receives documents continuously.
pub const BATCH: u32 = 1_000;
/// Documents per batch in a bulk load into trees, which are fastest with many sorted keys at a
/// time.
const TREE_BATCH: u32 = 10_000;
/// Documents per batch in a second load of all durable engines. A crash loses a hundred times as
/// many documents as with `BATCH`.
const LARGEST_BATCH: u32 = 100_000;
pub const IN_LARGEST_BATCHES: &str = "insert, batches of 100,000";
/// Maximum number of documents for which the trees' second load uses small batches; with more
/// documents, that would take minutes.
const SMALL_BATCHES_MAX: u32 = 100_000;
/// Above this number of documents, SQLite and redb have fewer runs.
const SLOW_ABOVE: u32 = 300_000;
const REMOVED_MAX: u32 = 10_000;
/// Number of hits measured right after opening, while background work may still run.
pub const FIRST: usize = 1_000;
pub const FIRST_AT_ONCE: &str = "hit p50, the first 1,000 after opening";
const FIRST_LATER: &str = "hit p50, the first 1,000, 0.25 s after opening";
const CAUGHT_UP_MS: u64 = 250;

/// Checks that all engines give the same answers, then measures them at every size.
pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let chosen = |kind: &Kind| {
        options.engines.as_ref().is_none_or(|names| names.iter().any(|name| name == kind.name()))
    };
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(chosen).collect();
    check_answers(options, &kinds)?;
    for documents in &options.sizes {
        for run in 0..options.runs {
            one_run(options, &kinds, *documents, run, results)?;
        }
    }
    Ok(())
}

/// Measures all engines at one size, once. The engines that take seconds run before and after each
/// engine that takes minutes, because the machine's speed changes meanwhile; the median of their
/// results counts.
fn one_run(
    options: &Options,
    kinds: &[Kind],
    documents: u32,
    run: u32,
    results: &mut Results,
) -> Result<()> {
    let measure = |kind: Kind, results: &mut Results| -> Result<()> {
        let folder = fresh_folder(options, kind.name())?;
        let one = Measured { kind, documents, folder, results };
        let (seconds, ()) = time(|| one.all(options))?;
        eprintln!("{documents} documents, run {}: {} {seconds:.1} s", run + 1, kind.name());
        Ok(())
    };
    let is_due = |kind: &Kind| {
        let slow = matches!(kind, Kind::Sqlite | Kind::Redb) && documents > SLOW_ABOVE;
        !slow || run < options.slow_runs
    };
    let (quick, others): (Vec<Kind>, Vec<Kind>) = kinds.iter().partition(|kind| kind.is_quick());
    let mut others = others.into_iter().filter(is_due);
    let (mut repeated, mut once) = (Results::default(), Results::default());
    loop {
        for kind in &quick {
            measure(*kind, &mut repeated)?;
        }
        let Some(kind) = others.next() else { break };
        measure(kind, &mut once)?;
    }
    results.note_medians(&repeated);
    results.note_medians(&once);
    Ok(())
}

/// An empty folder in the scratch space.
pub fn fresh_folder(options: &Options, name: &str) -> Result<PathBuf> {
    let folder = options.work.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Checks that every engine's answers match the definition: before and after reopening, and with
/// some documents removed. If they do not, measuring makes no sense.
fn check_answers(options: &Options, kinds: &[Kind]) -> Result<()> {
    let count = 10_000;
    let stored = made::documents(0, count);
    let mut signatures = made::hits(1_000, count);
    signatures.extend(made::misses(200));
    let removed: Vec<u32> = (0..count).filter(|document| document % 7 == 3).collect();
    let expected: Vec<Vec<u32>> =
        signatures.iter().map(|query| made::brute_force(query, &stored)).collect();
    let found: usize = expected.iter().map(Vec::len).sum();
    for kind in kinds {
        let folder = fresh_folder(options, kind.name())?;
        let mut engine = kind.open(&folder)?;
        for first in (0..count).step_by(BATCH as usize) {
            engine.stage(first, &stored[first as usize..(first + BATCH) as usize])?;
            engine.insert()?;
        }
        compare(*kind, &*engine, &signatures, &expected)?;
        if kind.is_durable() {
            engine.close()?;
            engine = kind.open(&folder)?;
            compare(*kind, &*engine, &signatures, &expected)?;
        }
        engine.remove(&removed)?;
        engine.settle()?;
        let without = |answer: &Vec<u32>| -> Vec<u32> {
            answer.iter().copied().filter(|document| document % 7 != 3).collect()
        };
        let less: Vec<Vec<u32>> = expected.iter().map(without).collect();
        compare(*kind, &*engine, &signatures, &less)?;
        engine.close()?;
    }
    let planted = 1_000.0;
    println!(
        "{} engines give the {} answers of the definition: {found} matches, {:.1} % of queries \
         that have one find it",
        kinds.len(),
        signatures.len(),
        expected.iter().filter(|answer| !answer.is_empty()).count() as f64 / planted * 100.0,
    );
    Ok(())
}

fn compare(
    kind: Kind,
    engine: &dyn Engine,
    signatures: &[Signature],
    expected: &[Vec<u32>],
) -> Result<()> {
    let mut reader = engine.reader()?;
    reader.stage(signatures)?;
    for (at, expected) in expected.iter().enumerate() {
        let mut found = Vec::new();
        reader.query(at, &mut found)?;
        found.sort_unstable();
        if found != *expected {
            let name = kind.name();
            return Err(format!("{name}, query {at}: {found:?} instead of {expected:?}").into());
        }
    }
    Ok(())
}

/// One engine at one size, in one run.
struct Measured<'a> {
    kind: Kind,
    documents: u32,
    folder: PathBuf,
    results: &'a mut Results,
}

impl Measured<'_> {
    fn note(&mut self, measure: &str, unit: &str, value: f64) {
        let of = Subject {
            stage: "tables",
            engine: self.kind.name(),
            durability: self.kind.durability(),
            documents: u64::from(self.documents),
        };
        self.results.note(of, measure, unit, value);
    }

    fn all(mut self, options: &Options) -> Result<()> {
        if let Some((batch, measure)) = self.other_batches() {
            let folder = fresh_folder(options, "other-batches")?;
            let mut engine = self.kind.open(&folder)?;
            let seconds = load(&mut *engine, self.documents, batch)?;
            self.note(measure, "documents/s", self.rate(seconds));
            engine.close()?;
            std::fs::remove_dir_all(folder)?;
        }
        let mut engine = self.loaded()?;
        self.queries(&*engine, options)?;
        if self.kind.is_durable() {
            engine = self.reopened(engine)?;
            self.singles(&mut *engine, options.singles)?;
        }
        self.removals(&mut *engine)?;
        engine.close()?;
        Ok(std::fs::remove_dir_all(&self.folder)?)
    }

    /// The batch size of a second load and the name of its measure, the insert rate; `None` if this
    /// engine has no second load. The second load measures nothing else.
    fn other_batches(&self) -> Option<(u32, &'static str)> {
        if self.documents > SMALL_BATCHES_MAX {
            self.kind.is_durable().then_some((LARGEST_BATCH, IN_LARGEST_BATCHES))
        } else {
            self.kind.is_tree().then_some((BATCH, "insert, batches of 1,000"))
        }
    }

    fn rate(&self, seconds: f64) -> f64 {
        f64::from(self.documents) / seconds
    }

    /// Loads all documents, and prepares the engine for the fastest reads.
    fn loaded(&mut self) -> Result<Box<dyn Engine>> {
        let mut engine = self.kind.open(&self.folder)?;
        let batch = if self.kind.is_tree() { TREE_BATCH } else { BATCH };
        let measure = if self.kind.is_tree() {
            "insert, batches of 10,000"
        } else {
            "insert, batches of 1,000"
        };
        let before = disk_traffic().0;
        let seconds = load(&mut *engine, self.documents, batch)?;
        self.note(measure, "documents/s", self.rate(seconds));
        if !self.kind.is_durable() {
            return Ok(engine);
        }
        let documents = f64::from(self.documents);
        let written = (disk_traffic().0 - before) as f64;
        let (seconds, ()) = time(|| engine.settle())?;
        self.note("compact", "s", seconds);
        engine.close()?;
        let bytes = disk_bytes(&self.folder)? as f64;
        self.note("disk", "bytes/document", bytes / documents);
        self.note("written by the load", "bytes/document", written / documents);
        let engine = self.kind.open(&self.folder)?;
        std::thread::sleep(Duration::from_millis(CAUGHT_UP_MS));
        Ok(engine)
    }

    fn queries(&mut self, engine: &dyn Engine, options: &Options) -> Result<()> {
        let hits = made::hits(options.queries, self.documents);
        let misses = made::misses(options.queries);
        let (latencies, found) = warm_queries(engine, &hits)?;
        self.note("hit p50", "us", latencies.quantile_us(0.5));
        self.note("hit p99", "us", latencies.quantile_us(0.99));
        self.note("matches per hit", "", found as f64 / hits.len() as f64);
        let (latencies, _) = warm_queries(engine, &misses)?;
        self.note("miss p50", "us", latencies.quantile_us(0.5));
        self.note("miss p99", "us", latencies.quantile_us(0.99));
        // Both threads run all queries, so that each core touches as much memory as a single thread
        // does.
        let (left, right) = hits.split_at(hits.len() / 2);
        let rotated = [right, left].concat();
        let [one, two] = by_turns(|threads| match threads {
            1 => query_rate(vec![engine.reader()?], &[hits.as_slice()]),
            _ => query_rate(
                vec![engine.reader()?, engine.reader()?],
                &[hits.as_slice(), rotated.as_slice()],
            ),
        })?;
        self.note("queries on one thread", "queries/s", one);
        self.note("queries on two threads", "queries/s", two);
        Ok(())
    }

    /// Reopens the index with a warm and with a cold cache.
    fn reopened(&mut self, engine: Box<dyn Engine>) -> Result<Box<dyn Engine>> {
        let hits = made::hits(REOPENINGS, self.documents);
        engine.close()?;
        let seconds = reopenings(&hits, |hit| first_answer(self.kind, &self.folder, hit))?;
        self.note("reopen to first answer, warm", "ms", seconds * 1e3);
        let hits = made::hits(FIRST, self.documents);
        for (measure, after) in [(FIRST_AT_ONCE, 0), (FIRST_LATER, CAUGHT_UP_MS)] {
            let engine = self.kind.open(&self.folder)?;
            std::thread::sleep(Duration::from_millis(after));
            let (latencies, _) = queries(&mut *engine.reader()?, &hits)?;
            self.note(measure, "us", latencies.quantile_us(0.5));
            engine.close()?;
        }
        self.cold()
    }

    /// Measures misses with a cold cache.
    fn cold(&mut self) -> Result<Box<dyn Engine>> {
        let misses = made::misses(1_000);
        evict(&self.folder)?;
        // Reads that opening has requested may arrive only while queries run, so they count as
        // reads of the queries.
        let before = disk_traffic().1;
        let engine = self.kind.open(&self.folder)?;
        let (latencies, _) = queries(&mut *engine.reader()?, &misses)?;
        let read = disk_traffic().1 - before;
        self.note("miss p50, cold cache", "us", latencies.quantile_us(0.5));
        self.note("read per cold miss", "bytes", read as f64 / misses.len() as f64);
        Ok(engine)
    }

    fn singles(&mut self, engine: &mut dyn Engine, count: u32) -> Result<()> {
        let mut seconds = 0.0;
        for document in self.documents..self.documents + count {
            engine.stage(document, &[made::document(document)])?;
            seconds += time(|| engine.insert())?.0;
        }
        self.note("single inserts", "documents/s", f64::from(count) / seconds);
        Ok(())
    }

    fn removals(&mut self, engine: &mut dyn Engine) -> Result<()> {
        let mut random = Random(u64::from(self.documents));
        let mut documents: Vec<u32> = (0..self.documents).collect();
        for at in 0..documents.len() {
            let other = random.below(documents.len() as u64) as usize;
            documents.swap(at, other);
        }
        documents.truncate(REMOVED_MAX.min(self.documents / 2) as usize);
        let (seconds, ()) =
            time(|| documents.chunks(BATCH as usize).try_for_each(|batch| engine.remove(batch)))?;
        self.note("removals, batches of 1,000", "documents/s", documents.len() as f64 / seconds);
        Ok(())
    }
}

/// Runs all queries once as a warm-up, then again.
fn warm_queries(engine: &dyn Engine, signatures: &[Signature]) -> Result<(Latencies, u64)> {
    queries(&mut *engine.reader()?, signatures)?;
    queries(&mut *engine.reader()?, signatures)
}

/// Inserts documents from number 0 on. Only the inserts are timed.
pub fn load(engine: &mut dyn Engine, documents: u32, batch: u32) -> Result<f64> {
    let mut seconds = 0.0;
    let mut first = 0;
    while first < documents {
        let count = batch.min(documents - first);
        engine.stage(first, &made::documents(first, count))?;
        seconds += time(|| engine.insert())?.0;
        first += count;
    }
    Ok(seconds)
}

/// Number of reopenings per measurement.
pub const REOPENINGS: usize = 7;

/// The median time in seconds from a closed index to an answer. There is one reopening per query;
/// after the first one, the page cache is warm.
pub fn reopenings(
    queries: &[Signature],
    first_answer: impl Fn(&[Signature]) -> Result<Box<dyn Engine>>,
) -> Result<f64> {
    let mut taken = Vec::new();
    for query in queries.chunks(1) {
        let (seconds, engine) = time(|| first_answer(query))?;
        taken.push(seconds);
        engine.close()?;
    }
    Ok(median(&taken))
}

fn first_answer(kind: Kind, folder: &Path, hit: &[Signature]) -> Result<Box<dyn Engine>> {
    let engine = kind.open(folder)?;
    queries(&mut *engine.reader()?, hit)?;
    Ok(engine)
}
