//! Looks up many keys together, source by source, so that memory accesses overlap.

use crate::Result;
use crate::index::state::versions::{Place, Snapshot};
use crate::segment::LOOK_UPS_TOGETHER;

/// From this number of keys on, they are looked up in the order of their hashes: tables are in this
/// order, so each of their pages is read once. Matters where memory does not hold the segments.
const SORTED_MIN: usize = 64;

/// Finds the places of the live documents with some keys. `key` and `key_hashes` cover all keys;
/// `wanted` holds the indices of those to look up.
pub(crate) fn locate_all<'k>(
    before: &Snapshot,
    key: impl Fn(usize) -> &'k [u8],
    key_hashes: &[u64],
    mut wanted: Vec<usize>,
) -> Result<Vec<Option<Place>>> {
    let mut places = vec![None; key_hashes.len()];
    let content = before.state.memtable.read();
    let source = before.state.segments.len();
    for wanted in wanted.chunks(LOOK_UPS_TOGETHER) {
        for &at in wanted {
            content.ask_for_key(key_hashes[at]);
        }
        for &at in wanted {
            let found = content.find_key(key(at), key_hashes[at], before.visible);
            places[at] = found.map(|ordinal| Place { source, ordinal });
        }
    }
    wanted.retain(|at| places[*at].is_none());
    if wanted.len() > SORTED_MIN && source > 0 {
        wanted.sort_unstable_by_key(|at| key_hashes[*at]);
    }
    let table_of_keys = before.params().bands();
    let (mut hashes, mut candidates) = (Vec::new(), Vec::new());
    for (source, live) in before.state.segments.iter().enumerate().rev() {
        hashes.clear();
        hashes.extend(wanted.iter().map(|at| key_hashes[*at]));
        candidates.clear();
        live.segment.look_up_all(table_of_keys, &hashes, &mut |nth, ordinal| {
            candidates.push((wanted[nth], ordinal));
        })?;
        for part in candidates.chunks(LOOK_UPS_TOGETHER) {
            live.segment.prefetch_keys(part.iter().map(|(_, ordinal)| *ordinal))?;
            for &(at, ordinal) in part {
                let is_dead = live.is_dead(ordinal)?
                    || content.segment_death(live.number(), ordinal, before.visible);
                if !planted!(LaterDeadForgotten, is_dead && part[0] == candidates[0], is_dead)
                    && live.segment.has_key(ordinal, key(at))?
                {
                    places[at] = Some(Place { source, ordinal });
                }
            }
        }
        if !candidates.is_empty() {
            wanted.retain(|at| places[*at].is_none());
        }
    }
    Ok(places)
}
