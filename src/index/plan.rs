//! What the operations of a change come to, given the state before it.
//!
//! Reads; writes nothing. The keys of a change are looked up together.

use crate::format::bytes::index;
use crate::format::wal::LoggedOperation;
use crate::index::batch::Outcome;
use crate::index::read::locate::locate_all;
use crate::index::read::state::{Place, Snapshot};
use crate::sketch::key_hash;
use crate::wal::Reserve;
use crate::{Params, Result};

/// What each operation of a change comes to.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) operations: &'a [LoggedOperation<'a>],
    pub(crate) key_hashes: &'a [u64],
    pub(crate) outcomes: Vec<Outcome>,
    /// Where the live version of each key lies, if there is one: what takes effect ends it.
    pub(crate) places: Vec<Option<Place>>,
}

/// The hash of every operation's key.
pub(crate) fn key_hashes(params: &Params, operations: &[LoggedOperation<'_>]) -> Vec<u64> {
    let seed = params.seed();
    operations.iter().map(|operation| key_hash(operation.key(), seed)).collect()
}

/// Looks every key up and says what each operation comes to. Of several on one key the last wins.
pub(crate) fn plan<'a>(
    before: &Snapshot,
    operations: &'a [LoggedOperation<'a>],
    key_hashes: &'a [u64],
) -> Result<Plan<'a>> {
    let count = operations.len();
    let mut outcomes = vec![Outcome::Missing; count];
    if count > 1 {
        supersede(operations, &mut outcomes);
    }
    let wanted = (0..count).filter(|at| outcomes[*at] != Outcome::Superseded).collect();
    let places = locate_all(before, |at| operations[at].key(), key_hashes, wanted)?;
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        if *outcome != Outcome::Superseded {
            *outcome = decide(before, &operations[at], places[at])?;
        }
    }
    Ok(Plan { operations, key_hashes, outcomes, places })
}

/// Marks all operations on a key but the last.
fn supersede(operations: &[LoggedOperation<'_>], outcomes: &mut [Outcome]) {
    // Often they come in order, and none twice.
    if operations.is_sorted_by(|one, next| one.key() < next.key()) {
        return;
    }
    // A hash table of the last operation on each key: its number, from 1; at most half full, and
    // four bytes a slot, so that it costs little to make. The hashes are not those of the key
    // table: whoever chooses keys could choose them to be equal.
    let hasher = ahash::RandomState::default();
    let mask = (2 * operations.len()).next_power_of_two() - 1;
    let mut last = vec![0_u32; mask + 1];
    for (operation, number) in operations.iter().zip(1..) {
        let key = operation.key();
        let mut slot = usize::try_from(hasher.hash_one(key) >> 32).unwrap_or(0) & mask;
        while let Some(earlier) = index(last[slot]).checked_sub(1) {
            if operations[earlier].key() == key {
                outcomes[earlier] = Outcome::Superseded;
                break;
            }
            slot = (slot + 1) & mask;
        }
        last[slot] = number;
    }
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

impl Plan<'_> {
    fn takes_effect(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Inserted | Outcome::Replaced | Outcome::Removed)
    }

    /// Whether nothing is to be written.
    pub(crate) fn is_idle(&self) -> bool {
        !take_effect(&self.outcomes)
    }

    /// Which operations change something.
    pub(crate) fn effective(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.outcomes.len()).filter(|at| Self::takes_effect(self.outcomes[*at]))
    }

    /// Whether the reserve of the log is there for it: who only removes makes room.
    pub(crate) fn reserve(&self) -> Reserve {
        let is_remove = |at| matches!(self.operations[at], LoggedOperation::Remove { .. });
        if self.effective().all(is_remove) { Reserve::Used } else { Reserve::Kept }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_operations_on_a_key_all_but_the_last_are_superseded() {
        let keys: Vec<String> =
            (0..900).map(|number| format!("{}", number * number % 64)).collect();
        let remove = |key: &'static str| LoggedOperation::Remove { key: key.as_bytes() };
        let operations: Vec<_> =
            keys.iter().map(|key| LoggedOperation::Remove { key: key.as_bytes() }).collect();
        let mut outcomes = vec![Outcome::Missing; keys.len()];
        supersede(&operations, &mut outcomes);
        for (at, outcome) in outcomes.iter().enumerate() {
            let comes_again = keys[at + 1..].contains(&keys[at]);
            assert_eq!(*outcome == Outcome::Superseded, comes_again, "operation {at}");
        }
        let mut outcomes = [Outcome::Missing; 3];
        supersede(&[remove("a"), remove("b"), remove("c")], &mut outcomes);
        assert_eq!(outcomes, [Outcome::Missing; 3]);
        // Also of operations that come in order.
        supersede(&[remove("a"), remove("a"), remove("b")], &mut outcomes);
        assert_eq!(outcomes, [Outcome::Superseded, Outcome::Missing, Outcome::Missing]);
    }
}
