//! Chooses the segments to compact: a pure function of their catalog entries.
//!
//! During writes the policy is size-tiered: when there are enough segments of about the same size,
//! they are merged. So the number of rewrites per document grows with the logarithm of the index
//! size, and the number of segments stays below (segments per tier) x (tiers). A segment with many
//! dead documents is rewritten to free their space.
//!
//! While the index is idle, segments are gradually merged into one: see [`choose_idle`]. For costs
//! and gains, see `docs/reports/PERFORMANCE.md`.

use crate::format::catalog::SegmentEntry;

/// Segments up to this many bytes form the smallest tier.
const TIER_BYTES_MIN: u64 = 1 << 20;
/// A segment is rewritten if more than 1 / `DEAD_SHARE_INVERSE` of its documents are dead.
const DEAD_SHARE_INVERSE: u64 = 5;
/// If the average document of a tier has this many bytes or a multiple, the tier needs that
/// multiple of the usual number of segments before it is merged, at most `WEIGHT_MAX` times as
/// many. (The smallest tier is exempt.)
const HEAVY_DOCUMENT_BYTES: u64 = 512;
const WEIGHT_MAX: u64 = 4;
/// Idle merging rewrites a segment if the new and dead bytes are at least 1 / `IDLE_GAIN_INVERSE`
/// of it.
const IDLE_GAIN_INVERSE: u64 = 16;
/// Number of bytes that idle merging may rewrite for each byte that was added or died.
const IDLE_BYTES_FACTOR: u64 = 2;
/// The numbers of the segments to merge next, in the order of the catalog; `None` if none is due.
/// `docs_max` is the maximum number of documents of a merged segment.
pub(crate) fn choose(
    segments: &[SegmentEntry],
    tier_segments_max: usize,
    docs_max: u32,
) -> Option<Vec<u64>> {
    let tier_of = |segment: &SegmentEntry| tier(segment.length, tier_segments_max);
    // Full segments do not count: no merge would make fewer of them, and if they filled a tier,
    // every flush would rewrite all segments that are smaller.
    let is_full = |segment: &SegmentEntry| segment.docs - segment.dead > docs_max / 2;
    let growing: Vec<_> = segments.iter().filter(|segment| !is_full(segment)).collect();
    let mut tiers: Vec<u32> = growing.iter().map(|segment| tier_of(segment)).collect();
    tiers.sort_unstable();
    tiers.dedup();
    for tier in tiers {
        let of_tier = growing.iter().filter(|segment| tier_of(segment) == tier);
        let count = of_tier.clone().count();
        let (bytes, docs) = of_tier.fold((0_u64, 0_u64), |(bytes, docs), segment| {
            (bytes.saturating_add(segment.length), docs + u64::from(segment.docs))
        });
        // With larger documents a merge costs more, but queries gain no more from it.
        let weight = match tier {
            0 => 1,
            _ => (bytes / docs.max(1) / HEAVY_DOCUMENT_BYTES).clamp(1, WEIGHT_MAX),
        };
        let weight = usize::try_from(weight).unwrap_or(1);
        // Smaller segments are included: they would be merged soon anyway.
        let smaller = growing.iter().filter(|segment| tier_of(segment) <= tier);
        let members: Vec<_> = smaller.copied().collect();
        if count >= tier_segments_max.saturating_mul(weight)
            && let Some(chosen) = within_docs_max(&members, docs_max)
        {
            return Some(chosen);
        }
    }
    let wasteful = |segment: &&SegmentEntry| {
        u64::from(segment.dead) * DEAD_SHARE_INVERSE > u64::from(segment.docs)
    };
    segments.iter().find(wasteful).map(|segment| vec![segment.number])
}

/// The segments to merge while nothing is written: the smallest ones. Chooses the largest
/// worthwhile set that rewrites at most `bytes_max`.
///
/// A set is worthwhile if its smaller segments, plus the space of the dead documents of its largest
/// segment, make up at least a sixteenth of that largest segment. So a segment is rewritten only
/// after the index has grown by a sixteenth of it, and each segment that is left alone is more than
/// sixteen times as large as all smaller ones together.
///
/// `bytes_max` is the unused part of what [`idle_bytes`] allowed: in total, idle merging rewrites
/// at most twice the bytes that were added or died.
pub(crate) fn choose_idle(
    segments: &[SegmentEntry],
    bytes_max: u64,
    docs_max: u32,
) -> Option<Vec<u64>> {
    let mut by_size: Vec<_> = segments.iter().collect();
    by_size.sort_by_key(|segment| segment.length);
    let (mut bytes, mut gain) = (0_u64, 0_u64);
    let mut count = 0;
    for (nth, segment) in by_size.iter().enumerate() {
        bytes = bytes.saturating_add(segment.length);
        if bytes > bytes_max {
            break;
        }
        gain = gain.saturating_add(bytes_of(segment, segment.dead));
        if gain.saturating_mul(IDLE_GAIN_INVERSE) >= segment.length {
            count = nth + 1;
        }
        gain = gain.saturating_add(bytes_of(segment, segment.docs - segment.dead));
    }
    let numbers: Vec<u64> = by_size[..count].iter().map(|segment| segment.number).collect();
    let chosen = |segment: &&SegmentEntry| numbers.contains(&segment.number);
    within_docs_max(&segments.iter().filter(chosen).collect::<Vec<_>>(), docs_max)
}

/// Number of bytes that idle merging may additionally rewrite because the list of segments changed
/// from `before` to `after`. Not meant for changes made by a compaction.
pub(crate) fn idle_bytes(before: &[SegmentEntry], after: &[SegmentEntry]) -> u64 {
    let of = |list: &[SegmentEntry], number| {
        list.iter().find(|segment| segment.number == number).copied()
    };
    let came = |segment: &SegmentEntry| match of(before, segment.number) {
        Some(then) => bytes_of(segment, segment.dead.saturating_sub(then.dead)),
        None => segment.length,
    };
    let gone = before.iter().filter(|segment| of(after, segment.number).is_none());
    let bytes = after.iter().map(came).chain(gone.map(|segment| segment.length));
    bytes.fold(0, u64::saturating_add).saturating_mul(IDLE_BYTES_FACTOR)
}

/// The part of a segment's length that a number of its documents accounts for.
fn bytes_of(segment: &SegmentEntry, docs: u32) -> u64 {
    let share = u128::from(segment.length) * u128::from(docs) / u128::from(segment.docs.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// All segments that merging would change, in groups: each becomes one segment.
pub(crate) fn choose_all(segments: &[SegmentEntry], docs_max: u32) -> Vec<Vec<u64>> {
    groups(&segments.iter().collect::<Vec<_>>(), docs_max).into_iter().flatten().collect()
}

/// As many of these segments as fit into one, smallest first. `None` unless that makes at least
/// two, or one with dead documents.
fn within_docs_max(members: &[&SegmentEntry], docs_max: u32) -> Option<Vec<u64>> {
    groups(members, docs_max).into_iter().next().flatten()
}

/// Segments in groups that fit into one segment each, smallest first; a segment that is too large
/// is a group of its own. `None` in place of a single segment without dead documents.
fn groups(members: &[&SegmentEntry], docs_max: u32) -> Vec<Option<Vec<u64>>> {
    let mut by_size = members.to_vec();
    by_size.sort_by_key(|segment| segment.docs);
    let mut groups: Vec<Vec<&SegmentEntry>> = Vec::new();
    let mut docs = 0;
    for segment in by_size {
        docs += u64::from(segment.docs - segment.dead);
        match groups.last_mut() {
            Some(group) if docs <= u64::from(docs_max) => group.push(segment),
            _ => {
                docs = u64::from(segment.docs - segment.dead);
                groups.push(vec![segment]);
            }
        }
    }
    let in_order = |group: &Vec<&SegmentEntry>| {
        let numbers = members.iter().map(|segment| segment.number);
        numbers.filter(|number| group.iter().any(|one| one.number == *number)).collect()
    };
    let changes = |group: &Vec<&SegmentEntry>| {
        group.len() > 1 || group.iter().any(|segment| segment.dead > 0)
    };
    groups.iter().map(|group| changes(group).then(|| in_order(group))).collect()
}

/// The tier of a segment with this length. Tier 0 holds the smallest segments; the segments of each
/// further tier are `tier_segments_max` times as large.
fn tier(bytes: u64, tier_segments_max: usize) -> u32 {
    let factor = u64::try_from(tier_segments_max).unwrap_or(u64::MAX).max(2);
    (bytes / TIER_BYTES_MIN).max(1).ilog(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: u32 = u32::MAX;

    /// A segment for tests. `docs` and `dead` are in thousands of documents.
    fn segment(number: u64, mebibytes: u64, docs: u32, dead: u32) -> SegmentEntry {
        SegmentEntry {
            number,
            length: mebibytes << 20,
            tail_hash: 0,
            docs: docs * 1_000,
            dead: dead * 1_000,
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
            ("ten of 4 KiB a document", (1..11).map(|n| segment(n, 40, 10, 0)).collect(), None),
            (
                "sixteen of 4 KiB a document",
                (1..17).map(|n| segment(n, 40, 10, 0)).collect(),
                Some((1..17).collect()),
            ),
            ("a fifth dead is kept", vec![segment(7, 50, 10, 2)], None),
            ("more than a fifth dead", vec![segment(7, 50, 10, 3)], Some(vec![7])),
        ];
        for (name, segments, expected) in cases {
            assert_eq!(&choose(segments, 4, ANY), expected, "{name}");
        }
    }

    #[test]
    fn idle_merging_is_worth_it_and_within_its_bytes() {
        type Case = (&'static str, Vec<SegmentEntry>, u64, Option<Vec<u64>>);
        let two = || vec![segment(1, 160, 1_600, 0), segment(2, 10, 100, 0)];
        let cases: &[Case] = &[
            ("nothing", vec![], 1_000, None),
            ("one", vec![segment(1, 1, 10, 0)], 1_000, None),
            ("a sixteenth joins", two(), 1_000, Some(vec![1, 2])),
            ("less than a sixteenth", vec![segment(1, 161, 1_600, 0), two()[1]], 1_000, None),
            (
                "what is dead counts",
                vec![segment(1, 161, 1_600, 20), two()[1]],
                1_000,
                Some(vec![1, 2]),
            ),
            ("a sixteenth is dead", vec![segment(1, 160, 1_600, 100)], 1_000, Some(vec![1])),
            ("less is dead", vec![segment(1, 160, 1_600, 99)], 1_000, None),
            ("the bytes do not suffice", two(), 169, None),
            ("the bytes suffice", two(), 170, Some(vec![1, 2])),
            (
                "of several the largest set that is worth it",
                vec![segment(1, 900, 9_000, 0), segment(2, 40, 400, 0), segment(3, 9, 90, 0)],
                1_000,
                Some(vec![2, 3]),
            ),
            (
                "small ones together are worth a large one",
                vec![segment(1, 60, 600, 0), segment(2, 900, 9_000, 0), segment(3, 5, 50, 0)],
                1_000,
                Some(vec![1, 2, 3]),
            ),
        ];
        for (name, segments, mebibytes, expected) in cases {
            assert_eq!(&choose_idle(segments, mebibytes << 20, ANY), expected, "{name}");
        }
    }

    #[test]
    fn idle_merging_may_rewrite_twice_what_came_in_or_died() {
        let mib = 2 << 20;
        let before = [segment(1, 160, 1_600, 0), segment(2, 10, 100, 0)];
        assert_eq!(idle_bytes(&before, &before), 0);
        let died = segment(1, 160, 1_600, 100);
        assert_eq!(idle_bytes(&before, &[died, before[1]]), 10 * mib, "dead documents");
        assert_eq!(idle_bytes(&before, &before[..1]), 10 * mib, "a segment that is gone");
        let flushed = [before[0], before[1], segment(3, 7, 70, 0)];
        assert_eq!(idle_bytes(&before, &flushed), 7 * mib, "a segment that came");
        assert_eq!(idle_bytes(&[segment(1, u64::MAX >> 20, 1, 0)], &[]), u64::MAX, "no overflow");
    }

    /// The worst case: repeated flushes, each followed by a long idle time.
    #[test]
    fn an_idle_index_is_rewritten_a_bounded_number_of_times() {
        let mut segments: Vec<SegmentEntry> = Vec::new();
        let (mut allowed, mut rewritten, mut came) = (0, 0, 0);
        let mut most = 0;
        for number in 0..2_000 {
            let before = segments.clone();
            segments.push(segment(number, 24, 100, 0));
            came += 24;
            allowed += idle_bytes(&before, &segments);
            loop {
                let due = choose(&segments, 4, ANY);
                let is_idle = due.is_none();
                let Some(chosen) = due.or_else(|| choose_idle(&segments, allowed, ANY)) else {
                    break;
                };
                let (merged, kept): (Vec<SegmentEntry>, Vec<SegmentEntry>) =
                    segments.iter().partition(|s| chosen.contains(&s.number));
                let bytes: u64 = merged.iter().map(|s| s.length).sum();
                let docs = merged.iter().map(|s| s.docs / 1_000).sum();
                if is_idle {
                    allowed -= bytes;
                    rewritten += bytes >> 20;
                }
                segments = kept;
                segments.push(segment(1_000_000 + number, bytes >> 20, docs, 0));
            }
            most = most.max(segments.len());
            assert!(rewritten <= IDLE_BYTES_FACTOR * came, "{rewritten} MiB for {came}");
        }
        assert!(most <= 16, "{most} segments");
        assert!(rewritten > came, "{rewritten} MiB for {came}: it uses what it may");
    }

    #[test]
    fn the_number_of_segments_is_bounded() {
        let mut segments: Vec<SegmentEntry> = Vec::new();
        for number in 0..5_000 {
            segments.push(segment(number, 24, 100, 0));
            while let Some(chosen) = choose(&segments, 8, ANY) {
                let (merged, kept): (Vec<SegmentEntry>, Vec<SegmentEntry>) =
                    segments.iter().partition(|s| chosen.contains(&s.number));
                let bytes: u64 = merged.iter().map(|s| s.length).sum();
                let docs = merged.iter().map(|s| s.docs / 1_000).sum();
                segments = kept;
                segments.push(segment(1_000_000 + number, bytes >> 20, docs, 0));
            }
            assert!(segments.len() <= 7 * 6, "{} segments", segments.len());
        }
    }

    #[test]
    fn compacting_all_leaves_a_clean_segment_alone() {
        let none: Vec<Vec<u64>> = Vec::new();
        assert_eq!(choose_all(&[], ANY), none);
        assert_eq!(choose_all(&[segment(1, 1, 10, 0)], ANY), none);
        assert_eq!(choose_all(&[segment(1, 1, 10, 1)], ANY), [[1]]);
        let two = [segment(2, 1, 10, 0), segment(1, 1, 10, 0)];
        assert_eq!(choose_all(&two, ANY), [[2, 1]]);
    }

    #[test]
    fn no_merge_makes_a_segment_of_more_documents_than_allowed() {
        let four: Vec<_> = (1..5).map(|n| segment(n, 1, 10, 0)).collect();
        assert_eq!(choose(&four, 4, 20_000), Some(vec![1, 2]));
        assert_eq!(choose_idle(&four, 1 << 30, 20_000), Some(vec![1, 2]));
        assert_eq!(choose_all(&four, 20_000), [[1, 2], [3, 4]]);
        assert_eq!((choose(&four, 4, 19_999), choose_idle(&four, 1 << 30, 19_999)), (None, None));
        // What is dead goes, in a segment that is too large as well.
        let large = [four[0], segment(5, 9, 90, 9), segment(6, 9, 99, 0)];
        assert_eq!(choose_all(&large, 20_000), [[5]]);
    }

    /// A small memory, in which segments are full long before the index is.
    #[test]
    fn full_segments_do_not_make_every_flush_a_merge() {
        let mut segments: Vec<SegmentEntry> = Vec::new();
        let mut rewritten = 0;
        for number in 0..1_000 {
            segments.push(segment(number, 6, 24, 0));
            while let Some(chosen) = choose(&segments, 4, 1_600_000) {
                let (merged, kept): (Vec<SegmentEntry>, Vec<SegmentEntry>) =
                    segments.iter().partition(|s| chosen.contains(&s.number));
                let docs: u32 = merged.iter().map(|s| s.docs / 1_000).sum();
                rewritten += docs;
                segments = kept;
                segments.push(segment(1_000_000 + number, u64::from(docs) / 4, docs, 0));
            }
        }
        let full = segments.iter().filter(|s| s.docs > 800_000).count();
        assert!(rewritten <= 4 * 24_000, "{rewritten} thousand documents of 24,000 thousand");
        assert!((15..30).contains(&full) && segments.len() <= full + 12, "{segments:?}");
    }
}
