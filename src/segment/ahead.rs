//! Checking ahead: the blocks of a segment from the last to the first, before anybody asks for
//! them, as far as the system has them in memory.
//!
//! From the last, because every query reads the directories, which lie there, and before them the
//! tables. Does not make the system read what it has not, and says nothing of what is wrong with a
//! block: one that is not at hand, or whose checksum does not match, stays unchecked, and the
//! read that needs it returns the error.

use super::blocks::BlockFile;
use super::reader::Segment;
use crate::format::blocks::BLOCK_BYTES;
use crate::format::bytes::wide;

/// Blocks looked at in one step.
const BLOCKS_PER_STEP: usize = 16;

impl Segment {
    /// Where a walk begins: how many blocks there are; none where every read checks anew, and once
    /// all were checked.
    pub(crate) fn blocks_ahead(&self) -> usize {
        self.blocks.blocks_ahead()
    }

    /// Takes a step: checks some blocks, the last of which ends where block `end` begins. Returns
    /// where the first of them begins, from which the next step goes on. Costs 15 to 30 us if they
    /// are at hand, else about one; nothing if they were checked before.
    pub(crate) fn check_ahead(&self, end: usize, bytes: &mut Vec<u8>) -> usize {
        self.blocks.check_ahead(end, bytes)
    }

    #[cfg(test)]
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.blocks()
    }

    #[cfg(test)]
    pub(crate) fn is_checked(&self, block: usize) -> bool {
        self.blocks.is_checked(block)
    }
}

impl BlockFile {
    fn blocks_ahead(&self) -> usize {
        if self.may_be_ahead() { self.blocks() } else { 0 }
    }

    fn check_ahead(&self, end: usize, bytes: &mut Vec<u8>) -> usize {
        let end = end.min(self.blocks());
        let begin = end.saturating_sub(1) / BLOCKS_PER_STEP * BLOCKS_PER_STEP;
        if (begin..end).all(|block| self.is_checked(block)) {
            return begin;
        }
        // All or none: of what nobody asked for lately, neighbours are in memory together. They
        // share a block of checksums.
        let (offset, count) = (begin * BLOCK_BYTES, (end - begin) * BLOCK_BYTES);
        if !self.is_at_hand(offset, count) || !self.has_crcs_at_hand(begin) {
            return begin;
        }
        if let Some(brought) = self.bring(&[begin, end - 1]) {
            self.check_ahead_of(begin..end, brought);
        } else {
            // The map cannot bring them.
            bytes.resize(bytes.len().max(count), 0);
            if self.file().read_at_hand(&mut bytes[..count], wide(offset)) {
                self.check_ahead_of(begin..end, bytes);
            }
        }
        begin
    }

    fn check_ahead_of(&self, blocks: std::ops::Range<usize>, bytes: &[u8]) {
        let begin = blocks.start;
        let is_right = |block: &usize| {
            let at = (block - begin) * BLOCK_BYTES;
            self.check_block(*block, &bytes[at..at + BLOCK_BYTES]).is_ok()
        };
        self.set_all_checked(blocks.filter(is_right));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MODES, Model, Place, must_tell, shape};
    use super::super::{ReadMode, Segment};
    use super::*;
    use crate::ErrorKind;
    use crate::storage::sim::Sim;
    use crate::storage::{OpenMode, Storage};
    use std::sync::Arc;

    /// Checks all ahead; which blocks are checked afterwards.
    fn checked_ahead(segment: &Segment) -> Vec<bool> {
        let (mut end, mut bytes) = (segment.blocks_ahead(), Vec::new());
        while end > 0 {
            let before = segment.check_ahead(end, &mut bytes);
            assert!(before < end && before.is_multiple_of(BLOCKS_PER_STEP), "{before} of {end}");
            end = before;
        }
        (0..segment.blocks.blocks()).map(|block| segment.blocks.is_checked(block)).collect()
    }

    #[test]
    fn what_is_in_memory_is_checked_ahead_and_nothing_else() {
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        let model = Model::random(5, 2500, shape(24, 4), 3);
        let built = model.build(&sim, "a.seg".as_ref(), 1 << 20, 1 << 20);
        let file = sim.open("a.seg".as_ref(), OpenMode::ReadWrite).expect("opened");
        for mode in MODES {
            let open = || {
                Segment::open(&*sim, "a.seg".as_ref(), &built.listed, &model.shape, mode)
                    .expect("opens")
            };
            let segment = open();
            let blocks = segment.blocks.blocks();
            let at = |block: usize| wide(block * BLOCK_BYTES);
            let at_hand = |begin: usize, end: usize| {
                let mut bytes = vec![0; (end - begin) * BLOCK_BYTES];
                file.read_at_hand(&mut bytes, at(begin))
                    && file.read_at_hand(&mut [0; 9], at(blocks))
            };
            let expected: Vec<bool> = (0..blocks)
                .map(|block| block / BLOCKS_PER_STEP * BLOCKS_PER_STEP)
                .map(|begin| {
                    mode == ReadMode::Mmap && at_hand(begin, blocks.min(begin + BLOCKS_PER_STEP))
                })
                .collect();
            assert_eq!(checked_ahead(&segment), expected, "{mode:?}");
            let any = |wanted| expected.contains(&wanted);
            assert!(any(false) && (mode == ReadMode::Pread || any(true)), "{expected:?}");
            // What was damaged before is not checked by it, and its reader is told.
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
                assert_eq!(checked_ahead(&segment), sound);
                let error = segment.blocks.read(at(block), 8).expect_err("damaged");
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                file.write_at(&byte, at(damaged) + 900).expect("written");
            }
        }
    }

    /// Which steps of a walk find all they look at in memory.
    fn steps_at_hand(segment: &Segment) -> Vec<bool> {
        let blocks = segment.blocks.blocks();
        let steps = (0..blocks).step_by(BLOCKS_PER_STEP);
        let count = |begin: usize| (blocks - begin).min(BLOCKS_PER_STEP) * BLOCK_BYTES;
        steps.map(|begin| segment.blocks.is_at_hand(begin * BLOCK_BYTES, count(begin))).collect()
    }

    #[test]
    fn what_the_system_has_not_is_not_brought() {
        let place = Place::new();
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
            Segment::open(&*place.disk, &path, &built.listed, &model.shape, mode).expect("opens")
        };
        // Drops what the system has of the file, all of which is on the disk.
        let from = format!("if={}", path.display());
        let dd =
            std::process::Command::new("dd").args([&from, "iflag=nocache", "count=0"]).output();
        let segment = open();
        for crcs in 0..segment.blocks.blocks().div_ceil(BLOCK_BYTES / 4) {
            segment.blocks.verify_crc_block(crcs).expect("sound");
        }
        let before = steps_at_hand(&segment);
        if !dd.is_ok_and(|dd| dd.status.success()) || !before.contains(&false) {
            eprintln!("SKIPPED: nothing dropped the file from memory");
            return;
        }
        let checked = checked_ahead(&segment);
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(steps_at_hand(&segment), before, "nothing was brought");
        for (step, checked) in checked.chunks(BLOCKS_PER_STEP).enumerate() {
            assert!(checked.iter().all(|checked| *checked == before[step]), "step {step}");
        }
        // Now it has it: a walk of another, and what is left of this one.
        let file = place.disk.open(&path, OpenMode::Read).expect("opened");
        let mut all = vec![0; usize::try_from(file.bytes().expect("known")).expect("short")];
        file.read_at(&mut all, 0).expect("read");
        assert!(checked_ahead(&open()).iter().all(|checked| *checked));
        assert!(checked_ahead(&segment).iter().all(|checked| *checked));
        assert_eq!(segment.blocks_ahead(), 0);
    }
}
