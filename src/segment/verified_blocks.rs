//! The set of verified blocks of a file.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Where the bytes of a block to verify may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockFetch {
    /// From memory or the disk. An unreadable or damaged block is an error.
    Wait,
    /// From memory only. A block that is not resident or is damaged stays unverified, and a later
    /// read returns the error.
    Resident,
}

/// One bit per block, set once the block was verified after opening.
///
/// All atomics are relaxed: a set bit only says that bytes of an immutable file were valid once.
#[derive(Debug)]
pub(super) struct VerifiedBlocks {
    words: Vec<AtomicU64>,
    /// Number of unverified blocks.
    missing: AtomicUsize,
}

impl VerifiedBlocks {
    pub(super) fn new(blocks: usize) -> Self {
        let words = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { words, missing: AtomicUsize::new(blocks) }
    }

    /// Whether a block was verified. False for blocks beyond the body.
    #[inline]
    pub(super) fn has(&self, block: usize) -> bool {
        let word = self.words.get(block / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
    }

    /// Records that a block was verified.
    pub(super) fn set(&self, block: usize) {
        let bit = 1 << (block % 64);
        if self.words[block / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.missing.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn any_missing(&self) -> bool {
        self.missing.load(Ordering::Relaxed) > 0
    }
}
