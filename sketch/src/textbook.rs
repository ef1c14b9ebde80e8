//! The textbook scheme: the minimum of each of k hash functions (a x + b) mod p with p = 2^61 - 1
//! (Broder 1997; Mining of Massive Datasets, section 3.3.5).
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use super::hash::split_mix;

/// The Mersenne prime p = 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Number of low bits when a number is split so that the products of the halves fit into 64 bits.
const LOW_BITS: u32 = 31;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// k hash functions: a from 1 to p - 1, b from 0 to p - 1.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// The low 31 bits and the high 30 bits of each a.
    low: Vec<u64>,
    high: Vec<u64>,
    add: Vec<u64>,
}

impl Functions {
    /// The hash functions of `rows` rows: a and b of row i come from the outputs 2i and 2i + 1 of
    /// SplitMix64.
    pub(crate) fn new(rows: usize, seed: u64) -> Self {
        let mut functions = Self::default();
        for row in 0..rows as u64 {
            let factor = 1 + split_mix(seed, 2 * row) % (PRIME - 1);
            functions.low.push(factor & LOW);
            functions.high.push(factor >> LOW_BITS);
            functions.add.push(split_mix(seed, 2 * row + 1) % PRIME);
        }
        functions
    }

    pub(crate) fn rows(&self) -> usize {
        self.add.len()
    }

    /// The minimum of each function over the shingles, 61 bits each.
    #[inline(always)]
    pub(crate) fn values(&self, hashes: &[u64], least: &mut [u64]) {
        least.fill(u64::MAX);
        for hash in hashes {
            let x = hash % PRIME;
            let (x_low, x_high) = (x & LOW, x >> LOW_BITS);
            let factors = self.low.iter().zip(&self.high);
            for ((least, add), (low, high)) in least.iter_mut().zip(&self.add).zip(factors) {
                *least = (*least).min(apply((*low, *high), (x_low, x_high), *add));
            }
        }
    }
}

/// (a x + b) mod p, exactly, for x below p. a and x are split into their low 31 bits and the rest.
/// There are only 32-bit products and no branch, so that the compiler vectorises it.
#[inline(always)]
fn apply(factor: (u64, u64), x: (u64, u64), add: u64) -> u64 {
    const WORD: u64 = 0xffff_ffff;
    let product = |a: u64, b: u64| (a & WORD) * (b & WORD);
    // Modulo p, 2^61 is 1, so 2^62 is 2: the product of the high parts counts twice. The middle
    // products have the weight 2^31, so their bits from 2^30 on wrap around to the low end.
    let middle = product(factor.1, x.0) + product(factor.0, x.1);
    let wrapped = (middle << 34 >> 3) + (middle >> 30);
    // The sum is below 5 x 2^61. So it fits into 64 bits, and once the bits above 2^61 are folded,
    // a single subtraction of p completes the remainder.
    let sum = product(factor.0, x.0) + product(factor.1, x.1 << 1) + wrapped + add;
    let folded = (sum & PRIME) + (sum >> 61);
    folded.min(folded.wrapping_sub(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, by a 128-bit product.
    fn plainly(factor: u64, x: u64, add: u64) -> u64 {
        let sum = u128::from(factor) * u128::from(x) + u128::from(add);
        u64::try_from(sum % u128::from(PRIME)).unwrap()
    }

    fn parts(number: u64) -> (u64, u64) {
        (number & LOW, number >> LOW_BITS)
    }

    #[test]
    fn a_value_is_that_of_the_definition() {
        let edges = [0, 1, 2, LOW - 1, LOW, LOW + 1, 1 << 32, PRIME >> 1, PRIME - 2, PRIME - 1];
        let random = (0..200).map(|n| split_mix(5, n) % PRIME);
        let numbers: Vec<u64> = edges.into_iter().chain(random).collect();
        for &factor in &numbers[1..] {
            for &x in &numbers {
                // Includes sums that are equal to p or close to it.
                let product = plainly(factor, x, 0);
                for add in [0, 1, PRIME - 1, PRIME - product, PRIME - 1 - product, product] {
                    let add = add % PRIME;
                    let found = apply(parts(factor), parts(x), add);
                    assert_eq!(found, plainly(factor, x, add), "{factor} {x} {add}");
                }
            }
        }
    }

    #[test]
    fn each_row_has_the_least_value_of_its_function() {
        for rows in [1, 7, 8, 16, 100, 128, 1_024] {
            let hashes: Vec<u64> = (0..50).map(|n| split_mix(9, n)).chain([0, u64::MAX]).collect();
            let mut found = vec![0; rows];
            Functions::new(rows, 3).values(&hashes, &mut found);
            for (row, found) in (0..).zip(found) {
                let factor = 1 + split_mix(3, 2 * row) % (PRIME - 1);
                let add = split_mix(3, 2 * row + 1) % PRIME;
                let values = hashes.iter().map(|hash| plainly(factor, hash % PRIME, add));
                assert_eq!(Some(found), values.min(), "{row} of {rows}");
            }
        }
    }
}
