//! The law of the engine, compared with brute force.
//!
//! Random scripts of operations run on an index on a simulated disk, and on a model that scans all
//! documents; all answers must be equal. Processes are closed, dropped and killed, and disks lose
//! power. This happens between operations and in the middle of them, also during opening.
//!
//! Every script is determined by its number; a failure prints it. For a larger campaign, in release
//! mode: `NEARKIN_MODEL_OPS` is the number of operations (default 120,000), `NEARKIN_MODEL_SEED`
//! the number of the first script (default 1). To repeat one script, give its number and 1 as the
//! number of operations.
#![cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "fuzz targets write other scripts")
)]

mod admitting;
mod adopting;
mod bench;
mod beside;
mod bytes;
#[cfg(test)]
mod crash;
mod ending;
#[cfg(test)]
mod follow;
#[expect(clippy::module_inception, reason = "the model of the model test")]
mod model;
#[cfg(test)]
mod power;
mod reading;
mod script;
mod shown;
#[cfg(test)]
mod texts;

pub(crate) use bytes::fuzz;

use crate::testing::campaign;
#[cfg(test)]
use crate::testing::planted::{Bug, assert_caught};
use crate::{Durability, Params, Scheme};
use bench::{AfterEach, Bench, Layout};
use script::{Author, Mischief, Op, Rng};

const OPS_PER_SCRIPT: u64 = 1_000;

/// Prints the position of a failure when a panic unwinds.
struct PanicNote(String);

impl Drop for PanicNote {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.0);
        }
    }
}

/// Parameters of every kind: all lane widths, rows outside of the bands, and bands of a single row.
/// Rows of 32 and 64 bits are those of another program.
fn shape(number: u64) -> Params {
    let (hashes, bands, rows, lane_bits) = match number % 7 {
        0 => (32, 8, 3, 8),
        1 => (24, 10, 2, 16),
        2 => (16, 16, 1, 8),
        3 => (50, 7, 7, 8),
        4 => (19, 3, 5, 16),
        5 => (70, 17, 4, 32),
        _ => (66, 6, 5, 64),
    };
    let builder = Params::builder().hashes(hashes).bands(bands, rows).lane_bits(lane_bits);
    let whole = || builder.clone().scheme(Scheme::external("other").expect("a name"));
    let builder = if lane_bits > 16 { whole() } else { builder };
    builder.seed(number).build().expect("sound parameters")
}

fn number_from_environment(name: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}"))
}

/// Runs one script; returns the number of unclean ends.
fn run_script(number: u64) -> u64 {
    let mut place = PanicNote(format!("script {number}"));
    let params = shape(number);
    let mut rng = Rng::new(number);
    let layout = Layout::random(&params, &mut rng);
    let mut author = Author::new(rng.next(), params.hashes(), Mischief::All);
    let mut bench = Bench::new(layout, rng.next());
    for at in 0..OPS_PER_SCRIPT {
        let op = author.op();
        place.0 = format!("script {number}, operation {at}: {op:?}");
        bench.step(&op);
    }
    bench.ends
}

/// Runs the scripts whose number modulo `parts` is `part`, so that tests can run in parallel.
fn run_scripts(part: u64, parts: u64) {
    let ops = number_from_environment("NEARKIN_MODEL_OPS", campaign::amount(30_000, 120_000));
    let first = number_from_environment("NEARKIN_MODEL_SEED", 1);
    let scripts = first..first + ops.div_ceil(OPS_PER_SCRIPT);
    let ends: u64 = scripts.filter(|number| number % parts == part).map(run_script).sum();
    assert!(ends > 0 || ops < 10 * OPS_PER_SCRIPT, "some processes ended uncleanly");
}

#[test]
fn every_answer_equals_brute_force_in_even_scripts() {
    run_scripts(0, 2);
}

#[test]
fn every_answer_equals_brute_force_in_odd_scripts() {
    run_scripts(1, 2);
}

/// Layouts of one index that differ as much as possible.
fn layouts(params: &Params, wide: &Params) -> Vec<(&'static str, Layout)> {
    let plain = Layout::new(params);
    let huge = Layout {
        memtable_bytes_max: 64 << 20,
        wal_bytes: (4 << 20, 4 << 20),
        durability: Durability::OsBuffer,
        ..plain.clone()
    };
    let tiny = Layout { memtable_bytes_max: 1 << 10, step_bytes: 100, ..plain.clone() };
    let never_merged =
        Layout { memtable_bytes_max: 1 << 10, tier_segments_max: 1_000_000, ..plain.clone() };
    let after = |after_each| Layout { after_each, ..huge.clone() };
    vec![
        ("one huge memtable", huge.clone()),
        ("tiny memtables, compaction in small steps", tiny),
        ("tiny memtables, no tier ever full", never_merged),
        ("flushed after every operation", after(AfterEach::Flush)),
        ("compacted after every operation", after(AfterEach::Compact)),
        ("closed and reopened after every operation", after(AfterEach::CloseAndReopen)),
        ("dropped and reopened after every operation", after(AfterEach::DropAndReopen)),
        ("other lane width", Layout { params: wide.clone(), ..plain }),
    ]
}

#[test]
fn the_same_operations_give_the_same_answers_in_every_layout() {
    for number in 1..=2 {
        let with_lanes = |lane_bits| {
            let (bands, rows) = if number == 2 { (10, 2) } else { (8, 3) };
            let builder = Params::builder().hashes(32).bands(bands, rows).lane_bits(lane_bits);
            builder.build().expect("sound parameters")
        };
        let (params, wide) = (with_lanes(8), with_lanes(16));
        let mut author = Author::new(number, params.hashes(), Mischief::NoLoss);
        let script: Vec<Op> = (0..300).map(|_| author.op()).collect();
        let mut first: Option<Vec<u64>> = None;
        for (name, layout) in layouts(&params, &wide) {
            let mut place = PanicNote(String::new());
            let mut bench = Bench::new(layout, number);
            (bench.answers, bench.law.is_plain) = (Some(Vec::new()), true);
            for (at, op) in script.iter().enumerate() {
                place.0 = format!("script {number}, {name}, operation {at}: {op:?}");
                bench.step(op);
            }
            let answers = bench.answers.take().unwrap_or_default();
            assert!(answers.len() > 100, "queries were run");
            let expected = first.get_or_insert_with(|| answers.clone());
            assert_eq!(&answers, expected, "{name}");
        }
    }
}

/// A bug that survives this many scripts counts as missed.
#[cfg(test)]
const SCRIPTS_MAX: u64 = 12;

#[test]
fn bugs_at_the_limits_of_what_is_done_together_are_caught() {
    for bug in Bug::AT_LIMITS {
        let scripts = || (1..=SCRIPTS_MAX).map(run_script).for_each(|_ends| ());
        assert_caught(bug, scripts);
    }
}
