//! Removal by prefix and by age: finds the keys and writes one remove operation per key.
//!
//! The removes take the same path as every other change.

use crate::Result;
use crate::index::maintain::expiry::{QueuedKeys, may_be_older, remove_older};
use crate::index::maintain::steps;
use crate::index::state::core::Core;
use crate::index::state::key::Key;
use crate::index::state::versions::Place;
use crate::index::write::batch::{OPERATION_BYTES, Outcome, RECORD_BYTES};
use crate::index::write::operation::Operation;
use crate::index::write::write_path;

/// Removes all documents whose keys have this prefix, in one change if they fit into one batch.
/// See [`crate::Index::remove_prefix`].
pub(crate) fn remove_prefix(core: &Core, prefix: &[u8]) -> Result<u64> {
    let mut keys = core.all_applied().keys_with_prefix(prefix)?.peekable();
    let mut removed = 0;
    loop {
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

/// Removes all documents older than a time. See [`crate::Index::remove_before`].
pub(crate) fn remove_before(core: &Core, time: u64) -> Result<u64> {
    let snapshot = core.all_applied();
    let mut keys = QueuedKeys::new(core);
    let mut removed = 0;
    for source in 0..=snapshot.state.segments.len() {
        if !may_be_older(&snapshot, source, time) {
            continue;
        }
        for ordinal in 0..snapshot.document_count(source) {
            let place = Place { source, ordinal };
            if snapshot.time(place)? < time && snapshot.is_live(place)? {
                keys.push(snapshot.key(place)?);
            }
            if keys.are_enough() {
                removed += remove_older(core, &mut keys, time)?;
                steps::after_write(core);
            }
        }
    }
    // Called even if no keys are left, because it also waits for the sync: the number of
    // removed documents depends on changes that may not be durable yet.
    removed += remove_older(core, &mut keys, time)?;
    steps::after_write(core);
    Ok(removed)
}
