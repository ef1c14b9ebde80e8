//! The write path: check, decide, append, apply, and wait for what `Ok` promises.

use crate::format::wal::{
    KEY_BYTES_MAX, LoggedOperation, PAYLOAD_BYTES_MAX, RecordBuilder, RecordKind,
};
use crate::index::batch::{Batch, Operation, Outcome, Written};
use crate::index::core::{Core, Writer};
use crate::index::durable::Mark;
use crate::index::options::Durability;
use crate::index::read::state::{Place, Snapshot, check_signature, table_keys};
use crate::memtable::{NewDocument, Step};
use crate::wal::{AppendError, Reserve};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// Steps applied to the memtable per hold of its lock, so that readers get in between.
const STEPS_PER_HOLD: usize = 64;

/// What each operation of a change comes to, given the state before it.
#[derive(Debug)]
pub(crate) struct Plan {
    outcomes: Vec<Outcome>,
    /// Where the version lies that dies, if one does.
    dying: Vec<Option<Place>>,
}

impl Core {
    /// Writes a batch. See [`crate::Index::write`].
    pub(crate) fn write(&self, batch: &Batch) -> Result<Written> {
        self.write_logged(&self.check(batch)?)
    }

    /// Writes operations that are known to be valid, with the times they carry.
    pub(crate) fn write_logged(&self, operations: &[LoggedOperation<'_>]) -> Result<Written> {
        let written = self.write_locked(&mut self.writer(), operations)?;
        planted!(IdleNotAwaited => if written.outcomes.iter().all(|o| !Plan::takes_effect(*o)) {
            return Ok(written);
        });
        // Also an answer that nothing was written rests on changes that may not be durable yet.
        self.settle(written.change)?;
        self.after_write();
        Ok(written)
    }

    /// The operations as the log will have them, or what is wrong with them.
    fn check<'a>(&self, batch: &'a Batch) -> Result<Vec<LoggedOperation<'a>>> {
        let bytes_max = self.options.batch_bytes_max;
        if batch.wal_bytes() > bytes_max {
            return Err(Error::invalid(format!(
                "the batch takes {} bytes, batch_bytes_max is {bytes_max}; split it",
                batch.wal_bytes()
            )));
        }
        let time = (self.options.clock)();
        let log = |operation: &'a Operation| {
            check_key(operation.key())?;
            Ok(match operation {
                Operation::Remove { key } => LoggedOperation::Remove { key },
                Operation::Insert { key, signature, payload } => {
                    check_signature(&self.params, signature)?;
                    if payload.len() > PAYLOAD_BYTES_MAX {
                        return Err(Error::invalid(format!(
                            "a payload has at most {PAYLOAD_BYTES_MAX} bytes, not {}",
                            payload.len()
                        )));
                    }
                    LoggedOperation::Insert {
                        key,
                        payload,
                        time,
                        shingle_count: signature.shingle_count(),
                        signature: signature.as_bytes(),
                    }
                }
            })
        };
        batch.operations.iter().map(log).collect()
    }

    pub(crate) fn write_locked(
        &self,
        writer: &mut Writer,
        operations: &[LoggedOperation<'_>],
    ) -> Result<Written> {
        self.group.refuse_if_poisoned()?;
        let mut before = self.applied(writer);
        let mut plan = plan(&before, operations)?;
        if plan.is_idle() {
            return Ok(Written { change: writer.change, outcomes: plan.outcomes });
        }
        let mut record = RecordBuilder::new();
        plan.effective(operations).for_each(|(operation, _)| record.push(operation));
        if self.make_room(writer, record.record_bytes(), plan.reserve(operations))? {
            // The same documents die, but a flush has moved them.
            before = self.applied(writer);
            plan = self::plan(&before, operations)?;
        }
        let change = writer.change + 1;
        let horizon = self.group.horizon();
        let end = self.append(writer, &mut record, RecordKind::Change, change, horizon)?;
        self.apply(&before, change, operations, &plan);
        writer.change = change;
        writer.documents = plan.documents_after(writer.documents);
        let mark = Mark { end, change, documents: writer.documents };
        self.group.applied(mark, horizon);
        planted!(VisibleBeforeSync => self.show(mark));
        if self.options.durability != Durability::Sync {
            self.show(mark);
        }
        Ok(Written { change, outcomes: plan.outcomes })
    }

    /// Appends a record; what cannot be rolled back poisons.
    pub(crate) fn append(
        &self,
        writer: &mut Writer,
        record: &mut RecordBuilder,
        kind: RecordKind,
        change: u64,
        horizon: u64,
    ) -> Result<u64> {
        let appended = match &mut writer.wal {
            Some(wal) => wal.append(record, kind, change, horizon),
            None => Err(AppendError::Full),
        };
        match (appended, &writer.wal) {
            (Ok(end), _) => Ok(end),
            (Err(AppendError::Failed(cause)), Some(wal)) => {
                match self.group.undo(|| wal.roll_back()) {
                    Ok(()) => Err(Error::io("append (nothing was written) to", wal.path(), cause)),
                    Err(_) => Err(Error::new(
                        ErrorKind::Unknown,
                        format!(
                            "cannot append to {} nor roll back; reopen the index to see what is \
                             there",
                            wal.path().display()
                        ),
                    )
                    .caused_by(cause)),
                }
            }
            // Room was made for it.
            (Err(_), _) => Err(Error::new(ErrorKind::Io, "the WAL has no room for the record")),
        }
    }

    /// Applies a change to the memtable, in parts; nobody sees it before it is shown.
    pub(crate) fn apply(
        &self,
        before: &Snapshot,
        change: u64,
        operations: &[LoggedOperation<'_>],
        plan: &Plan,
    ) {
        let tables = self.params.bands() + 1;
        let effective: Vec<_> = plan.effective(operations).collect();
        let mut keys = Vec::with_capacity(STEPS_PER_HOLD * tables);
        for part in effective.chunks(STEPS_PER_HOLD) {
            keys.clear();
            for (operation, _) in part {
                if let LoggedOperation::Insert { key, signature, .. } = operation {
                    table_keys(&self.params, key, signature, &mut keys);
                }
            }
            let steps = steps(before, part, keys.chunks_exact(tables));
            before.state.memtable.apply(change, &steps);
        }
    }
}

/// The deaths and births that operations come to.
fn steps<'a>(
    before: &Snapshot,
    part: &[(&LoggedOperation<'a>, Option<Place>)],
    mut keys: impl Iterator<Item = &'a [u64]>,
) -> Vec<Step<'a>> {
    let mut steps = Vec::with_capacity(part.len() * 2);
    for (operation, dying) in part {
        if let Some(Place { source, ordinal }) = *dying {
            steps.push(match before.state.segments.get(source) {
                Some(live) => Step::SegmentDeath { segment: live.number(), ordinal },
                None => Step::Death(ordinal),
            });
        }
        if let LoggedOperation::Insert { key, payload, time, shingle_count, signature } =
            **operation
        {
            steps.push(Step::Birth(NewDocument {
                key,
                payload,
                time,
                shingle_count,
                signature,
                table_keys: keys.next().unwrap_or_default(),
            }));
        }
    }
    steps
}

/// Refuses a key that is empty or too long.
fn check_key(key: &[u8]) -> Result<()> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(Error::invalid(format!("a key has 1 to {KEY_BYTES_MAX} bytes, not {}", key.len())))
}

/// Looks every key up and says what each operation comes to. Of several on one key the last wins.
pub(crate) fn plan(before: &Snapshot, operations: &[LoggedOperation<'_>]) -> Result<Plan> {
    let last: HashMap<&[u8], usize, ahash::RandomState> =
        operations.iter().enumerate().map(|(at, operation)| (operation.key(), at)).collect();
    let mut plan = Plan { outcomes: Vec::new(), dying: Vec::new() };
    for (at, operation) in operations.iter().enumerate() {
        let (outcome, dying) = if last[operation.key()] == at {
            decide(before, operation)?
        } else {
            (Outcome::Superseded, None)
        };
        plan.outcomes.push(outcome);
        plan.dying.push(dying);
    }
    Ok(plan)
}

fn decide(before: &Snapshot, operation: &LoggedOperation<'_>) -> Result<(Outcome, Option<Place>)> {
    let place = before.locate(operation.key())?;
    Ok(match (operation, place) {
        (LoggedOperation::Insert { .. }, None) => (Outcome::Inserted, None),
        (LoggedOperation::Insert { signature, payload, .. }, Some(place)) => {
            let same = *before.signature_bytes(place)? == **signature
                && before.document(place)?.payload == **payload;
            if same { (Outcome::Unchanged, None) } else { (Outcome::Replaced, Some(place)) }
        }
        (LoggedOperation::Remove { .. }, None) => (Outcome::Missing, None),
        (LoggedOperation::Remove { .. }, Some(place)) => (Outcome::Removed, Some(place)),
    })
}

impl Plan {
    fn takes_effect(outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Inserted | Outcome::Replaced | Outcome::Removed)
    }

    /// Whether nothing is to be written.
    fn is_idle(&self) -> bool {
        !self.outcomes.iter().any(|outcome| Self::takes_effect(*outcome))
    }

    /// The operations that change something, each with the place of the version that dies.
    fn effective<'p, 'o>(
        &'p self,
        operations: &'p [LoggedOperation<'o>],
    ) -> impl Iterator<Item = (&'p LoggedOperation<'o>, Option<Place>)> + 'p {
        let results = self.outcomes.iter().zip(&self.dying);
        operations.iter().zip(results).filter_map(|(operation, (outcome, dying))| {
            Self::takes_effect(*outcome).then_some((operation, *dying))
        })
    }

    /// Whether the reserve of the log is there for it: who only removes makes room.
    fn reserve(&self, operations: &[LoggedOperation<'_>]) -> Reserve {
        let mut effective = self.effective(operations);
        let removes = |(operation, _): (&_, _)| matches!(operation, LoggedOperation::Remove { .. });
        if effective.all(removes) { Reserve::Used } else { Reserve::Kept }
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
