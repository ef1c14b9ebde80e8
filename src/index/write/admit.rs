//! Admitting: check and insert in one step. A newcomer that is too similar to a stored document is
//! rejected, or replaces it.
//!
//! Decides under the write lock, on the applied state; writes through `write_path.rs`.

use super::batch::{Operation, Outcome};
use super::plan::key_hashes;
use crate::index::read::candidate::Found;
use crate::index::read::scratch::SearchScratch;
use crate::index::read::search::Search;
use crate::index::read::{Alike, Match};
use crate::index::state::commit;
use crate::index::state::core::{Core, Writer};
use crate::index::state::excerpt::Excerpt;
use crate::index::state::key::Key;
use crate::index::state::versions::Snapshot;
use crate::index::write::write_path;
use crate::sketch::{Original, Signature};
use crate::{Error, Result};
use std::fmt;

pub(in crate::index) mod verify;

pub use verify::VerifiedAdmit;

/// Maximum number of newcomers decided per hold of the write lock.
const NEWCOMERS_PER_HOLD: usize = small!(admit::NEWCOMERS_PER_HOLD, 64);

/// The conditions under which newcomers are admitted.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("papers.nearkin");
/// use nearkin::{Admit, Decision, Index, Options, Params, Shingles};
///
/// // Bands for the lower of the two similarities, so that related documents are found, too.
/// let params = Params::for_threshold(0.3).shingles(Shingles::Words(2)).build()?;
/// let index = Index::create(&dir, &params, Options::default())?;
/// let sketch = index.sketcher();
/// let terms = Admit::at(0.9).relate(0.3);
/// let first = sketch.text("The quick brown fox jumps over the lazy dog at noon")?;
/// assert!(index.admit("p1", &first, &terms)?.is_admitted());
///
/// let again = sketch.text("the quick brown fox jumps over the LAZY dog at noon!")?;
/// let Decision::Rejected { duplicates, .. } = index.admit("p2", &again, &terms)?.decision else {
///     panic!("it is the same but for its case");
/// };
/// assert_eq!(duplicates[0].key, b"p1");
/// assert!(!index.contains("p2")?);
///
/// let other = sketch.text("The quick brown fox jumps over the lazy cow at nine")?;
/// let Decision::Admitted { related, .. } = index.admit("p3", &other, &terms)?.decision else {
///     panic!("it is like the first, but not the same");
/// };
/// assert_eq!(related[0].key, b"p1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Admit {
    reject: Alike,
    /// Minimum similarity of related documents; `None`: none are requested.
    relate: Option<f64>,
    keep: Keep,
    limit: usize,
}

/// Which of a newcomer and its duplicates stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Keep {
    /// The stored document: a newcomer with a duplicate is rejected.
    #[default]
    First,
    /// The newcomer: it replaces all its duplicates.
    Newest,
    /// The longer one: the newcomer replaces its duplicates if it has more shingles than each of
    /// them; otherwise it is rejected.
    Longest,
}

impl Admit {
    /// Rejects newcomers with a duplicate: a stored document, under another key, that reaches this
    /// threshold. A plain number is a minimum similarity, from 0 to 1. With [`Alike::contained`],
    /// the threshold is the share of the smaller document contained in the larger one, whichever of
    /// the two is stored.
    ///
    /// Duplicates are found as by a query at that threshold: choose the bands of the index so that
    /// [`Params::candidate_probability`](crate::Params::candidate_probability) is high there
    /// ([`Alike::similarity_needed`]). Similarity and containment are estimates from signatures;
    /// the documents themselves are compared only by [`Admit::verify`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("letters.nearkin");
    /// use nearkin::{Admit, Alike, Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.3).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let letters = index.sketcher();
    /// let long = "dear neighbours, the bridge is closed until further notice, yours, the mayor";
    /// index.insert("long", &letters.text(long)?)?;
    /// let part = letters.text("the bridge is closed until further notice")?;
    /// assert!(!index.admit("part", &part, &Admit::at(Alike::contained(0.75)))?.is_admitted());
    /// assert!(index.admit("part", &part, &Admit::at(0.9))?.is_admitted());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn at(reject: impl Into<Alike>) -> Self {
        Self { reject: reject.into(), relate: None, keep: Keep::First, limit: usize::MAX }
    }

    /// For an admitted newcomer, also returns the related documents: those of at least this
    /// similarity that are not duplicates. Must be at least 0 and at most the similarity of a
    /// duplicate. Default: no related documents.
    #[must_use]
    pub fn relate(mut self, relate: f64) -> Self {
        self.relate = Some(relate);
        self
    }

    /// Which of a newcomer and its duplicates stays. Default: [`Keep::First`].
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Maximum number of matches returned, most similar first: duplicates for a rejected newcomer,
    /// related documents for an admitted one. Default: all. The list of removed duplicates is
    /// always complete.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Checks the thresholds, and converts them to numbers of equal rows.
    fn in_rows(self, applied: &Snapshot) -> Result<AdmitTerms> {
        let Self { reject, relate, keep, limit } = self;
        let reject = reject.check()?;
        let reject_min = reject.equal_rows_min(applied.params());
        let mut relate_min = applied.equal_rows_min(relate)?;
        if let Some(relate) = relate.filter(|_| reject.is_verified()) {
            let params = applied.params();
            relate_min = params.equal_rows_min(params.search_threshold(relate));
        }
        let by_counts = reject.asks_for_counts();
        let relate_min = if relate.is_some() { Some(relate_min) } else { None };
        if !by_counts && let Some(relate_above) = relate.filter(|relate| *relate > reject.least()) {
            return Err(Error::invalid(format!(
                "relate must not be above reject: {relate_above} is above {}",
                reject.least()
            )));
        }
        let search_min = relate_min.map_or(reject_min, |relate| relate.min(reject_min));
        Ok(AdmitTerms { reject, reject_min, relate_min, search_min, keep, limit })
    }
}

/// [`Admit`], checked.
#[derive(Debug, Clone, Copy)]
struct AdmitTerms {
    reject: Alike,
    /// Minimum equal rows of a duplicate.
    reject_min: u32,
    /// Minimum equal rows of a related document; `None` if none are requested.
    relate_min: Option<u32>,
    /// Minimum equal rows of a match of the search: the smaller of the two minimums above.
    search_min: u32,
    keep: Keep,
    limit: usize,
}

impl AdmitTerms {
    /// Splits the matches of a newcomer into duplicates and related documents.
    fn part<'f>(
        self,
        before: &Snapshot,
        found: &'f mut [Found],
        counts: Option<&[u32]>,
    ) -> Result<(&'f mut [Found], &'f mut [Found])> {
        let Self { reject, reject_min, relate_min, .. } = self;
        found.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let reaching = found.partition_point(|found| found.equal_rows >= reject_min);
        let duplicates = match counts {
            None => reaching,
            Some(counts) => before.keep_all_contained(&mut found[..reaching], reject, counts)?,
        };
        let (duplicates, others) = found.split_at_mut(duplicates);
        others.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let related =
            relate_min.map_or(0, |least| others.partition_point(|found| found.equal_rows >= least));
        Ok((duplicates, &mut others[..related]))
    }
}

/// A document to be admitted.
#[derive(Clone)]
pub struct Newcomer<'a> {
    key: Key<'a>,
    signature: &'a Signature,
    /// The document itself, for `verify`.
    original: Option<&'a Original>,
    /// `None`: a stored payload is kept.
    payload: Option<&'a [u8]>,
    /// `None`: the time of the clock at admission.
    time: Option<u64>,
}

impl<'a> Newcomer<'a> {
    /// A document with this key (1 to 4,096 bytes). If it replaces a document with the same key,
    /// the stored payload is kept.
    pub fn new(key: impl Into<Key<'a>>, signature: &'a Signature) -> Self {
        Self { key: key.into(), signature, original: None, payload: None, time: None }
    }

    /// Same as [`Newcomer::new`], with the document itself, which [`Admit::verify`] compares.
    pub fn original(key: impl Into<Key<'a>>, original: &'a Original) -> Self {
        Self { original: Some(original), ..Self::new(key, original.signature()) }
    }

    /// Up to 64 KiB of the caller's own bytes, stored with the document if it is admitted. An empty
    /// payload clears the stored one.
    #[must_use]
    pub fn payload(mut self, payload: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.payload = Some(payload.as_ref());
        self
    }

    /// The document's time, in milliseconds since the Unix epoch, in place of the time from the
    /// clock of [`Options`](crate::Options). If the stored document has the same signature and
    /// payload, it keeps its own time.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }

    /// The insert operation for this document; `now` is the default time.
    fn operation(&self, now: u64) -> Operation<'_> {
        Operation::Insert {
            key: self.key.as_bytes(),
            payload: self.payload,
            time: self.time.unwrap_or(now),
            shingle_count: self.signature.shingle_count(),
            signature: self.signature.as_bytes(),
        }
    }
}

/// The result of admitting a newcomer.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Admission {
    /// Whether the newcomer was admitted, and the related or replaced documents.
    pub decision: Decision,
    /// The number of the change on whose state the decision was made. If the call wrote anything,
    /// that write is the next change.
    pub change: u64,
    /// With [`Admit::verify`]: the keys of stored documents that may be similar and could not be
    /// compared, because they were not fetched, or are not those that were indexed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unverified: Vec<Vec<u8>>,
}

/// Whether a newcomer was admitted. Matches are ordered as in the answer of a query: most similar
/// first, ties by key.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Decision {
    /// Nothing was written. A document stored under the newcomer's key is unchanged.
    #[non_exhaustive]
    Rejected {
        /// The stored documents that reach [`Admit::at`], up to the limit.
        duplicates: Vec<Match>,
    },
    /// The newcomer is stored.
    #[non_exhaustive]
    Admitted {
        /// The stored documents that reach [`Admit::relate`] but not [`Admit::at`], up to the
        /// limit.
        related: Vec<Match>,
        /// The outcome of the insert.
        outcome: Outcome,
        /// The replaced duplicates, removed in the same change.
        removed: Vec<Match>,
    },
}

impl Admission {
    /// Whether the newcomer is stored now.
    pub fn is_admitted(&self) -> bool {
        matches!(self.decision, Decision::Admitted { .. })
    }
}

impl fmt::Debug for Newcomer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut newcomer = f.debug_struct("Newcomer");
        newcomer.field("key", &self.key).field("payload", &self.payload.map(Excerpt));
        newcomer.field("time", &self.time).finish_non_exhaustive()
    }
}

/// Decides on newcomers one after the other. See [`crate::Index::admit_all`].
pub(crate) fn admit_all(
    core: &Core,
    newcomers: &[Newcomer<'_>],
    admit: &Admit,
) -> Result<Vec<Admission>> {
    let terms = admit.in_rows(&core.snapshot())?;
    let operations = operations_of(core, newcomers)?;
    let mut admissions = Vec::with_capacity(operations.len());
    let mut last = None;
    let decided = operations.chunks(NEWCOMERS_PER_HOLD).try_for_each(|some| {
        let mut writer = core.writer();
        commit::refuse_if_stopped(core)?;
        for newcomer in some {
            admissions.push(admit_one(core, &mut writer, newcomer, terms)?);
            last = Some(writer.change);
        }
        Ok(())
    });
    planted!(RejectionNotAwaited => if !admissions.iter().any(Admission::is_admitted) {
        return decided.map(|()| admissions);
    });
    settle_admissions(core, decided.map(|()| admissions), last)
}

/// The inserts of newcomers, checked.
fn operations_of<'n>(core: &Core, newcomers: &'n [Newcomer<'_>]) -> Result<Vec<Operation<'n>>> {
    let now = (core.options.clock)();
    let mut operations = Vec::with_capacity(newcomers.len());
    for newcomer in newcomers {
        let operation = newcomer.operation(now);
        write_path::check_operation(core, &operation, newcomer.signature.id())?;
        check_record(core, &operation, &[])?;
        operations.push(operation);
    }
    Ok(operations)
}

/// Settles decisions that rest on the changes up to `last`, even if a later newcomer failed:
/// other threads may have seen their effects.
fn settle_admissions<T>(core: &Core, decided: Result<T>, last: Option<u64>) -> Result<T> {
    if let Some(last) = last {
        commit::settle(core, last)?;
    }
    decided
}

/// Decides on a newcomer on the applied state, and writes it if it is admitted.
fn admit_one(
    core: &Core,
    writer: &mut Writer,
    newcomer: &Operation<'_>,
    terms: AdmitTerms,
) -> Result<Admission> {
    let Operation::Insert { shingle_count, .. } = *newcomer else {
        return Err(Error::invalid("a newcomer is an insert"));
    };
    let before = core.applied(writer);
    let change = writer.change;
    let mut found = before.search_newcomer(newcomer, terms)?;
    let AdmitTerms { keep, limit, .. } = terms;
    let counts = &[shingle_count][..];
    let counts = terms.reject.asks_for_counts().then_some(counts);
    let (duplicates, related) = terms.part(&before, &mut found, counts)?;
    if !stays(&before, shingle_count, duplicates, keep)? {
        let duplicates = before.rank(duplicates, limit, counts)?;
        let decision = Decision::Rejected { duplicates };
        return Ok(Admission { decision, change, unverified: Vec::new() });
    }
    let removed = before.rank(duplicates, usize::MAX, counts)?;
    let related = before.rank(related, limit, counts)?;
    let outcome = write_newcomer(core, writer, newcomer, &removed)?;
    let decision = Decision::Admitted { related, outcome, removed };
    Ok(Admission { decision, change, unverified: Vec::new() })
}

/// Writes a newcomer, and removes the duplicates that it replaces, as one change.
fn write_newcomer(
    core: &Core,
    writer: &mut Writer,
    newcomer: &Operation<'_>,
    removed: &[Match],
) -> Result<Outcome> {
    check_record(core, newcomer, removed)?;
    let remove = |found| Operation::Remove { key: found };
    let mut operations: Vec<_> = removed.iter().map(|found| remove(&*found.key)).collect();
    operations.push(*newcomer);
    let key_hashes = key_hashes(&core.params, &operations);
    let written = write_path::write_locked(core, writer, &operations, &key_hashes)?;
    Ok(written.outcomes.last().copied().unwrap_or(Outcome::Unchanged))
}

/// Refuses a newcomer whose record would be too long, including the removes of replaced
/// documents. (A stored payload that is kept is not counted.)
fn check_record(core: &Core, newcomer: &Operation<'_>, removed: &[Match]) -> Result<()> {
    let signature = match newcomer {
        Operation::Insert { signature, .. } => signature.len(),
        Operation::SetPayload { .. } | Operation::Remove { .. } => 0,
    };
    let own = signature + newcomer.payload().map_or(0, <[u8]>::len);
    let others = removed.iter().map(|found| 20 + found.key.len()).sum::<usize>();
    let bytes = 32 + 20 + newcomer.key().len() + own + others;
    let bytes_max = core.options.batch_bytes_max;
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the new document and the removal of {} duplicates take {bytes} bytes, more than \
         batch_bytes_max ({bytes_max}); raise that option, or remove some duplicates first",
        removed.len()
    )))
}

impl Snapshot {
    /// The live documents, except the one of the newcomer's own key, that reach the minimum of the
    /// search.
    fn search_newcomer(&self, newcomer: &Operation<'_>, terms: AdmitTerms) -> Result<Vec<Found>> {
        let Operation::Insert { key, signature, .. } = *newcomer else { return Ok(Vec::new()) };
        let mut scratch = SearchScratch::take();
        let searched =
            Search::new(self, &mut scratch).run(&[signature], terms.search_min).map(std::mem::take);
        scratch.keep();
        let mut found = searched?;
        if !found.is_empty() {
            let itself = self.locate(key)?;
            found.retain(|found| Some(found.place) != itself);
        }
        Ok(found)
    }
}

/// Whether the newcomer replaces its duplicates.
fn stays(before: &Snapshot, shingle_count: u32, duplicates: &[Found], keep: Keep) -> Result<bool> {
    match keep {
        Keep::First => Ok(duplicates.is_empty()),
        Keep::Newest => Ok(true),
        Keep::Longest => {
            for duplicate in duplicates {
                if before.shingle_count(duplicate.place)? >= shingle_count {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}
