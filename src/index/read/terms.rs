//! The conditions of a query: threshold, limit, filter, and when to stop.
//!
//! The search itself does not read the clock: it calls [`Stop`] between blocks of candidates.

use crate::Result;
use crate::index::read::alike::Alike;
use crate::index::state::excerpt::Excerpt;
use crate::index::state::versions::Snapshot;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A stored document as a filter sees it: see
/// [`Query::filter_document`](crate::Query::filter_document).
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentView<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The payload; may be empty.
    pub payload: &'a [u8],
    /// Time of insertion or last replacement, in milliseconds since 1970, UTC.
    pub time: u64,
}

/// The key and the payload are shortened.
impl fmt::Debug for DocumentView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = f.debug_struct("DocumentView");
        seen.field("key", &Excerpt(self.key)).field("payload", &Excerpt(self.payload));
        seen.field("time", &self.time).finish()
    }
}

/// Decides whether a document may be in the answer.
pub(crate) type Filter<'a> = dyn Fn(DocumentView<'_>) -> bool + Send + Sync + 'a;

/// The conditions of a query, whether it is about a signature or about keys.
#[derive(Clone)]
pub(super) struct Terms<'a> {
    pub(super) threshold: Option<f64>,
    pub(super) contained: Option<f64>,
    /// Whether the caller compares the documents of each match afterwards. The search then goes
    /// below the minimum.
    pub(super) is_verified: bool,
    pub(super) limit: usize,
    pub(super) candidates_max: usize,
    pub(super) filter: Option<Arc<Filter<'a>>>,
    pub(super) stop: Stop<'a>,
}

/// The conditions under which a query stops early.
#[derive(Clone, Default)]
pub(crate) struct Stop<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Option<Arc<dyn Fn() -> bool + Send + Sync + 'a>>,
}

impl Stop<'_> {
    /// Whether anything can stop the query.
    #[inline]
    pub(crate) fn may_come(&self) -> bool {
        self.deadline.is_some() || self.cancel.is_some()
    }

    /// Whether the query must stop now. Calls the caller's code: hold no lock.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.may_come() && self.is_due_now()
    }

    #[cold]
    fn is_due_now(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel())
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Terms<'_> {
    pub(super) const fn new() -> Self {
        let stop = Stop { deadline: None, cancel: None };
        let (limit, candidates_max) = (usize::MAX, usize::MAX);
        Self {
            threshold: None,
            contained: None,
            is_verified: false,
            limit,
            candidates_max,
            filter: None,
            stop,
        }
    }

    /// Sets the condition of a match.
    pub(super) fn ask_for(&mut self, alike: Alike) {
        (self.threshold, self.contained) = alike.thresholds();
        self.is_verified = alike.is_verified();
    }

    /// The condition of a match in this index, checked.
    pub(super) fn alike_in(&self, snapshot: &Snapshot) -> Result<Alike> {
        snapshot.refuse_if_closed()?;
        let alike = match (self.contained, self.threshold) {
            (None, None) => Alike::similar(snapshot.params().threshold()),
            (None, Some(threshold)) => Alike::similar(threshold),
            (Some(contained), None) => Alike::contained(contained),
            (Some(contained), Some(threshold)) => {
                Alike::contained(contained).and_similar(threshold)
            }
        };
        let alike = if self.is_verified { alike.for_verification() } else { alike };
        alike.check()
    }
}

/// The conditions that were set, on one line.
impl fmt::Debug for Terms<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms = f.debug_struct("Terms");
        if let Some(threshold) = self.threshold {
            terms.field("threshold", &threshold);
        }
        if let Some(contained) = self.contained {
            terms.field("contained", &contained);
        }
        if self.is_verified {
            terms.field("for_verification", &format_args!("set"));
        }
        if self.limit < usize::MAX {
            terms.field("limit", &self.limit);
        }
        if self.candidates_max < usize::MAX {
            terms.field("max_candidates", &self.candidates_max);
        }
        let Stop { deadline, cancel } = &self.stop;
        let is_set = [
            ("filter", self.filter.is_some()),
            ("deadline", deadline.is_some()),
            ("cancel_if", cancel.is_some()),
        ];
        for (name, _) in is_set.into_iter().filter(|(_, is_set)| *is_set) {
            terms.field(name, &format_args!("set"));
        }
        terms.finish()
    }
}
