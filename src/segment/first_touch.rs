//! First touches of many look-ups together: blocks that lie side by side are fetched at once.
//!
//! They are checked in the map, once the system has brought them, which turns a disk that fails
//! into an error and no signal; nothing is copied. Where it refuses, by read.
//!
//! Says nothing of what is wrong with a block: one that cannot be read, or whose checksum does not
//! match, stays unchecked, and the read that needs it returns the error.

use super::blocks::BlockFile;
use crate::format::blocks::BLOCK_BYTES;
use crate::format::bytes::wide;

/// Blocks read at once where the map cannot bring them: as many as the second cache holds beside
/// what is done with them.
const BLOCKS_PER_READ: usize = if cfg!(test) { 4 } else { 16 };

/// Blocks this far apart are fetched at once: another call costs more than what lies between.
const STEP_MAX: usize = 3;

/// What a step of look-ups does about blocks that were not checked yet.
#[derive(Debug)]
pub(crate) enum FirstTouch {
    /// Reads and checks each that the disk was not asked for, if the system has it in memory; the
    /// first that it has not makes it `Ask`.
    Take,
    /// Asks the disk for each at once, and does not wait.
    Ask,
    /// Notes them, once each, to be fetched together before the next step.
    Note(Noted),
}

/// Blocks that were noted, and memory to read them into, if need be.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(super) blocks: Vec<usize>,
    bytes: Vec<u8>,
}

impl FirstTouch {
    /// For so many look-ups.
    pub(crate) fn of(look_ups: usize) -> Self {
        if look_ups > BLOCKS_PER_READ { Self::Note(Noted::default()) } else { Self::Take }
    }
}

impl BlockFile {
    /// Reads and checks what is at hand of a range, if it may be; whether that was all of it.
    pub(super) fn take_at_hand(&self, begin: usize, count: usize, touch: &mut FirstTouch) -> bool {
        if !matches!(touch, FirstTouch::Take) {
            return false;
        }
        let last = begin.saturating_add(count.saturating_sub(1)) / BLOCK_BYTES;
        let mut blocks = begin / BLOCK_BYTES..=last;
        let taken = last < self.blocks()
            && blocks.all(|block| self.is_checked(block) || self.take_block(block));
        if !taken {
            *touch = FirstTouch::Ask;
        }
        taken
    }

    /// Fetches and checks the blocks that were noted.
    #[inline]
    pub(super) fn check_noted(&self, first_touch: &mut FirstTouch) {
        if let FirstTouch::Note(noted) = first_touch
            && !noted.blocks.is_empty()
        {
            self.check_together(&mut noted.blocks, &mut noted.bytes);
            noted.blocks.clear();
        }
    }

    #[cold]
    fn check_together(&self, blocks: &mut [usize], bytes: &mut Vec<u8>) {
        blocks.sort_unstable();
        let runs = || Runs { blocks, blocks_max: usize::MAX };
        if runs().nth(1).is_some() {
            // So that a disk that is far away works on all of them at once.
            runs().for_each(|run| self.ask_disk_for(run));
        }
        for run in runs() {
            if let Some(brought) = self.bring(run) {
                self.check_run(run, brought);
                continue;
            }
            for run in (Runs { blocks: run, blocks_max: BLOCKS_PER_READ }) {
                let count = span(run) * BLOCK_BYTES;
                bytes.resize(bytes.len().max(count), 0);
                if self.read_disk(&mut bytes[..count], wide(run[0] * BLOCK_BYTES)).is_ok() {
                    self.check_run(run, bytes);
                }
            }
        }
    }

    /// Checks blocks; these are the bytes from the first of them on.
    fn check_run(&self, run: &[usize], bytes: &[u8]) {
        for &block in run {
            let begin = (block - run[0]) * BLOCK_BYTES;
            if self.check_block(block, &bytes[begin..begin + BLOCK_BYTES]).is_ok() {
                self.set_checked(block);
            }
        }
    }
}

/// How many blocks lie from the first of these to the last.
fn span(run: &[usize]) -> usize {
    match run {
        [first, .., last] => last + 1 - first,
        _ => run.len(),
    }
}

/// Ascending blocks, in runs that lie near each other.
struct Runs<'a> {
    blocks: &'a [usize],
    blocks_max: usize,
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [usize];

    fn next(&mut self) -> Option<&'a [usize]> {
        let first = *self.blocks.first()?;
        let is_near =
            |pair: &&[usize]| pair[1] - pair[0] <= STEP_MAX && pair[1] - first < self.blocks_max;
        let count = 1 + self.blocks.windows(2).take_while(is_near).count();
        let (run, rest) = self.blocks.split_at(count);
        self.blocks = rest;
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MODES, Model, Place, must_tell, shape};
    use super::super::{ReadMode, Segment};
    use super::*;
    use crate::storage::OpenMode;
    use crate::storage::Storage;
    use crate::storage::sim::Sim;
    use crate::{ErrorKind, Result};
    use std::path::Path;
    use std::sync::Arc;

    /// Which documents have each of the model's keys, as a change of many operations asks.
    fn located(model: &Model, segment: &Segment) -> Result<Vec<(usize, u32)>> {
        let table = model.shape.bands;
        let hashes: Vec<u64> =
            (0..model.keys.len()).map(|doc| model.table_key(table, doc)).collect();
        let mut candidates = Vec::new();
        segment.look_up_all(table, &hashes, &mut |nth, ordinal| candidates.push((nth, ordinal)))?;
        let touch = &mut FirstTouch::of(candidates.len());
        for (_, ordinal) in &candidates {
            segment.ask_for_start(*ordinal, touch);
        }
        segment.check_noted(touch);
        for (_, ordinal) in &candidates {
            segment.ask_for_key_of_many(*ordinal, touch)?;
        }
        segment.check_noted(touch);
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

    #[test]
    fn runs_are_of_near_blocks_and_bounded() {
        let runs = |blocks: &[usize], blocks_max| {
            Runs { blocks, blocks_max }.map(<[usize]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(runs(&[], 9), [[0; 0]; 0]);
        assert_eq!(runs(&[1, 2, 5, 9, 10], 9), [vec![1, 2, 5], vec![9, 10]]);
        assert_eq!(runs(&[1, 2, 3, 4], 2), [[1, 2], [3, 4]]);
        assert_eq!((span(&[]), span(&[7]), span(&[7, 9])), (0, 1, 3));
    }

    /// The keys looked up one by one, as queries do: every tenth.
    fn located_each(model: &Model, segment: &Segment) -> Result<Vec<(usize, u32)>> {
        let table = model.shape.bands;
        let mut found = Vec::new();
        for nth in (0..model.keys.len()).step_by(10) {
            let mut ordinals = Vec::new();
            segment.bucket(table, model.table_key(table, nth), &mut ordinals)?;
            for ordinal in ordinals {
                segment.ask_for_document(ordinal);
                segment.ask_for_key(ordinal)?;
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
    fn what_the_system_has_in_memory_is_taken_and_nothing_else() {
        let place = Place::new();
        let path = place.path("a.seg");
        let folder = path.parent().expect("a folder").canonicalize().expect("there");
        let strict = must_tell(&folder);
        let taken_by_disk = taken_as_it_should_be(&place.disk, &path, false);
        assert!(taken_by_disk || !strict, "this file system tells what is in memory");
        // The simulated disk has some three quarters of all blocks in memory.
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        assert!(taken_as_it_should_be(&sim, "a".as_ref(), true));
    }

    /// Takes each pair of blocks; whether any could be. What is in memory stays there, and nothing
    /// else comes, where it `is_fixed`.
    fn taken_as_it_should_be(disk: &Arc<dyn Storage>, path: &Path, is_fixed: bool) -> bool {
        let (at, model) = (|block: usize| wide(block * BLOCK_BYTES), model());
        let built = model.build(disk, path, 1 << 20, 1 << 20);
        let open = || Segment::open(&**disk, path, &built.listed, &model.shape, ReadMode::Mmap);
        let file = disk.open(path, OpenMode::ReadWrite).expect("opened");
        let blocks = open().expect("opens").blocks.blocks();
        let is_at_hand = |block| file.read_at_hand(&mut [0; BLOCK_BYTES], at(block));
        // What follows the last block are the checksums.
        let with_checksums = |block| is_at_hand(block) && is_at_hand(blocks);
        let mut any = false;
        for block in 0..blocks - 1 {
            let (segment, mut touch) = (open().expect("opens"), FirstTouch::Take);
            let at_hand = || (with_checksums(block), with_checksums(block + 1));
            let before = at_hand();
            segment.blocks.ask_first(at(block), BLOCK_BYTES + 1, &mut touch);
            let (first, second) = at_hand();
            if before != (first, second) {
                assert!(!is_fixed, "block {block}: {before:?}, now {:?}", (first, second));
                continue; // the system has brought it just now, or given it up
            }
            let checked = |block| segment.blocks.is_checked(block);
            assert_eq!((checked(block), checked(block + 1)), (first, first && second));
            assert_eq!(matches!(touch, FirstTouch::Take), first && second);
            let count = (0..blocks).filter(|block| checked(*block)).count();
            assert_eq!(count, usize::from(first) + usize::from(first && second));
            any |= first;
        }
        // The second of two is taken where the first was checked before.
        for block in 0..blocks - 1 {
            let segment = open().expect("opens");
            segment.blocks.read(at(block), 1).expect("sound");
            let second = with_checksums(block + 1);
            segment.blocks.ask_first(at(block + 1) - 4, 8, &mut FirstTouch::Take);
            assert!(!is_fixed || segment.blocks.is_checked(block + 1) == second, "{block}");
        }
        // Nothing that is not there, and nothing whose checksum, or the one of that, is wrong.
        let segment = open().expect("opens");
        for wild in [at(blocks), u64::MAX] {
            segment.blocks.ask_first(wild, 8, &mut FirstTouch::Take);
        }
        assert!((0..blocks + 64).all(|block| !segment.blocks.is_checked(block)));
        let taken = (0..blocks).find(|block| with_checksums(*block)).unwrap_or(0);
        for damaged in [taken, blocks] {
            let mut byte = [0];
            file.read_at(&mut byte, at(damaged) + 900).expect("read");
            file.write_at(&[byte[0] ^ 1], at(damaged) + 900).expect("written");
            let (segment, mut touch) = (open().expect("opens"), FirstTouch::Take);
            segment.blocks.ask_first(at(taken), 8, &mut touch);
            assert!(!segment.blocks.is_checked(taken) && matches!(touch, FirstTouch::Ask));
            let error = segment.blocks.read(at(taken), 8).expect_err("damaged");
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            file.write_at(&byte, at(damaged) + 900).expect("written");
        }
        any
    }

    #[test]
    fn what_is_touched_together_is_found() {
        let place = Place::new();
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        let model = model();
        // A disk whose maps can be brought, and one where they cannot.
        for (disk, path) in [(place.disk.clone(), place.path("a.seg")), (sim, "a.seg".into())] {
            let listed = model.build(&disk, &path, 1 << 20, 1 << 20).listed;
            for mode in MODES {
                let segment =
                    Segment::open(&*disk, &path, &listed, &model.shape, mode).expect("opens");
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
        let place = Place::new();
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        let model = model();
        let expected = by_definition(&model);
        for (disk, path) in [(place.disk.clone(), place.path("a.seg")), (sim, "a.seg".into())] {
            let built = model.build(&disk, &path, 1 << 20, 1 << 20);
            let errors = damaged_in_turn(&model, &*disk, &path, &built.listed, &expected);
            // Directory, fingerprints and ordinals of the keys, where documents lie, the documents.
            assert!(errors > 40, "only {errors} blocks mattered");
        }
    }

    /// How many blocks matter: with each damaged in turn there is an error or the answer.
    fn damaged_in_turn(
        model: &Model,
        disk: &dyn Storage,
        path: &Path,
        listed: &super::super::Listed,
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
            let one_by_one =
                located_each(model, &open().expect("opens")).map(|found| found == each);
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
}
