//! Read-only opening and backups, on the simulated disk.

use crate::index::files::copy::backup;
use crate::index::files::folder::{refuse_existing, take_lock};
use crate::index::state::options::{Maintenance, Options};
use crate::storage::Storage;
use crate::storage::lock::Lock;
use crate::storage::names::Names;
use crate::testing::sim::{Fault, FaultKind, Moment, Sim};
use crate::{Batch, ErrorKind, Index, Params, ReadMode, Reader, Signature};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) const DIR: &str = "/archive/papers.nearkin";
const COPY: &str = "/elsewhere/copy.nearkin";

pub(super) fn options() -> Options {
    let mut options = Options::default().maintenance(Maintenance::Inline).clock(|| 7);
    options.wal_bytes_min = 16 << 10;
    options
}

pub(super) fn disk(sim: &Sim) -> Arc<dyn Storage> {
    Arc::new(sim.clone())
}

pub(super) fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).build().expect("valid")
}

pub(super) fn signature(params: &Params, value: u8) -> Signature {
    let bytes = vec![value; params.signature_bytes()].into_boxed_slice();
    signature_from_parts(params, 3, bytes)
}

/// Two segments, deaths in a dead file, and changes that are only in the WAL.
pub(super) fn index(sim: &Sim) -> Index {
    let params = params();
    let index = Index::create_on(disk(sim), Path::new(DIR), &params, options()).expect("created");
    for key in 0..20_u8 {
        index.insert([b'k', key], &signature(&params, key / 4)).expect("inserted");
        if key == 9 {
            index.flush().expect("flushed");
        }
    }
    index.remove([b'k', 3]).expect("removed");
    index.flush().expect("flushed");
    index.insert([b'k', 0], &signature(&params, 200)).expect("replaced");
    index.write(Batch::new().remove([b'k', 1]).insert("new", &signature(&params, 2))).expect("ok");
    index
}

/// All answers of an index, for comparison.
pub(super) fn answers(snapshot: &crate::Snapshot) -> Vec<String> {
    let mut documents: Vec<_> = snapshot.iter().map(|document| document.expect("read")).collect();
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    let mut answers = Vec::new();
    for document in &documents {
        let found = snapshot.query(&document.signature).run().expect("answered");
        let keys: Vec<_> = found.matches.iter().map(|found| found.key.clone()).collect();
        answers.push(format!("{document:?} {keys:?}"));
    }
    assert_eq!(answers.len() as u64, snapshot.len());
    answers
}

#[test]
fn making_an_index_or_a_backup_keeps_others_out() {
    // Regression: if another index was created in the folder of a running backup, the backup used
    // to overwrite the parameters of that index, and was refused only afterwards.
    let sim = Sim::new();
    let index = index(&sim);
    let dir = Path::new(COPY);
    let begun = backup::begin_copy(&index.core, dir).expect("started");
    let created = Index::create_on(disk(&sim), dir, &params(), options());
    assert_eq!(created.expect_err("kept out").kind(), ErrorKind::Locked);
    assert_eq!(index.backup(COPY).expect_err("kept out").kind(), ErrorKind::Locked);
    drop(begun);
    // The reverse: another process is creating an index in the folder. At first, such an index
    // consists only of its lock.
    let lock = sim.lock(&dir.join("lock")).expect("free");
    let before = sim.snapshot_of_files();
    assert_eq!(index.backup(COPY).expect_err("kept out").kind(), ErrorKind::Locked);
    assert_eq!(sim.snapshot_of_files(), before);
    drop(lock);
    index.backup(COPY).expect("backed up");
}

#[test]
fn a_backup_in_progress_is_locked() {
    // Regression: as soon as the copy had a file, other processes took it for an incomplete index
    // that could be deleted. In addition, they could write to its folder until the backup checked
    // the folder a second time.
    for moment in [Moment::BeforeLink, Moment::BeforeSync] {
        let sim = Sim::new();
        let index = index(&sim);
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let visit = {
            let (sim, seen) = (sim.clone(), Arc::clone(&seen));
            move || {
                let dir = Path::new(COPY);
                let read = Reader::open_on(disk(&sim), dir, options()).expect_err("not yet");
                let opened = Index::open_on(disk(&sim), dir, options()).expect_err("not yet");
                let created = Index::create_on(disk(&sim), dir, &params(), options());
                let kinds = [read, opened, created.expect_err("kept out")].map(|e| e.kind());
                seen.lock().expect("free").insert(format!("{kinds:?}"));
                false
            }
        };
        sim.visit_syncs(Some((moment, Box::new(visit))));
        index.backup_of(&index.snapshot(), COPY).expect("backed up");
        sim.visit_syncs(None);
        let seen = seen.lock().expect("free");
        assert!(seen.contains("[Locked, Locked, Locked]"), "{moment:?}: {seen:?}");
        // As long as the copy has no file, reading and opening may get another error. Creating
        // always gets `Locked`.
        assert!(seen.iter().all(|kinds| kinds.ends_with("Locked]")), "{moment:?}: {seen:?}");
    }
}

#[test]
fn under_its_own_lock_files_without_a_catalog_are_abandoned() {
    // The folder has the leftovers of a failed backup: files without a catalog. If the caller
    // itself holds the lock and passes it to the check, no other process is at work there: the
    // check must say `Corrupt`, not `Locked`.
    let sim = Sim::new();
    let index = index(&sim);
    index.backup(COPY).expect("backed up");
    let (dir, names) = (Path::new(COPY), Names::new(Path::new(COPY)));
    sim.remove(&names.catalog()).expect("removed");
    let lock = take_lock(&sim, &names, Duration::ZERO, &|_| false).expect("free");
    let refused = |own: Option<&Lock>| refuse_existing(&sim, dir, own).expect_err("files").kind();
    assert_eq!(refused(Some(&lock)), ErrorKind::Corrupt);
    assert_eq!(refused(None), ErrorKind::Locked);
    drop(lock);
    assert_eq!(refused(None), ErrorKind::Corrupt);
}

#[test]
fn a_backup_is_made_and_read_without_locks() {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    sim.take_locks_away();
    index.backup(COPY).expect("backed up");
    let copy = Reader::open_on(disk(&sim), Path::new(COPY), options()).expect("read");
    assert_eq!(answers(&copy.snapshot()), expected);
    // An index is not opened for writing if other processes cannot be locked out.
    let opened = Index::open_on(disk(&sim), Path::new(COPY), options());
    assert_eq!(opened.expect_err("not written").kind(), ErrorKind::Io);
}

#[test]
fn a_reader_answers_like_the_writer_and_changes_nothing() {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    // After a kill, the WAL contains changes.
    let sim = sim.kill();
    let (ops, files) = (sim.ops(), sim.snapshot_of_files());
    for _ in 0..2 {
        let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
        assert_eq!(answers(&reader.snapshot()), expected);
        assert_eq!(reader.stats().expect("stats").recovery.changes_replayed, 2);
        assert!(reader.verify().expect("verified").problems.is_empty());
    }
    assert_eq!(sim.ops(), ops, "no operation that changes anything");
    assert_eq!(sim.snapshot_of_files(), files);
    drop(index);
}

#[test]
fn readers_and_a_writer_keep_nobody_out() {
    let sim = Sim::new();
    let open = || Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    let writer = index(&sim);
    // The log does not yet record that its last change is synced.
    let beside = open();
    assert_eq!(beside.change() + 1, writer.snapshot().change());
    writer.maintain().expect("noted");
    let expected = answers(&writer.snapshot());
    assert_eq!(answers(&open().snapshot()), expected);
    writer.close().expect("closed");
    let (one, two) = (open(), open());
    let writer = Index::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    writer.insert("later", &signature(&params(), 9)).expect("inserted");
    writer.flush().expect("flushed");
    assert!(one.refresh().expect("refreshed"));
    assert_eq!(answers(&one.snapshot()), answers(&writer.snapshot()));
    assert!(!one.refresh().expect("nothing new"));
    assert_eq!(answers(&two.snapshot()), expected);
}

#[test]
fn a_reader_refuses_damage_below_the_horizon_and_stops_at_tears() {
    // Damages one of the two records of the log. The first record is below the horizon that the
    // second one carries.
    for (record, alone) in [(0, false), (0, true), (1, false), (1, true)] {
        let sim = Sim::new();
        let index = index(&sim);
        let last = index.snapshot().change();
        let open = |sim: &Sim| Reader::open_on(disk(sim), Path::new(DIR), options());
        let before = open(&sim).expect("opened");
        assert_eq!(before.change(), last - 1);
        let files = sim.snapshot_of_files();
        let mut logs = files.iter().filter(|(path, _)| path.extension() == Some("wal".as_ref()));
        let (path, bytes) = logs.next().expect("a log");
        let at = 4_096 + record * (32 + usize::from(bytes[4_096 + 8])).next_multiple_of(8);
        let mut damaged = bytes.clone();
        damaged[at + 40] ^= 1;
        sim.overwrite(path, &damaged);
        let sim = if alone { sim.kill() } else { sim };
        match open(&sim) {
            Ok(reader) => assert_eq!((record, reader.change()), (1, last - 1)),
            Err(error) => assert_eq!((record, error.kind()), (0, ErrorKind::Corrupt)),
        }
        // A reader that was opened before the damage keeps what it has read: its refresh succeeds
        // and finds nothing new.
        assert!(alone || !before.refresh().expect("refreshed"));
    }
}

#[test]
fn a_reader_finds_no_damage_in_an_unfinished_commit() {
    let ops = {
        let sim = Sim::new();
        let index = index(&sim);
        let before = sim.ops();
        index.flush().expect("flushed");
        sim.ops() - before
    };
    for cut in 0..ops {
        let sim = Sim::new();
        let index = index(&sim);
        let expected = answers(&index.snapshot());
        sim.power_cut_at(sim.ops() + cut);
        // The flush succeeds if the power cut comes when only the copy of the catalog remains to be
        // written.
        let _ = index.flush();
        drop(index);
        let sim = sim.kill();
        let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
        assert_eq!(answers(&reader.snapshot()), expected, "cut at {cut}");
        let found = reader.verify().expect("verified");
        assert!(found.problems.is_empty(), "cut at {cut}: {:?}", found.problems);
    }
}

#[test]
fn a_copy_without_its_lock_file_can_be_read() {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    index.close().expect("closed");
    sim.remove(&Path::new(DIR).join("lock")).expect("removed");
    let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    assert_eq!(answers(&reader.snapshot()), expected);
    assert!(!sim.snapshot_of_files().contains_key(&Path::new(DIR).join("lock")));
}

#[test]
fn a_backup_is_the_state_at_the_call_and_stays_it() {
    let sim = Sim::new();
    let index = index(&sim);
    let expected = answers(&index.snapshot());
    index.backup(COPY).expect("backed up");
    // The copy keeps its content, whatever happens to the index.
    index.insert("later", &signature(&params(), 9)).expect("inserted");
    index.remove([b'k', 5]).expect("removed");
    index.compact().expect("compacted");
    assert_eq!(index.backup(COPY).expect_err("there is one").kind(), ErrorKind::Exists);
    for state in sim.crash_states(3, 40) {
        let copy = Reader::open_on(disk(&state), Path::new(COPY), options()).expect("durable");
        assert_eq!(answers(&copy.snapshot()), expected);
        assert!(copy.verify().expect("verified").problems.is_empty());
    }
    let copy = Index::open_on(disk(&sim), Path::new(COPY), options()).expect("an index");
    copy.insert("of its own", &signature(&params(), 9)).expect("inserted");
    copy.close().expect("closed");
    assert!(!index.contains("of its own").expect("read"));
}

#[test]
fn a_snapshot_is_backed_up_as_it_was_whatever_came_later() {
    let sim = Sim::new();
    let index = index(&sim);
    let (expected, snapshot) = (answers(&index.snapshot()), index.snapshot());
    // Fills the memtable with new documents, deaths of its own documents, and deaths of documents
    // in segments.
    index.insert([b'k', 0], &signature(&params(), 77)).expect("replaced");
    for key in 4..14 {
        index.remove([b'k', key]).expect("removed");
    }
    let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    let seen = answers(&reader.snapshot());
    let files = sim.snapshot_of_files();
    index.backup_of(&snapshot, COPY).expect("backed up");
    let later = sim.snapshot_of_files();
    assert!(files.iter().all(|(path, bytes)| later.get(path) == Some(bytes)), "nothing else");
    index.flush().expect("flushed");
    index.compact().expect("compacted");
    // The files that the reader holds have been deleted by name.
    reader.backup("/elsewhere/again.nearkin").expect("backed up");
    assert!(reader.refresh().expect("refreshed"));
    for state in sim.crash_states(3, 40) {
        for (copy, expected) in [(COPY, &expected), ("/elsewhere/again.nearkin", &seen)] {
            let copy = Reader::open_on(disk(&state), Path::new(copy), options()).expect("durable");
            assert_eq!(&answers(&copy.snapshot()), expected);
            assert!(copy.verify().expect("verified").problems.is_empty());
        }
    }
    let other = Index::open_on(disk(&sim), Path::new(COPY), options()).expect("an index");
    assert_eq!(other.stats().expect("stats").recovery.files_swept, 0);
    let refused = other.backup_of(&snapshot, "/elsewhere/none").expect_err("of another index");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    // Now all documents of some segments are dead.
    for key in 0..20 {
        other.remove([b'k', key]).expect("removed");
    }
    other.backup_of(&other.snapshot(), "/elsewhere/few.nearkin").expect("backed up");
    let copy = Index::open_on(disk(&sim), Path::new("/elsewhere/few.nearkin"), options());
    let copy = copy.expect("an index");
    assert_eq!(copy.stats().expect("stats").recovery.files_swept, 0);
    assert_eq!(answers(&copy.snapshot()), answers(&other.snapshot()));
}

/// A way to copy a whole index.
type Way = fn(&Index) -> crate::Result<()>;

#[test]
fn a_backup_cut_short_is_never_believed() {
    cut_everywhere(|index| index.backup(COPY));
}

#[test]
fn a_backup_of_a_snapshot_cut_short_is_never_believed() {
    cut_everywhere(|index| index.backup_of(&index.snapshot(), COPY));
}

fn cut_everywhere(back_up: Way) {
    let whole = Sim::new();
    let ops = {
        let index = index(&whole);
        let before = whole.ops();
        back_up(&index).expect("backed up");
        whole.ops() - before
    };
    for cut in 0..ops {
        let sim = Sim::new();
        let index = index(&sim);
        let expected = answers(&index.snapshot());
        sim.power_cut_at(sim.ops() + cut);
        back_up(&index).expect_err("cut");
        drop(index);
        for state in sim.crash_states(cut, 8) {
            let index = Index::open_on(disk(&state), Path::new(DIR), options()).expect("opens");
            assert_eq!(answers(&index.snapshot()), expected);
            // After the cut, there may be no usable copy: then another backup succeeds, or says
            // what to delete. If the cut came after the catalog was written, the whole copy exists.
            if let Err(error) = back_up(&index) {
                let kinds = [ErrorKind::Invalid, ErrorKind::Exists];
                assert!(kinds.contains(&error.kind()), "{error:?}");
            }
            match Reader::open_on(disk(&state), Path::new(COPY), options()) {
                Ok(copy) => assert_eq!(answers(&copy.snapshot()), expected),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}"),
            }
        }
    }
}

#[test]
fn whichever_call_of_a_backup_fails_the_copy_is_whole_or_none() {
    let mut copied = 0;
    for at in 0.. {
        let sim = Sim::new();
        let index = index(&sim);
        let expected = answers(&index.snapshot());
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        let made = index.backup(COPY);
        let fired = sim.faults_fired() > 0;
        if !fired {
            made.expect("no call failed");
            assert!(copied > 0 && at > 50, "a file that cannot be linked is copied");
            return;
        }
        copied += u64::from(made.is_ok());
        match Reader::open_on(disk(&sim), Path::new(COPY), options()) {
            Ok(copy) => assert_eq!(answers(&copy.snapshot()), expected, "call {at}"),
            Err(error) => {
                let nothing = [ErrorKind::NotFound, ErrorKind::Corrupt].contains(&error.kind());
                assert!(made.is_err() && nothing, "call {at}: {error:?}");
            }
        }
        if made.is_err() {
            // A second backup succeeds, or the folder has an index already (`Exists`) or leftovers
            // that must be deleted first (`Invalid`), or the failed call has poisoned the handle
            // (`Poisoned`).
            let again = index.backup(COPY).map_err(|error| error.kind());
            let kinds = [ErrorKind::Invalid, ErrorKind::Exists, ErrorKind::Poisoned];
            assert!(again.map_or_else(|kind| kinds.contains(&kind), |()| true), "call {at}");
        }
        assert_eq!(answers(&index.snapshot()), expected, "call {at}");
    }
}

#[test]
fn a_reader_does_not_go_back_to_an_older_copy_of_its_index() {
    let sim = Sim::new();
    let index = index(&sim);
    let older = index.snapshot().change();
    index.close().expect("closed");
    let files = sim.snapshot_of_files();
    let index = Index::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    index.insert("newer", &signature(&params(), 9)).expect("inserted");
    index.close().expect("closed");
    let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    let expected = answers(&reader.snapshot());
    assert_eq!(reader.change(), older + 1);
    for path in sim.snapshot_of_files().keys().filter(|path| !files.contains_key(*path)) {
        sim.remove(path).expect("removed");
    }
    for (path, bytes) in files {
        sim.overwrite(&path, &bytes);
    }
    // It is a sound index, but a reader that kept its state and said nothing would seem current.
    assert_eq!(reader.refresh().expect_err("older").kind(), ErrorKind::Mismatch);
    assert_eq!(reader.freshness().failure_kind, Some(ErrorKind::Mismatch));
    assert_eq!(reader.change(), older + 1);
    assert_eq!(answers(&reader.snapshot()), expected, "what was open stays readable");
}

#[test]
fn a_reader_whose_refresh_failed_catches_up() {
    let mut failures = 0;
    for at in 0.. {
        let sim = Sim::new();
        let index = index(&sim);
        let by_calls = options().read_mode(ReadMode::Pread);
        let reader = Reader::open_on(disk(&sim), Path::new(DIR), by_calls).expect("opened");
        // The reader looks these documents up in segments, to mark them dead.
        for key in 4..14 {
            index.insert([b'k', key], &signature(&params(), 99)).expect("replaced");
        }
        index.sync().expect("synced");
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        failures += u32::from(reader.refresh().is_err());
        if sim.faults_fired() == 0 {
            break;
        }
        reader.refresh().expect("the disk works again");
        assert_eq!(answers(&reader.snapshot()), answers(&index.snapshot()), "call {at}");
    }
    assert!(failures > 10, "{failures}");
}

#[test]
fn a_reader_tells_of_its_opening_after_a_refresh() {
    let sim = Sim::new();
    let index = index(&sim);
    let reader = Reader::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    let recovery = || reader.stats().expect("stats").recovery;
    let opening = recovery();
    assert!(opening.bytes_read > 0, "{opening:?}");
    index.insert("later", &signature(&params(), 9)).expect("inserted");
    index.flush().expect("flushed");
    assert!(reader.refresh().expect("refreshed"));
    assert_eq!(recovery(), opening);
}
