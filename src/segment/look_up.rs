//! A look-up in one bucket table, in steps.
//!
//! Each step asks the memory (or, of a block not yet touched, the disk) for what the next step
//! will read. So whoever has many look-ups takes the first step of all, then the second of all,
//! and waits for memory once a step instead of once a look-up.

use super::reader::Segment;
use super::tables::{key_hash, split, u16_of, u32_of};
use crate::Result;
use crate::format::bytes::{index, wide};
use crate::sketch::holds;
use std::ops::Range;

/// A group longer than this is searched by halves first; up to it, a scan is faster.
const SCAN_ENTRIES: u32 = 128;

/// Keys looked up together.
const TOGETHER: usize = 32;

/// One look-up on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookUp {
    /// Where the directory's word of the group lies, then where the fingerprints of the table do.
    at: u64,
    table: u32,
    fingerprint: u16,
    /// The entries of the group, then those that match.
    begin: u32,
    end: u32,
}

impl Segment {
    /// The first step: look-ups of these keys, each in its table, the first in `table`; asks for
    /// the directories.
    #[inline]
    pub(crate) fn look_up(
        &self,
        tables: impl IntoIterator<Item = usize>,
        keys: &[u64],
        out: &mut Vec<LookUp>,
    ) {
        let [.., directories] = &self.layout.sections;
        for (table, key) in tables.into_iter().zip(keys) {
            let table = u32::try_from(table).unwrap_or(u32::MAX);
            assert!(table < self.properties.tables, "no such table");
            let (group, fingerprint) = split(*key, self.groups);
            let directory = u64::from(table) * self.layout.directory_stride;
            let at = directories.offset + directory + 4 * u64::from(group);
            self.blocks.ask_for(at, 8);
            out.push(LookUp { at, table, fingerprint, begin: 0, end: 0 });
        }
    }

    /// The second step: where the groups' entries are; asks for their fingerprints.
    #[inline]
    pub(crate) fn find_groups(&self, look_ups: &mut [LookUp]) -> Result<()> {
        let [.., tables, _] = &self.layout.sections;
        for look_up in look_ups {
            let words: [u8; 8] = self.blocks.array(look_up.at)?;
            let (begin, end) = (u32_of(&words), u32_of(&words[4..]));
            if begin > end || end > self.docs() {
                let what = "group ends before it begins, or after its table";
                return Err(self.blocks.corrupt(look_up.at, what));
            }
            look_up.at = tables.offset + u64::from(look_up.table) * self.layout.table_stride;
            (look_up.begin, look_up.end) = (begin, end);
            let bytes = 2 * index((end - begin).min(SCAN_ENTRIES));
            self.blocks.ask_for(look_up.at + 2 * u64::from(begin), bytes);
        }
        Ok(())
    }

    /// The third step: which entries have the fingerprint, mostly none; asks for their ordinals.
    #[inline]
    pub(crate) fn match_fingerprints(&self, look_ups: &mut [LookUp]) -> Result<()> {
        for look_up in look_ups {
            let group = look_up.begin..look_up.end;
            let matching = self.matching(look_up.at, group, look_up.fingerprint)?;
            (look_up.begin, look_up.end) = (matching.start, matching.end);
            if !matching.is_empty() {
                self.blocks.ask_for(self.ordinals_at(look_up), 4 * matching.len().min(16));
            }
        }
        Ok(())
    }

    /// The last step: the ordinals, ascending. They are candidates: the caller compares bytes.
    #[inline]
    pub(crate) fn take_ordinals(
        &self,
        look_up: &LookUp,
        mut take: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        if look_up.begin == look_up.end {
            return Ok(());
        }
        let at = self.ordinals_at(look_up);
        let bytes = self.blocks.read(at, index(look_up.end - look_up.begin) * 4)?;
        for entry in bytes.chunks_exact(4) {
            let ordinal = u32_of(entry);
            if ordinal >= self.docs() {
                return Err(self.blocks.corrupt(at, "bucket names a document that is not there"));
            }
            take(ordinal)?;
        }
        Ok(())
    }

    /// Asks for the signature of a document.
    #[inline]
    pub(crate) fn ask_for_signature(&self, ordinal: u32) {
        let stride = self.shape.signature_bytes;
        let [signatures, ..] = &self.layout.sections;
        self.blocks.ask_for(signatures.offset + wide(index(ordinal) * stride), stride);
    }

    /// Asks for what says where a document lies, and for its time.
    #[inline]
    pub(crate) fn ask_for_document(&self, ordinal: u32) {
        let [_, _, _, starts, times, ..] = &self.layout.sections;
        self.blocks.ask_for(starts.offset + 4 * u64::from(ordinal), 8);
        self.blocks.ask_for(times.offset + 8 * u64::from(ordinal), 8);
    }

    /// Asks for the key of a document and what follows it in its line of memory.
    #[inline]
    pub(crate) fn ask_for_key(&self, ordinal: u32) -> Result<()> {
        self.blocks.ask_for(self.documents().offset + self.start(ordinal)?, 64);
        Ok(())
    }

    /// Appends to `out`, ascending, the ordinals in table `table` whose group and fingerprint are
    /// those of `key`: all steps at once.
    pub(crate) fn bucket(&self, table: usize, key: u64, out: &mut Vec<u32>) -> Result<()> {
        self.look_up_all(table, &[key], &mut |_, ordinal| out.push(ordinal))
    }

    /// Looks many keys up in one table, some at a time together. `take` is told which of the keys
    /// has which candidate.
    pub(crate) fn look_up_all(
        &self,
        table: usize,
        keys: &[u64],
        take: &mut dyn FnMut(usize, u32),
    ) -> Result<()> {
        let mut look_ups = Vec::with_capacity(keys.len().min(TOGETHER));
        for (part, keys) in keys.chunks(TOGETHER).enumerate() {
            look_ups.clear();
            self.look_up(std::iter::repeat(table), keys, &mut look_ups);
            self.find_groups(&mut look_ups)?;
            self.match_fingerprints(&mut look_ups)?;
            for (at, look_up) in look_ups.iter().enumerate() {
                self.take_ordinals(look_up, |ordinal| {
                    take(part * TOGETHER + at, ordinal);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Appends to `out`, ascending, every document with exactly this key, dead or not.
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

    fn ordinals_at(&self, look_up: &LookUp) -> u64 {
        look_up.at + self.layout.table_ordinals + 4 * u64::from(look_up.begin)
    }

    /// The entries of a group with this fingerprint. They lie together: a group is in order.
    #[inline]
    fn matching(&self, base: u64, mut group: Range<u32>, wanted: u16) -> Result<Range<u32>> {
        if group.end - group.start > SCAN_ENTRIES {
            let begin = self.search(base, group.clone(), |fingerprint| fingerprint < wanted)?;
            let end = self.search(base, begin..group.end, |fingerprint| fingerprint <= wanted)?;
            return Ok(begin..end);
        }
        let count = index(group.end - group.start);
        let bytes = self.blocks.read(base + 2 * u64::from(group.start), count * 2)?;
        if !holds(&bytes, wanted) {
            group.end = group.start;
            return Ok(group);
        }
        let (mut less, mut equal) = (0_u16, 0_u16);
        for fingerprint in bytes.as_chunks::<2>().0 {
            let fingerprint = u16_of(fingerprint);
            less += u16::from(fingerprint < wanted);
            equal += u16::from(fingerprint == wanted);
        }
        group.start += u32::from(less);
        // Of a group out of order, which only a forged file has, this still stays within it.
        group.end = group.end.min(group.start + u32::from(equal));
        Ok(group)
    }

    /// The first entry of a range for which `before` is false.
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
