//! Which segments to compact: a pure function of what the catalog says of them.
//!
//! Size-tiered: segments of about one size are merged when there are enough of them, so every
//! document is rewritten a number of times that grows with the logarithm of the archive, and the
//! number of segments stays below (segments a tier) x (tiers). A segment with many dead documents
//! is rewritten for the space.
//!
//! Measured with `benches/write_speed.rs` (signatures of 128 bytes, batches of 1,000, default
//! options): a load of 1,000,000 documents leaves 9 segments and has written, the WAL included,
//! 2.0 times the bytes of the compacted index; one of 10,000,000 leaves 11, and 2.5 times. A last
//! compaction into one segment adds 1.

use crate::format::catalog::SegmentEntry;

/// Segments up to this many bytes are all of the smallest tier.
const TIER_BYTES_MIN: u64 = 1 << 20;
/// A segment with more dead documents than one in this many is rewritten.
const DEAD_SHARE_INVERSE: u64 = 5;
/// No segment gets more documents than this: ordinals are 32 bits, and a merge must end.
const DOCS_MAX: u64 = 1 << 31;

/// The numbers of the segments to merge next, in the order of the catalog; `None` if none is due.
pub(crate) fn choose(segments: &[SegmentEntry], tier_segments_max: usize) -> Option<Vec<u64>> {
    let tier_of = |segment: &SegmentEntry| tier(segment.length, tier_segments_max);
    let mut tiers: Vec<u32> = segments.iter().map(tier_of).collect();
    tiers.sort_unstable();
    tiers.dedup();
    for tier in tiers {
        let count = segments.iter().filter(|segment| tier_of(segment) == tier).count();
        // Smaller ones go along: they would be merged soon anyway.
        let members: Vec<_> = segments.iter().filter(|segment| tier_of(segment) <= tier).collect();
        if count >= tier_segments_max
            && let Some(chosen) = within_docs_max(&members)
        {
            return Some(chosen);
        }
    }
    let wasteful = |segment: &&SegmentEntry| {
        u64::from(segment.dead) * DEAD_SHARE_INVERSE > u64::from(segment.docs)
    };
    segments.iter().find(wasteful).map(|segment| vec![segment.number])
}

/// All segments, if merging them would change anything.
pub(crate) fn choose_all(segments: &[SegmentEntry]) -> Option<Vec<u64>> {
    let due = segments.len() > 1 || segments.iter().any(|segment| segment.dead > 0);
    let all: Vec<_> = segments.iter().collect();
    due.then(|| within_docs_max(&all)).flatten()
}

/// As many as fit into one segment, smallest first: at least two, or one with dead documents.
fn within_docs_max(members: &[&SegmentEntry]) -> Option<Vec<u64>> {
    let mut by_size = members.to_vec();
    by_size.sort_by_key(|segment| segment.docs);
    let mut docs = 0;
    let mut chosen: Vec<u64> = Vec::new();
    let mut dead = 0;
    for segment in by_size {
        docs += u64::from(segment.docs - segment.dead);
        if docs > DOCS_MAX {
            break;
        }
        dead += segment.dead;
        chosen.push(segment.number);
    }
    let in_order = members.iter().map(|segment| segment.number);
    let ordered: Vec<u64> = in_order.filter(|number| chosen.contains(number)).collect();
    (ordered.len() > 1 || dead > 0).then_some(ordered)
}

/// 0 for the smallest, one more for every factor of `tier_segments_max`.
fn tier(bytes: u64, tier_segments_max: usize) -> u32 {
    let factor = u64::try_from(tier_segments_max).unwrap_or(u64::MAX).max(2);
    (bytes / TIER_BYTES_MIN).max(1).ilog(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64, mebibytes: u64, docs: u32, dead: u32) -> SegmentEntry {
        SegmentEntry {
            number,
            length: mebibytes << 20,
            tail_hash: 0,
            docs,
            dead,
            time_min: 0,
            time_max: 0,
            dead_file: None,
        }
    }

    #[test]
    fn segments_are_chosen_by_size_and_by_waste() {
        type Case = (&'static str, Vec<SegmentEntry>, Option<Vec<u64>>);
        let cases: &[Case] = &[
            ("nothing", vec![], None),
            ("one", vec![segment(1, 1, 10, 0)], None),
            ("three of four", (1..4).map(|n| segment(n, 1, 10, 0)).collect(), None),
            ("four", (1..5).map(|n| segment(n, 1, 10, 0)).collect(), Some(vec![1, 2, 3, 4])),
            (
                "four of a size beside a large one",
                [segment(1, 900, 9_000, 0)]
                    .into_iter()
                    .chain((2..6).map(|n| segment(n, 5, 50, 0)))
                    .collect(),
                Some(vec![2, 3, 4, 5]),
            ),
            (
                "small ones go along with a full tier",
                (1..6).map(|n| segment(n, if n == 2 { 1 } else { 5 }, 50, 0)).collect(),
                Some(vec![1, 2, 3, 4, 5]),
            ),
            (
                "a large one is not merged for the sake of small ones",
                (1..5).map(|n| segment(n, if n == 2 { 900 } else { 5 }, 50, 0)).collect(),
                None,
            ),
            ("a fifth dead is kept", vec![segment(7, 50, 10, 2)], None),
            ("more than a fifth dead", vec![segment(7, 50, 10, 3)], Some(vec![7])),
        ];
        for (name, segments, expected) in cases {
            assert_eq!(&choose(segments, 4), expected, "{name}");
        }
    }

    #[test]
    fn the_number_of_segments_is_bounded() {
        let mut segments: Vec<SegmentEntry> = Vec::new();
        for number in 0..5_000 {
            segments.push(segment(number, 24, 100_000, 0));
            while let Some(chosen) = choose(&segments, 8) {
                let (merged, kept): (Vec<SegmentEntry>, Vec<SegmentEntry>) =
                    segments.iter().partition(|s| chosen.contains(&s.number));
                let bytes: u64 = merged.iter().map(|s| s.length).sum();
                let docs = merged.iter().map(|s| s.docs).sum();
                segments = kept;
                segments.push(segment(1_000_000 + number, bytes >> 20, docs, 0));
            }
            assert!(segments.len() <= 7 * 6, "{} segments", segments.len());
        }
    }

    #[test]
    fn compacting_all_leaves_a_clean_segment_alone() {
        assert_eq!(choose_all(&[]), None);
        assert_eq!(choose_all(&[segment(1, 1, 10, 0)]), None);
        assert_eq!(choose_all(&[segment(1, 1, 10, 1)]), Some(vec![1]));
        let two = [segment(2, 1, 10, 0), segment(1, 1, 10, 0)];
        assert_eq!(choose_all(&two), Some(vec![2, 1]));
    }
}
