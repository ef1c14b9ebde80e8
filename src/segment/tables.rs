//! Bucket tables: which entry a key makes, and how tables are computed from signatures and keys.
//!
//! Knows no file: [`Rebuild`] says what it needs, is fed, and gives out finished runs of entries.
//! The builder writes them; `verify` compares them with what the file holds.

use super::Shape;
use crate::format::blocks::groups_of;
use crate::format::bytes::index;
pub(super) use crate::sketch::{band_key, key_hash};

/// Group and fingerprint of a key: the product's bits 64 and up, and 48 to 63.
#[inline]
pub(super) fn split(key: u64, groups: u32) -> (u32, u16) {
    let product = (u128::from(key) * u128::from(groups)).to_le_bytes();
    (u32_of(&product[8..]), u16_of(&product[6..]))
}

/// The integer that `bytes` begin with.
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

/// What [`Rebuild`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// The signatures from this ordinal on: any whole number of them.
    Signatures { from: u32 },
    /// `key_hash` of the keys from this ordinal on: any number of them.
    Keys { from: u32 },
    /// Nothing: a run is ready.
    Emit,
    /// Nothing: all tables are done.
    Done,
}

/// Finished entries: consecutive groups of one table.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) table: u32,
    pub(super) first_group: u32,
    /// The entry at which the first group begins.
    pub(super) first_entry: u32,
    /// The bytes that belong in the three places of the file.
    pub(super) directory: Vec<u8>,
    pub(super) fingerprints: Vec<u8>,
    pub(super) ordinals: Vec<u8>,
    /// This run ends the table; its directory holds the last word too.
    pub(super) ends_table: bool,
}

/// Entries after which a run ends.
const RUN_ENTRIES: usize = 8 * 1024;

/// Computes all tables of a segment in bounded memory: a batch of tables at a time, each by
/// counting its groups and then scattering the entries; a table too large for the memory in
/// ranges of groups. (One group is never divided: a crowd of documents that share a band takes 8
/// bytes each, whatever the bound.)
#[derive(Debug)]
pub(super) struct Rebuild {
    docs: u32,
    groups: u32,
    bands: u32,
    band_bytes: usize,
    signature_bytes: usize,
    /// Entries that fit in memory.
    entries_max: usize,
    /// The tables of this batch: bands, or the table of keys alone.
    first: u32,
    tables: u32,
    stage: Stage,
    /// The next document to be fed.
    ordinal: u32,
    /// The groups of this range.
    group_begin: u32,
    group_end: u32,
    /// The entry at which the range begins.
    entry_begin: u32,
    /// Entries a table has in this range. (Ranges are of batches of one table.)
    stride: usize,
    /// While counting, by table and group: entries, at one place later. Then where the group's
    /// next entry goes; after the scatter that is where the next group begins.
    cursors: Vec<u32>,
    /// By table, in order of (group, ordinal): fingerprint and ordinal in one word.
    entries: Vec<u64>,
    /// Where `Emit` is.
    table: u32,
    group: u32,
    entry: u32,
    scratch: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Count,
    Scatter,
    Emit,
    Done,
}

impl Rebuild {
    /// Of memory, `memory_bytes` are used, or more if that is too little to make progress.
    pub(super) fn new(shape: &Shape, docs: u32, memory_bytes: usize) -> Self {
        let bands = u32::try_from(shape.bands).expect("bands are at most rows");
        let mut rebuild = Self {
            docs,
            groups: groups_of(docs),
            bands,
            band_bytes: shape.band_bytes,
            signature_bytes: shape.signature_bytes,
            entries_max: (memory_bytes / 8).max(1),
            first: 0,
            tables: 0,
            stage: Stage::Count,
            ordinal: 0,
            group_begin: 0,
            group_end: 0,
            entry_begin: 0,
            stride: 0,
            cursors: Vec::new(),
            entries: Vec::new(),
            table: 0,
            group: 0,
            entry: 0,
            scratch: Vec::new(),
        };
        rebuild.begin_batch(0);
        rebuild
    }

    /// The part of the tables that is done, from 0 to 1, to a batch of tables exactly.
    pub(super) fn share_done(&self) -> f64 {
        match self.stage {
            Stage::Done => 1.0,
            _ => f64::from(self.first) / f64::from(self.bands + 1),
        }
    }

    pub(super) fn need(&self) -> Need {
        match self.stage {
            Stage::Done => Need::Done,
            Stage::Emit => Need::Emit,
            Stage::Count | Stage::Scatter if self.first == self.bands => {
                Need::Keys { from: self.ordinal }
            }
            Stage::Count | Stage::Scatter => Need::Signatures { from: self.ordinal },
        }
    }

    /// Feeds the signatures asked for.
    pub(super) fn signatures(&mut self, signatures: &[u8]) {
        assert!(matches!(self.need(), Need::Signatures { .. }), "fed what was not asked for");
        let count = signatures.len() / self.signature_bytes;
        let mut keys = std::mem::take(&mut self.scratch);
        for table in 0..self.tables {
            let begin = index(self.first + table) * self.band_bytes;
            let band = begin..begin + self.band_bytes;
            keys.clear();
            for signature in signatures.chunks_exact(self.signature_bytes) {
                keys.push(band_key(&signature[band.clone()]));
            }
            self.feed(table, &keys);
        }
        self.scratch = keys;
        self.fed(count);
    }

    /// Feeds the hashes of keys asked for.
    pub(super) fn keys(&mut self, hashes: &[u64]) {
        assert!(matches!(self.need(), Need::Keys { .. }), "fed what was not asked for");
        self.feed(0, hashes);
        self.fed(hashes.len());
    }

    fn feed(&mut self, table: u32, keys: &[u64]) {
        let width = index(self.groups) + 1;
        let cursors = &mut self.cursors[index(table) * width..][..width];
        if self.stage == Stage::Count {
            for &key in keys {
                cursors[index(split(key, self.groups).0) + 1] += 1;
            }
            return;
        }
        let entries = &mut self.entries[index(table) * self.stride..][..self.stride];
        let range = self.group_begin..self.group_end;
        for (ordinal, &key) in (self.ordinal..).zip(keys) {
            let (group, fingerprint) = split(key, self.groups);
            if range.contains(&group) {
                let cursor = &mut cursors[index(group)];
                entries[index(*cursor - self.entry_begin)] =
                    u64::from(fingerprint) << 32 | u64::from(ordinal);
                *cursor += 1;
            }
        }
    }

    fn fed(&mut self, count: usize) {
        let count = u32::try_from(count).expect("fed no more than there are");
        self.ordinal += count;
        assert!(self.ordinal <= self.docs, "fed more documents than there are");
        if self.ordinal < self.docs {
            return;
        }
        self.ordinal = 0;
        if self.stage == Stage::Count {
            for cursors in self.cursors.chunks_exact_mut(index(self.groups) + 1) {
                let mut sum = 0;
                for cursor in cursors {
                    sum += *cursor;
                    *cursor = sum;
                }
            }
            self.begin_range(0, 0);
        } else {
            self.stage = Stage::Emit;
            (self.table, self.group, self.entry) = (0, self.group_begin, self.entry_begin);
        }
    }

    /// Starts to count the batch that begins with table `first`.
    fn begin_batch(&mut self, first: u32) {
        let width = index(self.groups) + 1;
        self.first = first;
        self.ordinal = 0;
        if first > self.bands {
            self.stage = Stage::Done;
            (self.cursors, self.entries) = (Vec::new(), Vec::new());
            return;
        }
        let fit = (self.entries_max / index(self.docs)).max(1);
        let left = index(self.bands.saturating_sub(first)).max(1);
        self.tables = u32::try_from(left.min(fit)).expect("no more than the bands");
        self.stage = Stage::Count;
        self.cursors.clear();
        self.cursors.resize(index(self.tables) * width, 0);
    }

    /// Starts to scatter the groups from `group` on: as many as fit, and one at least.
    fn begin_range(&mut self, group: u32, entry: u32) {
        self.stage = Stage::Scatter;
        self.group_begin = group;
        self.entry_begin = entry;
        self.group_end = self.groups;
        if index(self.docs) > self.entries_max {
            let ends = &self.cursors[index(group) + 1..=index(self.groups)];
            let fit = ends.partition_point(|end| index(*end - entry) <= self.entries_max);
            self.group_end = group + u32::try_from(fit.max(1)).expect("at most all groups");
        }
        self.stride = index(self.cursors[index(self.group_end)] - entry);
        self.entries.clear();
        self.entries.resize(index(self.tables) * self.stride, 0);
    }

    /// Puts the next run into `run`. Only when `need` says `Emit`.
    pub(super) fn emit(&mut self, run: &mut Run) {
        assert!(self.stage == Stage::Emit, "no run is ready");
        run.table = self.first + self.table;
        run.first_group = self.group;
        run.first_entry = self.entry;
        run.directory.clear();
        run.fingerprints.clear();
        run.ordinals.clear();
        run.ends_table = false;
        let cursors = &self.cursors[index(self.table) * (index(self.groups) + 1)..];
        let entries = &mut self.entries[index(self.table) * self.stride..][..self.stride];
        while self.group < self.group_end && run.ordinals.len() < RUN_ENTRIES * 4 {
            let end = cursors[index(self.group)];
            let begin = index(self.entry - self.entry_begin);
            let group = &mut entries[begin..index(end - self.entry_begin)];
            group.sort_unstable();
            run.directory.extend_from_slice(&self.entry.to_le_bytes());
            for entry in group {
                let bytes = entry.to_le_bytes();
                run.fingerprints.extend_from_slice(&bytes[4..6]);
                run.ordinals.extend_from_slice(&bytes[..4]);
            }
            self.entry = end;
            self.group += 1;
        }
        if self.group == self.group_end {
            self.end_range(run);
        }
    }

    fn end_range(&mut self, run: &mut Run) {
        if self.group_end < self.groups {
            self.begin_range(self.group_end, self.entry);
            return;
        }
        run.ends_table = true;
        run.directory.extend_from_slice(&self.docs.to_le_bytes());
        self.table += 1;
        (self.group, self.entry) = (self.group_begin, self.entry_begin);
        if self.table == self.tables {
            self.begin_batch(self.first + self.tables);
        }
    }
}
