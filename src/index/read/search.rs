//! The search that every question comes down to: which live documents satisfy the law for these
//! signatures?
//!
//! It goes in steps, each of which asks the memory for what the next will read, over all bands of
//! all segments (and of all signatures asked for together) at once.

use crate::format::bytes::index;
use crate::index::read::state::{LiveSegment, Place, Snapshot, band_keys};
use crate::segment::LookUp;
use crate::sketch::Agreement;
use crate::{Params, Result};

/// Look-ups on their way at once. More do not fit into the first cache beside what they read.
const LOOK_UPS_MAX: usize = 256;
/// Candidates whose signatures have been asked for at once.
const CANDIDATES_MAX: usize = 64;

/// A signature with its BandKeys, ready to be held against others.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    signature: &'a [u8],
    band_keys: Vec<u64>,
    band_rows: usize,
    lane_bits: u32,
    equal_rows_min: u32,
    /// The most candidates compared; those of several bands count several times.
    candidates_max: usize,
}

/// A live document that satisfies the law for one of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Which of the probes.
    pub(crate) probe: u32,
    pub(crate) place: Place,
    pub(crate) equal_rows: u32,
}

impl<'a> Probe<'a> {
    pub(crate) fn new(params: &Params, signature: &'a [u8], equal_rows_min: u32) -> Self {
        let mut keys = Vec::with_capacity(params.bands());
        band_keys(params, signature, &mut keys);
        Self {
            signature,
            band_keys: keys,
            band_rows: params.rows_per_band(),
            lane_bits: params.lane_bits(),
            equal_rows_min,
            candidates_max: usize::MAX,
        }
    }

    /// The same, with a bound on the candidates that it is compared with.
    pub(crate) fn max_candidates(mut self, candidates_max: usize) -> Self {
        self.candidates_max = candidates_max;
        self
    }

    /// The equal rows of a candidate found in `band`, if it counts there: there are enough, the
    /// band really is equal, and no earlier one is (else it was found before).
    #[inline]
    fn score(&self, band: u32, candidate: &[u8]) -> Option<u32> {
        let (bits, least) = (self.lane_bits, self.equal_rows_min);
        let agreement = Agreement::of(self.signature, candidate, bits, least)?;
        let first = same_band_first(&agreement, index(band), self.band_rows);
        first.then(|| agreement.equal_rows())
    }
}

/// Whether `band`, of `rows` rows, is the first that two signatures share.
#[inline]
pub(super) fn same_band_first(agreement: &Agreement, band: usize, rows: usize) -> bool {
    (0..=band).find(|band| agreement.all_equal(band * rows, rows)) == Some(band)
}

/// The look-ups of all bands of a probe in a segment: as many as there are bands.
#[derive(Debug, Clone, Copy)]
struct Task {
    source: usize,
    probe: u32,
}

/// A candidate whose signature has been asked for.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    place: Place,
    probe: u32,
    band: u32,
}

impl Snapshot {
    /// Every live document that satisfies the law for a probe, in order of the probes, each once;
    /// and which of the probes had more candidates than they may be compared with.
    pub(crate) fn search(&self, probes: &[Probe<'_>]) -> Result<(Vec<Found>, Bounds)> {
        let mut search = Search::new(self, probes);
        search.segments()?;
        let Search { mut found, mut bounds, .. } = search;
        self.drop_dead(&mut found)?;
        self.search_recent(probes, &mut found, &mut bounds);
        found.sort_unstable_by_key(|found| found.probe);
        Ok((found, bounds))
    }

    /// What segments hold that satisfies the law for a probe, but for deaths since the floor: it
    /// follows from the state alone, whatever change the snapshot sees.
    pub(crate) fn search_segments(&self, probes: &[Probe<'_>]) -> Result<Vec<Found>> {
        let mut search = Search::new(self, probes);
        search.segments()?;
        let mut found = search.found;
        self.drop_dead(&mut found)?;
        Ok(found)
    }

    /// Takes back what is dead: what was at the floor, and what has died in segments since.
    fn drop_dead(&self, found: &mut Vec<Found>) -> Result<()> {
        let mut kept = 0;
        for at in 0..found.len() {
            let Place { source, ordinal } = found[at].place;
            if !self.state.segments[source].is_dead(ordinal)? {
                found.swap(kept, at);
                kept += 1;
            }
        }
        found.truncate(kept);
        Ok(())
    }

    /// Takes back what has died in segments since the floor, and adds what the memtable has.
    pub(crate) fn search_memtable(&self, probes: &[Probe<'_>], found: &mut Vec<Found>) {
        self.search_recent(probes, found, &mut Bounds::default());
    }

    /// The same, with what is left of bounds.
    fn search_recent(&self, probes: &[Probe<'_>], found: &mut Vec<Found>, bounds: &mut Bounds) {
        let content = self.state.memtable.read();
        if content.is_empty() {
            return;
        }
        found.retain(|Found { place, .. }| {
            let number = self.state.segments[place.source].number();
            !content.segment_death(number, place.ordinal, self.visible)
        });
        let source = self.state.segments.len();
        for (probe, number) in probes.iter().zip(0..) {
            for ((band, key), band_number) in probe.band_keys.iter().enumerate().zip(0..) {
                for ordinal in content.bucket(band, *key) {
                    if !content.is_live(ordinal, self.visible) {
                        continue;
                    }
                    if !bounds.take_one(number) {
                        break;
                    }
                    let signature = content.signature(ordinal);
                    if let Some(equal_rows) = probe.score(band_number, signature) {
                        let place = Place { source, ordinal };
                        found.push(Found { probe: number, place, equal_rows });
                    }
                }
            }
        }
    }
}

/// How many candidates each probe may still be compared with, and whether it had more. Empty if
/// none has a bound, as nearly always.
#[derive(Debug, Default)]
pub(crate) struct Bounds(Vec<(usize, bool)>);

impl Bounds {
    fn of(probes: &[Probe<'_>]) -> Self {
        if probes.iter().all(|probe| probe.candidates_max == usize::MAX) {
            return Self::default();
        }
        Self(probes.iter().map(|probe| (probe.candidates_max, false)).collect())
    }

    /// Whether a probe may be compared with one more.
    #[inline]
    fn take_one(&mut self, probe: u32) -> bool {
        let Some((left, cut)) = self.0.get_mut(index(probe)) else { return true };
        let more = *left > 0;
        *left -= usize::from(more);
        *cut |= !more;
        more
    }

    /// Whether a probe had more candidates than it may be compared with.
    pub(crate) fn is_cut(&self, probe: usize) -> bool {
        self.0.get(probe).is_some_and(|(_, cut)| *cut)
    }
}

/// A search of the segments under way.
struct Search<'a> {
    snapshot: &'a Snapshot,
    probes: &'a [Probe<'a>],
    tasks: Vec<Task>,
    /// Of each task in turn.
    look_ups: Vec<LookUp>,
    candidates: Vec<Candidate>,
    found: Vec<Found>,
    bounds: Bounds,
}

impl<'a> Search<'a> {
    fn new(snapshot: &'a Snapshot, probes: &'a [Probe<'a>]) -> Self {
        let tasks = probes.len() * snapshot.state.segments.len();
        let look_ups = (tasks * snapshot.params.bands()).min(LOOK_UPS_MAX);
        Self {
            snapshot,
            probes,
            tasks: Vec::with_capacity(tasks.min(look_ups)),
            look_ups: Vec::with_capacity(look_ups),
            candidates: Vec::new(),
            found: Vec::new(),
            bounds: Bounds::of(probes),
        }
    }

    fn segments(&mut self) -> Result<()> {
        for (probe, number) in self.probes.iter().zip(0..) {
            for (source, live) in self.snapshot.state.segments.iter().enumerate() {
                if self.look_ups.len() + probe.band_keys.len() > LOOK_UPS_MAX {
                    self.advance()?;
                }
                live.segment.look_up(0.., &probe.band_keys, &mut self.look_ups);
                self.tasks.push(Task { source, probe: number });
            }
        }
        self.advance()
    }

    /// Takes all look-ups to their end.
    fn advance(&mut self) -> Result<()> {
        let bands = self.snapshot.params.bands();
        let mut look_ups = std::mem::take(&mut self.look_ups);
        let tasks = std::mem::take(&mut self.tasks);
        for (task, look_ups) in tasks.iter().zip(look_ups.chunks_exact_mut(bands)) {
            self.live(task.source).segment.find_groups(look_ups)?;
        }
        for (task, look_ups) in tasks.iter().zip(look_ups.chunks_exact_mut(bands)) {
            self.live(task.source).segment.match_fingerprints(look_ups)?;
        }
        for (task, look_ups) in tasks.iter().zip(look_ups.chunks_exact(bands)) {
            for (band, look_up) in (0..).zip(look_ups) {
                self.collect(*task, band, look_up)?;
            }
        }
        self.score()?;
        look_ups.clear();
        (self.look_ups, self.tasks) = (look_ups, tasks);
        self.tasks.clear();
        Ok(())
    }

    fn live(&self, source: usize) -> &'a LiveSegment {
        &self.snapshot.state.segments[source]
    }

    fn collect(&mut self, task: Task, band: u32, look_up: &LookUp) -> Result<()> {
        let Task { source, probe } = task;
        let segment = &self.live(source).segment;
        segment.take_ordinals(look_up, |ordinal| {
            if !self.bounds.take_one(probe) {
                return Ok(());
            }
            segment.ask_for_signature(ordinal);
            let place = Place { source, ordinal };
            self.candidates.push(Candidate { place, probe, band });
            if self.candidates.len() == CANDIDATES_MAX { self.score() } else { Ok(()) }
        })
    }

    /// Holds the candidates against their probes.
    fn score(&mut self) -> Result<()> {
        for &Candidate { place, probe, band } in &self.candidates {
            let segment = &self.live(place.source).segment;
            let signature = segment.signature(place.ordinal)?;
            let asking = &self.probes[index(probe)];
            if let Some(equal_rows) = asking.score(band, &signature) {
                segment.ask_for_document(place.ordinal);
                self.found.push(Found { probe, place, equal_rows });
            }
        }
        self.candidates.clear();
        Ok(())
    }
}
