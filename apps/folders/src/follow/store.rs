//! The target of changes: the index or, with `--dry-run`, a scratch index that is deleted
//! afterwards.
//!
//! This module also knows which documents may be named as near-duplicates.

use std::collections::HashSet;

use nearkin::{Answer, Batch, Durability, Index, Match, Params, Query, Signature, Snapshot};

use super::folder::mark;
use nearkin_kit::args::machine;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::interrupt;
use nearkin_kit::scratch::Scratch;

/// Where changes are made: in the index itself or, with `--dry-run`, in a scratch index.
pub(crate) enum Store {
    Index(Index),
    Dry(Box<Dry>),
}

/// The unchanged index, and a scratch index with the documents that would be added.
pub(crate) struct Dry {
    documents: Option<Snapshot>,
    /// Hashes of the keys of documents that would be removed or replaced.
    gone: HashSet<u128>,
    added: Index,
    /// Deleted on drop, after `added`.
    _scratch: Scratch,
}

impl Store {
    /// A store that does not change the index. `gone` has the hashed keys of the documents that
    /// would be removed or replaced.
    pub(crate) fn dry(
        documents: Option<Snapshot>,
        params: &Params,
        gone: HashSet<u128>,
    ) -> Result<Self, Failure> {
        let scratch = Scratch::folder()?;
        let options = machine::options().durability(Durability::OsBuffer);
        let place = scratch.path().join("index");
        let create = |options| Index::create(&place, params, options);
        let added = opened::mapped_or_not(&place, options, create)?;
        Ok(Self::Dry(Box::new(Dry { documents, gone, added, _scratch: scratch })))
    }

    /// A snapshot of the stored documents.
    pub(crate) fn documents(&self) -> Option<Snapshot> {
        match self {
            Self::Index(index) => Some(index.snapshot()),
            Self::Dry(dry) => dry.documents.clone(),
        }
    }

    /// Writes a batch as one change.
    pub(crate) fn write(&self, batch: &Batch) -> Result<(), Failure> {
        let index = match self {
            Self::Index(index) => index,
            Self::Dry(dry) => &dry.added,
        };
        if !batch.is_empty() {
            index.write(batch)?;
        }
        Ok(())
    }

    /// Makes all changes durable.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        if let Self::Index(index) = self {
            index.sync()?;
        }
        Ok(())
    }

    /// Searches the most similar documents at the index's threshold, at most `limit` of them, among
    /// the first `candidates` candidates. Leaves out the document itself, and documents that may
    /// not be named.
    pub(crate) fn like(
        &self,
        key: &[u8],
        signature: &Signature,
        (limit, candidates): (usize, usize),
        may_name: impl Fn(&[u8]) -> bool + Sync + Send,
    ) -> Result<Bounded, Failure> {
        let named = |other: &[u8], _: &[u8]| other != key && may_name(other);
        let bounded = |query: Query<'_>| {
            let query = query.limit(limit).max_candidates(candidates);
            query.cancel_if(interrupt::came).run()
        };
        match self {
            Self::Index(index) => Ok(bounded_by(bounded(index.query(signature).filter(named))?)),
            Self::Dry(dry) => {
                let added = bounded(dry.added.query(signature).filter(named))?;
                let Some(documents) = &dry.documents else { return Ok(bounded_by(added)) };
                // The unchanged index still has the documents that would be removed or replaced, so
                // they are filtered out.
                let stays = |key: &[u8], _: &[u8]| !dry.gone.contains(&mark(key));
                let stored = bounded(documents.query(signature).filter(stays))?;
                let complete = added.complete && stored.complete;
                let mut matches = [added.matches, stored.matches].concat();
                matches.sort_by(|a, b| (b.equal_rows, &a.key).cmp(&(a.equal_rows, &b.key)));
                matches.truncate(limit);
                Ok(Bounded { matches, complete })
            }
        }
    }

    /// Flushes and closes the index, so that reopening has nothing to replay.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {
            Self::Index(index) => Ok(index.close()?),
            Self::Dry(_) => Ok(()),
        }
    }
}

/// What a bounded search found.
pub(crate) struct Bounded {
    pub matches: Vec<Match>,
    /// Whether all candidates were compared.
    pub complete: bool,
}

fn bounded_by(answer: Answer) -> Bounded {
    Bounded { matches: answer.matches, complete: answer.complete }
}
