//! Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017): computes the values of k
//! rows from shingle hashes in expected time O(n + k log k).
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use super::few;
use super::rounds::{EMPTY, FEW_MAX, ROUNDS, ROWS_MAX, VALUE, entry, forced, rehash};
use super::simd::Processor;

/// Minimum number of hashes for which it pays off to pick out those that fall into empty slots.
const PICKED_FROM: usize = 24;

/// Computes the 48-bit value of each row into `slots`, one slot per row. `hashes` must not be
/// empty. They should be distinct: repeats cost time, but never change the result. `hashes` is the
/// same before and after the call. `picked` is a buffer.
///
/// A slot holds round << 48 | value, so that a single comparison prefers the earlier round, and
/// within a round the least value.
#[inline(always)]
pub(crate) fn values(
    hashes: &mut Vec<u64>,
    slots: &mut [u64],
    picked: &mut Vec<u64>,
    processor: Option<Processor>,
) {
    let rows = slots.len();
    assert!(!hashes.is_empty() && rows <= ROWS_MAX, "a signature has shingles, and rows in range");
    if let Some((slots, processor)) = usual(slots, hashes.len(), processor) {
        for &hash in &*hashes {
            begin(slots, hash);
        }
        go_on(hashes, slots, picked, processor);
        return;
    }
    if hashes.len() <= FEW_MAX
        && let Ok(slots) = slots.try_into()
    {
        few::values(hashes, slots, processor);
        return;
    }
    slots.fill(EMPTY);
    make_room(picked, hashes.len());
    if rows.is_power_of_two() {
        // For a power of two the product is a shift.
        let shift = 16 - rows.trailing_zeros();
        rounds(hashes, slots, picked, |hash| hash >> shift);
    } else {
        rounds(hashes, slots, picked, |hash| entry(hash, rows));
    }
    for slot in slots {
        *slot &= VALUE;
    }
}

/// Checks whether `values` may be split into `begin` and `go_on`: there are 128 rows, a SIMD
/// processor, and enough hashes to benefit. If so, empties the rows and returns them with the
/// processor.
#[inline(always)]
pub(crate) fn usual(
    slots: &mut [u64],
    hashes: usize,
    processor: Option<Processor>,
) -> Option<(&mut [u64; 128], Processor)> {
    let processor = processor.filter(|processor| hashes >= processor.many())?;
    let slots: &mut [u64; 128] = slots.try_into().ok()?;
    slots.fill(EMPTY);
    Some((slots, processor))
}

/// Puts a hash into its row in round 0. The highest seven bits are the row, so among the hashes of
/// a row, a smaller hash has a smaller value.
#[inline(always)]
pub(crate) fn begin(slots: &mut [u64; 128], hash: u64) {
    let slot = &mut slots[(hash >> 57) as usize];
    *slot = (*slot).min(hash);
}

/// Runs all later rounds, once `begin` was called for each hash. Gives the same result as `values`.
#[inline(always)]
pub(crate) fn go_on(
    hashes: &mut Vec<u64>,
    slots: &mut [u64; 128],
    picked: &mut Vec<u64>,
    processor: Processor,
) {
    let mut open = settle(slots);
    if open[1] >> 63 == 1 && hashes.contains(&u64::MAX) {
        // The hash with all bits set cannot be distinguished from an empty slot. It has the
        // greatest value of the last row.
        slots[127] = VALUE;
        open[1] ^= 1 << 63;
    }
    if open != [0, 0] {
        make_room(picked, hashes.len());
        // The last block of eight is padded with a hash of the set. Repeats do not change the
        // result.
        let count = hashes.len();
        hashes.reserve_exact(7);
        hashes.resize(count.next_multiple_of(8), hashes[0]);
        rounds_of_128(hashes.as_chunks().0, slots, open, picked, processor);
        hashes.truncate(count);
    }
    for slot in slots {
        *slot &= VALUE;
    }
}

/// Converts the least hash of each row to its value. Returns the rows without a hash, one bit each.
#[inline(always)]
fn settle(slots: &mut [u64; 128]) -> [u64; 2] {
    let mut open = [0; 2];
    for (open, slots) in open.iter_mut().zip(slots.as_chunks_mut::<64>().0) {
        for (slot, bit) in slots.iter_mut().zip(0..) {
            let none = u64::from(*slot == EMPTY);
            *slot = *slot << 7 >> 16 | none.wrapping_neg();
            *open |= none << bit;
        }
    }
    open
}

/// Grows `picked` to hold all hashes. Adds padding, because eight are written at a time.
#[inline(always)]
fn make_room(picked: &mut Vec<u64>, hashes: usize) {
    if picked.len() < hashes + 16 {
        picked.resize(hashes + 16, 0);
    }
}

/// Runs all rounds. `entry` maps a hash to row << 48 | value.
#[inline(always)]
fn rounds(hashes: &[u64], slots: &mut [u64], picked: &mut [u64], entry: impl Fn(u64) -> u64) {
    for &hash in hashes {
        let entry = entry(hash);
        let slot = &mut slots[row_of(entry)];
        *slot = (*slot).min(entry & VALUE);
    }
    let rows = slots.len();
    let mut empty = slots.iter().map(|slot| slot >> 63).sum::<u64>();
    for (round, constants) in ROUNDS.iter().enumerate().take(rows).skip(1) {
        if empty == 0 {
            return;
        }
        let tag = (round as u64) << 48;
        if hashes.len() < PICKED_FROM || empty > rows as u64 / 2 {
            for &hash in hashes {
                let entry = entry(rehash(hash, *constants));
                let slot = &mut slots[row_of(entry)];
                empty -= *slot >> 63;
                *slot = (*slot).min(tag | entry & VALUE);
            }
            continue;
        }
        // Most slots are full, so most hashes have no effect. Picks out the others without
        // branches.
        let count = pick(hashes, *constants, slots, picked, &entry);
        for &hash in &picked[..count] {
            let entry = entry(hash);
            let slot = &mut slots[row_of(entry)];
            empty -= *slot >> 63;
            *slot = (*slot).min(tag | entry & VALUE);
        }
    }
    if empty > 0 {
        force(hashes, slots);
    }
}

/// Runs the later rounds for 128 rows. The empty rows are a bit set of two words.
#[inline(always)]
fn rounds_of_128(
    eights: &[[u64; 8]],
    slots: &mut [u64; 128],
    [mut low, mut high]: [u64; 2],
    picked: &mut [u64],
    processor: Processor,
) {
    let hashes = eights.as_flattened();
    let row_of = |hash: u64| (hash >> 57) as usize;
    for (constants, round) in ROUNDS[1..slots.len()].iter().zip(1_u64..) {
        if low | high == 0 {
            return;
        }
        let tag = round << 48;
        let count = processor.pick_of_128(eights, *constants, [low, high], picked);
        for &hash in &picked[..count] {
            // A row that an earlier round has filled keeps its value, which is smaller.
            let hash = rehash(hash, *constants);
            let slot = &mut slots[row_of(hash)];
            *slot = (*slot).min(tag | hash << 7 >> 16);
            let bit = 1 << (hash >> 57 & 63);
            let in_high = (hash.cast_signed() >> 63).cast_unsigned();
            (low, high) = (low & !(bit & !in_high), high & !(bit & in_high));
        }
    }
    if low | high != 0 {
        force(hashes, slots);
    }
}

/// Writes the hashes of this round that fall into empty slots to `picked`, and returns their
/// number.
#[inline(always)]
fn pick(
    hashes: &[u64],
    constants: (u64, u64),
    slots: &[u64],
    picked: &mut [u64],
    entry: impl Fn(u64) -> u64,
) -> usize {
    let picked = &mut picked[..hashes.len()];
    let mut count = 0;
    for &hash in hashes {
        let hash = rehash(hash, constants);
        picked[count] = hash;
        count += bit(slots[row_of(entry(hash))] >> 63);
    }
    count
}

/// Runs the forced rounds: in round number `rows + i`, every shingle falls into slot i, so that no
/// slot stays empty. Only sets of few shingles need them.
fn force(hashes: &[u64], slots: &mut [u64]) {
    let rows = slots.len();
    for (row, slot) in slots.iter_mut().enumerate() {
        if *slot == EMPTY {
            *slot = forced(hashes, rows, row);
        }
    }
}

#[inline(always)]
fn row_of(entry: u64) -> usize {
    (entry >> 48) as usize
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "it is 0 or 1")]
fn bit(bit: u64) -> usize {
    bit as usize
}
