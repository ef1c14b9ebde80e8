//! A look-up in one bucket table, in steps.
//!
//! Each step asks the memory for what the next step will read (or, of a block not yet touched,
//! the system and the disk). So a batch takes the first step of all its look-ups, then the
//! second of all, and waits for memory once a step instead of once a look-up.

use super::checked::Checked;
use super::entries::Entries;
use super::first_touch::FirstTouch;
use super::reader::Segment;
use super::tables::{key_hash, split};
use super::window::{presumed, run_in, window_of};
use crate::Result;
use crate::format::blocks::STARTS_PER_BASE;
use crate::format::bytes::{index, wide};
use crate::sketch::Window;
use crate::storage::Map;
use std::ops::Range;

/// Longer groups than this are crowds: nothing is presumed of them, and what is asked for is their
/// beginning.
const GROUP_MAX: u32 = 128;

/// As a window's place: it is not at hand.
const NOT_AT_HAND: u64 = u64::MAX;

/// Ordinals asked for at once: who has more reads a long time anyway.
const ORDINALS_MAX: u32 = if cfg!(test) { 8 } else { 64 };

/// Keys looked up together: what they touch first is read together, so the more the better; but
/// what they have asked the memory for must fit into the first cache.
pub(crate) const LOOK_UPS_TOGETHER: usize = if cfg!(test) { 4 } else { 256 };

/// In which tables the keys of a list are looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tables {
    /// The first key in the first table, the second in the second, and so on.
    Bands,
    /// All in this one.
    One(u32),
}

/// One look-up on its way. Each step overwrites what the next one reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LookUp {
    /// Where lies what the next step reads: the group's words in the directory, its fingerprints.
    at: u64,
    /// Where the window of fingerprints begins in which this one is presumed.
    window: u64,
    /// The entries of the group.
    begin: u32,
    end: u32,
    fingerprint: u16,
}

impl LookUp {
    /// The entries of the group that have the fingerprint, if the window is at hand and tells.
    #[inline]
    fn presumed_run(&self, checked: Checked<'_>) -> Option<Range<u32>> {
        let group = self.at..self.at + 2 * u64::from(self.end - self.begin);
        run_in(checked.array(self.window)?, self.window, group, self.fingerprint)
    }
}

impl Segment {
    /// The first step: look-ups of these keys, as many; asks for the directories.
    #[inline(never)]
    pub(crate) fn look_up(
        &self,
        tables: Tables,
        keys: &[u64],
        first_touch: &mut FirstTouch,
        look_ups: &mut [LookUp],
    ) {
        let checked = self.blocks.checked();
        let [.., directories] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, keys);
        let (groups, stride) = (self.groups, step * self.layout.directory_stride);
        let mut directory = directories.offset + first * self.layout.directory_stride;
        for (look_up, key) in look_ups.iter_mut().zip(keys) {
            let (group, fingerprint) = split(*key, groups);
            look_up.at = directory + 4 * u64::from(group);
            look_up.fingerprint = fingerprint;
            checked.ask_for(look_up.at);
            directory += stride;
        }
        if !checked.is_all() {
            for look_up in look_ups {
                if checked.array::<8>(look_up.at).is_none() {
                    self.blocks.ask_first(look_up.at, 8, first_touch);
                }
            }
        }
    }

    /// The second step: where the groups' entries are; asks for their fingerprints.
    #[inline(never)]
    pub(crate) fn find_groups(
        &self,
        tables: Tables,
        first_touch: &mut FirstTouch,
        look_ups: &mut [LookUp],
    ) -> Result<()> {
        self.blocks.check_noted(first_touch);
        let checked = self.blocks.checked();
        let [.., first_table, _] = &self.layout.sections;
        let (first, step) = self.first_and_step(tables, look_ups);
        let mut table = first_table.offset + first * self.layout.table_stride;
        let (docs, stride) = (self.docs(), step * self.layout.table_stride);
        ask_for_groups(checked, table, stride, look_ups);
        let mut rest = look_ups;
        loop {
            let found = find_at_hand(checked, table, stride, docs, rest);
            let Some((first, others)) = rest[found..].split_first_mut() else { return Ok(()) };
            table += wide(found) * stride;
            self.find_slowly(table, first_touch, first)?;
            table += stride;
            rest = others;
        }
    }

    /// The second step of a look-up of which not all is at hand.
    #[inline(never)]
    fn find_slowly(
        &self,
        table: u64,
        first_touch: &mut FirstTouch,
        look_up: &mut LookUp,
    ) -> Result<()> {
        let (begin, end) = halves(self.blocks.array(look_up.at)?);
        if begin > end || end > self.docs() {
            let what = "group ends before it begins, or after its table";
            return Err(self.blocks.corrupt(look_up.at, what));
        }
        (look_up.begin, look_up.end) = (begin, end);
        (look_up.at, look_up.window) = (table + 2 * u64::from(begin), NOT_AT_HAND);
        if end > begin {
            let bytes = 2 * index((end - begin).min(GROUP_MAX));
            self.blocks.ask_first(look_up.at, bytes, first_touch);
        }
        Ok(())
    }

    /// The third step: which entries have the fingerprint, mostly none; asks for their ordinals.
    /// `first` is the number of the first look-up.
    #[inline(never)]
    pub(crate) fn match_fingerprints(
        &self,
        first: u32,
        first_touch: &mut FirstTouch,
        look_ups: &[LookUp],
        out: &mut Vec<Entries>,
    ) -> Result<()> {
        self.blocks.check_noted(first_touch);
        let checked = self.blocks.checked();
        let before = out.len();
        let mut is_known = true;
        for (look_up, number) in look_ups.iter().zip(first..) {
            match look_up.presumed_run(checked) {
                Some(run) if run.start == run.end => {}
                Some(run) => {
                    out.push(self.entries(checked, number, look_up, run, first_touch));
                }
                None => {
                    is_known = false;
                    // All that are to be looked at again are asked for first, whole.
                    let bytes = 2 * index((look_up.end - look_up.begin).min(GROUP_MAX));
                    self.blocks.ask_first(look_up.at, bytes, first_touch);
                    out.push(Entries { number, count: 0, at: 0 });
                }
            }
        }
        if is_known { Ok(()) } else { self.match_rest(first, first_touch, look_ups, before, out) }
    }

    /// The third step of the look-ups that are noted as not known, from the place `before` on.
    #[inline(never)]
    fn match_rest(
        &self,
        first: u32,
        first_touch: &mut FirstTouch,
        look_ups: &[LookUp],
        before: usize,
        out: &mut Vec<Entries>,
    ) -> Result<()> {
        let checked = self.blocks.checked();
        for entries in out[before..].iter_mut().filter(|entries| entries.count == 0) {
            let number = entries.number;
            let look_up = &look_ups[index(number - first)];
            let run = self.match_group(look_up)?;
            if run.start < run.end {
                *entries = self.entries(checked, number, look_up, run, first_touch);
            }
        }
        out.retain(|entries| entries.count > 0);
        Ok(())
    }

    /// Some entries of a look-up's group, which match; asks for their ordinals.
    #[inline]
    fn entries(
        &self,
        checked: Checked<'_>,
        number: u32,
        look_up: &LookUp,
        run: Range<u32>,
        first_touch: &mut FirstTouch,
    ) -> Entries {
        let count = run.end - run.start;
        // From the fingerprints of the group back to those of the table.
        let table = look_up.at - 2 * u64::from(look_up.begin);
        let ordinals = table + self.layout.table_ordinals;
        let at = ordinals + 4 * u64::from(look_up.begin + run.start);
        let bytes = 4 * index(count.min(ORDINALS_MAX));
        self.blocks.ask_of(checked, at, bytes, first_touch);
        Entries { number, count, at }
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
        let mut look_ups = vec![LookUp::default(); keys.len().min(LOOK_UPS_TOGETHER)];
        let mut matching = Vec::new();
        for (part, keys) in keys.chunks(LOOK_UPS_TOGETHER).enumerate() {
            let look_ups = &mut look_ups[..keys.len()];
            self.look_up(tables, keys, first_touch, look_ups);
            self.find_groups(tables, first_touch, look_ups)?;
            matching.clear();
            self.match_fingerprints(0, first_touch, look_ups, &mut matching)?;
            self.blocks.check_noted(first_touch);
            for entries in &matching {
                self.take_ordinals(entries, |ordinal| {
                    take(part * LOOK_UPS_TOGETHER + index(entries.number), ordinal);
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

    /// The entries of a group that have the fingerprint, whatever was presumed. They lie together:
    /// a group is in order.
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

/// Asks for the line of each fingerprint, where it is presumed: in a loop so short that the
/// processor has all of them on their way at once, and looks their pages up at once.
#[inline(never)]
fn ask_for_groups(checked: Checked<'_>, mut table: u64, stride: u64, look_ups: &[LookUp]) {
    for look_up in look_ups {
        if let Some(words) = checked.array(look_up.at) {
            let (begin, end) = halves(*words);
            let place = presumed(end.wrapping_sub(begin), look_up.fingerprint);
            checked.ask_for(table + 2 * (u64::from(begin) + place));
        }
        table += stride;
    }
}

/// The second step of as many look-ups as come before one that reads what was not checked before,
/// or makes no sense; how many they are.
#[inline(never)]
fn find_at_hand(
    checked: Checked<'_>,
    mut table: u64,
    stride: u64,
    docs: u32,
    look_ups: &mut [LookUp],
) -> usize {
    for (nth, look_up) in look_ups.iter_mut().enumerate() {
        let Some(words) = checked.array(look_up.at) else { return nth };
        let (begin, end) = halves(*words);
        let entries = end.wrapping_sub(begin);
        if begin > end || entries > GROUP_MAX || end > docs {
            return nth;
        }
        let at = table + 2 * u64::from(begin);
        let window = window_of(at, entries, look_up.fingerprint);
        let Some(bytes) = checked.array::<{ size_of::<Window>() }>(window) else { return nth };
        // The line that was presumed, once more, and the other one, if there is one.
        Map::prefetch(&bytes[0]);
        Map::prefetch(&bytes[bytes.len() - 1]);
        (look_up.begin, look_up.end, look_up.at, look_up.window) = (begin, end, at, window);
        table += stride;
    }
    look_ups.len()
}

/// The two integers of a group in the directory.
#[inline]
fn halves(words: [u8; 8]) -> (u32, u32) {
    let both = u64::from_le_bytes(words);
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(both), half(both >> 32))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Model, shape};
    use super::*;
    use crate::segment::ReadMode;
    use crate::storage::sim::Sim;

    #[test]
    fn each_step_asks_for_all_that_the_next_one_reads() {
        let disk: std::sync::Arc<dyn crate::storage::Storage> = std::sync::Arc::new(Sim::new());
        let model = Model::random(5, 2500, shape(24, 4), 3);
        let listed = model.build(&disk, "a".as_ref(), 1 << 20, 1 << 20).listed;
        for doc in (0..2500).step_by(100) {
            let opened = Segment::open(&*disk, "a".as_ref(), &listed, &model.shape, ReadMode::Mmap);
            let segment = opened.expect("opens");
            let asked = |at, bytes| segment.blocks.is_known_or_asked(at, bytes);
            let key = |band| model.table_key(band, doc);
            let keys: Vec<u64> = (0..model.shape.bands).map(key).collect();
            let (mut look_ups, mut out) = (vec![LookUp::default(); keys.len()], Vec::new());
            let touch = &mut FirstTouch::Take;
            segment.look_up(Tables::Bands, &keys, touch, &mut look_ups);
            assert!(look_ups.iter().all(|one| asked(one.at, 8)));
            segment.find_groups(Tables::Bands, touch, &mut look_ups).expect("sound");
            // A look-up mostly reads no more than the window, once it is in checked memory.
            for LookUp { at, window, begin, end, .. } in &look_ups {
                let bytes = 2 * index((end - begin).min(GROUP_MAX));
                assert!(*window != NOT_AT_HAND || bytes == 0 || asked(*at, bytes));
            }
            segment.match_fingerprints(0, touch, &look_ups, &mut out).expect("sound");
            let bytes = |entries: &Entries| 4 * index(entries.count.min(ORDINALS_MAX));
            assert!(out.iter().all(|entries| asked(entries.at, bytes(entries))));
            assert_eq!(out.len(), keys.len(), "each finds the document");
        }
    }
}
