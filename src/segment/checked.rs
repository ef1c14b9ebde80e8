//! What of a mapped block file was checked before, as memory: the fast half of every read.
//!
//! Believes nothing that was not checked and knows no disk: whoever gets nothing here reads through
//! [`BlockFile`](super::blocks::BlockFile), which checks first, or says what is wrong.

use super::blocks::Block;
use crate::format::blocks::BLOCK_BYTES;
use crate::storage::Map;
use std::sync::atomic::{AtomicU64, Ordering};

/// The blocks of a map and which of them were checked. Taken once for a run of reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checked<'a> {
    /// None where there is no map.
    blocks: &'a [Block],
    /// One bit per block of the body.
    bits: &'a [AtomicU64],
}

impl<'a> Checked<'a> {
    pub(super) fn new(map: &'a [u8], bits: &'a [AtomicU64]) -> Self {
        Self { blocks: map.as_chunks().0, bits }
    }

    /// These bytes, if they lie in one block and that was checked. (Across two of them is rare
    /// enough to be left to the slow way, which looks at both.)
    #[inline]
    pub(super) fn bytes(self, offset: u64, count: usize) -> Option<&'a [u8]> {
        let begin = usize::try_from(offset).ok()?;
        self.block(begin / BLOCK_BYTES)?.get(begin % BLOCK_BYTES..)?.get(..count)
    }

    /// As [`Checked::bytes`], for a few of them.
    #[inline]
    pub(super) fn array<const N: usize>(self, offset: u64) -> Option<&'a [u8; N]> {
        let begin = usize::try_from(offset).ok()?;
        self.block(begin / BLOCK_BYTES)?.get(begin % BLOCK_BYTES..)?.first_chunk()
    }

    /// The first and the last few of these bytes, under the same conditions. Where they are fewer
    /// than `N`, what lies behind or before them in the block comes with them.
    #[inline]
    pub(super) fn ends<const N: usize>(
        self,
        offset: u64,
        count: usize,
    ) -> Option<(&'a [u8; N], &'a [u8; N])> {
        let begin = usize::try_from(offset).ok()?;
        let block = self.block(begin / BLOCK_BYTES)?;
        let begin = begin % BLOCK_BYTES;
        let tail = (begin + count).checked_sub(N)?;
        let head = block.get(begin..begin + N)?.first_chunk()?;
        Some((head, block.get(tail..tail + N)?.first_chunk()?))
    }

    /// Asks the memory for the line of this byte, checked or not: nothing is read of it.
    #[inline]
    pub(super) fn ask_for(self, offset: u64) {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(block) = self.blocks.get(at / BLOCK_BYTES) {
            Map::prefetch(&block[at % BLOCK_BYTES]);
        }
    }

    #[inline]
    fn block(self, number: usize) -> Option<&'a Block> {
        if is_set(self.bits, number) { self.blocks.get(number) } else { None }
    }
}

/// Whether a block was checked: none is that the body does not have.
#[inline]
pub(super) fn is_set(bits: &[AtomicU64], block: usize) -> bool {
    // Relaxed: the bit says only that the bytes of an immutable file were right once.
    let word = bits.get(block / 64);
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
}
