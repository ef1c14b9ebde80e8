//! Removal by prefix and by age: finds the keys and writes one remove operation per key.
//!
//! The removes take the same path as every other change.

use crate::index::maintain::expiry::{QueuedKeys, may_be_older, remove_older};
use crate::index::maintain::steps;
use crate::index::read::{Progress, ProgressReport};
use crate::index::state::core::Core;
use crate::index::state::key::Key;
use crate::index::state::versions::Place;
use crate::index::write::batch::{OPERATION_BYTES, Outcome, RECORD_BYTES};
use crate::index::write::operation::Operation;
use crate::index::write::write_path;
use crate::{Error, ErrorKind, Result};

/// Number of documents looked at between two reports.
const LOOKS: u32 = 1 << 16;

/// An error if the caller cancels the removal.
fn go_on(report: ProgressReport<'_>, done: u64, total: u64) -> Result<()> {
    if report(Progress { done: done.min(total), total }).is_continue() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Cancelled,
        "the removal was cancelled; the rest of the documents stay",
    ))
}

/// Removes all documents whose keys have this prefix, in one change if they fit into one batch.
/// See [`crate::Index::remove_prefix_with`].
pub(crate) fn remove_prefix(core: &Core, prefix: &[u8], report: ProgressReport<'_>) -> Result<u64> {
    let snapshot = core.all_applied();
    let total = snapshot.len();
    let mut keys = snapshot.keys_with_prefix(prefix)?.peekable();
    let mut removed = 0;
    loop {
        go_on(report, removed, total)?;
        let mut some: Vec<Key<'static>> = Vec::new();
        let mut bytes = RECORD_BYTES;
        while let Some(key) = keys.next_if(|key| {
            bytes += OPERATION_BYTES + key.as_ref().map_or(0, |key| key.as_bytes().len());
            some.is_empty() || bytes <= core.options.batch_bytes_max
        }) {
            some.push(key?);
        }
        let operations: Vec<_> =
            some.iter().map(|key| Operation::Remove { key: key.as_bytes() }).collect();
        // Called even if there are no operations, because it also waits for the sync: the
        // number of removed documents depends on changes that may not be durable yet.
        let written = write_path::write_checked(core, &operations)?;
        steps::after_write(core);
        removed += written.count(Outcome::Removed);
        if keys.peek().is_none() {
            return Ok(removed);
        }
    }
}

/// Removes all documents older than a time. See [`crate::Index::remove_before_with`].
pub(crate) fn remove_before(core: &Core, time: u64, report: ProgressReport<'_>) -> Result<u64> {
    let snapshot = core.all_applied();
    let (mut keys, total) = (QueuedKeys::new(core), snapshot.place_count());
    let (mut removed, mut seen) = (0, 0);
    for source in 0..=snapshot.state.segments.len() {
        if !may_be_older(&snapshot, source, time) {
            continue;
        }
        for ordinal in 0..snapshot.document_count(source) {
            let place = Place { source, ordinal };
            if ordinal % LOOKS == 0 {
                go_on(report, seen, total)?;
            }
            seen += 1;
            if snapshot.time(place)? < time && snapshot.is_live(place)? {
                keys.push(snapshot.key(place)?);
            }
            if keys.are_enough() {
                removed += remove_older(core, &mut keys, time)?;
                steps::after_write(core);
                go_on(report, seen, total)?;
            }
        }
    }
    // Called even if no keys are left, because it also waits for the sync: the number of
    // removed documents depends on changes that may not be durable yet.
    removed += remove_older(core, &mut keys, time)?;
    steps::after_write(core);
    Ok(removed)
}
