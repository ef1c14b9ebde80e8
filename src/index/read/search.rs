//! The search that every question comes down to: which live documents satisfy the law for these
//! signatures?
//!
//! It goes in steps, each of which asks the memory for what the next will read, over all bands of
//! all segments (and of all signatures asked for together) at once.

use crate::format::bytes::index;
use crate::index::read::state::{Place, Snapshot, band_keys};
use crate::memtable::Walk;
use crate::segment::{FirstTouch, LookUp, Tables};
use crate::sketch::Agreement;
use crate::{Params, Result};

/// Look-ups on their way at once. More do not fit into the first cache beside what they read.
const LOOK_UPS_MAX: usize = 256;
/// Candidates whose signatures have been asked for at once.
const CANDIDATES_MAX: usize = 64;
/// Candidates, of those that wait together, that are taken for matches before they are compared, as
/// they mostly are where they are few: what a match is made of is asked for with the signature.
const PRESUMED_MAX: usize = 4;

/// A live document that satisfies the law for one of the signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Which of the signatures.
    pub(crate) probe: u32,
    pub(crate) place: Place,
    pub(crate) equal_rows: u32,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'s> {
    pub(super) signatures: &'s [&'s [u8]],
    equal_rows_min: u32,
    band_rows: usize,
    lane_bits: u32,
}

impl<'s> Asked<'s> {
    pub(super) fn new(params: &Params, signatures: &'s [&'s [u8]], equal_rows_min: u32) -> Self {
        let (band_rows, lane_bits) = (params.rows_per_band(), params.lane_bits());
        Self { signatures, equal_rows_min, band_rows, lane_bits }
    }

    /// The equal rows of a candidate that was found in `first_band` and in all up to `last_band`
    /// that it shares in truth, if it counts there: there are enough, and the first band that is
    /// really equal is one of those (else it counts where that one was looked up).
    #[inline]
    pub(super) fn score(&self, probe: u32, bands: (u32, u32), candidate: &[u8]) -> Option<u32> {
        let (bits, least) = (self.lane_bits, self.equal_rows_min);
        let agreement = Agreement::of(self.signatures[index(probe)], candidate, bits, least)?;
        let shared = first_shared_band(&agreement, index(bands.1), self.band_rows)?;
        (shared >= index(bands.0)).then(|| agreement.equal_rows())
    }
}

/// The first band, of `rows` rows each, that two signatures share, if it is not after `last`.
#[inline]
pub(super) fn first_shared_band(agreement: &Agreement, last: usize, rows: usize) -> Option<usize> {
    (0..=last).find(|band| agreement.all_equal(band * rows, rows))
}

/// A candidate whose signature has been asked for: it is compared once for all the bands it was
/// met in while it waited.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    place: Place,
    probe: u32,
    first_band: u32,
    last_band: u32,
}

/// One signature in one segment: of each signature in turn, all segments.
#[derive(Debug, Clone, Copy)]
struct Task {
    probe: usize,
    source: usize,
    segments: usize,
}

impl Task {
    fn of(number: usize, segments: usize) -> Self {
        Self { probe: number / segments, source: number % segments, segments }
    }

    #[inline]
    fn advance(&mut self) {
        self.source += 1;
        if self.source == self.segments {
            (self.probe, self.source) = (self.probe + 1, 0);
        }
    }
}

/// Searches of one snapshot, one after another; keeps its memory.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    snapshot: &'a Snapshot,
    bands: usize,
    /// Of each signature in turn.
    band_keys: Vec<u64>,
    /// Of each signature, for each segment, for each band.
    look_ups: Vec<LookUp<'a>>,
    candidates: Vec<Candidate>,
    found: Vec<Found>,
    walk: Walk,
    /// The most candidates each signature is compared with; those of several bands count several
    /// times.
    candidates_max: usize,
    bounds: Bounds,
}

/// How many candidates each signature may still be compared with, and whether it had more. Empty
/// if there is no bound, as nearly always.
#[derive(Debug, Default)]
struct Bounds(Vec<(usize, bool)>);

impl Bounds {
    /// Whether a signature may be compared with one more.
    #[inline]
    fn take_one(&mut self, probe: u32) -> bool {
        let Some((left, cut)) = self.0.get_mut(index(probe)) else { return true };
        let more = *left > 0;
        *left -= usize::from(more);
        *cut |= !more;
        more
    }
}

impl<'a> Search<'a> {
    /// `together` is how many signatures will be asked for at once.
    pub(crate) fn new(snapshot: &'a Snapshot, together: usize) -> Self {
        let bands = snapshot.params().bands();
        let look_ups = together * snapshot.state.segments.len() * bands;
        Self {
            snapshot,
            bands,
            band_keys: Vec::with_capacity(together * bands),
            look_ups: Vec::with_capacity(look_ups.min(LOOK_UPS_MAX)),
            candidates: Vec::new(),
            found: Vec::new(),
            walk: Walk::default(),
            candidates_max: usize::MAX,
            bounds: Bounds::default(),
        }
    }

    /// The same, with a bound on the candidates that each signature is compared with.
    pub(crate) fn bounded(mut self, candidates_max: usize) -> Self {
        self.candidates_max = candidates_max;
        self
    }

    /// Whether a signature of the last run had more candidates than it was compared with.
    pub(crate) fn is_cut(&self, probe: usize) -> bool {
        self.bounds.0.get(probe).is_some_and(|(_, cut)| *cut)
    }

    /// Every live document that satisfies the law for a signature, in order of the signatures;
    /// each once.
    pub(crate) fn run(
        &mut self,
        signatures: &[&[u8]],
        equal_rows_min: u32,
    ) -> Result<&mut Vec<Found>> {
        let asked = self.begin(signatures, equal_rows_min);
        self.ask_for_recent();
        self.search_segments(asked)?;
        self.search_memtable(asked);
        if signatures.len() > 1 {
            self.found.sort_unstable_by_key(|found| found.probe);
        }
        Ok(&mut self.found)
    }

    /// What segments hold that satisfies the law for a signature, but for deaths since the floor:
    /// it follows from the state alone, whatever change the snapshot sees. In order of the
    /// signatures, whose BandKeys are given. (What the memtable has tells
    /// [`Recent`](super::recent::Recent).)
    pub(crate) fn in_segments(
        &mut self,
        signatures: &[&[u8]],
        band_keys: &[u64],
        equal_rows_min: u32,
    ) -> Result<Vec<Found>> {
        let asked = Asked::new(self.snapshot.params(), signatures, equal_rows_min);
        self.found.clear();
        self.band_keys.clear();
        self.band_keys.extend_from_slice(band_keys);
        self.search_segments(asked)?;
        self.found.sort_unstable_by_key(|found| found.probe);
        Ok(std::mem::take(&mut self.found))
    }

    /// What the last run found.
    pub(crate) fn found(&mut self) -> &mut Vec<Found> {
        &mut self.found
    }

    fn begin<'s>(&mut self, signatures: &'s [&'s [u8]], equal_rows_min: u32) -> Asked<'s> {
        let params = self.snapshot.params();
        self.found.clear();
        self.band_keys.clear();
        for signature in signatures {
            band_keys(params, signature, &mut self.band_keys);
        }
        if self.candidates_max < usize::MAX {
            self.bounds.0.clear();
            self.bounds.0.resize(signatures.len(), (self.candidates_max, false));
        }
        Asked::new(params, signatures, equal_rows_min)
    }

    fn search_segments(&mut self, asked: Asked<'_>) -> Result<()> {
        let tasks = asked.signatures.len() * self.snapshot.state.segments.len();
        let together = (LOOK_UPS_MAX / self.bands).max(1);
        let mut begin = 0;
        while begin < tasks {
            let end = tasks.min(begin + together);
            self.advance(asked, begin..end)?;
            begin = end;
        }
        self.drop_dead()
    }

    /// Takes the look-ups of some tasks to their end. A task is one signature in one segment: as
    /// many look-ups as there are bands.
    fn advance(&mut self, asked: Asked<'_>, tasks: std::ops::Range<usize>) -> Result<()> {
        let segments = &self.snapshot.state.segments;
        let bands = self.bands;
        self.look_ups.clear();
        let first_touch = &mut FirstTouch::Take;
        let mut at = Task::of(tasks.start, segments.len());
        for _ in tasks.clone() {
            let keys = &self.band_keys[at.probe * bands..][..bands];
            let segment = &segments[at.source].segment;
            segment.look_up(Tables::Bands, keys, first_touch, &mut self.look_ups);
            at.advance();
        }
        let first = Task::of(tasks.start, segments.len()).source;
        let of_tasks = || segments.iter().cycle().skip(first).take(tasks.len());
        for (segment, look_ups) in of_tasks().zip(self.look_ups.chunks_exact_mut(bands)) {
            segment.segment.find_groups(Tables::Bands, first_touch, look_ups)?;
        }
        let mut matching = 0;
        for (nth, segment) in of_tasks().enumerate() {
            let begin = nth * bands;
            let look_ups = &mut self.look_ups[begin..begin + bands];
            let segment = &segment.segment;
            let matched = segment.match_fingerprints(count(begin), first_touch, look_ups)?;
            self.look_ups.copy_within(begin..begin + matched, matching);
            matching += matched;
        }
        self.look_ups.truncate(matching);
        self.collect(asked, tasks.start)
    }

    /// Reads the ordinals that were found, and compares the signatures.
    fn collect(&mut self, asked: Asked<'_>, first_task: usize) -> Result<()> {
        let segments = &self.snapshot.state.segments;
        let look_ups = std::mem::take(&mut self.look_ups);
        // They come in order: no division for each of them.
        let (mut task, mut end) = (Task::of(first_task, segments.len()), self.bands);
        for look_up in &look_ups {
            let number = index(look_up.number);
            while number >= end {
                task.advance();
                end += self.bands;
            }
            let band = count(number + self.bands - end);
            let (probe, source) = (count(task.probe), task.source);
            let segment = &segments[source].segment;
            let mut guess = 0;
            segment.take_ordinals(look_up, |ordinal| {
                if !self.bounds.take_one(probe) {
                    return Ok(());
                }
                let place = Place { source, ordinal };
                if let Some(at) = self.waiting(place, probe, guess) {
                    self.candidates[at].last_band = band;
                    guess = at + 1;
                    return Ok(());
                }
                if self.candidates.len() == CANDIDATES_MAX {
                    self.score(asked)?;
                }
                segment.ask_for_signature(ordinal);
                if self.candidates.len() < PRESUMED_MAX {
                    segment.ask_for_document(ordinal);
                }
                let candidate = Candidate { place, probe, first_band: band, last_band: band };
                self.candidates.push(candidate);
                guess = self.candidates.len();
                Ok(())
            })?;
        }
        self.look_ups = look_ups;
        self.score(asked)
    }

    /// Where a candidate waits already. The same documents mostly share several bands, and come in
    /// the same order in each: so the place after the last one is looked at first.
    #[inline]
    fn waiting(&self, place: Place, probe: u32, guess: usize) -> Option<usize> {
        let is = |candidate: &Candidate| candidate.place == place && candidate.probe == probe;
        match self.candidates.get(guess) {
            Some(candidate) if is(candidate) => Some(guess),
            _ => self.candidates.iter().position(is),
        }
    }

    /// Holds the candidates against what was asked for.
    fn score(&mut self, asked: Asked<'_>) -> Result<()> {
        for (nth, candidate) in self.candidates.iter().enumerate() {
            let Candidate { place, probe, first_band, last_band } = *candidate;
            let segment = &self.snapshot.state.segments[place.source].segment;
            let signature = segment.signature(place.ordinal)?;
            if let Some(equal_rows) = asked.score(probe, (first_band, last_band), &signature) {
                if nth < PRESUMED_MAX {
                    segment.ask_for_key_at_hand(place.ordinal);
                } else {
                    segment.ask_for_document(place.ordinal);
                }
                self.found.push(Found { probe, place, equal_rows });
            }
        }
        self.candidates.clear();
        Ok(())
    }

    /// Takes back what was dead at the floor.
    fn drop_dead(&mut self) -> Result<()> {
        let mut kept = 0;
        for at in 0..self.found.len() {
            let Place { source, ordinal } = self.found[at].place;
            if !self.snapshot.state.segments[source].is_dead(ordinal)? {
                self.found.swap(kept, at);
                kept += 1;
            }
        }
        self.found.truncate(kept);
        Ok(())
    }

    /// Asks the memory for what the search of the memtable begins with.
    fn ask_for_recent(&self) {
        let memtable = &self.snapshot.state.memtable;
        if !memtable.is_untouched() {
            memtable.ask_for_buckets((0..self.bands).cycle().zip(self.band_keys.iter().copied()));
        }
    }

    /// Takes back what has died in segments since the floor, and adds what the memtable has.
    fn search_memtable(&mut self, asked: Asked<'_>) {
        let Snapshot { state, visible, .. } = self.snapshot;
        if state.memtable.is_untouched() {
            return;
        }
        let content = state.memtable.read();
        self.found.retain(|Found { place, .. }| {
            let number = state.segments[place.source].number();
            !content.segment_death(number, place.ordinal, *visible)
        });
        let source = state.segments.len();
        // Where candidates are bounded, band by band: one that is met in a band before its first
        // would be compared for nothing.
        let together = if self.bounds.0.is_empty() { self.bands } else { 1 };
        for (keys, probe) in self.band_keys.chunks_exact(self.bands).zip(0..) {
            // It mostly shares more than one band.
            let mut last_found = u32::MAX;
            for (keys, first) in keys.chunks(together).zip((0..).step_by(together)) {
                let keys = keys.iter().zip(first..).map(|(key, band)| (band, *key));
                content.buckets(keys, 0..u32::MAX, &mut self.walk, |nth, ordinal| {
                    if !content.is_live(ordinal, *visible) {
                        return true;
                    }
                    if !self.bounds.take_one(probe) {
                        return false;
                    }
                    if last_found == ordinal {
                        return true;
                    }
                    let band = count(first + nth);
                    let signature = content.signature(ordinal);
                    if let Some(equal_rows) = asked.score(probe, (band, band), signature) {
                        last_found = ordinal;
                        let place = Place { source, ordinal };
                        self.found.push(Found { probe, place, equal_rows });
                    }
                    true
                });
            }
        }
    }
}

/// A number of bands or signatures asked for together: there are few.
#[inline]
fn count(few: usize) -> u32 {
    u32::try_from(few).unwrap_or(u32::MAX)
}
