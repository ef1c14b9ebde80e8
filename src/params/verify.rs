//! From where on to look for documents that are then compared exactly.

use super::Params;

/// Standard errors: of 1,000 pairs 1 is estimated lower.
pub(crate) const ERRORS_BELOW: f64 = 3.0;

impl Params {
    /// The threshold to search with where pairs of at least this similarity are wanted, and the
    /// documents themselves are then compared: three standard errors below it, not below 0.
    ///
    /// Nearly all pairs that reach `similarity` are estimated at that or more. What is found
    /// besides costs a comparison, and is told apart by it: see
    /// [`Snapshot::exact_matches`](crate::Snapshot::exact_matches).
    /// [`Query::for_verification`](crate::Query::for_verification) and
    /// [`Alike::for_verification`](crate::Alike::for_verification) look from there.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::Params;
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let low = params.search_threshold(0.7);
    /// assert!(low > 0.57 && low < 0.59);
    /// // Of pairs of exactly 0.7, at the one threshold and at the other:
    /// assert!(params.expected_recall(0.7, 0.7) < 0.6);
    /// assert!(params.expected_recall(0.7, low) > 0.95);
    /// # Ok(())
    /// # }
    /// ```
    pub fn search_threshold(&self, similarity: f64) -> f64 {
        let error = self.standard_error(self.equal_rows_min(similarity));
        (similarity - ERRORS_BELOW * error).max(0.0)
    }
}
