//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise, finalise_all};
use super::simd::Processor;

/// Most hashes whose repeats are first looked for among few, those that share a slot with an
/// earlier one; how many slots there are for them, and how many such suspects.
const FILTERED: usize = 1024;
const SLOTS: usize = 32 << 10;
const SUSPECTS: usize = 64;

/// Which slots hashes fell into: for each slot, the turn of the last set that had a hash there. A
/// turn is a byte, so that seldom all must be cleared, and the slots stay in the cache.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    slots: Vec<u8>,
    turn: u8,
}

impl Seen {
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity()
    }

    /// The slots, and the turn that none of them has.
    #[inline(always)]
    fn next(&mut self) -> (&mut [u8], u8) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 || self.slots.is_empty() {
            self.slots.clear();
            self.slots.resize(SLOTS, 0);
            self.turn = 1;
        }
        (&mut self.slots, self.turn)
    }
}

/// Finalises window sums and drops repeats. Costs a slot looked at for each hash of a short text, a
/// probe of a table for each of a long one; sums chosen to collide there, a sort.
#[inline(always)]
pub(crate) fn set(sums: &mut Vec<u64>, seen: &mut Seen, processor: Option<Processor>) {
    match processor {
        Some(processor) => processor.finalise(sums),
        None => finalise_all(sums),
    }
    if sums.len() <= FILTERED && filter(sums, seen, processor) {
        return;
    }
    if let Some(kept) = drop_repeats(sums) {
        sums.truncate(kept);
    } else {
        sums.sort_unstable();
        sums.dedup();
    }
}

/// Drops repeats: a hash may be one if its slot was taken already, and then is looked for among
/// all. False, and nothing is changed, when many may.
#[inline(always)]
fn filter(sums: &mut Vec<u64>, seen: &mut Seen, processor: Option<Processor>) -> bool {
    let (slots, turn) = seen.next();
    let Some(slots) = slots.first_chunk_mut::<SLOTS>() else { return false };
    // Few, so that they stay in the cache, but 32 a hash at least.
    let mask = (64 * sums.len()).next_power_of_two().min(SLOTS) - 1;
    let mut suspects = [0_usize; SUSPECTS];
    let mut count = 0;
    let mut look = |at: usize, sum: u64| {
        let last = std::mem::replace(&mut slots[low_bits(sum) & mask & (SLOTS - 1)], turn);
        if last == turn {
            if let Some(suspect) = suspects.get_mut(count) {
                *suspect = at;
            }
            count += 1;
        }
    };
    // Four in a turn, of which each would be as short as what it takes to count turns.
    let (fours, rest) = sums.as_chunks::<4>();
    for (at, four) in (0..).step_by(4).zip(fours) {
        for (nth, sum) in four.iter().enumerate() {
            look(at + nth, *sum);
        }
    }
    for (nth, sum) in rest.iter().enumerate() {
        look(sums.len() - rest.len() + nth, *sum);
    }
    let Some(suspects) = suspects.get(..count) else { return false };
    // From the last, so that those before stay in their places, and the first of equals is left.
    for &at in suspects.iter().rev() {
        let sum = sums[at];
        let count = processor.map_or_else(|| self::count(sums, sum), |own| own.count(sums, sum));
        if count > 1 {
            sums.swap_remove(at);
        }
    }
    true
}

/// How often a number is among others: without a branch, many at once.
#[inline(always)]
pub(crate) fn count(hashes: &[u64], hash: u64) -> u64 {
    hashes.iter().map(|other| u64::from(*other == hash)).sum()
}

/// Finalises window sums so that repeats count: the n-th of equal sums, n from 0, is hashed with
/// n golden steps added, which for n = 0 is what `set` does.
pub(crate) fn bag(sums: &mut [u64]) {
    sums.sort_unstable();
    let mut previous = None;
    let mut repeat = 0_u64;
    for sum in sums {
        repeat = if previous == Some(*sum) { repeat + 1 } else { 0 };
        previous = Some(*sum);
        *sum = finalise(sum.wrapping_add(repeat.wrapping_mul(GOLDEN)));
    }
}

/// Moves the first of equal hashes to the front, with an open-addressed table of their places, at
/// most a quarter full; returns how many there are. `None` when the probes are many more than
/// random hashes need; then nothing is lost, only moved.
fn drop_repeats(hashes: &mut [u64]) -> Option<usize> {
    // Places are counted from 1, and 0 is a free slot.
    let mut table = vec![0_u32; (hashes.len() * 4).next_power_of_two()];
    let mask = table.len() - 1;
    let mut spare_probes = hashes.len() * 2 + 64;
    let mut kept = 0_u32;
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let mut slot = low_bits(hash) & mask;
        while table[slot] != 0 && hashes[table[slot] as usize - 1] != hash {
            spare_probes = spare_probes.checked_sub(1)?;
            slot = (slot + 1) & mask;
        }
        if table[slot] == 0 {
            hashes.swap(kept as usize, at);
            kept = kept.checked_add(1)?;
            table[slot] = kept;
        }
    }
    Some(kept as usize)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
#[inline(always)]
fn low_bits(hash: u64) -> usize {
    hash as usize
}
