//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise};

/// Finalises window sums and drops repeats. The expected cost is one probe each; sums chosen to
/// collide in the table fall back to sorting.
pub(crate) fn set(sums: &mut Vec<u64>) {
    for sum in sums.iter_mut() {
        *sum = finalise(*sum);
    }
    if drop_repeats(sums).is_none() {
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

/// Keeps the first of equal hashes, with an open-addressed table at most a quarter full. Gives up,
/// some repeats left, when the probes are many more than random hashes need.
fn drop_repeats(hashes: &mut Vec<u64>) -> Option<()> {
    let slots = (hashes.len() * 4).next_power_of_two();
    let mask = slots - 1;
    // Zero marks a free slot, so a hash of zero is remembered apart.
    let mut table = vec![0_u64; slots];
    let mut zero_seen = false;
    let mut spare_probes = hashes.len() + 64;
    let mut kept = 0;
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let mut slot = low_bits(hash) & mask;
        let mut repeat = hash == 0 && zero_seen;
        zero_seen |= hash == 0;
        while table[slot] != 0 && hash != 0 {
            if table[slot] == hash {
                repeat = true;
                break;
            }
            spare_probes = spare_probes.checked_sub(1)?;
            slot = (slot + 1) & mask;
        }
        if hash != 0 {
            table[slot] = hash;
        }
        hashes[kept] = hash;
        kept += usize::from(!repeat);
    }
    hashes.truncate(kept);
    Some(())
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
fn low_bits(hash: u64) -> usize {
    hash as usize
}
