//! I/O faults. A script is run again and again; in each run another of its calls fails, in one of
//! the ways in which a call can fail, either only once or from then on. Acknowledged changes must
//! stay, refused ones must be absent, and unknown ones may be either. Only a failed sync has to
//! poison the handle.

use super::super::bench::{Bench, End, Layout};
use super::super::power::script;
use super::super::script::Op;
use super::script::layout;
use super::{PanicNote, Rng};
use crate::testing::campaign;
use crate::testing::sim::{Fault, FaultKind};
use crate::{Durability, ErrorKind};

/// Number of power cuts examined after a fault.
const STATES: usize = 4;

fn roomy(durability: Durability) -> Layout {
    Layout { durability, memtable_bytes_max: 1 << 20, wal_bytes: (8 << 10, 8 << 10), ..layout() }
}

/// Whether the operation ends the process. Such operations are skipped if the fault persists: the
/// next process would have a disk that keeps failing or, after a failed sync, read bytes from the
/// page cache that no later sync makes durable.
fn reopens(op: &Op) -> bool {
    matches!(op, Op::CloseAndReopen | Op::DropAndReopen)
}

/// Runs the script on a disk on which one call fails; if the fault is sticky, all later calls fail,
/// too. Returns false if the script has no such call.
fn fail_at(fault: Fault, durability: Durability) -> bool {
    let mut place = PanicNote(format!("{fault:?}, {durability:?}"));
    let mut bench = Bench::new(roomy(durability), 7);
    bench.sound = false;
    bench.sim.fail(fault);
    let stays = fault.sticky || fault.what == FaultKind::SyncFails;
    for op in script() {
        place.0 = format!("{fault:?}, {durability:?}, {op:?}");
        if stays && reopens(&op) {
            continue;
        }
        bench.step_on_failing_disk(&op);
    }
    let fired = bench.sim.faults_fired() > 0;
    let seed = Rng::new(fault.at).next();
    for (state, disk) in bench.sim.crash_states(seed, STATES).enumerate() {
        place.0 = format!("{fault:?}, {durability:?}, state {state}");
        bench.check_disk(&disk, bench.durable);
    }
    // Kill the process, and restart it on a healthy disk.
    if fault.what != FaultKind::SyncFails && !(fault.sticky && fault.what == FaultKind::Eio) {
        place.0 = format!("{fault:?}, {durability:?}, reopened");
        drop(bench.index.take());
        bench.sim = bench.sim.kill();
        assert!(bench.begin_again(End::Kill));
    }
    fired
}

/// Fails each call that the fault can hit, one per run; in a short campaign every fifth. Returns
/// the number of such calls.
fn fail_everywhere(what: FaultKind, sticky: bool, durability: Durability) -> u64 {
    let every = (0..u64::MAX).step_by(campaign::step(5));
    let calls = every.into_iter().find(|at| !fail_at(Fault { at: *at, what, sticky }, durability));
    let calls = calls.expect("a script ends");
    eprintln!("{what:?}, sticky {sticky}, {durability:?}: {calls} calls failed in their turn");
    assert!(calls > 20, "the script does more than {calls} such calls");
    calls
}

#[test]
fn whichever_call_fails_once_nothing_acknowledged_is_lost() {
    for what in FaultKind::ALL {
        fail_everywhere(what, false, Durability::Sync);
    }
}

#[test]
fn whichever_calls_fail_nothing_acknowledged_is_lost() {
    for what in FaultKind::ALL {
        fail_everywhere(what, true, Durability::Sync);
    }
}

#[test]
fn whichever_call_fails_nothing_synced_is_lost() {
    for what in FaultKind::ALL {
        fail_everywhere(what, false, Durability::OsBuffer);
    }
}

#[test]
fn a_poisoned_handle_does_not_go_on_with_a_compaction() {
    let layout = Layout { step_bytes: 64, tier_segments_max: 2, ..roomy(Durability::Sync) };
    let mut bench = Bench::new(layout, 7);
    for op in script().into_iter().take(6) {
        bench.step(&op);
    }
    bench.step(&script()[6]);
    bench.index().maintain().expect("a step of a compaction");
    bench.sim.fail(Fault { at: 0, what: FaultKind::SyncFails, sticky: false });
    let poisoned = bench.execute(&script()[9]).expect_err("its sync fails");
    assert_eq!(poisoned.kind(), ErrorKind::Unknown);
    let written = bench.sim.counters().bytes_written;
    let refused = bench.index().compact().expect_err("a poisoned handle");
    assert_eq!(refused.kind(), ErrorKind::Poisoned);
    assert_eq!(bench.sim.counters().bytes_written, written, "nothing more is written");
}
