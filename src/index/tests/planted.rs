//! Code of planted bugs that is too long for the place of the bug.

use crate::Result;
use crate::format::bytes::index;
use crate::format::wal::{LoggedOperation, RECORDS_BEGIN, RecordBuilder, RecordKind};
use crate::index::merge::draft::Draft;
use crate::index::state::core::{Core, Writer};
use crate::index::state::merging::RUN_DOCS_MAX;
use crate::index::state::versions::LiveSegment;
use crate::index::write::plan::Plan;
use crate::storage::names::Ending;
use crate::wal::{Records, Wal, WalIdentity};
use std::ops::Range;
use std::sync::Arc;

/// The logged form of an operation, without the payload that should be kept.
pub(crate) fn without_payload<'a>(plan: &'a Plan<'_>, at: usize) -> LoggedOperation<'a> {
    let mut logged = plan.logged(at);
    if let LoggedOperation::Insert { payload, .. } = &mut logged
        && plan.operations[at].payload().is_none()
    {
        *payload = &[];
    }
    logged
}

/// Commits the floor ahead of the segment with the data below it.
pub(crate) fn move_floor(core: &Core, writer: &mut Writer) -> Result<()> {
    let mut draft = Draft::new(core, writer);
    (draft.floor, draft.wal) = (writer.change, None);
    draft.commit(core, writer)
}

/// Writes an idle record into a log that is not listed yet.
pub(crate) fn record_early(wal: &Wal, identity: &WalIdentity) {
    let mut record = RecordBuilder::new();
    let begin = RECORDS_BEGIN;
    let bytes = record.seal(RecordKind::Idle, identity.floor, begin, identity.salt, begin);
    // On a disk that fails here the bug has no effect.
    let _ = wal.file().write_at(bytes, begin);
}

/// Continues to append to the replayed log, after its torn tail.
pub(crate) fn go_on_after_tail(
    core: &Core,
    writer: &mut Writer,
    identity: &WalIdentity,
    replay: &Records,
) -> Result<()> {
    let path = core.names.numbered(identity.number, Ending::Wal);
    let wal = Wal::resume(&*core.storage, &path, identity, replay)
        .map_err(|error| crate::io_error("open", &path, error))?;
    core.group.restart(Some(wal.file().clone()), writer.mark(wal.end()));
    writer.wal = Some(wal);
    Ok(())
}

/// Adds deaths above the floor to the deaths that will be committed.
pub(crate) fn with_late(mut carried: Vec<u32>, deaths: &[(u32, u64)]) -> Vec<u32> {
    carried.extend(deaths.iter().map(|(ordinal, _)| *ordinal));
    carried
}

/// The smallest file number that the catalog does not list: it may have been used before.
pub(crate) fn reused_number(writer: &mut Writer) -> u64 {
    let row = writer.catalog.row();
    let listed = |number: u64| {
        row.wal.is_some_and(|wal| wal.number == number)
            || row.segments.iter().any(|entry| {
                entry.number == number || entry.dead_file.is_some_and(|dead| dead.number == number)
            })
    };
    let number = (1..u64::MAX).find(|number| !listed(*number)).unwrap_or(writer.file_next);
    writer.file_next = writer.file_next.max(number + 1);
    number
}

/// A payload truncated to a buffer of 32 KiB.
pub(crate) fn cut(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(32 << 10)]
}

/// Shifts a run of documents to begin one document too early, if the run has the maximum length.
pub(crate) fn shifted(run: Range<u32>) -> Range<u32> {
    let is_full = run.len() == index(RUN_DOCS_MAX) && run.start > 0;
    run.start - u32::from(is_full)..run.end - u32::from(is_full)
}

/// Lists adopted segments in a separate commit, while the documents they replace are still live.
pub(crate) fn list_early(core: &Core, writer: &mut Writer, copied: &[LiveSegment]) -> Result<()> {
    let mut draft = Draft::new(core, writer);
    for live in copied {
        draft.adopt(live);
        draft.segments.push(Arc::new(live.clone()));
    }
    draft.commit(core, writer)
}

/// Removes the segments that were listed early from the draft, which will list them again.
pub(crate) fn forget_early(draft: &mut Draft, copied: &[LiveSegment]) {
    let is_copied = |number| copied.iter().any(|live| live.number() == number);
    draft.segments.retain(|live| !is_copied(live.number()));
}

/// Replaces the last BandKey.
pub(crate) fn spoil_last(keys: &mut [u64]) {
    if let Some(last) = keys.last_mut() {
        *last ^= 1;
    }
}
