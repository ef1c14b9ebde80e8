//! Writers, flushes, compactions in small steps, and readers whose snapshots must not change.

use super::commit::tiny;
use super::explore;
use super::world::{World, options};
use crate::sync::thread;
use crate::{Index, Options};

fn two_a_tier() -> Options {
    Options { tier_segments_max: 2, ..options() }
}

/// Flushes, and advances a compaction until there is none.
fn merge(world: &World, index: &Index) {
    for _ in 0..2 {
        while index.core.compact_step().expect("a sound disk").is_some() {}
        if let Err(error) = index.flush() {
            world.problems.say(format!("flush: {error:?}"));
        }
    }
}

/// What one snapshot shows stays as it is, whatever is written and merged.
fn read_again_and_again(world: &World, index: &Index) {
    let first = world.hold(index);
    world.look(first.snapshot());
    let second = world.hold(index);
    world.look(second.snapshot());
    world.look(first.snapshot());
    drop(first);
    world.look(second.snapshot());
}

pub(super) fn a_writer_a_merger_and_a_reader(world: &World) {
    let index = world.open(two_a_tier());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5))]);
            world.must_write(&index, &[("b", None), ("e", Some(6))]);
            world.must_write(&index, &[("e", Some(7)), ("c", Some(9))]);
            world.must_write(&index, &[("a", None), ("b", Some(1))]);
        });
        scope.spawn(|| merge(world, &index));
        scope.spawn(|| read_again_and_again(world, &index));
    });
    drop(index);
    world.check_reopened();
}

/// Deaths that arrive, and are flushed, while a compaction copies what they are of.
pub(super) fn deaths_during_a_compaction(world: &World) {
    let index = world.open(two_a_tier());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", None)]);
            index.flush().expect("a sound disk");
            world.must_write(&index, &[("b", Some(3))]);
        });
        scope.spawn(|| while index.core.compact_step().expect("a sound disk").is_some() {});
        scope.spawn(|| world.read(&index, 2));
    });
    world.look(&index.snapshot());
    drop(index);
    world.check_reopened();
}

/// Two writers that flush and compact by themselves after every write, and a reader.
fn writers_that_merge(world: &World) {
    let index = world.open(tiny());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5)), ("d", Some(5))]);
            world.must_write(&index, &[("c", None)]);
        });
        scope.spawn(|| {
            world.must_write(&index, &[("d", Some(6)), ("b", None)]);
            world.must_write(&index, &[("a", None)]);
        });
        scope.spawn(|| read_again_and_again(world, &index));
    });
    drop(index);
    world.check_reopened();
}

/// Compacting everything by hand twice at once, and a writer.
fn two_who_compact_all(world: &World) {
    let index = world.open(options());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| index.compact().expect("a sound disk"));
        }
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5))]);
            world.must_write(&index, &[("b", None)]);
            world.read(&index, 1);
        });
    });
    drop(index);
    world.check_reopened();
}

#[test]
fn a_snapshot_answers_as_the_model_at_its_change_and_never_changes() {
    explore("a writer, a merger and a reader", a_writer_a_merger_and_a_reader);
}

#[test]
fn deaths_during_a_compaction_reach_its_output() {
    explore("deaths during a compaction", deaths_during_a_compaction);
}

#[test]
fn writers_that_merge_after_every_write_disturb_nobody() {
    explore("writers that merge", writers_that_merge);
}

#[test]
fn two_may_compact_everything_at_once() {
    explore("two who compact all", two_who_compact_all);
}
