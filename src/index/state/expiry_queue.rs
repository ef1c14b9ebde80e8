//! The documents that expire next: per source, a queue of its oldest documents.
//!
//! A cache, kept only in memory.

use super::versions::{Place, Snapshot};
use crate::Result;
use crate::memtable::Memtable;
use crate::sync::{Arc, Weak};
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of documents in a queue.
const QUEUE_MAX: usize = 4_096;

/// The documents that expire next: one queue per source. May be emptied at any time.
#[derive(Debug, Default)]
pub(crate) struct Expiry {
    segments: HashMap<u64, Queue>,
    memtable: Queue,
    /// The memtable that the queue `memtable` belongs to.
    of: Weak<Memtable>,
}

/// The oldest documents of one source, among those examined so far.
#[derive(Debug)]
pub(in crate::index) struct Queue {
    /// The number of documents examined so far: all documents with a smaller ordinal than this.
    looked: u32,
    /// Time and ordinal of the oldest examined documents, except those taken. The youngest is
    /// popped first.
    oldest: BinaryHeap<(u64, u32)>,
    /// The minimum time in `oldest`.
    pub(in crate::index) least: u64,
    /// Lower bound of the times of all live examined documents that found no place in `oldest`.
    rest: u64,
}

impl Default for Queue {
    fn default() -> Self {
        let (least, rest) = (u64::MAX, u64::MAX);
        Self { looked: 0, oldest: BinaryHeap::new(), least, rest }
    }
}

impl Queue {
    /// Examines the next documents, at most `looks` of them. Returns how many more may be examined.
    pub(in crate::index) fn look(
        &mut self,
        snapshot: &Snapshot,
        source: usize,
        looks: u32,
    ) -> Result<u32> {
        let count = snapshot.document_count(source);
        let end = count.min(self.looked.saturating_add(looks));
        let begin = self.looked;
        for ordinal in begin..end {
            let place = Place { source, ordinal };
            let time = snapshot.time(place)?;
            if time < self.rest && snapshot.is_live(place)? {
                self.oldest.push((time, ordinal));
                self.least = self.least.min(time);
                if self.oldest.len() > QUEUE_MAX
                    && let Some((youngest, _)) = self.oldest.pop()
                {
                    self.rest = youngest;
                }
            }
        }
        self.looked = end;
        Ok(looks - (end - begin))
    }

    /// Starts over if the queue is empty and documents whose time is below `limit` had found no
    /// place in it.
    pub(in crate::index) fn renew(&mut self, limit: u64) {
        if self.oldest.is_empty() && self.rest < limit {
            *self = Self::default();
        }
    }

    /// Takes the ordinals of at most `count` documents whose time is below `limit`.
    pub(in crate::index) fn take(&mut self, limit: u64, count: usize) -> Vec<u32> {
        let mut sorted = std::mem::take(&mut self.oldest).into_sorted_vec();
        let due = sorted.partition_point(|(time, _)| *time < limit).min(count);
        let taken = sorted.drain(..due).map(|(_, ordinal)| ordinal).collect();
        self.least = sorted.first().map_or(u64::MAX, |(time, _)| *time);
        self.oldest = sorted.into();
        taken
    }
}

impl Expiry {
    /// Drops the queues of sources that no longer exist.
    pub(in crate::index) fn forget_gone(&mut self, snapshot: &Snapshot) {
        let segments = &snapshot.state.segments;
        self.segments.retain(|number, _| segments.iter().any(|live| live.number() == *number));
        let memtable = &snapshot.state.memtable;
        if !std::ptr::eq(self.of.as_ptr(), &raw const **memtable) {
            self.of = Arc::downgrade(memtable);
            self.memtable = Queue::default();
        }
    }

    pub(in crate::index) fn queue_of(&mut self, snapshot: &Snapshot, source: usize) -> &mut Queue {
        match snapshot.state.segments.get(source) {
            Some(live) => self.segments.entry(live.number()).or_default(),
            None => &mut self.memtable,
        }
    }
}
