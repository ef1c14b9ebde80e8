//! Window sums to distinct shingle hashes: repeats dropped, or numbered for a bag.
//!
//! Knows numbers only. The order of what it returns never shows in a signature.

use super::hash::{GOLDEN, finalise, finalise_all};
use super::many::Many;
use super::simd::Processor;

/// Most hashes whose repeats are looked for with a table that is kept, and how many slots it has.
const FEW: usize = 1024;
const SLOTS: usize = 16 << 10;
/// Most slots with another hash that they may come upon, all together.
const OTHERS_MAX: usize = 64;
/// How many sets the table serves before it is cleared.
const TURNS: u16 = 63;

/// Hashes that are finalised at once, while they are in the first cache.
const BLOCK: usize = 1024;
/// From so many on, a table of all of them does not fit the caches: they are dealt into parts.
pub(crate) const MANY: usize = 1 << 17;

/// An open-addressed table of the places of hashes in their set. Each set has `FEW` numbers for
/// them, greater than those before, so that whatever an earlier one left is less, and a free slot.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    slots: Vec<u16>,
    turn: u16,
    /// The numbers of the places of repeats.
    repeats: Vec<u16>,
}

impl Seen {
    pub(crate) fn bytes(&self) -> usize {
        (self.slots.capacity() + self.repeats.capacity()) * size_of::<u16>()
    }

    /// Makes room for another set: the number of its first place. No slot holds it, nor a greater
    /// one.
    #[inline(always)]
    fn next(&mut self) -> u16 {
        self.turn += 1;
        if self.turn == TURNS || self.slots.is_empty() {
            self.slots.clear();
            self.slots.resize(SLOTS, 0);
            self.turn = 1;
        }
        self.repeats.clear();
        self.turn << FEW.trailing_zeros()
    }
}

/// Finalises window sums and drops repeats. Costs a slot of a table for each hash, which is looked
/// at and filled; sums chosen to collide there, a sort. `each` gets every hash on the way, some of
/// them more than once: one loop for both is shorter than two.
#[inline(always)]
pub(crate) fn set(
    sums: &mut Vec<u64>,
    seen: &mut Seen,
    processor: Option<Processor>,
    mut each: impl FnMut(u64),
) {
    let few = sums.len() <= FEW;
    for block in sums.chunks_mut(BLOCK) {
        finalise_block(block, processor);
        if !few {
            block.iter().copied().for_each(&mut each);
        }
    }
    if few {
        if drop_few(sums, seen, &mut each).is_some() {
            return;
        }
        sums.iter().copied().for_each(each);
    }
    if sums.len() >= MANY {
        let mut many = Many::new(sums.len());
        for hash in &*sums {
            many.add(*hash);
        }
        sums.clear();
        many.finish(sums);
    } else if let Some(kept) = drop_repeats(sums) {
        sums.truncate(kept);
    } else {
        sums.sort_unstable();
        sums.dedup();
    }
}

/// Finalises window sums and deals them into `many`.
#[inline(always)]
pub(crate) fn deal(sums: &mut [u64], many: &mut Many, processor: Option<Processor>) {
    for block in sums.chunks_mut(BLOCK) {
        finalise_block(block, processor);
        for hash in block {
            many.add(*hash);
        }
    }
}

#[inline(always)]
fn finalise_block(block: &mut [u64], processor: Option<Processor>) {
    match processor {
        Some(processor) => processor.finalise(block),
        None => finalise_all(block),
    }
}

/// Drops repeats of few hashes. `None`, and nothing is changed, when too many share a slot: then
/// `each` did not get all.
#[inline(always)]
pub(crate) fn drop_few(
    sums: &mut Vec<u64>,
    seen: &mut Seen,
    mut each: impl FnMut(u64),
) -> Option<()> {
    let first = seen.next();
    let Seen { slots, repeats, .. } = seen;
    let slots = slots.first_chunk_mut::<SLOTS>()?;
    // 32 a hash as far as there are so many, which is up to 512: seldom is one taken. And no more,
    // so that what else is worked with stays in the first cache, too: with 64, which is all of it
    // for a text of 200 words, one process in four took a tenth longer for everything. (From 257
    // hashes on it is all of it even so.)
    let mask = ((32 * sums.len()).next_power_of_two() - 1) & (SLOTS - 1);
    let mut spare = OTHERS_MAX;
    for (place, sum) in (first..).zip(&*sums) {
        each(*sum);
        let at = low_bits(*sum) & mask;
        let slot = &mut slots[at];
        if *slot < first {
            *slot = place;
        } else if put(slots, (at, place), first, sums, &mut spare)? {
            repeats.push(place);
        }
    }
    // From the last, so that those before stay in their places, and the first of equals is left.
    for &place in repeats.iter().rev() {
        sums.swap_remove(usize::from(place - first));
    }
    Some(())
}

/// Whether the hash in a place was seen before; if not, that place is put into the next free slot.
/// `None` when it comes upon more other hashes than are `spare`.
#[cold]
#[inline(never)]
fn put(
    slots: &mut [u16; SLOTS],
    (mut at, place): (usize, u16),
    first: u16,
    sums: &[u64],
    spare: &mut usize,
) -> Option<bool> {
    let hash = sums.get(usize::from(place - first))?;
    loop {
        let slot = &mut slots[at & (SLOTS - 1)];
        let Some(other) = slot.checked_sub(first) else {
            *slot = place;
            return Some(false);
        };
        if sums.get(usize::from(other)) == Some(hash) {
            return Some(true);
        }
        *spare = spare.checked_sub(1)?;
        at += 1;
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

/// Moves the first of equal hashes to the front, with an open-addressed table of their places, at
/// most a quarter full; returns how many there are. `None` when the probes are many more than
/// random hashes need; then nothing is lost, only moved.
fn drop_repeats(hashes: &mut [u64]) -> Option<usize> {
    // Places are counted from 1, and 0 is a free slot.
    let mut table = vec![0_u32; (hashes.len() * 4).next_power_of_two()];
    let mask = table.len() - 1;
    let mut spare_probes = hashes.len() * 2 + 64;
    let mut kept = 0_u32;
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let mut slot = low_bits(hash) & mask;
        while table[slot] != 0 && hashes[table[slot] as usize - 1] != hash {
            spare_probes = spare_probes.checked_sub(1)?;
            slot = (slot + 1) & mask;
        }
        if table[slot] == 0 {
            hashes.swap(kept as usize, at);
            kept = kept.checked_add(1)?;
            table[slot] = kept;
        }
    }
    Some(kept as usize)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
#[inline(always)]
fn low_bits(hash: u64) -> usize {
    hash as usize
}
