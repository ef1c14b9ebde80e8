//! Deduplicates very many hashes: they are partitioned by some of their bits, so that each part
//! fits into the cache when its repeats are dropped.
//!
//! The order of the result is unspecified; a signature does not depend on it.

/// Planned number of hashes per part; then the binary logarithms of the minimum and maximum number
/// of parts.
const PART: usize = 4096;
const PART_BITS_MIN: u32 = 4;
const PART_BITS_MAX: u32 = 11;
/// Chunk size: parts grow by this many hashes.
const CHUNK: usize = 256;
/// Maximum number of hashes in a part for which the table with its 16-bit indexes is used. Larger
/// parts are sorted.
const PLACES_MAX: usize = 1 << 15;
/// Maximum number of hashes for which memory is allocated at the start: a text may have many
/// repeats.
const START_MAX: usize = 12 << 20;
/// Minimum number of hashes for which memory is allocated once repeats were dropped.
const START_MIN: usize = 64 << 10;
/// Sentinel in `Many::previous`: the chunk is the first of its part.
const NONE: usize = usize::MAX;

/// Hashes partitioned by some of their bits. A part is a linked list of chunks, so that all parts
/// grow in one buffer without counting first.
#[derive(Debug)]
pub(crate) struct Many {
    memory: Vec<u64>,
    /// For each chunk, the previous chunk of its part.
    previous: Vec<usize>,
    /// For each part, the index in `memory` of its next hash. If the index is a multiple of
    /// `CHUNK`, the last chunk is full, and the part needs a new one.
    ends: Vec<usize>,
}

impl Many {
    /// Made for about `expected` hashes. With more hashes the parts become larger and slower.
    pub(crate) fn new(expected: usize) -> Self {
        let bits = (expected / PART).max(1).ilog2().clamp(PART_BITS_MIN, PART_BITS_MAX);
        Self::of_parts(1 << bits, expected.min(START_MAX))
    }

    fn of_parts(parts: usize, hashes: usize) -> Self {
        // One chunk more per part, because the last chunk of a part is only partly filled.
        let memory = Vec::with_capacity(hashes + CHUNK * parts);
        Self { memory, previous: Vec::new(), ends: vec![0; parts] }
    }

    /// Makes room for `count` more hashes. If memory is full, drops repeats first: memory is for
    /// twice the distinct hashes at most, not for all.
    pub(crate) fn make_room(&mut self, count: usize) {
        let parts = self.ends.len();
        if self.memory.len() + count + CHUNK * parts <= self.memory.capacity() {
            return;
        }
        let full = std::mem::replace(self, Self::of_parts(1, 0));
        let mut distinct = Vec::new();
        full.finish(&mut distinct);
        let room = (2 * distinct.len()).max(START_MIN) + count + CHUNK * parts;
        *self = Self::of_parts(parts, room);
        for hash in distinct {
            self.add(hash);
        }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, hash: u64) {
        // The part is chosen by bits in the middle of the hash. They are independent of the highest
        // bits, which choose the row, and of the lowest, which choose the slot in `copy_by_table`.
        let part = low_bits(hash >> 32) & (self.ends.len() - 1);
        let Some(end) = self.ends.get_mut(part) else { return };
        if *end % CHUNK == 0 {
            self.previous.push((*end / CHUNK).wrapping_sub(1));
            *end = self.memory.len();
            self.memory.resize(*end + CHUNK, 0);
        }
        if let Some(place) = self.memory.get_mut(*end) {
            *place = hash;
        }
        *end += 1;
    }

    /// Appends the distinct hashes to `out`.
    pub(crate) fn finish(self, out: &mut Vec<u64>) {
        let (mut part, mut distinct, mut places) = (Vec::new(), Vec::new(), Vec::new());
        out.reserve(self.memory.len());
        for end in self.ends {
            part.clear();
            let mut end = end;
            while let Some(last) = end.checked_sub(1) {
                let chunk = last / CHUNK;
                part.extend_from_slice(&self.memory[chunk * CHUNK..end]);
                let previous = self.previous[chunk];
                end = if previous == NONE { 0 } else { (previous + 1) * CHUNK };
            }
            if distinct.len() <= part.len() {
                distinct.resize(part.len() + 1, 0);
            }
            let kept = copy_distinct(&mut part, &mut distinct, &mut places);
            out.extend_from_slice(&distinct[1..=kept]);
        }
    }
}

/// Copies the distinct hashes of a part to `to`, from index 1 on, and returns their number. May
/// sort the part.
fn copy_distinct(part: &mut [u64], to: &mut [u64], places: &mut Vec<u16>) -> usize {
    if let Some(kept) = copy_by_table(part, to, places) {
        return kept;
    }
    part.sort_unstable();
    let distinct = part.chunk_by(|a, b| a == b).filter_map(|equal| equal.first());
    to[1..].iter_mut().zip(distinct).map(|(to, hash)| *to = *hash).count()
}

/// Same as `copy_distinct`, with an open-addressed table of indexes, at most a quarter full.
/// Returns `None` if the part is too large, or if there are far more probes than random hashes
/// need.
fn copy_by_table(part: &[u64], to: &mut [u64], places: &mut Vec<u16>) -> Option<usize> {
    if part.len() > PLACES_MAX {
        return None;
    }
    // A free slot holds index 0, and `to[0]` always holds the hash being searched. So a free slot
    // ends the search like an equal hash, and no branch depends on which of the two it was.
    places.clear();
    places.resize((part.len() * 4).next_power_of_two(), 0);
    let mask = places.len() - 1;
    let mut spare_probes = part.len() * 2 + 64;
    let mut kept = 0_u16;
    for &hash in part {
        to[0] = hash;
        let mut slot = low_bits(hash) & mask;
        let mut place = places[slot];
        while to[usize::from(place)] != hash {
            spare_probes = spare_probes.checked_sub(1)?;
            slot = (slot + 1) & mask;
            place = places[slot];
        }
        let is_free = place == 0;
        to[usize::from(kept) + 1] = hash;
        kept += u16::from(is_free);
        places[slot] = if is_free { kept } else { place };
    }
    Some(kept.into())
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
#[inline(always)]
fn low_bits(hash: u64) -> usize {
    hash as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn repeats_take_no_memory_and_no_hash_is_lost() {
        for distinct in [1, 900, 70_000, 700_000] {
            let hash = |at: usize| ((at % distinct) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (mut many, count) = (Many::new(1_000), 1_000);
            for from in (0..1_500_000).step_by(count) {
                many.make_room(count);
                let capacity = many.memory.capacity();
                (from..from + count).for_each(|at| many.add(hash(at)));
                assert_eq!(many.memory.capacity(), capacity, "there was no room");
            }
            let most = (2 * distinct).max(START_MIN) + 20_000;
            assert!(many.memory.capacity() <= most, "{distinct}: {}", many.memory.capacity());
            let mut found = Vec::new();
            many.finish(&mut found);
            let expected: BTreeSet<u64> = (0..distinct).map(hash).collect();
            assert_eq!(found.len(), expected.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }
}
