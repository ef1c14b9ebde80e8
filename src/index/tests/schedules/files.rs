//! A file is deleted exactly when the last snapshot that holds it is dropped, never before, and
//! never while the catalog lists it. (Every removal in every scenario is checked: see `disk.rs`.)

use super::explore;
use super::world::{World, options};
use crate::ErrorKind;
use crate::sync::thread;

/// Snapshots are taken and dropped while merges release the files that they hold.
pub(super) fn snapshots_and_merges(world: &World) {
    let index = world.open(options());
    let kept = world.hold(&index);
    thread::scope(|scope| {
        scope.spawn(|| {
            world.must_write(&index, &[("a", Some(5)), ("c", None)]);
            index.flush().expect("a sound disk");
            index.compact().expect("a sound disk");
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let first = world.hold(&index);
                world.look(first.snapshot());
                let second = world.hold(&index);
                drop(first);
                second.check_files();
            });
        }
    });
    // All segments of the base were merged, so only this snapshot still holds their files.
    world.look(kept.snapshot());
    kept.check_files();
    drop(kept);
    world.check_folder();
    drop(index);
    world.check_reopened();
}

/// Two threads drop the last two snapshots of the same files at once.
fn the_last_two_snapshots(world: &World) {
    let index = world.open(options());
    let (one, other) = (world.hold(&index), world.hold(&index));
    thread::scope(|scope| {
        scope.spawn(|| drop(one));
        scope.spawn(|| drop(other));
        scope.spawn(|| index.compact().expect("a sound disk"));
    });
    world.check_folder();
    drop(index);
    world.check_reopened();
}

/// A snapshot and its handle are dropped at the same time, and another handle opens the folder.
/// From then on, unlisted files belong to the new handle.
fn a_snapshot_and_the_next_handle(world: &World) {
    let index = world.open(options());
    let snapshot = index.snapshot();
    world.must_write(&index, &[("a", Some(5))]);
    index.compact().expect("a sound disk");
    thread::scope(|scope| {
        scope.spawn(move || drop(snapshot));
        scope.spawn(move || {
            drop(index);
            let next = loop {
                match world.try_open(options()) {
                    Ok(next) => break next,
                    // The thread that drops the snapshot keeps the folder locked while it deletes
                    // files.
                    Err(error) if error.kind() == ErrorKind::Locked => thread::yield_now(),
                    Err(error) => panic!("{error:?}"),
                }
            };
            world.must_write(&next, &[("b", Some(6))]);
            next.flush().expect("a sound disk");
        });
    });
    world.check_reopened();
}

#[test]
fn a_file_goes_with_its_last_snapshot_and_never_while_listed() {
    explore("snapshots and merges", snapshots_and_merges);
}

#[test]
fn two_who_give_up_the_last_snapshots_leave_no_file() {
    explore("the last two snapshots", the_last_two_snapshots);
}

#[test]
fn a_snapshot_that_outlives_its_handle_spares_the_next() {
    explore("a snapshot and the next handle", a_snapshot_and_the_next_handle);
}
