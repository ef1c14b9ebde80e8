//! A hash table of ordinals: from a hash to the documents that have it, newest first.
//!
//! Knows no document. Two hashes may look the same to it: the caller compares the bytes.

use crate::format::bytes::index;
use crate::storage::Map;
use crate::sync::atomic::{AtomicU32, Ordering};

/// No document: ordinals stop short of all ones.
const NONE: u32 = u32::MAX;
/// The least size: 2^6 buckets. (The schedule explorer's grow at once.)
const BITS_MIN: u32 = if cfg!(shuttle) { 1 } else { 6 };
/// The largest: ordinals then take all bits but one.
const BITS_MAX: u32 = 31;

/// With fewer documents than this, a table that grows is made twice as large as it must be.
const SMALL_DOCS: usize = if cfg!(test) { 128 } else { 8 * 1024 };

/// Room is made for as many documents at least: a page.
const ROOM_MIN: usize = if cfg!(test) { 2 } else { 1024 };

/// Buckets with a chain each. An entry of 32 bits is the ordinal of a document in its low `bits`
/// bits and the part of its hash that the bucket does not tell in the others, so that a chain is
/// walked without looking at any document, and the table grows without hashing anything again.
///
/// One writer enters documents while others read: an entry is told (`Release`) after what it leads
/// to, and who comes upon it (`Acquire`) finds that. Room is made before, by who has the table
/// alone; there is none for more than 2^bits - 1 documents: then another takes its place.
#[derive(Debug)]
pub(super) struct Table {
    /// There are 2^bits buckets; a bucket is the first `bits` bits of a hash of 32.
    bits: u32,
    /// By bucket: its newest document. Empty while there is no room for any.
    heads: Vec<AtomicU32>,
    /// By document: the next older one in its bucket. So many may be entered.
    older: Vec<AtomicU32>,
    /// Documents entered: those before it are in their chains.
    entered: AtomicU32,
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
        let (heads, older, entered) = (Vec::new(), Vec::new(), AtomicU32::new(0));
        Self { bits: bits.clamp(BITS_MIN, BITS_MAX), heads, older, entered }
    }

    /// An empty one as large as this, in the memory of another.
    pub(super) fn in_memory_of(&self, old: Self) -> Self {
        let entered = AtomicU32::new(0);
        let mut empty = Self { bits: self.bits, heads: old.heads, older: old.older, entered };
        empty.older.clear();
        empty.lay_out();
        empty
    }

    /// Makes all buckets empty.
    fn lay_out(&mut self) {
        self.heads.clear();
        self.heads.resize_with(1 << self.bits, || AtomicU32::new(NONE));
        // Memory that nobody has used costs nothing.
        self.older.reserve((1 << self.bits) - self.older.len());
    }

    /// Whether there is room for this many more documents.
    pub(super) fn has_room_for(&self, count: usize) -> bool {
        !self.heads.is_empty() && index(self.count()) + count <= self.older.len()
    }

    /// Makes room for this many more documents; false where another has to take its place.
    pub(super) fn make_room(&mut self, count: usize) -> bool {
        let needed = index(self.count()) + count;
        // All ones is `NONE`: so the last ordinal of this width is not given.
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

    /// One with the same entries, that can make room for this many more documents.
    pub(super) fn enlarged(&self, count: usize) -> Self {
        let entered = self.count();
        let needed = index(entered) + count;
        // A small one is likely to grow again.
        let bits = needed.max(1).ilog2() + 1 + u32::from(entered > 0 && needed < SMALL_DOCS);
        assert!(bits <= BITS_MAX, "a memtable is flushed long before it holds 2^31 documents");
        let older = (0..entered).map(|_| AtomicU32::new(NONE)).collect();
        let (bits, entered) = (bits.max(self.bits), AtomicU32::new(entered));
        let mut enlarged = Self { bits, heads: Vec::new(), older, entered };
        enlarged.lay_out();
        // The hash of each document, from where it lies; then the oldest first, as they came.
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

    /// Enters the next documents, by their hashes; room was made for them. By one writer only.
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

    /// Asks the memory for what `enter` will change.
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
        let head = self.heads.get(self.bucket(hash));
        let entry = head.map_or(NONE, |head| head.load(Ordering::Acquire));
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
            chain.entry = self.older[index(ordinal)].load(Ordering::Relaxed);
        }
    }

    /// Documents entered.
    pub(super) fn count(&self) -> u32 {
        self.entered.load(Ordering::Acquire)
    }

    /// Memory in use: none by one without room for a document, whatever it has taken over.
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
