//! Boundary cases that crash scripts rarely reach: the end of a log, and the horizons that cover
//! it. Most of these tests were written to kill a mutant (`docs/reports/CRASH_TESTS.md`).

use super::tests::{
    SIGNATURE_BYTES, append, append_idle, changes, damage, identity, new_log, path, record, replay,
};
use super::*;
use crate::ErrorKind;
use crate::storage::names::{Ending, Names};
use crate::testing::sim::{Fault, FaultKind, Sim};

/// A log that claims to have this length. Its file is the one that `new_log` made.
fn log_of(sim: &Sim, length: u64) -> Wal {
    Wal { length, ..new_log(sim) }
}

/// The largest record that a log has room for.
fn room(wal: &Wal, reserve: Reserve) -> u64 {
    let (mut fits, mut too_much) = (0, wal.length + 1);
    while fits + 1 < too_much {
        let middle = u64::midpoint(fits, too_much);
        if wal.has_room(middle, reserve) { fits = middle } else { too_much = middle }
    }
    fits
}

#[test]
fn the_last_eighth_of_a_log_is_its_reserve() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    assert_eq!(room(&wal, Reserve::Used), 12 << 10);
    assert_eq!(room(&wal, Reserve::Kept), (12 << 10) / 8 * 7);
    let used = append(&mut wal, 6, RECORDS_BEGIN) - RECORDS_BEGIN;
    assert_eq!(room(&wal, Reserve::Used), (12 << 10) - used);
    assert_eq!(room(&wal, Reserve::Kept), (12 << 10) / 8 * 7 - used);
}

#[test]
fn the_least_length_for_a_record_holds_it_beside_the_reserve() {
    let sim = Sim::new();
    for length in (13..27).map(|power| 1 << power) {
        let wal = log_of(&sim, length);
        let most = room(&wal, Reserve::Kept);
        // Rounding must not make a log too small: a record of one of these sizes must fit into a
        // log of the length that `length_for` returns for it.
        for record_bytes in most - 10..most + 10 {
            let least = Wal::length_for(record_bytes);
            assert!(least == length || least == 2 * length, "{record_bytes}: {least}");
            assert!(log_of(&sim, least).has_room(record_bytes, Reserve::Kept), "{record_bytes}");
            assert!(record_bytes > most - 10 || least == length, "{record_bytes}: {least}");
        }
    }
    assert!(Wal::length_for(u64::MAX / 4) > u64::MAX / 4);
}

#[test]
fn every_block_of_a_new_log_is_written_once() {
    let sim = Sim::new();
    let headers = RECORDS_BEGIN + wide(RecordHeader::BYTES);
    let written = |sim: &Sim| sim.counters().bytes_written;
    let mut wal = new_log(&sim);
    assert_eq!(written(&sim), wal.length() + headers);
    append(&mut wal, 6, RECORDS_BEGIN);
    // Each log reuses the file of the previous log. Only the headers, and the bytes beyond the old
    // length, are written.
    for (number, length) in [(4, 16 << 10), (5, 3 << 20), (6, 8 << 10), (7, 8 << 10)] {
        let identity = WalIdentity { length, ..identity(number) };
        let (before, old) = (written(&sim), path(number - 1));
        let old_length = sim.snapshot_of_files()[&old].len() as u64;
        Wal::create(&sim, &path(number), Some(&old), &identity).expect("created");
        let grown = length.saturating_sub(old_length);
        assert_eq!(written(&sim) - before, grown + headers, "from {old_length} to {length}");
        assert_eq!(sim.snapshot_of_files()[&path(number)].len() as u64, length);
    }
}

#[test]
fn a_log_filled_to_its_last_byte_keeps_its_length() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let mut count = 0;
    while wal.end() < wal.length() {
        count += 1;
        let mut record = record(&[b'k'; 20]);
        assert_eq!(record.record_bytes(), 96, "a divisor of what there is");
        let appended = wal.append(&mut record, RecordKind::Change, 5 + count, RECORDS_BEGIN);
        appended.expect("room to the end");
    }
    assert_eq!(sim.snapshot_of_files()[&path(3)].len() as u64, wal.length());
    assert_eq!(changes(&sim).len() as u64, count);
    assert_eq!(count, 128);
}

#[test]
fn a_log_without_room_for_records_replays_to_nothing() {
    let sim = Sim::new();
    storage::create_dirs(&sim, storage::parent_of(&path(3))).expect("folder");
    let bare = WalIdentity { length: RECORDS_BEGIN, ..identity(3) };
    Wal::create(&sim, &path(3), None, &bare).expect("created");
    let read =
        |identity: &WalIdentity| LogReader::replay(&sim, &path(3), identity, SIGNATURE_BYTES);
    assert_eq!(read(&bare).expect("read").change_count(), 0);
    assert!(salvage(&sim, &path(3), None).expect("read").changes(SIGNATURE_BYTES).next().is_none());
    // This file is shorter than the block for its headers, but the catalog lists it with this
    // length.
    let short = WalIdentity { length: 96, ..identity(3) };
    sim.overwrite(&path(3), &short.encode());
    assert_eq!(read(&short).expect_err("too short").kind(), ErrorKind::Corrupt);
}

#[test]
fn a_torn_tail_is_counted_to_its_last_byte() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let stop = append(&mut wal, 6, RECORDS_BEGIN);
    for last in 0..32 {
        damage(&sim, stop, &[0; 32]);
        damage(&sim, stop + last, &[0xee]);
        assert_eq!(replay(&sim).expect("a torn tail").bytes_cut, last + 1);
    }
}

#[test]
fn replay_ends_at_a_wrong_change_number_or_a_later_horizon() {
    for (change, horizon) in [(8, RECORDS_BEGIN), (6, RECORDS_BEGIN), (7, 4096 + 8192)] {
        let sim = Sim::new();
        let mut wal = new_log(&sim);
        let first = append(&mut wal, 6, RECORDS_BEGIN);
        append(&mut wal, change, horizon);
        assert_eq!(changes(&sim), [6], "{change}, {horizon}");
        assert!(replay(&sim).expect("a torn tail").bytes_cut >= u64::from(first > 0));
    }
}

/// Damages the second record, writes a record header after it, and returns the result of the
/// replay.
fn vouched(kind: RecordKind, change: u64, horizon: u64, place: u64) -> Result<u64> {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, RECORDS_BEGIN);
    damage(&sim, first, &[0xee; 8]);
    let mut record = record(b"key");
    let sealed = record.seal(kind, change, horizon, identity(3).salt, place).to_vec();
    let room = usize::try_from(identity(3).length - place).expect("small");
    damage(&sim, place, &sealed[..room.min(sealed.len())]);
    replay(&sim).map(|replay| replay.change_count())
}

#[test]
fn only_a_header_of_this_log_vouches_for_records_before_it() {
    let place = 8 << 10;
    let synced = place - 1024;
    let corrupt = |vouched: Result<u64>| vouched.map_err(|error| error.kind());
    assert_eq!(corrupt(vouched(RecordKind::Change, 8, synced, place)), Err(ErrorKind::Corrupt));
    assert_eq!(corrupt(vouched(RecordKind::Change, 8, place, place)), Err(ErrorKind::Corrupt));
    assert_eq!(corrupt(vouched(RecordKind::Idle, 6, synced, place)), Err(ErrorKind::Corrupt));
    let cases = [
        ("a change that was replayed", RecordKind::Change, 6, synced, place),
        ("a horizon beyond itself", RecordKind::Change, 8, place + 8, place),
        ("the same, idle", RecordKind::Idle, 6, place + 8, place),
        ("too long for the file", RecordKind::Change, 8, synced, (16 << 10) - 40),
    ];
    for (what, kind, change, horizon, place) in cases {
        assert_eq!(corrupt(vouched(kind, change, horizon, place)), Ok(1), "{what}");
    }
}

#[test]
fn an_unreadable_log_is_not_taken_for_an_empty_one() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    append(&mut wal, 6, RECORDS_BEGIN);
    for at in 0..2 {
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        let error = holds_a_record(&sim, &path(3)).expect_err("cannot be read");
        assert_eq!(error.kind(), ErrorKind::Io, "call {at}");
    }
    for at in 0..3 {
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        assert_eq!(replay(&sim).expect_err("cannot be read").kind(), ErrorKind::Io, "{at}");
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        assert_eq!(
            salvage(&sim, &path(3), None).expect_err("cannot").kind(),
            ErrorKind::Io,
            "{at}"
        );
    }
    assert_eq!(sim.faults_fired(), 8);
    assert!(holds_a_record(&sim, &path(3)).expect("it can"));
    // A file of another kind is not a log, even under the name of a log.
    let header = FileHeader { kind: FileKind::Segment, uuid: [7; 16], number: 3, params_id: 99 };
    damage(&sim, 0, &header.encode());
    assert!(!holds_a_record(&sim, &path(3)).expect("readable"));
    assert_eq!(replay(&sim).expect_err("a segment").kind(), ErrorKind::Corrupt);
}

#[test]
fn salvage_takes_every_change_that_validates_and_nothing_else() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, RECORDS_BEGIN);
    // Salvage skips idle records, and does not stop at a torn one.
    let mut idle = RecordBuilder::new();
    wal.append(&mut idle, RecordKind::Idle, 7, RECORDS_BEGIN).expect("appended");
    damage(&sim, first, &[0xee; 8]);
    append(&mut wal, 8, RECORDS_BEGIN);
    let salvaged = salvage(&sim, &path(3), None).expect("read");
    let found: Vec<u64> = salvaged.changes(SIGNATURE_BYTES).map(|(change, _)| change).collect();
    assert_eq!(found, [6, 8]);
    let names = Names::new(Path::new("/"));
    let missing = salvage(&sim, &names.numbered(9, Ending::Wal), None).expect_err("there is none");
    assert_eq!(missing.kind(), ErrorKind::Io);
}

#[test]
fn an_idle_record_of_another_change_ends_the_log() {
    // After change 6, an idle record must name 6. The idle records here name 5, the change before
    // it, and then 7, which is missing.
    for said in [5, 7] {
        let sim = Sim::new();
        let mut wal = new_log(&sim);
        append(&mut wal, 6, RECORDS_BEGIN);
        append_idle(&mut wal, said, RECORDS_BEGIN);
        append(&mut wal, said + 1, RECORDS_BEGIN);
        append(&mut wal, 7, RECORDS_BEGIN);
        let replay = replay(&sim).expect("a torn tail");
        assert!(replay.change_count() == 1 && replay.bytes_cut > 0, "{replay:?}");
        let mut tail = LogReader::open(&sim, &path(3), &identity(3)).expect("opened");
        let taken = tail.read(Believe::Whole, Look::Quick, SIGNATURE_BYTES).expect("a torn tail");
        assert_eq!(taken.changes(SIGNATURE_BYTES).count(), 1);
    }
}

/// A lost write leaves zeros where a header was. A quick look takes them for the end of the log; a
/// replay must not.
#[test]
fn zeros_below_the_horizon_of_a_later_record_are_refused() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, first);
    let length = usize::try_from(first - RECORDS_BEGIN).expect("a short record");
    damage(&sim, RECORDS_BEGIN, &vec![0; length]);
    assert_eq!(replay(&sim).expect_err("a lost write").kind(), ErrorKind::Corrupt);
}
