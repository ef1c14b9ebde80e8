//! Keys in order.
//!
//! A few bytes of each key, after those that all have in common, decide most of the time: they and
//! the number of the key make one integer, and integers are sorted. Keys for which those bytes are
//! the same are looked at again, from behind them on.

use crate::format::bytes::index;
use crate::index::read::listing::dead_bits;
use crate::index::read::state::Snapshot;
use crate::{Error, Result};

/// Bytes of a key in an integer; the rest is the key's number.
const HEAD: usize = 12;
/// Fewer keys than this are compared as they are.
const FEW: usize = if cfg!(test) { 3 } else { 24 };
/// Documents of the memtable that are looked at in one hold of its lock.
const HOLD: u32 = if cfg!(test) { 5 } else { 1_024 };

/// Keys, one after the other, and the order that they are in.
pub(super) struct Ordered {
    keys: Gathered,
    /// The numbers of the keys, in order.
    order: Vec<u32>,
}

/// Keys in the order in which their documents lie.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Gathered {
    fn key(&self, number: u32) -> &[u8] {
        let number = index(number);
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[number]]
    }
}

impl Ordered {
    /// The keys of live documents that begin so. An error if they are 2^32 or more.
    pub(super) fn of(snapshot: &Snapshot, prefix: &[u8]) -> Result<Self> {
        let mut keys = Gathered::default();
        let mut heads = Heads::new(prefix.len());
        let mut number = Some(0_u32);
        each_live_key(snapshot, &mut |key| {
            if !key.starts_with(prefix) {
                return Ok(());
            }
            let this = number.ok_or_else(|| Error::invalid("2^32 keys are listed at most"))?;
            number = this.checked_add(1);
            keys.bytes.extend_from_slice(key);
            keys.ends.push(keys.bytes.len());
            heads.push(key, this);
            Ok(())
        })?;
        let (mut heads, depth) = heads.finish();
        sort(&keys, &mut heads, depth);
        let mut order = Vec::with_capacity(heads.len());
        order.extend(heads.into_iter().map(number_of));
        Ok(Self { keys, order })
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        Some(self.keys.key(*self.order.get(at)?))
    }
}

/// Tells the key of every live document, as they lie.
fn each_live_key(snapshot: &Snapshot, tell: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    for (source, live) in snapshot.state.segments.iter().enumerate() {
        let dead = dead_bits(snapshot, source)?;
        for ordinal in 0..live.segment.docs() {
            if dead[index(ordinal / 64)] >> (ordinal % 64) & 1 == 0 {
                tell(&live.segment.key(ordinal)?)?;
            }
        }
    }
    let count = snapshot.document_count(snapshot.state.segments.len());
    for begin in (0..count).step_by(index(HOLD)) {
        let content = snapshot.state.memtable.read();
        for ordinal in begin..count.min(begin.saturating_add(HOLD)) {
            if content.is_live(ordinal, snapshot.visible) {
                tell(content.key(ordinal))?;
            }
        }
    }
    Ok(())
}

/// Integers of keys and numbers, as far as the keys were told.
struct Heads {
    /// From here on keys are looked at: those before are the same for all.
    depth: usize,
    first: Vec<u8>,
    /// How many bytes behind `depth` the keys have in common.
    common: usize,
    /// From which place on how many were known to be in common.
    known: Vec<(usize, usize)>,
    all: Vec<u128>,
    /// Whether a key ends at `depth`.
    ends: bool,
}

impl Heads {
    fn new(depth: usize) -> Self {
        let (first, known, all) = (Vec::new(), Vec::new(), Vec::new());
        Self { depth, first, common: usize::MAX, known, all, ends: false }
    }

    #[inline]
    fn push(&mut self, key: &[u8], number: u32) {
        let rest = key.get(self.depth..).unwrap_or_default();
        self.ends |= rest.is_empty();
        if self.all.is_empty() {
            self.first = rest.to_vec();
        }
        if !rest.starts_with(self.first.get(..self.common).unwrap_or(&self.first))
            || self.all.is_empty()
        {
            let equal = self.first.iter().zip(rest).take_while(|(a, b)| a == b).count();
            // Of one key alone all is in common: then nothing decides.
            self.common = equal;
            self.known.push((self.all.len(), equal));
        }
        self.all.push(head(&rest[self.common..]) << 32 | u128::from(number));
    }

    /// All, counted from what turned out to be in common; and where in keys that is behind them.
    fn finish(mut self) -> (Vec<u128>, usize) {
        if self.all.is_empty() {
            return (self.all, self.depth);
        }
        let mut end = self.all.len();
        for (begin, common) in self.known.into_iter().rev() {
            // These began further behind: what lies between is the first key's.
            let shift = common - self.common;
            if shift > 0 {
                let between = head(&self.first[self.common..common]);
                for head in &mut self.all[begin..end] {
                    let number = *head & NUMBER;
                    let own = if shift < HEAD { *head >> 32 >> (8 * shift) } else { 0 };
                    *head = (between | own) << 32 | number;
                }
            }
            end = begin;
        }
        (self.all, self.depth + self.common + HEAD)
    }
}

/// The bits of the number.
const NUMBER: u128 = 0xffff_ffff;

fn number_of(head: u128) -> u32 {
    u32::try_from(head & NUMBER).unwrap_or(u32::MAX)
}

/// The first bytes as an integer in the order of bytes; what is missing is zero.
#[inline]
fn head(rest: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let count = rest.len().min(HEAD);
    bytes[16 - HEAD..16 - HEAD + count].copy_from_slice(&rest[..count]);
    from_bytes(bytes)
}

#[inline]
#[expect(clippy::big_endian_bytes, reason = "the order of bytes is that of big-endian integers")]
fn from_bytes(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}

/// Sorts keys of which all before `depth` is in their integers or the same.
fn sort(keys: &Gathered, heads: &mut [u128], depth: usize) {
    heads.sort_unstable();
    for run in heads.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
        if run.len() > FEW {
            let mut behind = Heads::new(depth);
            for head in &*run {
                behind.push(keys.key(number_of(*head)), number_of(*head));
            }
            if !behind.ends {
                let (all, depth) = behind.finish();
                run.copy_from_slice(&all);
                sort(keys, run, depth);
                continue;
            }
        }
        // A few, or many of which one key may be the beginning of others.
        run.sort_unstable_by(|a, b| keys.key(number_of(*a)).cmp(keys.key(number_of(*b))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Keys of few different bytes, zeros among them, many the beginnings of others; and in an
    /// order in which what all have in common gets shorter late.
    #[test]
    fn keys_are_in_order_whatever_they_have_in_common() {
        let mut random = 1_u64;
        let mut below = |end: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).expect("31 bits") % end
        };
        for round in 0..300 {
            let stem: Vec<u8> = (0..below(60)).map(|_| b"ab\0"[below(3)]).collect();
            let mut all = BTreeSet::new();
            for _ in 0..below(80) {
                let mut key = stem[below(stem.len() + 1).max(stem.len() / 2)..].to_vec();
                key.splice(0..0, stem.iter().copied());
                key.extend((0..below(30)).map(|_| b"ab\0"[below(3)]));
                all.insert(key);
            }
            let mut told: Vec<Vec<u8>> = all.iter().rev().cloned().collect();
            told.sort_by_key(|key| std::cmp::Reverse(key.len() / 16));
            if round % 2 == 0 {
                told.push(b"other".to_vec());
                all.insert(b"other".to_vec());
            }
            let (mut keys, mut heads) = (Gathered::default(), Heads::new(0));
            for (key, number) in told.iter().zip(0..) {
                keys.bytes.extend_from_slice(key);
                keys.ends.push(keys.bytes.len());
                heads.push(key, number);
            }
            let (mut heads, depth) = heads.finish();
            sort(&keys, &mut heads, depth);
            let sorted: Vec<&[u8]> = heads.iter().map(|head| keys.key(number_of(*head))).collect();
            let expected: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
            assert_eq!(sorted, expected, "round {round}");
        }
    }
}
