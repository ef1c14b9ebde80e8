//! Buffers that searches reuse, so that looking for a signature need not allocate.

use super::search::{Candidate, Found};
use crate::memtable::Walk;
use crate::segment::{LookUp, Matching};
use std::cell::Cell;

/// Entries of any of its lists that a thread keeps between two searches.
const KEPT_MAX: usize = 4096;

/// Memory for searches; what it holds means nothing between two of them.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Of each signature in turn.
    pub(super) band_keys: Vec<u64>,
    /// Of each signature, for each segment, for each band. Never shorter than it was.
    pub(super) look_ups: Vec<LookUp>,
    pub(super) matching: Vec<Matching>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) found: Vec<Found>,
    pub(super) walk: Walk,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// What this thread has kept, or new buffers.
    pub(super) fn take() -> Box<Self> {
        KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps it for the next search of this thread, unless it has grown large. (A thread that is
    /// ending keeps nothing.)
    pub(super) fn keep(self: Box<Self>) {
        // (The walk has a chain for each BandKey at most.)
        let Self { band_keys, look_ups, matching, candidates, found, walk: _ } = &*self;
        let longest = band_keys
            .capacity()
            .max(look_ups.capacity())
            .max(matching.capacity())
            .max(candidates.capacity())
            .max(found.capacity());
        if longest <= KEPT_MAX {
            let _ = KEPT.try_with(|kept| kept.set(Some(self)));
        }
    }
}
