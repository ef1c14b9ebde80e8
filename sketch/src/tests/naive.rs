//! Slow implementations of the schemes, written as in their papers. The production code must equal
//! them, and tests can plant faults in them.

#![expect(clippy::cast_possible_truncation, reason = "halves of products are wanted")]

use crate::hash::split_mix;

/// Computes the hash of a shingle in a round.
pub(super) type Rehash<'a> = &'a dyn Fn(u64, usize) -> u64;

/// The round hash of the specification.
pub(super) fn rehash(hash: u64, round: usize) -> u64 {
    if round == 0 {
        return hash;
    }
    let seed = "nearkin1".bytes().fold(0, |word, byte| word << 8 | u64::from(byte));
    let round = round as u64;
    let add = split_mix(seed, 2 * round);
    let factor = split_mix(seed, 2 * round + 1) | 1;
    let product = u128::from(hash ^ add) * u128::from(factor);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Fast Similarity Sketching, algorithm 1 of the paper: up to 2 k rounds, until every slot is
/// filled. Each of the last k rounds puts all hashes into one slot. A slot keeps its smallest
/// (round, value).
pub(super) fn fast(hashes: &[u64], rows: usize, rehash: Rehash<'_>) -> Vec<u64> {
    let mut slots: Vec<Option<(usize, u64)>> = vec![None; rows];
    for round in 0..2 * rows {
        for &hash in hashes {
            let product = u128::from(rehash(hash, round)) * rows as u128;
            let row = if round < rows { (product >> 64) as usize } else { round - rows };
            let entry = (round, (product as u64) >> 16);
            slots[row] = Some(slots[row].map_or(entry, |old| old.min(entry)));
        }
        if slots.iter().all(Option::is_some) {
            break;
        }
    }
    slots.into_iter().map(|slot| slot.unwrap().1).collect()
}

/// One-permutation hashing with optimal densification (Shrivastava 2017): an empty slot copies
/// another slot, chosen by a hash of its row and the number of the attempt. The fast scheme must
/// not degenerate to it.
#[cfg(test)]
pub(super) fn one_permutation(hashes: &[u64], rows: usize) -> Vec<u64> {
    let mut slots = vec![u64::MAX; rows];
    for &hash in hashes {
        let product = u128::from(hash) * rows as u128;
        let slot = &mut slots[(product >> 64) as usize];
        *slot = (*slot).min((product as u64) >> 16);
    }
    let filled = slots.clone();
    for (row, slot) in slots.iter_mut().enumerate() {
        let mut attempt = 0;
        while *slot == u64::MAX {
            let random = split_mix(row as u64, attempt);
            *slot = filled[((u128::from(random) * rows as u128) >> 64) as usize];
            attempt += 1;
        }
    }
    slots
}
