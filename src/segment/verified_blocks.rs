//! Which blocks of a file were verified. Knows numbers of blocks, and no file.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Where a block that is checked may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fetch {
    /// From the disk, too. A block that cannot be read or is wrong is an error.
    Wait,
    /// From memory only. A block that is not resident or is wrong stays unverified, and the read
    /// that needs it returns the error.
    Resident,
}

/// Which blocks of a body were read and right, each at least once since opening.
///
/// All is relaxed: a bit, and that none is missing, says only that the bytes of an immutable file
/// were right once.
#[derive(Debug)]
pub(super) struct VerifiedBlocks {
    words: Vec<AtomicU64>,
    /// How many blocks were not.
    missing: AtomicUsize,
}

impl VerifiedBlocks {
    pub(super) fn new(blocks: usize) -> Self {
        let words = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { words, missing: AtomicUsize::new(blocks) }
    }

    /// Whether a block was verified. A block that the body does not have was not.
    #[inline]
    pub(super) fn has(&self, block: usize) -> bool {
        let word = self.words.get(block / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
    }

    /// Notes that a block of the body was verified.
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
