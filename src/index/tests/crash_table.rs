//! Rows of the crash table in `docs/reference/DURABILITY.md` that need a whole index to test.

use super::copies::{DIR, answers, disk, index, options, params, signature};
use crate::testing::sim::Sim;
use crate::{ErrorKind, Index, Options, Result, catalog};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn open(sim: &Sim, options: Options) -> Result<Index> {
    Index::open_on(disk(sim), Path::new(DIR), options)
}

fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Files of the index that the catalog does not list, except the spare WAL.
fn unlisted(sim: &Sim) -> Vec<PathBuf> {
    let row = catalog::load(sim, &Path::new(DIR).join("catalog.redb")).expect("a catalog");
    let is_listed = |path: &Path| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let number: Option<u64> = stem.and_then(|stem| stem.parse().ok());
        match ending(path).as_str() {
            "tmp" => false,
            "seg" => row.segments.iter().any(|entry| Some(entry.number) == number),
            "dead" => row
                .segments
                .iter()
                .any(|entry| entry.dead_file.is_some_and(|dead| Some(dead.number) == number)),
            "wal" => row.wal.is_some_and(|wal| Some(wal.number) == number),
            _ => true,
        }
    };
    let files = sim.snapshot_of_files();
    files.into_keys().filter(|path| path.starts_with(DIR) && !is_listed(path)).collect()
}

/// Cuts the power at every operation of `work`. Every possible disk must open, answer as before or
/// after the work, and keep no unlisted file. Returns the endings of the unlisted files seen.
pub(super) fn cut_through(
    prepare: fn(&Index) -> Result<()>,
    work: fn(&Index) -> Result<()>,
) -> Vec<String> {
    let begin = |sim: &Sim| {
        let index = index(sim);
        prepare(&index).expect("prepared");
        let before = answers(&index.snapshot());
        (index, before)
    };
    let whole = Sim::new();
    let (done, before) = begin(&whole);
    let first = whole.ops();
    work(&done).expect("done");
    let ops = whole.ops() - first;
    let after = answers(&done.snapshot());
    let mut met = BTreeSet::new();
    for cut in 0..=ops {
        let sim = Sim::new();
        let (index, _) = begin(&sim);
        sim.power_cut_at(sim.ops() + cut);
        let acknowledged = work(&index).is_ok();
        drop(index);
        for state in sim.crash_states(cut, 16) {
            let litter = unlisted(&state);
            met.extend(litter.iter().map(|path| ending(path)));
            let index = open(&state, options()).expect("what a cut left opens");
            let found = answers(&index.snapshot());
            assert!(found == before || found == after, "cut at {cut} of {ops}");
            assert!(!acknowledged || found == after, "an acknowledged change is lost");
            let swept = index.stats().expect("stats").recovery.files_swept;
            assert!(swept >= litter.len() as u64, "{litter:?}, {swept} were swept");
            assert_eq!(unlisted(&state), Vec::<PathBuf>::new());
        }
    }
    met.into_iter().collect()
}

#[test]
fn files_of_a_flush_cut_short_are_swept() {
    assert_eq!(cut_through(|_| Ok(()), Index::flush), ["dead", "seg", "tmp", "wal"]);
}

#[test]
fn files_of_a_compaction_cut_short_are_swept() {
    // The log that the previous flush put aside may still have its old name, which no catalog
    // lists.
    assert_eq!(cut_through(Index::flush, Index::compact), ["dead", "seg", "tmp", "wal"]);
}

#[test]
fn a_next_wal_that_nobody_lists_is_swept() {
    let insert = |index: &Index| index.insert("x", &signature(&params(), 7)).map(drop);
    let met = cut_through(Index::flush, insert);
    assert!(met.contains(&"wal".to_owned()), "{met:?}");
}

#[test]
fn a_recovery_cut_short_begins_again() {
    let crashed = || {
        let sim = Sim::new();
        let expected = answers(&index(&sim).snapshot());
        (sim.kill(), expected)
    };
    let (whole, expected) = crashed();
    drop(open(&whole, options()).expect("opens"));
    let ops = whole.ops();
    assert!(ops > 10, "it flushes");
    for cut in 0..ops {
        let (sim, _) = crashed();
        sim.power_cut_at(cut);
        drop(open(&sim, options()));
        for state in sim.crash_states(cut, 16) {
            let index = open(&state, options()).expect("what a cut left opens");
            assert_eq!(answers(&index.snapshot()), expected, "cut at {cut} of {ops}");
            assert_eq!(unlisted(&state), Vec::<PathBuf>::new());
        }
    }
}

/// A killed index whose log must be flushed, its answers, and the total size of its files.
fn to_recover() -> (Sim, Vec<String>, u64) {
    let sim = Sim::new();
    let expected = answers(&index(&sim).snapshot());
    let sim = sim.kill();
    let used: usize = sim.snapshot_of_files().values().map(Vec::len).sum();
    (sim, expected, used as u64)
}

#[test]
fn opening_sweeps_before_the_recovery_flushes() {
    for name in ["segments/0000000900.seg", "segments/0000000900.seg.tmp", "wal/0000000001.wal"] {
        let (sim, expected, used) = to_recover();
        // Deleting the spare log file (`.free`) would free space, too: the last assertion checks
        // that it was kept.
        let spares = sim.snapshot_of_files();
        let spare = spares.iter().find(|(path, _)| ending(path) == "free");
        let spare = spare.map_or(0, |(_, bytes)| bytes.len() as u64);
        let litter = 128 << 10;
        sim.overwrite(&Path::new(DIR).join(name), &vec![0; 128 << 10]);
        sim.set_capacity(used + litter);
        let index = open(&sim, options()).expect("there is room once it is swept");
        assert_eq!(answers(&index.snapshot()), expected, "{name}");
        assert_eq!(index.stats().expect("stats").recovery.files_swept, 1, "{name}");
        let left = sim.snapshot_of_files();
        let kept = left.iter().filter(|(path, _)| ending(path) == "free");
        assert!(kept.count() > 0 || spare == 0, "{name}: the spare was not needed");
    }
}

#[test]
fn a_recovery_without_room_leaves_everything_as_it_was() {
    let (sim, expected, _) = to_recover();
    let files = || {
        let mut files = sim.snapshot_of_files();
        files.retain(|path, _| ending(path) != "free");
        files
    };
    let before = files();
    sim.set_capacity(1);
    assert_eq!(open(&sim, options()).expect_err("no room").kind(), ErrorKind::Io);
    assert!(files() == before, "something changed");
    sim.set_capacity(u64::MAX);
    let index = open(&sim, options()).expect("there is room");
    assert_eq!(answers(&index.snapshot()), expected);
}

#[test]
fn a_power_cut_within_remove_before_leaves_whole_batches() {
    const OLD: u64 = 10;
    let options = || {
        let clock = AtomicU64::new(1);
        Options { removes_max: 3, ..options() }.clock(move || clock.fetch_add(1, Ordering::Relaxed))
    };
    let filled = || {
        let sim = Sim::new();
        let storage = Arc::new(sim.clone());
        let index = Index::create_on(storage, Path::new(DIR), &params(), options()).expect("made");
        for number in 0..2 * OLD {
            let key = [b'k', u8::try_from(number).expect("few")];
            index.insert(key, &signature(&params(), 3)).expect("inserted");
            if number == 6 {
                index.flush().expect("flushed");
            }
        }
        let limit = index.get([b'k', 10]).expect("read").expect("there").time;
        (sim, index, limit)
    };
    let mut left = BTreeSet::new();
    for cut in 0.. {
        let (sim, index, limit) = filled();
        let before = index.snapshot().change();
        sim.power_cut_at(sim.ops() + cut);
        let done = index.remove_before(limit);
        drop(index);
        for state in sim.crash_states(cut, 16) {
            let index = open(&state, options()).expect("opens");
            let batches = index.snapshot().change() - before;
            left.insert(batches);
            let removed = (3 * batches).min(OLD);
            assert_eq!(index.len(), 2 * OLD - removed, "{batches} batches");
            let young = |key| index.contains([b'k', key]).expect("read");
            assert!((10..20).all(young), "the young are there");
        }
        if let Ok(removed) = done {
            assert_eq!(removed, OLD);
            break;
        }
    }
    assert_eq!(left, BTreeSet::from([0, 1, 2, 3, 4]));
}
