//! Decides the effects of the operations of a change, based on the state before it.
//!
//! Read-only. The keys of a change are looked up together.

use super::batch::Outcome;
use super::operation::Operation;
use crate::format::bytes::index;
use crate::format::wal::LoggedOperation;
use crate::index::read::locate::locate_all;
use crate::index::state::versions::{Place, Snapshot};
use crate::wal::Reserve;
use crate::{Error, Params, Result};
use nearkin_sketch::engine::key_hash;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum total size of the stored payloads and signatures that one change keeps. They are written
/// to the log again, but the batch length known to the caller does not include them, and a record
/// is limited to 4 GiB.
const KEPT_BYTES_MAX: usize = small!(plan::KEPT_BYTES_MAX, 256 << 20);

/// The effect of each operation of a change.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) operations: &'a [Operation<'a>],
    pub(crate) key_hashes: &'a [u64],
    pub(crate) outcomes: Vec<Outcome>,
    /// For each operation, the place of the live version of its key, if there is one. If the
    /// operation takes effect, that version dies.
    pub(crate) places: Vec<Option<Place>>,
    /// Documents that are composed of several sources (see [`Merged`]), in the order of the
    /// operations.
    merged: Vec<Merged>,
    /// For each operation, the position of its resulting document in `merged`, counted from 1; 0 if
    /// it is not in there. Empty as long as `merged` is.
    merged_of: Vec<u32>,
    /// Payloads and signatures of stored documents that are kept.
    kept: Vec<u8>,
}

/// A document composed of several operations on its key, or of operations and the stored document.
#[derive(Debug)]
struct Merged {
    time: u64,
    shingle_count: u32,
    signature: BytesSource,
    payload: BytesSource,
}

/// Where the bytes of a signature or a payload come from.
#[derive(Debug, Clone)]
enum BytesSource {
    /// The operation with this position.
    Operation(usize),
    /// The stored document: a range of `kept`.
    Kept(Range<usize>),
}

/// The state of a key after some of the operations on it, in order.
#[derive(Debug, Clone, Copy)]
struct KeyOutcome {
    exists: bool,
    /// The insert that gives the signature and the time; `None`: the stored document.
    insert: Option<usize>,
    payload: Payload,
}

#[derive(Debug, Clone, Copy)]
enum Payload {
    Stored,
    Empty,
    /// The payload of the operation with this position.
    Given(usize),
}

/// The hash of each operation's key.
pub(crate) fn key_hashes(params: &Params, operations: &[Operation<'_>]) -> Vec<u64> {
    let seed = params.seed();
    operations.iter().map(|operation| key_hash(operation.key(), seed)).collect()
}

/// Looks up every key and decides the outcome of each operation. If several operations have the
/// same key, the last of them gets the combined outcome.
pub(crate) fn plan<'a>(
    before: &Snapshot,
    operations: &'a [Operation<'a>],
    key_hashes: &'a [u64],
) -> Result<Plan<'a>> {
    let count = operations.len();
    let mut outcomes = vec![Outcome::Missing; count];
    let earlier = if count > 1 { supersede(operations, &mut outcomes) } else { Vec::new() };
    let wanted = if earlier.is_empty() {
        (0..count).collect()
    } else {
        (0..count).filter(|at| outcomes[*at] != Outcome::Superseded).collect()
    };
    let places = locate_all(before, |at| operations[at].key(), key_hashes, wanted)?;
    let (merged, merged_of, kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut plan = Plan { operations, key_hashes, outcomes, places, merged, merged_of, kept };
    for at in 0..count {
        if plan.outcomes[at] != Outcome::Superseded {
            plan.outcomes[at] = plan.decide(before, at, &earlier)?;
        }
    }
    Ok(plan)
}

/// Marks all operations on a key except the last as superseded. Returns one pair for each operation
/// that is not the first on its key: its position, and the position of the previous operation on
/// that key. The pairs are sorted.
fn supersede(operations: &[Operation<'_>], outcomes: &mut [Outcome]) -> Vec<(usize, usize)> {
    let mut before = Vec::new();
    // Fast path: sorted keys without duplicates.
    if operations.is_sorted_by(|one, next| one.key() < next.key()) {
        return before;
    }
    // Not by the hashes of the key table: chosen keys could collide there.
    let mut last: HashMap<&[u8], usize, crate::keyed::RandomState> = HashMap::default();
    last.reserve(operations.len());
    for (at, operation) in operations.iter().enumerate() {
        if let Some(earlier) = last.insert(operation.key(), at) {
            outcomes[earlier] = Outcome::Superseded;
            before.push((at, earlier));
        }
    }
    before
}

/// Whether any of these outcomes is a change.
pub(crate) fn take_effect(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| Plan::takes_effect(*outcome))
}

/// The position of the previous operation on the same key; `earlier` comes from [`supersede`].
fn previous(earlier: &[(usize, usize)], at: usize) -> Option<usize> {
    let found = earlier.binary_search_by_key(&at, |(later, _)| *later).ok()?;
    Some(earlier[found].1)
}

impl Plan<'_> {
    /// The outcome of an operation that is not superseded.
    #[inline]
    fn decide(
        &mut self,
        before: &Snapshot,
        at: usize,
        earlier: &[(usize, usize)],
    ) -> Result<Outcome> {
        match (&self.operations[at], self.places[at]) {
            (Operation::Remove { .. }, None) => Ok(Outcome::Missing),
            (Operation::Remove { .. }, Some(_)) => Ok(Outcome::Removed),
            // Fast path for most documents: the key is new, and the insert alone gives the complete
            // document, because it is the only operation on its key.
            (Operation::Insert { .. }, None) if previous(earlier, at).is_none() => {
                Ok(Outcome::Inserted)
            }
            _ => self.decide_with_stored(before, at, earlier),
        }
    }

    #[inline(never)]
    fn decide_with_stored(
        &mut self,
        before: &Snapshot,
        at: usize,
        earlier: &[(usize, usize)],
    ) -> Result<Outcome> {
        let place = self.places[at];
        let folded = self.fold(before, at, earlier)?;
        match (folded.exists, place) {
            (false, None) => Ok(Outcome::Missing),
            (false, Some(_)) => Ok(Outcome::Removed),
            (true, None) => {
                self.merge(before, at, None, folded)?;
                Ok(Outcome::Inserted)
            }
            (true, Some(_)) if self.is_stored(before, at, folded)? => Ok(Outcome::Unchanged),
            (true, Some(place)) => {
                self.merge(before, at, Some(place), folded)?;
                Ok(Outcome::Replaced)
            }
        }
    }

    /// Applies the operations on a key in order, up to the one at `at`, as if each were a change of
    /// its own: an insert that repeats the document before it does not renew its time, an insert
    /// after a remove does.
    fn fold(
        &mut self,
        before: &Snapshot,
        at: usize,
        earlier: &[(usize, usize)],
    ) -> Result<KeyOutcome> {
        let place = self.places[at];
        let next = |at: &usize| previous(earlier, *at);
        let mut first: Vec<usize> = std::iter::successors(previous(earlier, at), next).collect();
        first.reverse();
        let payload = Payload::Stored;
        let mut state = KeyOutcome { exists: place.is_some(), insert: None, payload };
        for at in first.into_iter().chain([at]) {
            match &self.operations[at] {
                Operation::Insert { .. } if self.repeats(before, place, state, at)? => {}
                Operation::Insert { payload, .. } => {
                    if payload.is_some() {
                        state.payload = Payload::Given(at);
                    } else if !state.exists {
                        state.payload = Payload::Empty;
                    }
                    (state.exists, state.insert) = (true, Some(at));
                }
                Operation::SetPayload { .. } if state.exists => state.payload = Payload::Given(at),
                Operation::SetPayload { .. } => {}
                Operation::Remove { .. } => (state.exists, state.insert) = (false, None),
            }
        }
        Ok(state)
    }

    /// Whether an insert changes nothing in this state of its key. The time does not count.
    fn repeats(
        &mut self,
        before: &Snapshot,
        place: Option<Place>,
        state: KeyOutcome,
        at: usize,
    ) -> Result<bool> {
        let Operation::Insert { payload, shingle_count, signature, is_decided: false, .. } =
            self.operations[at]
        else {
            return Ok(false);
        };
        if !state.exists {
            return Ok(false);
        }
        let same = match (state.insert.map(|of| &self.operations[of]), place) {
            (Some(Operation::Insert { signature: old, shingle_count: count, .. }), _) => {
                *old == signature && *count == shingle_count
            }
            (_, Some(place)) => {
                *before.signature_bytes(place)? == *signature
                    && before.shingle_count(place)? == shingle_count
            }
            _ => false,
        };
        Ok(same && payload.map_or(Ok(true), |new| self.has_payload(before, place, state, new))?)
    }

    /// Whether the payload of a document in this state is equal to `wanted`.
    fn has_payload(
        &mut self,
        before: &Snapshot,
        place: Option<Place>,
        state: KeyOutcome,
        wanted: &[u8],
    ) -> Result<bool> {
        match (state.payload, place) {
            (Payload::Given(of), _) => Ok(self.operations[of].payload() == Some(wanted)),
            (Payload::Stored, Some(place)) => {
                let begin = self.kept.len();
                before.payload_onto(place, &mut self.kept)?;
                let is_equal = self.kept[begin..] == *wanted;
                self.kept.truncate(begin);
                Ok(is_equal)
            }
            (Payload::Stored, None) | (Payload::Empty, _) => Ok(wanted.is_empty()),
        }
    }

    /// Whether the document that is left is the stored one, with an equal payload.
    fn is_stored(&mut self, before: &Snapshot, at: usize, left: KeyOutcome) -> Result<bool> {
        match left {
            KeyOutcome { insert: Some(_), .. } => Ok(false),
            KeyOutcome { payload: Payload::Given(of), .. } => {
                let wanted = self.operations[of].payload().unwrap_or_default();
                let stored = KeyOutcome { payload: Payload::Stored, ..left };
                self.has_payload(before, self.places[at], stored, wanted)
            }
            _ => Ok(true),
        }
    }

    /// Records the resulting document, unless the operation itself gives it completely. The parts
    /// of the stored document that are kept are read here, under the write lock, and will be
    /// written to the log.
    fn merge(
        &mut self,
        before: &Snapshot,
        at: usize,
        stored: Option<Place>,
        folded: KeyOutcome,
    ) -> Result<()> {
        let says_itself = match folded.payload {
            Payload::Given(of) => of == at,
            Payload::Empty => true,
            Payload::Stored => false,
        };
        if folded.insert == Some(at) && says_itself {
            return Ok(());
        }
        let begin = self.kept.len();
        let mut payload = BytesSource::Kept(begin..begin);
        match (folded.payload, stored) {
            (Payload::Given(of), _) => payload = BytesSource::Operation(of),
            (Payload::Stored, Some(place)) => {
                before.payload_onto(place, &mut self.kept)?;
                payload = BytesSource::Kept(begin..self.kept.len());
            }
            (Payload::Stored, None) | (Payload::Empty, _) => {}
        }
        let insert = folded.insert.map(|of| (of, &self.operations[of]));
        let (time, shingle_count, signature) = match (insert, stored) {
            (Some((of, Operation::Insert { time, shingle_count, .. })), _) => {
                (*time, *shingle_count, BytesSource::Operation(of))
            }
            (_, Some(place)) => {
                let begin = self.kept.len();
                self.kept.extend_from_slice(&before.signature_bytes(place)?);
                let signature = BytesSource::Kept(begin..self.kept.len());
                (before.time(place)?, before.shingle_count(place)?, signature)
            }
            // Does not happen: a document that exists was stored, or inserted by the change.
            _ => return Ok(()),
        };
        if self.kept.len() > KEPT_BYTES_MAX {
            return Err(Error::invalid(format!(
                "the stored payloads that this batch keeps take more than {} MiB; split the batch",
                KEPT_BYTES_MAX >> 20
            )));
        }
        self.merged.push(Merged { time, shingle_count, signature, payload });
        self.merged_of.resize(self.operations.len(), 0);
        // Does not overflow: a batch has at most 32 MiB, and fewer operations than bytes.
        self.merged_of[at] = u32::try_from(self.merged.len()).unwrap_or(u32::MAX);
        Ok(())
    }

    /// The operation as it is written to the log and the memtable.
    #[inline]
    pub(crate) fn logged(&self, at: usize) -> LoggedOperation<'_> {
        match self.operations[at] {
            Operation::Insert { key, payload, time, shingle_count, signature, .. }
                if self.merged.is_empty() =>
            {
                let payload = payload.unwrap_or_default();
                LoggedOperation::Insert { key, payload, time, shingle_count, signature }
            }
            Operation::Remove { key } => LoggedOperation::Remove { key },
            _ => self.logged_with_stored(at),
        }
    }

    #[inline(never)]
    fn logged_with_stored(&self, at: usize) -> LoggedOperation<'_> {
        let operation = &self.operations[at];
        let key = operation.key();
        if self.outcomes[at] == Outcome::Removed {
            return LoggedOperation::Remove { key };
        }
        let merged = self.merged_of.get(at).and_then(|number| index(*number).checked_sub(1));
        if let Some(merged) = merged {
            let Merged { time, shingle_count, ref signature, ref payload } = self.merged[merged];
            let signature = self.bytes(signature, |operation| match operation {
                Operation::Insert { signature, .. } => Some(*signature),
                _ => None,
            });
            let payload = self.bytes(payload, Operation::payload);
            return LoggedOperation::Insert { key, payload, time, shingle_count, signature };
        }
        match *operation {
            Operation::Insert { payload, time, shingle_count, signature, .. } => {
                let payload = payload.unwrap_or_default();
                LoggedOperation::Insert { key, payload, time, shingle_count, signature }
            }
            // A `SetPayload` that has an effect is in `merged`.
            Operation::SetPayload { .. } | Operation::Remove { .. } => {
                LoggedOperation::Remove { key }
            }
        }
    }

    fn bytes<'s>(
        &'s self,
        source: &BytesSource,
        of: impl Fn(&'s Operation<'s>) -> Option<&'s [u8]>,
    ) -> &'s [u8] {
        match source {
            BytesSource::Operation(at) => of(&self.operations[*at]).unwrap_or_default(),
            BytesSource::Kept(range) => &self.kept[range.clone()],
        }
    }

    /// The signature of the resulting document; `None` for a remove.
    #[inline]
    pub(crate) fn signature(&self, at: usize) -> Option<&[u8]> {
        match self.operations[at] {
            Operation::Insert { signature, .. } if self.merged.is_empty() => Some(signature),
            Operation::Remove { .. } => None,
            _ => match self.logged_with_stored(at) {
                LoggedOperation::Insert { signature, .. } => Some(signature),
                LoggedOperation::Remove { .. } => None,
            },
        }
    }

    fn takes_effect(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Inserted | Outcome::Replaced | Outcome::Removed)
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_idle(&self) -> bool {
        !take_effect(&self.outcomes)
    }

    /// The operations that have an effect.
    pub(crate) fn effective(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.outcomes.len()).filter(|at| Self::takes_effect(self.outcomes[*at]))
    }

    /// Whether the change may use the reserve of the log. Only a change that consists of removes
    /// may: it frees space.
    pub(crate) fn reserve(&self) -> Reserve {
        if self.effective().all(|at| self.outcomes[at] == Outcome::Removed) {
            Reserve::Used
        } else {
            Reserve::Kept
        }
    }

    /// The number of live documents after the change.
    pub(crate) fn documents_after(&self, before: u64) -> u64 {
        self.outcomes.iter().fold(before, |documents, outcome| match outcome {
            Outcome::Inserted => documents + 1,
            // If a dead file was forged, more documents may be live than the catalog counts.
            Outcome::Removed => documents.saturating_sub(1),
            _ => documents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_operation_on_a_key_supersedes_the_others() {
        let keys: Vec<String> =
            (0..900).map(|number| format!("{}", number * number % 64)).collect();
        let remove = |key: &'static str| Operation::Remove { key: key.as_bytes() };
        let operations: Vec<_> =
            keys.iter().map(|key| Operation::Remove { key: key.as_bytes() }).collect();
        let mut outcomes = vec![Outcome::Missing; keys.len()];
        supersede(&operations, &mut outcomes);
        for (at, outcome) in outcomes.iter().enumerate() {
            let comes_again = keys[at + 1..].contains(&keys[at]);
            assert_eq!(*outcome == Outcome::Superseded, comes_again, "operation {at}");
        }
        let mut outcomes = [Outcome::Missing; 3];
        supersede(&[remove("a"), remove("b"), remove("c")], &mut outcomes);
        assert_eq!(outcomes, [Outcome::Missing; 3]);
        // Duplicates are found in sorted operations, too.
        supersede(&[remove("a"), remove("a"), remove("b")], &mut outcomes);
        assert_eq!(outcomes, [Outcome::Superseded, Outcome::Missing, Outcome::Missing]);
    }
}
