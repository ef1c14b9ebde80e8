//! The conditions under which newcomers are admitted, as given and as checked.

use crate::index::read::Alike;
use crate::index::read::candidate::Found;
use crate::index::read::conditions::{Conditions, setters};
use crate::index::read::stop::Stop;
use crate::index::state::versions::Snapshot;
use crate::index::write::operation::Operation;
use crate::{Error, Result};
use std::fmt;

/// The conditions under which newcomers are admitted.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("papers.nearkin");
/// use nearkin::{Admit, Decision, Index, Options, Params, Shingles};
///
/// // Bands for the lower of the two similarities, so that related documents are found, too.
/// let params = Params::for_threshold(0.3).shingles(Shingles::Words(2)).build()?;
/// let index = Index::create(&dir, &params, Options::default())?;
/// let sketch = index.sketcher();
/// let terms = Admit::at(0.9).relate(0.3);
/// let first = sketch.text("The quick brown fox jumps over the lazy dog at noon")?;
/// assert!(index.admit("p1", &first, &terms)?.is_admitted());
///
/// let again = sketch.text("the quick brown fox jumps over the LAZY dog at noon!")?;
/// let Decision::Rejected { duplicates, .. } = index.admit("p2", &again, &terms)?.decision else {
///     panic!("it is the same but for its case");
/// };
/// assert_eq!(duplicates[0].key, b"p1");
/// assert!(!index.contains("p2")?);
///
/// let other = sketch.text("The quick brown fox jumps over the lazy cow at nine")?;
/// let Decision::Admitted { related, .. } = index.admit("p3", &other, &terms)?.decision else {
///     panic!("it is like the first, but not the same");
/// };
/// assert_eq!(related[0].key, b"p1");
/// # Ok(())
/// # }
/// ```
///
/// # Which documents count
///
/// Prefix, times and filter of the [`Conditions`] say which stored documents may reject a newcomer,
/// be related to it, or be replaced by it: separate tenants that share an index. To all others the
/// decision, and what it returns, are as if they were not stored.
///
/// With a prefix, a newcomer with another key is refused as `Invalid` before anything is written.
/// A document under the newcomer's own key that does not pass is not replaced: the call fails with
/// [`ErrorKind::Exists`](crate::ErrorKind::Exists). Give each tenant keys of its own, such as
/// `acme/17`.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Admit, ErrorKind, Index, Options, Params};
///
/// let index = Index::temporary(&Params::for_threshold(0.7).build()?, Options::default())?;
/// let text = index.sketcher().text("the annual report of the harbour authority")?;
/// for tenant in ["north/", "south/"] {
///     let admit = Admit::at(0.9).prefix(tenant);
///     assert!(index.admit(format!("{tenant}1"), &text, &admit)?.is_admitted());
///     assert!(!index.admit(format!("{tenant}2"), &text, &admit)?.is_admitted());
/// }
/// let refused = index.admit("north/3", &text, &Admit::at(0.9).prefix("south/")).unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::Invalid);
/// let west = Admit::at(0.9).filter(|key, _payload| key.starts_with(b"west/"));
/// assert!(index.admit("west/1", &text, &west)?.is_admitted());
/// # Ok(())
/// # }
/// ```
///
/// The filter runs without a lock and may use the index. It is called once for each version of a
/// document that may count. If other threads write similar documents meanwhile, those are looked
/// at, too; after 16 attempts the call fails with `Unsettled`. A panic of the filter propagates,
/// and the newcomer is not written.
///
/// # Bounds
///
/// `limit` bounds the matches returned, most similar first: duplicates for a rejected newcomer,
/// related documents for an admitted one. The list of removed duplicates is always complete. With
/// a bound on candidates, a duplicate may be missed:
/// [`Admission::complete`](crate::Admission::complete) is false then. If `deadline` or `cancel_if`
/// stops the call, it fails with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled), and the
/// newcomer is not written; those of the same call that were decided before are.
#[derive(Clone)]
#[must_use = "the conditions of an admission do nothing by themselves"]
pub struct Admit<'a> {
    /// The conditions of a duplicate; all but the threshold also apply to a related document.
    pub(super) conditions: Conditions<'a>,
    /// Minimum similarity of related documents; `None`: none are requested.
    pub(super) relate: Option<f64>,
    pub(super) keep: Keep,
}

setters!(Admit);

/// Which of a newcomer and its duplicates stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Keep {
    /// The stored document: a newcomer with a duplicate is rejected.
    #[default]
    First,
    /// The newcomer: it replaces all its duplicates.
    Newest,
    /// The longer one: the newcomer replaces its duplicates if it has more shingles than each of
    /// them; otherwise it is rejected.
    Longest,
    /// All of them: the newcomer is always admitted, nothing is removed, and its duplicates are
    /// returned with the related documents.
    All,
}

/// `first`, `newest`, `longest` or `all`.
impl std::str::FromStr for Keep {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "first" => Ok(Self::First),
            "newest" => Ok(Self::Newest),
            "longest" => Ok(Self::Longest),
            "all" => Ok(Self::All),
            _ => Err(Error::invalid(format!(
                "keep must be 'first', 'newest', 'longest' or 'all', not {name:?}"
            ))),
        }
    }
}

impl<'a> Admit<'a> {
    /// Rejects newcomers with a duplicate: a stored document, under another key, that reaches this
    /// threshold. A plain number is a minimum similarity, from 0 to 1; an [`Alike`] or whole
    /// [`Conditions`] can be given in its place (without a threshold: that of the index). With
    /// [`Alike::contained`], the threshold is the share of the smaller document contained in the
    /// larger one, whichever of the two is stored.
    ///
    /// Duplicates are found as by a query at that threshold: choose the bands of the index so that
    /// [`Params::candidate_probability`](crate::Params::candidate_probability) is high there
    /// ([`Alike::similarity_needed`]). Similarity and containment are estimates from signatures;
    /// the documents themselves are compared only by [`Admit::verify`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("letters.nearkin");
    /// use nearkin::{Admit, Alike, Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.3).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let letters = index.sketcher();
    /// let long = "dear neighbours, the bridge is closed until further notice, yours, the mayor";
    /// index.insert("long", &letters.text(long)?)?;
    /// let part = letters.text("the bridge is closed until further notice")?;
    /// assert!(!index.admit("part", &part, &Admit::at(Alike::contained(0.75)))?.is_admitted());
    /// assert!(index.admit("part", &part, &Admit::at(0.9))?.is_admitted());
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(reject: impl Into<Conditions<'a>>) -> Self {
        Self { conditions: reject.into(), relate: None, keep: Keep::First }
    }

    /// For an admitted newcomer, also returns the related documents: those of at least this
    /// similarity that are not duplicates. Must be at least 0 and at most the similarity of a
    /// duplicate. Default: no related documents.
    pub fn relate(mut self, relate: f64) -> Self {
        self.relate = Some(relate);
        self
    }

    /// Which of a newcomer and its duplicates stays. Default: [`Keep::First`].
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Whether the caller's code takes part in the decision. It must not run under the write lock.
    pub(super) fn calls_back(&self) -> bool {
        self.conditions.selection.is_some() || self.conditions.stop.may_come()
    }

    /// Checks the thresholds, and converts them to numbers of equal rows.
    pub(super) fn in_rows(&self, applied: &Snapshot) -> Result<AdmitTerms> {
        self.in_rows_by(applied, self.conditions.check(applied.params().threshold())?)
    }

    /// Like [`Admit::in_rows`], for the thresholds as they decide: not lower ones for a search.
    pub(super) fn in_rows_to_decide(&self, applied: &Snapshot) -> Result<AdmitTerms> {
        let reject = self.conditions.check(applied.params().threshold())?;
        self.in_rows_by(applied, reject.to_decide())
    }

    fn in_rows_by(&self, applied: &Snapshot, reject: Alike) -> Result<AdmitTerms> {
        let Self { conditions, relate, keep } = self;
        let (relate, keep) = (*relate, *keep);
        let Conditions { limit, candidates_max, .. } = *conditions;
        let reject_min = reject.equal_rows_min(applied.params());
        applied.refuse_if_closed()?;
        let related = |relate| -> Result<u32> {
            let alike = Alike::similar(relate).check()?;
            let alike = if reject.is_verified() { alike.for_verification() } else { alike };
            Ok(alike.equal_rows_min(applied.params()))
        };
        let relate_min = relate.map(related).transpose()?;
        let by_counts = reject.asks_for_containment();
        if !by_counts && let Some(relate_above) = relate.filter(|relate| *relate > reject.least()) {
            return Err(Error::invalid(format!(
                "relate must not be above reject: {relate_above} is above {}",
                reject.least()
            )));
        }
        let search_min = relate_min.map_or(reject_min, |relate| relate.min(reject_min));
        Ok(AdmitTerms { reject, reject_min, relate_min, search_min, keep, limit, candidates_max })
    }
}

/// [`Admit`], checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdmitTerms {
    pub(super) reject: Alike,
    /// Minimum equal rows of a duplicate.
    pub(super) reject_min: u32,
    /// Minimum equal rows of a related document; `None` if none are requested.
    pub(super) relate_min: Option<u32>,
    /// Minimum equal rows of a match of the search: the smaller of the two minimums above.
    pub(super) search_min: u32,
    pub(super) keep: Keep,
    pub(super) limit: usize,
    pub(super) candidates_max: usize,
}

impl AdmitTerms {
    /// Splits the matches of a newcomer into duplicates and related documents.
    pub(super) fn part<'f>(
        self,
        before: &Snapshot,
        found: &'f mut [Found],
        newcomer: &Operation<'_>,
    ) -> Result<(&'f mut [Found], &'f mut [Found])> {
        let Self { reject, reject_min, relate_min, .. } = self;
        let counts = &[newcomer.shingle_count()][..];
        let counts = reject.asks_for_containment().then_some(counts);
        found.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let reaching = found.partition_point(|found| found.equal_rows >= reject_min);
        let duplicates = match counts {
            None => reaching,
            Some(counts) => {
                let found = &mut found[..reaching];
                before.keep_contained(found, reject, counts, &Stop::default())?.0
            }
        };
        let (duplicates, others) = found.split_at_mut(duplicates);
        others.sort_unstable_by_key(|found| std::cmp::Reverse(found.equal_rows));
        let related =
            relate_min.map_or(0, |least| others.partition_point(|found| found.equal_rows >= least));
        Ok((duplicates, &mut others[..related]))
    }
}

impl fmt::Debug for Admit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut admit = f.debug_struct("Admit");
        admit.field("conditions", &self.conditions).field("relate", &self.relate);
        admit.field("keep", &self.keep).finish()
    }
}
