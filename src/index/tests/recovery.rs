//! What opening refuses, deletes and makes durable, and how a broken log affects waiting writers.
//! Most of these tests were written to kill a mutant (`docs/reports/CRASH_TESTS.md`).

use super::copies::{DIR, answers, disk, index, options, params, signature};
use crate::format::bytes::wide;
use crate::format::wal::{RECORDS_BEGIN, RecordHeader, RecordKind};
use crate::index::files::folder::exists;
use crate::storage::{Disk, OpenMode, Storage};
use crate::testing::sim::{Fault, FaultKind, Sim};
use crate::{Durability, ErrorKind, Index, Maintained, Options, Reader, Result, catalog};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn open(sim: &Sim) -> Result<Index> {
    Index::open_on(disk(sim), Path::new(DIR), options())
}

/// A closed index on a disk without unsynced data.
fn closed() -> (Sim, Vec<String>) {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    index.close().expect("closed");
    (sim.kill(), expected)
}

fn at(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// The log of a killed index with two changes, and its bytes.
fn log_with_changes() -> (PathBuf, Vec<u8>) {
    let sim = Sim::new();
    drop(index(&sim));
    let files = sim.snapshot_of_files();
    let number = catalog::load(&sim, &at("catalog.redb")).expect("a catalog").wal.expect("one");
    let path = at(&format!("wal/{:010}.wal", number.number));
    (path.clone(), files[&path].clone())
}

#[test]
fn under_interval_a_sync_is_made_when_the_interval_is_over() {
    let sim = Sim::new();
    let time = Arc::new(AtomicU64::new(1_000));
    let clock = Arc::clone(&time);
    let options = options()
        .durability(Durability::Interval(Duration::from_millis(100)))
        .clock(move || clock.load(Ordering::Relaxed));
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options).expect("made");
    let insert = |now: u64, key: u8| {
        time.store(now, Ordering::Relaxed);
        index.insert([key], &signature(&params(), key)).expect("inserted");
        index.durable_change()
    };
    assert_eq!(insert(1_000, 1), 1, "nobody knows of a sync before");
    assert_eq!(insert(1_099, 2), 1, "not yet over");
    assert_eq!(index.maintain().expect("nothing to do"), Maintained::Nothing);
    time.store(1_100, Ordering::Relaxed);
    assert_eq!(index.maintain().expect("over"), Maintained::Synced);
    assert_eq!(index.durable_change(), 2);
    time.store(1_300, Ordering::Relaxed);
    assert_ne!(index.maintain().expect("nothing new"), Maintained::Synced);
    assert_eq!(insert(1_310, 3), 3, "over, counted from the sync");
    assert_eq!(insert(1_320, 4), 3);
    assert_eq!(insert(400, 5), 5, "the clock was set back: nobody knows how long it was");
}

#[test]
fn a_change_carries_the_horizon_of_the_sync_before_it() {
    let (path, bytes) = log_with_changes();
    let sim = Sim::new();
    drop(index(&sim));
    let salt = catalog::load(&sim, &at("catalog.redb")).expect("a catalog").wal.expect("one").salt;
    let bytes = sim.snapshot_of_files().remove(&path).unwrap_or(bytes);
    let header = |offset: u64| {
        let begin = usize::try_from(offset).expect("small");
        RecordHeader::decode(&bytes[begin..], salt, offset).expect("known").expect("whole")
    };
    let first = header(RECORDS_BEGIN);
    let second = RECORDS_BEGIN + first.record_bytes();
    assert_eq!((first.kind, first.horizon), (RecordKind::Change, RECORDS_BEGIN));
    assert_eq!(header(second).horizon, second);
}

#[test]
fn an_append_that_cannot_be_undone_poisons() {
    let sim = Sim::new();
    let index = index(&sim);
    let (before, durable) = (answers(&index.snapshot()), index.durable_change());
    sim.fail(Fault { at: 0, what: FaultKind::ShortWrite, sticky: true });
    let signature = signature(&params(), 9);
    let unknown = index.insert("lost", &signature).expect_err("nor can it be rolled back");
    assert_eq!(unknown.kind(), ErrorKind::Unknown, "{unknown}");
    assert_eq!(index.insert("k", &signature).expect_err("no").kind(), ErrorKind::Poisoned);
    assert_eq!(index.sync().expect("everything acknowledged is durable"), durable);
    assert_eq!(answers(&index.snapshot()), before);
}

#[test]
fn a_failed_start_of_writeback_poisons_the_index() {
    for what in [FaultKind::Eio, FaultKind::Enospc] {
        let sim = Sim::new();
        let index = index(&sim);
        let before = answers(&index.snapshot());
        // Call 0 is the write of the record; the next call starts its writeback.
        sim.fail(Fault { at: 1, what, sticky: false });
        let (signature, payload) = (signature(&params(), 9), [7; 300]);
        let unknown =
            index.write(crate::Batch::new().insert_with_payload("lost", &signature, payload));
        assert_eq!(unknown.expect_err("not started").kind(), ErrorKind::Unknown, "{what:?}");
        assert_eq!(sim.faults_fired(), 1);
        assert_eq!(index.insert("k", &signature).expect_err("no").kind(), ErrorKind::Poisoned);
        assert_eq!(answers(&index.snapshot()), before);
        for state in sim.crash_states(3, 20) {
            let kept = answers(&open(&state).expect("opens").snapshot());
            assert!(before.iter().all(|answer| kept.contains(answer)), "{what:?}");
        }
    }
}

#[test]
fn a_failed_append_leaves_nothing_for_the_recovery_to_cut() {
    let sim = Sim::new();
    let index = index(&sim);
    let before = answers(&index.snapshot());
    sim.fail(Fault { at: 0, what: FaultKind::ShortWrite, sticky: false });
    let refused = index.insert("lost", &signature(&params(), 9)).expect_err("no room");
    assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
    let index = open(&sim.kill()).expect("opens");
    assert_eq!(answers(&index.snapshot()), before);
    assert_eq!(index.stats().expect("stats").recovery.bytes_cut, 0);
}

#[test]
fn a_reopened_index_knows_that_what_it_holds_is_durable() {
    let (sim, expected) = closed();
    let syncs = sim.counters().syncs;
    let index = open(&sim).expect("opens");
    assert_eq!(sim.counters().syncs - syncs, 0, "no commit mark: the catalog is durable");
    let change = index.snapshot().change();
    assert!(change > 0);
    assert_eq!((index.durable_change(), index.sync().expect("nothing to do")), (change, change));
    assert_eq!(answers(&index.snapshot()), expected);
}

#[test]
fn a_catalog_beside_a_commit_mark_is_synced_at_opening() {
    let (sim, expected) = closed();
    sim.overwrite(&at("catalog.redb.commit"), b"");
    let syncs = sim.counters().syncs;
    let index = open(&sim).expect("opens");
    assert_eq!(sim.counters().syncs - syncs, 1, "the folder, which makes its name durable");
    assert_eq!(answers(&index.snapshot()), expected);
    assert!(!sim.snapshot_of_files().contains_key(&at("catalog.redb.commit")), "swept");
}

#[test]
fn each_opening_counts_its_own_bytes() {
    let (sim, _) = closed();
    let read = || {
        let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
        reader.stats().expect("stats").recovery.bytes_read
    };
    let first = read();
    assert!(first > 0);
    assert_eq!(read(), first);
}

#[test]
fn an_opening_whose_calls_fail_is_an_error_and_the_next_works() {
    let mut needless = 0;
    for at_call in 0.. {
        let (sim, expected) = closed();
        let litter =
            ["segments/0000000900.seg", "wal/0000000901.wal", "wal/0000000902.wal.tmp"].map(at);
        for path in &litter {
            sim.overwrite(path, b"litter");
        }
        sim.fail(Fault { at: at_call, what: FaultKind::Eio, sticky: false });
        let opened = open(&sim);
        if sim.faults_fired() == 0 {
            opened.expect("no call failed");
            let files = sim.snapshot_of_files();
            assert!(litter.iter().all(|path| !files.contains_key(path)), "swept");
            assert!(at_call > 20, "an opening takes more than {at_call} calls");
            // Opening succeeds even if one of these calls fails: the search for the catalog (then
            // the folder is read instead), and the removal of the commit mark.
            assert!(needless <= 3, "{needless} failed calls were no error");
            return;
        }
        let error = match opened {
            Err(error) => error,
            Ok(index) => {
                needless += 1;
                assert_eq!(answers(&index.snapshot()), expected, "call {at_call}");
                continue;
            }
        };
        // A failed read of the catalog is reported as `Io`, not as `Corrupt`.
        assert_eq!(error.kind(), ErrorKind::Io, "call {at_call}: {error:?}");
        let index = open(&sim).expect("the fault is over");
        assert_eq!(answers(&index.snapshot()), expected, "call {at_call}");
    }
}

#[test]
fn a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let (sim, _) = closed();
    // Both opening the catalog and reading the folder fail.
    for at in 0..2 {
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
    }
    let error = exists(&sim, Path::new(DIR)).expect_err("cannot be read");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(exists(&sim, Path::new(DIR)).expect("read"));
    assert!(!exists(&sim, Path::new("/none")).expect("read"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    Disk::default().open(&file, OpenMode::Create).expect("made");
    let error = exists(&Disk::default(), &file).expect_err("a file");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("is a file"), "{error}");
}

#[test]
fn a_folder_of_something_else_is_not_made_an_index() {
    for name in ["photos/one", "wal", "segments", "catalog.redb.old", "readme"] {
        let sim = Sim::new();
        sim.overwrite(&at(name), b"not ours");
        let error = exists(&sim, Path::new(DIR)).expect_err("not an index");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error}");
        let before = sim.snapshot_of_files();
        let refused = Index::create_on(disk(&sim), Path::new(DIR), &params(), options());
        assert_eq!(refused.expect_err("not an index").kind(), ErrorKind::Invalid, "{name}");
        assert_eq!(sim.snapshot_of_files(), before, "{name}");
    }
    // The files of an interrupted creation do not count as an index.
    let sim = Sim::new();
    for name in ["lock", "parameters", "parameters.tmp", "wal/x.tmp", "segments/y.tmp"] {
        sim.overwrite(&at(name), b"");
    }
    assert!(!exists(&sim, Path::new(DIR)).expect("nothing"));
    // These leftovers do not block a later creation, nor do files of other programs beside them.
    sim.overwrite(&at("a note"), b"");
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options()).expect("made");
    assert!(index.verify().expect("done").problems.is_empty());
}

#[test]
fn creating_where_an_index_is_changes_nothing() {
    let (sim, _) = closed();
    let before = sim.snapshot_of_files();
    let refused = Index::create_on(disk(&sim), Path::new(DIR), &params(), options());
    assert_eq!(refused.expect_err("there is one").kind(), ErrorKind::Exists);
    assert_eq!(sim.snapshot_of_files(), before);
}

#[test]
fn a_backup_has_the_parameters_of_the_first_day() {
    let sim = Sim::new();
    let index = index(&sim);
    index.backup("/copy.nearkin").expect("backed up");
    let files = sim.snapshot_of_files();
    assert_eq!(files[Path::new("/copy.nearkin/parameters")], files[&at("parameters")]);
}

#[test]
fn an_index_whose_empty_folders_were_not_copied_opens() {
    let (sim, expected) = closed();
    let copy = Sim::new();
    for (path, bytes) in sim.snapshot_of_files() {
        if !path.starts_with(at("wal")) {
            copy.overwrite(&path, &bytes);
        }
    }
    let reader = Reader::open_on(disk(&copy), Path::new(DIR), options()).expect("opened");
    assert_eq!(answers(&reader.snapshot()), expected);
    drop(reader);
    let index = open(&copy).expect("opens");
    assert_eq!(answers(&index.snapshot()), expected);
    index.insert("new", &signature(&params(), 9)).expect("there is a folder for the log");
}

#[test]
fn an_unlisted_log_is_swept_unless_the_catalog_is_older() {
    let (_, with_changes) = log_with_changes();
    let zeroed = usize::try_from(RECORDS_BEGIN).expect("small");
    let mut empty = with_changes.clone();
    empty[zeroed..].fill(0);
    let open_beside = |number: u64, log: &[u8]| {
        let (sim, expected) = closed();
        let path = at(&format!("wal/{number:010}.wal"));
        sim.overwrite(&path, log);
        let index = open(&sim).map_err(|error| error.kind())?;
        assert_eq!(answers(&index.snapshot()), expected);
        assert!(!sim.snapshot_of_files().contains_key(&path), "it is swept");
        Ok(index.stats().expect("stats").recovery.files_swept)
    };
    let (sim, _) = closed();
    let next = catalog::load(&sim, &at("catalog.redb")).expect("a catalog").file_next;
    assert_eq!(open_beside(1, &with_changes), Ok(1), "older than the catalog");
    assert_eq!(open_beside(next, &empty), Ok(1), "made, but never listed");
    assert_eq!(open_beside(next + 9, &empty), Ok(1));
    assert_eq!(open_beside(next, &with_changes), Err(ErrorKind::Corrupt));
    assert_eq!(open_beside(next + 9, &with_changes), Err(ErrorKind::Corrupt));
    assert_eq!(wide(with_changes.len()), 16 << 10);
}

#[test]
fn a_reader_whose_index_was_replaced_says_so_and_still_answers() {
    let sim = Sim::new();
    let other = Options { random: Arc::new(|| 5), ..options() };
    let root = Path::new(DIR);
    index(&sim).close().expect("closed");
    let reader = Reader::open_on(disk(&sim), root, options()).expect("opened");
    let expected = answers(&reader.snapshot());
    // Delete the catalog first: what remains is not an index, but the folder is not empty either.
    sim.remove(&at("catalog.redb")).expect("removed");
    let problems = reader.verify().expect("done").problems;
    assert!(problems.iter().any(|found| found.to_string().contains("lost its catalog")));
    for path in sim.snapshot_of_files().keys().filter(|path| path.starts_with(root)) {
        sim.remove(path).expect("removed");
    }
    for error in [reader.verify().map(|_| ()), reader.refresh().map(|_| ())] {
        assert_eq!(error.expect_err("nothing").kind(), ErrorKind::NotFound);
    }
    let made = Index::create_on(disk(&sim), root, &params(), other).expect("made");
    for error in [reader.verify().map(|_| ()), reader.refresh().map(|_| ())] {
        let error = error.expect_err("another index");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("another index"), "{error}");
    }
    assert_eq!(answers(&reader.snapshot()), expected);
    assert!(made.verify().expect("done").problems.is_empty());
}
