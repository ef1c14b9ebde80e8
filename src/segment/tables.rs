//! Bucket tables: how a key becomes an entry, and how tables are computed from signatures and keys.
//!
//! No I/O: [`Rebuild`] tells which input it needs, takes this input, and returns finished runs of
//! entries. The builder writes the runs; `verify` compares them with the file.

mod partitions;

use super::Shape;
use crate::format::blocks::groups_of;
use crate::format::bytes::index;
pub(super) use nearkin_sketch::engine::{band_key, key_hash};
pub(crate) use partitions::Partitions;
use std::ops::Range;

/// The group and fingerprint of a key: bits 64 and up, and bits 48 to 63, of the product key x
/// groups.
#[inline]
pub(super) fn split(key: u64, groups: u32) -> (u32, u16) {
    let product = (u128::from(key) * u128::from(groups)).to_le_bytes();
    (u32_of(&product[8..]), u16_of(&product[6..]))
}

/// The group and fingerprint of a key in one word, with the fingerprint in the low bits.
#[inline]
pub(super) fn word(key: u64, groups: u32) -> u64 {
    let (group, fingerprint) = split(key, groups);
    u64::from(group) << 16 | u64::from(fingerprint)
}

/// The integer at the start of `bytes`.
#[inline]
pub(super) fn u16_of(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

#[inline]
pub(super) fn u32_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[inline]
pub(super) fn u64_of(bytes: &[u8]) -> u64 {
    u64::from(u32_of(bytes)) | u64::from(u32_of(&bytes[4..])) << 32
}

/// The next input or output of [`Rebuild`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Feed signatures from this ordinal on, any number of them.
    Signatures { from: u32 },
    /// Feed `key_hash` of the keys from this ordinal on, any number of them.
    Keys { from: u32 },
    /// A run is ready.
    Emit,
    /// All tables are done.
    Done,
}

/// A run: finished consecutive entries of one table.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(super) table: u32,
    /// The first group that starts in this run.
    pub(super) first_group: u32,
    /// Index of the run's first entry in the table.
    pub(super) first_entry: u32,
    /// The bytes of this run for each of the three sections of the file.
    pub(super) directory: Vec<u8>,
    pub(super) fingerprints: Vec<u8>,
    pub(super) ordinals: Vec<u8>,
    /// Whether this run ends the table. If so, `directory` includes the table's last word.
    pub(super) ends_table: bool,
}

/// Number of entries after which a run ends.
const RUN_ENTRIES: usize = small!(tables::RUN_ENTRIES, 8 * 1024);

impl Run {
    /// Approximate memory of a run: its entries, and one word of the directory per 16 entries,
    /// which is an upper bound.
    pub(crate) const BYTES: usize = RUN_ENTRIES * (2 + 4) + RUN_ENTRIES / 4;

    /// Empties the run. A new run allocates all its memory at once.
    fn clear(&mut self) {
        self.directory.clear();
        self.fingerprints.clear();
        self.ordinals.clear();
        if self.ordinals.capacity() == 0 {
            // The last group of a run may exceed `RUN_ENTRIES`.
            self.directory.reserve(RUN_ENTRIES / 4);
            self.fingerprints.reserve(RUN_ENTRIES * 2 + 256);
            self.ordinals.reserve(RUN_ENTRIES * 4 + 512);
        }
    }
}

/// Binary logarithm of the number of parts per group.
const PART_BITS: u32 = 4;
/// Binary logarithm of the number of groups per slice. A slice has about 32,768 entries; its two
/// copies (collected and sorted) fit into the cache.
const SLICE_BITS: u32 = small!(tables::SLICE_BITS, 9);

/// Computes all tables of a segment in bounded memory.
///
/// A *slice* is 2 to the power of `SLICE_BITS` consecutive groups of a table. A pass over all
/// documents collects the entries of as many slices as fit in memory, of one table or of several.
/// Then the slices are sorted one by one, each within the cache: its entries are scattered into
/// parts, and each part is sorted. Every entry is collected once. So the number of passes is the
/// number of all entries divided by the number that fit in memory; if that is large, a builder uses
/// [`Partitions`]. (A slice is never divided: a crowd of documents that share a band takes 8 bytes
/// per document, whatever the memory bound is.)
///
/// A *part* is the entries of a group whose fingerprints begin with the same bits. A part has so
/// few entries that sorting it costs little.
#[derive(Debug)]
pub(crate) struct Rebuild {
    docs: u32,
    groups: u32,
    /// Number of slices per table.
    slices: usize,
    bands: u32,
    band_bytes: usize,
    signature_bytes: usize,
    /// Number of entries that fit in memory.
    entries_max: usize,
    /// Maximum number of slices per pass.
    slices_max: usize,
    stage: Stage,
    /// Ordinal of the next document to feed.
    ordinal: u32,
    /// The slices of this pass, numbered across all tables. They belong either to band tables or to
    /// the table of keys.
    pass: Range<usize>,
    /// The entries collected in this pass, per slice and sorted by ordinal. An entry packs its
    /// group within the slice, the fingerprint and the ordinal into one word.
    collected: Vec<Vec<u64>>,
    /// The sorted slice that is being returned.
    entries: Vec<u64>,
    /// The end of each part in `entries`.
    ends: Vec<u32>,
    /// The position of the output: the slice, numbered across all tables, and the next group and
    /// entry in its table.
    slice: usize,
    group: u32,
    entry: u32,
    /// Buffer for the table keys of the fed documents.
    scratch: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Collect,
    Emit,
    Done,
}

impl Rebuild {
    /// Uses about `memory_bytes` of memory, or more if this is too little to make progress.
    pub(crate) fn new(shape: &Shape, docs: u32, memory_bytes: usize) -> Self {
        let groups = groups_of(docs);
        let mut rebuild = Self {
            docs,
            groups,
            slices: index(groups.div_ceil(1 << SLICE_BITS)),
            bands: u32::try_from(shape.bands).expect("bands are at most rows"),
            band_bytes: shape.band_bytes,
            signature_bytes: shape.signature_bytes,
            entries_max: memory_bytes / 8,
            slices_max: usize::MAX,
            stage: Stage::Collect,
            ordinal: 0,
            pass: 0..0,
            collected: Vec::new(),
            entries: Vec::new(),
            ends: Vec::new(),
            slice: 0,
            group: 0,
            entry: 0,
            scratch: Vec::new(),
        };
        rebuild.begin_pass();
        rebuild
    }

    /// The finished share of the tables, from 0 to 1.
    pub(super) fn share_done(&self) -> f64 {
        self.slice as f64 / self.slices_of(self.bands + 1) as f64
    }

    /// Number of slices of the first `tables` tables.
    fn slices_of(&self, tables: u32) -> usize {
        index(tables) * self.slices
    }

    pub(crate) fn need(&self) -> Need {
        match self.stage {
            Stage::Done => Need::Done,
            Stage::Emit => Need::Emit,
            Stage::Collect if self.slice >= self.slices_of(self.bands) => {
                Need::Keys { from: self.ordinal }
            }
            Stage::Collect => Need::Signatures { from: self.ordinal },
        }
    }

    /// Feeds the requested signatures.
    pub(crate) fn signatures(&mut self, signatures: &[u8]) {
        assert!(matches!(self.need(), Need::Signatures { .. }), "fed what was not requested");
        let count = signatures.len() / self.signature_bytes;
        let mut keys = std::mem::take(&mut self.scratch);
        for table in self.pass.start / self.slices..self.pass.end.div_ceil(self.slices) {
            let begin = table * self.band_bytes;
            let band = begin..begin + self.band_bytes;
            keys.clear();
            for signature in signatures.chunks_exact(self.signature_bytes) {
                keys.push(band_key(&signature[band.clone()]));
            }
            self.collect(table, &keys);
        }
        self.scratch = keys;
        self.fed(count);
    }

    /// Feeds the requested key hashes.
    pub(crate) fn keys(&mut self, hashes: &[u64]) {
        assert!(matches!(self.need(), Need::Keys { .. }), "fed what was not requested");
        self.collect(index(self.bands), hashes);
        self.fed(hashes.len());
    }

    /// Adds the entries that documents have in a table to the slices of this pass. Ignores entries
    /// of other slices.
    fn collect(&mut self, table: usize, keys: &[u64]) {
        let all = table * self.slices..(table + 1) * self.slices;
        let begin = self.pass.start.max(all.start);
        let end = self.pass.end.min(all.end);
        let wanted = &mut self.collected[begin - self.pass.start..end - self.pass.start];
        let (skipped, bits) = (begin - all.start, 16 + SLICE_BITS);
        for (ordinal, &key) in (self.ordinal..).zip(keys) {
            let word = word(key, self.groups);
            let slice = usize::try_from(word >> bits).expect("a group is 32 bits");
            if let Some(slice) = wanted.get_mut(slice.wrapping_sub(skipped)) {
                slice.push((word & ((1 << bits) - 1)) << 32 | u64::from(ordinal));
            }
        }
    }

    fn fed(&mut self, count: usize) {
        let count = u32::try_from(count).expect("fed no more than there are");
        self.ordinal += count;
        assert!(self.ordinal <= self.docs, "more documents were fed than the segment has");
        if self.ordinal == self.docs {
            self.ordinal = 0;
            self.begin_output();
        }
    }

    /// Begins to return what this pass has collected.
    fn begin_output(&mut self) {
        self.stage = Stage::Emit;
        self.sort_slice();
    }

    /// Starts a pass at the next slice.
    fn begin_pass(&mut self) {
        let all = self.slices_of(self.bands + 1);
        if self.slice == all {
            self.stage = Stage::Done;
            (self.collected, self.entries) = (Vec::new(), Vec::new());
            return;
        }
        let bands = self.slices_of(self.bands);
        let left = if self.slice < bands { bands - self.slice } else { all - self.slice };
        // With some room to spare, because the sizes of slices vary by chance.
        let expected = index(self.docs) / self.slices;
        let slice_entries = expected + expected / 16 + 64;
        let fit = (self.entries_max / slice_entries).clamp(1, left.min(self.slices_max));
        self.pass = self.slice..self.slice + fit;
        self.stage = Stage::Collect;
        // Frees the memory of slices that became too large.
        self.collected.retain(|slice| slice.capacity() < 2 * slice_entries);
        self.collected.resize_with(fit, || Vec::with_capacity(slice_entries));
    }

    /// Sorts the next slice into `entries`.
    fn sort_slice(&mut self) {
        let collected = &mut self.collected[self.slice - self.pass.start];
        let part =
            |entry: u64| usize::try_from(entry >> (48 - PART_BITS)).expect("a slice has few parts");
        // The last slice of a table may have fewer groups. In a small table it is the only one.
        let before = (self.slice % self.slices) << SLICE_BITS;
        let groups = (index(self.groups) - before).min(1 << SLICE_BITS);
        self.ends.clear();
        self.ends.resize((groups << PART_BITS) + 1, 0);
        for &entry in &*collected {
            self.ends[part(entry) + 1] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += *end;
            *end = sum;
        }
        // Until entries are placed in a part, the part's element of `ends` is the part's start.
        // Each entry moves it on, so that it is the end afterwards.
        self.entries.clear();
        self.entries.resize(collected.len(), 0);
        for &entry in &*collected {
            let end = &mut self.ends[part(entry)];
            self.entries[index(*end)] = entry;
            *end += 1;
        }
        let mut begin = 0;
        for &end in &self.ends {
            let end = index(end);
            self.entries[begin..end].sort_unstable();
            begin = end;
        }
        collected.clear();
    }

    /// Writes the next run to `run`. Only valid if `need` returned `Emit`.
    pub(crate) fn emit(&mut self, run: &mut Run) {
        assert!(self.stage == Stage::Emit, "no run is ready");
        let nth = self.slice % self.slices;
        let slice_begin = u32::try_from(nth << SLICE_BITS).expect("one of the groups");
        let slice_end = self.groups.min(slice_begin + (1 << SLICE_BITS));
        run.table = u32::try_from(self.slice / self.slices).expect("one of the tables");
        run.first_group = self.group;
        run.first_entry = self.entry;
        run.clear();
        run.ends_table = false;
        // Index of the group's first part in the slice.
        let part = |group: u32| index(group - slice_begin) << PART_BITS;
        let begin = part(self.group).checked_sub(1).map_or(0, |last| index(self.ends[last]));
        let mut end = begin;
        while self.group < slice_end && end - begin < RUN_ENTRIES {
            let entry = self.entry + u32::try_from(end - begin).expect("one of the entries");
            run.directory.extend_from_slice(&entry.to_le_bytes());
            self.group += 1;
            end = index(self.ends[part(self.group) - 1]);
        }
        let entries = &self.entries[begin..end];
        run.fingerprints.resize(2 * entries.len(), 0);
        run.ordinals.resize(4 * entries.len(), 0);
        let fingerprints = run.fingerprints.chunks_exact_mut(2);
        let ordinals = run.ordinals.chunks_exact_mut(4);
        for ((fingerprint, ordinal), entry) in fingerprints.zip(ordinals).zip(entries) {
            let bytes = entry.to_le_bytes();
            fingerprint.copy_from_slice(&bytes[4..6]);
            ordinal.copy_from_slice(&bytes[..4]);
        }
        self.entry += u32::try_from(entries.len()).expect("no more than documents");
        if self.group == slice_end {
            self.end_slice(run);
        }
    }

    fn end_slice(&mut self, run: &mut Run) {
        self.slice += 1;
        if self.group == self.groups {
            run.ends_table = true;
            run.directory.extend_from_slice(&self.docs.to_le_bytes());
            (self.group, self.entry) = (0, 0);
        }
        if self.slice == self.pass.end {
            self.begin_pass();
        } else {
            self.sort_slice();
        }
    }
}

#[cfg(test)]
mod tests;
