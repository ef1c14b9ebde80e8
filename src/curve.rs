//! The probabilities behind bands and estimates: pure arithmetic on k, b, r and lane width.
//!
//! Knows nothing of texts, hashes or parameters' names; `params` gives the numbers.

/// Slack of every comparison of a similarity with a threshold, so that a threshold of 0.7 typed
/// as 0.7000000000000001 asks for the same rows.
pub(crate) const THRESHOLD_SLACK: f64 = 1e-9;

/// The chance that two lanes agree though the values behind them differ: 2^-`lane_bits`; none
/// where lanes are the values, from 32 bits on.
pub(crate) fn lane_collision(lane_bits: u32) -> f64 {
    if lane_bits >= 32 { 0.0 } else { 1.0 / f64::from(1_u32 << lane_bits) }
}

/// The chance that one row of two signatures agrees when the sets' Jaccard similarity is
/// `similarity` and unequal values collide with chance `collision`.
pub(crate) fn row_agreement(similarity: f64, collision: f64) -> f64 {
    let similarity = similarity.clamp(0.0, 1.0);
    similarity + (1.0 - similarity) * collision
}

/// The chance that at least one of `bands` bands of `rows` rows agrees wholly, each row agreeing
/// with chance `agreement`: 1 - (1 - p^r)^b (Mining of Massive Datasets, section 3.4.2).
pub(crate) fn candidate(agreement: f64, bands: u32, rows: u32) -> f64 {
    let band = agreement.powf(f64::from(rows));
    // Not 1 - (1 - x)^b: for unrelated documents x is near 1e-12 and would drown.
    -(f64::from(bands) * (-band).ln_1p()).exp_m1()
}

/// The estimate of the similarity from `equal` of `hashes` rows: (m/k - c) / (1 - c). It is
/// negative where fewer rows agree than chance alone would make.
pub(crate) fn estimate(equal: u32, hashes: u32, collision: f64) -> f64 {
    (f64::from(equal) / f64::from(hashes) - collision) / (1.0 - collision)
}

/// The least number of equal rows whose estimate reaches `threshold`; `hashes + 1` where none
/// does (a threshold above 1, or not a number).
pub(crate) fn equal_rows_min(threshold: f64, hashes: u32, collision: f64) -> u32 {
    let reaches = |equal| estimate(equal, hashes, collision) >= threshold - THRESHOLD_SLACK;
    // Every query asks for this. The place where the estimate reaches the threshold, if rounding
    // does not have the last word:
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is only a guess")]
    #[expect(clippy::cast_sign_loss, reason = "the same")]
    let below = (row_agreement(threshold, collision) * f64::from(hashes)) as u32;
    if below < hashes && !reaches(below) && reaches(below + 1) {
        return below + 1;
    }
    // The estimate rises with the equal rows.
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

/// One standard error of the estimate: sqrt(q (1 - q) / k) / (1 - c), with q = (m + 1) / (k + 2)
/// so that it is not zero at the ends.
pub(crate) fn standard_error(equal: u32, hashes: u32, collision: f64) -> f64 {
    let share = (f64::from(equal) + 1.0) / (f64::from(hashes) + 2.0);
    (share * (1.0 - share) / f64::from(hashes)).sqrt() / (1.0 - collision)
}

/// The chance that a pair is a candidate *and* has at least `equal_min` equal rows, of `hashes`
/// independent rows of which the first `bands` x `rows` form the bands. Exact: the bands'
/// binomials are convolved, counting apart the outcomes with and without a whole band. Costs
/// about `hashes`^2 multiplications.
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

/// The binomial distribution of `trials` trials of chance `p`: the chance of 0, 1, ..., `trials`
/// successes, built up trial by trial, which is stable for every `p`.
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
