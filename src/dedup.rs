//! Deduplication: documents come in order of preference, and one is dropped if it is similar enough
//! to a document kept before.
//!
//! A layer on top of the index. The caller reads and fetches the documents.

mod against;
mod audit;
mod cache;
mod compared;
mod counts;
mod duplicate;
mod exact;
mod form_index;
mod fresh;
mod guard;
mod nearest;
mod parts;
mod question_grams;
mod question_rule;
mod questions;
mod repeats;
mod settings;
mod suspects;

use std::cmp::Reverse;
use std::fmt;

use crate::{
    Alike, Answer, Batch, Conditions, Error, ErrorKind, Index, Key, Match, Original, Result,
    Signature,
};

pub use against::{Against, Verified};
pub use audit::{Audit, AuditCounts, Audited};
use cache::Cache;
pub use compared::Apart;
pub use duplicate::{Duplicate, Evidence};
use form_index::FormIndex;
use fresh::Fresh;
pub use guard::{FetchRanks, Judge, Judgement};
pub use nearest::{AuditRow, FetchRows};
pub use question_rule::ContainsQuestion;
pub use questions::{QuestionFound, Questions, QuestionsBuilder};
pub use repeats::{CutText, RepeatFilter, Repeated, Repeats, readable_cuts};
pub use suspects::Suspects;

/// Maximum number of candidates that are compared to confirm a duplicate.
const CANDIDATES_MAX: usize = 32;
/// Number of shingles of documents that are fetched together, each with one that is similar.
const SHINGLES_MAX: u64 = 1 << 20;
/// Number of removals per batch.
const REMOVALS: usize = 10_000;

/// A closure that returns the document of a rank, or `None` if there is none.
pub type FetchByRank<'a> = dyn FnMut(u64) -> Result<Option<Original>> + 'a;

/// Drops near-duplicates. Documents come in order of preference, each with an ascending number, its
/// *rank*. A document is dropped if it is similar to a document *kept* before it; otherwise it is
/// kept. So every dropped document is similar to a kept one, and there are no chains.
///
/// Two documents are similar if they satisfy an [`Alike`], either by the estimate
/// ([`Dedup::decide`]), or by their shingles ([`Dedup::decide_exactly`]). To drop also what is
/// similar to a document of an existing index, ask [`Against`] first, and decide the rest.
///
/// The caller opens an index for the signatures of the kept documents, with the parameters of
/// [`Dedup::choose`]. Their keys are the ranks ([`Key`] of a `u64`). A pair that shares no band is
/// not found.
///
/// Exact means that all shingles are compared. [`Shingles::Words`](crate::Shingles::Words) does not
/// see punctuation: `C++` and `C#`, `-5` and `5` are equal. `Tokens`, `Chars`, `Lines` and
/// [`Preset::Code`](crate::Preset::Code) see it.
///
/// The result depends only on the documents and their order. The size of the batches has no
/// influence, nor has reopening the index in between, nor the number of threads.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Alike, Dedup, Index, Options, Params, Shingles};
///
/// let texts = [
///     "the bridge is closed until further notice",
///     "the bridge is closed until further notice by order of the mayor",
///     "The bridge is closed until further notice!",
/// ];
/// let given = Params::builder().shingles(Shingles::Words(1));
///
/// // By the estimate.
/// let kept = Index::temporary(&Dedup::choose(&given, 0.7)?, Options::default())?;
/// let sketcher = kept.sketcher();
/// let signatures = texts.iter().map(|text| sketcher.text(text)).collect::<Result<Vec<_>, _>>()?;
/// let mut dedup = Dedup::new(&kept, 0.7)?;
/// let found = dedup.look_up(&signatures)?;
/// let decided = dedup.decide(&[0, 1, 2], &signatures, &found)?;
/// assert_eq!(decided[2].unwrap().of, 0);
///
/// // By the shingles.
/// let alike = Alike::similar(0.7).for_verification();
/// let kept = Index::temporary(&Dedup::choose(&given, alike)?, Options::default())?;
/// let sketcher = kept.sketcher();
/// let original = |text: &str| sketcher.original_text(text);
/// let mut documents = Vec::new();
/// for (rank, text) in (0..).zip(texts) {
///     documents.push((rank, original(text)?));
/// }
/// let mut fetch = |rank: u64| original(texts[rank as usize]).map(Some);
/// let decided = Dedup::new(&kept, alike)?.decide_exactly(documents, &mut fetch)?;
/// assert!(decided[0].is_none() && decided[1].is_none());
/// let copy = decided[2].unwrap();
/// assert_eq!((copy.of, copy.similarity), (0, 1.0));
/// # Ok(())
/// # }
/// ```
pub struct Dedup<'a> {
    kept: &'a Index,
    alike: Alike,
    /// The last rank that was decided.
    last: Option<u64>,
    cache: Cache,
    /// Candidates of exact decisions beyond the usual number, so far. `None` if that has no
    /// consequence any more.
    excess: Option<usize>,
    /// All kept documents, once there were many such candidates.
    crowd: Option<FormIndex>,
    /// Only how a search is stopped.
    stopping: Conditions<'static>,
}

/// The kept documents that are most similar to a document, as [`Dedup::look_up`] or
/// [`Dedup::look_up_candidates`] found them; or that there is none.
#[derive(Debug, Clone)]
pub struct LookedUp {
    nearest: Option<Duplicate>,
    candidates: Vec<KeptCandidate>,
    /// The number of the change on which the answer rests.
    change: u64,
}

impl<'a> Dedup<'a> {
    /// Starts with the index of kept documents, which may contain documents from earlier runs.
    /// Nothing else may write to it. `alike` makes a document a duplicate.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or a passage index).
    pub fn new(kept: &'a Index, alike: impl Into<Alike>) -> Result<Self> {
        if kept.params().passages().is_some() {
            return Err(Error::invalid("the index of those kept must be one of documents"));
        }
        let alike = alike.into().check()?.to_decide();
        Ok(Self {
            kept,
            alike,
            last: None,
            cache: Cache::default(),
            excess: Some(0),
            crowd: None,
            stopping: Conditions::default(),
        })
    }

    /// Ends a call with `Cancelled` as soon as this returns true. It is called as often as that of
    /// [`Conditions::cancel_if`]: between blocks of comparisons, also
    /// for a single document. A decision that was cancelled keeps none of its documents.
    #[must_use]
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stopping = self.stopping.cancel_if(cancel);
        self
    }

    /// The answers of queries for these signatures.
    fn answers(&self, signatures: &[Signature], alike: Alike, limit: usize) -> Result<Vec<Answer>> {
        let conditions = self.stopping.clone().alike(alike).limit(limit);
        let answers = self.kept.queries(signatures).conditions(conditions).run()?;
        refuse_partial(&answers)?;
        Ok(answers)
    }

    /// An error if the caller cancels the call.
    fn go_on(&self) -> Result<()> {
        if self.stopping.stop.is_due() { Err(cancelled()) } else { Ok(()) }
    }

    /// Undoes the decisions on this rank and all later ones, which are decided again: after an
    /// interruption, the index may hold more than the caller's last checkpoint. Reads all keys of
    /// the index.
    ///
    /// # Errors
    ///
    /// Those of reading and writing the index.
    pub fn go_back(&mut self, rank: u64) -> Result<()> {
        let mut later = Vec::new();
        self.kept.snapshot().for_each_key(|key| {
            if rank_of(key) >= rank {
                later.push(key.to_vec());
            }
            std::ops::ControlFlow::Continue(())
        })?;
        for some in later.chunks(REMOVALS) {
            self.kept.write(some.iter().fold(Batch::new(), Batch::remove))?;
        }
        self.last = rank.checked_sub(1);
        self.cache = Cache::default();
        self.crowd = None;
        Ok(())
    }

    /// For each signature, looks up the most similar of the documents that are kept so far: the
    /// first half of a decision, which changes nothing. Several threads may look up parts of a
    /// batch at once.
    ///
    /// # Errors
    ///
    /// `Mismatch` (signatures made with other parameters), and the errors of a query.
    pub fn look_up(&self, signatures: &[Signature]) -> Result<Vec<LookedUp>> {
        let params = self.kept.params();
        let answers = self.answers(signatures, self.alike, 1)?;
        let nearest = |answer: Answer| {
            let nearest = answer.matches.first().map(|found| {
                let containment = found.containment.map(|containment| containment.estimate);
                Duplicate::estimated(rank_of(&found.key), params, found.equal_rows, containment)
            });
            LookedUp { nearest, candidates: Vec::new(), change: answer.change }
        };
        Ok(answers.into_iter().map(nearest).collect())
    }

    /// For each signature, looks up the most similar of the documents that are kept so far, up to
    /// 32 of them, for [`Dedup::decide_confirmed`]. Otherwise like [`Dedup::look_up`].
    ///
    /// # Errors
    ///
    /// Those of [`Dedup::look_up`].
    pub fn look_up_candidates(&self, signatures: &[Signature]) -> Result<Vec<LookedUp>> {
        let answers = self.answers(signatures, self.alike, CANDIDATES_MAX)?;
        let looked_up = |answer: Answer| LookedUp {
            nearest: None,
            candidates: answer.matches.iter().map(KeptCandidate::stored).collect(),
            change: answer.change,
        };
        Ok(answers.into_iter().map(looked_up).collect())
    }

    /// Decides the next documents, in order of their ranks: the estimate finds candidates, and the
    /// shingles decide. Returns `None` for each document that is kept. The kept documents are
    /// written to the index as one batch.
    ///
    /// Candidates are the 32 kept documents of the highest estimates that reach the threshold. So
    /// no document is dropped of which the similarity is below the threshold, and a pair is missed
    /// as [`Dedup::decide`] misses it. Only documents with a candidate are fetched, and compared on
    /// the caller's thread: usually one in three, with one other.
    ///
    /// `found` is what [`Dedup::look_up_candidates`] returned for these signatures, after the batch
    /// before was decided. `fetch` returns documents of this batch and such as were kept before; it
    /// is called first for all documents for which one was found, and the nearest of those, so that
    /// it may make them on several threads.
    ///
    /// # Errors
    ///
    /// Those of [`Dedup::decide`] and of `fetch`; `Invalid` if `fetch` has no document for a rank.
    /// On an error none of the given documents is kept.
    pub fn decide_confirmed(
        &mut self,
        ranks: &[u64],
        signatures: &[Signature],
        found: &[LookedUp],
        fetch: &mut FetchRanks<'_>,
    ) -> Result<Vec<Option<Duplicate>>> {
        let last = self.check_looked_up(ranks, signatures, found)?;
        self.cache.fetch(to_compare(ranks, signatures, found), fetch)?;
        let fetch: &mut FetchByRank<'_> = &mut |rank| Ok(fetch(&[rank])?.pop().flatten());
        let mut fresh = Fresh::new(self.kept.params(), self.alike, signatures.len());
        let mut decided = Vec::with_capacity(signatures.len());
        for (at, (signature, found)) in signatures.iter().zip(found).enumerate() {
            self.go_on()?;
            let mut candidates = found.candidates.clone();
            fresh.matches(at, signature, |found| {
                let (rank, equal_rows) = (ranks[found.at], found.equal_rows);
                candidates.push(KeptCandidate { rank, equal_rows, fresh: None });
            });
            candidates.sort_unstable_by_key(KeptCandidate::order);
            candidates.truncate(CANDIDATES_MAX);
            let duplicate = if candidates.is_empty() {
                None
            } else {
                let document = self.cache.get(ranks[at], fetch)?;
                self.best(&document, &[], &candidates, fetch)?
            };
            if duplicate.is_none() {
                fresh.keep(at, signature);
            }
            decided.push(duplicate);
        }
        self.keep(fresh.kept().map(|at| (ranks[at], &signatures[at])))?;
        self.last = last;
        Ok(decided)
    }

    /// Decides the next documents by the estimate, in order of their ranks. Returns `None` for each
    /// document that is kept. The kept documents are written to the index as one batch.
    ///
    /// `found` is what [`Dedup::look_up`] returned for these signatures, after the batch before was
    /// decided.
    ///
    /// # Errors
    ///
    /// `Invalid`: ranks do not ascend, the three parts differ in length, or documents were kept
    /// since they were looked up. Also the errors of writing. On an error none of the given
    /// documents is kept.
    pub fn decide(
        &mut self,
        ranks: &[u64],
        signatures: &[Signature],
        found: &[LookedUp],
    ) -> Result<Vec<Option<Duplicate>>> {
        let last = self.check_looked_up(ranks, signatures, found)?;
        let params = self.kept.params();
        let mut fresh = Fresh::new(params, self.alike, signatures.len());
        let mut decided = Vec::with_capacity(signatures.len());
        for (at, (signature, found)) in signatures.iter().zip(found).enumerate() {
            self.go_on()?;
            let rows = found.nearest.map_or(0, |nearest| nearest.equal_rows());
            // If both are equally similar, the one in the index is named: it was kept earlier.
            let nearest = match fresh.nearest(at, signature) {
                Some(other) if found.nearest.is_none() || other.equal_rows > rows => {
                    let counts = (signature.shingle_count(), signatures[other.at].shingle_count());
                    let containment = if self.alike.asks_for_containment() {
                        params.containment(other.equal_rows, counts.0, counts.1)
                    } else {
                        None
                    };
                    let containment = containment.map(|containment| containment.estimate);
                    let (rank, rows) = (ranks[other.at], other.equal_rows);
                    Some(Duplicate::estimated(rank, params, rows, containment))
                }
                _ => found.nearest,
            };
            if nearest.is_none() {
                fresh.keep(at, signature);
            }
            decided.push(nearest);
        }
        self.keep(fresh.kept().map(|at| (ranks[at], &signatures[at])))?;
        self.last = last;
        Ok(decided)
    }

    /// Checks the input of a decision, and returns its last rank.
    fn check_looked_up(
        &self,
        ranks: &[u64],
        signatures: &[Signature],
        found: &[LookedUp],
    ) -> Result<Option<u64>> {
        let last = self.check_ranks(ranks.iter().copied())?;
        if ranks.len() != signatures.len() || ranks.len() != found.len() {
            return Err(Error::invalid("ranks, signatures and what was found differ in number"));
        }
        let change = self.kept.snapshot().change();
        if found.iter().any(|found| found.change != change) {
            return Err(Error::invalid("look documents up after the batch before was decided"));
        }
        Ok(last)
    }

    /// Checks that ranks ascend, and returns the last one.
    fn check_ranks(&self, ranks: impl Iterator<Item = u64>) -> Result<Option<u64>> {
        let mut last = self.last;
        for rank in ranks {
            if let Some(last) = last.filter(|last| *last >= rank) {
                return Err(Error::invalid(format!(
                    "ranks must ascend: {rank} comes after {last}"
                )));
            }
            last = Some(rank);
        }
        Ok(last)
    }

    fn keep<'s>(&self, documents: impl Iterator<Item = (u64, &'s Signature)>) -> Result<()> {
        let batch =
            documents.fold(Batch::new(), |batch, (rank, signature)| batch.insert(rank, signature));
        if !batch.is_empty() {
            self.kept.write(batch)?;
        }
        Ok(())
    }

    /// The most similar candidate of which the document is a duplicate, if any. `documents` are
    /// those of the batch.
    fn best(
        &mut self,
        document: &Original,
        documents: &[(u64, Original)],
        candidates: &[KeptCandidate],
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Option<Duplicate>> {
        let (mut best, mut alike) = (None::<Duplicate>, self.alike);
        for KeptCandidate { rank, fresh, .. } in candidates {
            self.go_on()?;
            let stored;
            let other = if let Some(other) = fresh {
                &documents[*other].1
            } else {
                stored = self.cache.get(*rank, fetch)?;
                &*stored
            };
            let Some(overlap) = alike.overlap(document, other) else { continue };
            let reason = Duplicate::between(*rank, overlap, (document, other));
            if reason.is_better_than(best.as_ref()) {
                // From here on, only candidates that are at least as similar matter.
                alike = reason.or_better(alike);
                best = Some(reason);
                if reason.is_whole() {
                    // Identical candidates come first, in order of rank, so this is the best one.
                    break;
                }
            }
        }
        Ok(best)
    }
}

impl fmt::Debug for Dedup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dedup = f.debug_struct("Dedup");
        dedup.field("kept", self.kept).field("alike", &self.alike).field("last", &self.last);
        dedup.finish_non_exhaustive()
    }
}

/// A kept document that may be similar to the document being decided.
#[derive(Debug, Clone, Copy)]
struct KeptCandidate {
    rank: u64,
    equal_rows: u32,
    /// The index of the document in the current batch, if it is in this batch.
    fresh: Option<usize>,
}

impl KeptCandidate {
    fn stored(found: &Match) -> Self {
        Self { rank: rank_of(&found.key), equal_rows: found.equal_rows, fresh: None }
    }

    /// The most similar come first; of equally similar ones the one that was kept first.
    fn order(&self) -> (Reverse<u32>, u64) {
        (Reverse(self.equal_rows), self.rank)
    }
}

/// The documents for which one was found, and the nearest of those: as many as fit into memory.
fn to_compare(ranks: &[u64], signatures: &[Signature], found: &[LookedUp]) -> Vec<u64> {
    let (mut needed, mut shingles) = (Vec::new(), 0);
    for ((rank, signature), found) in ranks.iter().zip(signatures).zip(found) {
        if let Some(nearest) = found.candidates.first() {
            shingles += u64::from(signature.shingle_count());
            if shingles > SHINGLES_MAX {
                break;
            }
            needed.extend([*rank, nearest.rank]);
        }
    }
    needed
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the deduplication was cancelled; nothing of this call counts")
}

/// An error if queries were stopped before their end.
fn refuse_partial(answers: &[Answer]) -> Result<()> {
    if answers.iter().all(|answer| answer.complete) { Ok(()) } else { Err(cancelled()) }
}

/// The rank of a kept document.
fn rank_of(key: &[u8]) -> u64 {
    Key::from(key).as_u64().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod audit_tests;

#[cfg(test)]
mod guard_tests;
