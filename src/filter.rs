//! A filter over the small sources of an index: tells by one cache line which of them may contain a
//! BandKey, however many they are.
//!
//! A Bloom filter in blocks of a cache line (Putze, Sanders, Singler, "Cache-, hash- and
//! space-efficient Bloom filters", 2007), for several sources side by side. A block has one word
//! per *column*, and a source (a segment, or the memtable) owns a column or several. Entering a key
//! sets a pattern of bits in one word of one block; a query compares the pattern with all words of
//! that block. A column never denies a key that was entered.
//!
//! Readers need no lock: a word has one writer at a time, a key is entered before its document is
//! visible, and a column is cleared only after the last holder of its [`Columns`] is gone. The
//! atomics need no order of their own, because whatever makes the document visible orders them.

use crate::format::bytes::wide;
use crate::storage::prefetch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A column has at least this many bits per key, unless it is over-full: about one in seventy keys
/// that were not entered then seems to be there.
const BITS_PER_KEY_MIN: u64 = 10;
/// A column may be over-full by this factor, in eighths, so that a source need not take another.
const EXCESS_EIGHTHS: u64 = 10;
/// Number of bits in a pattern.
const PATTERN_BITS: u32 = 5;
/// The patterns are these, rotated.
const PATTERNS: [u64; 64] = patterns();

/// A set of columns: one bit for each.
pub(crate) type ColumnBits = u8;

/// The filter of an index.
#[derive(Debug)]
pub(crate) struct BandFilter {
    blocks: Vec<FilterLine>,
    /// An odd number. Anyone can compute BandKeys, but not which of them share a block.
    secret: u64,
    /// The columns that no source owns.
    free: AtomicU8,
}

/// A cache line: one word per column.
#[derive(Debug)]
#[repr(align(64))]
struct FilterLine([AtomicU64; 8]);

/// The columns of a source. Free again when the last holder is gone.
#[derive(Debug)]
pub(crate) struct Columns {
    filter: Arc<BandFilter>,
    bits: ColumnBits,
}

impl BandFilter {
    /// An empty filter of about this size.
    pub(crate) fn new(bytes: usize, random: u64) -> Self {
        let block = || FilterLine(std::array::from_fn(|_| AtomicU64::new(0)));
        let blocks = (bytes / size_of::<FilterLine>()).max(1);
        let blocks = std::iter::repeat_with(block).take(blocks).collect();
        Self { blocks, secret: random | 1, free: AtomicU8::new(ColumnBits::MAX) }
    }

    /// Memory of the filter in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<FilterLine>()
    }

    /// Number of columns that no source owns.
    pub(crate) fn free(&self) -> u32 {
        self.free.load(Ordering::Relaxed).count_ones()
    }

    /// Number of columns that so many keys take.
    pub(crate) fn columns_for(&self, keys: u64) -> u32 {
        let most = wide(self.blocks.len()) * 64 / BITS_PER_KEY_MIN * EXCESS_EIGHTHS / 8;
        u32::try_from(keys.div_ceil(most.max(1)).max(1)).unwrap_or(u32::MAX)
    }

    /// Prefetches what [`BandFilter::columns_of`] reads.
    #[inline]
    pub(crate) fn ask_for(&self, key: u64) {
        prefetch(self.block(self.hash(key)));
    }

    /// The columns that may contain this key. A column that contains it is always among them.
    #[inline]
    pub(crate) fn columns_of(&self, key: u64) -> ColumnBits {
        let hash = self.hash(key);
        let (FilterLine(words), pattern) = (self.block(hash), pattern(hash));
        let mut columns = 0;
        for (column, word) in words.iter().enumerate() {
            let is_there = word.load(Ordering::Relaxed) & pattern == pattern;
            columns |= ColumnBits::from(is_there) << column;
        }
        columns
    }

    /// Takes this many free columns, and clears them. `None` if there are fewer.
    pub(crate) fn take(self: &Arc<Self>, count: u32) -> Option<Arc<Columns>> {
        let chosen = |mut bits: ColumnBits| {
            while bits.count_ones() > count {
                bits &= bits - 1;
            }
            bits
        };
        let rest = |free: ColumnBits| (free.count_ones() >= count).then(|| free & !chosen(free));
        // `Acquire`: the last reader of a freed column is done before the column is cleared.
        let free = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, rest).ok()?;
        let columns = Columns { filter: Arc::clone(self), bits: chosen(free) };
        for FilterLine(words) in &self.blocks {
            for (column, word) in words.iter().enumerate() {
                if columns.bits >> column & 1 != 0 {
                    word.store(0, Ordering::Relaxed);
                }
            }
        }
        Some(Arc::new(columns))
    }

    #[inline]
    fn hash(&self, key: u64) -> u64 {
        key.wrapping_mul(self.secret)
    }

    /// The block that the high half of a hash selects.
    #[inline]
    fn block(&self, hash: u64) -> &FilterLine {
        &self.blocks[index_of(((hash >> 32) * wide(self.blocks.len())) >> 32)]
    }
}

impl Columns {
    /// The filter, and the columns.
    #[inline]
    pub(crate) fn parts(&self) -> (&BandFilter, ColumnBits) {
        (&self.filter, self.bits)
    }

    /// Number of columns.
    pub(crate) fn count(&self) -> u32 {
        self.bits.count_ones()
    }

    /// Enters keys into one of the columns. Only one thread may do so.
    pub(crate) fn enter(&self, nth: u32, keys: impl Iterator<Item = u64>) {
        let mut bits = self.bits;
        for _ in 0..nth {
            bits &= bits - 1;
        }
        let column = index_of(bits.trailing_zeros().into());
        for key in keys {
            let hash = self.filter.hash(key);
            let word = &self.filter.block(hash).0[column % 8];
            word.store(word.load(Ordering::Relaxed) | pattern(hash), Ordering::Relaxed);
        }
    }
}

impl Drop for Columns {
    fn drop(&mut self) {
        self.filter.free.fetch_or(self.bits, Ordering::Release);
    }
}

/// The pattern that the lowest 12 bits of a hash select.
#[inline]
fn pattern(hash: u64) -> u64 {
    let [low, high, ..] = hash.to_le_bytes();
    PATTERNS[usize::from(low % 64)].rotate_left(u32::from(low / 64) + 4 * u32::from(high % 16))
}

/// Random words of `PATTERN_BITS` bits.
const fn patterns() -> [u64; 64] {
    let (mut all, mut at, mut state) = ([0_u64; 64], 0, 1_u64);
    while at < all.len() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        all[at] |= 1 << (state >> 58);
        if all[at].count_ones() == PATTERN_BITS {
            at += 1;
        }
    }
    all
}

#[inline]
fn index_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(seed: u64, count: usize) -> Vec<u64> {
        let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_filter_finds_all_entered_keys_and_few_others() {
        // The last one is far too small for its keys.
        for (bytes, count) in [(64 << 10, 52_000), (64, 48), (1, 3_000)] {
            let filter = Arc::new(BandFilter::new(bytes, 9));
            let held: Vec<_> = (0..8).map(|_| filter.take(1).expect("free")).collect();
            assert!(filter.free() == 0 && filter.take(1).is_none());
            for (nth, columns) in (0..).zip(&held) {
                columns.enter(0, keys(nth, count / 8).into_iter());
            }
            for (nth, columns) in (0..).zip(&held) {
                let found = |key: &u64| filter.columns_of(*key) & columns.bits == columns.bits;
                assert!(keys(nth, count / 8).iter().all(found), "{bytes} {count} {nth}");
            }
            if bytes > 64 {
                let others = keys(99, 10_000);
                let wrong: u32 =
                    others.iter().map(|key| filter.columns_of(*key).count_ones()).sum();
                assert!(wrong > 0 && wrong < 80_000 / 50, "{wrong} of 80,000");
            }
        }
    }

    #[test]
    fn columns_that_are_free_again_are_empty_when_they_are_taken() {
        let filter = Arc::new(BandFilter::new(4 << 10, 7));
        let most = 64 * 64 / BITS_PER_KEY_MIN * EXCESS_EIGHTHS / 8;
        assert_eq!([1, most, most + 1, 3 * most].map(|n| filter.columns_for(n)), [1, 1, 2, 3]);
        let (one, three) = (filter.take(1).expect("free"), filter.take(3).expect("free"));
        assert!(filter.take(5).is_none() && filter.free() == 4 && three.count() == 3);
        one.enter(0, keys(1, 300).into_iter());
        (0..3).for_each(|nth| three.enter(nth, keys(2 + u64::from(nth), 300).into_iter()));
        // The columns in which all keys of this seed are.
        let of = |seed, bits| {
            keys(seed, 300).into_iter().fold(bits, |all, key| all & filter.columns_of(key))
        };
        assert_eq!((2..5).fold(0, |all, seed| all | of(seed, three.bits)), three.bits);
        let freed = three.bits;
        drop(three);
        assert_eq!(filter.free(), 7);
        let all = filter.take(7).expect("free");
        assert_eq!(all.bits & freed, freed);
        let is_empty = |key: u64| filter.columns_of(key) & all.bits == 0;
        assert!((2..5).flat_map(|seed| keys(seed, 300)).all(is_empty));
        assert_eq!(of(1, one.bits), one.bits, "the other column is as it was");
    }

    #[test]
    fn patterns_differ() {
        let mut all: Vec<u64> = (0..1 << 12).map(pattern).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 4_000, "{}", all.len());
        assert!(all.iter().all(|pattern| pattern.count_ones() == PATTERN_BITS));
    }
}
