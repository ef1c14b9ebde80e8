//! Bucket tables: which entry a key makes, and how tables are computed from signatures and keys.
//!
//! Knows no file: [`Rebuild`] says what it needs, is fed, and gives out finished runs of entries.
//! The builder writes them, or who flushes has it write them; `verify` compares them with what the
//! file holds.

use super::Shape;
use crate::format::blocks::Grouping;
use crate::format::bytes::index;
pub(super) use crate::sketch::{band_key, key_hash};

/// Group and fingerprint of a key: the product's bits 64 and up, and 48 to 63.
#[inline]
pub(super) fn split(key: u64, groups: u32) -> (u32, u16) {
    let product = (u128::from(key) * u128::from(groups)).to_le_bytes();
    (u32_of(&product[8..]), u16_of(&product[6..]))
}

/// The same in one word, the fingerprint below.
#[inline]
fn word(key: u64, groups: u32) -> u64 {
    let (group, fingerprint) = split(key, groups);
    u64::from(group) << 16 | u64::from(fingerprint)
}

/// The part of a word: the group, and the first bits of the fingerprint.
#[inline]
fn part_of(word: u64, part_bits: u32) -> usize {
    usize::try_from(word >> (16 - part_bits)).expect("a part is 32 bits")
}

/// What is sorted within a part: fingerprint and ordinal in one word.
#[inline]
fn entry(word: u64, ordinal: u32) -> u64 {
    (word & 0xffff) << 32 | u64::from(ordinal)
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
pub(crate) enum Need {
    /// The signatures from this ordinal on: any whole number of them.
    Signatures { from: u32 },
    /// `key_hash` of the keys from this ordinal on: any number of them.
    Keys { from: u32 },
    /// Nothing: a run is ready.
    Emit,
    /// Nothing: all tables are done.
    Done,
}

/// Finished entries, consecutive ones of one table.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(super) table: u32,
    /// The first group that begins here.
    pub(super) first_group: u32,
    /// Which of the table's entries is the first.
    pub(super) first_entry: u32,
    /// The bytes that belong in the three places of the file.
    pub(super) directory: Vec<u8>,
    pub(super) fingerprints: Vec<u8>,
    pub(super) ordinals: Vec<u8>,
    /// This run ends the table; its directory holds the last word too.
    pub(super) ends_table: bool,
}

/// Entries after which a run ends.
const RUN_ENTRIES: usize = if cfg!(test) { 32 } else { 8 * 1024 };

impl Run {
    /// About how much memory one takes: its entries, and a word of the directory for 16
    /// of them, which is more than there are.
    pub(crate) const BYTES: usize = RUN_ENTRIES * (2 + 4) + RUN_ENTRIES / 4;

    /// Empties it; one that has no memory yet gets it in one piece.
    fn clear(&mut self) {
        self.directory.clear();
        self.fingerprints.clear();
        self.ordinals.clear();
        if self.ordinals.capacity() == 0 {
            // The last part may lead beyond the end.
            self.directory.reserve(RUN_ENTRIES / 4);
            self.fingerprints.reserve(RUN_ENTRIES * 2 + 256);
            self.ordinals.reserve(RUN_ENTRIES * 4 + 512);
        }
    }
}

/// Computes all tables of a segment in bounded memory. If the memory allows it, the keys of a batch
/// of tables are collected in one pass, and then each table is made from its own keys alone: count
/// the parts, scatter the entries, all within the cache. A table too large for that is made in
/// passes of its own: one that counts, and one that scatters for every range of parts that fits.
/// (One part is never divided: a crowd of documents that share a band takes 8 bytes each,
/// whatever the bound.)
///
/// A *part* is the entries of a group whose fingerprints begin with the same bits: so few that
/// sorting them costs little.
#[derive(Debug)]
pub(crate) struct Rebuild {
    docs: u32,
    groups: u32,
    /// A group has 2 to the power of this parts.
    part_bits: u32,
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
    /// The parts of this range.
    part_begin: u32,
    part_end: u32,
    /// The entry at which the range begins.
    entry_begin: u32,
    /// What was collected, by table and document: group and fingerprint in one word.
    collected: Vec<u64>,
    /// While counting, by part: entries, at one place later. Then where the part's next entry
    /// goes; after the scatter that is where the next part begins.
    cursors: Vec<u32>,
    /// The entries of one table and range, by (part, ordinal): fingerprint and ordinal in one word.
    entries: Vec<u64>,
    /// Where `Emit` is.
    table: u32,
    part: u32,
    entry: u32,
    scratch: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Collect,
    Count,
    Scatter,
    Emit,
    Done,
}

impl Rebuild {
    /// Uses `memory_bytes` of memory, or more where that is too little to make progress.
    pub(crate) fn new(shape: &Shape, docs: u32, memory_bytes: usize) -> Self {
        Self::of(shape, docs, Grouping::default(), memory_bytes)
    }

    /// The same for groups of any size.
    pub(super) fn of(shape: &Shape, docs: u32, grouping: Grouping, memory_bytes: usize) -> Self {
        let bands = u32::try_from(shape.bands).expect("bands are at most rows");
        let mut rebuild = Self {
            docs,
            groups: grouping.groups(docs),
            part_bits: match grouping {
                Grouping::By20 => 0,
                Grouping::By64 => 2,
            },
            bands,
            band_bytes: shape.band_bytes,
            signature_bytes: shape.signature_bytes,
            entries_max: (memory_bytes / 8).max(1),
            first: 0,
            tables: 0,
            stage: Stage::Collect,
            ordinal: 0,
            part_begin: 0,
            part_end: 0,
            entry_begin: 0,
            collected: Vec::new(),
            cursors: Vec::new(),
            entries: Vec::new(),
            table: 0,
            part: 0,
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

    pub(crate) fn need(&self) -> Need {
        match self.stage {
            Stage::Done => Need::Done,
            Stage::Emit => Need::Emit,
            _ if self.first == self.bands => Need::Keys { from: self.ordinal },
            _ => Need::Signatures { from: self.ordinal },
        }
    }

    /// Feeds the signatures asked for.
    pub(crate) fn signatures(&mut self, signatures: &[u8]) {
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
    pub(crate) fn keys(&mut self, hashes: &[u64]) {
        assert!(matches!(self.need(), Need::Keys { .. }), "fed what was not asked for");
        self.feed(0, hashes);
        self.fed(hashes.len());
    }

    fn feed(&mut self, table: u32, keys: &[u64]) {
        if self.stage == Stage::Collect {
            let begin = index(table) * index(self.docs) + index(self.ordinal);
            for (place, &key) in self.collected[begin..][..keys.len()].iter_mut().zip(keys) {
                *place = word(key, self.groups);
            }
            return;
        }
        let part_bits = self.part_bits;
        if self.stage == Stage::Count {
            for &key in keys {
                self.cursors[part_of(word(key, self.groups), part_bits) + 1] += 1;
            }
            return;
        }
        let range = index(self.part_begin)..index(self.part_end);
        for (ordinal, &key) in (self.ordinal..).zip(keys) {
            let word = word(key, self.groups);
            let part = part_of(word, part_bits);
            if range.contains(&part) {
                let cursor = &mut self.cursors[part];
                self.entries[index(*cursor - self.entry_begin)] = entry(word, ordinal);
                *cursor += 1;
            }
        }
    }

    /// Parts of every table.
    fn parts(&self) -> u32 {
        self.groups << self.part_bits
    }

    fn fed(&mut self, count: usize) {
        let count = u32::try_from(count).expect("fed no more than there are");
        self.ordinal += count;
        assert!(self.ordinal <= self.docs, "fed more documents than there are");
        if self.ordinal < self.docs {
            return;
        }
        self.ordinal = 0;
        match self.stage {
            Stage::Collect => {
                self.table = 0;
                self.sort_collected();
            }
            Stage::Count => {
                self.sum_cursors();
                self.begin_range(0, 0);
            }
            _ => self.begin_emit(),
        }
    }

    /// Entries counted by part become the places where parts begin.
    fn sum_cursors(&mut self) {
        let mut sum = 0;
        for cursor in &mut self.cursors {
            sum += *cursor;
            *cursor = sum;
        }
    }

    fn clear_cursors(&mut self) {
        self.cursors.clear();
        self.cursors.resize(index(self.parts()) + 1, 0);
    }

    fn begin_emit(&mut self) {
        self.stage = Stage::Emit;
        (self.part, self.entry) = (self.part_begin, self.entry_begin);
    }

    /// Makes the entries of the next table from its collected keys.
    fn sort_collected(&mut self) {
        self.clear_cursors();
        let docs = index(self.docs);
        let begin = index(self.table) * docs;
        let part_bits = self.part_bits;
        for &word in &self.collected[begin..begin + docs] {
            self.cursors[part_of(word, part_bits) + 1] += 1;
        }
        self.sum_cursors();
        self.entries.resize(docs, 0);
        for (ordinal, &word) in (0..self.docs).zip(&self.collected[begin..begin + docs]) {
            let cursor = &mut self.cursors[part_of(word, part_bits)];
            self.entries[index(*cursor)] = entry(word, ordinal);
            *cursor += 1;
        }
        (self.part_begin, self.part_end, self.entry_begin) = (0, self.parts(), 0);
        self.begin_emit();
    }

    /// Starts the batch that begins with table `first`.
    fn begin_batch(&mut self, first: u32) {
        self.first = first;
        self.table = 0;
        self.ordinal = 0;
        if first > self.bands {
            self.stage = Stage::Done;
            (self.cursors, self.entries) = (Vec::new(), Vec::new());
            self.collected = Vec::new();
            return;
        }
        // The entries of one table, and the keys of as many as fit beside them.
        let fit = (self.entries_max / index(self.docs)).saturating_sub(1);
        let left = index(self.bands.saturating_sub(first)).max(1);
        self.tables = u32::try_from(left.min(fit).max(1)).expect("no more than the bands");
        if fit == 0 {
            self.stage = Stage::Count;
            self.clear_cursors();
        } else {
            self.stage = Stage::Collect;
            self.collected.resize(index(self.tables) * index(self.docs), 0);
        }
    }

    /// Starts to scatter the parts from `part` on: as many as fit, and one at least.
    fn begin_range(&mut self, part: u32, entry: u32) {
        self.stage = Stage::Scatter;
        self.part_begin = part;
        self.entry_begin = entry;
        let ends = &self.cursors[index(part) + 1..=index(self.parts())];
        let fit = ends.partition_point(|end| index(*end - entry) <= self.entries_max);
        self.part_end = part + u32::try_from(fit.max(1)).expect("at most all parts");
        let count = index(self.cursors[index(self.part_end)] - entry);
        self.entries.clear();
        self.entries.resize(count, 0);
    }

    /// Puts the next run into `run`. Only when `need` says `Emit`.
    pub(crate) fn emit(&mut self, run: &mut Run) {
        assert!(self.stage == Stage::Emit, "no run is ready");
        run.table = self.first + self.table;
        // A run may begin within a group: that has its word already.
        run.first_group = self.part.div_ceil(1 << self.part_bits);
        run.first_entry = self.entry;
        run.clear();
        run.ends_table = false;
        while self.part < self.part_end && run.ordinals.len() < RUN_ENTRIES * 4 {
            let end = self.cursors[index(self.part)];
            let begin = index(self.entry - self.entry_begin);
            let part = &mut self.entries[begin..index(end - self.entry_begin)];
            part.sort_unstable();
            if self.part.trailing_zeros() >= self.part_bits {
                run.directory.extend_from_slice(&self.entry.to_le_bytes());
            }
            let (fingerprints, ordinals) = (run.fingerprints.len(), run.ordinals.len());
            run.fingerprints.resize(fingerprints + 2 * part.len(), 0);
            run.ordinals.resize(ordinals + 4 * part.len(), 0);
            let fingerprints = run.fingerprints[fingerprints..].chunks_exact_mut(2);
            let ordinals = run.ordinals[ordinals..].chunks_exact_mut(4);
            for ((fingerprint, ordinal), entry) in fingerprints.zip(ordinals).zip(part) {
                let bytes = entry.to_le_bytes();
                fingerprint.copy_from_slice(&bytes[4..6]);
                ordinal.copy_from_slice(&bytes[..4]);
            }
            self.entry = end;
            self.part += 1;
        }
        if self.part == self.part_end {
            self.end_range(run);
        }
    }

    fn end_range(&mut self, run: &mut Run) {
        if self.part_end < self.parts() {
            self.begin_range(self.part_end, self.entry);
            return;
        }
        run.ends_table = true;
        run.directory.extend_from_slice(&self.docs.to_le_bytes());
        self.table += 1;
        if self.table == self.tables {
            self.begin_batch(self.first + self.tables);
        } else {
            self.sort_collected();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, shape};
    use super::*;

    /// Directory, fingerprints and ordinals of a table, as the format says.
    fn by_definition(keys: &[u64], groups: u32) -> [Vec<u8>; 3] {
        let entry = |(ordinal, key): (u32, &u64)| {
            let product = u128::from(*key) * u128::from(groups);
            let part = |bits: u128| u32::try_from(bits & 0xffff_ffff).expect("32 bits");
            (part(product >> 64), part(product >> 48 & 0xffff), ordinal)
        };
        let mut entries: Vec<(u32, u32, u32)> = (0..).zip(keys).map(entry).collect();
        entries.sort_unstable();
        let begins = (0..=groups).map(|group| {
            let before = entries.partition_point(|entry| entry.0 < group);
            u32::try_from(before).expect("few").to_le_bytes()
        });
        [
            begins.flatten().collect(),
            entries.iter().flat_map(|entry| entry.1.to_le_bytes()[..2].to_vec()).collect(),
            entries.iter().flat_map(|entry| entry.2.to_le_bytes()).collect(),
        ]
    }

    /// The same of both tables of an index of one band, as they are computed in so much memory.
    /// Each run must say where it belongs.
    fn computed(mut rebuild: Rebuild, signatures: &[u8], hashes: &[u64]) -> [[Vec<u8>; 3]; 2] {
        let mut out: [[Vec<u8>; 3]; 2] = Default::default();
        let mut run = Run::default();
        loop {
            match rebuild.need() {
                Need::Signatures { from } => rebuild.signatures(&signatures[8 * index(from)..]),
                Need::Keys { from } => rebuild.keys(&hashes[index(from)..]),
                Need::Emit => {
                    rebuild.emit(&mut run);
                    let [directory, fingerprints, ordinals] = &mut out[index(run.table)];
                    assert_eq!(directory.len(), 4 * index(run.first_group));
                    assert_eq!(ordinals.len(), 4 * index(run.first_entry));
                    directory.extend_from_slice(&run.directory);
                    fingerprints.extend_from_slice(&run.fingerprints);
                    ordinals.extend_from_slice(&run.ordinals);
                }
                Need::Done => return out,
            }
        }
    }

    #[test]
    fn tables_are_those_of_the_definition_whatever_the_memory() {
        let mut random = Random(3);
        for docs in [1, 19, 20, 63, 64, 127, 128, 129, 1000, 20_000_u32] {
            // A crowd of a third of them.
            let value = |random: &mut Random| random.next() * u64::from(random.below(3) > 0);
            let signatures: Vec<u8> =
                (0..docs).flat_map(|_| value(&mut random).to_le_bytes()).collect();
            let hashes: Vec<u64> = (0..docs).map(|_| value(&mut random)).collect();
            let keys: Vec<u64> = signatures.chunks(8).map(band_key).collect();
            for grouping in [Grouping::By20, Grouping::By64] {
                let groups = grouping.groups(docs);
                let expected = [by_definition(&keys, groups), by_definition(&hashes, groups)];
                for memory in [0, 600, 3_000, 50_000, 1 << 20] {
                    let rebuild = Rebuild::of(&shape(8, 8), docs, grouping, memory);
                    assert!(computed(rebuild, &signatures, &hashes) == expected);
                }
            }
        }
    }
}
