//! Interpolation search: the predicted position of a fingerprint in its group, and the search in
//! the cache line at that position.
//!
//! BandKeys are practically random, and the fingerprints of a group are sorted. So the value of a
//! fingerprint predicts its position within a few places, as in interpolation search (Perl, Itai,
//! Avni, "Interpolation search: a log log n search", CACM 21, 1978). A look-up reads the cache line
//! at that position, which mostly contains all equal fingerprints or shows that there is none.
//! Therefore groups can be long and directories short: with 64 entries per group, the directories
//! of a million documents fit into the L2 cache.
//!
//! Works on bytes and positions only.

use nearkin_sketch::engine::{BitWindow, equal_bits};
use std::ops::Range;

/// Size of a cache line in bytes.
pub(super) const LINE: u64 = 64;
const _: () = assert!(size_of::<BitWindow>() == 64, "a window is as long as a line");

/// A quarter of a cache line: 8 fingerprints. The predicted position is at least this far from both
/// ends of the window. The slack is needed because the rank of the median among 64 random
/// fingerprints has a standard deviation of 4.
const QUARTER: u64 = LINE / 4;

/// Interpolated index of a fingerprint among the sorted fingerprints of a group of `entries`
/// entries.
#[inline]
pub(super) fn presumed(entries: u32, fingerprint: u16) -> u64 {
    (u64::from(entries) * u64::from(fingerprint)) >> 16
}

/// Start of the window for a fingerprint in a group that starts at `at`. Windows start at multiples
/// of half a cache line. The chosen window has the predicted position in its middle half.
#[inline]
pub(super) fn window_of(at: u64, entries: u32, fingerprint: u16) -> u64 {
    let place = at + 2 * presumed(entries, fingerprint);
    place.saturating_sub(QUARTER) / (LINE / 2) * (LINE / 2)
}

/// The entries of a group that have this fingerprint, usually none, as a range counted from the
/// start of the group. Returns `None` if some of them may lie outside the window that starts at
/// `begin`. `group` is the byte range of the group's fingerprints.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "a lazy one is a branch that nothing foretells")]
pub(super) fn run_in(
    window: &BitWindow,
    begin: u64,
    group: Range<u64>,
    fingerprint: u16,
) -> Option<Range<u32>> {
    let [a, b, .., y, z] = *window;
    let (first, last) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([y, z]));
    let may_be_before = (begin > group.start) & (first >= fingerprint);
    let may_be_behind = (begin + LINE < group.end) & (last <= fingerprint);
    if may_be_before | may_be_behind {
        return None;
    }
    let equal = equal_bits(window, fingerprint);
    if equal == 0 {
        return Some(0..0);
    }
    // Keeps only the fingerprints that belong to the group.
    let from = group.start.saturating_sub(begin) / 2;
    let until = group.end.saturating_sub(begin).min(LINE) / 2;
    let equal = equal & ((1 << until) - (1_u64 << from));
    if equal == 0 {
        return Some(0..0);
    }
    let start = equal.trailing_zeros();
    let count = (equal >> start).trailing_ones();
    let before = (begin + 2 * u64::from(start)).saturating_sub(group.start) / 2;
    let before = u32::try_from(before).ok()?;
    Some(before..before + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::tests::Random;

    /// Test data: concatenates the fingerprints of these groups from offset `at` on. Returns the
    /// bytes, and the offset of each group.
    fn groups(at: usize, fingerprints: &[Vec<u16>]) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut places) = (vec![0xAB; at], Vec::new());
        for group in fingerprints {
            places.push(bytes.len() as u64);
            bytes.extend(group.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()));
        }
        bytes.extend([0xCD; 128]);
        (bytes, places)
    }

    fn short(number: u64) -> u16 {
        u16::from_le_bytes(*number.to_le_bytes().first_chunk().expect("two of eight"))
    }

    /// Compares the window search with a plain search. Returns false if the window does not
    /// determine the result.
    fn window_decides(bytes: &[u8], at: u64, group: &[u16], wanted: u16) -> bool {
        let entries = u32::try_from(group.len()).expect("few");
        let begin = window_of(at, entries, wanted);
        assert_eq!(begin % (LINE / 2), 0);
        let window = bytes[usize::try_from(begin).expect("small")..].first_chunk();
        let range = at..at + 2 * u64::from(entries);
        let run = run_in(window.expect("a window"), begin, range, wanted);
        let below = |bound: &dyn Fn(&u16) -> bool| {
            u32::try_from(group.partition_point(bound)).expect("few")
        };
        let truth = below(&|other| *other < wanted)..below(&|other| *other <= wanted);
        match run {
            Some(run) if truth.is_empty() => assert!(run.is_empty(), "{run:?} for nothing"),
            Some(run) => assert_eq!(run, truth),
            None => return false,
        }
        true
    }

    #[test]
    fn a_window_tells_the_truth_or_nothing() {
        let mut random = Random(5);
        for round in 0..3_000 {
            // Groups of fingerprints from all distinct to all equal, at both ends of the range of
            // values and in the middle.
            let (bits, least) = (random.below(17), random.next());
            let mut group = |entries: usize| {
                let mut value = || short((random.next() % (1 << bits)).wrapping_add(least));
                let mut group: Vec<u16> = (0..entries).map(|_| value()).collect();
                group.sort_unstable();
                group
            };
            let groups_of = [group(round % 40), group(round % 129), group(round % 7)];
            let (bytes, places) = groups(64 + 2 * (round % 32), &groups_of);
            for (at, group) in places.iter().zip(&groups_of) {
                let known = groups_of.iter().flatten();
                let near =
                    known.flat_map(|known| [known.wrapping_sub(1), *known, known.wrapping_add(1)]);
                for wanted in near.chain([0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff]) {
                    window_decides(&bytes, *at, group, wanted);
                }
            }
        }
    }

    #[test]
    fn a_window_nearly_always_tells_where_fingerprints_are_random() {
        let mut random = Random(6);
        let (mut total, mut silent) = (0, 0);
        for round in 0..2_000 {
            let mut group: Vec<u16> = (0..64).map(|_| short(random.next())).collect();
            group.sort_unstable();
            let (bytes, places) = groups(64 + 2 * (round % 32), &[group.clone()]);
            for _ in 0..20 {
                total += 1;
                let wanted = short(random.next());
                silent += u32::from(!window_decides(&bytes, places[0], &group, wanted));
            }
        }
        assert!(silent > 0 && silent * 200 < total, "{silent} of {total}");
    }
}
