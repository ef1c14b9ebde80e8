//! Writers, flushes, compactions in small steps, and readers whose snapshots must not change.

use super::commit::tiny;
use super::explore;
use super::world::{TIME, World, batch, options};
use crate::index::merge::compaction;
use crate::sync::thread;
use crate::{Index, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn two_a_tier() -> Options {
    Options { tier_segments_max: 2, ..options() }
}

/// Flushes, and runs a compaction to its end.
fn merge(world: &World, index: &Index) {
    for _ in 0..2 {
        while compaction::compact_step(index.core(), None).expect("a sound disk").is_some() {}
        if let Err(error) = index.flush() {
            world.problems.say(format!("flush: {error:?}"));
        }
    }
}

/// Reads snapshots repeatedly: a snapshot never changes, whatever is written and merged.
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

/// Documents die, and their deaths are flushed, while a compaction copies the documents.
pub(super) fn deaths_during_a_compaction(world: &World) {
    let index = world.open(two_a_tier());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", None)]);
            index.flush().expect("a sound disk");
            world.must_write(&index, &[("b", Some(3))]);
        });
        scope.spawn(|| {
            while compaction::compact_step(index.core(), None).expect("a sound disk").is_some() {}
        });
        scope.spawn(|| world.read(&index, 2));
    });
    world.look(&index.snapshot());
    drop(index);
    world.check_reopened();
}

/// Two writers that flush and compact after every write, and a reader.
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

/// Two explicit full compactions at the same time, and a writer.
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

/// A backup during writes and merges: it must be the index as of one change.
fn a_backup_beside_a_writer(world: &World) {
    let copy = Path::new("/copy.nearkin");
    let index = world.open(tiny());
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5))]);
            world.must_write(&index, &[("b", None), ("d", Some(6))]);
        });
        scope.spawn(|| index.compact().expect("a sound disk"));
        scope.spawn(|| {
            let before = index.snapshot().change();
            index.backup(copy).expect("a sound disk");
            let change = world.look_at_copy(copy);
            if change < before {
                world.problems.say(format!("a copy of change {change} was asked for at {before}"));
            }
        });
    });
    drop(index);
    world.check_reopened();
}

/// Two threads remove documents by age while others are replaced and merged.
fn removes_by_age(world: &World) {
    let clock = Arc::new(AtomicU64::new(TIME + 10));
    let of = Arc::clone(&clock);
    let index = world.open(two_a_tier().clock(move || of.load(Ordering::Relaxed)));
    let removed: u64 = thread::scope(|scope| {
        let by_age = || index.remove_before(TIME + 1).expect("a sound disk");
        let removers = [scope.spawn(by_age), scope.spawn(by_age)];
        scope.spawn(|| index.write(batch(&[("a", Some(5))])).expect("a sound disk"));
        scope.spawn(|| merge(world, &index));
        removers.map(|remover| remover.join().expect("it went well")).into_iter().sum()
    });
    // Whichever thread came first, the young version of "a" remains, and "b" and "c" were removed
    // only once.
    let found: Vec<u8> = index.snapshot().iter().map(|d| d.expect("sound").key[0]).collect();
    if found != [b'a'] || !(2..=3).contains(&removed) {
        world.problems.say(format!("{removed} were removed, {found:?} stayed"));
    }
    let change = index.snapshot().change();
    world.claim("removes by age", change);
    world.judge.lock().expect("nobody panicked").is_partial = true;
    drop(index);
    world.check_reopened();
}

#[test]
fn a_backup_beside_a_writer_is_the_index_at_one_change() {
    explore("a backup beside a writer", a_backup_beside_a_writer);
}

#[test]
fn removes_by_age_from_two_sides_leave_what_was_replaced() {
    explore("removes by age", removes_by_age);
}

#[test]
fn a_snapshot_answers_as_the_model_and_never_changes() {
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
