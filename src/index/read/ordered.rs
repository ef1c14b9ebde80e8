//! Collects keys and sorts them.
//!
//! Most keys differ in a few bytes after their common prefix. These bytes and the number of the
//! key are packed into one integer, and the integers are sorted. Keys that are equal in these bytes
//! are then sorted by the bytes that follow.

use crate::format::bytes::index;
use crate::index::state::versions::Snapshot;
use crate::{Error, Result};
use std::ops::ControlFlow;

/// Number of bytes of a key in the sort integer. The byte after them holds their count.
const HEAD: usize = 11;
/// Minimum number of keys that are sorted by heads. Fewer keys are compared directly.
const FEW: usize = small!(ordered::FEW, 16);
/// Number of documents of the memtable that are read each time its lock is taken.
const HOLD: u32 = small!(ordered::HOLD, 1_024);
/// The bits of the key number in the sort integer.
const NUMBER: u128 = 0xffff_ffff;

/// Keys in one buffer, and their sorted order.
pub(super) struct Ordered {
    keys: Gathered,
    /// The numbers of the keys, sorted by key.
    order: Vec<u32>,
}

/// Keys in storage order of their documents.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// The end offset of each key.
    ends: Vec<usize>,
}

impl Gathered {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    #[inline]
    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    #[inline]
    fn key(&self, number: u32) -> &[u8] {
        let number = index(number);
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[number]]
    }

    /// The bytes of a key after its first `depth` bytes.
    #[inline]
    fn rest(&self, number: u32, depth: usize) -> &[u8] {
        self.key(number).get(depth..).unwrap_or_default()
    }
}

impl Ordered {
    /// The keys of live documents that start with the prefix. An error if there are 2^32 or more.
    pub(super) fn of(snapshot: &Snapshot, prefix: &[u8]) -> Result<Self> {
        let mut keys = Gathered::default();
        each_live_key(snapshot, &mut |key| {
            if key.starts_with(prefix) {
                keys.push(key);
            }
            ControlFlow::Continue(())
        })?;
        let count = u32::try_from(keys.ends.len())
            .map_err(|_| Error::invalid("at most 2^32 keys can be listed"))?;
        let mut order: Vec<u32> = (0..count).collect();
        let (mut heads, mut spare) = (Vec::new(), Vec::new());
        sort(&keys, &mut order, prefix.len(), &mut heads, &mut spare);
        Ok(Self { keys, order })
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        Some(self.keys.key(*self.order.get(at)?))
    }
}

/// Calls `tell` with the key of every live document in storage order until `tell` breaks off. No
/// lock is held during the call.
pub(super) fn each_live_key(
    snapshot: &Snapshot,
    tell: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    for (source, live) in snapshot.state.segments.iter().enumerate() {
        if live.segment.each_key(&dead_bits(snapshot, source)?, tell)?.is_break() {
            return Ok(());
        }
    }
    let count = snapshot.document_count(snapshot.state.segments.len());
    let mut held = Gathered::default();
    for begin in (0..count).step_by(index(HOLD)) {
        held.clear();
        let content = snapshot.state.memtable.read();
        for ordinal in begin..count.min(begin.saturating_add(HOLD)) {
            if content.is_live(ordinal, snapshot.visible) {
                held.push(content.key(ordinal));
            }
        }
        drop(content);
        if held.iter().try_for_each(&mut *tell).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Sorts keys whose first `depth` bytes are equal.
fn sort(
    keys: &Gathered,
    numbers: &mut [u32],
    depth: usize,
    heads: &mut Vec<u128>,
    spare: &mut Vec<u128>,
) {
    if numbers.len() < FEW {
        numbers.sort_unstable_by(|a, b| keys.rest(*a, depth).cmp(keys.rest(*b, depth)));
        return;
    }
    let depth = depth + common(keys, numbers, depth);
    heads.clear();
    heads.extend(numbers.iter().map(|number| head(keys.rest(*number, depth), *number)));
    sort_heads(heads, spare);
    for (number, head) in numbers.iter_mut().zip(&*heads) {
        *number = number_of(*head);
    }
    // Keys with equal heads are sorted by their remaining bytes, if they have any.
    let mut begin = 0;
    let runs = heads.chunk_by(|a, b| a >> 32 == b >> 32);
    let runs: Vec<(usize, bool)> = runs.map(|run| (run.len(), goes_on(run[0]))).collect();
    for (length, goes_on) in runs {
        if length > 1 && goes_on {
            sort(keys, &mut numbers[begin..begin + length], depth + HEAD, heads, spare);
        }
        begin += length;
    }
}

/// The length of the common prefix of the keys, counted after the first `depth` bytes.
fn common(keys: &Gathered, numbers: &[u32], depth: usize) -> usize {
    let Some(first) = numbers.first().map(|first| keys.rest(*first, depth)) else { return 0 };
    numbers.iter().fold(first.len(), |common, number| {
        let rest = keys.rest(*number, depth);
        if rest.starts_with(&first[..common]) {
            return common;
        }
        first[..common].iter().zip(rest).take_while(|(a, b)| a == b).count()
    })
}

fn number_of(head: u128) -> u32 {
    u32::try_from(head & NUMBER).unwrap_or(u32::MAX)
}

/// The sort integer: the first bytes in big-endian order, padded with zeros; their count, plus one
/// if more bytes follow; and the number of the key.
#[inline]
fn head(rest: &[u8], number: u32) -> u128 {
    let first = match rest.first_chunk::<16>() {
        Some(first) => from_bytes(*first) >> (8 * (16 - HEAD)) << (8 * (16 - HEAD)),
        None => {
            let mut bytes = [0; 16];
            let count = rest.len().min(HEAD);
            bytes[..count].copy_from_slice(&rest[..count]);
            from_bytes(bytes)
        }
    };
    let count = rest.len().min(HEAD + 1) as u128;
    first | count << 32 | u128::from(number)
}

/// Whether a key has more bytes than its head.
fn goes_on(head: u128) -> bool {
    head >> 32 & 255 > HEAD as u128
}

#[inline]
#[expect(clippy::big_endian_bytes, reason = "the order of bytes is that of big-endian integers")]
fn from_bytes(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}

/// Sorts heads. If the heads differ in only a few bytes, uses a radix sort over these bytes.
fn sort_heads(heads: &mut Vec<u128>, spare: &mut Vec<u128>) {
    let first = heads.first().copied().unwrap_or(0);
    let differing = heads.iter().fold(0, |all, head| all | (head ^ first));
    let shifts: Vec<u32> =
        (4..16).map(|byte| 8 * byte).filter(|shift| differing >> shift & 255 != 0).collect();
    if shifts.len() > index(heads.len().max(1).ilog2()) {
        heads.sort_unstable();
        return;
    }
    spare.resize(heads.len(), 0);
    for shift in shifts {
        let digit = |head: u128| usize::from((head >> shift).to_le_bytes()[0]);
        let mut places = [0_usize; 256];
        for head in &*heads {
            places[digit(*head)] += 1;
        }
        let mut begin = 0;
        for place in &mut places {
            begin += std::mem::replace(place, begin);
        }
        for head in &*heads {
            let place = &mut places[digit(*head)];
            spare[*place] = *head;
            *place += 1;
        }
        std::mem::swap(heads, spare);
        spare.truncate(heads.len());
    }
}

/// Bitmap of the documents of a segment: set bits are documents that are dead in the snapshot.
/// Empty if `source` is the memtable.
fn dead_bits(snapshot: &Snapshot, source: usize) -> Result<Vec<u64>> {
    let Some(live) = snapshot.state.segments.get(source) else { return Ok(Vec::new()) };
    let mut bits = match &live.dead {
        Some(held) => held.dead.bits()?,
        None => vec![0; index(live.segment.docs()).div_ceil(64)],
    };
    let content = snapshot.state.memtable.read();
    for (segment, ordinal, died) in content.segment_deaths() {
        if segment == live.number() && died <= snapshot.visible {
            bits[index(ordinal / 64)] |= 1 << (ordinal % 64);
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Uses keys over a small alphabet that includes zero, many of them prefixes of others. The
    /// longest keys are added first, so the prefix that all keys have in common becomes shorter
    /// only at the end.
    #[test]
    fn keys_are_in_order_whatever_they_have_in_common() {
        let mut random = 1_u64;
        let mut below = |end: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).expect("31 bits") % end
        };
        for round in 0..600 {
            let stem: Vec<u8> = (0..below(60)).map(|_| b"ab\0"[below(3)]).collect();
            let mut all = BTreeSet::new();
            for _ in 0..below([8, 80, 2_000][round % 3]) {
                let mut key = stem[below(stem.len() + 1).max(stem.len() / 2)..].to_vec();
                key.splice(0..0, stem.iter().copied());
                key.extend((0..below(40)).map(|_| b"ab\0"[below(3)]));
                all.insert(key);
            }
            let mut told: Vec<Vec<u8>> = all.iter().rev().cloned().collect();
            told.sort_by_key(|key| std::cmp::Reverse(key.len() / 16));
            if round % 2 == 0 {
                told.push(b"other".to_vec());
                all.insert(b"other".to_vec());
            }
            let mut keys = Gathered::default();
            for key in &told {
                keys.push(key);
            }
            let mut order: Vec<u32> =
                (0..told.len()).map(|at| u32::try_from(at).expect("few")).collect();
            sort(&keys, &mut order, 0, &mut Vec::new(), &mut Vec::new());
            let sorted: Vec<&[u8]> = order.iter().map(|number| keys.key(*number)).collect();
            let expected: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
            assert_eq!(sorted, expected, "round {round}");
        }
    }
}
