//! Leaves common shingles out of the windows of a text.

use super::hash::finalise;
use crate::Common;

/// Number of bits of the filter: eight times as many as a list has hashes at most.
const FILTER_BITS: u32 = 16;

/// A list of common shingles, for fast lookup.
#[derive(Debug)]
pub(crate) struct CommonSet {
    /// A bit for the high bits of each hash: most shingles of a text need no search.
    filter: [u64; 1 << (FILTER_BITS - 6)],
    list: Common,
}

impl CommonSet {
    pub(crate) fn new(list: &Common) -> Self {
        let mut filter = [0; 1 << (FILTER_BITS - 6)];
        for hash in list.hashes() {
            let (word, bit) = place(*hash);
            filter[word] |= bit;
        }
        Self { filter, list: list.clone() }
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        let (word, bit) = place(hash);
        self.filter[word] & bit != 0 && self.list.hashes().binary_search(&hash).is_ok()
    }

    /// Drops the window sums of common shingles, unless there are no others.
    #[inline(never)]
    pub(crate) fn drop_from(&self, sums: &mut Vec<u64>) {
        let is_other = |sum: &u64| !self.contains(finalise(*sum));
        if sums.iter().any(is_other) {
            sums.retain(is_other);
        }
    }
}

/// The word and the bit of the filter for a hash.
fn place(hash: u64) -> (usize, u64) {
    let word = hash >> (64 - FILTER_BITS + 6);
    (usize::try_from(word).unwrap_or_default(), 1 << (hash >> (64 - FILTER_BITS) & 63))
}
