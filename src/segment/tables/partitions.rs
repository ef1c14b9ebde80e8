//! The entries of many passes, collected in one pass over the documents.
//!
//! A segment of n documents needs passes in proportion to n, and each pass reads all signatures, so
//! that the time would grow with the square of n. Where there would be many passes, the entries are
//! divided instead, by the pass that sorts them (the distribution of an external bucket sort:
//! Knuth, The Art of Computer Programming, volume 3, section 5.4.9), and lie on the disk until
//! then.
//!
//! No I/O: the caller stores what [`Partitions::full`] returns, and feeds it again.

use super::{Rebuild, SLICE_BITS, band_key, word};
use crate::format::bytes::index;

/// Number of passes from which on their entries are divided.
const PASSES_MIN: usize = small!(partitions::PASSES_MIN, 12);
/// Number of parts of a pass in which that number is counted.
const PARTS_OF_PASS: usize = small!(partitions::PARTS_OF_PASS, 1);
/// Number of bits of an entry below the number of its slice.
const ENTRY_BITS: u32 = 32 + 16 + SLICE_BITS;
/// Maximum number of slices of a partition: the other bits of an entry number them.
const SLICES_MAX: usize = small!(partitions::SLICES_MAX, 1 << (64 - ENTRY_BITS));
const _: () = assert!(SLICES_MAX <= 1 << (64 - ENTRY_BITS));
/// Maximum number of partitions. The passes after them are divided later.
const PARTITIONS_MAX: usize = small!(partitions::PARTITIONS_MAX, 1024);
/// Number of entries of a partition that are stored together.
const STORED_MIN: usize = small!(partitions::STORED_MIN, 2048);
const STORED_MAX: usize = small!(partitions::STORED_MAX, 32 * 1024);

/// Entries on their way to the disk, by partition.
#[derive(Debug)]
pub(crate) struct Partitions {
    /// The first slice of the first partition, and the slice after the last one.
    begin: usize,
    end: usize,
    /// Number of slices of a partition; the last one may have fewer.
    slices: usize,
    /// Number of tables that one partition may have slices of.
    tables: usize,
    buffers: Vec<Vec<u64>>,
    /// Number of entries that a buffer lacks when it is stored for the first time. All buffers fill
    /// at the same rate, and shall not be full at the same time.
    lacking: Vec<usize>,
    /// The buffers before this one are not full.
    looked: usize,
    /// Number of entries that fit into a buffer without more memory.
    stored: usize,
    /// Ordinal of the next document.
    ordinal: u32,
    /// The buffer that was passed on last, for reuse.
    spare: Vec<u64>,
}

impl Partitions {
    /// Number of partitions.
    pub(crate) fn count(&self) -> usize {
        (self.end - self.begin).div_ceil(self.slices)
    }

    /// Ordinal of the next document to divide.
    pub(crate) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Maximum number of documents to divide before the next call of [`Partitions::full`].
    pub(crate) fn docs_max(&self) -> usize {
        (self.stored / 8 / self.tables).max(1)
    }

    /// The share of all tables that is done, from 0 to 1. Dividing entries is a third of the work
    /// on their tables.
    pub(crate) fn share_done(&self, rebuild: &Rebuild, is_whole: bool) -> f64 {
        let all = rebuild.slices_of(rebuild.bands + 1) as f64;
        let (begin, slices) = (self.begin as f64, (self.end - self.begin) as f64);
        let divided = f64::from(self.ordinal) / f64::from(rebuild.docs);
        let sorted = if is_whole { (rebuild.slice as f64 - begin) / slices } else { 0.0 };
        (begin + slices * (divided + 2.0 * sorted) / 3.0) / all
    }

    /// Whether the tables of these entries are finished.
    pub(crate) fn are_done(&self, rebuild: &Rebuild) -> bool {
        rebuild.slice >= self.end
    }

    /// The entries of a partition that are to be stored now: one that is nearly full or, if `all`
    /// are wanted, any. To be called until it returns `None`.
    pub(crate) fn full(&mut self, all: bool) -> Option<(usize, &[u64])> {
        let least = self.stored.saturating_sub(self.docs_max() * self.tables) + 1;
        let mut rest = self.buffers.iter().zip(&self.lacking).skip(self.looked);
        let next = rest.position(|(buffer, lacking)| {
            buffer.len() >= if all { 1 } else { least.saturating_sub(*lacking) }
        });
        let Some(next) = next else {
            self.looked = 0;
            return None;
        };
        let partition = self.looked + next;
        self.lacking[partition] = 0;
        self.looked = partition + 1;
        if self.spare.capacity() > 2 * self.stored {
            // Many documents in one bucket: other buffers shall not become as large.
            self.spare = Vec::with_capacity(self.stored);
        }
        self.spare.clear();
        std::mem::swap(&mut self.spare, &mut self.buffers[partition]);
        Some((partition, &self.spare))
    }

    /// Frees the memory of the buffers, once all entries are stored.
    pub(crate) fn free(&mut self) {
        (self.buffers, self.lacking, self.spare) = (Vec::new(), Vec::new(), Vec::new());
    }

    #[inline]
    fn push(&mut self, slice: usize, word: u64, ordinal: u32) {
        if slice < self.begin || slice >= self.end {
            return;
        }
        let from_begin = slice - self.begin;
        let (partition, nth) = (from_begin / self.slices, from_begin % self.slices);
        self.buffers[partition].push(packed(nth, word, ordinal));
    }
}

/// An entry in a word: the slice within its partition, the group within the slice, the fingerprint
/// and the ordinal.
#[inline]
fn packed(slice: usize, word: u64, ordinal: u32) -> u64 {
    let low = word & ((1 << (ENTRY_BITS - 32)) - 1);
    (slice as u64) << ENTRY_BITS | low << 32 | u64::from(ordinal)
}

/// The slice within its partition, and the entry as a slice holds it.
#[inline]
fn unpacked(entry: u64) -> (usize, u64) {
    let slice = usize::try_from(entry >> ENTRY_BITS).expect("a few bits");
    (slice, entry & ((1 << ENTRY_BITS) - 1))
}

impl Rebuild {
    /// Before a pass: partitions for the entries of this pass and of those after it over the same
    /// documents. `None` if they are few.
    pub(crate) fn divide(&mut self) -> Option<Partitions> {
        if self.ordinal > 0 {
            return None;
        }
        if self.slices_max < usize::MAX {
            // A division has ended, and passes may be longer again.
            self.do_not_divide();
        }
        let bands = self.slices_of(self.bands);
        let end = if self.slice < bands { bands } else { self.slices_of(self.bands + 1) };
        let slices = self.pass.len().min(SLICES_MAX);
        let entries = (end - self.slice).saturating_mul(index(self.docs) / self.slices);
        let parts = entries.saturating_mul(PARTS_OF_PASS) / self.entries_max.max(1);
        if parts < PASSES_MIN {
            return None;
        }
        self.slices_max = SLICES_MAX;
        let most = (self.entries_max / STORED_MIN).clamp(1, PARTITIONS_MAX);
        let count = (end - self.slice).div_ceil(slices).min(most);
        let stored = (self.entries_max / count).clamp(STORED_MIN, STORED_MAX);
        // The entries of a pass come back when the buffers are free.
        self.collected = Vec::new();
        let (mut buffers, spare) = (Vec::new(), Vec::with_capacity(stored));
        buffers.resize_with(count, || Vec::with_capacity(stored));
        Some(Partitions {
            begin: self.slice,
            end: end.min(self.slice + count * slices),
            slices,
            tables: slices.div_ceil(self.slices) + 1,
            buffers,
            lacking: (0..count).map(|number| stored / 2 * number / count).collect(),
            looked: 0,
            stored,
            ordinal: 0,
            spare,
        })
    }

    /// Divides the entries of the next signatures.
    pub(crate) fn divide_signatures(&self, signatures: &[u8], to: &mut Partitions) {
        for band in to.begin / self.slices..to.end.div_ceil(self.slices) {
            let bytes = band * self.band_bytes..(band + 1) * self.band_bytes;
            let signatures = signatures.chunks_exact(self.signature_bytes);
            let keys = signatures.map(|signature| band_key(&signature[bytes.clone()]));
            self.divide_table(band, keys, to);
        }
        let count = signatures.len() / self.signature_bytes;
        to.ordinal += u32::try_from(count).expect("fed no more than there are");
    }

    /// Divides the entries of the next key hashes.
    pub(crate) fn divide_keys(&self, hashes: &[u64], to: &mut Partitions) {
        self.divide_table(index(self.bands), hashes.iter().copied(), to);
        to.ordinal += u32::try_from(hashes.len()).expect("fed no more than there are");
    }

    fn divide_table(&self, table: usize, keys: impl Iterator<Item = u64>, to: &mut Partitions) {
        let first = table * self.slices;
        for (ordinal, key) in (to.ordinal..).zip(keys) {
            let word = word(key, self.groups);
            let slice = usize::try_from(word >> (16 + SLICE_BITS)).expect("a group is 32 bits");
            to.push(first + slice, word, ordinal);
        }
    }

    /// Begins with the first partition, once all documents are divided.
    pub(crate) fn divided(&mut self) {
        self.begin_pass();
    }

    /// Number of the partition that this pass sorts.
    pub(crate) fn partition(&self, of: &Partitions) -> usize {
        (self.slice - of.begin) / of.slices
    }

    /// Feeds entries of this pass, in place of signatures or keys.
    pub(crate) fn entries(&mut self, entries: &[u64]) {
        for &entry in entries {
            let (slice, entry) = unpacked(entry);
            self.collected[slice].push(entry);
        }
    }

    /// All entries of this pass were fed.
    pub(crate) fn end_entries(&mut self) {
        self.ordinal = 0;
        self.begin_output();
    }

    /// Goes on with passes over the documents.
    pub(crate) fn do_not_divide(&mut self) {
        self.slices_max = usize::MAX;
        self.begin_pass();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_unpacked_as_it_was_packed() {
        let low = (1 << (ENTRY_BITS - 32)) - 1;
        for slice in [0, 1, SLICES_MAX - 1, (1 << (64 - ENTRY_BITS)) - 1] {
            for word in [0, 1, low, low + 1, u64::MAX >> 16] {
                for ordinal in [0, 1, u32::MAX - 2] {
                    let (back, entry) = unpacked(packed(slice, word, ordinal));
                    assert_eq!(back, slice);
                    assert_eq!(entry, (word & low) << 32 | u64::from(ordinal));
                }
            }
        }
    }
}
