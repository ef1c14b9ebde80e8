//! Which documents a search considers: by key, time and the caller's filter.

use crate::index::state::versions::{Place, Snapshot};
use crate::segment::Bits;
use crate::{Error, Result};
use nearkin_sketch::engine::Excerpt;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A stored document as a filter sees it: see
/// [`Conditions::filter_document`](crate::Conditions::filter_document).
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

/// The conditions on a document itself, not on its similarity.
#[derive(Clone, Default)]
pub(crate) struct Selection<'a> {
    /// What the key must begin with.
    pub(crate) prefix: Vec<u8>,
    /// The earliest time.
    pub(crate) after: Option<u64>,
    /// The time that the document must be older than.
    pub(crate) before: Option<u64>,
    pub(crate) filter: Option<Arc<Filter<'a>>>,
}

impl Selection<'_> {
    /// Whether every document passes.
    pub(crate) fn is_all(&self) -> bool {
        self.prefix.is_empty() && !self.has_times() && self.filter.is_none()
    }

    pub(crate) fn has_times(&self) -> bool {
        self.after.is_some() || self.before.is_some()
    }

    /// Refuses a range of times that lets no document pass.
    pub(super) fn check(&self) -> Result<()> {
        match (self.after, self.before) {
            (Some(after), Some(before)) if after >= before => Err(Error::invalid(format!(
                "after must be less than before: no time is at least {after} and less than {before}"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether a document passes: the one place that decides. Asks for the time, the beginning of
    /// the key and the filter's decision only if they matter, the cheapest first.
    pub(crate) fn passes(
        &self,
        time: impl FnOnce() -> Result<u64>,
        begins_with: impl FnOnce(&[u8]) -> Result<bool>,
        passes_filter: impl FnOnce(&Filter<'_>) -> Result<bool>,
    ) -> Result<bool> {
        if self.has_times() {
            let time = time()?;
            let is_early = self.after.is_some_and(|after| time < after);
            if is_early || self.before.is_some_and(|before| time >= before) {
                return Ok(false);
            }
        }
        if !self.prefix.is_empty() && !begins_with(&self.prefix)? {
            return Ok(false);
        }
        self.filter.as_ref().map_or(Ok(true), |filter| passes_filter(&**filter))
    }
}

impl Snapshot {
    /// Whether a stored document passes. `copied` is working memory.
    pub(crate) fn passes(
        &self,
        place: Place,
        selection: &Selection<'_>,
        copied: &mut Vec<u8>,
    ) -> Result<bool> {
        selection.passes(
            || self.time(place),
            |prefix| match self.state.segments.get(place.source) {
                Some(live) => Ok(live.segment.key(place.ordinal)?.starts_with(prefix)),
                None => Ok(self.state.memtable.read().key(place.ordinal).starts_with(prefix)),
            },
            |filter| self.passes_filter(place, filter, copied),
        )
    }

    /// Calls the filter. It is the caller's code and may query the index or write to it. So no lock
    /// is held during the call, and for a document in the memtable the filter gets a copy.
    fn passes_filter(
        &self,
        Place { source, ordinal }: Place,
        filter: &Filter<'_>,
        copied: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(live) = self.state.segments.get(source) {
            let stored = live.segment.document(ordinal)?;
            let (key, payload) = (&*stored.key, &*stored.payload);
            return Ok(filter(DocumentView { key, payload, time: live.segment.time(ordinal)? }));
        }
        copied.clear();
        let content = self.state.memtable.read();
        copied.extend_from_slice(content.key(ordinal));
        let key_end = copied.len();
        copied.extend_from_slice(content.payload(ordinal));
        let time = content.time(ordinal);
        drop(content);
        let (key, payload) = copied.split_at(key_end);
        Ok(filter(DocumentView { key, payload, time }))
    }
}

/// The live documents of a snapshot that do not pass a selection: one bit for each document.
pub(super) struct Hidden {
    /// By source.
    documents: Vec<Bits>,
}

impl Hidden {
    /// Asks for each live document whether it passes. `go_on` is called before every 64 documents;
    /// `None` if it ended the search.
    pub(super) fn by_selection(
        snapshot: &Snapshot,
        selection: &Selection<'_>,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        snapshot.refuse_if_closed()?;
        let (mut documents, mut copied) = (Vec::new(), Vec::new());
        for source in 0..=snapshot.state.segments.len() {
            let count = snapshot.document_count(source);
            let mut hidden = Bits::new(count);
            for place in (0..count).map(|ordinal| Place { source, ordinal }) {
                if place.ordinal.is_multiple_of(64) && go_on().is_break() {
                    return Ok(None);
                }
                if snapshot.is_live(place)? && !snapshot.passes(place, selection, &mut copied)? {
                    hidden.set(place.ordinal);
                }
            }
            documents.push(hidden);
        }
        Ok(Some(Self { documents }))
    }

    /// Whether a live document does not pass.
    pub(super) fn is_set(&self, place: Place) -> bool {
        self.documents[place.source].is_set(place.ordinal)
    }
}
