//! Collects keys and sorts them.
//!
//! Most keys differ in a few bytes after their common prefix. These bytes are compared first.

use crate::format::bytes::index;
use crate::index::state::versions::Snapshot;
use crate::{Error, Result};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// Number of documents of the memtable that are read each time its lock is taken.
const HOLD: u32 = small!(ordered::HOLD, 1_024);

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
    pub(super) fn live_keys(snapshot: &Snapshot, prefix: &[u8]) -> Result<Self> {
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
        sort(&keys, &mut order, prefix.len());
        Ok(Self { keys, order })
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        Some(self.keys.key(*self.order.get(at)?))
    }
}

/// The `limit` least keys that start with the prefix and are greater than `after`, sorted.
pub(super) fn least_keys(
    snapshot: &Snapshot,
    prefix: &[u8],
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Vec<u8>>> {
    // A heap with the greatest key on top, which makes room for a lesser one.
    let mut least: BinaryHeap<Vec<u8>> = BinaryHeap::new();
    each_live_key(snapshot, &mut |key| {
        if !key.starts_with(prefix) || after.is_some_and(|after| key <= after) {
            return ControlFlow::Continue(());
        }
        if least.len() < limit {
            least.push(key.to_vec());
        } else if let Some(mut greatest) = least.peek_mut()
            && key < greatest.as_slice()
        {
            greatest.clear();
            greatest.extend_from_slice(key);
        }
        ControlFlow::Continue(())
    })?;
    Ok(least.into_sorted_vec())
}

/// Calls `visit` with the key of every live document in storage order until `visit` breaks off. No
/// lock is held during the call.
pub(super) fn each_live_key(
    snapshot: &Snapshot,
    visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    for (source, live) in snapshot.state.segments.iter().enumerate() {
        if live.segment.each_key(&dead_bits(snapshot, source)?, visit)?.is_break() {
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
        if held.iter().try_for_each(&mut *visit).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Sorts keys whose first `depth` bytes are equal. The sixteen bytes after their common prefix
/// decide nearly always, so they lie beside the number of the key.
fn sort(keys: &Gathered, numbers: &mut [u32], depth: usize) {
    let depth = depth + common(keys, numbers, depth);
    let mut heads: Vec<_> = numbers.iter().map(|at| (head(keys.rest(*at, depth)), *at)).collect();
    heads.sort_unstable_by(|(a, one), (b, other)| {
        a.cmp(b).then_with(|| keys.rest(*one, depth).cmp(keys.rest(*other, depth)))
    });
    for (number, (_, at)) in numbers.iter_mut().zip(heads) {
        *number = at;
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

/// The first sixteen bytes as an integer that sorts as they do. Missing bytes count as zeros.
#[inline]
#[expect(clippy::big_endian_bytes, reason = "the order of bytes is that of big-endian integers")]
fn head(rest: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let count = rest.len().min(16);
    bytes[..count].copy_from_slice(&rest[..count]);
    u128::from_be_bytes(bytes)
}

/// Bitmap of the documents of a segment: set bits are documents that are dead in the snapshot.
/// Empty if `source` is the memtable.
fn dead_bits(snapshot: &Snapshot, source: usize) -> Result<Vec<u64>> {
    let Some(live) = snapshot.state.segments.get(source) else { return Ok(Vec::new()) };
    let mut bits = live.dead_bits()?;
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
            let mut unsorted: Vec<Vec<u8>> = all.iter().rev().cloned().collect();
            unsorted.sort_by_key(|key| std::cmp::Reverse(key.len() / 16));
            if round % 2 == 0 {
                unsorted.push(b"other".to_vec());
                all.insert(b"other".to_vec());
            }
            let mut keys = Gathered::default();
            for key in &unsorted {
                keys.push(key);
            }
            let mut order: Vec<u32> =
                (0..unsorted.len()).map(|at| u32::try_from(at).expect("few")).collect();
            sort(&keys, &mut order, 0);
            let sorted: Vec<&[u8]> = order.iter().map(|number| keys.key(*number)).collect();
            let expected: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
            assert_eq!(sorted, expected, "round {round}");
        }
    }
}
