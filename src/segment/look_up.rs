//! A look-up in one bucket table, in steps.
//!
//! Each step prefetches what the next step reads. A batch does the first step of all its look-ups,
//! then the second, and so waits for memory once per step instead of once per look-up. In a
//! verified segment the steps read plain memory. In an unverified one they verify and read the
//! blocks that the previous step requested from the disk.

use super::blocks::VerifiedBody;
use super::interpolation::{LINE, presumed, run_in, window_of};
use super::reader::Segment;
use super::tables::{key_hash, split};
use crate::format::blocks::STARTS_PER_BASE;
use crate::format::bytes::{index, wide};
use crate::{Error, Result};
use nearkin_sketch::engine::BitWindow;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of entries of a group for which all fingerprints are prefetched. Longer groups
/// belong to crowds; only their beginning is prefetched.
const GROUP_MAX: u32 = 128;

/// Maximum number of ordinals to prefetch. A longer list is read sequentially anyway.
const ORDINALS_MAX: u32 = small!(look_up::ORDINALS_MAX, 64);

/// Number of keys per batch of look-ups. More keys overlap more cache misses, but the prefetched
/// lines must fit into the L1 cache.
pub(crate) const LOOK_UPS_TOGETHER: usize = small!(look_up::LOOK_UPS_TOGETHER, 256);

/// The tables in which a list of keys is looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tables {
    /// The first key in the first table, the second in the second, and so on.
    Bands,
    /// All keys in this table.
    One(u32),
}

/// A look-up in progress. Each step overwrites the fields with the input of the next step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LookUp {
    /// Offset of the bytes that the next step reads: the two words of the group in the directory,
    /// or the group's fingerprints.
    at: u64,
    /// File offset of the window in which the fingerprint is predicted.
    window: u64,
    /// The range of the group's entries in its table.
    begin: u32,
    end: u32,
    fingerprint: u16,
}

/// The matching entries of a look-up, at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries {
    /// Index of the look-up.
    pub(crate) number: u32,
    /// Number of entries, and file offset of their ordinals.
    count: u32,
    at: u64,
}

impl Entries {
    /// Number of entries.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// These entries, but at most the first `count` of them.
    #[inline]
    pub(crate) fn first(self, count: u32) -> Self {
        Self { count: self.count.min(count), ..self }
    }

    /// The byte range of the ordinals to prefetch.
    fn extent(&self) -> (u64, usize) {
        (self.at, 4 * index(self.count.min(ORDINALS_MAX)))
    }
}

impl LookUp {
    /// The byte range of the group's two words in the directory.
    fn words(&self) -> (u64, usize) {
        (self.at, 8)
    }

    /// The byte range of the group's fingerprints to prefetch.
    fn group(&self) -> (u64, usize) {
        (self.at, 2 * index((self.end - self.begin).min(GROUP_MAX)))
    }

    /// Sets the range of the group's entries, for a table whose fingerprints start at `table`.
    /// Returns false if the range is invalid.
    #[inline]
    fn set_group(&mut self, (begin, end): (u32, u32), table: u64, docs: u32) -> bool {
        (self.begin, self.end) = (begin, end);
        self.at = table + 2 * u64::from(begin);
        self.window = window_of(self.at, end.wrapping_sub(begin), self.fingerprint);
        begin <= end && end <= docs
    }

    /// The range of the group's entries that have the fingerprint. `None` if the window does not
    /// determine it.
    #[inline]
    fn presumed_run(&self, window: &BitWindow) -> Option<Range<u32>> {
        let group = self.at..self.at + 2 * u64::from(self.end - self.begin);
        run_in(window, self.window, group, self.fingerprint)
    }
}

impl Segment {
    /// Step 1: starts one look-up per key, and prefetches each group's words in the directory.
    #[inline(never)]
    pub(crate) fn look_up(&self, tables: Tables, keys: &[u64], look_ups: &mut [LookUp]) {
        let [.., directories] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, keys);
        let (groups, stride) = (self.groups, step * self.layout.directory_stride);
        let mut directory = directories.offset + first * self.layout.directory_stride;
        let body = self.blocks.verified();
        for (look_up, key) in look_ups.iter_mut().zip(keys) {
            let (group, fingerprint) = split(*key, groups);
            look_up.at = directory + 4 * u64::from(group);
            look_up.fingerprint = fingerprint;
            if let Some(body) = body {
                body.prefetch(look_up.at);
            }
            directory += stride;
        }
        if body.is_none() {
            self.blocks.request(look_ups.iter().map(LookUp::words));
        }
    }

    /// Step 2: reads the range of each group, and prefetches the group's fingerprints.
    #[inline(never)]
    pub(crate) fn find_groups(&self, tables: Tables, look_ups: &mut [LookUp]) -> Result<()> {
        let [.., first_table, _] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, look_ups);
        let (table, stride) = (
            first_table.offset + first * self.layout.table_stride,
            step * self.layout.table_stride,
        );
        let Some(body) = self.blocks.verified() else {
            return self.find_groups_unverified(table, stride, look_ups);
        };
        prefetch_groups(body, table, stride, look_ups);
        match find_groups(body, table, stride, self.docs(), look_ups) {
            None => Ok(()),
            Some(at) => Err(self.no_such_group(at)),
        }
    }

    fn find_groups_unverified(
        &self,
        mut table: u64,
        stride: u64,
        look_ups: &mut [LookUp],
    ) -> Result<()> {
        self.blocks.check_extents(look_ups.iter().map(LookUp::words))?;
        for look_up in &mut *look_ups {
            let at = look_up.at;
            if !look_up.set_group(halves(self.blocks.array(at)?), table, self.docs()) {
                return Err(self.no_such_group(at));
            }
            table += stride;
        }
        self.blocks.request(look_ups.iter().map(LookUp::group));
        Ok(())
    }

    #[cold]
    fn no_such_group(&self, at: u64) -> Error {
        self.blocks.corrupt(at, "group ends before it begins, or after its table")
    }

    /// Step 3: finds the entries with the fingerprint, usually none, and prefetches their ordinals.
    /// `first` is the [`Entries::number`] of the first look-up; the others follow consecutively.
    #[inline(never)]
    pub(crate) fn match_fingerprints(
        &self,
        first: u32,
        look_ups: &[LookUp],
        out: &mut Vec<Entries>,
    ) -> Result<()> {
        let Some(body) = self.blocks.verified() else {
            return self.match_unverified(first, look_ups, out);
        };
        for (look_up, number) in look_ups.iter().zip(first..) {
            let window = body.array(look_up.window);
            let run = match window.and_then(|window| look_up.presumed_run(window)) {
                Some(run) => run,
                None => self.match_group(look_up)?,
            };
            if run.start < run.end {
                let entries = self.entries(number, look_up, run);
                let (at, count) = entries.extent();
                body.prefetch(at);
                body.prefetch(at + wide(count) - 1);
                out.push(entries);
            }
        }
        Ok(())
    }

    fn match_unverified(
        &self,
        first: u32,
        look_ups: &[LookUp],
        out: &mut Vec<Entries>,
    ) -> Result<()> {
        self.blocks.check_extents(look_ups.iter().map(LookUp::group))?;
        let before = out.len();
        for (look_up, number) in look_ups.iter().zip(first..) {
            // At the end of the body, a window may extend beyond the body even if the group does
            // not. Then the whole group is searched.
            let window = self.blocks.array(look_up.window).ok();
            let run = match window.and_then(|window| look_up.presumed_run(&window)) {
                Some(run) => run,
                None => self.match_group(look_up)?,
            };
            if run.start < run.end {
                out.push(self.entries(number, look_up, run));
            }
        }
        self.blocks.request(out[before..].iter().map(Entries::extent));
        Ok(())
    }

    /// Makes the [`Entries`] of look-up `number`. `run` is the range of the matching entries,
    /// counted from the start of the group.
    #[inline]
    fn entries(&self, number: u32, look_up: &LookUp, run: Range<u32>) -> Entries {
        // Start of the table: `at` is the offset of the group's first fingerprint.
        let table = look_up.at - 2 * u64::from(look_up.begin);
        let ordinals = table + self.layout.table_ordinals;
        let at = ordinals + 4 * u64::from(look_up.begin + run.start);
        Entries { number, count: run.end - run.start, at }
    }

    /// Number of the first table, and difference between the table numbers of consecutive look-ups.
    #[inline]
    fn first_and_step<T>(&self, tables: Tables, look_ups: &[T]) -> (u64, u64) {
        let (first, step) = match tables {
            Tables::Bands => (0, 1),
            Tables::One(table) => (u64::from(table), 0),
        };
        let last = first + step * wide(look_ups.len().saturating_sub(1));
        assert!(last < u64::from(self.properties.tables), "no such table");
        (first, step)
    }

    /// Step 4: calls `take` with the ordinals, ascending. They are candidates: the caller compares
    /// bytes.
    #[inline]
    pub(crate) fn take_ordinals(
        &self,
        entries: &Entries,
        mut take: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        for ordinal in self.ordinals(entries)?.as_chunks::<4>().0 {
            let ordinal = u32::from_le_bytes(*ordinal);
            if ordinal >= self.docs() {
                return Err(self.no_such_document(entries));
            }
            take(ordinal)?;
        }
        Ok(())
    }

    /// The bytes of the ordinals, 4 per ordinal, ascending. The ordinals are not yet checked
    /// against the number of documents.
    #[inline]
    pub(crate) fn ordinals(&self, entries: &Entries) -> Result<Cow<'_, [u8]>> {
        self.blocks.read(entries.at, index(entries.count) * 4)
    }

    /// The error for an ordinal that is out of range.
    #[cold]
    pub(crate) fn no_such_document(&self, entries: &Entries) -> Error {
        self.blocks.corrupt(entries.at, "a bucket refers to a document that does not exist")
    }

    /// Prefetches the signature of a document.
    #[inline]
    pub(crate) fn prefetch_signature(&self, ordinal: u32) {
        let stride = self.shape.signature_bytes;
        let [signatures, ..] = &self.layout.sections;
        self.blocks.prefetch(signatures.offset + wide(index(ordinal) * stride), stride);
    }

    /// Prefetches the start offset of a document, and its time.
    #[inline]
    pub(crate) fn prefetch_document(&self, ordinal: u32) {
        let [_, _, _, _, times, ..] = &self.layout.sections;
        self.prefetch_start(ordinal);
        self.blocks.prefetch(times.offset + 8 * u64::from(ordinal), 8);
    }

    /// Prefetches the start offset of a document. Prefetch nothing that is not read afterwards: in
    /// an unverified segment this is a system call each time, until a read verifies the block.
    #[inline]
    pub(crate) fn prefetch_start(&self, ordinal: u32) {
        let [_, _, bases, starts, ..] = &self.layout.sections;
        self.blocks.prefetch(bases.offset + 8 * u64::from(ordinal / STARTS_PER_BASE), 8);
        self.blocks.prefetch(starts.offset + 4 * u64::from(ordinal), 8);
    }

    /// Prefetches the key of a document and the rest of its cache line.
    #[inline]
    pub(crate) fn prefetch_key(&self, ordinal: u32) -> Result<()> {
        self.blocks.prefetch(self.documents().offset.saturating_add(self.start(ordinal)?), 64);
        Ok(())
    }

    /// Like `prefetch_key`, for a document that may not be needed. Does nothing unless the segment
    /// is verified.
    #[inline]
    pub(crate) fn prefetch_key_if_verified(&self, ordinal: u32) {
        let Some(body) = self.blocks.verified() else { return };
        let [_, documents, bases, starts, ..] = &self.layout.sections;
        let base = body.array(bases.offset + 8 * u64::from(ordinal / STARTS_PER_BASE));
        let start = body.array(starts.offset + 4 * u64::from(ordinal));
        if let (Some(base), Some(start)) = (base, start) {
            let start = u64::from_le_bytes(*base).saturating_add(u32::from_le_bytes(*start).into());
            body.prefetch(documents.offset.saturating_add(start));
        }
    }

    /// Prefetches the keys of many documents. In an unverified segment, also verifies their blocks.
    pub(crate) fn prefetch_keys(&self, ordinals: impl Iterator<Item = u32> + Clone) -> Result<()> {
        let [_, _, _, starts, ..] = &self.layout.sections;
        // The bytes that hold the start of the document, and that of the next document if there is
        // one.
        let start = |ordinal: u32| {
            let bytes = if ordinal + 1 < self.docs() { 8 } else { 4 };
            (starts.offset + 4 * u64::from(ordinal), bytes)
        };
        if self.blocks.verified().is_some() {
            ordinals.clone().map(start).for_each(|(at, bytes)| self.blocks.prefetch(at, bytes));
            return ordinals.into_iter().try_for_each(|ordinal| self.prefetch_key(ordinal));
        }
        self.blocks.request(ordinals.clone().map(start));
        self.blocks.check_extents(ordinals.clone().map(start))?;
        let documents = self.documents().offset;
        let key = |ordinal| Ok((documents.saturating_add(self.start(ordinal)?), 64));
        let keys = ordinals.map(key).collect::<Result<Vec<_>>>()?;
        self.blocks.request(keys.iter().copied());
        self.blocks.check_extents(keys.into_iter())
    }

    /// Appends to `out`, ascending, the ordinals in table `table` whose group and fingerprint equal
    /// those of `key`. Runs all steps for one key.
    pub(crate) fn bucket(&self, table: usize, key: u64, out: &mut Vec<u32>) -> Result<()> {
        self.look_up_all(table, &[key], &mut |_, ordinal| out.push(ordinal))
    }

    /// Looks up many keys in one table, batch by batch. Calls `take` for each candidate, with the
    /// index of the key and the ordinal of the candidate.
    pub(crate) fn look_up_all(
        &self,
        table: usize,
        keys: &[u64],
        take: &mut dyn FnMut(usize, u32),
    ) -> Result<()> {
        let tables = Tables::One(u32::try_from(table).unwrap_or(u32::MAX));
        let mut look_ups = vec![LookUp::default(); keys.len().min(LOOK_UPS_TOGETHER)];
        let mut matching = Vec::new();
        for (part, keys) in keys.chunks(LOOK_UPS_TOGETHER).enumerate() {
            let look_ups = &mut look_ups[..keys.len()];
            self.look_up(tables, keys, look_ups);
            self.find_groups(tables, look_ups)?;
            matching.clear();
            self.match_fingerprints(0, look_ups, &mut matching)?;
            for entries in &matching {
                self.take_ordinals(entries, |ordinal| {
                    take(part * LOOK_UPS_TOGETHER + index(entries.number), ordinal);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Appends to `out`, ascending, all documents with exactly this key, live or dead.
    pub(crate) fn find_key(&self, key: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let first = out.len();
        self.bucket(self.shape.bands, key_hash(key, self.shape.key_seed), out)?;
        let mut kept = first;
        for candidate in first..out.len() {
            let ordinal = out[candidate];
            if self.has_key(ordinal, key)? {
                out[kept] = ordinal;
                kept += 1;
            }
        }
        out.truncate(kept);
        Ok(())
    }

    /// Finds the entries of the group that have the fingerprint, by binary search. They are
    /// consecutive, because a group is sorted.
    fn match_group(&self, look_up: &LookUp) -> Result<Range<u32>> {
        let LookUp { at, begin, end, fingerprint: wanted, .. } = *look_up;
        let entries = end - begin;
        if entries > GROUP_MAX {
            let first = self.search(at, 0..entries, |fingerprint| fingerprint < wanted)?;
            return Ok(first..self.search(at, first..entries, |other| other <= wanted)?);
        }
        if entries == 0 {
            return Ok(0..0);
        }
        let bytes = self.blocks.read(at, 2 * index(entries))?;
        let fingerprints = bytes.as_chunks().0;
        let until = |is_before: &dyn Fn(u16) -> bool| {
            let count = fingerprints.partition_point(|bytes| is_before(u16::from_le_bytes(*bytes)));
            u32::try_from(count).unwrap_or(entries)
        };
        Ok(until(&|other| other < wanted)..until(&|other| other <= wanted))
    }

    /// Binary search: the first entry of a range for which `before` returns false.
    #[cold]
    fn search(&self, base: u64, range: Range<u32>, before: impl Fn(u16) -> bool) -> Result<u32> {
        let (mut begin, mut end) = (range.start, range.end);
        while begin < end {
            let middle = begin + (end - begin) / 2;
            let at = base + 2 * u64::from(middle);
            if before(u16::from_le_bytes(self.blocks.array(at)?)) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(begin)
    }
}

/// Prefetches the predicted cache line of each fingerprint. The loop is short, so that the
/// processor overlaps all cache and TLB misses.
#[inline(never)]
fn prefetch_groups(body: VerifiedBody<'_>, mut table: u64, stride: u64, look_ups: &[LookUp]) {
    for look_up in look_ups {
        if let Some(words) = body.array(look_up.at) {
            let (begin, end) = halves(*words);
            let place = presumed(end.wrapping_sub(begin), look_up.fingerprint);
            body.prefetch(table + 2 * (u64::from(begin) + place));
        }
        table += stride;
    }
}

/// Step 2 in verified memory. If a group is invalid, returns the offset of its words in the
/// directory.
#[inline(never)]
fn find_groups(
    body: VerifiedBody<'_>,
    mut table: u64,
    stride: u64,
    docs: u32,
    look_ups: &mut [LookUp],
) -> Option<u64> {
    for look_up in look_ups {
        let at = look_up.at;
        let Some(words) = body.array(at) else { return Some(at) };
        if !look_up.set_group(halves(*words), table, docs) {
            return Some(at);
        }
        // The predicted line; also the second line of the window, if the window covers two.
        body.prefetch(look_up.window);
        body.prefetch(look_up.window + LINE - 1);
        table += stride;
    }
    None
}

/// The start and end of a group, from its words in the directory.
#[inline]
fn halves(words: [u8; 8]) -> (u32, u32) {
    let both = u64::from_le_bytes(words);
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(both), half(both >> 32))
}
