//! What makes two documents a pair: the similarity that they reach, or how much of the smaller one
//! the larger one contains.

use crate::curve::THRESHOLD_SLACK;
use crate::index::read::query::check_threshold;
use crate::params::Containment;
use crate::{Error, Params, Result};
use std::fmt;

/// What makes two documents a pair: their similarity, or that one contains the other.
///
/// A number is a similarity: `index.pairs(0.8)` and `index.pairs(Alike::similar(0.8))` are one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Alike {
    threshold: f64,
    contained: Option<f64>,
}

impl Alike {
    /// The similarity is at least this, from 0 to 1.
    pub fn similar(threshold: f64) -> Self {
        Self { threshold, contained: None }
    }

    /// The larger document contains at least so much of the smaller one, from 0 to 1, as far as
    /// signatures tell: see [`Params::containment`]. Whatever shares a band is looked at, however
    /// low the similarity.
    ///
    /// Documents of which the larger one contains c of the smaller one are similar to c / (2 - c)
    /// at most, and to less the more their lengths differ: choose the index's threshold so that
    /// its bands find them ([`Params::similarity_of_contained`]). At low similarities the
    /// estimate strays: verify what matters by the documents themselves.
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
        Self { threshold: 0.0, contained: Some(contained) }
    }

    /// The same, and the similarity is at least this.
    #[must_use]
    pub fn and_similar(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    pub(crate) fn check(self) -> Result<Self> {
        check_threshold(self.threshold)?;
        if let Some(contained) = self.contained {
            check_contained(contained)?;
        }
        Ok(self)
    }

    /// The least number of equal rows that a pair has.
    pub(super) fn equal_rows_min(self, params: &Params) -> u32 {
        params.equal_rows_min(self.threshold)
    }

    /// Whether counts of shingles decide, too.
    pub(super) fn asks_for_counts(self) -> bool {
        self.contained.is_some()
    }

    /// Whether documents with so many equal rows, and these counts of shingles, are a pair.
    pub(super) fn holds(self, params: &Params, equal_rows: u32, counts: (u32, u32)) -> bool {
        let Some(least) = self.contained else { return true };
        let told = params.containment(equal_rows, counts.0, counts.1);
        told.is_some_and(|told| reaches(told, least))
    }
}

/// As in "3 pairs of similarity 0.7 and above".
impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.contained {
            None => write!(f, "of similarity {} and above", self.threshold),
            Some(contained) => {
                write!(f, "of which one contains {contained} of the other")?;
                match self.threshold {
                    0.0 => Ok(()),
                    threshold => write!(f, ", of similarity {threshold} and above"),
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

/// Whether an estimate reaches what was asked for.
pub(super) fn reaches(told: Containment, contained: f64) -> bool {
    told.estimate >= contained - THRESHOLD_SLACK
}

/// Refuses what is not from 0 to 1.
pub(super) fn check_contained(contained: f64) -> Result<()> {
    if (0.0..=1.0).contains(&contained) {
        return Ok(());
    }
    Err(Error::invalid(format!("what is contained must be from 0 to 1, not {contained}")))
}
