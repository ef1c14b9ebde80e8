//! What the operations of a change come to, given the state before it.
//!
//! Reads; writes nothing. The keys of a change are looked up together, source by source, so that
//! the memory works on many at once.

use crate::format::wal::LoggedOperation;
use crate::index::batch::Outcome;
use crate::index::read::state::{Place, Snapshot};
use crate::sketch::key_hash;
use crate::wal::Reserve;
use crate::{Params, Result};
use std::collections::HashMap;

/// Documents whose keys have been asked for at once.
const TOGETHER: usize = 32;

/// What each operation of a change comes to.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) outcomes: Vec<Outcome>,
    /// Where the version lies that dies, if one does.
    dying: Vec<Option<Place>>,
}

/// An operation that changes something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect<'a> {
    pub(crate) operation: LoggedOperation<'a>,
    pub(crate) key_hash: u64,
    /// The version that dies, if one does.
    pub(crate) dying: Option<Place>,
}

/// The hash of every operation's key.
pub(crate) fn key_hashes(params: &Params, operations: &[LoggedOperation<'_>]) -> Vec<u64> {
    let seed = params.seed();
    operations.iter().map(|operation| key_hash(operation.key(), seed)).collect()
}

/// Looks every key up and says what each operation comes to. Of several on one key the last wins.
pub(crate) fn plan(
    before: &Snapshot,
    operations: &[LoggedOperation<'_>],
    key_hashes: &[u64],
) -> Result<Plan> {
    let count = operations.len();
    let mut plan = Plan { outcomes: vec![Outcome::Missing; count], dying: vec![None; count] };
    let mut wanted: Vec<usize> = (0..count).collect();
    if count > 1 {
        let mut last: HashMap<&[u8], usize, ahash::RandomState> = HashMap::default();
        last.reserve(count);
        for (at, operation) in operations.iter().enumerate() {
            if let Some(earlier) = last.insert(operation.key(), at) {
                plan.outcomes[earlier] = Outcome::Superseded;
            }
        }
        wanted.retain(|at| plan.outcomes[*at] != Outcome::Superseded);
    }
    let deciding = wanted.clone();
    let places = locate_all(before, operations, key_hashes, wanted)?;
    for at in deciding {
        plan.outcomes[at] = decide(before, &operations[at], places[at])?;
        if matches!(plan.outcomes[at], Outcome::Replaced | Outcome::Removed) {
            plan.dying[at] = places[at];
        }
    }
    Ok(plan)
}

/// The places of the live documents that have the keys of the `wanted` operations.
fn locate_all(
    before: &Snapshot,
    operations: &[LoggedOperation<'_>],
    key_hashes: &[u64],
    mut wanted: Vec<usize>,
) -> Result<Vec<Option<Place>>> {
    let mut places = vec![None; operations.len()];
    let content = before.state.memtable.read();
    let source = before.state.segments.len();
    wanted.retain(|&at| {
        let found = content.find_key(operations[at].key(), key_hashes[at], before.visible);
        places[at] = found.map(|ordinal| Place { source, ordinal });
        found.is_none()
    });
    let table_of_keys = before.params().bands();
    let (mut hashes, mut candidates) = (Vec::new(), Vec::new());
    for (source, live) in before.state.segments.iter().enumerate().rev() {
        hashes.clear();
        hashes.extend(wanted.iter().map(|at| key_hashes[*at]));
        candidates.clear();
        live.segment.look_up_all(table_of_keys, &hashes, &mut |nth, ordinal| {
            candidates.push((wanted[nth], ordinal));
        })?;
        for candidates in candidates.chunks(TOGETHER) {
            for (_, ordinal) in candidates {
                live.segment.ask_for_document(*ordinal);
            }
            for (_, ordinal) in candidates {
                live.segment.ask_for_key(*ordinal)?;
            }
            for &(at, ordinal) in candidates {
                let dead = live.is_dead(ordinal)?
                    || content.segment_death(live.number(), ordinal, before.visible);
                if !dead && *live.segment.document(ordinal)?.key == *operations[at].key() {
                    places[at] = Some(Place { source, ordinal });
                }
            }
        }
        if !candidates.is_empty() {
            wanted.retain(|at| places[*at].is_none());
        }
    }
    Ok(places)
}

fn decide(
    before: &Snapshot,
    operation: &LoggedOperation<'_>,
    place: Option<Place>,
) -> Result<Outcome> {
    Ok(match (operation, place) {
        (LoggedOperation::Insert { .. }, None) => Outcome::Inserted,
        (LoggedOperation::Insert { signature, payload, .. }, Some(place)) => {
            let same = *before.signature_bytes(place)? == **signature
                && before.document(place)?.payload == **payload;
            if same { Outcome::Unchanged } else { Outcome::Replaced }
        }
        (LoggedOperation::Remove { .. }, None) => Outcome::Missing,
        (LoggedOperation::Remove { .. }, Some(_)) => Outcome::Removed,
    })
}

/// Whether any operation with these outcomes changed something.
pub(crate) fn take_effect(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| Plan::takes_effect(*outcome))
}

impl Plan {
    fn takes_effect(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Inserted | Outcome::Replaced | Outcome::Removed)
    }

    /// Whether nothing is to be written.
    pub(crate) fn is_idle(&self) -> bool {
        !take_effect(&self.outcomes)
    }

    /// Which operations change something.
    fn effective_at(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.outcomes.len()).filter(|at| Self::takes_effect(self.outcomes[*at]))
    }

    /// The operations that change something.
    pub(crate) fn effective<'p, 'o>(
        &'p self,
        operations: &'p [LoggedOperation<'o>],
    ) -> impl Iterator<Item = &'p LoggedOperation<'o>> + 'p {
        self.effective_at().map(|at| &operations[at])
    }

    /// The operations that change something, each with the hash of its key and the place of the
    /// version that dies.
    pub(crate) fn effects<'o>(
        &self,
        operations: &[LoggedOperation<'o>],
        key_hashes: &[u64],
    ) -> Vec<Effect<'o>> {
        let effect = |at: usize| Effect {
            operation: operations[at],
            key_hash: key_hashes[at],
            dying: self.dying[at],
        };
        self.effective_at().map(effect).collect()
    }

    /// Whether the reserve of the log is there for it: who only removes makes room.
    pub(crate) fn reserve(&self, operations: &[LoggedOperation<'_>]) -> Reserve {
        let mut effective = self.effective(operations);
        if effective.all(|operation| matches!(operation, LoggedOperation::Remove { .. })) {
            Reserve::Used
        } else {
            Reserve::Kept
        }
    }

    /// Live documents after the change.
    pub(crate) fn documents_after(&self, before: u64) -> u64 {
        self.outcomes.iter().fold(before, |documents, outcome| match outcome {
            Outcome::Inserted => documents + 1,
            // Of a forged dead file more documents may live than the catalog counts.
            Outcome::Removed => documents.saturating_sub(1),
            _ => documents,
        })
    }
}
