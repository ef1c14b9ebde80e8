//! Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017): shingle hashes to the
//! values of k rows in expected time O(n + k log k).
//!
//! Knows hashes and rounds. Does not know lanes. Frozen: see `docs/SIGNATURES.md`.

use super::hash::split_mix;

/// Most rows, and so most random rounds; as many forced rounds may follow.
const ROWS_MAX: usize = 1024;

/// Where the round constants start: the ASCII bytes of "nearkin1", read big-endian.
const ROUNDS_SEED: u64 = 0x6e65_6172_6b69_6e31;

/// The two constants of each round. Round 0 takes the shingle hash as it is.
static ROUNDS: [(u64, u64); 2 * ROWS_MAX] = round_constants();

/// A slot that no shingle has fallen into. Filled ones are below: their round is below 2^15.
const EMPTY: u64 = u64::MAX;

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

/// The value of each of `rows` rows, 48 bits each. `hashes` must be distinct, or repeats cost
/// time (never a different answer), and must not be empty.
///
/// A slot holds round << 48 | value, so that one comparison keeps whatever an earlier round put
/// there and else the least value.
pub(crate) fn values(hashes: &[u64], rows: usize) -> Vec<u64> {
    assert!(!hashes.is_empty() && rows <= ROWS_MAX, "a signature has shingles, and rows in range");
    let mut slots = vec![EMPTY; rows];
    for &hash in hashes {
        let (row, value) = place(hash, rows);
        slots[row] = slots[row].min(value);
    }
    let mut empty = slots.iter().map(|slot| slot >> 63).sum::<u64>();
    for round in 1..rows {
        if empty == 0 {
            break;
        }
        let tag = (round as u64) << 48;
        for &hash in hashes {
            let (row, value) = place(rehash(hash, round), rows);
            let old = slots[row];
            empty -= old >> 63;
            slots[row] = old.min(tag | value);
        }
    }
    if empty > 0 {
        force(hashes, &mut slots);
    }
    for slot in &mut slots {
        *slot &= (1 << 48) - 1;
    }
    slots
}

/// The rounds after the random ones: round rows + i puts every shingle into slot i, so that none
/// stays empty. Only few shingles ever come here.
fn force(hashes: &[u64], slots: &mut [u64]) {
    let rows = slots.len();
    for (row, slot) in slots.iter_mut().enumerate() {
        if *slot == EMPTY {
            let value = |&hash: &u64| place(rehash(hash, rows + row), rows).1;
            *slot = hashes.iter().map(value).min().unwrap_or(EMPTY);
        }
    }
}

/// Where a round puts a shingle: hash x rows is a fixed-point number whose whole part is the row
/// and whose fraction, uniform and independent of the row, is the value.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the row is below `rows`")]
fn place(hash: u64, rows: usize) -> (usize, u64) {
    let product = u128::from(hash) * rows as u128;
    ((product >> 64) as usize, low(product) >> 16)
}

/// The hash of a shingle in a later round: the folded product of two 64-bit numbers.
#[inline]
fn rehash(hash: u64, round: usize) -> u64 {
    let (add, factor) = ROUNDS[round];
    let product = u128::from(hash ^ add) * u128::from(factor);
    low(product) ^ low(product >> 64)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn low(wide: u128) -> u64 {
    wide as u64
}
