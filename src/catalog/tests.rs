//! Tests of the catalog: loading damaged files, and failing commits.

use super::*;
use crate::Params;
use crate::format::catalog::{Listed, SegmentEntry, WalEntry};
use crate::storage::Disk;
use crate::testing::planted::{Bug, assert_caught};
use crate::testing::sim::{Fault, FaultKind, Sim};

const PATH: &str = "/catalog.redb";

/// Puts these bytes into the catalog instead of a valid row.
pub(crate) fn plant_row(sim: &Sim, path: &Path, bytes: &[u8]) {
    sim.overwrite(path, &image_of(bytes).expect("redb works in memory"));
}

/// A row with `segments` segments. Rows with different `floor` differ.
fn row(floor: u64, segments: u64) -> Row {
    let entry = |i: u64| SegmentEntry {
        number: 2 * i + 1,
        length: 1 << 28,
        tail_hash: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(i + floor),
        docs: 100_000,
        dead: u32::from(i % 2 == 1),
        time_min: 1_700_000_000_000,
        time_max: 1_700_000_000_000 + i,
        dead_file: (i % 2 == 1).then_some(Listed {
            number: 2 * i + 2,
            length: 16_384,
            tail_hash: i,
        }),
    };
    Row {
        uuid: [7; 16],
        params: Params::builder().build().expect("the defaults are valid"),
        unicode: "16".to_owned(),
        floor,
        wal: Some(WalEntry { number: 1_000_000, salt: floor << 32, length: 1 << 26 }),
        file_next: 1_000_001 + floor,
        segments: (0..segments).map(entry).collect(),
    }
}

/// A disk with a durable catalog of this row.
fn disk_with(row: &Row) -> Sim {
    let sim = Sim::new();
    sim.overwrite(Path::new(PATH), &image(row));
    sim
}

fn catalog(sim: &Sim, row: &Row) -> Catalog {
    Catalog::new(Arc::new(sim.clone()), PATH.into(), row.clone())
}

fn load_bytes(bytes: &[u8]) -> Result<Row> {
    let sim = Sim::new();
    sim.overwrite(Path::new(PATH), bytes);
    load(&sim, Path::new(PATH))
}

fn image(row: &Row) -> Vec<u8> {
    image_of(&row.encode()).expect("redb works in memory")
}

#[test]
fn a_row_outlives_its_handle_and_open_and_drop_write_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("catalog.redb");
    let disk: Arc<dyn Storage> = Arc::new(Disk::default());
    let missing = load(&*disk, &path).expect_err("missing");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    create(&*disk, &path, &row(1, 0)).expect("created");
    let again = create(&*disk, &path, &row(9, 0)).expect_err("there is one");
    assert_eq!(again.kind(), ErrorKind::Invalid);
    let names: Vec<_> = disk.list(dir.path()).expect("listed");
    assert_eq!(names.len(), 1, "{names:?}");
    let mut known = row(1, 0);
    // The row is small, then large, then small again. 1,000 segments correspond to more than a
    // billion documents.
    for (floor, segments) in [(2, 1), (3, 2), (4, 1000), (5, 1000), (6, 3), (7, 3)] {
        let before = disk.counters();
        assert_eq!(load(&*disk, &path).expect("loaded"), known);
        let mut catalog = Catalog::new(Arc::clone(&disk), path.clone(), known);
        assert_eq!(disk.counters().bytes_written, before.bytes_written);
        assert_eq!(disk.counters().syncs, before.syncs);
        known = row(floor, segments);
        catalog.commit(known.clone()).expect("committed");
        assert_eq!(catalog.row(), &known);
        let after = disk.counters();
        assert_eq!(after.syncs - before.syncs, 2, "the file, and its folder");
        drop(catalog);
        assert_eq!(disk.counters(), after);
    }
    assert_eq!(load(&*disk, &path).expect("loaded"), known);
}

#[test]
fn a_commit_refuses_a_changed_file_and_writes_nothing() {
    let (old, new) = (row(1, 3), row(2, 4));
    let good = image(&new);
    let cut = good[..good.len() - 1].to_vec();
    for (bytes, known) in [(&cut, &new), (&Vec::new(), &new), (&good, &old)] {
        let sim = Sim::new();
        sim.overwrite(Path::new(PATH), bytes);
        let mut handle = catalog(&sim, known);
        let error = handle.commit(row(3, 0)).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!((sim.ops(), handle.row()), (0, known));
        // A handle that has written the file knows it by its hash.
        let sim = Sim::new();
        sim.overwrite(Path::new(PATH), &image(&old));
        let mut handle = catalog(&sim, &old);
        handle.commit(new.clone()).expect("committed");
        handle.commit(old.clone()).expect("committed");
        let (ops, changed) = (sim.ops(), if bytes == &good { &good } else { &cut });
        sim.overwrite(Path::new(PATH), changed);
        let error = handle.commit(row(3, 0)).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!((sim.ops(), handle.row()), (ops, &old));
    }
}

#[test]
fn the_file_is_small_and_a_function_of_its_row() {
    for segments in [0, 3, 10] {
        let bytes = image(&row(2, segments));
        assert!(bytes.len() <= 36 << 10, "{} bytes", bytes.len());
        assert_eq!(bytes, image(&row(2, segments)));
    }
    assert!(image(&row(2, 1000)).len() <= 100 << 10);
}

/// Makes every call of a commit fail, one after the other and in every way. The reported outcome
/// must be true.
#[test]
fn a_commit_that_fails_says_what_became_of_it() {
    let (old, new) = (row(1, 3), row(2, 4));
    let mut seen = [0; 4];
    for (what, sticky) in FaultKind::ALL.into_iter().flat_map(|what| [(what, false), (what, true)])
    {
        for at in 0.. {
            let sim = disk_with(&old);
            let mut handle = catalog(&sim, &old);
            sim.fail(Fault { at, what, sticky });
            let answer = handle.commit(new.clone()).map_err(|error| error.kind());
            let case = format!("call {at}, {what:?}, sticky {sticky}: {answer:?}");
            let fired = sim.faults_fired();
            let left = sim.kill();
            let live = load(&left, Path::new(PATH)).expect("readable");
            let durable = sim.crash_states(at, 20).map(|disk| load(&disk, Path::new(PATH)));
            let mut durable = durable.map(|row| row.expect("readable"));
            match answer {
                Ok(()) => {
                    seen[0] += 1;
                    assert!(live == new && durable.all(|row| row == new), "{case}");
                    assert_eq!(*handle.row(), new, "{case}");
                }
                Err(ErrorKind::Io) => {
                    seen[1] += 1;
                    assert!(live == old && durable.all(|row| row == old), "{case}");
                    assert_eq!(*handle.row(), old, "{case}");
                }
                Err(ErrorKind::Unknown) => {
                    seen[2] += 1;
                    assert!(durable.all(|row| row == old || row == new), "{case}");
                    assert_eq!(*handle.row(), old, "{case}");
                }
                Err(other) => panic!("{case}: {other:?}"),
            }
            if fired == 0 {
                break;
            }
        }
        // After a failure that is over, `Io` leaves the handle usable, and `Unknown` does not.
        for at in (0..20).filter(|_| !sticky) {
            let sim = disk_with(&old);
            let mut handle = catalog(&sim, &old);
            sim.fail(Fault { at, what, sticky });
            let Err(error) = handle.commit(new.clone()) else { continue };
            seen[3] += 1;
            let next = handle.commit(new.clone()).map_err(|error| error.kind());
            match error.kind() {
                ErrorKind::Io => assert_eq!(next, Ok(()), "call {at}, {what:?}"),
                _ => assert_eq!(next, Err(ErrorKind::Poisoned), "call {at}, {what:?}"),
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_failed_create_leaves_a_whole_catalog_or_none() {
    let wanted = row(1, 2);
    let mut seen = [0; 2];
    for (what, sticky) in FaultKind::ALL.into_iter().flat_map(|what| [(what, false), (what, true)])
    {
        for at in 0.. {
            let sim = Sim::new();
            sim.fail(Fault { at, what, sticky });
            let Err(error) = create(&sim, Path::new(PATH), &wanted) else { break };
            let left = sim.kill();
            let there = left.snapshot_of_files().contains_key(Path::new(PATH));
            let is_unknown = error.kind() == ErrorKind::Unknown;
            assert!(is_unknown || error.kind() == ErrorKind::Io, "call {at}, {what:?}, {error:?}");
            assert!(is_unknown || !there, "call {at}, {what:?}, {error:?}");
            seen[usize::from(there)] += 1;
            if there {
                assert_eq!(load(&left, Path::new(PATH)).expect("whole"), wanted);
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// Cuts the power after every operation of a commit, and kills the process there. The row is the
/// old one or the new one, and what a process has read is what a second cut leaves.
#[test]
fn every_state_of_every_cut_is_the_old_row_or_the_new() {
    let (old, new) = (row(1, 3), row(2, 4));
    let mut seen = [0; 2];
    for cut in 0.. {
        let sim = disk_with(&old);
        sim.power_cut_at(sim.ops() + cut);
        let committed = catalog(&sim, &old).commit(new.clone()).is_ok();
        let is_over = !sim.is_stopped();
        for disk in sim.crash_states(cut, 40) {
            let found = load(&disk, Path::new(PATH)).expect("readable");
            assert!(found == new || found == old && !committed, "cut {cut}");
            seen[usize::from(found == new)] += 1;
        }
        let next = sim.kill();
        let found = load(&next, Path::new(PATH)).expect("readable");
        for disk in next.crash_states(cut, 40) {
            assert_eq!(load(&disk, Path::new(PATH)).expect("readable"), found, "cut {cut}");
        }
        if is_over {
            break;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_commit_with_any_of_its_syncs_left_out_is_found() {
    for bug in [Bug::ReplacementNotSynced, Bug::CommitNotSynced, Bug::CatalogNotSyncedAtOpen] {
        assert_caught(bug, every_state_of_every_cut_is_the_old_row_or_the_new);
    }
}

#[test]
fn a_file_cut_short_or_extended_is_an_error_or_changes_nothing() {
    let new = row(2, 4);
    let image = image(&new);
    let lengths = (0..400).chain((400..image.len() + 20_000).step_by(509));
    for length in lengths.chain((0..40).map(|pages| 4096 * pages)) {
        let mut bytes = image.clone();
        bytes.resize(length, 0);
        if let Ok(row) = load_bytes(&bytes) {
            assert_eq!(row, new, "{length} bytes");
            assert!(length >= image.len(), "{length} bytes");
        }
    }
}
