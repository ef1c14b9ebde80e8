//! Tests which records replay accepts, cuts and refuses, and the state after a failed append.

use super::*;
use crate::ErrorKind;
use crate::format::wal::LoggedOperation;
use crate::storage::names::{Ending, Names};
use crate::testing::sim::{Fault, FaultKind, Sim};

pub(super) const SIGNATURE_BYTES: usize = 16;

pub(super) fn identity(number: u64) -> WalIdentity {
    WalIdentity {
        uuid: [7; 16],
        params_id: 99,
        number,
        salt: 1000 + number,
        length: 16 << 10,
        floor: 5,
    }
}

pub(super) fn path(number: u64) -> PathBuf {
    Names::new(Path::new("/")).numbered(number, Ending::Wal)
}

pub(super) fn new_log(sim: &Sim) -> Wal {
    storage::create_dirs(sim, storage::parent_of(&path(3))).expect("folder");
    // Removes the log of an earlier round, if the test has a loop.
    let _ = sim.remove(&path(3));
    Wal::create(sim, &path(3), None, &identity(3)).expect("created")
}

pub(super) fn record(key: &[u8]) -> RecordBuilder {
    record_with(key, b"payload")
}

fn record_with(key: &[u8], payload: &[u8]) -> RecordBuilder {
    let mut record = RecordBuilder::new();
    let signature = &[3; SIGNATURE_BYTES];
    let (time, shingle_count) = (8, 2);
    let insert = LoggedOperation::Insert { key, payload, time, shingle_count, signature };
    record.push(&insert);
    record
}

/// Appends a change and returns the offset after it.
pub(super) fn append(wal: &mut Wal, change: u64, horizon: u64) -> u64 {
    let key = format!("key {change}");
    let mut record = record(key.as_bytes());
    wal.append(&mut record, RecordKind::Change, change, horizon).expect("appended")
}

pub(super) fn append_idle(wal: &mut Wal, change: u64, horizon: u64) {
    let mut idle = RecordBuilder::new();
    wal.append(&mut idle, RecordKind::Idle, change, horizon).expect("appended");
}

pub(super) fn replay(sim: &Sim) -> Result<Records> {
    LogReader::replay(sim, &path(3), &identity(3), SIGNATURE_BYTES)
}

/// The numbers of the changes that replay.
pub(super) fn changes(sim: &Sim) -> Vec<u64> {
    let replay = replay(sim).expect("replays");
    replay.changes(SIGNATURE_BYTES).map(|(change, _)| change).collect()
}

pub(super) fn damage(sim: &Sim, offset: u64, bytes: &[u8]) {
    let mut content = sim.snapshot_of_files()[&path(3)].clone();
    let at = usize::try_from(offset).expect("small");
    content[at..at + bytes.len()].copy_from_slice(bytes);
    sim.overwrite(&path(3), &content);
}

#[test]
fn appended_records_are_replayed() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    assert_eq!(changes(&sim), [0_u64; 0]);
    let end = append(&mut wal, 6, RECORDS_BEGIN);
    append_idle(&mut wal, 6, end);
    let end = append(&mut wal, 7, end);
    assert_eq!((wal.end(), wal.length()), (end, identity(3).length));
    let replay = replay(&sim).expect("replays");
    assert_eq!((replay.change_count(), replay.bytes_cut), (2, 0));
    let (change, mut operations) = replay.changes(SIGNATURE_BYTES).last().expect("two");
    assert_eq!(change, 7);
    let operation = operations.next().expect("one").expect("decodes");
    assert!(matches!(operation, LoggedOperation::Insert { key: b"key 7", .. }));
}

#[test]
fn a_torn_tail_is_cut_and_counted() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    let second = append(&mut wal, 7, first);
    // The end of the last record was never written to disk.
    damage(&sim, second - 24, &[0; 24]);
    let replay = replay(&sim).expect("a torn tail is no damage");
    assert_eq!(replay.change_count(), 1);
    assert!(replay.bytes_cut > 0 && replay.bytes_cut <= second - first - 24);
}

#[test]
fn a_record_behind_a_torn_one_is_not_by_itself_damage() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, RECORDS_BEGIN);
    append(&mut wal, 8, RECORDS_BEGIN);
    // None of the three records was synced, and the first page was lost.
    damage(&sim, RECORDS_BEGIN, &[0; 8]);
    let replay = replay(&sim).expect("unsynced pages arrive in any order");
    assert_eq!(replay.change_count(), 0);
    assert!(replay.bytes_cut > 0);
}

#[test]
fn damage_below_the_horizon_of_a_later_record_is_refused() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, first);
    damage(&sim, RECORDS_BEGIN + 40, &[0xee]);
    let error = replay(&sim).expect_err("once durable, now damaged");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("0000000003.wal"), "{error}");
    assert!(error.to_string().contains("at byte 4096"), "{error}");
}

#[test]
fn damage_below_the_horizon_of_an_idle_record_is_refused() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let end = append(&mut wal, 6, RECORDS_BEGIN);
    append_idle(&mut wal, 6, end);
    damage(&sim, end - 8, &[0xee; 4]);
    assert_eq!(replay(&sim).expect_err("damage").kind(), ErrorKind::Corrupt);
}

#[test]
fn the_last_sync_group_cannot_be_told_from_a_torn_write() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let first = append(&mut wal, 6, RECORDS_BEGIN);
    append(&mut wal, 7, first);
    // This record was synced, but no later record says so. It is cut, and counted in `bytes_cut`.
    damage(&sim, first + 40, &[0xee]);
    assert_eq!(changes(&sim), [6]);
}

#[test]
fn a_stale_record_of_another_log_does_not_replay() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    append(&mut wal, 6, RECORDS_BEGIN);
    let stale = sim.snapshot_of_files()[&path(3)].clone();
    let other = WalIdentity { salt: 1, ..identity(3) };
    sim.remove(&path(3)).expect("removed");
    Wal::create(&sim, &path(3), None, &other).expect("created");
    let begin = usize::try_from(RECORDS_BEGIN).expect("small");
    damage(&sim, RECORDS_BEGIN, &stale[begin..begin + 200]);
    let replay = LogReader::replay(&sim, &path(3), &other, SIGNATURE_BYTES).expect("replays");
    assert_eq!(replay.change_count(), 0);
}

#[test]
fn a_log_that_is_not_the_listed_one_is_refused() {
    let sim = Sim::new();
    new_log(&sim);
    let read = |identity: &WalIdentity| {
        LogReader::replay(&sim, &path(3), identity, SIGNATURE_BYTES)
            .map(|_| ())
            .map_err(|e| e.kind())
    };
    let right = identity(3);
    assert_eq!(read(&right), Ok(()));
    for wrong in [
        WalIdentity { uuid: [8; 16], ..right },
        WalIdentity { params_id: 1, ..right },
        WalIdentity { number: 4, ..right },
        WalIdentity { salt: 4, ..right },
        WalIdentity { length: 8 << 10, ..right },
        WalIdentity { floor: 6, ..right },
    ] {
        assert_eq!(read(&wrong), Err(ErrorKind::Corrupt), "{wrong:?}");
    }
    let content = sim.snapshot_of_files()[&path(3)].clone();
    for cut in [0, 63, 64, 95, 4095, 4096, content.len() - 1] {
        sim.overwrite(&path(3), &content[..cut]);
        assert_eq!(read(&right), Err(ErrorKind::Corrupt), "cut at {cut}");
    }
    sim.remove(&path(3)).expect("removed");
    assert_eq!(read(&right), Err(ErrorKind::Corrupt));
}

#[test]
fn a_full_log_says_so() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    let mut change = 5;
    loop {
        change += 1;
        let mut record = record(b"k");
        let room = wal.has_room(record.record_bytes(), Reserve::Used);
        match wal.append(&mut record, RecordKind::Change, change, RECORDS_BEGIN) {
            Ok(_) => assert!(room),
            Err(AppendError::Full) => {
                assert!(!room);
                break;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(changes(&sim).len(), usize::try_from(change - 6).expect("small"));
}

#[test]
fn a_failed_append_is_rolled_back_and_the_log_goes_on() {
    for what in [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite] {
        let sim = Sim::new();
        let mut wal = new_log(&sim);
        append(&mut wal, 6, RECORDS_BEGIN);
        sim.fail(Fault { at: 0, what, sticky: false });
        let failed = wal.append(&mut record(b"lost"), RecordKind::Change, 7, RECORDS_BEGIN);
        assert!(matches!(failed, Err(AppendError::Failed(_))), "{what:?}: {failed:?}");
        wal.roll_back().expect("the fault is over");
        // Even a power cut at this moment does not bring the lost record back.
        for state in sim.crash_states(1, 50) {
            assert!(changes(&state).len() <= 1);
        }
        append(&mut wal, 7, RECORDS_BEGIN);
        assert_eq!(changes(&sim), [6, 7]);
    }
}

#[test]
fn an_append_that_cannot_be_rolled_back_breaks_the_log() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    sim.fail(Fault { at: 0, what: FaultKind::Eio, sticky: true });
    let failed = wal.append(&mut record(b"lost"), RecordKind::Change, 6, RECORDS_BEGIN);
    assert!(matches!(failed, Err(AppendError::Failed(_))), "{failed:?}");
    assert!(wal.roll_back().is_err());
}

#[test]
fn of_what_a_spare_held_nothing_is_left() {
    for length in [8 << 10, 16 << 10, 32 << 10] {
        let sim = Sim::new();
        let mut old = new_log(&sim);
        let mut end = RECORDS_BEGIN;
        // Fills the old log to its very end, with horizons, and with change numbers that the next
        // log will use.
        while old.has_room(record(b"key 10").record_bytes(), Reserve::Used) {
            end = append(&mut old, 6 + (end - RECORDS_BEGIN) / 96, end);
        }
        let next = WalIdentity { length, ..identity(4) };
        let mut wal = Wal::create(&sim, &path(4), Some(&path(3)), &next).expect("created");
        assert_eq!(sim.unsynced(), 0, "published");
        assert!(!sim.snapshot_of_files().contains_key(&path(3)));
        assert_eq!(sim.snapshot_of_files()[&path(4)].len() as u64, length);
        assert!(!holds_a_record(&sim, &path(4)).expect("readable"));
        let replay = || LogReader::replay(&sim, &path(4), &next, SIGNATURE_BYTES).expect("replays");
        assert_eq!((replay().change_count(), replay().bytes_cut), (0, 0));
        let first = append(&mut wal, 6, RECORDS_BEGIN);
        assert_eq!((replay().change_count(), replay().bytes_cut), (1, 0));
        let second = append(&mut wal, 7, RECORDS_BEGIN);
        assert_eq!((replay().change_count(), replay().bytes_cut), (2, 0));
        // The second record is torn. Only its own bytes are cut, whatever follows them.
        let mut content = sim.snapshot_of_files()[&path(4)].clone();
        content[usize::try_from(first).expect("small") + 40] ^= 1;
        sim.overwrite(&path(4), &content);
        assert_eq!(replay().change_count(), 1);
        assert!((1..=second - first).contains(&replay().bytes_cut));
    }
}

#[test]
fn an_unlisted_log_with_a_record_is_recognised() {
    let sim = Sim::new();
    let mut wal = new_log(&sim);
    assert!(!holds_a_record(&sim, &path(3)).expect("readable"));
    append(&mut wal, 6, RECORDS_BEGIN);
    assert!(holds_a_record(&sim, &path(3)).expect("readable"));
    sim.overwrite(&path(3), b"short");
    assert!(!holds_a_record(&sim, &path(3)).expect("readable"));
}

#[test]
fn a_failed_creation_of_a_log_leaves_nothing_of_the_spare() {
    // The log is written in several pieces, of which the last is shorter.
    let identity = WalIdentity { length: 200 << 10, ..identity(3) };
    for at in 0.. {
        let sim = Sim::new();
        let spare = Names::new(Path::new("/")).numbered(2, Ending::Free);
        storage::create_dirs(&sim, storage::parent_of(&spare)).expect("folder");
        sim.overwrite(&spare, &[7; 9_000]);
        sim.fail(Fault { at, what: FaultKind::Eio, sticky: false });
        let made = Wal::create(&sim, &path(3), Some(&spare), &identity);
        if sim.faults_fired() == 0 {
            assert!(made.is_ok() && at > 9, "a log takes more than {at} calls");
            return;
        }
        assert!(made.is_err());
        assert_eq!(sim.snapshot_of_files().len(), 0, "call {at}");
    }
}
