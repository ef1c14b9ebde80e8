//! Removal by prefix: finds the keys and writes one remove operation per key, all in one change if
//! they fit into one batch.
//!
//! The removes take the same path as every other change.

use crate::Result;
use crate::index::maintain::steps;
use crate::index::state::core::Core;
use crate::index::state::key::Key;
use crate::index::write::batch::{OPERATION_BYTES, Operation, Outcome, RECORD_BYTES};

/// Removes all documents whose keys have this prefix. See [`crate::Index::remove_prefix`].
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
        removed += steps::write_checked(core, &operations)?.count(Outcome::Removed);
        if keys.peek().is_none() {
            return Ok(removed);
        }
    }
}
