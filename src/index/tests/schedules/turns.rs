//! Shared handles hand over to each other.

use super::explore;
use super::world::{World, options};
use crate::Options;
use crate::sync::thread;

/// A handle that ends its turn with each call.
fn shared() -> Options {
    options().shared(true)
}

/// Two threads of one handle, and one of another.
pub(super) fn two_handles(world: &World) {
    let (one, other) = (world.open(shared()), world.open(shared()));
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&one, &[("a", Some(5))]);
            world.must_write(&one, &[("d", Some(6)), ("b", None)]);
        });
        scope.spawn(|| world.must_write(&one, &[("e", Some(7))]));
        scope.spawn(|| {
            world.must_write(&other, &[("a", Some(9)), ("c", None)]);
            other.refresh().expect("a sound disk");
            world.read(&other, 1);
        });
    });
    one.close().expect("a sound disk");
    other.close().expect("a sound disk");
    world.check_reopened();
}

/// One handle flushes, and one compacts, while a third writes and is refreshed.
fn three_handles_that_merge(world: &World) {
    let handles = [(); 3].map(|()| world.open(shared()));
    let [one, other, third] = &handles;
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(one, &[("a", Some(5))]);
            one.flush().expect("a sound disk");
        });
        scope.spawn(|| {
            world.must_write(other, &[("b", Some(6)), ("d", Some(1))]);
            other.compact().expect("a sound disk");
        });
        scope.spawn(|| {
            world.must_write(third, &[("c", None)]);
            third.refresh().expect("a sound disk");
            world.read(third, 1);
        });
    });
    for handle in handles {
        handle.close().expect("a sound disk");
    }
    world.check_reopened();
}

/// Equal newcomers at two handles: one is admitted.
fn newcomers(world: &World) {
    let (one, other) = (world.open(shared()), world.open(shared()));
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
