//! Admitting: check and insert in one step. A newcomer that is too similar to a stored document is
//! rejected, or replaces it.
//!
//! Decides under the write lock, on the applied state; writes through `write_path.rs`.

use super::batch::Outcome;
use super::operation::Operation;
use super::plan::key_hashes;
use crate::index::merge::commit;
use crate::index::read::Match;
use crate::index::read::candidate::Found;
use crate::index::read::scratch::SearchScratch;
use crate::index::read::search::Search;
use crate::index::read::stop::Stop;
use crate::index::state::core::{Core, Writer};
use crate::index::state::key::Key;
use crate::index::state::versions::Snapshot;
use crate::index::write::write_path;
use crate::{Error, Original, Result, Signature};
use nearkin_sketch::engine::Excerpt;
use std::fmt;

mod candidacy;
mod conditions;
mod judged;
pub(in crate::index) mod verify;

use candidacy::{Candidacy, Verdict};
use conditions::AdmitTerms;
pub use conditions::{Admit, Keep};
use judged::Judged;
pub use verify::VerifiedAdmit;

/// Maximum number of newcomers decided per hold of the write lock.
const NEWCOMERS_PER_HOLD: usize = small!(admit::NEWCOMERS_PER_HOLD, 64);

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
            is_decided: false,
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
    /// Whether the newcomer was compared with all candidates. False only if the
    /// conditions bound their number; then a duplicate may have been missed.
    #[cfg_attr(feature = "serde", serde(default = "whole"))]
    pub complete: bool,
    /// With [`Admit::verify`]: the keys of stored documents that may be similar and could not be
    /// compared, because they were not fetched, or are not those that were indexed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unverified: Vec<Vec<u8>>,
    /// With [`VerifiedAdmit::guard`]: the stored documents that reach [`Admit::at`] and are set
    /// apart by the guard, up to the limit.
    #[cfg_attr(feature = "serde", serde(default))]
    pub apart: Vec<Match>,
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
        /// limit; with [`Keep::All`](crate::Keep::All), also those that reach [`Admit::at`].
        related: Vec<Match>,
        /// The outcome of the insert.
        outcome: Outcome,
        /// The replaced duplicates, removed in the same change.
        removed: Vec<Match>,
    },
}

impl Decision {
    /// The word for it on every door: `admitted`; `replaced` and `unchanged` if the newcomer was
    /// admitted and its key already had a document; `rejected`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Rejected { .. } => "rejected",
            Self::Admitted { outcome: Outcome::Replaced, .. } => "replaced",
            Self::Admitted { outcome: Outcome::Unchanged, .. } => "unchanged",
            Self::Admitted { .. } => "admitted",
        }
    }
}

#[cfg(feature = "serde")]
fn whole() -> bool {
    true
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
    admit: &Admit<'_>,
) -> Result<Vec<Admission>> {
    let terms = admit.in_rows(&core.snapshot())?;
    let operations = operations_of(core, newcomers, admit)?;
    let mut admissions = Vec::with_capacity(operations.len());
    let mut last = None;
    let failed = |decided: usize, error: Error| {
        let key = operations.get(decided).map_or(&[][..], Operation::key);
        error.of_document(decided, operations.len(), key)
    };
    if admit.calls_back() {
        let decided = operations.iter().try_for_each(|operation| {
            let mut newcomer = Candidacy::new(operation, admit, terms);
            if admit.conditions.selection.is_none() {
                newcomer = newcomer.by_estimate();
            }
            let similar = &mut |_: &Snapshot, _: Found, _: &[u8]| Ok(Verdict::Similar);
            let (admission, change) = newcomer.decide(core, similar)?;
            last = Some(change);
            admissions.push(admission);
            Ok(())
        });
        let decided = decided.map_err(|error| failed(admissions.len(), error));
        return settle_admissions(core, decided.map(|()| admissions), last);
    }
    let decided = operations.chunks(NEWCOMERS_PER_HOLD).try_for_each(|some| {
        let mut writer = core.to_write()?;
        commit::refuse_if_stopped(core)?;
        for newcomer in some {
            admissions.push(admit_one(core, &mut writer, newcomer, terms)?);
            last = Some(writer.change);
        }
        Ok(())
    });
    let decided = decided.map_err(|error| failed(admissions.len(), error));
    planted!(RejectionNotAwaited => if !admissions.iter().any(Admission::is_admitted) {
        return decided.map(|()| admissions);
    });
    settle_admissions(core, decided.map(|()| admissions), last)
}

/// The inserts of newcomers, checked.
fn operations_of<'n>(
    core: &Core,
    newcomers: &'n [Newcomer<'_>],
    admit: &Admit<'_>,
) -> Result<Vec<Operation<'n>>> {
    let now = (core.options.clock)();
    let prefix = admit.conditions.selection.as_ref().map_or(&[][..], |of| &of.prefix);
    let check = |newcomer: &Newcomer<'_>, operation: &Operation<'_>| {
        if !operation.key().starts_with(prefix) {
            return Err(Error::invalid(format!(
                "the key {:?} does not begin with the prefix {:?}, so the document is not part of \
                 what it would be compared with",
                String::from_utf8_lossy(operation.key()),
                String::from_utf8_lossy(prefix)
            )));
        }
        write_path::check_operation(core, operation, newcomer.signature.id())?;
        check_record(core, operation, &[])
    };
    let mut operations = Vec::with_capacity(newcomers.len());
    for (number, newcomer) in newcomers.iter().enumerate() {
        let operation = newcomer.operation(now);
        let count = newcomers.len();
        check(newcomer, &operation)
            .map_err(|error| error.of_document(number, count, operation.key()))?;
        operations.push(operation);
    }
    Ok(operations)
}

/// Settles decisions that rest on the changes up to `last`, even if a later newcomer failed:
/// other threads may have seen their effects.
fn settle_admissions<T>(core: &Core, decided: Result<T>, last: Option<u64>) -> Result<T> {
    if let Some(last) = last {
        write_path::settle(core, last)?;
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
    let before = core.applied(writer);
    let (mut found, complete) = before.search_newcomer(newcomer, terms, &Stop::default())?;
    let (duplicates, related) = terms.part(&before, &mut found, newcomer)?;
    let by_estimate = |some: &[Found]| some.iter().map(|found| (*found, None)).collect();
    let (duplicates, related) = (by_estimate(duplicates), by_estimate(related));
    let judged = Judged { duplicates, related, complete, ..Judged::default() };
    judged.conclude(core, writer, &before, newcomer, terms)
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
    /// search, and whether all candidates were compared. An error if the search was stopped.
    fn search_newcomer(
        &self,
        newcomer: &Operation<'_>,
        terms: AdmitTerms,
        stop: &Stop<'_>,
    ) -> Result<(Vec<Found>, bool)> {
        let Operation::Insert { key, signature, .. } = *newcomer else {
            return Ok((Vec::new(), true));
        };
        let mut scratch = SearchScratch::take();
        let search = Search::new(self, &mut scratch).bounded(terms.candidates_max);
        let mut search = search.until(stop);
        let searched = search.run(&[signature], terms.search_min).map(std::mem::take);
        let (is_stopped, is_cut) = (search.is_stopped(), search.is_cut(0));
        scratch.keep();
        let mut found = searched?;
        if is_stopped {
            return Err(candidacy::stopped());
        }
        if !found.is_empty() {
            let itself = self.locate(key)?;
            found.retain(|found| Some(found.place) != itself);
        }
        Ok((found, !is_cut))
    }
}
