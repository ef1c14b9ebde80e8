//! What of a mapped block file was checked before, as memory: the fast half of every read.
//!
//! Believes nothing that was not checked and knows no disk: where this has nothing, reads go
//! through [`BlockFile`](super::blocks::BlockFile), which checks first, or says what is wrong.

use crate::format::blocks::BLOCK_BYTES;
use crate::storage::Map;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Which blocks of a body were read and right, each at least once since open.
///
/// All is relaxed: a bit, and that none is missing, says only that the bytes of an immutable file
/// were right once.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<AtomicU64>,
    /// How many blocks are not.
    missing: AtomicUsize,
}

impl Bits {
    /// For so many blocks, none of which was checked.
    pub(super) fn new(blocks: usize) -> Self {
        Self { words: words(blocks), missing: AtomicUsize::new(blocks) }
    }

    /// Whether a block was: none is that the body does not have.
    #[inline]
    pub(super) fn has(&self, block: usize) -> bool {
        is_set(&self.words, block)
    }

    /// Notes that blocks of the body were. Few writes, for who reads beside it waits for each.
    pub(super) fn set(&self, blocks: impl Iterator<Item = usize>) {
        let mut new = 0;
        for block in blocks {
            let bit = 1 << (block % 64);
            let before = self.words[block / 64].fetch_or(bit, Ordering::Relaxed);
            new += usize::from(before & bit == 0);
        }
        if new > 0 {
            self.missing.fetch_sub(new, Ordering::Relaxed);
        }
    }

    /// Whether any was not.
    #[inline]
    pub(super) fn any_missing(&self) -> bool {
        self.missing.load(Ordering::Relaxed) > 0
    }
}

/// The body of a map and which of its blocks were checked. Taken once for a run of reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checked<'a> {
    /// Nothing where there is no map.
    body: &'a [u8],
    /// None once all were: then it is memory like any other, and most files soon come to that.
    bits: Option<&'a [AtomicU64]>,
}

impl<'a> Checked<'a> {
    /// `body` is the mapped body that the bits are of, or nothing.
    #[inline]
    pub(super) fn new(body: &'a [u8], bits: &'a Bits) -> Self {
        Self { body, bits: bits.any_missing().then_some(&bits.words) }
    }

    /// Whether all of the body was: then whatever lies in it can be had.
    #[inline]
    pub(super) fn is_all(self) -> bool {
        self.bits.is_none() && !self.body.is_empty()
    }

    /// These bytes, if they were checked; until all were, if they lie in one block. (Across two of
    /// them is rare enough to be left to the slow way, which looks at both.)
    #[inline]
    pub(super) fn bytes(self, offset: u64, count: usize) -> Option<&'a [u8]> {
        let begin = usize::try_from(offset).ok()?;
        self.are_checked(begin, || count).then_some(())?;
        self.body.get(begin..)?.get(..count)
    }

    /// As [`Checked::bytes`], for a few of them.
    #[inline]
    pub(super) fn array<const N: usize>(self, offset: u64) -> Option<&'a [u8; N]> {
        let begin = usize::try_from(offset).ok()?;
        self.are_checked(begin, || N).then_some(())?;
        self.body.get(begin..)?.first_chunk()
    }

    /// Asks the memory for the line of this byte, checked or not: nothing is read of it.
    #[inline]
    pub(super) fn ask_for(self, offset: u64) {
        if let Some(byte) = self.body.get(usize::try_from(offset).unwrap_or(usize::MAX)) {
            Map::prefetch(byte);
        }
    }

    /// Whether so many bytes from here on were checked, as far as the body has them.
    #[inline]
    fn are_checked(self, begin: usize, count: impl FnOnce() -> usize) -> bool {
        let Some(bits) = self.bits else { return true };
        let fits = count() <= BLOCK_BYTES - begin % BLOCK_BYTES;
        fits && is_set(bits, begin / BLOCK_BYTES)
    }
}

/// A bit for each block, none set.
pub(super) fn words(blocks: usize) -> Vec<AtomicU64> {
    (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// Whether the bit of a block is set; of one that has none, it is not.
#[inline]
pub(super) fn is_set(bits: &[AtomicU64], block: usize) -> bool {
    let word = bits.get(block / 64);
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none_are_looked_at(bits: &Bits, body: &[u8]) -> bool {
        Checked::new(body, bits).bits.is_none()
    }

    #[test]
    fn the_bits_are_looked_at_until_each_is_set() {
        for blocks in [0, 1, 63, 64, 65, 200] {
            let body = vec![7; blocks * BLOCK_BYTES];
            let bits = Bits::new(blocks);
            for block in 0..blocks {
                assert!(!none_are_looked_at(&bits, &body) && !bits.has(block));
                assert!(
                    Checked::new(&body, &bits).bytes((block * BLOCK_BYTES) as u64, 1).is_none()
                );
                // Twice, alone and with one that was set before.
                bits.set([block, block].into_iter());
                bits.set([0, block].into_iter());
                assert!(bits.has(block));
                assert!(
                    Checked::new(&body, &bits).bytes((block * BLOCK_BYTES) as u64, 1).is_some()
                );
            }
            assert!(none_are_looked_at(&bits, &body), "{blocks} blocks");
            let beyond = (blocks * BLOCK_BYTES) as u64;
            assert_eq!(Checked::new(&body, &bits).bytes(beyond, 1), None);
            assert!(!bits.has(blocks) && !bits.has(blocks + 64));
        }
    }

    #[test]
    fn nothing_is_had_that_was_not_checked() {
        let body: Vec<u8> = (0..=250_u8).cycle().take(3 * BLOCK_BYTES).collect();
        for set in 0..8 {
            let bits = Bits::new(3);
            bits.set((0..3).filter(|block| set >> block & 1 == 1));
            let checked = Checked::new(&body, &bits);
            let had = |from: usize, to: usize| {
                let block = from / BLOCK_BYTES;
                let alone = block == (to - 1) / BLOCK_BYTES && set >> block & 1 == 1;
                (set == 7 || alone).then(|| body.get(from..to)).flatten()
            };
            for block in 0..=3 {
                for begin in (block * BLOCK_BYTES).saturating_sub(70)..block * BLOCK_BYTES + 70 {
                    let at = begin as u64;
                    assert_eq!(
                        checked.array::<8>(at).map(|array| &array[..]),
                        had(begin, begin + 8)
                    );
                    for count in [1, 2, 31, 32, 33, 64] {
                        assert_eq!(checked.bytes(at, count), had(begin, begin + count));
                    }
                }
            }
            for count in [1, 4, 32, usize::MAX] {
                assert_eq!(checked.bytes(u64::MAX - 8, count), None);
            }
        }
    }

    #[test]
    fn threads_that_set_the_same_bits_count_each_once() {
        for _ in 0..200 {
            let bits = Bits::new(100);
            std::thread::scope(|scope| {
                scope.spawn(|| (0..99).for_each(|block| bits.set([block].into_iter())));
                scope.spawn(|| bits.set((0..99).rev()));
            });
            assert!(bits.any_missing());
            bits.set([99].into_iter());
            assert!(!bits.any_missing());
        }
    }
}
