//! Expiry: finds the documents that are due, and writes their removes in batches.
//!
//! Queries know nothing of expiry: a document is live until its remove is written, which takes the
//! same path as every other change.

use crate::Result;
use crate::format::wal::{KEY_BYTES_MAX, OPERATION_HEAD_BYTES};
use crate::index::state::core::Core;
use crate::index::state::event::Event;
use crate::index::state::expiry_queue::Expiry;
use crate::index::state::versions::{Place, Snapshot};
use crate::index::write::batch::Outcome;
use crate::index::write::operation::Operation;
use crate::index::write::plan::key_hashes;
use crate::index::write::write_path;
use crate::sync::TryLockError;

/// Maximum number of documents examined per step.
const LOOKS_MAX: u32 = 1 << 20;

/// Removes a batch of expired documents; false if none was due.
pub(crate) fn expire_step(core: &Core) -> Result<bool> {
    let Some(ttl) = core.options.ttl else { return Ok(false) };
    let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    let limit = (core.options.clock)().saturating_sub(ttl_ms);
    let mut expiry = match core.expiry.try_lock() {
        Ok(expiry) => expiry,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Another thread is already removing expired documents.
        Err(TryLockError::WouldBlock) => return Ok(false),
    };
    let done = expire(core, &mut expiry, limit);
    if done.is_err() {
        // The documents taken from the queues were not all removed: start over.
        *expiry = Expiry::default();
    }
    done
}

fn expire(core: &Core, expiry: &mut Expiry, limit: u64) -> Result<bool> {
    let snapshot = core.all_applied();
    expiry.forget_gone(&snapshot);
    let mut looks = LOOKS_MAX;
    let mut keys = QueuedKeys::new(core);
    for source in 0..=snapshot.state.segments.len() {
        if !may_be_older(&snapshot, source, limit) {
            continue;
        }
        let queue = expiry.queue_of(&snapshot, source);
        queue.renew(limit);
        looks = queue.look(&snapshot, source, looks)?;
        if looks == 0 {
            break; // out of budget: the next step continues with this source
        }
        while queue.least < limit && !keys.are_enough() {
            for ordinal in queue.take(limit, keys.room()) {
                keys.push(snapshot.key(Place { source, ordinal })?);
            }
        }
    }
    let due = !keys.found.is_empty();
    if due {
        let documents = remove_older(core, &mut keys, limit)?;
        // All of them may have been replaced or removed since they were found.
        if documents > 0 {
            core.events.note(|| Event::Expired { documents });
        }
    }
    Ok(due || looks == 0)
}

/// Removes those of the documents with these keys that are older than a time, as one change.
pub(super) fn remove_older(core: &Core, keys: &mut QueuedKeys, time: u64) -> Result<u64> {
    let keys = keys.take();
    let written = {
        let mut writer = core.to_write()?;
        let before = core.applied(&writer);
        let mut removes = Vec::with_capacity(keys.len());
        for key in &keys {
            // The document may have been replaced or removed since it was found.
            let place = before.locate(key)?;
            let stored = place.map(|place| before.time(place)).transpose()?;
            if stored.is_some_and(|stored| stored < time) {
                removes.push(Operation::Remove { key });
            }
        }
        let key_hashes = key_hashes(&core.params, &removes);
        write_path::write_locked(core, &mut writer, &removes, &key_hashes)?
    };
    write_path::settle(core, written.change)?;
    Ok(written.count(Outcome::Removed))
}

/// Whether a source may hold a document with a time below `time`.
pub(super) fn may_be_older(snapshot: &Snapshot, source: usize, time: u64) -> bool {
    snapshot.state.segments.get(source).is_none_or(|live| live.entry.time_min < time)
}

/// The keys collected for a batch.
pub(super) struct QueuedKeys {
    found: Vec<Vec<u8>>,
    bytes: usize,
    count_max: usize,
    bytes_max: usize,
}

impl QueuedKeys {
    pub(super) fn new(core: &Core) -> Self {
        let (count_max, bytes_max) = (core.options.removes_max, core.options.batch_bytes_max);
        Self { found: Vec::new(), bytes: 0, count_max, bytes_max }
    }

    pub(super) fn push(&mut self, key: Vec<u8>) {
        // Approximate size of the remove operation in the WAL.
        self.bytes += key.len() + 20;
        self.found.push(key);
    }

    /// The number of keys that can still be added to the batch if all have the maximum length; at
    /// least one.
    fn room(&self) -> usize {
        let count = self.count_max.saturating_sub(self.found.len());
        count.min(self.bytes_max.saturating_sub(self.bytes) / KEY_OPERATION_BYTES).max(1)
    }

    pub(super) fn are_enough(&self) -> bool {
        let full = self.bytes + KEY_OPERATION_BYTES > self.bytes_max;
        self.found.len() >= self.count_max || (full && !self.found.is_empty())
    }

    fn take(&mut self) -> Vec<Vec<u8>> {
        self.bytes = 0;
        std::mem::take(&mut self.found)
    }
}

/// Approximate size in the WAL of a remove operation whose key has the maximum length.
const KEY_OPERATION_BYTES: usize = KEY_BYTES_MAX + OPERATION_HEAD_BYTES;
