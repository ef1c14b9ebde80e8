//! Tests of the simulated disk: calls, kills and faults.

use super::{DiskStopped, Fault, FaultKind, Sim};
use crate::storage::{Counters, OpenMode, Storage, create_dirs, publish_over};
use std::io::ErrorKind;
use std::path::Path;

pub(super) fn path(name: &str) -> &Path {
    Path::new(name)
}

/// Writes a file without a sync.
pub(super) fn put(sim: &Sim, name: &str, bytes: &[u8]) {
    let file = sim.open(path(name), OpenMode::Create).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// The live content of a file, or `None`.
pub(super) fn get(sim: &Sim, name: &str) -> Option<Vec<u8>> {
    sim.snapshot_of_files().remove(path(name))
}

/// The disk after a power cut in which only durable data survive.
pub(super) fn durable(sim: &Sim) -> Sim {
    sim.crash_states(0, 1).next().unwrap()
}

fn names(sim: &Sim, dir: &str) -> Vec<String> {
    sim.list(path(dir)).unwrap().into_iter().map(|entry| entry.name).collect()
}

fn kind<T>(result: std::io::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

#[test]
fn paths_with_and_without_a_root_are_the_same() {
    let sim = Sim::new();
    create_dirs(&sim, path("a/b")).unwrap();
    put(&sim, "/a/b/c", b"c");
    assert_eq!(names(&sim, "./a/b"), ["c"]);
    assert_eq!(names(&sim, "/"), ["a"]);
    assert_eq!(names(&sim, "."), ["a"]);
    let entries = sim.list(path("a")).unwrap();
    assert!(entries[0].is_dir && !sim.list(path("a/b")).unwrap()[0].is_dir);
}

#[test]
fn the_simulated_disk_refuses_what_a_real_disk_refuses() {
    let sim = Sim::new();
    put(&sim, "/file", b"");
    sim.create_dir(path("/dir")).unwrap();
    assert_eq!(kind(sim.create_dir(path("/dir"))), ErrorKind::AlreadyExists);
    assert_eq!(kind(sim.create_dir(path("/file"))), ErrorKind::AlreadyExists);
    assert_eq!(kind(sim.create_dir(path("/no/dir"))), ErrorKind::NotFound);
    assert_eq!(kind(sim.list(path("/no"))), ErrorKind::NotFound);
    assert_eq!(kind(sim.list(path("/file"))), ErrorKind::NotADirectory);
    assert_eq!(kind(sim.open(path("/no"), OpenMode::Read)), ErrorKind::NotFound);
    assert_eq!(kind(sim.open(path("/no"), OpenMode::ReadWrite)), ErrorKind::NotFound);
    assert_eq!(kind(sim.open(path("/no/file"), OpenMode::Create)), ErrorKind::NotFound);
    assert_eq!(kind(sim.open(path("/dir"), OpenMode::Read)), ErrorKind::IsADirectory);
    assert_eq!(kind(sim.rename(path("/no"), path("/file"))), ErrorKind::NotFound);
    assert_eq!(kind(sim.rename(path("/file"), path("/no/file"))), ErrorKind::NotFound);
    assert_eq!(kind(sim.rename(path("/file"), path("/dir"))), ErrorKind::IsADirectory);
    assert_eq!(kind(sim.remove(path("/no"))), ErrorKind::NotFound);
    assert_eq!(kind(sim.sync_dir(path("/no"))), ErrorKind::NotFound);
    let file = sim.open(path("/file"), OpenMode::Read).unwrap();
    assert_eq!(kind(file.write_at(b"x", 0)), ErrorKind::PermissionDenied);
    assert_eq!(kind(file.set_bytes(1)), ErrorKind::PermissionDenied);
    assert_eq!(kind(file.read_at(&mut [0], 0)), ErrorKind::UnexpectedEof);
    assert_eq!(sim.ops(), 3, "the refused calls do not count");
}

#[test]
fn reads_and_writes_agree_with_a_vector_across_pages() {
    let sim = Sim::new();
    let file = sim.open(path("/file"), OpenMode::Create).unwrap();
    let mut model: Vec<u8> = Vec::new();
    let mut random = super::random::Random::new(1);
    for byte in 0..400_u32 {
        let offset = super::content::at(random.below(20_000));
        let count = super::content::at(random.below(9_000));
        if random.eighths(1) {
            file.set_bytes(crate::format::bytes::wide(offset)).unwrap();
            model.resize(offset, 0);
        } else {
            let byte = u8::try_from(byte % 3).unwrap();
            file.write_at(&vec![byte; count], crate::format::bytes::wide(offset)).unwrap();
            if count > 0 {
                model.resize(model.len().max(offset + count), 0);
                model[offset..offset + count].fill(byte);
            }
        }
        assert_eq!(file.bytes().unwrap(), crate::format::bytes::wide(model.len()));
        assert!(file.map().unwrap().bytes() == model, "a map differs");
        let start = model.len() / 3;
        let mut buffer = vec![9; model.len() - start];
        file.read_at(&mut buffer, crate::format::bytes::wide(start)).unwrap();
        assert!(buffer == model[start..], "a read differs");
    }
}

#[test]
fn a_handle_outlives_rename_and_remove() {
    let sim = Sim::new();
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    sim.rename(path("/a"), path("/b")).unwrap();
    file.write_at(b"seen", 0).unwrap();
    assert_eq!(get(&sim, "/b").unwrap(), b"seen");
    sim.remove(path("/b")).unwrap();
    put(&sim, "/b", b"another");
    let mut buffer = [0; 4];
    file.read_at(&mut buffer, 0).unwrap();
    assert_eq!(&buffer, b"seen");
    assert_eq!(get(&sim, "/b").unwrap(), b"another");
}

#[test]
fn create_empties_the_file_that_is_there() {
    let sim = Sim::new();
    put(&sim, "/a", b"old");
    let reader = sim.open(path("/a"), OpenMode::Read).unwrap();
    let before = reader.map().unwrap();
    put(&sim, "/a", b"x");
    assert_eq!(reader.bytes().unwrap(), 1);
    assert_eq!(before.bytes(), b"old");
}

#[test]
fn a_lock_is_exclusive_until_it_is_dropped_or_its_process_dies() {
    let sim = Sim::new();
    let lock = sim.lock(path("/lock")).unwrap();
    assert_eq!(kind(sim.lock(path("/lock"))), ErrorKind::WouldBlock);
    // The lock also locks the folder of the file, so no other file in it can be locked.
    assert_eq!(kind(sim.lock(path("/other"))), ErrorKind::WouldBlock);
    sim.create_dir(path("/a")).unwrap();
    let other = sim.lock(path("/a/other")).unwrap();
    drop(lock);
    let _lock = sim.lock(path("/lock")).unwrap();
    let next = sim.kill();
    let _next = next.lock(path("/lock")).unwrap();
    let _other = next.lock(path("/a/other")).unwrap();
    drop(other);
    assert_eq!(kind(next.lock(path("/other"))), ErrorKind::WouldBlock);
}

#[test]
fn a_kill_keeps_what_was_accepted_and_makes_nothing_durable() {
    let sim = Sim::new();
    put(&sim, "/a", b"accepted");
    let old = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    let next = sim.kill();
    assert!(DiskStopped::Killed.is_in(&old.bytes().unwrap_err()));
    assert!(DiskStopped::Killed.is_in(&sim.list(path("/")).unwrap_err()));
    assert!(sim.is_stopped() && !next.is_stopped());
    assert_eq!(get(&next, "/a").unwrap(), b"accepted");
    assert_eq!((next.ops(), next.counters()), (0, Counters::default()));
    assert_eq!(get(&durable(&next), "/a"), None);
    next.open(path("/a"), OpenMode::Read).unwrap().sync().unwrap();
    next.sync_dir(path("/")).unwrap();
    assert_eq!(get(&durable(&next), "/a").unwrap(), b"accepted");
}

#[test]
fn from_the_cut_on_every_call_fails() {
    let sim = Sim::new();
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    sim.power_cut_at(2);
    file.write_at(b"in time", 0).unwrap();
    assert_eq!(sim.ops(), 2);
    for error in [
        file.write_at(b"late", 0).unwrap_err(),
        file.sync().unwrap_err(),
        file.read_at(&mut [0], 0).unwrap_err(),
        sim.open(path("/a"), OpenMode::Read).unwrap_err(),
        sim.lock(path("/lock")).unwrap_err(),
    ] {
        assert!(DiskStopped::PowerCut.is_in(&error), "{error}");
    }
    assert_eq!(sim.ops(), 2);
    assert_eq!(get(&sim.kill(), "/a").unwrap(), b"in time");
}

#[test]
fn counters_count_like_the_real_disk() {
    let sim = Sim::new();
    put(&sim, "/a", b"12345");
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    file.read_at(&mut [0; 3], 0).unwrap();
    file.sync().unwrap();
    sim.sync_dir(path("/")).unwrap();
    drop(file.map().unwrap());
    assert_eq!(sim.counters(), Counters { bytes_read: 3, bytes_written: 5, syncs: 2 });
    assert_eq!(Storage::counters(&sim), sim.counters());
}

#[test]
fn every_fault_strikes_its_calls_once_or_for_ever() {
    let fail = |at, what, sticky| {
        let sim = Sim::new();
        sim.fail(Fault { at, what, sticky });
        sim
    };
    let sim = fail(1, FaultKind::Eio, false);
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    assert_eq!(kind(file.bytes()), ErrorKind::Other);
    assert_eq!(file.bytes().unwrap(), 0);
    assert_eq!(sim.faults_fired(), 1);

    let sim = fail(1, FaultKind::Enospc, true);
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    assert_eq!(kind(file.write_at(b"abc", 0)), ErrorKind::StorageFull);
    assert_eq!(kind(file.set_bytes(1)), ErrorKind::StorageFull);
    assert_eq!(kind(sim.rename(path("/a"), path("/b"))), ErrorKind::StorageFull);
    assert_eq!(file.bytes().unwrap(), 0);
    file.sync().unwrap();
    sim.remove(path("/a")).unwrap();

    let sim = fail(0, FaultKind::ShortWrite, false);
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    assert_eq!(kind(file.write_at(b"12345", 0)), ErrorKind::StorageFull);
    assert_eq!(get(&sim, "/a").unwrap(), b"12");
    file.write_at(b"12345", 0).unwrap();

    let sim = fail(1, FaultKind::SyncFails, true);
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    file.sync().unwrap();
    assert_eq!(kind(sim.sync_dir(path("/"))), ErrorKind::Other);
    assert_eq!(kind(file.sync()), ErrorKind::Other);
    assert_eq!(get(&durable(&sim), "/a"), None);
}

#[test]
fn after_a_failed_sync_no_later_one_makes_its_writes_durable() {
    let sim = Sim::new();
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    sim.sync_dir(path("/")).unwrap();
    file.write_at(b"first", 0).unwrap();
    sim.fail(Fault { at: 0, what: FaultKind::SyncFails, sticky: false });
    file.sync().unwrap_err();
    file.write_at(b"second", 5).unwrap();
    file.sync().unwrap();
    assert_eq!(sim.unsynced(), 1, "the first write only");
    assert_eq!(get(&sim, "/a").unwrap(), b"firstsecond");
    assert_eq!(get(&durable(&sim), "/a").unwrap(), b"\0\0\0\0\0second");
    let all = sim.crash_states(0, 2).last().unwrap();
    assert_eq!(get(&all, "/a").unwrap(), b"firstsecond");
    for state in sim.crash_states(1, 50) {
        assert_eq!(&get(&state, "/a").unwrap()[5..], b"second");
    }
    // Once the lost bytes are written again, a sync makes them durable.
    file.write_at(b"again", 0).unwrap();
    file.sync().unwrap();
    for state in sim.crash_states(2, 50) {
        assert_eq!(get(&state, "/a").unwrap(), b"againsecond");
    }
}

#[test]
fn bytes_synced_after_a_failed_sync_have_no_garbage() {
    let sim = Sim::new();
    let file = sim.open(path("/a"), OpenMode::Create).unwrap();
    sim.sync_dir(path("/")).unwrap();
    file.write_at(b"first", 0).unwrap();
    sim.fail(Fault { at: 0, what: FaultKind::SyncFails, sticky: false });
    file.sync().unwrap_err();
    file.set_bytes(2_000).unwrap();
    file.write_at(b"far", 3_000).unwrap();
    file.sync().unwrap();
    file.write_at(b"unsynced", 5_000).unwrap();
    for state in sim.crash_states(1, 200) {
        let bytes = get(&state, "/a").unwrap();
        assert!(bytes.len() >= 3_003);
        assert!(bytes[5..3_000].iter().all(|byte| *byte == 0));
        assert_eq!(&bytes[3_000..3_003], b"far");
    }
}

#[test]
fn a_full_disk_takes_what_fits_and_removing_makes_room() {
    let sim = Sim::new();
    sim.set_capacity(10);
    put(&sim, "/a", b"1234567");
    let file = sim.open(path("/b"), OpenMode::Create).unwrap();
    assert_eq!(kind(file.write_at(b"abcdef", 0)), ErrorKind::StorageFull);
    assert_eq!(get(&sim, "/b").unwrap(), b"abc");
    assert_eq!(kind(file.set_bytes(4)), ErrorKind::StorageFull);
    file.write_at(b"xyz", 0).unwrap();
    let held = sim.open(path("/a"), OpenMode::Read).unwrap();
    sim.remove(path("/a")).unwrap();
    assert_eq!(kind(file.set_bytes(4)), ErrorKind::StorageFull);
    drop(held);
    file.set_bytes(10).unwrap();
    assert_eq!(kind(durable(&sim).kill().lock(path("/no/lock"))), ErrorKind::NotFound);
}

#[test]
fn planted_bytes_are_durable_and_count_nowhere() {
    let sim = Sim::new();
    put(&sim, "/a", b"unsynced");
    sim.overwrite(path("/x/y/z"), b"planted");
    assert_eq!(get(&durable(&sim), "/x/y/z").unwrap(), b"planted");
    assert_eq!(names(&sim, "/x"), ["y"]);
    sim.overwrite(path("/x/y/z"), b"again");
    assert_eq!(get(&durable(&sim), "/x/y/z").unwrap(), b"again");
    assert_eq!(sim.ops(), 2);
}

#[test]
fn publish_fails_cleanly_at_every_call_with_every_fault() {
    let script = |sim: &Sim| {
        let file = sim.open(path("/new.tmp"), OpenMode::Create)?;
        file.write_at(b"new", 0)?;
        publish_over(sim, &*file, path("/new.tmp"), path("/kept"))
    };
    for what in FaultKind::ALL {
        for at in 0.. {
            let sim = Sim::new();
            sim.overwrite(path("/kept"), b"old");
            sim.fail(Fault { at, what, sticky: at % 2 == 0 });
            let result = script(&sim);
            assert_eq!(result.is_err(), sim.faults_fired() > 0);
            for state in sim.crash_states(at, 40) {
                let kept = get(&state, "/kept").unwrap();
                assert!(kept == b"new" || (result.is_err() && kept == b"old"), "{what:?} {at}");
            }
            if result.is_ok() {
                break;
            }
        }
    }
}
