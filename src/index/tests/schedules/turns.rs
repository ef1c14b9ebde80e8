//! Shared handles hand over to each other.

use super::explore;
use super::world::{World, options};
use crate::sync::unexplored::{AtomicU64, Ordering};
use crate::sync::{Arc, thread};
use crate::{Index, Options};

/// A handle that ends its turn with each call. Each draws salts of its own, as processes do.
fn shared(handle: u64) -> Options {
    let random = AtomicU64::new(handle << 48);
    let random = Arc::new(move || random.fetch_add(0x9E37_79B9, Ordering::Relaxed));
    Options { random, ..options().shared(true) }
}

/// Reads a snapshot. Its files may be gone: it has them open, and another handle may remove them.
fn look(world: &World, index: &Index) {
    let snapshot = index.snapshot();
    world.claim("a snapshot", snapshot.change());
    world.look(&snapshot);
}

/// Two threads of one handle, and one of another.
pub(super) fn two_handles(world: &World) {
    let (one, other) = (world.open(shared(1)), world.open(shared(2)));
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&one, &[("a", Some(5))]);
            world.must_write(&one, &[("d", Some(6)), ("b", None)]);
        });
        scope.spawn(|| world.must_write(&one, &[("e", Some(7))]));
        scope.spawn(|| {
            world.must_write(&other, &[("a", Some(9)), ("c", None)]);
            world.must("refresh", other.refresh());
            look(world, &other);
        });
    });
    world.must("close", one.close());
    world.must("close", other.close());
    world.check_reopened();
}

/// One handle flushes, and one compacts, while a third writes and is refreshed.
fn three_handles_that_merge(world: &World) {
    let handles = [1, 2, 3].map(|handle| world.open(shared(handle)));
    let [one, other, third] = &handles;
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(one, &[("a", Some(5))]);
            world.must("flush", one.flush());
        });
        scope.spawn(|| {
            world.must_write(other, &[("b", Some(6)), ("d", Some(1))]);
            world.must("compact", other.compact());
        });
        scope.spawn(|| {
            world.must_write(third, &[("c", None)]);
            world.must("refresh", third.refresh());
            look(world, third);
        });
    });
    for handle in handles {
        world.must("close", handle.close());
    }
    world.check_reopened();
}

/// Equal newcomers at two handles: one is admitted.
fn newcomers(world: &World) {
    let (one, other) = (world.open(shared(1)), world.open(shared(2)));
    let mut admitted = [false; 2];
    let [first, second] = &mut admitted;
    thread::scope(|scope| {
        scope.spawn(|| *first = world.admit(&one, "x", 30));
        scope.spawn(|| *second = world.admit(&other, "y", 30));
    });
    if admitted[0] == admitted[1] {
        world.problems.say(format!("admitted: {admitted:?}"));
    }
    drop((one, other));
    world.check_reopened();
}

#[test]
fn handles_hand_over_in_any_order() {
    explore("two handles", two_handles);
    explore("three handles that merge", three_handles_that_merge);
    explore("newcomers at two handles", newcomers);
}
