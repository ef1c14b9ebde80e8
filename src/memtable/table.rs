//! A concurrent hash table that maps a hash to the ordinals of its documents, newest first.
//!
//! It compares only part of the hash, so the caller must compare the documents.

use crate::format::bytes::index;
use crate::storage::prefetch;
use crate::sync::atomic::{AtomicU32, Ordering};

/// End of a chain. No entry has this value.
const NONE: u32 = u32::MAX;
/// Minimum size: 2^6 buckets. (Smaller under the schedule explorer, so that tables grow
/// immediately.)
const BITS_MIN: u32 = if cfg!(shuttle) { 1 } else { 6 };
/// Maximum size: 2^31 buckets. The ordinal then takes all but one of the 32 bits of an entry.
const BITS_MAX: u32 = 31;

/// A table with fewer documents than this is enlarged to twice the size that it needs.
const SMALL_DOCS: usize = small!(table::SMALL_DOCS, 8 * 1024);

/// Minimum capacity added at a time: a page of entries.
const ROOM_MIN: usize = small!(table::ROOM_MIN, 1024);

/// Chained buckets. The low `bits` bits of a 32-bit entry are the ordinal of a document; the other
/// bits are the part of its hash that the bucket does not imply. So walking a chain reads no
/// document, and growing the table rehashes no document.
///
/// One writer enters documents while others read: an entry is published (`Release`) after the data
/// it points to, and readers load it with `Acquire`. Capacity is added beforehand, with exclusive
/// access. A table with 2^bits - 1 documents is full and must be replaced by a larger one.
#[derive(Debug)]
pub(super) struct Table {
    /// There are 2^bits buckets: the bucket is the first `bits` bits of the 32-bit hash.
    bits: u32,
    /// For each bucket, the entry of its newest document. The vector is empty until capacity is
    /// added.
    heads: Vec<AtomicU32>,
    /// For each document, the next older document in its bucket. The length is the capacity.
    older: Vec<AtomicU32>,
    /// Number of documents entered.
    entered: AtomicU32,
}

/// A cursor in the chain of a hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    /// The part of the hash that matching entries contain.
    wanted: u32,
    entry: u32,
}

impl Table {
    /// An empty table. It allocates memory only when it is first used, then enough for `documents`.
    pub(super) fn for_documents(documents: u32) -> Self {
        let bits = documents.max(1).ilog2() + 1;
        let (heads, older, entered) = (Vec::new(), Vec::new(), AtomicU32::new(0));
        Self { bits: bits.clamp(BITS_MIN, BITS_MAX), heads, older, entered }
    }

    /// An empty table of the same size that reuses the buffers of `old`.
    pub(super) fn in_memory_of(&self, old: Self) -> Self {
        let entered = AtomicU32::new(0);
        let mut empty = Self { bits: self.bits, heads: old.heads, older: old.older, entered };
        empty.older.clear();
        empty.lay_out();
        empty
    }

    /// Empties all buckets.
    fn lay_out(&mut self) {
        self.heads.clear();
        self.heads.resize_with(1 << self.bits, || AtomicU32::new(NONE));
        // Reserved memory costs nothing until it is used.
        self.older.reserve((1 << self.bits) - self.older.len());
    }

    /// Whether `count` more documents fit.
    pub(super) fn has_room_for(&self, count: usize) -> bool {
        !self.heads.is_empty() && index(self.count()) + count <= self.older.len()
    }

    /// Adds capacity for `count` more documents. Returns false if a larger table is needed.
    pub(super) fn make_room(&mut self, count: usize) -> bool {
        let needed = index(self.count()) + count;
        // The last ordinal of this width is not used: with it, an entry could equal `NONE`.
        let most = (1 << self.bits) - 1;
        if self.heads.is_empty() || needed > most {
            return false;
        }
        if needed > self.older.len() {
            let room = needed.max(self.older.len() + ROOM_MIN).min(most);
            self.older.resize_with(room, || AtomicU32::new(NONE));
        }
        true
    }

    /// A larger table with the same entries, which can hold `count` more documents.
    pub(super) fn enlarged(&self, count: usize) -> Self {
        let entered = self.count();
        let needed = index(entered) + count;
        // A small table that already contains documents is likely to grow again.
        let bits = needed.max(1).ilog2() + 1 + u32::from(entered > 0 && needed < SMALL_DOCS);
        assert!(bits <= BITS_MAX, "a memtable is flushed long before it holds 2^31 documents");
        let older = (0..entered).map(|_| AtomicU32::new(NONE)).collect();
        let (bits, entered) = (bits.max(self.bits), AtomicU32::new(entered));
        let mut enlarged = Self { bits, heads: Vec::new(), older, entered };
        enlarged.lay_out();
        // Recovers the hash of each document from its bucket and entry, then enters the documents,
        // oldest first.
        let mut hashes = vec![0; enlarged.older.len()];
        for (bucket, head) in (0_u32..).zip(&self.heads) {
            let mut entry = head.load(Ordering::Acquire);
            while entry != NONE {
                let ordinal = index(entry & ((1 << self.bits) - 1));
                hashes[ordinal] = bucket << (32 - self.bits) | entry >> self.bits;
                entry = self.older[ordinal].load(Ordering::Relaxed);
            }
        }
        for (ordinal, hash) in (0..).zip(hashes) {
            enlarged.put(hash, ordinal);
        }
        enlarged
    }

    /// Enters the next documents by their hashes. Requires sufficient capacity and a single writer.
    #[inline]
    pub(super) fn enter(&self, hashes: impl Iterator<Item = u32>) {
        let mut ordinal = self.entered.load(Ordering::Relaxed);
        for hash in hashes {
            self.put(hash, ordinal);
            ordinal += 1;
        }
        self.entered.store(ordinal, Ordering::Release);
    }

    #[inline]
    fn put(&self, hash: u32, ordinal: u32) {
        let head = &self.heads[self.bucket(hash)];
        self.older[index(ordinal)].store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        head.store(self.entry(hash, ordinal), Ordering::Release);
    }

    /// Prefetches the head that `enter` will change.
    #[inline]
    pub(super) fn ask_for(&self, hash: u32) {
        if let Some(head) = self.heads.get(self.bucket(hash)) {
            prefetch(head);
        }
    }

    /// The documents with this hash, newest first.
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

    /// A cursor at the newest document of a hash.
    #[inline]
    pub(super) fn chain(&self, hash: u32) -> Chain {
        let head = self.heads.get(self.bucket(hash));
        let entry = head.map_or(NONE, |head| head.load(Ordering::Acquire));
        Chain { wanted: self.entry(hash, 0), entry }
    }

    /// The document at the cursor, and whether it has the cursor's hash. `None` at the end of the
    /// chain.
    #[inline]
    pub(super) fn at(&self, chain: Chain) -> Option<(u32, bool)> {
        let mask = (1 << self.bits) - 1;
        let has_it = chain.entry & !mask == chain.wanted;
        (chain.entry != NONE).then_some((chain.entry & mask, has_it))
    }

    /// Moves to the next older document.
    #[inline]
    pub(super) fn go_on(&self, chain: &mut Chain) {
        if let Some((ordinal, _)) = self.at(*chain) {
            chain.entry = self.older[index(ordinal)].load(Ordering::Relaxed);
        }
    }

    /// Number of documents entered.
    pub(super) fn count(&self) -> u32 {
        self.entered.load(Ordering::Acquire)
    }

    /// Memory usage in bytes. A table without capacity counts as 0, even if it reuses buffers.
    pub(super) fn bytes(&self) -> usize {
        match self.older.len() {
            0 => 0,
            room => (self.heads.len() + room) * size_of::<u32>(),
        }
    }

    fn bucket(&self, hash: u32) -> usize {
        index(hash >> (32 - self.bits))
    }

    fn entry(&self, hash: u32, ordinal: u32) -> u32 {
        hash << self.bits | ordinal
    }
}

/// A 32-bit hash that is unpredictable without the secret.
#[inline]
pub(super) fn mix(key: u64, secret: u64) -> u32 {
    // Multiply-shift with a secret odd number: the results for two keys agree in the first n bits
    // with a probability of at most 2^(1-n), even if an attacker chose the keys.
    let product = (key ^ secret.rotate_left(32)).wrapping_mul(secret | 1);
    u32::try_from(product >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_table_keeps_the_order_of_its_documents() {
        let mut table = Table::for_documents(0);
        assert_eq!((table.bytes(), table.documents(5).count()), (0, 0));
        // A few hundred hashes, spread over all 32 bits. Each belongs to many documents, and has
        // neighbours that differ only in the lowest two bits.
        let hash = |ordinal: u32| (ordinal % 97).wrapping_mul(0x9e37_79b9) ^ (ordinal % 3);
        for ordinal in 0..20_000 {
            if !table.has_room_for(1) && !table.make_room(1) {
                table = table.enlarged(1);
                assert!(table.make_room(1));
            }
            table.enter(std::iter::once(hash(ordinal)));
        }
        for wanted in (0..300).map(hash) {
            let expected: Vec<u32> = (0..20_000).rev().filter(|at| hash(*at) == wanted).collect();
            let found: Vec<u32> = table.documents(wanted).collect();
            assert_eq!(found, expected, "of {wanted:x}");
        }
        assert!(table.bytes() <= (20_000 + ROOM_MIN) * 4 + (4 << 15), "{}", table.bytes());
    }

    #[test]
    fn room_is_there_for_what_was_announced() {
        for documents in [1, 63, 64, 1_000, 65_535, 65_536] {
            let count = documents as usize;
            let empty = Table::for_documents(documents);
            assert!(!empty.has_room_for(1) && empty.bytes() == 0, "{documents}");
            let mut table = empty.enlarged(count);
            assert_eq!((table.bits, table.count(), table.bytes()), (empty.bits, 0, 0));
            assert!(!table.has_room_for(1) && table.make_room(count) && table.has_room_for(count));
            let more = 2 * count + 64;
            assert!(!table.has_room_for(more) && !table.make_room(more), "{documents}");
            assert!(table.enlarged(more).make_room(more), "{documents}");
        }
    }
}
