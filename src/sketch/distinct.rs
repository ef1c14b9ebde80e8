//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise};

/// Most hashes that are first looked through with a filter of bits, and how many of them must not
/// look repeated there.
const FILTERED: usize = 1024;
const SUSPECTS: usize = 16;

/// Finalises window sums and drops repeats. Costs a bit tested and set for each hash of a short
/// text, a probe of a table for each of a long one; sums chosen to collide there, a sort.
#[inline(always)]
pub(crate) fn set(sums: &mut Vec<u64>, bits: &mut Vec<u64>) {
    for sum in sums.iter_mut() {
        *sum = finalise(*sum);
    }
    if sums.len() <= FILTERED && filter(sums, bits) {
        return;
    }
    if let Some(kept) = drop_repeats(sums) {
        sums.truncate(kept);
    } else {
        sums.sort_unstable();
        sums.dedup();
    }
}

/// Drops repeats without a branch per hash: those whose bit another has set are
/// suspects, few, and looked up among all. False when suspects are many.
#[inline(always)]
fn filter(sums: &mut Vec<u64>, bits: &mut Vec<u64>) -> bool {
    // A bit is set by accident with a chance below 1/64.
    bits.clear();
    bits.resize(sums.len().next_power_of_two(), 0);
    let bits = &mut bits[..];
    let mask = bits.len() - 1;
    let mut suspects = [0; SUSPECTS];
    let mut count = 0;
    for (at, sum) in sums.iter().enumerate() {
        let word = &mut bits[low_bits(*sum) & mask];
        let bit = 1 << (*sum >> 58);
        suspects[count % SUSPECTS] = at;
        count += usize::from(*word & bit != 0);
        *word |= bit;
    }
    // Each hash is written before it is known to be a suspect, so a full array has lost its first.
    if count >= SUSPECTS {
        return false;
    }
    // From the last, so that the places before stay.
    for &at in suspects[..count].iter().rev() {
        let (before, rest) = sums.split_at(at);
        if before.contains(&rest[0]) {
            sums.swap_remove(at);
        }
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
