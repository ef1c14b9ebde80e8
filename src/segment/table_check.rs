//! Checks bucket tables without recomputing them: one pass over the signatures and one over the
//! tables suffice.
//!
//! A table is right if its entries are in strict order, and if the set of its entries is the one
//! that follows from the signatures. The order is checked entry by entry. The sets are compared by
//! the sums of the hashes of their entries. The hash has a random key, which is drawn anew each
//! time, so that nobody can forge a file with the right sum. Two different sets have the same sum
//! with a probability of about 2^-64.

use super::reader::Segment;
use super::tables::{band_key, u16_of, u32_of, u64_of, word};
use super::watch::{CHUNK_BYTES, Watch, fresh};
use crate::Result;
use crate::format::bytes::{index, wide};
use std::hash::BuildHasher as _;

/// Number of entries of a table that are read together.
pub(super) const ENTRIES_PER_READ: usize = CHUNK_BYTES / 4;
/// An odd number with irregular bits. A product with it depends on all bits of the other factor.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of table entries under a random key.
#[derive(Debug, Clone, Copy)]
struct EntryHash([u64; 4]);

impl EntryHash {
    fn random() -> Self {
        let state = crate::keyed::RandomState::default();
        Self([0_u64, 1, 2, 3].map(|nth| state.hash_one(nth)))
    }

    /// The hash of an entry. `word` is its group and fingerprint.
    #[inline]
    fn hash_entry(self, word: u64, ordinal: u32) -> u64 {
        let Self([before, first, between, second]) = self;
        let folded = fold(word ^ before, first | 1);
        fold(folded ^ between ^ u64::from(ordinal).wrapping_mul(ODD), second | 1)
    }
}

/// Multiplies two words, and combines both halves of the 128-bit product by exclusive or.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = (u128::from(a) * u128::from(b)).to_le_bytes();
    u64_of(&product) ^ u64_of(&product[8..])
}

/// The sums that the tables of a segment must have.
#[derive(Debug)]
pub(super) struct ExpectedSums {
    hash: EntryHash,
    groups: u32,
    /// One sum per table; the last one is for the table of keys.
    sums: Vec<u64>,
}

impl ExpectedSums {
    pub(super) fn new(segment: &Segment) -> Self {
        let sums = vec![0; index(segment.properties.tables)];
        Self { hash: EntryHash::random(), groups: segment.groups, sums }
    }

    /// Adds the entries of consecutive documents to the sum of the table of keys. `first` is the
    /// ordinal of the first document; `hashes` are the hashes of the keys.
    pub(super) fn add_keys(&mut self, first: u32, hashes: &[u64]) {
        if let Some(sum) = self.sums.last_mut() {
            for (ordinal, &key) in (first..).zip(hashes) {
                *sum = sum.wrapping_add(self.hash.hash_entry(word(key, self.groups), ordinal));
            }
        }
    }

    /// Adds the entries that follow from all signatures to the sums of the band tables. After an
    /// error, which it reports to `watch`, it returns false.
    pub(super) fn add_signatures(
        &mut self,
        segment: &Segment,
        watch: &mut Watch<'_>,
    ) -> Result<bool> {
        let [signatures, ..] = &segment.layout.sections;
        let (stride, band_bytes) = (segment.shape.signature_bytes, segment.shape.band_bytes);
        let together = (CHUNK_BYTES / stride).max(1);
        let mut chunk = Vec::new();
        for first in (0..segment.docs()).step_by(together) {
            let count = together.min(index(segment.docs() - first));
            let at = signatures.offset + wide(index(first) * stride);
            if let Err(error) = fresh(segment, at, wide(count * stride), &mut chunk) {
                // These bytes were readable a moment ago: the disk is failing.
                (watch.problem)(error);
                return Ok(false);
            }
            for (band, sum) in self.sums.iter_mut().enumerate().take(segment.shape.bands) {
                let band = band * band_bytes..(band + 1) * band_bytes;
                for (ordinal, signature) in (first..).zip(chunk.chunks_exact(stride)) {
                    let key = band_key(&signature[band.clone()]);
                    *sum = sum.wrapping_add(self.hash.hash_entry(word(key, self.groups), ordinal));
                }
            }
            watch.progress(chunk.len())?;
        }
        Ok(true)
    }

    /// Whether a table is in order and has the expected sum. If not, the caller recomputes the
    /// table to find out where it is wrong.
    pub(super) fn is_right(
        &self,
        segment: &Segment,
        table: u32,
        watch: &mut Watch<'_>,
    ) -> Result<bool> {
        let mut walk = TableWalk::default();
        let (mut entries, mut directory) = (TableEntries::default(), Directory::new(table));
        let Some(mut ends) = directory.first(segment) else { return Ok(false) };
        for first in (0..segment.docs()).step_by(ENTRIES_PER_READ) {
            if entries.read(segment, table, first).is_err() {
                return Ok(false);
            }
            let end = first + entries.count();
            let mut at = first;
            while at < end {
                while ends <= at {
                    match directory.next(segment) {
                        Some(next) if next >= ends => ends = next,
                        _ => return Ok(false),
                    }
                    walk.last = 0;
                }
                let stop = ends.min(end);
                let part = index(at - first)..index(stop - first);
                walk.group(self.hash, directory.group, segment.docs(), entries.pairs(part));
                at = stop;
            }
            watch.progress(6 * index(entries.count()))?;
            if walk.is_disordered {
                return Ok(false);
            }
        }
        // Only empty groups may follow the last entry.
        while directory.group + 1 < segment.groups {
            if directory.next(segment) != Some(segment.docs()) {
                return Ok(false);
            }
        }
        Ok(ends == segment.docs() && self.sums.get(index(table)) == Some(&walk.sum))
    }
}

/// The state of checking one table, group by group.
#[derive(Debug, Default)]
struct TableWalk {
    sum: u64,
    /// The least position that the next entry of the group may have: the last fingerprint and
    /// ordinal in one word, plus one. 0 at the start of a group.
    last: u64,
    is_disordered: bool,
}

impl TableWalk {
    /// Checks the order of consecutive entries of one group, and adds their hashes to the sum.
    #[inline]
    fn group(
        &mut self,
        hash: EntryHash,
        group: u32,
        docs: u32,
        entries: impl Iterator<Item = (u16, u32)>,
    ) {
        let group = u64::from(group) << 16;
        let (mut sum, mut last, mut wrong) = (self.sum, self.last, false);
        for (fingerprint, ordinal) in entries {
            let place = u64::from(fingerprint) << 32 | u64::from(ordinal);
            wrong |= place < last || ordinal >= docs;
            last = place + 1;
            sum = sum.wrapping_add(hash.hash_entry(group | u64::from(fingerprint), ordinal));
        }
        (self.sum, self.last) = (sum, last);
        self.is_disordered |= wrong;
    }
}

/// Entries of a table as they were read from the disk.
#[derive(Debug, Default)]
pub(super) struct TableEntries {
    pub(super) fingerprints: Vec<u8>,
    pub(super) ordinals: Vec<u8>,
}

impl TableEntries {
    /// Reads entries from `first` on.
    pub(super) fn read(&mut self, segment: &Segment, table: u32, first: u32) -> Result<()> {
        let layout = &segment.layout;
        let [.., tables, _] = &layout.sections;
        let table = tables.offset + u64::from(table) * layout.table_stride;
        let count = wide(ENTRIES_PER_READ).min(u64::from(segment.docs() - first));
        let first = u64::from(first);
        fresh(segment, table + 2 * first, 2 * count, &mut self.fingerprints)?;
        let ordinals = table + layout.table_ordinals + 4 * first;
        fresh(segment, ordinals, 4 * count, &mut self.ordinals)
    }

    fn count(&self) -> u32 {
        u32::try_from(self.ordinals.len() / 4).expect("a few entries")
    }

    #[inline]
    fn pairs(&self, part: std::ops::Range<usize>) -> impl Iterator<Item = (u16, u32)> {
        let fingerprints = self.fingerprints[2 * part.start..2 * part.end].chunks_exact(2);
        let ordinals = self.ordinals[4 * part.start..4 * part.end].chunks_exact(4);
        fingerprints.map(u16_of).zip(ordinals.map(u32_of))
    }
}

/// A cursor over the directory of a table.
#[derive(Debug)]
struct Directory {
    table: u32,
    group: u32,
    /// The words of the directory from word `begin` on.
    words: Vec<u8>,
    begin: u32,
}

impl Directory {
    fn new(table: u32) -> Self {
        Self { table, group: 0, words: Vec::new(), begin: 0 }
    }

    /// The end of the first group. `None` unless the group starts at entry 0.
    fn first(&mut self, segment: &Segment) -> Option<u32> {
        (self.word(segment, 0)? == 0).then(|| self.word(segment, 1))?
    }

    /// Moves to the next group, and returns its end; `None` after the last group, or if the
    /// directory is unreadable.
    fn next(&mut self, segment: &Segment) -> Option<u32> {
        self.group += 1;
        let next = self.group + 1;
        (next <= segment.groups).then(|| self.word(segment, next))?
    }

    /// The word at index `at` of the directory, which has `groups + 1` words.
    #[inline]
    fn word(&mut self, segment: &Segment, at: u32) -> Option<u32> {
        let place = 4 * index(at - self.begin);
        if let Some(word) = self.words.get(place..place + 4) {
            return Some(u32_of(word));
        }
        let [.., directories] = &segment.layout.sections;
        let offset = directories.offset
            + u64::from(self.table) * segment.layout.directory_stride
            + 4 * u64::from(at);
        let left = 4 * (u64::from(segment.groups) + 1 - u64::from(at));
        self.begin = at;
        fresh(segment, offset, left.min(wide(CHUNK_BYTES)), &mut self.words).ok()?;
        self.words.get(..4).map(u32_of)
    }
}
