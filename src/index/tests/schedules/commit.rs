//! Group commit: writers that share syncs, with concurrent readers, and with a sync that fails.

use super::explore;
use super::world::{World, options};
use crate::sync::thread;
use crate::testing::sim::{Fault, FaultKind};
use crate::{ErrorKind, Index, Options};

/// Opens an index that has nothing to merge, so that only writers sync.
fn calm(world: &World) -> Index {
    let index = world.open(options());
    index.compact().expect("a sound disk");
    index
}

/// Two writers and a reader: visibility advances in change order, never before the sync;
/// acknowledged changes are visible and durable.
pub(super) fn two_writers_and_a_reader(world: &World) {
    let index = calm(world);
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5))]);
            world.must_write(&index, &[("d", Some(6)), ("b", None)]);
        });
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(9))]);
            world.must_write(&index, &[("c", None), ("d", Some(4))]);
        });
        scope.spawn(|| {
            world.read(&index, 2);
            let change = index.durable_change();
            world.claim("durable_change", change);
        });
    });
    drop(index);
    world.check_reopened();
}

/// Three writers. Most of their calls write nothing, but the answers to these calls depend on
/// changes of the other writers.
pub(super) fn idle_answers(world: &World) {
    let index = calm(world);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                world.must_write(&index, &[("d", Some(5))]);
                world.must_write(&index, &[("a", None)]);
            });
        }
        scope.spawn(|| {
            world.must_write(&index, &[]);
            world.must_write(&index, &[("a", None), ("d", Some(5))]);
            world.must_write(&index, &[("x", None)]);
        });
    });
    drop(index);
    world.check_reopened();
}

/// Three callers admit the same document under different keys. Only one is admitted, and the others
/// are rejected only when its document is durable.
pub(super) fn newcomers(world: &World) {
    let index = calm(world);
    let admitted = std::sync::atomic::AtomicU64::new(0);
    thread::scope(|scope| {
        for key in ["x", "y", "z"] {
            let (index, admitted) = (&index, &admitted);
            scope.spawn(move || {
                let count = u64::from(world.admit(index, key, 20));
                admitted.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    let admitted = admitted.into_inner();
    if admitted != 1 {
        world.problems.say(format!("{admitted} of three copies were admitted"));
    }
    drop(index);
    world.check_reopened();
}

/// `sync` and `flush` under a weaker durability: the changes that they report must be durable.
fn barriers(world: &World) {
    let index = world.open(options());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5))]);
            let change = index.sync().expect("a sound disk");
            world.claim("a barrier", change);
        });
        scope.spawn(|| {
            world.must_write(&index, &[("d", Some(9))]);
            index.flush().expect("a sound disk");
            let change = index.durable_change();
            world.claim("a flush", change);
        });
        scope.spawn(|| world.read(&index, 2));
    });
    drop(index);
    world.check_reopened();
}

/// Three writers; after `at` syncs, one fails. Waiting callers get `Unknown`, and later ones
/// `Poisoned`. A change that got `Poisoned` must be absent.
fn failing_sync(world: &World, at: u64) {
    let index = calm(world);
    world.must_write(&index, &[("first", Some(1))]);
    world.judge.lock().expect("nobody panicked").is_partial = true;
    world.sim.fail(Fault { at, what: FaultKind::SyncFails, sticky: false });
    let refused = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for keys in [["k1", "k2"], ["l1", "l2"], ["m1", "m2"]] {
            let (index, refused) = (&index, &refused);
            scope.spawn(move || {
                let mut failed = false;
                for key in keys {
                    match world.write(index, &[(key, Some(3))]) {
                        Ok(()) if failed => world.problems.say(format!("{key}: Ok, in the end")),
                        Ok(()) => {}
                        Err(error) if error.kind() == ErrorKind::Unknown && !failed => {
                            failed = true;
                        }
                        Err(error) if error.kind() == ErrorKind::Poisoned => {
                            refused.lock().expect("nobody panicked").push(key);
                            failed = true;
                        }
                        Err(error) => world.problems.say(format!("{key}: {error:?}")),
                    }
                }
            });
        }
    });
    if world.sim.faults_fired() != 1 {
        world.problems.say("the sync was not reached".to_owned());
    }
    world.claim("what is visible", index.snapshot().change());
    let visible = index.snapshot();
    for result in [index.flush(), index.sync().map(|_| ()), index.compact()] {
        let kind = result.map_err(|error| error.kind());
        if !matches!(kind, Err(ErrorKind::Poisoned | ErrorKind::Unknown)) {
            world.problems.say(format!("after the failure: {kind:?}"));
        }
    }
    drop(index);
    // Reopens the index as after the end of the process: without a power cut, so the system still
    // has all appended bytes.
    let index = world.open(options());
    for key in refused.into_inner().expect("nobody panicked") {
        if index.contains(key).expect("sound") || visible.contains(key).expect("sound") {
            world.problems.say(format!("{key}: refused, and there"));
        }
    }
}

#[test]
fn visible_moves_in_change_order_and_never_before_the_sync() {
    explore("two writers and a reader", two_writers_and_a_reader);
}

#[test]
fn answers_without_a_write_wait_for_the_sync_of_what_they_saw() {
    explore("idle answers", idle_answers);
}

#[test]
fn of_three_copies_at_once_one_is_admitted() {
    explore("newcomers", newcomers);
}

#[test]
fn barriers_and_flushes_cover_what_was_written_before_them() {
    explore("barriers", barriers);
}

#[test]
fn no_writer_gets_ok_from_a_first_sync_that_fails() {
    explore("the first sync fails", |world| failing_sync(world, 0));
}

#[test]
fn no_writer_gets_ok_from_a_second_sync_that_fails() {
    explore("the second sync fails", |world| failing_sync(world, 1));
}

/// Options so small that every write flushes and compacts.
pub(super) fn tiny() -> Options {
    Options { memtable_bytes_max: 1, tier_segments_max: 2, ..options() }
}
