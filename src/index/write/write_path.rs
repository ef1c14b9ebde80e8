//! The write path: check, decide, append, apply, and wait for what `Ok` promises.

use super::batch::{Batch, Written};
use super::operation::Operation;
use super::plan::{Plan, key_hashes, plan};
use crate::format::wal::{
    KEY_BYTES_MAX, LoggedOperation, PAYLOAD_BYTES_MAX, RecordBuilder, RecordKind,
};
use crate::index::merge::commit;
use crate::index::merge::flush;
use crate::index::state::core::{Core, Writer};
use crate::index::state::options::Durability;
use crate::index::state::versions::{Place, Snapshot, band_keys, other_parameters};
use crate::memtable::{NewDocument, Step};
use crate::sync::Arc;
use crate::wal::{AppendError, Reserve};
use crate::{Error, ErrorKind, Result};
use std::ops::RangeInclusive;

/// Number of effects applied to the memtable per call.
const EFFECTS_TOGETHER: usize = small!(write_path::EFFECTS_TOGETHER, 1024);
/// Sizes of an append whose writeback starts while the change is applied. Smaller appends would not
/// gain; for larger ones, the call itself might block. (The range is lower in tests, which append
/// little.)
const STARTED_BYTES: RangeInclusive<u64> = small!(write_path::STARTED_BYTES, 16 << 10..=4 << 20);
/// The record buffer is kept for the next record up to this size.
const RECORD_BYTES_KEPT: u64 = small!(write_path::RECORD_BYTES_KEPT, 1 << 20);

/// Writes a batch. See [`crate::Index::write`].
pub(crate) fn write(core: &Core, batch: &Batch) -> Result<Written> {
    write_checked(core, &check(core, batch)?)
}

/// Writes operations that were already checked and have their times.
pub(crate) fn write_checked(core: &Core, operations: &[Operation<'_>]) -> Result<Written> {
    let key_hashes = key_hashes(&core.params, operations);
    let begun = core.events.now();
    let written = write_locked(core, &mut *core.to_write()?, operations, &key_hashes)?;
    core.events.note_stall(begun);
    planted!(IdleNotAwaited => if !super::plan::take_effect(&written.outcomes) {
        return Ok(written);
    });
    // Wait for the sync even if nothing was written: the outcomes depend on changes that may
    // not be durable yet.
    settle(core, written.change)?;
    Ok(written)
}

/// Checks the operations of a batch, and gives times to inserts without one.
fn check<'a>(core: &Core, batch: &'a Batch) -> Result<Vec<Operation<'a>>> {
    let bytes_max = core.options.batch_bytes_max;
    if batch.bytes() > bytes_max {
        return Err(Error::invalid(format!(
            "the batch takes {} bytes, more than batch_bytes_max ({bytes_max}); split the \
             batch",
            batch.bytes()
        )));
    }
    let time = (core.options.clock)();
    let mut operations = Vec::with_capacity(batch.len());
    for (number, (operation, signature_id)) in batch.operations(time).enumerate() {
        check_operation(core, &operation, signature_id)
            .map_err(|error| error.of_document(number, batch.len(), operation.key()))?;
        operations.push(operation);
    }
    Ok(operations)
}

/// Refuses to write a single document to a passage index, where one text consists of several
/// documents.
pub(crate) fn refuse_passages(core: &Core) -> Result<()> {
    match core.params.passages() {
        None => Ok(()),
        Some(windows) => Err(Error::invalid(format!(
            "the index is of passages ({windows}): write to it through PassageIndex"
        ))),
    }
}

/// Refuses an operation that is not valid in this index. `signature_id` identifies the
/// parameters of the signature.
pub(crate) fn check_operation(
    core: &Core,
    operation: &Operation<'_>,
    signature_id: u64,
) -> Result<()> {
    check_key(operation.key())?;
    if let Operation::Insert { signature, .. } = operation {
        let same = signature_id == core.params.signature_id();
        if !same || signature.len() != core.params.signature_bytes() {
            return Err(other_parameters());
        }
    }
    operation.payload().map_or(Ok(()), check_payload)
}

/// Writes operations as one change. If they have no effect, no change is written.
pub(crate) fn write_locked(
    core: &Core,
    writer: &mut Writer,
    operations: &[Operation<'_>],
    key_hashes: &[u64],
) -> Result<Written> {
    commit::refuse_if_stopped(core)?;
    let mut before = core.applied(writer);
    let mut plan = plan(&before, operations, key_hashes)?;
    if plan.is_idle() {
        return Ok(Written { change: writer.change, outcomes: plan.outcomes });
    }
    let mut record = std::mem::take(&mut writer.record);
    lay_out(&plan, &mut record);
    if flush::make_room(core, writer, record.record_bytes(), plan.reserve())? {
        // Plan again: the outcomes stay the same, but the flush has moved the stored documents
        // to other places.
        let old = Arc::clone(&before.state.memtable);
        before = core.applied(writer);
        before.state.memtable.reuse(old);
        plan = super::plan::plan(&before, operations, key_hashes)?;
    }
    let change = writer.change + 1;
    let horizon = core.group.horizon();
    let bytes = record.record_bytes();
    let end = append(core, writer, &mut record, RecordKind::Change, change, horizon)?;
    start_writing(core, writer, bytes)?;
    if bytes <= RECORD_BYTES_KEPT {
        writer.record = record;
    }
    apply(core, &before, change, &plan);
    writer.change = change;
    writer.documents = plan.documents_after(writer.documents);
    let mark = writer.mark(end);
    core.group.applied(mark, horizon);
    planted!(VisibleBeforeSync => core.view.show(mark));
    if core.options.durability != Durability::Sync {
        core.view.show(mark);
    }
    Ok(Written { change, outcomes: plan.outcomes })
}

/// Appends a record. If a failed append cannot be rolled back, the handle is poisoned.
pub(crate) fn append(
    core: &Core,
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
            match core.group.or_poison(|| wal.roll_back()) {
                Ok(()) => {
                    Err(crate::io_error("append (nothing was written) to", wal.path(), cause))
                }
                Err(_) => Err(Error::new(
                    ErrorKind::Unknown,
                    format!(
                        "cannot append to {}, or roll back; reopen the index to see what was \
                         written",
                        wal.path().display()
                    ),
                )
                .caused_by(cause)),
            }
        }
        // Does not happen: room was made for the record.
        (Err(_), _) => Err(Error::new(ErrorKind::Io, "the WAL has no room for the record")),
    }
}

/// Waits until all that `Ok` of a write promises at this handle's durability is true. A shared
/// handle then lets the other processes see it.
pub(crate) fn settle(core: &Core, change: u64) -> Result<()> {
    commit::settle(core, change)?;
    if core.sharing.is_some()
        && core.group.horizon_is_news()
        && let Err(error) = note_horizon_in(core, &mut core.writer())
    {
        // The change is durable; only others see it later.
        core.wakeup.note_failure(Some(format!("{error:?}")));
    }
    Ok(())
}

/// Writes an empty record with the horizon, unless a record already has it. This way, damage
/// below the horizon can be distinguished from a torn tail even if nothing more is written, and
/// other processes see what is synced. Not synced.
pub(crate) fn note_horizon(core: &Core) -> Result<bool> {
    if !core.group.horizon_is_news() {
        return Ok(false);
    }
    let mut writer = core.writer();
    commit::refuse_if_stopped(core)?;
    note_horizon_in(core, &mut writer)
}

/// Like [`note_horizon`], for a caller that holds the write lock and has just looked at the lock of
/// the folder.
pub(crate) fn note_horizon_in(core: &Core, writer: &mut Writer) -> Result<bool> {
    if !core.group.horizon_is_news() {
        return Ok(false);
    }
    commit::refuse_if_noted(core)?;
    let mut record = RecordBuilder::new();
    let bytes = record.record_bytes();
    if !writer.wal.as_ref().is_some_and(|wal| wal.has_room(bytes, Reserve::Kept)) {
        return Ok(false);
    }
    let (change, horizon) = (writer.change, core.group.horizon());
    let end = append(core, writer, &mut record, RecordKind::Idle, change, horizon)?;
    core.group.applied(writer.mark(end), horizon);
    Ok(true)
}

/// Starts the writeback of the bytes just appended, if a writer will wait for it and their size
/// is worth the call. If the writeback fails, the system may drop these and neighbouring pages,
/// and a later sync need not report it: a failure counts as a failed sync.
fn start_writing(core: &Core, writer: &Writer, bytes: u64) -> Result<()> {
    let is_awaited = core.options.durability == Durability::Sync;
    let Some(wal) = writer.wal.as_ref() else { return Ok(()) };
    if !is_awaited || !STARTED_BYTES.contains(&bytes) {
        return Ok(());
    }
    let start = || wal.file().start_writing(wal.end() - bytes, bytes);
    core.group.or_poison(start).map_err(|cause| {
        let what = "a power cut may lose the change: its writeback could not be started";
        Error::about(ErrorKind::Unknown, core.names.root(), what).caused_by(cause)
    })
}

/// Applies a change to the memtable, in parts. The change is not visible before `show`.
pub(crate) fn apply(core: &Core, before: &Snapshot, change: u64, plan: &Plan<'_>) {
    let tables = core.params.bands() + 1;
    let effective: Vec<usize> = plan.effective().collect();
    let mut keys = Vec::new();
    for part in effective.chunks(EFFECTS_TOGETHER) {
        keys.clear();
        for &at in part {
            if let Some(signature) = plan.signature(at) {
                if keys.is_empty() {
                    keys.reserve(part.len() * tables);
                }
                band_keys(&core.params, signature, &mut keys);
                planted!(LaterKeyWrong => if at >= 2 * EFFECTS_TOGETHER
                    && let Some(key) = keys.last_mut()
                {
                    *key ^= 1;
                });
                keys.push(plan.key_hashes[at]);
            }
        }
        let steps = steps(before, plan, part, keys.chunks_exact(tables));
        before.state.memtable.apply(change, &steps);
    }
}

/// Builds the record with those operations of the plan that have an effect.
fn lay_out(plan: &Plan<'_>, record: &mut RecordBuilder) {
    record.clear();
    for at in plan.effective() {
        record.push(&plan.logged(at));
    }
}

/// The deaths and births that follow from some operations of a plan.
fn steps<'k>(
    before: &Snapshot,
    plan: &'k Plan<'_>,
    part: &[usize],
    mut keys: impl Iterator<Item = &'k [u64]>,
) -> Vec<Step<'k>> {
    let mut steps = Vec::with_capacity(part.len());
    for &at in part {
        if let Some(Place { source, ordinal }) = plan.places[at] {
            steps.push(match before.state.segments.get(source) {
                Some(live) => Step::SegmentDeath { segment: live.number(), ordinal },
                None => Step::Death(ordinal),
            });
        }
        if let LoggedOperation::Insert { key, payload, time, shingle_count, signature } =
            plan.logged(at)
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
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(Error::invalid(format!("a key has 1 to {KEY_BYTES_MAX} bytes, not {}", key.len())))
}

/// Refuses a payload that is too long.
pub(crate) fn check_payload(payload: &[u8]) -> Result<()> {
    if payload.len() <= PAYLOAD_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a payload has at most {PAYLOAD_BYTES_MAX} bytes, not {}",
        payload.len()
    )))
}
