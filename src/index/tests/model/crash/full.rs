//! A full disk: inserts fail without side effects. Removing and compacting frees space, and then
//! inserts succeed again.

use super::super::bench::{Bench, Layout};
use super::super::script::{ModelEdit, Op};
use super::PanicNote;
use super::script::{HASHES, layout};
use crate::ErrorKind;
use crate::testing::sim::Sim;
use std::path::PathBuf;

const PAYLOAD: usize = 300;

fn insert(number: u32) -> Op {
    let lanes = (0..HASHES).map(|row| (number >> (row % 8)).to_le_bytes()[0]).collect();
    let payload = Some(vec![1; PAYLOAD]);
    Op::Write(vec![ModelEdit::Insert { key: number.to_le_bytes().to_vec(), lanes, payload }])
}

fn remove(number: u32) -> Op {
    Op::Write(vec![ModelEdit::Remove { key: number.to_le_bytes().to_vec() }])
}

impl Bench {
    /// Does an operation; returns false if there was no space for it.
    fn has_room_for(&mut self, op: &Op) -> bool {
        let done = self.execute(op);
        if let Err(error) = &done {
            assert_eq!(error.kind(), ErrorKind::Io, "{op:?}: {error:?}");
            eprintln!("no room for {:.40}: {error:?}", format!("{op:?}"));
            self.in_doubt = None;
        }
        self.finish_step().expect("a full disk changes nothing");
        done.is_ok()
    }

    /// Simulates power cuts on the full disk: every possible resulting state must open once space
    /// is available.
    fn nothing_is_lost(&self, seed: u64) {
        for disk in self.sim.crash_states(seed, 16) {
            disk.set_capacity(u64::MAX);
            self.check_disk(&disk, self.durable);
        }
    }
}

/// Makes an index on a disk with this many free bytes, and fills it until an insert fails. Returns
/// the number of the failed insert.
fn fill(layout: Layout, room: u64) -> (Bench, u32) {
    let mut bench = Bench::unmade(layout, 7, Sim::new());
    bench.make().expect("an index");
    bench.sound = false;
    let used: usize = bench.sim.snapshot_of_files().values().map(Vec::len).sum();
    bench.sim.set_capacity(used as u64 + room);
    let full = (0..u32::MAX).find(|number| !bench.has_room_for(&insert(*number)));
    (bench, full.expect("some insert fails"))
}

fn small(wal_bytes: u64) -> Layout {
    Layout { memtable_bytes_max: 8 << 10, wal_bytes: (wal_bytes, wal_bytes), ..layout() }
}

#[test]
fn on_a_full_disk_removing_and_compacting_makes_room() {
    // Room for at least two logs and a few segments.
    for room in (160 << 10..352 << 10).step_by(12 << 10) {
        let _place = PanicNote(format!("{room} bytes left"));
        let (mut bench, full) = fill(small(32 << 10), room);
        assert!(full > 8, "{full} documents");
        bench.nothing_is_lost(room);
        assert!(!bench.has_room_for(&insert(full)), "it is still full");
        // The oldest documents are removed one by one, and every remove succeeds.
        let mut removed = 0;
        loop {
            for number in removed..(removed + 4).min(full) {
                assert!(bench.has_room_for(&remove(number)), "{number} of {full} is removed");
            }
            removed = (removed + 4).min(full);
            if bench.has_room_for(&Op::Compact) && bench.has_room_for(&insert(full)) {
                break;
            }
            assert!(removed < full, "an index without documents has room");
        }
        bench.nothing_is_lost(room + 1);
        assert_eq!(bench.index().len(), u64::from(full - removed) + 1);
        bench.execute(&Op::Verify).expect("it is sound");
        bench.execute(&Op::DropAndReopen).expect("it opens on the disk as it is");
    }
}

#[test]
fn a_log_on_a_full_disk_is_as_small_as_it_can_be() {
    let (mut bench, _) = fill(small(64 << 10), 160 << 10);
    assert!(bench.has_room_for(&remove(0)), "a document is removed");
    // Once all documents are in segments, the next record needs a new log.
    bench.execute(&Op::Wait { ms: 1 }).expect("nothing to do");
    let _ = bench.has_room_for(&Op::Flush);
    let used: usize = bench.sim.snapshot_of_files().values().map(Vec::len).sum();
    // A log has usually 64 KiB; the next catalog takes 36.
    bench.sim.set_capacity(used as u64 + (52 << 10));
    assert!(bench.has_room_for(&remove(1)), "there is room for a small log");
}

#[test]
fn a_compaction_on_a_full_disk_takes_the_room_of_the_spare() {
    let spare = 256 << 10_usize;
    let mut bench = Bench::unmade(small(spare as u64), 7, Sim::new());
    bench.make().expect("an index");
    bench.sound = false;
    for number in 0..70 {
        bench.execute(&insert(number)).expect("there is room");
    }
    bench.execute(&Op::Flush).expect("there is room");
    let files = bench.sim.snapshot_of_files();
    let all = |ending: &str| -> usize {
        let named = |path: &&PathBuf| path.extension().is_some_and(|other| other == ending);
        files.keys().filter(named).map(|path| files[path].len()).sum()
    };
    // The merged segment will be about as long as its inputs. The spare is longer than that, so
    // deleting it frees enough.
    assert!(bench.index().stats().expect("sound").segments > 1);
    assert!((16 << 10..spare).contains(&all("seg")) && all("free") == spare);
    let used: usize = files.values().map(Vec::len).sum();
    bench.sim.set_capacity(used as u64 + (8 << 10));
    bench.execute(&Op::Compact).expect("the spare makes room");
    let files = bench.sim.snapshot_of_files();
    assert!(files.keys().all(|path| path.extension().is_none_or(|ending| ending != "free")));
    bench.finish_step().expect("nothing is lost");
    bench.execute(&Op::Iter).expect("all is there");
}
