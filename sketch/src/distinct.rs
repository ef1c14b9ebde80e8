//! Turns window sums into distinct shingle hashes: repeats are dropped, or numbered for a bag.
//!
//! The order of the result is unspecified; a signature does not depend on it.

use super::hash::{GOLDEN, finalise, finalise_all};
use super::many::Many;

/// Maximum number of hashes of a set that uses the reusable table `Seen`, and the number of slots
/// of that table.
const FEW: usize = 1024;
const SLOTS: usize = 16 << 10;
/// Maximum number of collisions in the table per set. With more, the repeats are dropped by another
/// method.
const OTHERS_MAX: usize = 64;
/// Sets are numbered from 1. When this number is reached, the table is cleared and the numbering
/// restarts at 1, so that the numbers of all hashes fit into 16 bits.
const TURNS: u16 = 63;

/// Number of hashes finalised per batch, chosen for the L1 cache.
const BLOCK: usize = 1024;
/// From this number of hashes on, a table of all of them would exceed the caches, so they are
/// partitioned first.
pub(crate) const MANY: usize = 1 << 17;

/// An open-addressed hash table that is reused without clearing. Each set numbers its hashes in a
/// new range of `FEW` numbers above all earlier ranges, so that a slot with a smaller number is
/// free.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    slots: Vec<u16>,
    turn: u16,
    /// The numbers of the hashes of this set that are repeats.
    repeats: Vec<u16>,
}

impl Seen {
    pub(crate) fn bytes(&self) -> usize {
        (self.slots.capacity() + self.repeats.capacity()) * size_of::<u16>()
    }

    /// Starts a new set and returns its first number. All slots hold smaller numbers then.
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

/// Finalises window sums and drops repeats. Costs a table access per hash, or a sort if the sums
/// were crafted to collide. Also calls `each` with every hash, with some of them repeatedly, so
/// that the caller needs no loop of its own.
#[inline(always)]
pub(crate) fn set(sums: &mut Vec<u64>, seen: &mut Seen, mut each: impl FnMut(u64)) {
    let is_small = sums.len() <= FEW;
    for block in sums.chunks_mut(BLOCK) {
        finalise_all(block);
        if !is_small {
            block.iter().copied().for_each(&mut each);
        }
    }
    if is_small {
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

/// Finalises window sums and adds them to `many`.
#[inline(always)]
pub(crate) fn deal(sums: &mut [u64], many: &mut Many) {
    for block in sums.chunks_mut(BLOCK) {
        finalise_all(block);
        for hash in block {
            many.add(*hash);
        }
    }
}

/// Drops repeats among few hashes. Returns `None` and changes nothing if there are too many
/// collisions; then `each` was not called with all hashes.
#[inline(always)]
pub(crate) fn drop_few(
    sums: &mut Vec<u64>,
    seen: &mut Seen,
    mut each: impl FnMut(u64),
) -> Option<()> {
    let first = seen.next();
    let Seen { slots, repeats, .. } = seen;
    let slots = slots.first_chunk_mut::<SLOTS>()?;
    // 32 slots per hash, so that collisions are rare. More than 256 hashes get the whole table;
    // more than 512 therefore get fewer slots each. With 64 slots per hash, the table displaces
    // other data from the L1 cache: in measurements, one process in four was 10 % slower.
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
    // From the last to the first, so that earlier indexes stay valid and the first of equal hashes
    // is kept.
    for &place in repeats.iter().rev() {
        sums.swap_remove(usize::from(place - first));
    }
    Some(())
}

/// Whether the hash with the number `place` was seen before in this set. If not, writes `place` to
/// the next free slot. Returns `None` after more than `spare` collisions.
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

/// Finalises window sums for a bag. Before that, adds n times `GOLDEN` to the n-th of several equal
/// sums (n counts from 0). For n = 0 the hash equals that of `set`.
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

/// Same as `bag`, but ascending. Usually no sums are equal, and one sort does.
pub(crate) fn sorted_bag(mut sums: Vec<u64>) -> Vec<u64> {
    if sums.len() <= MANY {
        let mut hashes: Vec<u64> = sums.iter().map(|sum| finalise(*sum)).collect();
        hashes.sort_unstable();
        if hashes.windows(2).all(|pair| pair[0] != pair[1]) {
            return hashes;
        }
    }
    bag(&mut sums);
    sums.sort_unstable();
    sums
}

/// Moves the first of each group of equal hashes to the front and returns their number. Uses an
/// open-addressed table of indexes, at most a quarter full. Returns `None` if there are far more
/// probes than random hashes need; then the hashes are only reordered.
fn drop_repeats(hashes: &mut [u64]) -> Option<usize> {
    // Indexes are counted from 1; 0 is a free slot.
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
