//! Memory that is used again: what sketching needs of it, one set for each thread.
//!
//! Knows buffers. Nothing that a buffer held before shows in a signature.

use std::cell::Cell;

use super::distinct::Seen;
use super::split::Split;

/// Most memory that a thread keeps between calls; what a longer text needed is given back.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The buffers of one call.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Unit hashes, then window sums, then shingle hashes, each in the place of the former.
    pub(crate) sums: Vec<u64>,
    pub(crate) split: Split,
    pub(crate) rows: Rows,
}

/// The buffers from sums to values.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) seen: Seen,
    pub(crate) picked: Vec<u64>,
    pub(crate) values: Vec<u64>,
    /// How many shingles there were, repeats included.
    pub(crate) shingles: usize,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `work` with this thread's buffers. They are taken out for its time: a call within the
/// call (an iterator of items may sketch, too), or at a thread's end, gets new ones.
pub(crate) fn with<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = work(&mut scratch);
    if scratch.bytes() <= KEPT_BYTES_MAX {
        // A thread that is ending keeps nothing.
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
