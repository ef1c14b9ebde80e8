//! The target of changes: the index or, with `--dry-run`, a scratch index that is deleted
//! afterwards.
//!
//! This module also knows which documents may be named as near-duplicates.

use std::collections::HashSet;

use nearkin::{Batch, Durability, Index, Match, Options, Params, Signature, Snapshot};

use super::folder::mark;
use crate::failure::Failure;
use crate::scratch::Scratch;

/// Factor by which the limit of a query is raised if too many of the results may not be named as
/// near-duplicates.
const WIDER: usize = 16;

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
        let options = Options::default().durability(Durability::OsBuffer);
        let added = Index::create(scratch.path().join("index"), params, options)?;
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

    /// The most similar documents at the index's threshold, at most `limit`. The document itself,
    /// and documents that may not be named, are left out.
    pub(crate) fn like(
        &self,
        key: &[u8],
        signature: &Signature,
        limit: usize,
        may_name: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Match>, Failure> {
        let named = |found: &Match| found.key != key && may_name(&found.key);
        match self {
            Self::Index(index) => best(&index.snapshot(), signature, limit, named),
            Self::Dry(dry) => {
                let mut found = best(&dry.added.snapshot(), signature, limit, named)?;
                if let Some(documents) = &dry.documents {
                    // The unchanged index still has the documents that would be removed or
                    // replaced, so they are filtered out.
                    let stays = |found: &Match| !dry.gone.contains(&mark(&found.key));
                    found.extend(best(documents, signature, limit, stays)?);
                }
                found.sort_by(|a, b| (b.equal_rows, &a.key).cmp(&(a.equal_rows, &b.key)));
                found.truncate(limit);
                Ok(found)
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

/// The first `limit` matches that satisfy a condition. If too few results of the query satisfy it,
/// the query is repeated with a higher limit.
fn best(
    documents: &Snapshot,
    signature: &Signature,
    limit: usize,
    condition: impl Fn(&Match) -> bool,
) -> Result<Vec<Match>, Failure> {
    let mut limit_now = limit.saturating_add(1);
    loop {
        let answer = documents.query(signature).limit(limit_now).run()?;
        let all = answer.matches.len() as u64 >= answer.found;
        let mut matches = answer.matches;
        matches.retain(&condition);
        if all || matches.len() >= limit {
            matches.truncate(limit);
            return Ok(matches);
        }
        limit_now = limit_now.saturating_mul(WIDER);
    }
}
