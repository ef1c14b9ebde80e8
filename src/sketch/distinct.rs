//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise};

/// Most hashes whose repeats are first looked for among few, those that share a slot with a later
/// one; how many slots there are for them, and how many such suspects.
const FILTERED: usize = 1024;
const SLOTS: usize = 16 << 10;
const SUSPECTS: usize = 64;

/// Finalises window sums and drops repeats. Costs a slot written and read for each hash of a
/// short text, a probe of a table for each of a long one; sums chosen to collide there, a sort.
#[inline(always)]
pub(crate) fn set(sums: &mut Vec<u64>, slots: &mut Vec<u16>) {
    for sum in sums.iter_mut() {
        *sum = finalise(*sum);
    }
    slots.resize(SLOTS, 0);
    if sums.len() <= FILTERED
        && let Some(slots) = slots.first_chunk_mut()
        && filter(sums, slots)
    {
        return;
    }
    if let Some(kept) = drop_repeats(sums) {
        sums.truncate(kept);
    } else {
        sums.sort_unstable();
        sums.dedup();
    }
}

/// Drops repeats without reading what was just written: each hash writes its place into a slot, and
/// then looks whether it is still there. False, and nothing is changed, when many are not.
#[inline(always)]
fn filter(sums: &mut Vec<u64>, slots: &mut [u16; SLOTS]) -> bool {
    // Few, so that they stay in the cache, but 16 a hash at least. What they held is never read.
    let mask = (32 * sums.len()).next_power_of_two().min(SLOTS) - 1;
    let slot_of = |sum: u64| low_bits(sum) & mask & (SLOTS - 1);
    for (at, sum) in (0_u16..).zip(&*sums) {
        slots[slot_of(*sum)] = at;
    }
    let mut suspects = [0_u16; SUSPECTS];
    let mut count = 0;
    for (at, sum) in (0_u16..).zip(&*sums) {
        if slots[slot_of(*sum)] != at {
            suspects[count % SUSPECTS] = at;
            count += 1;
        }
    }
    if count > SUSPECTS {
        return false;
    }
    // A hash is repeated if the last one in its slot is the same, or a later suspect.
    let is_repeated = |nth: usize| {
        let sum = sums[usize::from(suspects[nth])];
        let last = sums[usize::from(slots[slot_of(sum)])];
        sum == last || suspects[nth + 1..count].iter().any(|at| sums[usize::from(*at)] == sum)
    };
    let mut repeated = 0_u64;
    for nth in 0..count {
        repeated |= u64::from(is_repeated(nth)) << nth;
    }
    // From the last, so that the places before stay.
    for nth in (0..count).rev().filter(|nth| repeated >> nth & 1 == 1) {
        sums.swap_remove(usize::from(suspects[nth]));
    }
    true
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
