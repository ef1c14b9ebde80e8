//! Closing and dropping while the threads of a pool work: of an index's own, or of the shared one.

use super::commit::tiny;
use super::explore;
use super::world::{World, options};
use crate::catalog;
use crate::sync::thread;
use crate::{Index, Maintenance, Options};
use std::sync::Arc;

/// The background thread flushes and compacts after every write.
fn background() -> Options {
    Options { maintenance: Maintenance::Background, ..tiny() }
}

fn write_and_read(world: &World, index: &Index) {
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(index, &[("a", Some(5))]);
            world.must_write(index, &[("d", Some(6)), ("b", None)]);
        });
        scope.spawn(|| world.must_write(index, &[("a", Some(9)), ("c", None)]));
        scope.spawn(|| world.read(index, 1));
    });
}

/// A clean close, whatever the background thread is doing: afterwards everything is in segments,
/// and no other file is left.
pub(super) fn closing(world: &World) {
    let index = world.open(background());
    write_and_read(world, &index);
    index.close().expect("a sound disk");
    let row = catalog::load(&world.sim, &world.names.catalog()).expect("a sound catalog");
    if row.wal.is_some() {
        world.problems.say("closed, and a log is listed".to_owned());
    }
    world.check_folder();
    world.check_reopened();
}

/// Dropping the last handle ends the thread.
fn the_last_handle(world: &World) {
    let index = Arc::new(world.open(background()));
    let other = Arc::clone(&index);
    thread::scope(|scope| {
        scope.spawn(move || {
            world.must_write(&index, &[("a", Some(5))]);
            drop(index);
        });
        scope.spawn(move || {
            world.must_write(&other, &[("d", Some(5)), ("c", None)]);
            let snapshot = other.snapshot();
            drop(other);
            world.look(&snapshot);
        });
    });
    world.check_reopened();
}

/// The index has so many segments that writers compact as well, alongside the thread.
fn a_thread_that_lags(world: &World) {
    let index = world.open(background());
    for (key, version) in [("e", 1), ("f", 2), ("g", 3)] {
        world.must_write(&index, &[(key, Some(version))]);
        index.flush().expect("a sound disk");
    }
    thread::scope(|scope| {
        for (key, version) in [("h", 4), ("i", 5)] {
            let index = &index;
            scope.spawn(move || {
                world.must_write(index, &[(key, Some(version))]);
                index.flush().expect("a sound disk");
                world.must_write(index, &[(key, None), ("a", Some(version))]);
            });
        }
    });
    drop(index);
    world.check_reopened();
}

/// Three indexes share the pool, which has two threads. Nobody but the pool flushes, so a wakeup
/// that is lost would be waited for for ever. Each index leaves while others work.
fn a_shared_pool(world: &World) {
    let others = [World::new(), World::new()];
    thread::scope(|scope| {
        for (number, world) in [world, &others[0], &others[1]].into_iter().enumerate() {
            scope.spawn(move || {
                let index = world.open(Options { maintenance: Maintenance::Shared, ..tiny() });
                world.must_write(&index, &[("a", Some(5)), ("b", None)]);
                while index.core().state().memtable.read().document_count() > 0 {
                    thread::yield_now();
                }
                world.must_write(&index, &[("c", Some(6))]);
                if number == 0 {
                    index.close().expect("a sound disk");
                } else {
                    drop(index);
                }
                world.check_reopened();
            });
        }
    });
    for wrong in others.iter().flat_map(World::judge) {
        world.problems.say(wrong);
    }
}

/// A handle that is closed as soon as it is opened: the thread may not have started yet.
fn nothing_to_do(world: &World) {
    drop(world.open(background()));
    world.open(background()).close().expect("a sound disk");
    let index = world.open(Options { maintenance: Maintenance::Background, ..options() });
    world.must_write(&index, &[("a", Some(5))]);
    drop(index);
    world.check_reopened();
}

#[test]
fn closing_waits_for_the_background_thread_and_leaves_no_log() {
    explore("closing", closing);
}

#[test]
fn dropping_the_last_handle_ends_the_background_thread() {
    explore("the last handle", the_last_handle);
}

#[test]
fn writers_and_a_background_thread_that_lags_compact_together() {
    explore("a thread that lags", a_thread_that_lags);
}

#[test]
fn a_background_thread_with_nothing_to_do_ends() {
    explore("nothing to do", nothing_to_do);
}

#[test]
fn three_indexes_share_the_two_threads_of_the_pool() {
    explore("a shared pool", a_shared_pool);
}
