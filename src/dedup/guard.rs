//! Looks once more at what is dropped: a document that differs from its duplicate only in numbers,
//! or in what is rare, is no copy. Defined in `docs/guide/DEDUP.md`.

use std::collections::HashMap;
use std::sync::Arc;

use super::cache::Cache;
use super::compared::{Apart, Compared, RARE_DOCUMENTS_MAX, alone, is_copy};
use super::counts::Counts;
use super::parts::in_parts;
use super::suspects::{Suspect, Suspects, together};
use super::{Duplicate, cancelled};
use crate::keyed::RandomState;
use crate::{Alike, Conditions, Guard, Original, Overlap, Result};

/// Number of runs by which a kept document is found again.
const INDEXED_RUNS: usize = 12;
/// Maximum number of documents that are compared with one that is to be dropped.
const COMPARED_MAX: usize = 12;
/// The weight of a run that one document has; that of a run of n documents is an n-th of it.
const WHOLE: u32 = 1 << 24;
/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// A closure that returns the documents of several ranks, in their order; `None` for each that is
/// not at hand.
pub type FetchRanks<'a> = dyn FnMut(&[u64]) -> Result<Vec<Option<Original>>> + 'a;

/// What becomes of a document that was dropped for another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Judgement {
    /// It is a copy of this document: of the one that it was dropped for, or of another one.
    CopyOf(Duplicate),
    /// It is kept, because it differs from the document that it is similar to.
    Kept {
        /// What sets the two apart.
        apart: Apart,
        /// The document that it was dropped for.
        similar_to: Duplicate,
    },
    /// It is kept, because no document that was found is similar to it by its shingles.
    Unlike,
}

/// Judges what was dropped, and keeps what a [`Guard`] protects.
///
/// The documents of a [`Suspects`] take part, with their details
/// ([`Sketcher::detailed_text`](crate::Sketcher::detailed_text)). [`Judge::run`] reads them twice:
/// first it counts the runs of words of all, then it decides on each, in ascending order of rank. A
/// document stays dropped if it is similar to a kept one and not set apart from it; so each dropped
/// document still has such a one. The result depends on the documents and their ranks only.
///
/// Memory: 4 bytes for each run of words that is counted, at most 128 MiB (beyond, a fixed sample
/// of all runs is counted), 64 MiB of documents, and some 350 bytes for each kept document.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Apart, Guard, Judge, Judgement, Original, Params, Shingles, Sketcher, Suspects};
///
/// let params = Params::for_threshold(0.6).shingles(Shingles::Words(1)).build()?;
/// let sketcher = Sketcher::new(&params);
/// let texts = ["pay 40 euros for the lessons of March", "pay 55 euros for the lessons of March"];
/// let documents: Vec<Original> =
///     texts.iter().map(|text| sketcher.detailed_text(text)).collect::<Result<_, _>>()?;
///
/// // The second one was dropped for the first one: both have 8 shingles, and share 7 of them.
/// let mut suspects = Suspects::default();
/// suspects.add_dropped(1, 0, [8, 8, 7]);
/// let mut fetch = |ranks: &[u64]| {
///     Ok(ranks.iter().map(|rank| documents.get(*rank as usize).cloned()).collect())
/// };
/// let mut kept = Vec::new();
/// Judge::new(Guard::Rare, 0.6, suspects).run(&mut fetch, &mut |rank, judgement| {
///     if let Judgement::Kept { apart, .. } = judgement {
///         kept.push((rank, apart));
///     }
/// })?;
/// assert_eq!(kept, [(1, Apart::Numbers)]);
/// # Ok(())
/// # }
/// ```
pub struct Judge {
    guard: Guard,
    alike: Alike,
    suspects: Vec<Suspect>,
    names_most_similar: bool,
    /// Whether a document is compared with no other one than that it was dropped for.
    pairs_only: bool,
    threads: usize,
    counts: Counts,
    /// The last kept document with a run, as a position in `chains`.
    last: HashMap<u64, u32, RandomState>,
    /// A rank, and the position of the document before it with the same run.
    chains: Vec<(u64, u32)>,
    cache: Cache,
    /// The documents of the part that is judged, and those they were dropped for.
    part: HashMap<u64, Option<Arc<Original>>, RandomState>,
    /// Only how a run is stopped.
    stopping: Conditions<'static>,
}

/// What is known of a suspect before those in front of it are decided.
enum SuspectLook {
    /// It is not at hand.
    Missing,
    /// It is kept, and found again by these runs.
    Kept(Vec<(u32, u64)>),
    /// It was dropped for this document; `None` if that one is not at hand, or not similar.
    Dropped(Option<(Duplicate, Relation)>),
}

/// What two similar documents are to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Relation {
    /// Copies: nothing sets them apart.
    Copies,
    /// Copies that share few rare runs: what one has alone passes as edits of what many share.
    Edits,
    /// This sets them apart.
    Apart(Apart),
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Judge {
    /// Starts. `alike` is the condition by which documents were dropped.
    pub fn new(guard: Guard, alike: impl Into<Alike>, suspects: Suspects) -> Self {
        let (suspects, shingles) = suspects.sorted();
        Self {
            guard,
            alike: alike.into().to_decide(),
            suspects,
            names_most_similar: false,
            pairs_only: false,
            threads: 1,
            counts: Counts::new(shingles),
            last: HashMap::default(),
            chains: Vec::new(),
            cache: Cache::default(),
            part: HashMap::default(),
            stopping: Conditions::default(),
        }
    }

    /// Looks for a more similar document also where a document is a copy of the one that it was
    /// dropped for. Costs up to twelve comparisons for each dropped document.
    #[must_use]
    pub fn name_most_similar(mut self) -> Self {
        self.names_most_similar = true;
        self
    }

    /// Compares each document with no other one than that it was dropped for.
    pub(super) fn pairs_only(self) -> Self {
        Self { pairs_only: true, ..self }
    }

    /// Compares on so many threads; without this call, on one. The result is the same.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Ends a run with `Cancelled` as soon as this returns true. It is called before each document.
    #[must_use]
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stopping = self.stopping.cancel_if(cancel);
        self
    }

    /// Judges all suspects. `judged` gets each dropped one, in ascending order of rank.
    ///
    /// `fetch` returns the documents of several ranks, as far as they are at hand: the others take
    /// no part, and are not judged. A document is fetched twice or, if others were dropped for it
    /// or are compared with it, more often, unless it is in the cache.
    ///
    /// # Errors
    ///
    /// Those of `fetch`; `Cancelled`.
    pub fn run(
        &mut self,
        fetch: &mut FetchRanks<'_>,
        judged: &mut dyn FnMut(u64, Judgement),
    ) -> Result<()> {
        let suspects = std::mem::take(&mut self.suspects);
        for some in together(&suspects) {
            self.gather(some.iter().map(|suspect| suspect.rank).collect(), fetch)?;
            let runs: Vec<&[u64]> = self.part.values().flatten().map(|one| one.runs()).collect();
            self.counts.add_all(&runs, self.threads > 1);
        }
        for some in together(&suspects) {
            // One after the other, those they were dropped for would be fetched on this thread.
            let of = some.iter().filter_map(|suspect| suspect.of);
            self.gather(some.iter().map(|suspect| suspect.rank).chain(of).collect(), fetch)?;
            let looks = in_parts(self.threads, some, |suspect| self.look_at(suspect));
            for (suspect, look) in some.iter().zip(looks) {
                match (suspect.of, look) {
                    (_, SuspectLook::Missing) => {}
                    (_, SuspectLook::Kept(found_by)) => self.keep(suspect.rank, found_by),
                    (of, SuspectLook::Dropped(like)) => {
                        let judgement = self.decide((suspect.rank, of), like, fetch)?;
                        judged(suspect.rank, judgement);
                    }
                }
            }
        }
        self.part = HashMap::default();
        Ok(())
    }

    /// What can be known of a suspect before those in front of it are decided.
    fn look_at(&self, suspect: &Suspect) -> SuspectLook {
        let document = |rank| self.part.get(&rank).and_then(Option::as_ref);
        let Some(one) = document(suspect.rank) else { return SuspectLook::Missing };
        if self.pairs_only && suspect.of.is_none() {
            return SuspectLook::Missing;
        }
        let Some(of) = suspect.of else { return SuspectLook::Kept(self.found_by(one)) };
        let like = document(of).and_then(|other| {
            let similar_to = Duplicate::between(of, self.alike.overlap(one, other)?, (one, other));
            Some((similar_to, self.relation(one, other)))
        });
        SuspectLook::Dropped(like)
    }

    /// What two documents have in common, if they are similar and nothing sets them apart.
    pub fn overlap(&self, one: &Original, other: &Original) -> Option<Overlap> {
        let overlap = self.alike.overlap(one, other)?;
        (!matches!(self.relation(one, other), Relation::Apart(_))).then_some(overlap)
    }

    /// Gathers the documents of a part. Those that are not cached are fetched at once.
    fn gather(&mut self, mut ranks: Vec<u64>, fetch: &mut FetchRanks<'_>) -> Result<()> {
        ranks.sort_unstable();
        ranks.dedup();
        self.part = ranks.iter().map(|rank| (*rank, self.cache.cached(*rank))).collect();
        ranks.retain(|rank| self.part.get(rank).is_none_or(Option::is_none));
        for (rank, document) in ranks.iter().zip(self.fetched(&ranks, fetch)?) {
            self.part.insert(*rank, document);
        }
        Ok(())
    }

    fn fetched(
        &mut self,
        ranks: &[u64],
        fetch: &mut FetchRanks<'_>,
    ) -> Result<Vec<Option<Arc<Original>>>> {
        if self.stopping.stop.is_due() {
            return Err(cancelled());
        }
        let fetched = if ranks.is_empty() { Vec::new() } else { fetch(ranks)? };
        let shared: Vec<_> = fetched.into_iter().map(|one| one.map(Arc::new)).collect();
        for (rank, document) in ranks.iter().zip(&shared) {
            if let Some(document) = document {
                self.cache.put(*rank, Arc::clone(document));
            }
        }
        Ok(shared)
    }

    /// The document of a rank, if it is at hand.
    fn get(&mut self, rank: u64, fetch: &mut FetchRanks<'_>) -> Result<Option<Arc<Original>>> {
        if let Some(document) = self.part.get(&rank) {
            return Ok(document.clone());
        }
        match self.cache.cached(rank) {
            Some(document) => Ok(Some(document)),
            None => Ok(self.fetched(&[rank], fetch)?.pop().flatten()),
        }
    }

    /// Takes note of a kept document, so that later ones are compared with it.
    fn keep(&mut self, rank: u64, found_by: Vec<(u32, u64)>) {
        for (_, run) in found_by {
            let Ok(at) = u32::try_from(self.chains.len()) else { return };
            let before = self.last.insert(run, at).unwrap_or(NONE);
            self.chains.push((rank, before));
        }
    }

    /// Decides on a document that was dropped. `like`: the one that it was dropped for, if they are
    /// similar. What may be an edit of any document of a form is a copy of the most similar one.
    fn decide(
        &mut self,
        (rank, of): (u64, Option<u64>),
        like: Option<(Duplicate, Relation)>,
        fetch: &mut FetchRanks<'_>,
    ) -> Result<Judgement> {
        let (best, is_sure) = match like {
            Some((best, Relation::Copies)) => (Some(best), !self.names_most_similar),
            Some((best, Relation::Edits)) => (Some(best), false),
            _ => (None, false),
        };
        if let Some(best) = best.filter(|_| is_sure) {
            return Ok(Judgement::CopyOf(best));
        }
        let apart = match like {
            Some((similar_to, Relation::Apart(apart))) => Judgement::Kept { apart, similar_to },
            _ => Judgement::Unlike,
        };
        if self.pairs_only {
            return Ok(best.map_or(apart, Judgement::CopyOf));
        }
        let Some(document) = self.get(rank, fetch)? else { return Ok(Judgement::Unlike) };
        if let Some(best) = self.find(&document, of.unwrap_or(rank), best, fetch)? {
            return Ok(Judgement::CopyOf(best));
        }
        self.keep(rank, self.found_by(&document));
        Ok(apart)
    }

    /// The most similar of `best` and the kept documents that a document is a copy of, except `of`.
    /// Compares it with up to twelve that share its least frequent runs.
    fn find(
        &mut self,
        document: &Original,
        except: u64,
        mut best: Option<Duplicate>,
        fetch: &mut FetchRanks<'_>,
    ) -> Result<Option<Duplicate>> {
        for of in self.candidates(document, except) {
            let Some(other) = self.get(of, fetch)? else { continue };
            let Some(overlap) = self.overlap(document, &other) else { continue };
            let reason = Duplicate::between(of, overlap, (document, &other));
            if reason.is_better_than(best.as_ref()) {
                best = Some(reason);
            }
        }
        Ok(best)
    }

    /// What two similar documents are to each other.
    fn relation(&self, one: &Original, other: &Original) -> Relation {
        if self.guard.parts_by_numbers(one, other) {
            return Relation::Apart(Apart::Numbers);
        }
        let is_told = self.guard == Guard::Rare && one.details().and(other.details()).is_some();
        if !is_told || one.runs() == other.runs() || self.share_enough(one.runs(), other.runs()) {
            return Relation::Copies;
        }
        let apart = Compared::new(&self.counts, one.runs(), other.runs()).apart();
        apart.map_or(Relation::Edits, Relation::Apart)
    }

    /// Whether two texts share so many rare runs that they are copies however rare the others are.
    /// The usual case: only a few runs are looked up.
    fn share_enough(&self, one: &[u64], other: &[u64]) -> bool {
        let mut rest = other;
        let is_shared = |run: &&u64| {
            rest = &rest[rest.iter().take_while(|next| next < run).count()..];
            let found = rest.first() == Some(run);
            rest = &rest[usize::from(found)..];
            found
        };
        let shared: Vec<u64> = one.iter().filter(is_shared).copied().collect();
        let alone = alone([one, other].map(|runs| (runs.len() - shared.len()) as f64), one.len());
        let mut rare = 0.0;
        shared.iter().any(|run| {
            let count = self.counts.counted(*run);
            rare += f64::from(u8::from(count.is_some_and(|count| count <= RARE_DOCUMENTS_MAX)));
            is_copy(rare, alone)
        })
    }

    /// The runs by which a document is found, with the number of documents that have them: the
    /// least frequent ones that another document has.
    fn found_by(&self, document: &Original) -> Vec<(u32, u64)> {
        let counted = document.runs().iter().map(|run| (self.counts.count(*run), *run));
        let mut shared: Vec<(u32, u64)> = counted.filter(|(count, _)| *count >= 2).collect();
        if shared.len() > INDEXED_RUNS {
            shared.select_nth_unstable(INDEXED_RUNS);
            shared.truncate(INDEXED_RUNS);
        }
        shared
    }

    /// Kept documents that share the most of these runs, without `except`. The fewer documents have
    /// a run, the more it counts.
    fn candidates(&self, document: &Original, except: u64) -> Vec<u64> {
        let mut shared: Vec<(u64, u32)> = Vec::new();
        for (count, run) in self.found_by(document) {
            let mut at = self.last.get(&run).copied().unwrap_or(NONE);
            for _ in 0..2 * COMPARED_MAX {
                let Some((rank, before)) = self.chains.get(at as usize).copied() else { break };
                shared.push((rank, WHOLE / count.max(1)));
                at = before;
            }
        }
        shared.sort_unstable();
        let of_one = shared.chunk_by(|one, other| one.0 == other.0);
        let weight = |of_one: &[(u64, u32)]| of_one.iter().map(|(_, weight)| weight).sum::<u32>();
        let mut ranked: Vec<(u32, u64)> = of_one.map(|all| (weight(all), all[0].0)).collect();
        ranked.retain(|(_, rank)| *rank != except);
        ranked.sort_unstable_by_key(|(weight, rank)| (std::cmp::Reverse(*weight), *rank));
        ranked.truncate(COMPARED_MAX);
        ranked.into_iter().map(|(_, rank)| rank).collect()
    }
}
