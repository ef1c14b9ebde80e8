//! A look-up in one bucket table, in steps.
//!
//! Each step asks the memory for what the next step will read (or, of a block not yet touched,
//! the system and the disk). So whoever has many look-ups takes the first step of all, then the
//! second of all, and waits for memory once a step instead of once a look-up.

use super::checked::Checked;
use super::first_touch::FirstTouch;
use super::reader::Segment;
use super::tables::{key_hash, split};
use crate::Result;
use crate::format::blocks::STARTS_PER_BASE;
use crate::format::bytes::{index, wide};
use crate::sketch::{WINDOW, Window, equal_run, equal_run_of_ends};
use crate::storage::Map;
use std::borrow::Cow;
use std::ops::Range;

/// A group longer than this is searched by halves first; up to it, a scan is faster.
const SCAN_ENTRIES: u32 = 128;

/// Up to as many entries lie in their first window and their last.
const ENDS_ENTRIES: u32 = 32;
const _: () = assert!(ENDS_ENTRIES as usize == 2 * WINDOW);

/// Ordinals asked for at once: who has more reads a long time anyway.
const ORDINALS_MAX: u32 = 64;

/// Keys looked up together: what they touch first is read together, so the more the better; but
/// what they have asked the memory for must fit into the first cache.
pub(crate) const LOOK_UPS_TOGETHER: usize = 256;

/// In which tables the keys of a list are looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tables {
    /// The first key in the first table, the second in the second, and so on.
    Bands,
    /// All in this one.
    One(u32),
}

/// One look-up on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookUp<'a> {
    /// What the next step reads, if it can be had at once.
    next: Next<'a>,
    /// Where that lies.
    at: u64,
    /// The entries of the group, then those that match.
    begin: u32,
    end: u32,
    /// Once it matches: which of all look-ups it is.
    pub(crate) number: u32,
    fingerprint: u16,
}

/// What a look-up reads next.
#[derive(Debug, Clone, Copy)]
enum Next<'a> {
    /// The slow way: not checked yet, not mapped, too long, or in two blocks of a file of which
    /// not all were checked.
    Unknown,
    /// Where the group begins and where the next one does.
    Directory(&'a [u8; 8]),
    /// The first and the last window of the group's fingerprints.
    Fingerprints(&'a Window, &'a Window),
    Ordinals(&'a [u8]),
}

impl Segment {
    /// The first step: look-ups of these keys; asks for the directories.
    #[inline(never)]
    pub(crate) fn look_up<'a>(
        &'a self,
        tables: Tables,
        keys: &[u64],
        first_touch: &mut FirstTouch,
        out: &mut Vec<LookUp<'a>>,
    ) {
        let checked = self.blocks.checked();
        let [.., directories] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, keys);
        let (groups, stride) = (self.groups, step * self.layout.directory_stride);
        let mut directory = directories.offset + first * self.layout.directory_stride;
        out.extend(keys.iter().map(move |key| {
            let (group, fingerprint) = split(*key, groups);
            let at = directory + 4 * u64::from(group);
            directory += stride;
            let next = match checked.array(at) {
                Some(words) => {
                    Map::prefetch(&words[0]);
                    Next::Directory(words)
                }
                None => {
                    self.blocks.ask_first(at, 8, first_touch);
                    Next::Unknown
                }
            };
            LookUp { next, at, begin: 0, end: 0, number: 0, fingerprint }
        }));
    }

    /// The second step: where the groups' entries are; asks for their fingerprints.
    #[inline(never)]
    pub(crate) fn find_groups<'a>(
        &'a self,
        tables: Tables,
        first_touch: &mut FirstTouch,
        look_ups: &mut [LookUp<'a>],
    ) -> Result<()> {
        self.blocks.check_noted(first_touch);
        let checked = self.blocks.checked();
        let [.., first_table, _] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, look_ups);
        let mut table = first_table.offset + first * self.layout.table_stride;
        // First one line of each, in a loop so short that the processor has all of them on their
        // way at once, and looks their pages up at once.
        let mut ahead = table;
        for look_up in &*look_ups {
            if let Next::Directory(words) = look_up.next {
                checked.ask_for(ahead + 2 * u64::from(halves(*words).0));
            }
            ahead += step * self.layout.table_stride;
        }
        for look_up in look_ups {
            let (begin, end) = match look_up.next {
                Next::Directory(words) => halves(*words),
                _ => halves(self.blocks.array(look_up.at)?),
            };
            if begin > end || end > self.docs() {
                let what = "group ends before it begins, or after its table";
                return Err(self.blocks.corrupt(look_up.at, what));
            }
            (look_up.begin, look_up.end) = (begin, end);
            look_up.at = table + 2 * u64::from(begin);
            table += step * self.layout.table_stride;
            let entries = end - begin;
            if entries.wrapping_sub(1) < ENDS_ENTRIES
                && let Some((head, tail)) = checked.ends(look_up.at, 2 * index(entries))
            {
                look_up.next = Next::Fingerprints(head, tail);
                Map::prefetch(&head[0]);
                Map::prefetch(&tail[tail.len() - 1]);
            } else {
                look_up.next = Next::Unknown;
                self.ask_for_entries(look_up.at, entries, first_touch);
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn ask_for_entries(&self, at: u64, entries: u32, first_touch: &mut FirstTouch) {
        if entries > 0 {
            let bytes = 2 * index(entries.min(SCAN_ENTRIES));
            self.blocks.ask_first(at, bytes, first_touch);
        }
    }

    /// The third step: which entries have the fingerprint, mostly none; asks for their ordinals.
    /// Moves the look-ups that have some to the front, in order, says how many they are, and
    /// numbers them: `first` is the number of the first look-up.
    #[inline(never)]
    pub(crate) fn match_fingerprints<'a>(
        &'a self,
        first: u32,
        first_touch: &mut FirstTouch,
        look_ups: &mut [LookUp<'a>],
    ) -> Result<usize> {
        self.blocks.check_noted(first_touch);
        let checked = self.blocks.checked();
        let mut matching = 0;
        for (at, number) in (0..look_ups.len()).zip(first..) {
            let look_up = &look_ups[at];
            let LookUp { begin, end, fingerprint, .. } = *look_up;
            let run = match look_up.next {
                Next::Fingerprints(head, tail) => {
                    equal_run_of_ends(head, tail, end - begin, fingerprint)
                }
                _ => self.match_first(look_up)?,
            };
            if run.start < run.end {
                look_ups[matching] = self.matched(checked, look_up, run, number, first_touch);
                matching += 1;
            }
        }
        Ok(matching)
    }

    /// A look-up with these entries of its group, which are asked for.
    #[inline]
    fn matched<'a>(
        &'a self,
        checked: Checked<'a>,
        look_up: &LookUp<'a>,
        run: Range<u32>,
        number: u32,
        first_touch: &mut FirstTouch,
    ) -> LookUp<'a> {
        let (begin, end) = (look_up.begin + run.start, look_up.begin + run.end);
        // From the fingerprints of the group back to those of the table.
        let table = look_up.at - 2 * u64::from(look_up.begin);
        let at = table + self.layout.table_ordinals + 4 * u64::from(begin);
        let bytes = 4 * index((end - begin).min(ORDINALS_MAX));
        let next = match self.blocks.asked_of(checked, at, bytes, first_touch) {
            Some(ordinals) if end - begin <= ORDINALS_MAX => Next::Ordinals(ordinals),
            _ => Next::Unknown,
        };
        LookUp { next, at, begin, end, number, ..*look_up }
    }

    /// The last step: the ordinals, ascending. They are candidates: the caller compares bytes.
    #[inline]
    pub(crate) fn take_ordinals(
        &self,
        look_up: &LookUp<'_>,
        mut take: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        let bytes = match look_up.next {
            Next::Ordinals(ordinals) => Cow::Borrowed(ordinals),
            _ => self.blocks.read(look_up.at, index(look_up.end - look_up.begin) * 4)?,
        };
        for entry in bytes.as_chunks::<4>().0 {
            let ordinal = u32::from_le_bytes(*entry);
            if ordinal >= self.docs() {
                let what = "bucket names a document that is not there";
                return Err(self.blocks.corrupt(look_up.at, what));
            }
            take(ordinal)?;
        }
        Ok(())
    }

    /// The first table, and how far it is from each to the next.
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
        let [_, _, bases, starts, times, ..] = &self.layout.sections;
        self.blocks.ask_for(bases.offset + 8 * u64::from(ordinal / STARTS_PER_BASE), 8);
        self.blocks.ask_for(starts.offset + 4 * u64::from(ordinal), 8);
        self.blocks.ask_for(times.offset + 8 * u64::from(ordinal), 8);
    }

    /// Asks for what says where a document lies, as one of many.
    #[inline]
    pub(crate) fn ask_for_start(&self, ordinal: u32, first_touch: &mut FirstTouch) {
        let [_, _, _, starts, ..] = &self.layout.sections;
        // Up to the next one's, but for the last.
        let bytes = if ordinal + 1 < self.docs() { 8 } else { 4 };
        let at = starts.offset + 4 * u64::from(ordinal);
        self.blocks.ask_for_of_many(at, bytes, first_touch);
    }

    /// Asks for the key of a document, as one of many.
    #[inline]
    pub(crate) fn ask_for_key_of_many(
        &self,
        ordinal: u32,
        first_touch: &mut FirstTouch,
    ) -> Result<()> {
        let at = self.documents().offset.saturating_add(self.start(ordinal)?);
        self.blocks.ask_for_of_many(at, 64, first_touch);
        Ok(())
    }

    /// Reads and checks what was noted.
    #[inline]
    pub(crate) fn check_noted(&self, first_touch: &mut FirstTouch) {
        self.blocks.check_noted(first_touch);
    }

    /// Asks for the key of a document and what follows it in its line of memory.
    #[inline]
    pub(crate) fn ask_for_key(&self, ordinal: u32) -> Result<()> {
        self.blocks.ask_for(self.documents().offset.saturating_add(self.start(ordinal)?), 64);
        Ok(())
    }

    /// The same of a document that may not be wanted after all: only where it costs neither a
    /// read nor a wait for the disk, and the first line.
    #[inline]
    pub(crate) fn ask_for_key_at_hand(&self, ordinal: u32) {
        let checked = self.blocks.checked();
        let [_, documents, bases, starts, ..] = &self.layout.sections;
        let base = checked.array(bases.offset + 8 * u64::from(ordinal / STARTS_PER_BASE));
        let start = checked.array(starts.offset + 4 * u64::from(ordinal));
        if let (Some(base), Some(start)) = (base, start) {
            let start = u64::from_le_bytes(*base).saturating_add(u32::from_le_bytes(*start).into());
            checked.ask_for(documents.offset.saturating_add(start));
        }
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
        let tables = Tables::One(u32::try_from(table).unwrap_or(u32::MAX));
        let first_touch = &mut FirstTouch::of(keys.len());
        let mut look_ups = Vec::with_capacity(keys.len().min(LOOK_UPS_TOGETHER));
        for (part, keys) in keys.chunks(LOOK_UPS_TOGETHER).enumerate() {
            look_ups.clear();
            self.look_up(tables, keys, first_touch, &mut look_ups);
            self.find_groups(tables, first_touch, &mut look_ups)?;
            let matching = self.match_fingerprints(0, first_touch, &mut look_ups)?;
            self.blocks.check_noted(first_touch);
            for look_up in &look_ups[..matching] {
                self.take_ordinals(look_up, |ordinal| {
                    take(part * LOOK_UPS_TOGETHER + index(look_up.number), ordinal);
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

    /// The third step where the fingerprints are not at hand. Entries of one fingerprint lie
    /// together: a group is in order.
    #[inline(never)]
    fn match_first(&self, look_up: &LookUp<'_>) -> Result<Range<u32>> {
        let LookUp { at, begin, end, fingerprint: wanted, .. } = *look_up;
        let entries = end - begin;
        if entries > SCAN_ENTRIES {
            let first = self.search(at, 0..entries, |fingerprint| fingerprint < wanted)?;
            return Ok(first..self.search(at, first..entries, |other| other <= wanted)?);
        }
        if entries == 0 {
            return Ok(0..0);
        }
        Ok(equal_run(&self.blocks.read(at, 2 * index(entries))?, wanted))
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

/// The two integers of a group in the directory.
#[inline]
fn halves(words: [u8; 8]) -> (u32, u32) {
    let both = u64::from_le_bytes(words);
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(both), half(both >> 32))
}
