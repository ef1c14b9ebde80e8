//! Reusable buffers for sketching, one set per thread.
//!
//! Earlier contents of a buffer never affect a signature.

use std::cell::Cell;

use super::distinct::Seen;
use super::split::Split;

/// Maximum size in bytes of the buffers that a thread keeps between calls. Larger buffers are
/// freed.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The buffers of a call.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Unit hashes, then window sums, then shingle hashes: each replaces the former in place.
    pub(crate) sums: Vec<u64>,
    pub(crate) split: Split,
    pub(crate) rows: Rows,
}

/// The buffers for the steps from window sums to row values.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) seen: Seen,
    pub(crate) picked: Vec<u64>,
    pub(crate) values: Vec<u64>,
    /// Number of shingles, including repeats.
    pub(crate) shingles: usize,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `work` with the buffers of this thread. A nested call (an iterator of items may sketch,
/// too) and a call during thread exit get new buffers.
pub(crate) fn with<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = work(&mut scratch);
    if scratch.bytes() <= KEPT_BYTES_MAX {
        // During thread exit the buffers are dropped.
        let _ = KEPT.try_with(|kept| kept.set(Some(scratch)));
    }
    result
}

impl Scratch {
    fn bytes(&self) -> usize {
        let words = [&self.sums, &self.rows.picked, &self.rows.values];
        let words = words.map(Vec::capacity).iter().sum::<usize>();
        words * size_of::<u64>() + self.rows.seen.bytes() + self.split.bytes()
    }
}
