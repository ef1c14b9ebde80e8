//! A running compaction: the data of its merge, which `merge/` advances.

use super::versions::LiveSegment;
use crate::memtable::Memtable;
use crate::segment::{Builder, Ranks};
use crate::storage::lock::Lock;
use crate::sync::Arc;
use std::time::Instant;

/// A running compaction.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(in crate::index) inputs: Vec<Source>,
    /// `None` if no document of the inputs is live: then there is no output.
    pub(in crate::index) merge: Option<Merge>,
    pub(in crate::index) begun: Option<Instant>,
    /// Whether this is an idle merge, which was not due when it started. After a write it pauses
    /// until the index is idle again. If a compaction becomes due, the idle merge is continued or
    /// abandoned: see `bytes_if_abandoned`.
    pub(in crate::index) is_idle: bool,
    /// Whether all is merged: the rest needs a turn of a shared handle.
    pub(in crate::index) is_merged: bool,
    /// The lock by which a shared handle is the only one that compacts.
    pub(in crate::index) _claim: Option<Lock>,
}

/// An input segment as it was when the compaction started.
#[derive(Debug)]
pub(in crate::index) struct Source {
    pub(in crate::index) live: Arc<LiveSegment>,
    /// The positions of the segment's documents in the output. Documents are ordered by rank among
    /// the live ones, not by key.
    pub(in crate::index) ranks: Arc<Ranks>,
    /// The number of documents that come from earlier inputs.
    pub(in crate::index) base: u32,
}

/// A running merge.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(in crate::index) inputs: Vec<Input>,
    pub(in crate::index) builder: Builder,
    /// The input being copied, and the position in it.
    pub(in crate::index) input: usize,
    pub(in crate::index) position: usize,
    /// Bytes that were copied since the pages of the inputs were last released.
    pub(in crate::index) unreleased: usize,
}

/// An input of a merge.
#[derive(Debug)]
pub(crate) enum Input {
    /// The documents of a memtable that were live when the merge started.
    Memtable { memtable: Arc<Memtable>, live: Arc<[u32]> },
    /// The documents of a segment that were live when the merge started.
    Segment { live: Arc<LiveSegment>, ranks: Arc<Ranks> },
}
