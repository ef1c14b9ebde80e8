//! Measures Nearkin alone at the largest size: memory, write amplification and latency. Also
//! measures gaoya, in a process of its own, because in a shared process its memory could not be
//! distinguished from that of other engines.

use crate::clock::{queries, time};
use crate::engines::{Engine, Kind, Nearkin};
use crate::machine::{Peak, anonymous_bytes, available_bytes, disk_bytes, disk_traffic};
use crate::made;
use crate::options::Options;
use crate::results::{Result, Results, Subject, median};
use crate::tables::{BATCH, FIRST, FIRST_AT_ONCE, REOPENINGS, fresh_folder, load, reopenings};
use std::time::Duration;

const MIB: f64 = (1 << 20) as f64;
/// Seconds after opening until the background verification is complete.
const CAUGHT_UP_S: u64 = 5;
const FIRST_LATER: &str = "hit p50, the first 1,000, 5 s after opening";

/// Makes the usual number of runs, but only one above three million documents: ten million take a
/// minute or two.
pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let documents = options.large;
    if documents == 0 {
        return Ok(());
    }
    let runs = if documents > 3_000_000 { 1 } else { options.runs };
    for _ in 0..runs {
        once(options, documents, results)?;
    }
    Ok(())
}

fn once(options: &Options, documents: u32, results: &mut Results) -> Result<()> {
    let mut note = |measure: &str, unit: &str, value: f64| {
        let of = Subject {
            stage: "large",
            engine: Kind::Nearkin.name(),
            durability: Kind::Nearkin.durability(),
            documents: u64::from(documents),
        };
        results.note(of, measure, unit, value);
    };
    let count = f64::from(documents);
    let folder = fresh_folder(options, "large")?;
    let peak = Peak::start();
    let before = disk_traffic().0;
    let mut engine = Nearkin::open(&folder)?;
    let seconds = load(&mut engine, documents, BATCH)?;
    note("insert, batches of 1,000", "documents/s", count / seconds);
    let load = engine.index.stats()?;
    let (seconds, ()) = time(|| engine.settle())?;
    note("compact", "s", seconds);
    let all = engine.index.stats()?;
    Box::new(engine).close()?;
    let charged = (disk_traffic().0 - before) as f64;
    let disk = disk_bytes(&folder)? as f64;
    note("disk", "bytes/document", disk / count);
    // The bytes that Nearkin has passed to write calls. The kernel charges more: it counts whole
    // folios (groups of pages) even for small writes, and a log makes many small writes.
    let (load, all) = (load.bytes_written as f64, all.bytes_written as f64);
    note("written by the load", "bytes/document", load / count);
    note("written by load and compaction", "bytes/document", all / count);
    note("charged by the kernel for both", "bytes/document", charged / count);
    note("written by the load / final size", "times", load / disk);
    note("written / final size", "times", all / disk);

    let hits = made::hits(options.queries, documents);
    let misses = made::misses(options.queries);
    let seconds = reopenings(&hits[..REOPENINGS.min(hits.len())], |hit| {
        let engine = Nearkin::open(&folder)?;
        queries(&mut *engine.reader()?, hit)?;
        Ok(Box::new(engine))
    })?;
    note("reopen to first answer, warm", "ms", seconds * 1e3);
    let mut engine = Nearkin::open(&folder)?;
    let first = made::hits(FIRST, documents);
    for (measure, after) in [(FIRST_AT_ONCE, 0), (FIRST_LATER, CAUGHT_UP_S)] {
        Box::new(engine).close()?;
        engine = Nearkin::open(&folder)?;
        std::thread::sleep(Duration::from_secs(after));
        let latencies = queries(&mut *engine.reader()?, &first)?.0;
        note(measure, "us", latencies.quantile_us(0.5));
    }
    for (signatures, name) in [(&hits, "hit"), (&misses, "miss")] {
        queries(&mut *engine.reader()?, signatures)?;
        // Three rounds in sequence: their median covers more than one moment of the machine.
        let rounds = (0..3).map(|_| Ok(queries(&mut *engine.reader()?, signatures)?.0));
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        for (share, which) in [(0.5, "p50"), (0.99, "p99")] {
            let all: Vec<f64> = rounds.iter().map(|round| round.quantile_us(share)).collect();
            note(&format!("{name} {which}"), "us", median(&all));
        }
    }
    Box::new(engine).close()?;
    note("most anonymous memory", "MiB", peak.bytes() as f64 / MIB);
    Ok(std::fs::remove_dir_all(folder)?)
}

/// A generous estimate of gaoya's bytes per document.
const GAOYA_BYTES: u64 = 1_800;

/// Measures gaoya at the largest size that fits in memory.
pub fn gaoya(options: &Options, results: &mut Results) -> Result<()> {
    let fits = |documents: &u32| u64::from(*documents) * GAOYA_BYTES < available_bytes();
    let mut sizes = options.sizes.clone();
    sizes.push(options.large);
    let Some(documents) = sizes.into_iter().filter(fits).max() else { return Ok(()) };
    let kind = Kind::Gaoya;
    let mut note = |measure: &str, unit: &str, value: f64| {
        let of = Subject {
            stage: "large",
            engine: kind.name(),
            durability: kind.durability(),
            documents: u64::from(documents),
        };
        results.note(of, measure, unit, value);
    };
    let folder = fresh_folder(options, kind.name())?;
    let mut engine = kind.open(&folder)?;
    let before = anonymous_bytes();
    let seconds = load(&mut *engine, documents, BATCH)?;
    note("insert, batches of 1,000", "documents/s", f64::from(documents) / seconds);
    let grown = anonymous_bytes().saturating_sub(before) as f64;
    note("memory", "bytes/document", grown / f64::from(documents));
    for (signatures, name) in
        [(made::hits(options.queries, documents), "hit"), (made::misses(options.queries), "miss")]
    {
        queries(&mut *engine.reader()?, &signatures)?;
        let latencies = queries(&mut *engine.reader()?, &signatures)?.0;
        note(&format!("{name} p50"), "us", latencies.quantile_us(0.5));
        note(&format!("{name} p99"), "us", latencies.quantile_us(0.99));
    }
    Ok(())
}
