//! Containment: how much of the smaller of two documents is contained in the larger one.

use super::Params;

/// The estimated fraction of the smaller of two documents that the larger one contains, |A and B| /
/// min(|A|, |B|), with its standard error.
///
/// A copy with boilerplate added contains the whole original, though their similarity may be only
/// 0.6. Likewise, a document contains its own first half.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Containment {
    /// The estimate, from 0 to 1.
    pub estimate: f64,
    /// The standard error of the estimate. It grows with the ratio of the lengths: if one document
    /// contains another one that is a tenth as long, their similarity is only 0.1.
    pub standard_error: f64,
}

impl Params {
    /// Estimates containment from the number of equal rows of two signatures and from the shingle
    /// counts of the two documents ([`Signature::shingle_count`](crate::Signature::shingle_count)).
    ///
    /// With the estimated Jaccard similarity J and the counts a and b, the estimate is J (a + b) /
    /// ((1 + J) min(a, b)), clamped to 1. Returns `None` if a count is 0 (unknown), unless all rows
    /// are equal. With `bag`, a repeated shingle counts as often as it occurs.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::Params;
    ///
    /// let params = Params::for_threshold(0.4).build()?;
    /// // Half of the rows are equal, and one document is twice as long as the other.
    /// let half = params.containment(64, 200, 400).unwrap();
    /// assert!(half.estimate > 0.95);
    /// assert!(params.containment(64, 200, 200).unwrap().estimate < 0.7);
    /// # Ok(())
    /// # }
    /// ```
    pub fn containment(&self, equal_rows: u32, a: u32, b: u32) -> Option<Containment> {
        if equal_rows == self.fields.hashes {
            return Some(Containment { estimate: 1.0, standard_error: 0.0 });
        }
        let (a, b) = (f64::from(a), f64::from(b));
        let smaller = a.min(b);
        if smaller < 1.0 {
            return None;
        }
        let similarity = self.similarity(equal_rows);
        let ratio = (a + b) / smaller;
        let estimate = (ratio * similarity / (1.0 + similarity)).min(1.0);
        // Error propagation: the derivative with respect to the similarity, times its standard
        // error.
        let slope = ratio / ((1.0 + similarity) * (1.0 + similarity));
        Some(Containment { estimate, standard_error: slope * self.standard_error(equal_rows) })
    }

    /// The Jaccard similarity of two documents, if the larger one is `times` as long and contains a
    /// fraction `contained` of the smaller one. To get the probability that an index finds such a
    /// pair, pass the result to [`Params::candidate_probability`].
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::Params;
    ///
    /// assert_eq!(Params::similarity_of_contained(1.0, 2.0), 0.5);
    /// let usual = Params::for_threshold(0.7).build()?;
    /// assert!(usual.candidate_probability(0.5) < 0.6);
    /// assert!(Params::for_threshold(0.4).build()?.candidate_probability(0.5) > 0.98);
    /// # Ok(())
    /// # }
    /// ```
    pub fn similarity_of_contained(contained: f64, times: f64) -> f64 {
        contained / (1.0 + times.max(1.0) - contained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_sets_of_these_sizes_have() {
        let params = Params::for_threshold(0.5).hashes(1_000).lane_bits(16).build().unwrap();
        // In each case the two documents have 100 shingles in common: (a, b, contained).
        for (a, b, contained) in [(100_u32, 200_u32, 1.0), (200, 300, 0.5), (400, 150, 2.0 / 3.0)] {
            let similarity = 100.0 / f64::from(a + b - 100);
            let equal = (1..1_000).find(|rows| params.similarity(*rows) >= similarity).unwrap();
            let containment = params.containment(equal, a, b).unwrap();
            assert!((containment.estimate - contained).abs() < 0.01, "{a} {b}: {containment:?}");
            let larger = f64::from(a.max(b)) / f64::from(a.min(b));
            let back = Params::similarity_of_contained(contained, larger);
            assert!((back - similarity).abs() < 1e-9, "{back} {similarity}");
        }
    }

    #[test]
    fn its_error_is_what_a_standard_error_of_the_similarity_makes() {
        let params = Params::for_threshold(0.5).build().unwrap();
        let containment = params.containment(25, 100, 200).unwrap();
        let rows = params.standard_error(25) * 128.0 * (1.0 - 1.0 / 256.0);
        let next = params.containment(25 + whole(rows), 100, 200).unwrap();
        let moved = next.estimate - containment.estimate;
        assert!(
            (moved - containment.standard_error).abs() < 0.2 * moved,
            "{moved} {containment:?}"
        );
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few rows")]
    fn whole(rows: f64) -> u32 {
        rows.round() as u32
    }

    #[test]
    fn counts_that_are_not_known_say_nothing_unless_all_is_equal() {
        let params = Params::for_threshold(0.5).build().unwrap();
        assert_eq!(params.containment(64, 0, 100), None);
        assert!(params.containment(128, 0, 0).unwrap().estimate > 0.999);
    }
}
