//! The block checker: compares blocks of a body with their checksums, and records which blocks were
//! verified.
//!
//! Blocks are verified in the map after the system has loaded their pages. So a failing disk causes
//! an error instead of a signal (SIGBUS), and the pages stay mapped. If the system cannot load
//! them, the blocks are read by system calls.

use super::blocks::{Block, BlockFile};
use super::verified_blocks::BlockFetch;
use crate::Result;
use crate::format::blocks::BLOCK_BYTES;
use crate::format::bytes::wide;
use crate::storage::prefetch;
use std::ops::Range;

/// Maximum number of blocks verified in one pass.
const BLOCKS_PER_CHECK: usize = small!(block_check::BLOCKS_PER_CHECK, 64);
/// Number of blocks per step of the warm-up.
const BLOCKS_PER_STEP: usize = 16;
/// Number of body blocks covered by one block of the CRC table.
const CRCS_PER_BLOCK: usize = BLOCK_BYTES / 4;

impl BlockFile {
    /// Verifies consecutive blocks of the map.
    pub(super) fn check(&self, blocks: Range<usize>, fetch: BlockFetch) -> Result<()> {
        let mut buffer = Vec::new();
        for begin in blocks.clone().step_by(BLOCKS_PER_CHECK) {
            let part = begin..blocks.end.min(begin + BLOCKS_PER_CHECK);
            let Some(bytes) = self.bring(part.clone(), fetch, &mut buffer)? else { return Ok(()) };
            for (block, bytes) in part.zip(bytes.chunks_exact(BLOCK_BYTES)) {
                match self.check_block(block, bytes) {
                    Ok(()) => self.verified.set(block),
                    Err(error) if fetch == BlockFetch::Wait => return Err(error),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The bytes of these blocks, which are not verified yet, from the map or from the disk.
    /// Returns `None` only for [`BlockFetch::Resident`], if not all of the blocks are in memory.
    fn bring<'a>(
        &'a self,
        blocks: Range<usize>,
        fetch: BlockFetch,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>> {
        let (begin, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        if let Some(map) = &self.map {
            if fetch == BlockFetch::Resident && !map.is_resident(begin, end - begin) {
                return Ok(None);
            }
            if map.bring(begin, end - begin) || fetch == BlockFetch::Resident {
                return Ok(map.bytes().get(begin..end));
            }
        }
        buffer.resize(end - begin, 0);
        self.read_disk(buffer, wide(begin))?;
        Ok(Some(buffer))
    }

    /// Verifies the blocks under a range of the body, unless they were verified before.
    #[inline]
    pub(super) fn check_range(&self, begin: usize, count: usize) -> Result<()> {
        let mut blocks = begin / BLOCK_BYTES..(begin + count).div_ceil(BLOCK_BYTES);
        if blocks.all(|block| self.verified.has(block)) {
            return Ok(());
        }
        self.check_extents(std::iter::once((wide(begin), count)))
    }

    /// Verifies the blocks under these extents, which will be read next. If an extent reaches
    /// beyond the body, the later read returns the error.
    #[inline(never)]
    pub(super) fn check_extents(&self, extents: impl Iterator<Item = (u64, usize)>) -> Result<()> {
        // Without a map, every read verifies its blocks itself.
        if self.map.is_none() {
            return Ok(());
        }
        self.check_all(self.unverified(extents).into_iter())
    }

    /// Verifies ascending blocks, consecutive ones in one pass.
    fn check_all(&self, blocks: impl Iterator<Item = usize>) -> Result<()> {
        let mut run = 0..0;
        for block in blocks {
            if block != run.end {
                self.check(run, BlockFetch::Wait)?;
                run = block..block;
            }
            run.end = block + 1;
        }
        self.check(run, BlockFetch::Wait)
    }

    /// Starts reading the unverified blocks under these extents without waiting, so that all reads
    /// are in flight before the first block is needed. Also prefetches the first cache line of each
    /// extent, which helps if its block is already verified.
    #[cold]
    pub(super) fn request(&self, extents: impl Iterator<Item = (u64, usize)>) {
        let blocks = self.unverified(extents.inspect(|(offset, _)| {
            let at = usize::try_from(*offset).unwrap_or(usize::MAX);
            if let Some(byte) = self.map.as_ref().and_then(|map| map.bytes().get(at)) {
                prefetch(byte);
            }
        }));
        for run in blocks.chunk_by(|block, next| block + 1 == *next) {
            self.will_need(run[0] * BLOCK_BYTES, run.len() * BLOCK_BYTES);
            let crcs = run[0] / CRCS_PER_BLOCK;
            if self.crc_table.get(crcs).is_some_and(|crcs| crcs.get().is_none()) {
                self.will_need(self.body_bytes + crcs * BLOCK_BYTES, BLOCK_BYTES);
            }
        }
    }

    fn will_need(&self, begin: usize, count: usize) {
        match &self.map {
            Some(map) => map.will_need(begin, count),
            None => self.file.will_need(wide(begin), wide(count)),
        }
    }

    /// The unverified blocks under these extents, ascending. Without a map, all blocks count as
    /// unverified.
    fn unverified(&self, extents: impl Iterator<Item = (u64, usize)>) -> Vec<usize> {
        let (mut blocks, end) = (Vec::new(), self.blocks());
        for (offset, count) in extents {
            let begin = usize::try_from(offset).unwrap_or(usize::MAX);
            let last = begin.saturating_add(count).div_ceil(BLOCK_BYTES).min(end);
            let under = begin / BLOCK_BYTES..last;
            blocks.extend(under.filter(|block| !self.verified.has(*block)));
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// The first `end` to pass to `warm_up`, which runs from the last block to the first: the
    /// number of blocks, or 0 if the file is not mapped or all blocks are verified.
    pub(super) fn warm_up_end(&self) -> usize {
        if self.map.is_some() && self.verified.any_missing() { self.blocks() } else { 0 }
    }

    /// Runs a step of the warm-up: verifies some blocks before block `end` if they are resident,
    /// and returns the first of them. The warm-up runs from the last block to the first, because
    /// every query reads the directories at the end and the tables before them.
    pub(super) fn warm_up(&self, end: usize) -> usize {
        let end = end.min(self.blocks());
        let begin = end.saturating_sub(1) / BLOCKS_PER_STEP * BLOCKS_PER_STEP;
        // Asks once for the whole step whether its pages are resident, not once per block, because
        // pages that were not read recently are resident in long runs. One block of the CRC table
        // is enough: the blocks of a step share it.
        if !(begin..end).all(|block| self.verified.has(block)) && self.are_crcs_resident(begin) {
            let checked = self.check(begin..end, BlockFetch::Resident);
            debug_assert!(checked.is_ok(), "an error is left to the read that needs the block");
        }
        begin
    }

    /// Whether the checksum of `block` can be used without reading the disk: the block of the CRC
    /// table that contains it is verified already, or is resident and valid.
    fn are_crcs_resident(&self, block: usize) -> bool {
        let index = block / CRCS_PER_BLOCK;
        let (Some(crcs), Some(map)) = (self.crc_table.get(index), &self.map) else { return false };
        if crcs.get().is_none() {
            let begin = self.body_bytes + index * BLOCK_BYTES;
            let bytes = map.bytes().get(begin..).and_then(|rest| rest.first_chunk());
            let Some(bytes) = bytes.filter(|_| map.is_resident(begin, BLOCK_BYTES)) else {
                return false;
            };
            if crc32fast::hash(bytes) != self.tail.roots[index] {
                return false;
            }
            crcs.get_or_init(|| Box::new(*bytes));
        }
        true
    }

    /// Reads consecutive blocks from the disk and verifies them.
    pub(super) fn fetch(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.read_disk(bytes, wide(first * BLOCK_BYTES))?;
        let blocks = bytes.chunks_exact(BLOCK_BYTES);
        (first..).zip(blocks).try_for_each(|(block, bytes)| self.check_block(block, bytes))
    }

    /// Compares the bytes of a block with its checksum.
    fn check_block(&self, block: usize, bytes: &[u8]) -> Result<()> {
        let index = block / CRCS_PER_BLOCK;
        let crcs = if let Some(crcs) = self.crc_table[index].get() {
            crcs
        } else {
            let fetched = self.fetch_crcs(index)?;
            self.crc_table[index].get_or_init(|| fetched)
        };
        let at = block % CRCS_PER_BLOCK * 4;
        if crcs[at..at + 4] != crc32fast::hash(bytes).to_le_bytes() {
            return Err(self.corrupt(wide(block * BLOCK_BYTES), "block checksum does not match"));
        }
        Ok(())
    }

    /// Reads a block of the CRC table from the disk and verifies it.
    pub(super) fn fetch_crcs(&self, index: usize) -> Result<Box<Block>> {
        let mut bytes = Box::new([0; BLOCK_BYTES]);
        let offset = self.body_bytes + index * BLOCK_BYTES;
        self.read_disk(&mut *bytes, wide(offset))?;
        if crc32fast::hash(&*bytes) != self.tail.roots[index] {
            return Err(
                self.corrupt(wide(offset), "checksum of a block of checksums does not match")
            );
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
