//! The rounds of Fast Similarity Sketching: their constants, and what a hash is worth in one. Apart
//! from `fast` and `few`, because the kernels of `simd` need these, too.
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use super::hash::split_mix;

/// Maximum number of rows, and thus of random rounds. Up to the same number of forced rounds (see
/// `force`) may follow.
pub(crate) const ROWS_MAX: usize = 1024;

/// Seed of the round constants: the ASCII bytes of "nearkin1", read big-endian.
const ROUNDS_SEED: u64 = 0x6e65_6172_6b69_6e31;

/// The two constants of each round. Round 0 uses the shingle hash unchanged.
pub(crate) static ROUNDS: [(u64, u64); 2 * ROWS_MAX] = round_constants();

/// Sentinel: an empty slot. Filled slots are smaller, because their round is below 2^15.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Mask of the bits of a value.
pub(crate) const VALUE: u64 = (1 << 48) - 1;

#[expect(clippy::large_stack_arrays, reason = "runs in the compiler only")]
const fn round_constants() -> [(u64, u64); 2 * ROWS_MAX] {
    let mut rounds = [(0, 0); 2 * ROWS_MAX];
    let mut round = 0;
    while round < rounds.len() {
        let n = 2 * round as u64;
        rounds[round] = (split_mix(ROUNDS_SEED, n), split_mix(ROUNDS_SEED, n + 1) | 1);
        round += 1;
    }
    rounds
}

/// Number of rounds that the SIMD kernel handles at once.
pub(crate) const EIGHT: usize = 8;
/// Maximum number of hashes for which `few` is used.
pub(crate) const FEW_MAX: usize = 64;

/// The constants of eight rounds.
#[derive(Debug)]
pub(crate) struct Eight {
    pub(crate) add: [u64; EIGHT],
    pub(crate) factor: [u64; EIGHT],
}

/// The value of a row that the random rounds left empty.
#[inline(always)]
pub(crate) fn forced(hashes: &[u64], rows: usize, row: usize) -> u64 {
    let value = |&hash: &u64| entry(rehash(hash, ROUNDS[rows + row]), rows) & VALUE;
    hashes.iter().map(value).min().unwrap_or(EMPTY)
}

/// Row and value of a shingle in a round, as row << 48 | value. hash x rows is a fixed-point
/// number: its integer part is the row; its fraction, which is uniform and independent of the row,
/// is the value.
#[inline(always)]
pub(crate) fn entry(hash: u64, rows: usize) -> u64 {
    low((u128::from(hash) * rows as u128) >> 16)
}

/// The hash of a shingle in a later round: the folded product of two 64-bit numbers.
#[inline(always)]
pub(crate) fn rehash(hash: u64, (add, factor): (u64, u64)) -> u64 {
    let product = u128::from(hash ^ add) * u128::from(factor);
    low(product) ^ low(product >> 64)
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn low(wide: u128) -> u64 {
    wide as u64
}
