//! Group commit, on a disk whose syncs wait for the test.

use super::copies::{DIR, disk, params, signature};
use crate::testing::sim::{Fault, FaultKind, Moment, Sim};
use crate::{Batch, ErrorKind, Index, Maintenance, Options, Outcome, Params};
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

struct Gate {
    sim: Sim,
    /// The current behaviour, and the number of syncs started.
    state: Mutex<(Syncs, u64)>,
    changed: Condvar,
}

impl Gate {
    /// A gate that every sync of a file on its disk passes.
    fn new() -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let new = Arc::new(Self { sim: Sim::new(), state, changed });
        let gate = Arc::clone(&new);
        let visit = move || {
            let mut state = gate.state.lock().unwrap();
            state.1 += 1;
            gate.changed.notify_all();
            let state = gate.changed.wait_while(state, |state| state.0 == Syncs::Wait).unwrap();
            if state.0 == Syncs::Fail {
                gate.sim.fail(Fault { at: 0, what: FaultKind::SyncFails, sticky: false });
            }
            false
        };
        new.sim.visit_syncs(Some((Moment::BeforeSync, Box::new(visit))));
        new
    }

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
}

/// An index that holds the document "first", and the gate of its disk.
fn index() -> (Index, Arc<Gate>, Params) {
    index_with(Options::default())
}

fn index_with(options: Options) -> (Index, Arc<Gate>, Params) {
    let (params, gate) = (params(), Gate::new());
    let options = options.maintenance(Maintenance::Inline);
    let index = Index::create_on(disk(&gate.sim), Path::new(DIR), &params, options).unwrap();
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
    let (index, gate, params) = index();
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
    let options = Options { gather_pause: pause, ..Options::default() };
    let (index, gate, params) = index_with(options);
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
    let options = Options { gather_pause: FOR_EVER, ..Options::default() };
    let (index, gate, params) = index_with(options);
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
    let (index, gate, params) = index();
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
    let (index, gate, params) = index();
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
    let index = Index::open_on(disk(&gate.sim), Path::new(DIR), Options::default()).unwrap();
    assert_eq!(index.len(), 2);
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn a_sync_during_which_the_log_broke_vouches_for_nothing() {
    let (index, gate, params) = index();
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
