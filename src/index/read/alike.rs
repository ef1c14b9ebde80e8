//! The condition that makes two documents a pair: a minimum similarity, or a minimum containment of
//! the smaller document in the larger one.

use crate::{Containment, Error, Original, Overlap, Params, Result};
use nearkin_sketch::engine::{
    ERRORS_BELOW, THRESHOLD_SLACK, needed_for_containment, needed_for_similarity, overlap_from,
};
use std::fmt;

/// The condition that makes two documents a pair: a minimum similarity, or a minimum containment.
///
/// A number is a similarity: `index.pairs(0.8)` and `index.pairs(Alike::similar(0.8))` are
/// equivalent.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Alike {
    threshold: f64,
    contained: Option<f64>,
    /// Whether the caller compares the documents of each pair afterwards. The search then goes
    /// below the minimum: see [`Alike::for_verification`].
    #[cfg_attr(feature = "serde", serde(default))]
    is_verified: bool,
}

impl Alike {
    /// The similarity is at least this value, from 0 to 1.
    pub fn similar(threshold: f64) -> Self {
        Self { threshold, contained: None, is_verified: false }
    }

    /// The larger document contains at least this fraction of the smaller one, from 0 to 1, as
    /// estimated from signatures: see [`Params::containment`]. All documents that share a band are
    /// compared, however low their similarity.
    ///
    /// If the larger document contains a fraction c of the smaller one, their similarity is at most
    /// c / (2 - c), and less if their lengths differ. Choose the threshold of the index so that its
    /// bands find such pairs ([`Params::similarity_of_contained`]). At low similarities the
    /// estimate is imprecise: verify important results with the documents themselves.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("letters.nearkin");
    /// use nearkin::{Alike, Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.3).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let letters = index.sketcher();
    /// index.insert("short", &letters.text("the bridge is closed until further notice")?)?;
    /// let long = "dear neighbours, the bridge is closed until further notice, yours, the mayor";
    /// index.insert("long", &letters.text(long)?)?;
    /// assert_eq!(index.pairs(0.9)?.count(), 0);
    /// let pair = index.pairs(Alike::contained(0.75))?.next().unwrap()?;
    /// assert!(pair.containment.unwrap().estimate > 0.75);
    /// # Ok(())
    /// # }
    /// ```
    pub fn contained(contained: f64) -> Self {
        Self { threshold: 0.0, contained: Some(contained), is_verified: false }
    }

    /// Additionally requires at least this similarity.
    #[must_use]
    pub fn and_similar(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// The condition of a minimum similarity, a minimum containment, or both. Without either, the
    /// similarity is at least `own`, the threshold of an index. With a containment, the default of
    /// the similarity is 0.
    ///
    /// ```
    /// use nearkin::Alike;
    ///
    /// assert_eq!(Alike::from_minima(None, None, 0.7), Alike::similar(0.7));
    /// assert_eq!(Alike::from_minima(None, Some(0.9), 0.7), Alike::contained(0.9));
    /// ```
    pub fn from_minima(threshold: Option<f64>, contained: Option<f64>, own: f64) -> Self {
        let own = if contained.is_some() { 0.0 } else { own };
        Self { threshold: threshold.unwrap_or(own), contained, is_verified: false }
    }

    /// Searches below the minimum, by three standard errors, so that nearly all true matches are
    /// found. (For a similarity, see [`Params::search_threshold`]; for containment, the standard
    /// error is that of [`Containment`].) The caller then compares the documents exactly, with
    /// [`Snapshot::exact_pair`](crate::Snapshot::exact_pair) or [`Alike::overlap`].
    ///
    /// Without verification, only about half of the pairs exactly at the threshold are found, since
    /// the answer is filtered by the estimate.
    #[must_use]
    pub fn for_verification(mut self) -> Self {
        self.is_verified = true;
        self
    }

    /// What two documents have in common, computed exactly from their shingles. `None` if they do
    /// not satisfy the condition; the comparison ends as soon as that is certain.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Alike, Params, Shingles, Sketcher};
    ///
    /// let sketcher = Sketcher::new(&Params::builder().shingles(Shingles::Words(1)).build()?);
    /// let whole = sketcher.original_text("one two three four five six")?;
    /// let part = sketcher.original_text("two three four")?;
    /// assert!(Alike::similar(0.6).overlap(&whole, &part).is_none());
    /// assert!(Alike::contained(0.6).overlap(&whole, &part).is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn overlap(&self, a: &Original, b: &Original) -> Option<Overlap> {
        let mut needed = needed_for_similarity(a, b, self.threshold);
        if let Some(contained) = self.contained {
            needed = needed.max(needed_for_containment(a, b, contained));
        }
        let found = overlap_from(a, b, needed)?;
        let contains_enough = self.contained.is_none_or(|least| found.containment >= least);
        (contains_enough && found.similarity >= self.threshold).then_some(found)
    }

    /// The similarity that the bands of an index must be able to find. For containment, it assumes
    /// that one document is twice as long as the other.
    ///
    /// ```
    /// use nearkin::Alike;
    ///
    /// assert_eq!(Alike::similar(0.7).similarity_needed(), 0.7);
    /// // Half of a document is similar to the whole to 0.5.
    /// assert_eq!(Alike::contained(1.0).similarity_needed(), 0.5);
    /// ```
    pub fn similarity_needed(&self) -> f64 {
        let of_contained = |contained| Params::similarity_of_contained(contained, 2.0);
        self.threshold.max(self.contained.map_or(0.0, of_contained))
    }

    /// Whether two documents with this many equal rows and these counts of shingles satisfy the
    /// condition, as estimated from signatures.
    pub fn is_reached(&self, params: &Params, equal_rows: u32, counts: (u32, u32)) -> bool {
        equal_rows >= self.equal_rows_min(params) && self.holds(params, equal_rows, counts)
    }

    /// Whether the condition includes a minimum containment.
    pub fn asks_for_containment(&self) -> bool {
        self.contained.is_some()
    }

    /// Refuses limits that are not from 0 to 1.
    pub(crate) fn check(self) -> Result<Self> {
        let check = |name, limit: f64| {
            if (0.0..=1.0).contains(&limit) {
                return Ok(());
            }
            Err(Error::invalid(format!("the {name} must be from 0 to 1, not {limit}")))
        };
        check("threshold", self.threshold)?;
        self.contained.map_or(Ok(()), |contained| check("containment", contained))?;
        Ok(self)
    }

    /// The minimum similarity and the minimum containment, as the caller gave them.
    pub(crate) fn thresholds(self) -> (Option<f64>, Option<f64>) {
        (Some(self.threshold), self.contained)
    }

    /// The condition as it decides, not as it searches for candidates to verify.
    pub(crate) fn to_decide(mut self) -> Self {
        self.is_verified = false;
        self
    }

    pub(crate) fn is_verified(self) -> bool {
        self.is_verified
    }

    /// The minimum similarity, as the caller gave it.
    pub(crate) fn least(self) -> f64 {
        self.threshold
    }

    /// The minimum number of equal rows of a pair.
    pub(crate) fn equal_rows_min(self, params: &Params) -> u32 {
        params.equal_rows_min(self.threshold_in(params))
    }

    /// The minimum similarity between the signatures of a pair.
    pub(super) fn threshold_in(self, params: &Params) -> f64 {
        if self.is_verified { params.search_threshold(self.threshold) } else { self.threshold }
    }

    /// Whether documents with this many equal rows and these counts of shingles are a pair.
    pub(crate) fn holds(self, params: &Params, equal_rows: u32, counts: (u32, u32)) -> bool {
        self.contained.is_none()
            || self.reached_by(params.containment(equal_rows, counts.0, counts.1))
    }

    /// Whether an estimated containment reaches the minimum, or, for verification, comes within
    /// three standard errors of it.
    pub(crate) fn reached_by(self, containment: Option<Containment>) -> bool {
        let Some(least) = self.contained else { return true };
        let errors = if self.is_verified { ERRORS_BELOW } else { 0.0 };
        containment.is_some_and(|containment| {
            containment.estimate + errors * containment.standard_error >= least - THRESHOLD_SLACK
        })
    }
}

/// Formats the condition as in "3 pairs of similarity 0.7 and above". The alternate form `{:#}`
/// says that signatures decided: "3 pairs of estimated similarity 0.7 and above".
impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (similarity, about) =
            if f.alternate() { ("estimated similarity", "about ") } else { ("similarity", "") };
        match self.contained {
            None => write!(f, "of {similarity} {} and above", self.threshold),
            Some(contained) => {
                write!(f, "of which one contains {about}{contained} of the other")?;
                match self.threshold {
                    0.0 => Ok(()),
                    threshold => write!(f, ", of {similarity} {threshold} and above"),
                }
            }
        }
    }
}

impl From<f64> for Alike {
    fn from(threshold: f64) -> Self {
        Self::similar(threshold)
    }
}
