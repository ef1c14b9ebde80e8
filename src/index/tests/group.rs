//! Group commit, on a disk whose syncs wait for the test.

use crate::storage::lock::Lock;
use crate::storage::{Counters, DirEntry, Disk, File, Map, OpenMode, Storage};
use crate::{Batch, ErrorKind, Index, Maintenance, Options, Outcome, Params, Signature};
use nearkin_sketch::engine::signature_from_parts;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// What a sync of a file does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Syncs {
    #[default]
    Pass,
    /// Waits until the test changes the behaviour.
    Wait,
    Fail,
}

#[derive(Debug, Default)]
struct Gate {
    /// The current behaviour, and the number of syncs started.
    state: Mutex<(Syncs, u64)>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, syncs: Syncs) {
        self.state.lock().unwrap().0 = syncs;
        self.changed.notify_all();
    }

    fn begun(&self) -> u64 {
        self.state.lock().unwrap().1
    }

    /// Waits until this many syncs have started.
    fn await_begun(&self, count: u64) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.1 < count).unwrap());
    }

    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.0 == Syncs::Wait).unwrap();
        match state.0 {
            Syncs::Fail => Err(io::Error::other("the disk is gone")),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Default, Clone)]
struct Gated {
    disk: Disk,
    gate: Arc<Gate>,
}

#[derive(Debug)]
struct GatedFile {
    file: Arc<dyn File>,
    gate: Arc<Gate>,
}

impl Storage for Gated {
    /// Folders on this disk are never moved.
    fn hold(&self, _: &Path) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.clone()))
    }
    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(dir)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, mode)?;
        Ok(Arc::new(GatedFile { file, gate: Arc::clone(&self.gate) }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_new(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.disk.lock(path)
    }
    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.disk.lock_shared(path)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.hard_link(from, to)
    }
    fn counters(&self) -> Counters {
        self.disk.counters()
    }
}

impl File for GatedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(buffer, offset)
    }
    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.file.start_writing(offset, bytes)
    }
    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file.set_bytes(bytes)
    }
    fn sync(&self) -> io::Result<()> {
        self.gate.pass()?;
        self.file.sync()
    }
    fn map(&self) -> io::Result<Map> {
        self.file.map()
    }
}

fn signature(params: &Params, byte: u8) -> Signature {
    signature_from_parts(params, 1, vec![byte; params.signature_bytes()].into())
}

/// An index that holds the document "first", and the gate of its disk.
fn index(dir: &Path) -> (Index, Arc<Gate>, Params) {
    index_with(dir, Options::default())
}

fn index_with(dir: &Path, options: Options) -> (Index, Arc<Gate>, Params) {
    let params = Params::builder().hashes(16).bands(4, 4).build().unwrap();
    let gate = Arc::new(Gate::default());
    let storage = Arc::new(Gated { disk: Disk::default(), gate: Arc::clone(&gate) });
    let options = options.maintenance(Maintenance::Inline);
    let index = Index::create_on(storage, &dir.join("i"), &params, options).unwrap();
    index.insert("first", &signature(&params, 1)).unwrap();
    (index, gate, params)
}

/// Inserts document `number`, which has a key of its own, on a new thread.
fn spawn_insert<'scope>(
    scope: &'scope Scope<'scope, '_>,
    index: &'scope Index,
    params: &'scope Params,
    number: u8,
) -> ScopedJoinHandle<'scope, Outcome> {
    scope.spawn(move || index.insert([b'k', number], &signature(params, number)).unwrap())
}

/// Waits until this many changes are appended and applied.
fn await_applied(index: &Index, change: u64) {
    while index.core.writer().change < change {
        std::thread::yield_now();
    }
}

#[test]
fn writers_that_wait_at_the_same_time_share_one_sync() {
    let folder = tempfile::tempdir().unwrap();
    let (index, gate, params) = index(folder.path());
    let before = gate.begun();
    gate.set(Syncs::Wait);
    std::thread::scope(|scope| {
        let insert = |number| spawn_insert(scope, &index, &params, number);
        let leader = insert(0);
        gate.await_begun(before + 1);
        let followers: Vec<_> = (1..8).map(insert).collect();
        await_applied(&index, 9);
        // Applied, but a power cut could still undo it: no query sees it, and no call has returned
        // `Ok`.
        assert_eq!((index.len(), index.snapshot().change(), index.durable_change()), (1, 1, 1));
        assert!(!leader.is_finished() && followers.iter().all(|writer| !writer.is_finished()));
        gate.set(Syncs::Pass);
        assert_eq!(leader.join().unwrap(), Outcome::Inserted);
        for follower in followers {
            assert_eq!(follower.join().unwrap(), Outcome::Inserted);
        }
    });
    assert_eq!(gate.begun() - before, 2, "the leader's, and one for all who came meanwhile");
    assert_eq!((index.len(), index.durable_change()), (9, 9));
}

/// Starts three writers. The second and the third arrive during the sync of the first. When the
/// first has returned, calls `then` with the index, the gate, and the number of syncs started so
/// far, including that of the first writer. Returns when all writers are done.
fn with_two_of_three(pause: Duration, then: impl FnOnce(&Index, &Gate, u64)) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { gather_pause: pause, ..Options::default() };
    let (index, gate, params) = index_with(folder.path(), options);
    let before = gate.begun();
    gate.set(Syncs::Wait);
    std::thread::scope(|scope| {
        let insert = |number| spawn_insert(scope, &index, &params, number);
        let leader = insert(0);
        gate.await_begun(before + 1);
        (1..3).for_each(|number| drop(insert(number)));
        while index.core.group.arrived_and_waiting().0 < 2 {
            std::thread::yield_now();
        }
        gate.set(Syncs::Pass);
        leader.join().unwrap();
        then(&index, &gate, before + 1);
    });
    assert_eq!(index.snapshot().change(), index.durable_change());
}

const FOR_EVER: Duration = Duration::from_secs(600);

#[test]
fn writers_wait_for_the_others_and_the_last_starts_the_sync() {
    with_two_of_three(FOR_EVER, |index, gate, begun| {
        assert_eq!((gate.begun(), index.durable_change()), (begun, 2));
        index.remove("first").unwrap();
        assert_eq!((gate.begun(), index.durable_change()), (begun + 1, 5));
    });
}

#[test]
fn a_sync_or_flush_waits_for_no_other_writer() {
    with_two_of_three(FOR_EVER, |index, gate, begun| {
        assert_eq!(index.sync().unwrap(), 4);
        assert_eq!((gate.begun(), index.durable_change()), (begun + 1, 4));
    });
    // A flush does not wait for other writers either: it holds the lock that they need.
    with_two_of_three(FOR_EVER, |index, _, _| index.flush().unwrap());
}

#[test]
fn a_call_covered_by_the_running_sync_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { gather_pause: FOR_EVER, ..Options::default() };
    let (index, gate, params) = index_with(folder.path(), options);
    let before = gate.begun();
    gate.set(Syncs::Wait);
    std::thread::scope(|scope| {
        spawn_insert(scope, &index, &params, 0);
        gate.await_begun(before + 1);
        // This call has nothing of its own to sync: it waits for the running sync.
        scope.spawn(|| index.sync().unwrap());
        while index.core.group.arrived_and_waiting().1 < 1 {
            std::thread::yield_now();
        }
        assert_eq!(index.core.group.arrived_and_waiting(), (0, 1));
        gate.set(Syncs::Pass);
    });
    // The waiting call did not count as a writer of the next sync, so this single writer syncs at
    // once instead of waiting for a second one.
    index.remove("first").unwrap();
    assert_eq!(gate.begun(), before + 2);
}

#[test]
fn a_timed_out_wait_starts_the_sync_and_the_back_off() {
    with_two_of_three(Duration::from_micros(1), |index, gate, begun| {
        gate.await_begun(begun + 1);
        assert_eq!(index.core.group.skipped(), 1);
    });
}

#[test]
fn an_answer_without_a_write_waits_for_what_it_rests_on() {
    let folder = tempfile::tempdir().unwrap();
    let (index, gate, params) = index(folder.path());
    let begun = gate.begun();
    gate.set(Syncs::Wait);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| index.insert("k", &signature(&params, 2)).unwrap());
        gate.await_begun(begun + 1);
        let again = scope.spawn(|| index.insert("k", &signature(&params, 2)).unwrap());
        let empty = scope.spawn(|| index.write(Batch::new()).unwrap().change);
        // This remove is a change of its own: it must see the applied state, not the visible one.
        let gone = scope.spawn(|| index.remove("first").unwrap());
        await_applied(&index, 3);
        assert!(!first.is_finished() && !again.is_finished() && !empty.is_finished());
        gate.set(Syncs::Pass);
        assert_eq!(first.join().unwrap(), Outcome::Inserted);
        assert_eq!(again.join().unwrap(), Outcome::Unchanged);
        assert!(empty.join().unwrap() >= 2);
        assert_eq!(gone.join().unwrap(), Outcome::Removed);
    });
    assert!(index.contains("k").unwrap() && !index.contains("first").unwrap());
}

#[test]
fn a_failed_sync_ends_writing_but_not_reading() {
    let folder = tempfile::tempdir().unwrap();
    let (index, gate, params) = index(folder.path());
    gate.set(Syncs::Fail);
    let failed = index.insert("lost", &signature(&params, 2)).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unknown, "{failed}");
    gate.set(Syncs::Pass);
    let begun = gate.begun();
    for refused in [
        index.insert("k", &signature(&params, 3)).map(|_| ()),
        index.remove("first").map(|_| ()),
        index.flush(),
        index.compact(),
        index.maintain().map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Poisoned);
    }
    assert!(index.sync().is_err());
    assert_eq!(gate.begun(), begun, "nothing is synced after a failed sync");
    assert_eq!((index.len(), index.durable_change()), (1, 1));
    assert!(index.contains("first").unwrap() && !index.contains("lost").unwrap());
    assert_eq!(index.query(&signature(&params, 1)).run().unwrap().found, 1);
    assert!(index.close().is_err());
    // The record was appended, so it survives the end of the process. After a power cut it could be
    // missing.
    let index = Index::open(folder.path().join("i"), Options::default()).unwrap();
    assert_eq!(index.len(), 2);
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn a_sync_during_which_the_log_broke_vouches_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (index, gate, params) = index(folder.path());
    let begun = gate.begun();
    gate.set(Syncs::Wait);
    std::thread::scope(|scope| {
        let insert = scope.spawn(|| index.insert("k", &signature(&params, 2)).unwrap_err().kind());
        gate.await_begun(begun + 1);
        index.core.group.poison(&"a record could not be rolled back");
        gate.set(Syncs::Pass);
        assert_eq!(insert.join().unwrap(), ErrorKind::Unknown);
    });
    assert_eq!((index.len(), index.durable_change()), (1, 1));
    assert!(!index.core.group.horizon_is_news());
}
