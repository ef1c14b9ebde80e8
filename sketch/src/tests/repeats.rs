//! Repeated hashes are dropped, or numbered for a bag.

use super::steps;
use crate::{distinct, hash};

#[test]
fn repeats_are_dropped_or_numbered() {
    let mut sums: Vec<u64> = (0..5_000_u64).map(|i| i * i % 701).collect();
    let mut expected: Vec<u64> = sums.iter().map(|&sum| hash::finalise(sum)).collect();
    expected.sort_unstable();
    expected.dedup();
    let mut bag = sums.clone();
    steps::set(&mut sums);
    sums.sort_unstable();
    assert_eq!(sums, expected);
    distinct::bag(&mut bag);
    bag.sort_unstable();
    bag.dedup();
    assert_eq!(bag.len(), 5_000);
    assert!(expected.iter().all(|hash| bag.binary_search(hash).is_ok()));
}

/// Tests small sets and sets of about 1,024 hashes, up to which the reusable table is used. Each
/// has various numbers of repeats: of the first hashes, of the last hashes, of a single hash, and
/// of hashes spread over the set.
#[test]
fn repeats_are_dropped_whatever_their_number_and_place() {
    for count in (0..70_u64).chain((1_000..1_050).step_by(7)) {
        for repeats in (0..40).chain(60..68).chain([500]) {
            let spread = |i: u64| i * 31 % count.max(1);
            let kinds: [fn(u64, u64) -> u64; 3] = [|i, _| i, |i, n| n - 1 - i % n, |_, _| 0];
            let tails = kinds.map(|kind| (0..repeats).map(|i| kind(i, count.max(1))).collect());
            for tail in tails.into_iter().chain([(0..repeats).map(spread).collect::<Vec<_>>()]) {
                let mut sums: Vec<u64> = (0..count).chain(tail).collect();
                let mut expected: Vec<u64> = sums.iter().map(|&sum| hash::finalise(sum)).collect();
                expected.sort_unstable();
                expected.dedup();
                steps::set(&mut sums);
                sums.sort_unstable();
                assert_eq!(sums, expected, "{count} {repeats}");
            }
        }
    }
}

/// A hash may collide with others in its slot and the next ones. After more than 64 collisions,
/// another method drops the repeats. Old entries of earlier sets have no effect.
#[test]
fn hashes_that_share_a_slot_are_told_apart() {
    let mut seen = distinct::Seen::default();
    // The crafted hashes start in the first slot, in the last one, or in consecutive slots.
    let kinds: [fn(u64) -> u64; 3] =
        [|i| i << 24, |i| i << 24 | 0xff_ffff, |i| (i << 24) | (i / 2)];
    // Sets of 300 and more hashes use the whole table; of these, only ten hashes are crafted to
    // collide.
    let counts = (1..80_u64).chain(300..310).map(|count| (count, if count < 80 { 80 } else { 10 }));
    for ((count, crafted), kind) in counts.flat_map(|counts| kinds.map(|kind| (counts, kind))) {
        let kind = |i| if i < crafted { kind(i) } else { i << 40 | i << 5 };
        let mut expected: Vec<u64> = (0..count).map(kind).collect();
        expected.sort_unstable();
        for repeated in 0..count.min(crafted) {
            let crafted = (0..count).rev().chain([repeated, repeated / 2]);
            let crafted = crafted.map(|i| unfinalise(kind(i)));
            let (mut sums, mut got) = (crafted.collect(), Vec::new());
            distinct::set(&mut sums, &mut seen, |hash| got.push(hash));
            sums.sort_unstable();
            assert_eq!(sums, expected, "{count} {repeated}");
            got.sort_unstable();
            got.dedup();
            assert_eq!(got, expected, "each was given: {count} {repeated}");
        }
    }
}

/// Probing wraps around at the end of the table. Ten hashes that start in one slot do not exceed
/// the maximum number of collisions; thirteen do.
#[test]
fn the_table_of_few_hashes_has_no_end() {
    let mut seen = distinct::Seen::default();
    for (count, expected) in [(10, Some(())), (13, None)] {
        let crafted = (0..count).map(|i| i << 24 | 0xff_ffff);
        let mut hashes: Vec<u64> = (80..380).map(|i| i << 40 | i << 5).chain(crafted).collect();
        hashes.extend_from_within(hashes.len() - 1..);
        let before = hashes.clone();
        assert_eq!(distinct::drop_few(&mut hashes, &mut seen, |_| ()), expected);
        // The first of the equal hashes is kept, or else nothing changes.
        let left = if expected.is_some() { before.len() - 1 } else { before.len() };
        assert_eq!(hashes, before[..left]);
    }
}

/// Many sets share a table, until it is cleared and long after. Some sets occur again with the same
/// range of numbers: their old entries must not count as repeats.
#[test]
fn sets_that_share_a_table_do_not_see_each_other() {
    let mut seen = distinct::Seen::default();
    for (turn, count) in (0..400_u64).zip([1_000, 1, 700, 950].into_iter().cycle()) {
        let mut expected: Vec<u64> = (0..count).map(|i| hash::split_mix(turn % 31, i)).collect();
        let mut sums: Vec<u64> = expected.iter().map(|hash| unfinalise(*hash)).collect();
        sums.extend_from_within(..sums.len().min(24));
        distinct::set(&mut sums, &mut seen, |_| ());
        sums.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sums, expected, "{turn}");
    }
}

/// Hashes that are chosen to share a slot of the table cost a sort, not quadratic time.
#[test]
fn chosen_collisions_fall_back_to_sorting() {
    let count = 100_000_u64;
    let crafted = (0..count).map(|i| unfinalise((i % (count / 2)) << 24));
    let mut sums: Vec<u64> = crafted.collect();
    steps::set(&mut sums);
    assert!(sums.is_sorted(), "the fallback was taken");
    let expected: Vec<u64> = (0..count / 2).map(|i| i << 24).collect();
    assert_eq!(sums, expected);
}

/// Tests many hashes: random ones, hashes that are all in one part, and a part with a crowded slot.
#[test]
fn repeats_among_many_are_dropped() {
    let many = distinct::MANY as u64 + 1_000;
    let kinds: [fn(u64) -> u64; 3] = [
        |i| hash::split_mix(7, i % 99_991),
        |i| i % 90_000,
        |i| {
            if i < 9_000 { (i % 8_000) << 24 } else { hash::split_mix(7, i % 100_003) }
        },
    ];
    for kind in kinds {
        let mut expected: Vec<u64> = (0..many).map(kind).collect();
        let mut sums: Vec<u64> = expected.iter().map(|hash| unfinalise(*hash)).collect();
        let mut got = 0;
        let mut seen = distinct::Seen::default();
        distinct::set(&mut sums, &mut seen, |_| got += 1);
        assert_eq!(got, many);
        sums.sort_unstable();
        expected.sort_unstable();
        expected.dedup();
        assert!(sums == expected);
    }
}

/// The inverse of the finaliser.
fn unfinalise(hash: u64) -> u64 {
    let unshift = |x: u64, by: u32| {
        let mut y = x;
        for _ in 0..64 / by {
            y = x ^ (y >> by);
        }
        y
    };
    let hash = unshift(hash, 31).wrapping_mul(0x3196_42b2_d24d_8ec3);
    let hash = unshift(hash, 27).wrapping_mul(0x96de_1b17_3f11_9089);
    unshift(hash, 30)
}
