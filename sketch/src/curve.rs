//! Probabilities of bands and estimates: pure arithmetic on the number of hashes k, bands b, rows r
//! and the lane width.
//!
//! Knows neither texts nor the type of the parameters: `params` passes the numbers.

/// Tolerance in every comparison of a similarity with a threshold, so that 0.7 and
/// 0.7000000000000001 require the same number of equal rows.
pub const THRESHOLD_SLACK: f64 = 1e-9;

/// The probability that two lanes are equal although the row values differ: 2^-`lane_bits`, or 0
/// for 32 bits and more, where lanes contain the whole values.
pub(crate) fn lane_collision(lane_bits: u32) -> f64 {
    if lane_bits >= 32 { 0.0 } else { 1.0 / f64::from(1_u32 << lane_bits) }
}

/// The probability that a row of two signatures is equal, given the Jaccard similarity of the sets
/// and the collision probability of unequal values.
pub(crate) fn row_agreement(similarity: f64, collision: f64) -> f64 {
    let similarity = similarity.clamp(0.0, 1.0);
    similarity + (1.0 - similarity) * collision
}

/// The probability that two signatures share at least one of `bands` bands of `rows` rows, if a row
/// is equal with probability `agreement`: 1 - (1 - p^r)^b (Mining of Massive Datasets, section
/// 3.4.2).
pub(crate) fn candidate(agreement: f64, bands: u32, rows: u32) -> f64 {
    let band = agreement.powf(f64::from(rows));
    // `ln_1p` and `exp_m1` keep the precision that the direct formula 1 - (1 - x)^b loses: for
    // unrelated documents, x is near 1e-12.
    -(f64::from(bands) * (-band).ln_1p()).exp_m1()
}

/// The estimated similarity if `equal` of `hashes` rows are equal: (m/k - c) / (1 - c). It is
/// negative if fewer rows are equal than by chance.
pub(crate) fn estimate(equal: u32, hashes: u32, collision: f64) -> f64 {
    (f64::from(equal) / f64::from(hashes) - collision) / (1.0 - collision)
}

/// The smallest number of equal rows whose estimate reaches `threshold`, or `hashes + 1` if there
/// is none (a threshold above 1, or NaN).
pub(crate) fn equal_rows_min(threshold: f64, hashes: u32, collision: f64) -> u32 {
    let reaches = |equal| estimate(equal, hashes, collision) >= threshold - THRESHOLD_SLACK;
    // Every query calls this function, so it starts from a guess that is exact up to rounding.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is only a guess")]
    #[expect(clippy::cast_sign_loss, reason = "the same")]
    let below = (row_agreement(threshold, collision) * f64::from(hashes)) as u32;
    if below < hashes && !reaches(below) && reaches(below + 1) {
        return below + 1;
    }
    // Binary search: the estimate is monotonic in the number of equal rows.
    let (mut least, mut end) = (0, hashes + 1);
    while least < end {
        let middle = least + (end - least) / 2;
        if reaches(middle) {
            end = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

/// The standard error of the estimate: sqrt(q (1 - q) / k) / (1 - c). Here q is (m + 1) / (k + 2),
/// so that the result is not zero if no row or every row is equal.
pub(crate) fn standard_error(equal: u32, hashes: u32, collision: f64) -> f64 {
    let share = (f64::from(equal) + 1.0) / (f64::from(hashes) + 2.0);
    (share * (1.0 - share) / f64::from(hashes)).sqrt() / (1.0 - collision)
}

/// The probability that a pair shares a band *and* has at least `equal_min` equal rows. There are
/// `hashes` independent rows, of which the first `bands` x `rows` form the bands. The result is
/// exact: the binomial distributions of the bands are convolved, separately for the outcomes with
/// and without a shared band. This costs about `hashes`^2 multiplications.
pub(crate) fn returned(agreement: f64, hashes: u32, bands: u32, rows: u32, equal_min: u32) -> f64 {
    let band = binomial(agreement, rows);
    let mut without = vec![1.0];
    let mut with = vec![0.0];
    let (partial, whole) = band.split_at(band.len() - 1);
    for _ in 0..bands {
        let mut next_with = convolve(&with, &band);
        for (equal, chance) in without.iter().enumerate() {
            if let (Some(slot), Some(whole)) =
                (next_with.get_mut(equal + partial.len()), whole.first())
            {
                *slot += chance * whole;
            }
        }
        let mut next_without = convolve(&without, partial);
        next_without.resize(next_with.len(), 0.0);
        (with, without) = (next_with, next_without);
    }
    let with = convolve(&with, &binomial(agreement, hashes.saturating_sub(bands * rows)));
    with.iter().skip(equal_min as usize).sum::<f64>().clamp(0.0, 1.0)
}

/// The binomial distribution: the probabilities of 0, 1, ..., `trials` successes, if each trial
/// succeeds with probability `p`. Built trial by trial, which is numerically stable for every `p`.
fn binomial(p: f64, trials: u32) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..trials {
        chances = convolve(&chances, &[1.0 - p, p]);
    }
    chances
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (sum, y) in sums.iter_mut().skip(i).zip(b) {
            *sum += x * y;
        }
    }
    sums
}

#[cfg(test)]
#[path = "curve_tests.rs"]
mod tests;
