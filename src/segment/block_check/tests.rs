//! Tests that a segment gives the same answers before and after all its blocks were verified, that
//! damage is an error, and that the warm-up loads nothing from the disk.

use super::super::tests::{DiskFolder, MODES, Model, must_tell, shape};
use super::super::verified_blocks::VerifiedBlocks;
use super::super::{Entries, LookUp, ReadMode, Segment, Tables};
use super::*;
use crate::ErrorKind;
use crate::storage::{OpenMode, Storage};
use crate::testing::sim::Sim;
use std::path::Path;
use std::sync::Arc;

/// For each of the model's keys, the index of the key and the ordinals of the documents that have
/// it. All keys are looked up together, as a batch does.
fn located(model: &Model, segment: &Segment) -> Result<Vec<(usize, u32)>> {
    let table = model.shape.bands;
    let hashes: Vec<u64> = (0..model.keys.len()).map(|doc| model.table_key(table, doc)).collect();
    let mut candidates = Vec::new();
    segment.look_up_all(table, &hashes, &mut |nth, ordinal| candidates.push((nth, ordinal)))?;
    segment.prefetch_keys(candidates.iter().map(|(_, ordinal)| *ordinal))?;
    let mut found = Vec::new();
    for (nth, ordinal) in candidates {
        if segment.has_key(ordinal, &model.keys[nth])? {
            found.push((nth, ordinal));
        }
    }
    Ok(found)
}

fn by_definition(model: &Model) -> Vec<(usize, u32)> {
    let with = |(nth, key): (usize, &Vec<u8>)| {
        let key = key.clone();
        let has = move |(_, other): &(u32, &Vec<u8>)| **other == key;
        (0..).zip(&model.keys).filter(has).map(move |(ordinal, _)| (nth, ordinal))
    };
    model.keys.iter().enumerate().flat_map(with).collect()
}

/// A segment whose table of keys takes several blocks.
fn model() -> Model {
    Model::random(5, 2500, shape(24, 4), 3)
}

/// The same as `located`, but only for every tenth key, and with the keys looked up one by one, as
/// queries do.
fn located_each(model: &Model, segment: &Segment) -> Result<Vec<(usize, u32)>> {
    let table = model.shape.bands;
    let mut found = Vec::new();
    for nth in (0..model.keys.len()).step_by(10) {
        let mut ordinals = Vec::new();
        segment.bucket(table, model.table_key(table, nth), &mut ordinals)?;
        for ordinal in ordinals {
            segment.prefetch_document(ordinal);
            segment.prefetch_key(ordinal)?;
            if segment.has_key(ordinal, &model.keys[nth])? {
                found.push((nth, ordinal));
            }
        }
    }
    Ok(found)
}

fn every_tenth(found: &[(usize, u32)]) -> Vec<(usize, u32)> {
    found.iter().filter(|found| found.0 % 10 == 0).copied().collect()
}

#[test]
fn keys_looked_up_together_are_found() {
    let place = DiskFolder::new();
    let sim: Arc<dyn Storage> = Arc::new(Sim::new());
    let model = model();
    // A disk whose maps can be populated, and one where this is impossible.
    for (disk, path) in [(place.disk.clone(), place.path("a.seg")), (sim, "a.seg".into())] {
        let listed = model.build(&disk, &path, 1 << 20, 1 << 20).listed();
        for mode in MODES {
            let segment = Segment::open(&*disk, &path, &listed, &model.shape, mode).expect("opens");
            let expected = by_definition(&model);
            let each = every_tenth(&expected);
            for _ in 0..2 {
                assert_eq!(located_each(&model, &segment).expect("sound"), each);
                assert_eq!(located(&model, &segment).expect("sound"), expected);
            }
        }
    }
}

#[test]
fn damage_to_what_is_touched_together_is_an_error() {
    let place = DiskFolder::new();
    let sim: Arc<dyn Storage> = Arc::new(Sim::new());
    let model = model();
    let expected = by_definition(&model);
    for (disk, path) in [(place.disk.clone(), place.path("a.seg")), (sim, "a.seg".into())] {
        let built = model.build(&disk, &path, 1 << 20, 1 << 20);
        let errors = damaged_in_turn(&model, &*disk, &path, &built.listed(), &expected);
        // The look-ups read these blocks, so damage to them is noticed: directory, fingerprints and
        // ordinals of the table of keys, the starts of documents, and the documents.
        assert!(errors > 40, "only {errors} blocks mattered");
    }
}

/// Damages each block in turn. Each result must be an error or the right answer. Returns the number
/// of errors.
fn damaged_in_turn(
    model: &Model,
    disk: &dyn Storage,
    path: &Path,
    listed: &crate::format::catalog::Listed,
    expected: &[(usize, u32)],
) -> usize {
    let file = disk.open(path, OpenMode::ReadWrite).expect("opened");
    let open = || Segment::open(disk, path, listed, &model.shape, ReadMode::Mmap);
    let blocks = open().expect("opens").blocks.blocks();
    let each = every_tenth(expected);
    let mut errors = 0;
    for at in (0..blocks).map(|block| wide(block * BLOCK_BYTES) + 1000) {
        let mut byte = [0];
        file.read_at(&mut byte, at).expect("read");
        file.write_at(&[byte[0] ^ 4], at).expect("written");
        let one_by_one = located_each(model, &open().expect("opens")).map(|found| found == each);
        let together = located(model, &open().expect("opens")).map(|found| found == expected);
        for right in [one_by_one, together] {
            match right {
                Ok(right) => assert!(right, "a wrong answer with byte {at} changed"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    errors += 1;
                }
            }
        }
        file.write_at(&byte, at).expect("written");
    }
    errors
}

/// Runs the whole warm-up. Returns, for each block, whether it is verified afterwards.
fn warmed_up(segment: &Segment) -> Vec<bool> {
    let mut end = segment.warm_up_end();
    while end > 0 {
        let before = segment.warm_up(end);
        assert!(before < end && before.is_multiple_of(BLOCKS_PER_STEP), "{before} of {end}");
        end = before;
    }
    (0..segment.blocks.blocks()).map(|block| segment.is_verified(block)).collect()
}

#[test]
fn warm_up_verifies_resident_blocks_only() {
    let sim: Arc<dyn Storage> = Arc::new(Sim::new());
    let model = Model::random(5, 2500, shape(24, 4), 3);
    let built = model.build(&sim, "a.seg".as_ref(), 1 << 20, 1 << 20);
    let file = sim.open("a.seg".as_ref(), OpenMode::ReadWrite).expect("opened");
    for mode in MODES {
        let open = || {
            Segment::open(&*sim, "a.seg".as_ref(), &built.listed(), &model.shape, mode)
                .expect("opens")
        };
        let segment = open();
        let blocks = segment.blocks.blocks();
        let at = |block: usize| wide(block * BLOCK_BYTES);
        let expected = vec![mode == ReadMode::Mmap; blocks];
        assert_eq!(warmed_up(&segment), expected, "{mode:?}");
        // A block that is damaged before the warm-up is not marked as verified, and its reader gets
        // an error.
        let Some(block) = expected.iter().position(|checked| *checked) else { continue };
        for damaged in [block, blocks] {
            let mut byte = [0];
            file.read_at(&mut byte, at(damaged) + 900).expect("read");
            file.write_at(&[byte[0] ^ 1], at(damaged) + 900).expect("written");
            let segment = open();
            let mut sound = expected.clone();
            match sound.get_mut(damaged) {
                Some(checked) => *checked = false,
                None => sound.fill(false),
            }
            assert_eq!(warmed_up(&segment), sound);
            let error = segment.blocks.read(at(block), 8).expect_err("damaged");
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            file.write_at(&byte, at(damaged) + 900).expect("written");
        }
    }
}

/// For each step of the warm-up, whether all its blocks are in memory.
fn resident_steps(segment: &Segment) -> Vec<bool> {
    let map = segment.blocks.map.as_ref().expect("mapped");
    let blocks = segment.blocks.blocks();
    let steps = (0..blocks).step_by(BLOCKS_PER_STEP);
    let count = |begin: usize| (blocks - begin).min(BLOCKS_PER_STEP) * BLOCK_BYTES;
    steps.map(|begin| map.is_resident(begin * BLOCK_BYTES, count(begin))).collect()
}

#[test]
fn warm_up_loads_no_blocks_from_the_disk() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let folder = path.parent().expect("a folder").canonicalize().expect("there");
    if !must_tell(&folder) {
        eprintln!("SKIPPED: this file system need not tell what it has in memory");
        return;
    }
    let model = Model::random(5, 20_000, shape(24, 4), 3);
    let built = model.build(&place.disk, &path, 1 << 20, 1 << 20);
    let open = || {
        let mode = ReadMode::Mmap;
        Segment::open(&*place.disk, &path, &built.listed(), &model.shape, mode).expect("opens")
    };
    // Drops the file's pages from the page cache, which is possible because all are on the disk.
    let from = format!("if={}", path.display());
    let dd = std::process::Command::new("dd").args([&from, "iflag=nocache", "count=0"]).output();
    let segment = open();
    for crcs in 0..segment.blocks.blocks().div_ceil(BLOCK_BYTES / 4) {
        segment.blocks.fetch_crcs(crcs).expect("sound");
    }
    let before = resident_steps(&segment);
    if !dd.is_ok_and(|dd| dd.status.success()) || !before.contains(&false) {
        eprintln!("SKIPPED: nothing dropped the file from memory");
        return;
    }
    let checked = warmed_up(&segment);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(resident_steps(&segment), before, "nothing was brought");
    for (step, checked) in checked.chunks(BLOCKS_PER_STEP).enumerate() {
        assert!(checked.iter().all(|checked| *checked == before[step]), "step {step}");
    }
    // Reading the file brings all its pages into memory. After that, the warm-up of a newly opened
    // segment verifies all blocks, and another warm-up of `segment` verifies its remaining ones.
    let file = place.disk.open(&path, OpenMode::Read).expect("opened");
    let mut all = vec![0; usize::try_from(file.bytes().expect("known")).expect("short")];
    file.read_at(&mut all, 0).expect("read");
    assert!(warmed_up(&open()).iter().all(|checked| *checked));
    assert!(warmed_up(&segment).iter().all(|checked| *checked));
    assert_eq!(segment.warm_up_end(), 0);
}

#[test]
fn blocks_are_missing_until_each_was_verified() {
    for blocks in [0, 1, 63, 64, 65, 200] {
        let verified = VerifiedBlocks::new(blocks);
        for block in 0..blocks {
            assert!(verified.any_missing() && !verified.has(block));
            // Sets the bit twice, and also that of a block that was verified before.
            for block in [block, block, 0] {
                verified.set(block);
            }
            assert!(verified.has(block));
        }
        assert!(!verified.any_missing(), "{blocks} blocks");
        assert!(!verified.has(blocks) && !verified.has(blocks + 64));
    }
}

#[test]
fn threads_that_set_the_same_bits_count_each_once() {
    for _ in 0..200 {
        let bits = VerifiedBlocks::new(100);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..99).for_each(|block| bits.set(block)));
            scope.spawn(|| (0..99).rev().for_each(|block| bits.set(block)));
        });
        assert!(bits.any_missing());
        bits.set(99);
        assert!(!bits.any_missing());
    }
}

/// The ordinals that the look-up of a document finds in each band.
fn matching(model: &Model, segment: &Segment, doc: usize) -> Vec<Vec<u32>> {
    let keys: Vec<u64> = (0..model.shape.bands).map(|band| model.table_key(band, doc)).collect();
    let (mut look_ups, mut out) = (vec![LookUp::default(); keys.len()], Vec::new());
    segment.look_up(Tables::Bands, &keys, &mut look_ups);
    segment.find_groups(Tables::Bands, &mut look_ups).expect("sound");
    segment.match_fingerprints(0, &look_ups, &mut out).expect("sound");
    assert_eq!(out.len(), keys.len(), "each finds the document");
    let ordinals = |entries: &Entries| {
        let mut ordinals = Vec::new();
        let taken = segment.take_ordinals(entries, |ordinal| {
            ordinals.push(ordinal);
            Ok(())
        });
        taken.expect("sound");
        ordinals
    };
    out.iter().map(ordinals).collect()
}

#[test]
fn both_faces_find_the_same() {
    let disk: Arc<dyn Storage> = Arc::new(Sim::new());
    let model = Model::random(5, 2500, shape(24, 4), 3);
    let listed = model.build(&disk, "a".as_ref(), 1 << 20, 1 << 20).listed();
    let open = |mode| Segment::open(&*disk, "a".as_ref(), &listed, &model.shape, mode);
    let verified = open(ReadMode::Mmap).expect("opens");
    verified.read_back(true).expect("sound");
    assert!(verified.blocks.verified().is_some());
    let copied = open(ReadMode::Pread).expect("opens");
    for doc in (0..2500).step_by(100) {
        let unverified = open(ReadMode::Mmap).expect("opens");
        let expected = matching(&model, &verified, doc);
        assert!(
            expected.iter().all(|ordinals| ordinals.contains(&u32::try_from(doc).expect("few")))
        );
        assert_eq!(matching(&model, &unverified, doc), expected);
        assert!(unverified.blocks.verified().is_none());
        assert_eq!(matching(&model, &copied, doc), expected);
    }
}
