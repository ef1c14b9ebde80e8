//! Distinct hashes among very many: dealt into parts as they come, each part small enough for the
//! cache when its repeats are dropped.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

/// Hashes of a part, as planned, and the binary logarithm of the fewest and the most parts.
const PART: usize = 4096;
const PART_BITS_MIN: u32 = 4;
const PART_BITS_MAX: u32 = 11;
/// Parts grow by so many hashes.
const CHUNK: usize = 256;
/// Larger parts are sorted: a table of 16-bit places does not reach them.
const PLACES_MAX: usize = 1 << 15;
/// In `Many::previous`: the chunk is the first of its part.
const NONE: usize = usize::MAX;

/// Hashes that are dealt into parts by some of their bits. A part is a chain of chunks, so that
/// all parts grow in one buffer and nothing is counted beforehand.
#[derive(Debug)]
pub(crate) struct Many {
    memory: Vec<u64>,
    /// For each chunk of the memory, the one before it in its part.
    previous: Vec<usize>,
    /// Where each part's next hash goes; at the end of a chunk, a new chunk is needed first.
    ends: Vec<usize>,
}

impl Many {
    /// For about so many hashes; of more, parts are larger and slower.
    pub(crate) fn new(expected: usize) -> Self {
        let bits = (expected / PART).max(1).ilog2().clamp(PART_BITS_MIN, PART_BITS_MAX);
        // A part's last chunk is half empty.
        let memory = Vec::with_capacity(expected + (CHUNK << bits));
        Self { memory, previous: Vec::new(), ends: vec![0; 1 << bits] }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, hash: u64) {
        // Neither the bits that choose a row nor those that choose a slot of `copy_by_table`.
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

    /// Adds one of each of the hashes to `out`.
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

/// Copies one of each of the hashes of a part, which it may sort, to places from 1 on; returns how
/// many there are.
fn copy_distinct(part: &mut [u64], to: &mut [u64], places: &mut Vec<u16>) -> usize {
    if let Some(kept) = copy_by_table(part, to, places) {
        return kept;
    }
    part.sort_unstable();
    let distinct = part.chunk_by(|a, b| a == b).filter_map(|equal| equal.first());
    to[1..].iter_mut().zip(distinct).map(|(to, hash)| *to = *hash).count()
}

/// The same with an open-addressed table of their places, at most a quarter full. `None` when the
/// part is too large for it, or the probes are many more than random hashes need.
fn copy_by_table(part: &[u64], to: &mut [u64], places: &mut Vec<u16>) -> Option<usize> {
    if part.len() > PLACES_MAX {
        return None;
    }
    // Place 0 is a free slot, and holds whatever hash is looked for: so a free slot ends the search
    // as an equal hash does, and no branch depends on which of the two it was.
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
