//! The search behind every query: finds the live documents that satisfy the law for some
//! signatures.
//!
//! The search runs in steps over all bands of all segments, and over all signatures of one call.
//! Each step prefetches the memory that the next step reads.

use crate::Result;
use crate::format::bytes::index;
use crate::index::read::candidate::{Candidate, Found, SearchTerms};
use crate::index::read::crowd::{CROWD_MIN, Crowd};
use crate::index::read::scratch::SearchScratch;
use crate::index::read::stop::Stop;
use crate::index::state::versions::{LiveSegment, Place, Snapshot, band_keys};
use crate::segment::{Entries, LookUp, Segment, Tables};
use crate::sync::Arc;
use std::ops::Range;

/// Approximate maximum of look-ups in flight. More of them, with the data they read, would not fit
/// into the L1 cache.
const LOOK_UPS_MAX: usize = small!(search::LOOK_UPS_MAX, 256);
/// Number of candidates whose signatures are prefetched together.
const CANDIDATES_MAX: usize = small!(search::CANDIDATES_MAX, 64);
/// Number of candidates per batch that are presumed to be matches before they are compared. If
/// there are only a few candidates, most of them are matches. So the fields of a match are
/// prefetched together with the signature.
const PRESUMED_MAX: usize = small!(search::PRESUMED_MAX, 4);

/// Runs searches of one snapshot, one after another, in the given memory.
pub(crate) struct Search<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) bands: usize,
    pub(super) scratch: &'a mut SearchScratch,
    /// Maximum number of candidates that each signature is compared with. A candidate found in
    /// several bands counts several times.
    candidates_max: usize,
    pub(super) bounds: Bounds,
    pub(super) stop: Option<&'a Stop<'a>>,
    /// Whether the last run stopped before its end.
    pub(super) is_stopped: bool,
}

/// For each signature: the number of candidates that it may still be compared with, and whether it
/// had more. Empty if there is no limit, which is the usual case.
#[derive(Debug, Default)]
pub(super) struct Bounds(Vec<(usize, bool)>);

impl Bounds {
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of candidates, out of `count` further ones, that a signature may be compared
    /// with.
    #[inline]
    pub(super) fn take(&mut self, probe: u32, count: u32) -> u32 {
        let Some((left, cut)) = self.0.get_mut(index(probe)) else { return count };
        let taken = count.min(u32::try_from(*left).unwrap_or(u32::MAX));
        *left -= index(taken);
        *cut |= taken < count;
        taken
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, scratch: &'a mut SearchScratch) -> Self {
        let bands = snapshot.params().bands();
        let (bounds, candidates_max) = (Bounds::default(), usize::MAX);
        Self { snapshot, bands, scratch, candidates_max, bounds, stop: None, is_stopped: false }
    }

    /// Adds a condition that stops the search.
    pub(crate) fn until(mut self, stop: &'a Stop<'a>) -> Self {
        self.stop = stop.may_come().then_some(stop);
        self
    }

    /// Limits the number of candidates of each signature.
    pub(crate) fn bounded(mut self, candidates_max: usize) -> Self {
        self.candidates_max = candidates_max;
        self
    }

    /// Whether the findings for a signature may be incomplete: the last run stopped early, or had
    /// more candidates than the limit.
    pub(crate) fn is_cut(&self, probe: usize) -> bool {
        self.is_stopped || self.bounds.0.get(probe).is_some_and(|(_, cut)| *cut)
    }

    /// Whether the last run stopped before its end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether to go on. Called without holding a lock.
    #[inline]
    pub(super) fn goes_on(&mut self) -> bool {
        self.is_stopped |= self.stop.is_some_and(Stop::is_due);
        !self.is_stopped
    }

    /// Finds every live document that satisfies the law for a signature, once per signature. The
    /// findings are sorted by signature.
    pub(crate) fn run(
        &mut self,
        signatures: &[&[u8]],
        equal_rows_min: u32,
    ) -> Result<&mut Vec<Found>> {
        let terms = self.begin(signatures, equal_rows_min);
        self.goes_on();
        self.narrow();
        self.search_segments(terms)?;
        self.search_memtable(terms);
        let found = &mut self.scratch.found;
        if signatures.len() > 1 {
            found.sort_unstable_by_key(|found| found.probe);
        }
        Ok(found)
    }

    /// The documents that the last run found.
    pub(crate) fn found(&mut self) -> &mut Vec<Found> {
        &mut self.scratch.found
    }

    fn begin<'s>(&mut self, signatures: &'s [&'s [u8]], equal_rows_min: u32) -> SearchTerms<'s> {
        let params = self.snapshot.params();
        self.scratch.found.clear();
        self.scratch.band_keys.clear();
        self.is_stopped = false;
        for signature in signatures {
            band_keys(params, signature, &mut self.scratch.band_keys);
        }
        if self.candidates_max < usize::MAX {
            self.bounds.0.clear();
            self.bounds.0.resize(signatures.len(), (self.candidates_max, false));
        }
        SearchTerms::new(params, signatures, equal_rows_min)
    }

    fn search_segments(&mut self, terms: SearchTerms<'_>) -> Result<()> {
        // Candidates may be left over from a search that ended with an error.
        self.scratch.candidates.clear();
        let (probes, sources) = (terms.signatures.len(), self.snapshot.state.segments.len());
        let (probes_max, sources_max) = together(probes, sources, self.bands, LOOK_UPS_MAX);
        let mut probe = 0;
        while probe < probes {
            let some = probe..probes.min(probe + probes_max);
            let mut source = 0;
            while source < sources && self.goes_on() {
                let end = sources.min(source + sources_max);
                self.advance(terms, some.clone(), source..end)?;
                source = end;
            }
            probe = some.end;
        }
        self.drop_dead()
    }

    /// Completes the look-ups of some signatures in some segments: one look-up per signature,
    /// segment and band.
    fn advance(
        &mut self,
        terms: SearchTerms<'_>,
        probes: Range<usize>,
        sources: Range<usize>,
    ) -> Result<()> {
        let segments = &self.snapshot.state.segments[sources.clone()];
        let SearchScratch { band_keys, look_ups, matching, narrowed, .. } = &mut *self.scratch;
        let bands = self.bands;
        let keys = &band_keys[probes.start * bands..probes.end * bands];
        let count = keys.len() * segments.len();
        if look_ups.len() < count {
            look_ups.resize(count, LookUp::default());
        }
        matching.clear();
        if narrowed.is_anything_covered() {
            let (look_ups, first) = (&mut look_ups[..count], (probes.start, sources.start));
            narrowed.look_up(segments, keys, bands, first, look_ups, matching)?;
            return if matching.is_empty() { Ok(()) } else { self.collect(terms, probes, sources) };
        }
        let mut rest = &mut look_ups[..count];
        for keys in keys.chunks_exact(bands) {
            for live in segments {
                let these = rest.split_off_mut(..bands).unwrap_or_default();
                live.segment.look_up(Tables::Bands, keys, these);
            }
        }
        let mut rest = &mut look_ups[..count];
        for _ in probes.clone() {
            for live in segments {
                let these = rest.split_off_mut(..bands).unwrap_or_default();
                live.segment.find_groups(Tables::Bands, these)?;
            }
        }
        let mut rest = &look_ups[..count];
        for _ in probes.clone() {
            for live in segments {
                let first = count - rest.len();
                let these = rest.split_off(..bands).unwrap_or_default();
                live.segment.match_fingerprints(small(first), these, matching)?;
            }
        }
        if matching.is_empty() { Ok(()) } else { self.collect(terms, probes, sources) }
    }

    /// Reads the ordinals of the hits, and compares the signatures.
    fn collect(
        &mut self,
        terms: SearchTerms<'_>,
        probes: Range<usize>,
        sources: Range<usize>,
    ) -> Result<()> {
        let segments = &self.snapshot.state.segments;
        // The hits are sorted by the number of their look-up, so the signature and the segment of
        // each hit are known without a division.
        let (mut rest, mut first) = (0, 0);
        let pairs = probes.flat_map(|probe| sources.clone().map(move |source| (probe, source)));
        for (probe, source) in pairs {
            let SearchScratch { matching, candidates, found, .. } = &mut *self.scratch;
            let (probe, begin, end) = (small(probe), first, first + small(self.bands));
            first = end;
            let of_this = matching[rest..].iter().take_while(|entries| entries.number < end);
            let these = rest..rest + of_this.count();
            rest = these.end;
            let these = &mut matching[these];
            let mut count: u32 = 0;
            for entries in &mut *these {
                *entries = entries.first(self.bounds.take(probe, entries.count()));
                count = count.saturating_add(entries.count());
            }
            if count <= CROWD_MIN {
                let segment = &segments[source].segment;
                for entries in these.iter().filter(|entries| entries.count() > 0) {
                    let band = entries.number - begin;
                    take_candidates(
                        segments,
                        terms,
                        (segment, entries),
                        (probe, source, band),
                        candidates,
                        found,
                    )?;
                }
                continue;
            }
            score(segments, terms, candidates, found)?;
            let never = Stop::default();
            let stop = self.stop.unwrap_or(&never);
            let mut crowd = Crowd { terms, probe, bands: self.bands, source, stop, found };
            if !crowd.compare(&segments[source].segment, these)? {
                self.is_stopped = true;
                return Ok(());
            }
        }
        let SearchScratch { candidates, found, .. } = &mut *self.scratch;
        score(segments, terms, candidates, found)
    }

    /// Drops findings whose documents were dead at the floor, as listed in the dead file of their
    /// segment.
    fn drop_dead(&mut self) -> Result<()> {
        let found = &mut self.scratch.found;
        let mut kept = 0;
        for at in 0..found.len() {
            let Place { source, ordinal } = found[at].place;
            if !self.snapshot.state.segments[source].is_dead(ordinal)? {
                found.swap(kept, at);
                kept += 1;
            }
        }
        found.truncate(kept);
        Ok(())
    }

    /// Asks the filter, if there is one, which look-ups are needed. Prefetches the memory that the
    /// search of the memtable reads first, unless the filter may make that search needless.
    fn narrow(&mut self) {
        let state = &self.snapshot.state;
        let SearchScratch { narrowed, band_keys, .. } = &mut *self.scratch;
        let filter = narrowed.begin(state);
        if let Some(filter) = filter {
            for key in &*band_keys {
                filter.ask_for(*key);
            }
        }
        if state.memtable.columns().is_none() && !state.memtable.is_untouched() {
            let keys = band_keys.iter().copied();
            state.memtable.ask_for_buckets((0..self.bands).cycle().zip(keys));
        }
        if let Some(filter) = filter {
            narrowed.ask(filter, band_keys);
        }
    }
}

/// Queues the candidates of a look-up, and compares the queued ones if there are many.
fn take_candidates(
    segments: &[Arc<LiveSegment>],
    terms: SearchTerms<'_>,
    (segment, entries): (&Segment, &Entries),
    (probe, source, band): (u32, usize, u32),
    candidates: &mut Vec<Candidate>,
    found: &mut Vec<Found>,
) -> Result<()> {
    let mut guess = 0;
    segment.take_ordinals(entries, |ordinal| {
        let place = Place { source, ordinal };
        if let Some(at) = waiting(candidates, place, probe, guess) {
            candidates[at].last_band = band;
            guess = at + 1;
            return Ok(());
        }
        if candidates.len() == CANDIDATES_MAX {
            score(segments, terms, candidates, found)?;
        }
        segment.prefetch_signature(ordinal);
        if candidates.len() < PRESUMED_MAX {
            segment.prefetch_document(ordinal);
        }
        candidates.push(Candidate { place, probe, first_band: band, last_band: band });
        guess = candidates.len();
        Ok(())
    })
}

/// The position of a candidate that is queued already. The same documents usually share several
/// bands, in the same order in each. So the position after the previous one, `guess`, is checked
/// first.
#[inline]
fn waiting(candidates: &[Candidate], place: Place, probe: u32, guess: usize) -> Option<usize> {
    let is = |candidate: &Candidate| candidate.place == place && candidate.probe == probe;
    match candidates.get(guess) {
        Some(candidate) if is(candidate) => Some(guess),
        _ => candidates.iter().position(is),
    }
}

/// Compares the candidates with the query.
fn score(
    segments: &[Arc<LiveSegment>],
    terms: SearchTerms<'_>,
    candidates: &mut Vec<Candidate>,
    found: &mut Vec<Found>,
) -> Result<()> {
    for (nth, candidate) in candidates.iter().enumerate() {
        let Candidate { place, probe, first_band, last_band } = *candidate;
        let segment = &segments[place.source].segment;
        let signature = segment.signature(place.ordinal)?;
        if let Some(equal_rows) = terms.score(probe, (first_band, last_band), &signature) {
            if nth < PRESUMED_MAX {
                segment.prefetch_key_if_verified(place.ordinal);
            } else {
                segment.prefetch_document(place.ordinal);
            }
            found.push(Found { probe, place, equal_rows });
        }
    }
    candidates.clear();
    Ok(())
}

/// The number of signatures, and of segments, that are looked up at once. Their product with the
/// number of bands is about `look_ups_max`; the minimum is one signature in one segment. Rounds are
/// as few and as equal in size as that allows.
fn together(probes: usize, sources: usize, bands: usize, look_ups_max: usize) -> (usize, usize) {
    if probes * sources * bands <= look_ups_max {
        return (probes, sources);
    }
    let pairs = (look_ups_max / bands).max(1);
    let sources = sources.div_ceil(sources.div_ceil(pairs));
    let most = ((pairs + sources / 2) / sources).max(1);
    (probes.div_ceil(probes.div_ceil(most)), sources)
}

/// Converts a number of bands, signatures or look-ups in flight; these are always small.
#[inline]
pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK_UPS_MAX: usize = 256;

    #[test]
    fn rounds_are_few_and_about_as_large_as_they_may_be() {
        for bands in [1, 2, 8, 13, 16, 20, 32, 100, 256, 257, 1024] {
            for sources in (0..40).chain([255, 256, 257, 1000]) {
                for probes in [0, 1, 2, 7, 8, 16, 64] {
                    let (p, s) = together(probes, sources, bands, LOOK_UPS_MAX);
                    assert!(p <= probes && s <= sources);
                    if probes * sources == 0 {
                        continue;
                    }
                    assert!(p > 0 && s > 0);
                    let at_once = p * s * bands;
                    assert!(p * s == 1 || at_once <= LOOK_UPS_MAX * 3 / 2, "{at_once}");
                    let rounds = probes.div_ceil(p) * sources.div_ceil(s);
                    let least = (probes * sources).div_ceil((LOOK_UPS_MAX / bands).max(1));
                    assert!(rounds <= 2 * least, "{rounds} rounds, not {least}");
                }
            }
        }
        assert_eq!(together(8, 2, 16, 256), (8, 2));
        assert_eq!(together(8, 17, 16, 256), (2, 9));
        assert_eq!(together(8, 9, 16, 256), (2, 9));
        assert_eq!(together(1, 17, 16, 256), (1, 9));
    }
}
