//! The sweep: all pairs of documents that share a band. It walks the bucket tables of all segments
//! in parallel, band by band.
//!
//! The entries of a table are sorted by ranges of BandKeys. Two documents with the same BandKey
//! have overlapping ranges, whatever their segments. If two ranges overlap, the signatures are
//! compared. A pair counts only at the first band that it shares, so the sweep need not remember
//! pairs. Only live documents take part.

use crate::format::bytes::wide;
use crate::index::read::alike::Alike;
use crate::index::read::answer::{Progress, ProgressReport};
use crate::index::read::conditions::Conditions;
use crate::index::read::margin::Margin;
use crate::index::read::selection::Hidden;
use crate::index::state::versions::{Place, Snapshot};
use crate::{Error, ErrorKind, Result};
use nearkin_sketch::engine::{Agreement, band_key, first_shared_band};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Approximate number of entries that are collected at once.
const ENTRIES: u64 = small!(sweep::ENTRIES, 1 << 16);
/// Number of pairs whose signatures are prefetched together.
pub(super) const BATCH_PAIRS: usize = small!(sweep::BATCH_PAIRS, 64);

/// A document, and the range of BandKeys that contains its own BandKey.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangeEntry {
    pub(super) key_first: u64,
    pub(super) key_last: u64,
    pub(super) place: Place,
}

/// Two documents that match each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacePair {
    pub(super) a: Place,
    pub(super) b: Place,
    pub(super) equal_rows: u32,
}

pub(super) struct Sweep {
    pub(super) snapshot: Snapshot,
    pub(super) alike: Alike,
    /// The documents that take no part; `None`: all take part.
    hidden: Option<Arc<Hidden>>,
    equal_rows_min: u32,
    /// Pairs with fewer equal rows than `equal_rows_min`, but at least this number, count as just
    /// below the threshold.
    equal_rows_near: u32,
    /// The pairs compared so far.
    margin: Margin,
    pub(super) band: usize,
    /// The BandKeys are divided into 2^`cut` ranges of equal width; this is the number of the next
    /// one.
    range: u64,
    pub(super) cut: u32,
    /// For each segment, the current group of its table.
    groups: Vec<u32>,
    /// The memtable's documents in this band with their BandKeys, descending.
    recent: Vec<(u64, u32)>,
    /// The width of the widest range of any entry.
    key_width: u64,
    /// The collected entries, sorted by `key_first`. They include entries of earlier ranges that
    /// may overlap later ones.
    pub(super) entries: Vec<RangeEntry>,
    /// The number of entries, at the beginning of `entries`, that only overlap entries already
    /// collected.
    complete: usize,
    /// Indices in `entries` of the next pair to compare.
    first: usize,
    second: usize,
    found: Vec<PlacePair>,
    collected: u64,
    total: u64,
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the search for pairs was cancelled")
}

impl Sweep {
    pub(super) fn new(snapshot: &Snapshot, alike: Alike) -> Self {
        let places = snapshot.place_count();
        let segments = &snapshot.state.segments;
        let widest = segments.iter().map(|live| live.segment.key_width()).max();
        Self {
            alike,
            hidden: None,
            equal_rows_min: alike.equal_rows_min(snapshot.params()),
            equal_rows_near: Margin::equal_rows_min(alike, snapshot.params()),
            margin: Margin::default(),
            band: 0,
            range: 0,
            // At most 2^32 ranges, so that their width stays above zero.
            cut: (places / ENTRIES).next_power_of_two().trailing_zeros().min(32),
            groups: vec![0; segments.len()],
            recent: Vec::new(),
            key_width: widest.unwrap_or(0),
            entries: Vec::new(),
            complete: 0,
            first: 0,
            second: 0,
            found: Vec::new(),
            collected: 0,
            total: places,
            snapshot: snapshot.clone(),
        }
    }

    /// A sweep over the documents that pass the conditions. `alike` is their condition of a pair.
    pub(super) fn by_conditions(
        snapshot: &Snapshot,
        alike: Alike,
        conditions: &Conditions<'_>,
        report: ProgressReport<'_>,
    ) -> Result<Self> {
        let mut sweep = Self::new(snapshot, alike);
        if let Some(selection) = &conditions.selection {
            let progress = sweep.progress();
            let hidden = Hidden::by_selection(snapshot, selection, &mut || report(progress))?;
            sweep.hidden = Some(Arc::new(hidden.ok_or_else(cancelled)?));
        }
        Ok(sweep)
    }

    /// The same sweep, from its beginning.
    pub(super) fn restarted(&self) -> Self {
        Self { hidden: self.hidden.clone(), ..Self::new(&self.snapshot, self.alike) }
    }

    /// How many of the pairs compared so far reach the threshold, and how many come close.
    pub(super) fn margin(&self) -> Margin {
        self.margin
    }

    fn is_hidden(&self, place: Place) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.is_set(place))
    }

    /// The progress in documents.
    pub(super) fn progress(&self) -> Progress {
        // The memtable may hold documents that are newer than the snapshot. `total` counts them,
        // but the sweep never collects them.
        let bands = wide(self.snapshot.params().bands());
        Progress { done: (self.collected / bands).min(self.total), total: self.total }
    }

    /// The next pair without a skipped document.
    pub(super) fn next(
        &mut self,
        skipped: &dyn Fn(Place) -> bool,
        report: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<PlacePair>> {
        loop {
            if let Some(pair) = self.found.pop() {
                return Ok(Some(pair));
            }
            if self.first < self.complete {
                self.meet()?;
            } else if !self.collect(skipped)? {
                return Ok(None);
            }
            if report(self.progress()).is_break() {
                return Err(cancelled());
            }
        }
    }

    /// Whether the band is done.
    fn band_is_done(&self) -> bool {
        self.range == 1 << self.cut
    }

    /// Collects the entries of the next range of keys. Returns false after the last range.
    pub(super) fn collect(&mut self, skipped: &dyn Fn(Place) -> bool) -> Result<bool> {
        if self.band_is_done() {
            self.band += 1;
            self.range = 0;
            self.entries.clear();
            self.groups.fill(0);
        } else {
            self.entries.drain(..self.complete);
        }
        (self.first, self.second, self.complete) = (0, 1, 0);
        if self.band == self.snapshot.params().bands() {
            return Ok(false);
        }
        if self.range == 0 {
            self.collect_recent();
        }
        self.range += 1;
        let last = self.band_is_done();
        let end = if last { None } else { Some(self.range << (64 - self.cut)) };
        self.collect_segments(end, skipped)?;
        let memtable = self.snapshot.state.segments.len();
        while let Some((key, ordinal)) =
            self.recent.pop_if(|(key, _)| end.is_none_or(|end| *key < end))
        {
            let place = Place { source: memtable, ordinal };
            self.collected += 1;
            if !skipped(place) && !self.is_hidden(place) {
                self.entries.push(RangeEntry { key_first: key, key_last: key, place });
            }
        }
        // The entries consist of sorted runs, for which a stable sort is fast.
        self.entries.sort_by_key(|entry| entry.key_first);
        self.complete = match end {
            None => self.entries.len(),
            Some(end) => {
                let certain = end.saturating_sub(self.key_width);
                self.entries.partition_point(|entry| entry.key_first < certain)
            }
        };
        Ok(true)
    }

    fn collect_segments(
        &mut self,
        end: Option<u64>,
        skipped: &dyn Fn(Place) -> bool,
    ) -> Result<()> {
        let Self { snapshot, groups, entries, collected, band, hidden, .. } = self;
        let is_hidden = |place| hidden.as_ref().is_some_and(|hidden| hidden.is_set(place));
        for (source, (live, next)) in snapshot.state.segments.iter().zip(groups).enumerate() {
            let deaths = live.dead.is_some() || snapshot.has_segment_deaths();
            live.segment.walk(*band, next, end, &mut |entry| {
                let place = Place { source, ordinal: entry.ordinal };
                *collected += 1;
                let takes_part = !skipped(place) && !is_hidden(place);
                if takes_part && (!deaths || snapshot.is_live(place)?) {
                    let crate::segment::TableEntry { key_first, key_last, .. } = entry;
                    entries.push(RangeEntry { key_first, key_last, place });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn collect_recent(&mut self) {
        let Snapshot { state, visible, .. } = &self.snapshot;
        let params = &state.params;
        let content = state.memtable.read();
        let band = self.band * params.band_bytes()..(self.band + 1) * params.band_bytes();
        let live = (0..content.document_count()).filter(|at| content.is_live(*at, *visible));
        let key = |ordinal| (band_key(&content.signature(ordinal)[band.clone()]), ordinal);
        self.recent.extend(live.map(key));
        self.recent.sort_unstable_by_key(|recent| std::cmp::Reverse(*recent));
    }

    /// Compares the next few pairs of entries with overlapping ranges.
    fn meet(&mut self) -> Result<()> {
        let mut pairs = [(0, 0); BATCH_PAIRS];
        let mut count = 0;
        while count < BATCH_PAIRS && self.first < self.complete {
            let key_last = self.entries[self.first].key_last;
            match self.entries.get(self.second) {
                Some(entry) if entry.key_first <= key_last => {
                    pairs[count] = (self.first, self.second);
                    count += 1;
                    self.second += 1;
                    self.snapshot.prefetch_signature(entry.place);
                    self.snapshot.prefetch_signature(self.entries[self.first].place);
                }
                _ => {
                    self.first += 1;
                    self.second = self.first + 1;
                }
            }
        }
        for (a, b) in &pairs[..count] {
            let (a, b) = (self.entries[*a].place, self.entries[*b].place);
            if let Some(equal_rows) = self.score(a, b)? {
                self.found.push(PlacePair { a, b, equal_rows });
            }
        }
        Ok(())
    }

    fn score(&mut self, a: Place, b: Place) -> Result<Option<u32>> {
        let params = self.snapshot.params();
        let (one, other) = (self.snapshot.signature_bytes(a)?, self.snapshot.signature_bytes(b)?);
        let agreement = Agreement::compare(&one, &other, params.lane_bits(), self.equal_rows_near);
        let rows = params.rows_per_band();
        let here = |agreement: &Agreement| {
            first_shared_band(agreement, self.band, rows) == Some(self.band)
        };
        let Some(agreement) = agreement.filter(here) else { return Ok(None) };
        let equal_rows = agreement.equal_rows();
        if equal_rows < self.equal_rows_min {
            self.margin.just_below += 1;
            return Ok(None);
        }
        if !self.snapshot.is_pair(self.alike, (a, b), equal_rows)? {
            return Ok(None);
        }
        self.margin.reached += 1;
        Ok(Some(equal_rows))
    }

    /// The collected entries that cannot overlap entries still to come, sorted by `key_first`.
    pub(super) fn complete(&self) -> &[RangeEntry] {
        &self.entries[..self.complete]
    }

    /// Whether the range of an entry overlaps that of the next entry.
    pub(super) fn meets_next(&self, at: usize) -> bool {
        let reaches = |pair: &[RangeEntry]| pair[1].key_first <= pair[0].key_last;
        self.entries.get(at..at + 2).is_some_and(reaches)
    }

    /// The document of an entry, if a neighbour has an overlapping range.
    pub(super) fn neighbour(&self, at: usize) -> Option<Place> {
        let met = self.meets_next(at) || at > 0 && self.meets_next(at - 1);
        self.entries.get(at).filter(|_| met).map(|entry| entry.place)
    }

    /// The collected entries that may share a BandKey with another entry.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = Place> + '_ {
        let mut reached = None;
        self.entries.iter().enumerate().filter_map(move |(at, entry)| {
            let met = reached.is_some_and(|reached| entry.key_first <= reached);
            reached = reached.max(Some(entry.key_last));
            let next = self.entries.get(at + 1);
            let meets = next.is_some_and(|next| next.key_first <= entry.key_last);
            (met || meets).then_some(entry.place)
        })
    }

    /// Whether the first band is still being walked.
    pub(super) fn in_first_band(&self) -> bool {
        self.band == 0 && !self.band_is_done()
    }
}

impl Snapshot {
    /// Whether two documents with this many equal rows are a pair.
    pub(super) fn is_pair(
        &self,
        alike: Alike,
        (a, b): (Place, Place),
        equal_rows: u32,
    ) -> Result<bool> {
        if !alike.asks_for_containment() {
            return Ok(true);
        }
        let counts = (self.shingle_count(a)?, self.shingle_count(b)?);
        Ok(alike.holds(self.params(), equal_rows, counts))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::index::state::options::{Durability, Maintenance};
    use crate::{Batch, Index, Options, Params};
    use nearkin_sketch::engine::signature_from_parts;

    /// An index with two segments and a memtable. Its documents have few different bands, and some
    /// are dead.
    pub(in crate::index::read) fn index(dir: &std::path::Path) -> Index {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let options =
            Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline);
        let index = Index::create(dir, &params, options).expect("a new folder");
        let mut random = 1_u64;
        for part in 0..3_u32 {
            let mut batch = Batch::new();
            for at in 0..300_u32 {
                let mut bytes = [0; 16];
                for byte in &mut bytes {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let noise = u8::from((random >> 33).is_multiple_of(8));
                    *byte = u8::try_from(at % 100).expect("small") + 100 * noise;
                }
                let signature = signature_from_parts(&params, 1, Box::new(bytes));
                batch = batch.insert((part * 1_000 + at).to_le_bytes(), &signature);
            }
            index.write(batch).expect("a disk with room");
            if part < 2 {
                index.flush().expect("a disk with room");
            }
        }
        for key in [3_u32, 40, 1_007] {
            index.remove(key.to_le_bytes()).expect("a disk with room");
        }
        index
    }

    pub(in crate::index::read) fn pairs(
        snapshot: &Snapshot,
        threshold: f64,
        cut: u32,
    ) -> Vec<(Place, Place, u32)> {
        let mut sweep = Sweep::new(snapshot, threshold.into());
        sweep.cut = cut;
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut pairs = Vec::new();
        while let Some(PlacePair { a, b, equal_rows }) =
            sweep.next(&|_| false, go_on).expect("sound files")
        {
            pairs.push((a.min(b), a.max(b), equal_rows));
        }
        pairs.sort_unstable();
        pairs
    }

    /// Test: the sweep finds the same pairs for every width of the collected ranges, even if it is
    /// less than the width of an entry's own range.
    #[test]
    fn no_pair_is_lost_between_two_ranges_of_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(&folder.path().join("x.nearkin"));
        let snapshot = index.snapshot();
        assert_eq!(snapshot.state.segments.len(), 2);
        let whole = pairs(&snapshot, 0.5, 0);
        let mut found = 0;
        for document in snapshot.iter() {
            let document = document.expect("sound files");
            found += snapshot.query_key(&document.key).threshold(0.5).run().expect("there").found;
        }
        assert_eq!(found, 2 * wide(whole.len()));
        assert!(whole.len() > 1_000, "{}", whole.len());
        for cut in [1, 7, 13, 17, 19] {
            assert!(pairs(&snapshot, 0.5, cut) == whole, "in 2^{cut} ranges");
        }
    }
}
