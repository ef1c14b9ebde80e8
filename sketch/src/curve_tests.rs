//! Compares the formulas with the literature and with simulations, and tests them at their limits.

use super::standard_error;
use super::{candidate, equal_rows_min, estimate, lane_collision, returned, row_agreement};

fn near(value: f64, expected: f64, slack: f64) {
    assert!((value - expected).abs() <= slack, "{value} is not {expected}");
}

/// Compares with Mining of Massive Datasets, figure 3.8: 20 bands with 5 rows each.
#[test]
fn the_s_curve_is_the_textbooks() {
    let table =
        [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975)];
    for (similarity, expected) in table {
        near(candidate(similarity, 20, 5), expected, 0.000_5);
    }
    near(candidate(0.8, 20, 5), 0.9996, 0.000_05);
    // The slides of the course give the shares of pairs that become candidates: 0.99964 at a
    // similarity of 80 %, and 4.74 % (4.749 % rounded down) at 30 %.
    near(candidate(0.8, 20, 5), 0.999_64, 0.000_005);
    near(candidate(0.3, 20, 5), 0.0475, 0.000_05);
}

#[test]
fn candidates_are_exact_where_the_direct_formula_drowns() {
    let tiny = 2f64.powi(-16);
    near(candidate(tiny, 16, 8) / (16.0 * tiny.powi(8)), 1.0, 1e-12);
    near(candidate(0.0, 16, 8), 0.0, 0.0);
    near(candidate(1.0, 16, 8), 1.0, 0.0);
}

/// k = 400 has a standard error of at most 2.5 %, so two standard errors are at most 5 % (Broder;
/// the common rule k = 1 / e^2).
#[test]
fn two_standard_errors_of_400_hashes_are_five_percent() {
    let one = standard_error(200, 400, 0.0);
    near(one, 0.025, 1e-12);
    near(2.0 * one, 0.05, 1e-12);
    assert!((0..=400).all(|equal| standard_error(equal, 400, 0.0) <= one + 1e-12));
    assert!(standard_error(0, 400, 0.0) > 0.0 && standard_error(400, 400, 0.0) > 0.0);
}

/// Computes the minimum number of equal rows in exact integers: with lanes of w bits, the estimate
/// (m/k - c) / (1 - c) reaches T/1000 if 1000 (m 2^w - k) >= T k (2^w - 1).
#[test]
fn the_least_rows_are_exact_at_every_boundary() {
    for hashes in [16_u32, 100, 128, 400, 1024] {
        for bits in [8_u32, 16] {
            for thousandths in 1..=1000_u32 {
                let right = u64::from(thousandths) * u64::from(hashes) * ((1 << bits) - 1);
                let reaches = |m: &u32| {
                    let left = (u64::from(*m) << bits).saturating_sub(u64::from(hashes));
                    1000 * left >= right
                };
                let expected = (0..=hashes).find(reaches).unwrap();
                let threshold = f64::from(thousandths) / 1000.0;
                let found = equal_rows_min(threshold, hashes, lane_collision(bits));
                assert_eq!(found, expected, "{hashes} {bits} {threshold}");
            }
        }
    }
}

#[test]
fn the_slack_is_a_billionth() {
    let at = estimate(64, 128, 0.0);
    near(at, 0.5, 0.0);
    assert_eq!(equal_rows_min(at + 0.9e-9, 128, 0.0), 64);
    assert_eq!(equal_rows_min(at + 1.1e-9, 128, 0.0), 65);
    assert_eq!(equal_rows_min(1.0, 128, lane_collision(8)), 128);
    assert_eq!(equal_rows_min(1.1, 128, lane_collision(8)), 129);
    assert_eq!(equal_rows_min(f64::NAN, 128, lane_collision(8)), 129);
    assert_eq!(equal_rows_min(-1.0, 128, lane_collision(8)), 0);
}

#[test]
fn the_estimate_undoes_the_chance_agreement_of_lanes() {
    for bits in [8, 16] {
        let collision = lane_collision(bits);
        let expected_rows = 1000.0 * row_agreement(0.37, collision);
        near((expected_rows / 1000.0 - collision) / (1.0 - collision), 0.37, 1e-12);
        near(estimate(1000, 1000, collision), 1.0, 0.0);
        assert!(estimate(0, 1000, collision) < 0.0);
    }
}

/// Compares with the sum over all outcomes of a small signature.
#[test]
fn the_chance_to_be_returned_equals_full_enumeration() {
    for (hashes, bands, rows) in
        [(9_u32, 2_u32, 3_u32), (10, 5, 2), (8, 8, 1), (7, 1, 7), (9, 1, 2)]
    {
        for equal_min in 0..=hashes + 1 {
            for p in [0.0_f64, 0.1, 0.5, 0.83, 1.0] {
                let mut sum = 0.0;
                for outcome in 0..1_u32 << hashes {
                    let equal = outcome.count_ones();
                    let whole = |band: u32| {
                        let mask = ((1 << rows) - 1) << (band * rows);
                        outcome & mask == mask
                    };
                    if equal >= equal_min && (0..bands).any(whole) {
                        let differ = hashes - equal;
                        sum += p.powi(equal.try_into().unwrap())
                            * (1.0 - p).powi(differ.try_into().unwrap());
                    }
                }
                near(returned(p, hashes, bands, rows, equal_min), sum, 1e-12);
            }
        }
    }
}

#[test]
fn the_chance_to_be_returned_agrees_with_simulation() {
    let (hashes, bands, rows, p, equal_min) = (128_u32, 17_u32, 5_u32, 0.7, 90);
    let trials = 100_000;
    let mut state = 1_u64;
    let mut hits = 0;
    for _ in 0..trials {
        let (mut equal, mut whole) = (0, false);
        let mut run = 0;
        for row in 0..hashes {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let agrees = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 <= p;
            equal += u32::from(agrees);
            run = if row % rows == 0 { u32::from(agrees) } else { run + u32::from(agrees) };
            whole |= row % rows == rows - 1 && run == rows && row < bands * rows;
        }
        hits += u32::from(whole && equal >= equal_min);
    }
    let expected = returned(p, hashes, bands, rows, equal_min);
    let share = f64::from(hits) / f64::from(trials);
    let error = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
    near(share, expected, 4.0 * error);
}

#[test]
fn matches_are_rarer_than_candidates_and_half_at_the_threshold() {
    for percent in 1..=100 {
        let p = f64::from(percent) / 100.0;
        let all = candidate(p, 17, 5);
        near(returned(p, 128, 17, 5, 0), all, 1e-12);
        assert!(returned(p, 128, 17, 5, 90) <= all + 1e-12);
    }
    near(returned(0.7, 128, 17, 5, equal_rows_min(0.7, 128, 0.0)), 0.5, 0.06);
}
