//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise};

/// Finalises window sums and drops repeats. The expected cost is one probe each; sums chosen to
/// collide in the table fall back to sorting.
pub(crate) fn set(sums: &mut Vec<u64>) {
    if let Some(kept) = finalise_distinct(sums) {
        sums.truncate(kept);
    } else {
        sums.sort_unstable();
        sums.dedup();
    }
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

/// Finalises all and moves the first of equal ones to the front, with an open-addressed table at
/// most a quarter full; returns how many there are. `None`, all finalised and some repeats left,
/// when the probes are many more than random hashes need.
fn finalise_distinct(sums: &mut [u64]) -> Option<usize> {
    let slots = (sums.len() * 4).next_power_of_two();
    // Zero marks a free slot, so a hash of zero is remembered apart.
    let mut table = vec![0_u64; slots];
    let mut zero_seen = false;
    let mut spare_probes = sums.len() + 64;
    let mut kept = 0;
    for at in 0..sums.len() {
        let hash = finalise(sums[at]);
        let mut slot = low_bits(hash) & (table.len() - 1);
        while table[slot] != hash && table[slot] != 0 && spare_probes > 0 {
            spare_probes -= 1;
            slot = (slot + 1) & (table.len() - 1);
        }
        let fresh = if hash == 0 { !zero_seen } else { table[slot] != hash };
        zero_seen |= hash == 0;
        table[slot] = hash;
        sums[at] = sums[kept];
        sums[kept] = hash;
        kept += usize::from(fresh);
    }
    (spare_probes > 0).then_some(kept)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
fn low_bits(hash: u64) -> usize {
    hash as usize
}
