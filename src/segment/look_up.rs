//! A look-up in one bucket table, in steps.
//!
//! Each step asks the memory (or, of a block not yet touched, the disk) for what the next step
//! will read. So whoever has many look-ups takes the first step of all, then the second of all,
//! and waits for memory once a step instead of once a look-up.

use super::reader::Segment;
use super::tables::{key_hash, split, u16_of, u32_of};
use crate::Result;
use crate::format::bytes::{index, wide};
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
    /// The first step: the look-up of `key` in a table; asks for the directory.
    #[inline]
    pub(crate) fn look_up(&self, table: usize, key: u64) -> LookUp {
        let table = u32::try_from(table).unwrap_or(u32::MAX);
        assert!(table < self.properties.tables, "no such table");
        let (group, fingerprint) = split(key, self.groups);
        let [.., directories] = &self.layout.sections;
        let directory = u64::from(table) * self.layout.directory_stride;
        let at = directories.offset + directory + 4 * u64::from(group);
        self.blocks.ask_for(at, 8);
        LookUp { at, table, fingerprint, begin: 0, end: 0 }
    }

    /// The second step: where the group's entries are; asks for their fingerprints.
    #[inline]
    pub(crate) fn find_group(&self, look_up: &mut LookUp) -> Result<()> {
        let words: [u8; 8] = self.blocks.array(look_up.at)?;
        let (begin, end) = (u32_of(&words), u32_of(&words[4..]));
        if begin > end || end > self.docs() {
            let what = "group ends before it begins, or after its table";
            return Err(self.blocks.corrupt(look_up.at, what));
        }
        let [.., tables, _] = &self.layout.sections;
        look_up.at = tables.offset + u64::from(look_up.table) * self.layout.table_stride;
        (look_up.begin, look_up.end) = (begin, end);
        let bytes = 2 * index((end - begin).min(SCAN_ENTRIES));
        self.blocks.ask_for(look_up.at + 2 * u64::from(begin), bytes);
        Ok(())
    }

    /// The third step: which entries have the fingerprint, and whether any has; asks for their
    /// ordinals.
    #[inline]
    pub(crate) fn match_fingerprints(&self, look_up: &mut LookUp) -> Result<bool> {
        let group = look_up.begin..look_up.end;
        let matching = self.matching(look_up.at, group, look_up.fingerprint)?;
        (look_up.begin, look_up.end) = (matching.start, matching.end);
        if matching.is_empty() {
            return Ok(false);
        }
        self.blocks.ask_for(self.ordinals_at(look_up), 4 * matching.len().min(16));
        Ok(true)
    }

    /// The last step: the ordinals, ascending. They are candidates: the caller compares bytes.
    #[inline]
    pub(crate) fn take_ordinals(
        &self,
        look_up: &LookUp,
        mut take: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
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
        let mut look_up = self.look_up(table, key);
        self.find_group(&mut look_up)?;
        if !self.match_fingerprints(&mut look_up)? {
            return Ok(());
        }
        self.take_ordinals(&look_up, |ordinal| {
            out.push(ordinal);
            Ok(())
        })
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
            look_ups.extend(keys.iter().map(|key| self.look_up(table, *key)));
            for look_up in &mut look_ups {
                self.find_group(look_up)?;
            }
            for (at, look_up) in look_ups.iter_mut().enumerate() {
                if self.match_fingerprints(look_up)? {
                    self.take_ordinals(look_up, |ordinal| {
                        take(part * TOGETHER + at, ordinal);
                        Ok(())
                    })?;
                }
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
        if !any_equal(&bytes, wanted) {
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

/// Whether any of these fingerprints is the wanted one: mostly none is. Four at a time; the last
/// four may overlap the four before.
#[inline]
fn any_equal(fingerprints: &[u8], wanted: u16) -> bool {
    const ONES: u64 = 0x0001_0001_0001_0001;
    let pattern = ONES * u64::from(wanted);
    // Some bit is set if and only if one of the four differences is zero (Warren, Hacker's
    // Delight, section 6-1).
    let zero = |four: &[u8; 8]| {
        let differences = u64::from_le_bytes(*four) ^ pattern;
        differences.wrapping_sub(ONES) & !differences & (ONES << 15)
    };
    match fingerprints.last_chunk() {
        Some(last) => {
            let fours = fingerprints.as_chunks().0;
            fours.iter().fold(zero(last), |found, four| found | zero(four)) != 0
        }
        None => fingerprints.as_chunks::<2>().0.contains(&wanted.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::any_equal;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whether_any_is_equal_is_what_a_search_says(
            fingerprints in proptest::collection::vec(0_u16..9, 0..40),
            high in prop_oneof![Just(0_u16), Just(0x8000), Just(0xfff0)],
            wanted in 0_u16..9,
        ) {
            let bytes: Vec<u8> =
                fingerprints.iter().flat_map(|print| (print ^ high).to_le_bytes()).collect();
            prop_assert_eq!(any_equal(&bytes, wanted ^ high), fingerprints.contains(&wanted));
            prop_assert_eq!(any_equal(&bytes, wanted), fingerprints.contains(&(wanted ^ high)));
        }
    }
}
