//! One short script: the disk stops at every operation in turn, or every call fails in turn.

use super::bench::{Bench, DIR, End, Layout};
use super::model::Model;
use super::reading::check_all;
use super::script::{Ask, ModelEdit, Op};
use super::{PanicNote, Params};
use crate::testing::sim::{Fault, FaultKind, Sim};
use crate::{Durability, ErrorKind, Maintained};
use std::path::Path;

const HASHES: usize = 16;

fn layout(durability: Durability) -> Layout {
    let builder = Params::builder().hashes(HASHES).bands(4, 3).lane_bits(8);
    let params = builder.build().expect("sound parameters");
    let plain = Layout::new(&params);
    Layout { durability, memtable_bytes_max: 1 << 20, wal_bytes: (8 << 10, 8 << 10), ..plain }
}

fn insert(key: &str, value: u8) -> ModelEdit {
    let mut lanes = vec![9; HASHES];
    lanes[usize::from(value) % HASHES] = value;
    ModelEdit::Insert { key: key.into(), lanes, payload: Some(vec![value; usize::from(value) * 9]) }
}

fn remove(key: &str) -> ModelEdit {
    ModelEdit::Remove { key: key.into() }
}

/// Replaces a document's signature and keeps its payload.
fn rewrite(key: &str, value: u8) -> ModelEdit {
    ModelEdit::Insert { key: key.into(), lanes: vec![value; HASHES], payload: None }
}

/// A script in which the folder changes in every possible way: a first WAL and the next, flushes
/// with and without deaths, a compaction, a segment whose documents all die, a clean close and a
/// replay. Payloads are kept and set, both in a segment and in the memtable.
pub(super) fn script() -> Vec<Op> {
    let ask = Ask { rows: 0, limit: usize::MAX };
    vec![
        Op::Write(vec![insert("a", 1), insert("b", 2)]),
        Op::Write(vec![insert("c", 3)]),
        Op::Flush,
        Op::Write(vec![insert("a", 4), remove("b"), insert("d", 5), insert("e", 6)]),
        Op::Write(vec![remove("d")]),
        Op::Flush,
        Op::Write(vec![remove("c"), insert("f", 7)]),
        Op::Maintain,
        Op::Query { lanes: vec![9; HASHES], ask },
        Op::Write(vec![insert("f", 8)]),
        Op::CloseAndReopen,
        Op::Write(vec![remove("a"), remove("e"), remove("f"), insert("g", 9)]),
        Op::Compact,
        Op::Write(vec![insert("h", 10)]),
        Op::Sync,
        Op::Write(vec![insert("a", 11)]),
        Op::DropAndReopen,
        Op::Write(vec![remove("g")]),
        Op::Write(vec![
            rewrite("a", 12),
            ModelEdit::SetPayload { key: "h".into(), payload: vec![7] },
        ]),
        Op::Write(vec![rewrite("h", 13)]),
        Op::RemovePrefix(b"h".to_vec()),
    ]
}

impl Bench {
    /// Creates an index on a disk that stops at operation `op`, and runs the script until then.
    /// Returns false if the disk never stopped.
    fn run_until_stopped(&mut self, op: u64) -> bool {
        self.sim.power_cut_at(op);
        if self.make().is_ok() {
            for op in script() {
                let result = self.execute(&op);
                if !self.sim.is_stopped() {
                    result.unwrap_or_else(|error| panic!("{op:?}: {error:?}"));
                    self.finish_step().unwrap_or_else(|error| panic!("{op:?}: {error:?}"));
                    continue;
                }
                if let Some(index) = &self.index {
                    self.durable = self.durable.max(index.durable_change());
                }
                break;
            }
        }
        self.sim.is_stopped()
    }

    /// Compares a disk with the model. If the creation of the index was not finished, creating one
    /// must be possible.
    fn check_left(&self, disk: &Sim, made: bool) {
        if !made && !crate::index::files::folder::exists(disk, Path::new(DIR)).expect("a folder") {
            let mut again = Self::unmade(layout(Durability::Sync), 1, disk.clone());
            again.make().expect("an index where the first was never finished");
            return;
        }
        self.check_disk(disk, self.durable);
    }
}

/// Stops the script at every operation in turn, and examines the disks that a power cut could
/// leave.
fn cut_everywhere(durability: Durability, states: usize) {
    for op in 0.. {
        let mut place = PanicNote(format!("{durability:?}, cut at {op}"));
        let mut bench = Bench::unmade(layout(durability), 7, Sim::new());
        if !bench.run_until_stopped(op) {
            assert!(op > 200, "the script does more than {op} operations");
            return;
        }
        let made = bench.index.is_some() || bench.model.change > 0;
        for (state, disk) in bench.sim.crash_states(op, states).enumerate() {
            place.0 = format!("{durability:?}, cut at {op}, state {state}");
            bench.check_left(&disk, made);
        }
    }
}

#[test]
fn a_power_cut_leaves_a_prefix_with_all_acknowledged() {
    cut_everywhere(Durability::Sync, 32);
}

#[test]
fn a_power_cut_leaves_a_prefix_with_all_synced() {
    cut_everywhere(Durability::OsBuffer, 16);
}

#[test]
fn changes_replayed_after_a_kill_survive_a_power_cut() {
    for op in 0.. {
        let mut place = PanicNote(format!("killed at {op}"));
        let mut bench = Bench::unmade(layout(Durability::OsBuffer), 7, Sim::new());
        if !bench.run_until_stopped(op) {
            return;
        }
        drop(bench.index.take());
        bench.sim = bench.sim.kill();
        if crate::index::files::folder::exists(&bench.sim, Path::new(DIR)).expect("a folder") {
            assert!(bench.begin_again(End::Kill));
        } else {
            assert_eq!(bench.model.change, 0, "an index with changes is gone");
            bench.make().expect("an index where the first was never finished");
        }
        for (state, disk) in bench.sim.crash_states(op, 8).enumerate() {
            place.0 = format!("killed at {op}, cut after reopening, state {state}");
            bench.check_disk(&disk, bench.durable);
        }
        bench.execute(&Op::Write(vec![insert("z", 12)])).expect("a write");
        bench.execute(&Op::Sync).expect("a sync");
        bench.finish_step().expect("reads");
        for (state, disk) in bench.sim.crash_states(op, 8).enumerate() {
            place.0 = format!("killed at {op}, cut after a write, state {state}");
            bench.check_disk(&disk, bench.durable);
        }
    }
}

impl Bench {
    /// Does an operation in which a call may fail. Acknowledged changes must stay, refused ones
    /// must be absent, and unknown ones may be either.
    pub(super) fn step_on_failing_disk(&mut self, op: &Op) {
        let doubt = self.in_doubt.clone();
        if let Err(error) = self.execute(op) {
            match error.kind() {
                ErrorKind::Io | ErrorKind::Poisoned => self.in_doubt = doubt,
                ErrorKind::Unknown => assert!(
                    doubt.is_none() || !matches!(op, Op::Write(_)),
                    "a poisoned handle writes nothing"
                ),
                _ => panic!("{op:?}: {error:?}"),
            }
        }
        if self.index.is_none() {
            // Reopening failed. The fault occurs only once, so the next attempt succeeds.
            assert!(self.begin_again(End::Kill));
            return;
        }
        let visible = self.index().snapshot().change();
        let seen = [Some(&self.model), self.in_doubt.as_ref()];
        let seen: Option<Model> =
            seen.into_iter().flatten().find(|model| model.change == visible).cloned();
        let seen = seen.unwrap_or_else(|| panic!("{op:?}: change {visible} is visible"));
        // If the planned failure has not occurred before, it may hit this read.
        if let Err(error) = check_all(&self.index().snapshot(), &seen) {
            assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
        }
        self.durable = self.durable.max(self.index().durable_change());
    }
}

#[test]
fn a_poisoned_handle_does_not_close_cleanly() {
    let mut poisoned = 0;
    for at in 0..10 {
        let _place = PanicNote(format!("sync {at} fails"));
        let mut bench = Bench::new(layout(Durability::Sync), 7);
        bench.sim.fail(Fault { at, what: FaultKind::SyncFails, sticky: false });
        let written = bench.execute(&Op::Write(vec![insert("a", 1)]));
        if written.is_err_and(|error| error.kind() == ErrorKind::Unknown) {
            let closed = bench.index.take().expect("the index is open").close();
            assert_eq!(closed.expect_err("nothing is flushed").kind(), ErrorKind::Poisoned);
            poisoned += 1;
        }
    }
    assert!(poisoned > 1, "syncs of catalog and WAL failed");
}

#[test]
fn an_empty_memtable_is_never_full() {
    let layout = Layout { memtable_bytes_max: 0, ..layout(Durability::Sync) };
    let mut bench = Bench::new(layout, 7);
    for value in 1..4 {
        bench.step(&Op::Write(vec![insert("a", value)]));
    }
    let steps = (0..10).map(|_| bench.index().maintain().expect("a step"));
    let due = steps.filter(|step| *step != Maintained::Nothing).count();
    assert!(due < 4, "{due} steps were due though nothing was written");
}
