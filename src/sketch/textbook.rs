//! The textbook scheme: k hash functions (a x + b) mod p with p = 2^61 - 1, and the least value
//! of each (Broder 1997; Mining of Massive Datasets, section 3.3.5).
//!
//! Knows hashes only. Does not know lanes. Frozen: see `docs/SIGNATURES.md`.

use super::hash::split_mix;

/// The Mersenne prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// One hash function: a from 1 to p - 1, b from 0 to p - 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function {
    factor: u64,
    add: u64,
}

/// The hash functions of `rows` rows: a and b of row i are the outputs 2i and 2i + 1 of
/// SplitMix64.
pub(crate) fn functions(rows: usize, seed: u64) -> Vec<Function> {
    (0..rows as u64)
        .map(|row| Function {
            factor: 1 + split_mix(seed, 2 * row) % (PRIME - 1),
            add: split_mix(seed, 2 * row + 1) % PRIME,
        })
        .collect()
}

/// The least value of each function over the shingles: 61 bits each.
pub(crate) fn values(hashes: &[u64], functions: &[Function], least: &mut [u64]) {
    least.fill(u64::MAX);
    for hash in hashes {
        let x = hash % PRIME;
        for (least, function) in least.iter_mut().zip(functions) {
            *least = (*least).min(function.apply(x));
        }
    }
}

impl Function {
    /// (a x + b) mod p, exactly, for x below p.
    #[inline]
    fn apply(self, x: u64) -> u64 {
        let sum = u128::from(self.factor) * u128::from(x) + u128::from(self.add);
        // 2^61 = 1 modulo p, so the halves add up; the sum is below 2^62.
        let folded = low(sum & u128::from(PRIME)) + low(sum >> 61);
        if folded >= PRIME { folded - PRIME } else { folded }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "both halves are below 2^62")]
fn low(wide: u128) -> u64 {
    wide as u64
}
