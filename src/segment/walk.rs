//! Iterates over a whole bucket table in order of its keys.
//!
//! A table does not store keys, but the group and fingerprint of an entry bound its key to a range.
//! So the tables of different segments can be merged.

use super::reader::Segment;
use super::tables::{split, u32_of};
use crate::Result;
use crate::format::bytes::index;

/// Number of groups per read: a few blocks of each section.
const GROUPS: u32 = small!(walk::GROUPS, 80);

/// Bounds of keys are computed with a rounded reciprocal instead of a division, which makes them
/// too low by less than this number.
const SLACK: u64 = 1 << 16;

/// A table entry: a document and the range that contains its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) key_first: u64,
    pub(crate) key_last: u64,
    pub(crate) ordinal: u32,
}

impl Segment {
    /// Iterates over table `table`, from group `*next` to the last group that may have keys below
    /// `end` (`None`: to the end of the table). Entries come in order of `key_first`; the last
    /// group may also contain entries beyond `end`.
    pub(crate) fn walk(
        &self,
        table: usize,
        next: &mut u32,
        end: Option<u64>,
        take: &mut dyn FnMut(TableEntry) -> Result<()>,
    ) -> Result<()> {
        let past = match end {
            Some(end) => (split(end, self.groups).0.saturating_add(1)).min(self.groups),
            None => self.groups,
        };
        while *next < past {
            let groups = *next..past.min(next.saturating_add(GROUPS));
            *next = groups.end;
            self.walk_groups(table, groups, take)?;
        }
        Ok(())
    }

    /// The maximum width of an entry's range of keys.
    pub(crate) fn key_width(&self) -> u64 {
        (u64::MAX >> 16) / u64::from(self.groups) + 2 * SLACK
    }

    fn walk_groups(
        &self,
        table: usize,
        groups: std::ops::Range<u32>,
        take: &mut dyn FnMut(TableEntry) -> Result<()>,
    ) -> Result<()> {
        let [.., tables, directories] = &self.layout.sections;
        let table = crate::format::bytes::wide(table);
        let at =
            directories.offset + table * self.layout.directory_stride + 4 * u64::from(groups.start);
        let directory = self.blocks.read(at, (index(groups.end - groups.start) + 1) * 4)?;
        let ends: Vec<u32> = directory.chunks_exact(4).map(u32_of).collect();
        let (first, last) = match (ends.first(), ends.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => return Ok(()),
        };
        if !ends.is_sorted() || last > self.docs() {
            return Err(self.blocks.corrupt(at, "groups are not in order, or beyond their table"));
        }
        let count = index(last - first);
        let base = tables.offset + table * self.layout.table_stride;
        let fingerprints = self.blocks.read(base + 2 * u64::from(first), count * 2)?;
        let at = base + self.layout.table_ordinals + 4 * u64::from(first);
        let ordinals = self.blocks.read(at, count * 4)?;
        let (fingerprints, ordinals) = (fingerprints.as_chunks().0, ordinals.as_chunks().0);
        let reciprocal = (1_u128 << 80) / u128::from(self.groups);
        // A lower bound of the least key with this group and fingerprint. The bound is too low by
        // less than SLACK.
        let key = |place: u64| {
            let scaled = (u128::from(place) * reciprocal) >> 32;
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        for (group, bounds) in (u64::from(groups.start)..).zip(ends.windows(2)) {
            for entry in index(bounds[0] - first)..index(bounds[1] - first) {
                let place = group << 16 | u64::from(u16::from_le_bytes(fingerprints[entry]));
                let ordinal = u32::from_le_bytes(ordinals[entry]);
                if ordinal >= self.docs() {
                    let what = "a bucket refers to a document that does not exist";
                    return Err(self.blocks.corrupt(at, what));
                }
                let key_last = key(place + 1).saturating_add(SLACK);
                take(TableEntry { key_first: key(place), key_last, ordinal })?;
            }
        }
        Ok(())
    }
}
