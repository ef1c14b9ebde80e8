//! A hash table of ordinals: from a hash to the documents that have it, newest first.
//!
//! Knows no document. Two hashes may look the same to it: the caller compares the bytes.

use crate::format::bytes::index;
use crate::storage::Map;

/// No document: ordinals stop short of all ones.
const NONE: u32 = u32::MAX;
/// The least size: 2^6 buckets.
const BITS_MIN: u32 = 6;
/// The largest: ordinals then take all bits but one.
const BITS_MAX: u32 = 31;

/// Buckets with a chain each. An entry of 32 bits is the ordinal of a document in its low `bits`
/// bits and the part of its hash that the bucket does not tell in the others, so that a chain is
/// walked without looking at any document, and the table grows without hashing anything again.
#[derive(Debug)]
pub(super) struct Table {
    /// There are 2^bits buckets; a bucket is the first `bits` bits of a hash of 32.
    bits: u32,
    /// By bucket: its newest document. Empty until the first document.
    heads: Vec<u32>,
    /// By document: the next older one in its bucket.
    older: Vec<u32>,
}

/// A place in the chain of a hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    /// What the hash's entries look like, but for the ordinal.
    wanted: u32,
    entry: u32,
}

impl Table {
    /// An empty table that takes no memory yet; later, enough for `documents` at once.
    pub(super) fn for_documents(documents: u32) -> Self {
        let bits = documents.max(1).ilog2() + 1;
        Self { bits: bits.clamp(BITS_MIN, BITS_MAX), heads: Vec::new(), older: Vec::new() }
    }

    /// Takes over the memory of another, none of what is in it.
    pub(super) fn reuse(&mut self, mut old: Self) {
        old.heads.clear();
        old.older.clear();
        (self.heads, self.older) = (old.heads, old.older);
    }

    /// Whether there is no room for this many more documents.
    pub(super) fn is_full_for(&self, count: usize) -> bool {
        // All ones is `NONE`: so the last ordinal of this width is not given.
        self.older.len() + count >= 1 << self.bits
    }

    /// Doubles the buckets.
    pub(super) fn grow(&mut self) {
        assert!(self.bits < BITS_MAX, "a memtable is flushed long before it holds 2^31 documents");
        let (old_bits, heads) = (self.bits, std::mem::take(&mut self.heads));
        self.bits += 1;
        if heads.is_empty() {
            return;
        }
        self.heads = vec![NONE; 1 << self.bits];
        for (bucket, head) in (0_u32..).zip(heads) {
            // The ends of the two chains that this one becomes, newest first as before.
            let mut ends: [Option<usize>; 2] = [None; 2];
            let mut entry = head;
            while entry != NONE {
                let ordinal = entry & ((1 << old_bits) - 1);
                let hash = bucket << (32 - old_bits) | entry >> old_bits;
                entry = std::mem::replace(&mut self.older[index(ordinal)], NONE);
                let moved = self.entry(hash, ordinal);
                let new_bucket = self.bucket(hash);
                match ends[new_bucket % 2].replace(index(ordinal)) {
                    None => self.heads[new_bucket] = moved,
                    Some(end) => self.older[end] = moved,
                }
            }
        }
    }

    /// Adds the next document.
    #[inline]
    pub(super) fn push(&mut self, hash: u32) {
        if self.heads.is_empty() {
            self.heads.resize(1 << self.bits, NONE);
            self.older.reserve(1 << self.bits);
        }
        let ordinal = u32::try_from(self.older.len()).unwrap_or(NONE);
        let entry = self.entry(hash, ordinal);
        let bucket = self.bucket(hash);
        self.older.push(std::mem::replace(&mut self.heads[bucket], entry));
    }

    /// Asks the memory for what `push` will change.
    #[inline]
    pub(super) fn ask_for(&self, hash: u32) {
        if let Some(head) = self.heads.get(self.bucket(hash)) {
            Map::prefetch(head);
        }
    }

    /// The documents whose hash is this one, newest first.
    #[inline]
    pub(super) fn documents(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let mut chain = self.chain(hash);
        std::iter::from_fn(move || {
            while let Some((ordinal, has_it)) = self.at(chain) {
                self.go_on(&mut chain);
                if has_it {
                    return Some(ordinal);
                }
            }
            None
        })
    }

    /// The chain of a hash, at its newest document.
    #[inline]
    pub(super) fn chain(&self, hash: u32) -> Chain {
        let entry = self.heads.get(self.bucket(hash)).copied().unwrap_or(NONE);
        Chain { wanted: self.entry(hash, 0), entry }
    }

    /// The document that a chain is at, if it is not at its end, and whether it has the hash.
    #[inline]
    pub(super) fn at(&self, chain: Chain) -> Option<(u32, bool)> {
        let mask = (1 << self.bits) - 1;
        let has_it = chain.entry & !mask == chain.wanted;
        (chain.entry != NONE).then_some((chain.entry & mask, has_it))
    }

    /// Goes on to the next older document.
    #[inline]
    pub(super) fn go_on(&self, chain: &mut Chain) {
        if let Some((ordinal, _)) = self.at(*chain) {
            chain.entry = self.older[index(ordinal)];
        }
    }

    /// Documents entered.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.older.len()).unwrap_or(u32::MAX)
    }

    /// Memory taken.
    pub(super) fn bytes(&self) -> usize {
        (self.heads.len() + self.older.len()) * size_of::<u32>()
    }

    fn bucket(&self, hash: u32) -> usize {
        index(hash >> (32 - self.bits))
    }

    fn entry(&self, hash: u32, ordinal: u32) -> u32 {
        hash << self.bits | ordinal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_table_keeps_the_order_of_its_documents() {
        let mut table = Table::for_documents(0);
        assert_eq!((table.bytes(), table.documents(5).count()), (0, 0));
        // Few hashes, spread over all bits, many documents each; and their neighbours.
        let hash = |ordinal: u32| (ordinal % 97).wrapping_mul(0x9e37_79b9) ^ (ordinal % 3);
        for ordinal in 0..20_000 {
            if table.is_full_for(1) {
                table.grow();
            }
            table.push(hash(ordinal));
        }
        for wanted in (0..300).map(hash) {
            let expected: Vec<u32> = (0..20_000).rev().filter(|at| hash(*at) == wanted).collect();
            let found: Vec<u32> = table.documents(wanted).collect();
            assert_eq!(found, expected, "of {wanted:x}");
        }
        assert!(table.bytes() <= 20_000 * 4 + (4 << 15), "{}", table.bytes());
    }

    #[test]
    fn room_is_there_for_what_was_announced() {
        for documents in [1, 63, 64, 1_000, 65_535, 65_536] {
            let table = Table::for_documents(documents);
            assert!(!table.is_full_for(documents as usize), "{documents}");
            assert!(table.is_full_for(documents as usize * 2 + 64), "{documents}");
        }
    }
}
