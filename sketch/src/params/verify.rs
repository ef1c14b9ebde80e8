//! The search threshold for queries whose matches are verified exactly afterwards.

use super::Params;

/// Number of standard errors by which a search goes below the threshold, if its results are
/// verified. For about one pair in 1,000, the estimate is even lower.
pub const ERRORS_BELOW: f64 = 3.0;

impl Params {
    /// The search threshold to find pairs of at least `similarity` that are then verified exactly:
    /// three standard errors below `similarity`, but not below 0.
    ///
    /// The estimates of nearly all pairs that reach `similarity` are above this threshold. A search
    /// also returns pairs below `similarity`; the exact comparison removes them
    /// (`Snapshot::exact_matches`). `Query::for_verification` and `Alike::for_verification` use
    /// this threshold.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::Params;
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let low = params.search_threshold(0.7);
    /// assert!(low > 0.57 && low < 0.59);
    /// // Recall of pairs of exactly 0.7 at both thresholds:
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
