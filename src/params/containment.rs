//! Containment: how much of the smaller of two documents the other one has.

use super::Params;

/// How much of the smaller of two documents the larger one contains: the estimate of
/// |A and B| / min(|A|, |B|), with its standard error.
///
/// A document with boilerplate added contains the original wholly, though the two may be similar
/// to 0.6 only; so does a document its own first half.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Containment {
    /// From 0 to 1.
    pub estimate: f64,
    /// One standard error of the estimate. It grows with the difference of the lengths: a document
    /// that is contained in one ten times as long is similar to it to 0.1 only.
    pub standard_error: f64,
}

impl Params {
    /// How much of the smaller of two documents the larger one contains, from the equal rows of
    /// their signatures and their counts of shingles
    /// ([`Signature::shingle_count`](crate::Signature::shingle_count)).
    ///
    /// With J the estimated Jaccard similarity, a and b the counts, it is
    /// J (a + b) / ((1 + J) min(a, b)), clamped to 1. `None` where a count is 0, which means that
    /// it is not known, unless all rows are equal. With `bag` shingles that repeat count as often
    /// as they occur.
    ///
    /// ```
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
        // The derivative by the similarity, times its standard error.
        let slope = ratio / ((1.0 + similarity) * (1.0 + similarity));
        Some(Containment { estimate, standard_error: slope * self.standard_error(equal_rows) })
    }

    /// The similarity of two documents of which the larger one, `times` as long, contains so much
    /// of the smaller one: what an index must be able to find. With
    /// [`Params::candidate_probability`] it says how often it does.
    ///
    /// ```
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
        // 100 shingles in common: (a, b, contained).
        for (a, b, contained) in [(100_u32, 200_u32, 1.0), (200, 300, 0.5), (400, 150, 2.0 / 3.0)] {
            let similarity = 100.0 / f64::from(a + b - 100);
            let equal = (1..1_000).find(|rows| params.similarity(*rows) >= similarity).unwrap();
            let told = params.containment(equal, a, b).unwrap();
            assert!((told.estimate - contained).abs() < 0.01, "{a} {b}: {told:?}");
            let larger = f64::from(a.max(b)) / f64::from(a.min(b));
            let back = Params::similarity_of_contained(contained, larger);
            assert!((back - similarity).abs() < 1e-9, "{back} {similarity}");
        }
    }

    #[test]
    fn its_error_is_what_a_standard_error_of_the_similarity_makes() {
        let params = Params::for_threshold(0.5).build().unwrap();
        let told = params.containment(25, 100, 200).unwrap();
        let rows = params.standard_error(25) * 128.0 * (1.0 - 1.0 / 256.0);
        let next = params.containment(25 + whole(rows), 100, 200).unwrap();
        let moved = next.estimate - told.estimate;
        assert!((moved - told.standard_error).abs() < 0.2 * moved, "{moved} {told:?}");
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
