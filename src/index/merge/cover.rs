//! Covers the memtable and small segments with the filter, so that a query reads one cache line per
//! band instead of some in each of them. See `src/filter.rs`.
//!
//! The filter changes no answer, and is in memory only. The largest segment is not covered by
//! choice: most documents are there, so most hits would read the filter in addition.

use crate::Result;
use crate::filter::BandFilter;
use crate::index::state::core::Core;
use crate::index::state::versions::LiveSegment;
use crate::memtable::Memtable;
use crate::sync::{Arc, PoisonError};

/// Maximum size of the filter in bytes. Half as large as the memtable, if that is less.
const FILTER_BYTES_MAX: usize = 32 << 20;
/// Minimum number of BandKeys in the segments. With fewer, the processor's cache holds their
/// tables, and a filter gains nothing.
const KEYS_MIN: u64 = small!(cover::KEYS_MIN, 1 << 20);
/// Columns that a segment leaves free: one for the memtable.
const COLUMNS_LEFT: u32 = 1;
/// Columns that a segment of several columns leaves free. Small segments cost a query as much, and
/// take one.
const COLUMNS_LEFT_BY_LARGE: u32 = 4;

/// Covers an empty memtable, if there are segments of some size beside it.
pub(crate) fn cover_memtable(core: &Core, memtable: &Memtable, segments: &[Arc<LiveSegment>]) {
    if keys_of(segments.iter()) >= KEYS_MIN
        && let Some(columns) = filter(core).take(1)
    {
        memtable.cover_by(columns);
    }
}

/// Covers the smallest segments that are not covered yet, as far as there are columns.
pub(crate) fn cover_small(core: &Core) -> Result<()> {
    // Not the state: covering takes a while, and a flush meanwhile reuses the buffers of its
    // memtable only if nobody holds it.
    let mut by_size = core.state().segments.clone();
    let is_open = |live: &&Arc<LiveSegment>| live.segment.covered().is_none();
    if by_size.iter().filter(is_open).count() < 2 {
        return Ok(());
    }
    by_size.sort_by_key(|live| live.entry.docs);
    by_size.pop();
    if keys_of(by_size.iter()) < KEYS_MIN {
        return Ok(());
    }
    let filter = filter(core);
    for live in by_size.iter().filter(is_open) {
        let needed = filter.columns_for(live.segment.band_key_count());
        let left = if needed == 1 { COLUMNS_LEFT } else { COLUMNS_LEFT_BY_LARGE };
        if needed.saturating_add(left) > filter.free() {
            break;
        }
        let Some(columns) = filter.take(needed) else { break };
        live.segment.cover(columns)?;
        if !core.options.keep_mapped {
            live.segment.release();
        }
    }
    Ok(())
}

/// Number of BandKeys in these segments.
fn keys_of<'s>(segments: impl Iterator<Item = &'s Arc<LiveSegment>>) -> u64 {
    segments.map(|live| live.segment.band_key_count()).sum()
}

/// The filter of the index, or a new one.
fn filter(core: &Core) -> Arc<BandFilter> {
    let mut held = core.filter.lock().unwrap_or_else(PoisonError::into_inner);
    held.upgrade().unwrap_or_else(|| {
        let bytes = FILTER_BYTES_MAX.min(core.options.memtable_bytes_max / 2);
        let filter = Arc::new(BandFilter::new(bytes, (core.options.random)()));
        *held = Arc::downgrade(&filter);
        filter
    })
}
