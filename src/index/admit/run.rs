//! Deciding under the write lock. What is decided waits, as a run, until something depends on it,
//! and is written in one append, each newcomer as a change of its own.
//!
//! A newcomer depends on those that wait if it is like one of them, or if one of them removes or
//! replaces a document that it has the key of or is like. Otherwise the law gives the same for it
//! on the state before all of them as on the state just before it.

use super::foreseen::{Foreseen, Together};
use super::{Admission, Decision, Keep, Terms};
use crate::Result;
use crate::index::batch::{Operation, Outcome};
use crate::index::core::{Core, Writer};
use crate::index::plan::take_effect;
use crate::index::read::search::Found;
use crate::index::read::state::Snapshot;
use crate::sketch::key_hash;

/// A run is written at this many bytes of keys and payloads.
const RUN_BYTES: usize = if cfg!(test) { 200 } else { 1 << 20 };
/// The keys of this many documents are rather looked at than the newcomer's looked up.
const KEYS_READ_MAX: usize = if cfg!(test) { 2 } else { 8 };

/// A hold of the write lock.
pub(super) struct Run<'a> {
    core: &'a Core,
    writer: &'a mut Writer,
    together: &'a Together<'a>,
    /// As of [`alike`](crate::index::read::recent::Recent::alike).
    alike: &'a [u64],
    terms: Terms,
    /// What is applied.
    before: Snapshot,
    foreseen: Foreseen,
    /// Decided and not written: who, and what.
    waiting: Vec<(usize, Decision)>,
    /// Hashes of the keys that those write.
    waiting_keys: Vec<u64>,
    waiting_bytes: usize,
    /// Those newcomers that wait to be stored, and those that were stored in this hold: bits, as
    /// of `alike`.
    waiting_bits: u64,
    stored_bits: u64,
    /// What was decided, as far as it is written.
    pub(super) admissions: Vec<Admission>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        core: &'a Core,
        writer: &'a mut Writer,
        (together, alike): (&'a Together<'a>, &'a [u64]),
        mut foreseen: Foreseen,
        terms: Terms,
    ) -> Self {
        let before = core.applied(writer);
        if foreseen.covers(&before, 0) {
            let content = before.state.memtable.read();
            foreseen.catch_up(&content, &together.recent(&before, terms.search_min));
        }
        Self {
            core,
            writer,
            together,
            alike,
            terms,
            before,
            foreseen,
            waiting: Vec::new(),
            waiting_keys: Vec::new(),
            waiting_bytes: 0,
            waiting_bits: 0,
            stored_bits: 0,
            admissions: Vec::new(),
        }
    }

    /// The last change that what was decided rests on.
    pub(super) fn last(&self) -> Option<u64> {
        (!self.admissions.is_empty()).then_some(self.writer.change)
    }

    /// Decides on the next newcomer.
    pub(super) fn decide(&mut self, at: usize) -> Result<()> {
        let is_like = self.alike[at] & self.waiting_bits != 0;
        if is_like || self.waiting_keys.contains(&self.together.key_hashes[at]) {
            self.write()?;
        }
        let mut found = self.found(at)?;
        if self.without_itself(at, &mut found)? {
            self.write()?;
            found = self.found(at)?;
            self.without_itself(at, &mut found)?;
        }
        let newcomer = &self.together.operations[at];
        let Terms { keep, limit, .. } = self.terms;
        let counts = &self.counts(at)[..];
        let counts = self.terms.reject.asks_for_counts().then_some(counts);
        let (duplicates, related) = self.parted(&mut found, counts)?;
        if !stays(&self.before, newcomer, duplicates, keep)? {
            let duplicates = self.before.rank(duplicates, limit, counts)?;
            self.waiting.push((at, Decision::Rejected { duplicates }));
            return Ok(());
        }
        let removed = self.before.rank(duplicates, usize::MAX, counts)?;
        let related = self.before.rank(related, limit, counts)?;
        let bytes = self.core.check_record(newcomer, &removed)?;
        let seed = self.core.params.seed();
        self.waiting_keys.extend(removed.iter().map(|found| key_hash(&found.key, seed)));
        self.waiting_keys.push(self.together.key_hashes[at]);
        self.waiting_bytes += bytes;
        self.waiting_bits |= 1 << at;
        let outcome = Outcome::Unchanged;
        self.waiting.push((at, Decision::Admitted { related, outcome, removed }));
        if self.waiting_bytes > RUN_BYTES { self.write() } else { Ok(()) }
    }

    /// The counts of shingles of the newcomers up to this one, by the numbers of the probes; empty
    /// where they do not decide.
    fn counts(&self, at: usize) -> Vec<u32> {
        if !self.terms.reject.asks_for_counts() {
            return Vec::new();
        }
        let count = |operation: &Operation<'_>| match operation {
            Operation::Insert { shingle_count, .. } => *shingle_count,
            Operation::SetPayload { .. } | Operation::Remove { .. } => 0,
        };
        self.together.operations[..=at].iter().map(count).collect()
    }

    /// The duplicates among what was found for a newcomer, and what is related to it.
    fn parted<'f>(
        &self,
        found: &'f mut [Found],
        counts: Option<&[u32]>,
    ) -> Result<(&'f mut [Found], &'f mut [Found])> {
        let Terms { reject, reject_min, relate_min, .. } = self.terms;
        found.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let reaching = found.partition_point(|found| found.equal_rows >= reject_min);
        let duplicates = match counts {
            None => reaching,
            Some(counts) => {
                self.before.keep_all_contained(&mut found[..reaching], reject, counts)?
            }
        };
        let (duplicates, others) = found.split_at_mut(duplicates);
        others.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let related =
            relate_min.map_or(0, |least| others.partition_point(|found| found.equal_rows >= least));
        Ok((duplicates, &mut others[..related]))
    }

    /// All live documents that are like a newcomer, but those that wait.
    fn found(&mut self, at: usize) -> Result<Vec<Found>> {
        let Self { before, together, terms, .. } = self;
        if !self.foreseen.covers(before, at) {
            // A merge, or a flush for what was written here: it has that, too.
            self.foreseen = Foreseen::of(before, together, at, terms.search_min)?;
            self.stored_bits = 0;
        }
        let state = &before.state;
        let mut found: Vec<Found> = self.foreseen.of_newcomer(at).collect();
        let is_like = self.alike[at] & self.stored_bits != 0;
        if found.is_empty() && !is_like {
            return Ok(found);
        }
        let content = state.memtable.read();
        if is_like {
            let since = self.foreseen.seen..u32::MAX;
            together.recent(before, terms.search_min).search(
                &content,
                at..at + 1,
                since,
                &mut found,
            );
        }
        found.retain(|found| match state.segments.get(found.place.source) {
            Some(live) => {
                !content.segment_death(live.number(), found.place.ordinal, before.visible)
            }
            None => content.is_live(found.place.ordinal, before.visible),
        });
        Ok(found)
    }

    /// Takes the document of the newcomer's own key out of what was found. True if what is found
    /// may not be there any more when those that wait are written.
    fn without_itself(&self, at: usize, found: &mut Vec<Found>) -> Result<bool> {
        if found.is_empty() {
            return Ok(false);
        }
        let own = self.together.operations[at].key();
        if found.len() > KEYS_READ_MAX {
            let itself = self.before.locate(own)?;
            found.retain(|found| Some(found.place) != itself);
            return Ok(!self.waiting_keys.is_empty());
        }
        let mut is_touched = false;
        let mut itself = None;
        for found in &*found {
            let key = self.before.key(found.place)?;
            if key == own {
                itself = Some(found.place);
            } else if !self.waiting_keys.is_empty() {
                let hash = key_hash(&key, self.core.params.seed());
                is_touched |= self.waiting_keys.contains(&hash);
            }
        }
        found.retain(|found| Some(found.place) != itself);
        Ok(is_touched)
    }

    /// Writes what waits.
    pub(super) fn write(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut change = self.before.visible;
        let mut outcomes = Vec::new();
        let bits = std::mem::take(&mut self.waiting_bits);
        if bits != 0 {
            let (mut operations, mut ends) = (Vec::new(), Vec::new());
            for (at, decision) in &waiting {
                if let Decision::Admitted { removed, .. } = decision {
                    let remove = |found| Operation::Remove { key: found };
                    operations.extend(removed.iter().map(|found| remove(&*found.key)));
                    operations.push(self.together.operations[*at]);
                    ends.push(operations.len());
                }
            }
            let keys = std::mem::take(&mut self.waiting_keys);
            self.waiting_bytes = 0;
            let written = self.core.write_changes(self.writer, &operations, &keys, &ends)?;
            self.stored_bits |= bits;
            self.before = self.core.applied(self.writer);
            outcomes = written.outcomes;
        }
        let mut outcomes = &outcomes[..];
        for (_, decision) in &mut waiting {
            let decided_on = change;
            if let Decision::Admitted { outcome, removed, .. } = decision {
                let (own, rest) = outcomes.split_at((removed.len() + 1).min(outcomes.len()));
                *outcome = own.last().copied().unwrap_or(Outcome::Unchanged);
                change += u64::from(take_effect(own));
                outcomes = rest;
            }
            let decision = std::mem::replace(decision, Decision::Rejected { duplicates: vec![] });
            self.admissions.push(Admission { decision, change: decided_on });
        }
        Ok(())
    }
}

/// Whether the newcomer is the one that stays.
fn stays(
    before: &Snapshot,
    newcomer: &Operation<'_>,
    duplicates: &[Found],
    keep: Keep,
) -> Result<bool> {
    match (keep, newcomer) {
        (Keep::Newest, _) => Ok(true),
        (Keep::Longest, Operation::Insert { shingle_count, .. }) => {
            for duplicate in duplicates {
                if before.shingle_count(duplicate.place)? >= *shingle_count {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(duplicates.is_empty()),
    }
}
