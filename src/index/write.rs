//! The write path: check, decide, append, apply, and wait for what `Ok` promises.

use crate::format::wal::{
    KEY_BYTES_MAX, LoggedOperation, PAYLOAD_BYTES_MAX, RecordBuilder, RecordKind,
};
use crate::index::batch::{Batch, Written};
use crate::index::core::{Core, Writer};
use crate::index::durable::Mark;
use crate::index::options::Durability;
use crate::index::plan::{Effect, key_hashes, plan};
use crate::index::read::state::{Place, Snapshot, band_keys, other_parameters};
use crate::memtable::{NewDocument, Step};
use crate::wal::AppendError;
use crate::{Error, ErrorKind, Result};

/// Steps applied to the memtable per hold of its lock, so that readers get in between.
const STEPS_PER_HOLD: usize = 4;
/// Deaths applied per hold: they take as long as a few births.
const DEATHS_PER_HOLD: usize = 64;
/// The memory of a record up to this size is kept for the next.
const RECORD_BYTES_KEPT: u64 = 1 << 20;

impl Core {
    /// Writes a batch. See [`crate::Index::write`].
    pub(crate) fn write(&self, batch: &Batch) -> Result<Written> {
        self.write_logged(&self.check(batch)?)
    }

    /// Writes operations that are known to be valid, with the times they carry.
    pub(crate) fn write_logged(&self, operations: &[LoggedOperation<'_>]) -> Result<Written> {
        let key_hashes = key_hashes(&self.params, operations);
        let written = self.write_locked(&mut self.writer(), operations, &key_hashes)?;
        planted!(IdleNotAwaited => if !crate::index::plan::take_effect(&written.outcomes) {
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
        let mut operations = Vec::with_capacity(batch.len());
        for operation in batch.operations() {
            let logged = operation.logged(time);
            self.check_operation(&logged, operation.signature_id)?;
            operations.push(logged);
        }
        Ok(operations)
    }

    /// Refuses what cannot be written here. `signature_id` is what the signature was made with.
    pub(crate) fn check_operation(
        &self,
        operation: &LoggedOperation<'_>,
        signature_id: u64,
    ) -> Result<()> {
        check_key(operation.key())?;
        if let LoggedOperation::Insert { payload, signature, .. } = operation {
            let same = signature_id == self.params.signature_id();
            if !same || signature.len() != self.params.signature_bytes() {
                return Err(other_parameters());
            }
            if payload.len() > PAYLOAD_BYTES_MAX {
                return Err(Error::invalid(format!(
                    "a payload has at most {PAYLOAD_BYTES_MAX} bytes, not {}",
                    payload.len()
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn write_locked(
        &self,
        writer: &mut Writer,
        operations: &[LoggedOperation<'_>],
        key_hashes: &[u64],
    ) -> Result<Written> {
        self.group.refuse_if_poisoned()?;
        let mut before = self.applied(writer);
        let mut plan = plan(&before, operations, key_hashes)?;
        if plan.is_idle() {
            return Ok(Written { change: writer.change, outcomes: plan.outcomes });
        }
        let mut record = std::mem::take(&mut writer.record);
        record.clear();
        plan.effective(operations).for_each(|operation| record.push(operation));
        if self.make_room(writer, record.record_bytes(), plan.reserve(operations))? {
            // The same documents die, but a flush has moved them.
            before = self.applied(writer);
            plan = self::plan(&before, operations, key_hashes)?;
        }
        let change = writer.change + 1;
        let horizon = self.group.horizon();
        let end = self.append(writer, &mut record, RecordKind::Change, change, horizon)?;
        if record.record_bytes() <= RECORD_BYTES_KEPT {
            writer.record = record;
        }
        self.apply(&before, change, &plan.effects(operations, key_hashes));
        writer.change = change;
        writer.documents = plan.documents_after(writer.documents);
        let mark = Mark { end, change, documents: writer.documents };
        self.group.applied(mark, horizon);
        planted!(VisibleBeforeSync => self.view.show(mark));
        if self.options.durability != Durability::Sync {
            self.view.show(mark);
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
    pub(crate) fn apply(&self, before: &Snapshot, change: u64, effects: &[Effect<'_>]) {
        let is_removal =
            |effect: &Effect<'_>| matches!(effect.operation, LoggedOperation::Remove { .. });
        if effects.iter().all(is_removal) {
            return bury(before, change, effects);
        }
        let tables = self.params.bands() + 1;
        let mut keys = Vec::with_capacity(STEPS_PER_HOLD * tables);
        for part in effects.chunks(STEPS_PER_HOLD) {
            keys.clear();
            for Effect { operation, key_hash, .. } in part {
                if let LoggedOperation::Insert { signature, .. } = operation {
                    band_keys(&self.params, signature, &mut keys);
                    keys.push(*key_hash);
                }
            }
            let steps = steps(before, part, keys.chunks_exact(tables));
            before.state.memtable.apply(change, &steps);
        }
    }
}

/// Applies a change of removals alone: much less work each, so that many go into one hold.
fn bury(before: &Snapshot, change: u64, effects: &[Effect<'_>]) {
    before.state.memtable.expect_deaths(effects.len());
    for part in effects.chunks(DEATHS_PER_HOLD) {
        before.state.memtable.apply(change, &steps(before, part, std::iter::empty()));
    }
}

/// The deaths and births that operations come to.
fn steps<'a>(
    before: &Snapshot,
    part: &[Effect<'a>],
    mut keys: impl Iterator<Item = &'a [u64]>,
) -> Vec<Step<'a>> {
    let mut steps = Vec::with_capacity(part.len() * 2);
    for effect in part {
        if let Some(Place { source, ordinal }) = effect.dying {
            steps.push(match before.state.segments.get(source) {
                Some(live) => Step::SegmentDeath { segment: live.number(), ordinal },
                None => Step::Death(ordinal),
            });
        }
        if let LoggedOperation::Insert { key, payload, time, shingle_count, signature } =
            effect.operation
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
