//! The hash of shingles. Frozen: all bits are part of the format.
//!
//! The normative text, with known answers, is `docs/reference/SIGNATURES.md`.

use std::cell::Cell;

/// The base of the polynomial over the units of a window. Swapping two adjacent units changes the
/// sum by their difference times `BASE` - 1, times a power of `BASE`. Because `BASE` is 3 modulo 8,
/// `BASE` - 1 has a single factor of 2, so only one of the 64 bits of the difference is lost.
pub(crate) const BASE: u64 = 0xd134_2543_de82_ef93;

/// 2^64 divided by the golden ratio, as an odd number: the step of SplitMix64, and what a bag adds
/// to the sum of a shingle for each repeat.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea and Flood 2014; constants of Stafford's 13th
/// variant): a bijection in which every input bit reaches every output bit.
#[inline(always)]
pub(crate) const fn finalise(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Applies `finalise` to each hash.
#[inline(always)]
pub(crate) fn finalise_all(sums: &mut [u64]) {
    for sum in sums {
        *sum = finalise(*sum);
    }
}

/// The n-th output of SplitMix64 with this seed, counted from 0.
pub(crate) const fn split_mix(seed: u64, n: u64) -> u64 {
    finalise(seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// The sum of a window.
#[inline(always)]
pub(crate) fn sum_of(window: &[u64]) -> u64 {
    window.iter().fold(0, |sum, &u| sum_with(sum, u))
}

#[inline(always)]
fn sum_with(sum: u64, unit: u64) -> u64 {
    sum.wrapping_mul(BASE).wrapping_add(unit)
}

/// For narrow windows: computes each sum from its units, without a dependency on the previous one,
/// so that the loop is vectorised.
#[inline(always)]
pub(crate) fn direct<const N: usize>(units: &mut Vec<u64>) {
    let count = (units.len() + 1).saturating_sub(N);
    for window in Cell::from_mut(&mut units[..]).as_slice_of_cells().windows(N) {
        window[0].set(window.iter().fold(0, |sum, u| sum_with(sum, u.get())));
    }
    units.truncate(count);
}
