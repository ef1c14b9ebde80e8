//! Checking ahead: the blocks of a segment from the last to the first, before anybody asks for
//! them, as far as the system has them in memory.
//!
//! From the last, because every query reads the directories, which lie there, and before them the
//! tables. Waits for no disk, and says nothing of what is wrong with a block: one that is not at
//! hand, or whose checksum does not match, stays unchecked, and whoever reads it is told.

use super::blocks::BlockFile;
use super::reader::Segment;
use crate::format::blocks::BLOCK_BYTES;
use crate::format::bytes::wide;

/// Blocks looked at in one step: as many as the second cache holds beside what is done with them.
const BLOCKS_PER_STEP: usize = 16;

impl Segment {
    /// Blocks that can be checked ahead: none where every read checks anew.
    pub(crate) fn blocks_ahead(&self) -> usize {
        self.blocks.blocks_ahead()
    }

    /// Takes a step: checks some blocks, the last of which ends where block `end` begins. Returns
    /// where the first of them begins, from which the next step goes on. Costs some 15 us if they
    /// are at hand, else a call of the system, or none if they were checked before.
    pub(crate) fn check_ahead(&self, end: usize, bytes: &mut Vec<u8>) -> usize {
        self.blocks.check_ahead(end, bytes)
    }

    #[cfg(test)]
    pub(crate) fn is_checked(&self, block: usize) -> bool {
        self.blocks.is_checked(block)
    }
}

impl BlockFile {
    fn blocks_ahead(&self) -> usize {
        if self.is_mapped() { self.blocks() } else { 0 }
    }

    fn check_ahead(&self, end: usize, bytes: &mut Vec<u8>) -> usize {
        let end = end.min(self.blocks_ahead());
        let begin = end.saturating_sub(1) / BLOCKS_PER_STEP * BLOCKS_PER_STEP;
        if (begin..end).all(|block| self.is_checked(block)) {
            return begin;
        }
        bytes.resize(bytes.len().max(BLOCKS_PER_STEP * BLOCK_BYTES), 0);
        let bytes = &mut bytes[..(end - begin) * BLOCK_BYTES];
        let crcs_at_hand = self.crcs_at_hand(begin) && self.crcs_at_hand(end - 1);
        // All or none: of what nobody asked for lately, neighbours are in memory together.
        if crcs_at_hand && self.file().read_at_hand(bytes, wide(begin * BLOCK_BYTES)) {
            for (block, bytes) in (begin..end).zip(bytes.chunks_exact(BLOCK_BYTES)) {
                if self.check_block(block, bytes).is_ok() {
                    self.set_checked(block);
                }
            }
            // They are in memory, so this waits for no disk, and no query for an entry of the map.
            let _ = self.bring(&[begin, end - 1]);
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MODES, Model, shape};
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
}
