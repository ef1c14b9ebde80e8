//! What is looked for before the write lock is taken: all that is like some newcomers, in segments
//! and in the memtable, up to those documents that come in meanwhile.
//!
//! Decides nothing; the state it was found in is noted, for another one lies elsewhere.

use crate::format::bytes::index;
use crate::index::batch::Operation;
use crate::index::plan::key_hashes;
use crate::index::read::recent::Recent;
use crate::index::read::scratch::Scratch;
use crate::index::read::search::{Found, Search};
use crate::index::read::state::{Snapshot, band_keys};
use crate::index::view::Held;
use crate::memtable::Content;
use crate::sync::Arc;
use crate::{Params, Result};
use std::ops::Range;

/// Newcomers decided on in one hold of the write lock, at most: a bit of a word for each.
const TOGETHER: usize = if cfg!(test) { 7 } else { 64 };
/// A hold ends early at this many bytes of keys and payloads.
const TOGETHER_BYTES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Newcomers whose like is looked for at once.
const SEARCHED_TOGETHER: usize = if cfg!(test) { 3 } else { 16 };
/// Nobody looks ahead any further when this much was found.
const FOUND_MAX: usize = if cfg!(test) { 8 } else { 1 << 14 };

/// Newcomers that are decided on together, and what is known of them by themselves.
pub(super) struct Together<'a> {
    pub(super) operations: &'a [Operation<'a>],
    pub(super) signatures: Vec<&'a [u8]>,
    pub(super) key_hashes: Vec<u64>,
    /// The BandKeys of the first signature, then those of the second, and so on.
    band_keys: Vec<u64>,
}

impl<'a> Together<'a> {
    /// The first of some newcomers.
    pub(super) fn of(params: &Params, operations: &'a [Operation<'a>]) -> Self {
        let mut signatures = Vec::with_capacity(operations.len().min(TOGETHER));
        let mut keys = Vec::with_capacity(operations.len().min(TOGETHER) * params.bands());
        let mut bytes = 0;
        for operation in operations.iter().take(TOGETHER) {
            let Operation::Insert { key, payload, signature, .. } = *operation else { break };
            bytes += key.len() + payload.map_or(0, <[u8]>::len);
            if bytes > TOGETHER_BYTES && !signatures.is_empty() {
                break;
            }
            signatures.push(signature);
            band_keys(params, signature, &mut keys);
        }
        let operations = &operations[..signatures.len()];
        let key_hashes = key_hashes(params, operations);
        Self { operations, signatures, key_hashes, band_keys: keys }
    }

    fn len(&self) -> usize {
        self.operations.len()
    }

    /// The search of a state's memtable for them.
    pub(super) fn recent(&self, snapshot: &Snapshot, relate_min: u32) -> Recent<'_> {
        let source = snapshot.state.segments.len();
        Recent::new(snapshot.params(), source, (&self.signatures, &self.band_keys), relate_min)
    }
}

/// What is like some newcomers, live or not, as long as the state is this one.
pub(super) struct Foreseen {
    state: Arc<Held>,
    /// Those it was looked for.
    newcomers: Range<usize>,
    /// In order of the newcomers.
    found: Vec<Found>,
    /// Documents of the memtable below this ordinal were looked at.
    pub(super) seen: u32,
}

impl Foreseen {
    /// For the newcomers from `begin` on: all, unless too much is found.
    pub(super) fn of(
        snapshot: &Snapshot,
        together: &Together<'_>,
        begin: usize,
        relate_min: u32,
    ) -> Result<Self> {
        let memtable = &snapshot.state.memtable;
        // What another thread is just applying is not in all tables yet.
        let seen = if memtable.is_untouched() { 0 } else { memtable.read().entered_count() };
        let recent = together.recent(snapshot, relate_min);
        let mut scratch = Scratch::take();
        let mut search = Search::new(snapshot, &mut scratch);
        let mut found: Vec<Found> = Vec::new();
        let mut end = begin;
        while end < together.len() && found.len() < FOUND_MAX {
            let some = end..together.len().min(end + SEARCHED_TOGETHER);
            end = some.end;
            let first = found.len();
            if !snapshot.state.segments.is_empty() {
                let signatures = &together.signatures[some.clone()];
                let bands = snapshot.params().bands();
                let keys = &together.band_keys[some.start * bands..some.end * bands];
                found.append(&mut search.in_segments(signatures, keys, relate_min)?);
                let begin = u32::try_from(some.start).unwrap_or(u32::MAX);
                found[first..].iter_mut().for_each(|found| found.probe += begin);
            }
            if seen > 0 {
                recent.search(&memtable.read(), some, 0..seen, &mut found);
                found[first..].sort_unstable_by_key(|found| found.probe);
            }
        }
        scratch.keep();
        Ok(Self { state: Arc::clone(&snapshot.state), newcomers: begin..end, found, seen })
    }

    /// The newcomer after the last that it was looked for.
    pub(super) fn end(&self) -> usize {
        self.newcomers.end
    }

    /// Whether it tells what a snapshot has for a newcomer.
    pub(super) fn covers(&self, snapshot: &Snapshot, at: usize) -> bool {
        Arc::ptr_eq(&self.state, &snapshot.state) && self.newcomers.contains(&at)
    }

    /// Looks at the documents that the memtable has got since.
    pub(super) fn catch_up(&mut self, content: &Content, recent: &Recent<'_>) {
        let count = content.document_count();
        if count > self.seen {
            recent.search(content, self.newcomers.clone(), self.seen..count, &mut self.found);
            self.found.sort_unstable_by_key(|found| found.probe);
            self.seen = count;
        }
    }

    /// What was found for one of the newcomers.
    pub(super) fn of_newcomer(&self, at: usize) -> impl Iterator<Item = Found> + '_ {
        let first = self.found.partition_point(|found| index(found.probe) < at);
        self.found[first..].iter().take_while(move |found| index(found.probe) == at).copied()
    }
}
