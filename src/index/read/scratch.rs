//! Reusable buffers, so that a search need not allocate.

use super::candidate::{Candidate, Found};
use super::narrow::Narrowed;
use crate::memtable::Walk;
use crate::segment::{Entries, LookUp};
use std::cell::Cell;

/// Maximum number of bytes per list that a thread keeps between two searches.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// Buffers for searches. Their content has no meaning between two searches.
#[derive(Debug, Default)]
pub(crate) struct SearchScratch {
    /// The BandKeys of the first signature, then of the second, and so on.
    pub(super) band_keys: Vec<u64>,
    /// The look-ups of a round: one per signature, segment and band, in this order. Never shrinks.
    pub(super) look_ups: Vec<LookUp>,
    pub(super) matching: Vec<Entries>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) found: Vec<Found>,
    pub(super) narrowed: Narrowed,
    pub(super) walk: Walk,
}

thread_local! {
    static KEPT: Cell<Option<Box<SearchScratch>>> = const { Cell::new(None) };
}

impl SearchScratch {
    /// The buffers that this thread kept, or new ones.
    pub(crate) fn take() -> Box<Self> {
        KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps the buffers for the next search of this thread, except lists that have grown long. A
    /// thread that is ending keeps nothing.
    pub(crate) fn keep(mut self: Box<Self>) {
        fn shed<T>(list: &mut Vec<T>) {
            if list.capacity() * size_of::<T>() > KEPT_BYTES_MAX {
                *list = Vec::new();
            }
        }
        // `walk` and `narrowed` are always kept: they hold at most one item per BandKey or segment,
        // so they stay small.
        let Self { band_keys, look_ups, matching, candidates, found, narrowed: _, walk: _ } =
            &mut *self;
        shed(band_keys);
        shed(look_ups);
        shed(matching);
        shed(candidates);
        shed(found);
        let _ = KEPT.try_with(|kept| kept.set(Some(self)));
    }
}
