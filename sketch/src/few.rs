//! Fast Similarity Sketching for few shingles and 128 rows. Such sets need many rounds, and in the
//! later rounds most hashes fall into rows that already have a value. With a SIMD processor, this
//! code skips those hashes.
//!
//! The result equals that of `fast`, which is the definition.

use super::rounds::{EIGHT, EMPTY, Eight, FEW_MAX, ROUNDS, VALUE, forced, rehash};
use super::simd::Processor;

/// Number of rows of a signature.
const ROWS: usize = 128;
/// Approximate size of a stage: its number of rounds times the number of hashes. After a stage, the
/// rows that are still empty are determined.
const STAGE: usize = 150;
/// Number of copies of the rows, used in rotation: reading a row soon after writing it stalls the
/// processor.
const COPIES: usize = 4;

static EIGHTS: [Eight; ROWS / EIGHT] = eights();

const fn eights() -> [Eight; ROWS / EIGHT] {
    let mut eights = [const { Eight { add: [0; EIGHT], factor: [0; EIGHT] } }; ROWS / EIGHT];
    let mut round = 0;
    while round < ROWS {
        let (add, factor) = ROUNDS[round];
        eights[round / EIGHT].add[round % EIGHT] = add;
        eights[round / EIGHT].factor[round % EIGHT] = factor;
        round += 1;
    }
    eights
}

/// Same as `fast::values`, for at most `FEW_MAX` hashes.
#[inline(always)]
pub(crate) fn values(hashes: &[u64], slots: &mut [u64; ROWS], processor: Option<Processor>) {
    // The order of rounds does not matter, and surplus rounds are harmless: a row keeps its
    // smallest entry, and an entry of an earlier round is smaller than all entries of later ones.
    let step = (STAGE / hashes.len().max(1)).next_multiple_of(EIGHT).clamp(EIGHT, ROWS);
    let mut copies = [[EMPTY; ROWS]; COPIES];
    let mut first = 0;
    let mut open;
    loop {
        let end = (first + step).min(ROWS);
        offer_all(hashes, first, end, &mut copies);
        let [one, two, three, four] = &copies;
        for (slot, ((one, two), (three, four))) in
            slots.iter_mut().zip(one.iter().zip(two).zip(three.iter().zip(four)))
        {
            *slot = (*one).min(*two).min((*three).min(*four));
        }
        open = open_rows(slots);
        first = end;
        if open == [0, 0] || first == ROWS {
            break;
        }
        if let Some(processor) = processor {
            offer_picked(hashes, first, slots, &mut open, processor);
            break;
        }
    }
    for (mut open, first) in open.into_iter().zip([0, 64]) {
        while open != 0 {
            let row = first + open.trailing_zeros() as usize;
            open &= open - 1;
            slots[row] = forced(hashes, ROWS, row);
        }
    }
    for slot in slots {
        *slot &= VALUE;
    }
}

/// Runs the rounds `first..end`, both multiples of eight.
#[inline(always)]
fn offer_all(hashes: &[u64], first: usize, end: usize, copies: &mut [[u64; ROWS]; COPIES]) {
    let fours = ROUNDS[first..end].as_chunks::<COPIES>().0;
    for (four, first) in fours.iter().zip((first as u64..).step_by(COPIES)) {
        for hash in hashes {
            for ((slots, constants), round) in copies.iter_mut().zip(four).zip(first..) {
                let hash = if round == 0 { *hash } else { rehash(*hash, *constants) };
                offer(slots, hash, round);
            }
        }
    }
}

/// Runs the rounds from `first` on until no row is empty. Skips hashes that fall into full rows.
#[inline(always)]
fn offer_picked(
    hashes: &[u64],
    first: usize,
    slots: &mut [u64; ROWS],
    open: &mut [u64; 2],
    processor: Processor,
) {
    for (eight, first) in EIGHTS.iter().zip((0_u64..).step_by(EIGHT)).skip(first / EIGHT) {
        if *open == [0, 0] {
            break;
        }
        let mut hits = [0; FEW_MAX];
        processor.open_rounds(hashes, eight, *open, &mut hits);
        for (hashes, hits) in hashes.chunks(EIGHT).zip(hits.as_chunks().0) {
            let mut hits = u64::from_le_bytes(*hits);
            while hits != 0 {
                let at = hits.trailing_zeros();
                hits &= hits - 1;
                let nth = (at % 8) as usize;
                let hash = hashes.get((at / 8) as usize).copied().unwrap_or_default();
                let hash = rehash(hash, (eight.add[nth], eight.factor[nth]));
                let row = offer(slots, hash, first + u64::from(at % 8));
                open[row / 64] &= !(1 << (row % 64));
            }
        }
    }
}

/// Puts a hash of a round into its row, and returns the row.
#[inline(always)]
fn offer(slots: &mut [u64; ROWS], hash: u64, round: u64) -> usize {
    let row = (hash >> 57) as usize;
    let slot = &mut slots[row];
    *slot = (*slot).min(round << 48 | hash << 7 >> 16);
    row
}

/// The empty rows as a bit set.
#[inline(always)]
fn open_rows(slots: &[u64; ROWS]) -> [u64; 2] {
    let mut open = [0; 2];
    for (open, slots) in open.iter_mut().zip(slots.as_chunks::<64>().0) {
        for (slot, bit) in slots.iter().zip(0..) {
            *open |= (slot >> 63) << bit;
        }
    }
    open
}
