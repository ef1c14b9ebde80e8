//! The conditions of a search: which documents it may return, how many, and when it stops.

use crate::index::read::alike::Alike;
use crate::index::read::selection::{DocumentView, Selection};
use crate::index::read::stop::Stop;
use crate::{Error, Params, Progress, Result};
use nearkin_sketch::engine::Excerpt;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

mod settings;

pub use settings::{ConditionSetting, SettingValue};

/// The conditions of a search: of queries, of pairs and clusters, of admissions and of passage
/// queries.
///
/// Each of them carries conditions, and has setters for single ones. A search checks its conditions
/// when it runs. What applies to which search: `docs/reference/QUERIES.md`.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Batch, Conditions, Edit, Index, Options, Params};
///
/// let index = Index::temporary(&Params::for_threshold(0.7).build()?, Options::default())?;
/// let story = index.sketcher().text("the ferry was cancelled after a storm")?;
/// for (key, time) in [("north/1", 1_000), ("north/2", 5_000), ("south/1", 6_000)] {
///     index.write(Batch::from_iter([Edit::insert(key, &story).time(time)]))?;
/// }
/// let conditions = Conditions::default().prefix("north/").after(2_000);
/// let answer = index.query(&story).conditions(conditions.clone()).run()?;
/// assert_eq!((answer.found, answer.matches[0].key.as_slice()), (1, &b"north/2"[..]));
/// assert_eq!(index.pairs(conditions.prefix(""))?.count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "conditions do nothing until a search has them"]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "settings::PlainConditions", try_from = "settings::PlainConditions")
)]
pub struct Conditions<'a> {
    threshold: Option<f64>,
    contained: Option<f64>,
    is_verified: bool,
    pub(crate) limit: usize,
    pub(crate) candidates_max: usize,
    /// `None`: all documents pass.
    pub(crate) selection: Option<Arc<Selection<'a>>>,
    pub(crate) stop: Stop<'a>,
}

impl Default for Conditions<'_> {
    #[inline]
    fn default() -> Self {
        Self {
            threshold: None,
            contained: None,
            is_verified: false,
            limit: usize::MAX,
            candidates_max: usize::MAX,
            selection: None,
            stop: Stop { deadline: None, cancel: None },
        }
    }
}

impl<'a> Conditions<'a> {
    /// Sets the minimum similarity of a match, from 0 to 1. Default: the index's own threshold.
    ///
    /// Only documents that share a band are found. Below the threshold that the bands were chosen
    /// for, similar documents are less likely to share one: see
    /// [`Params::expected_recall`](crate::Params::expected_recall) and
    /// [`Answer::is_unlikely`](crate::Answer::is_unlikely). With 0, a match is any document that
    /// shares a band and has more equal rows than expected by chance. Together with a limit, this
    /// returns the most similar documents, however similar they are.
    #[inline]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// Returns only documents that contain, or are contained in, the query document: the larger of
    /// the two contains at least this fraction of the smaller one, from 0 to 1, as estimated from
    /// signatures ([`Params::containment`](crate::Params::containment)). Applied before the limit.
    /// [`Match::containment`](crate::Match::containment) holds the estimate.
    ///
    /// The threshold becomes 0 unless it is set: all documents that share a band are compared.
    /// Choose the threshold of the index for the similarity of such documents
    /// ([`Params::similarity_of_contained`](crate::Params::similarity_of_contained)). Costs reading
    /// the count of shingles of each candidate. Documents with an unknown count are left out.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("letters.nearkin");
    /// use nearkin::{Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.3).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let letters = index.sketcher();
    /// index.insert("short", &letters.text("the bridge is closed until further notice")?)?;
    /// let long = "dear neighbours, the bridge is closed until further notice, the mayor";
    /// let answer = index.query(&letters.text(long)?).contained(0.75).run()?;
    /// assert_eq!(answer.matches[0].key, b"short");
    /// assert!(answer.matches[0].similarity < 0.8);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn contained(mut self, contained: f64) -> Self {
        self.contained = Some(contained);
        self
    }

    /// Sets the condition of a match or a pair. Replaces the threshold, the minimum containment and
    /// [`Conditions::for_verification`].
    pub fn alike(mut self, alike: impl Into<Alike>) -> Self {
        let alike = alike.into();
        (self.threshold, self.contained) = alike.thresholds();
        self.is_verified = alike.is_verified();
        self
    }

    /// Searches from three standard errors below the threshold and below the minimum containment,
    /// for callers that compare the documents afterwards. The answer then contains nearly all true
    /// matches, and some false ones. See
    /// [`Snapshot::exact_matches`](crate::Snapshot::exact_matches), and
    /// [`Params::search_threshold`](crate::Params::search_threshold).
    #[inline]
    pub fn for_verification(mut self) -> Self {
        self.is_verified = true;
        self
    }

    /// Sets the maximum number of results: of matches (the most similar ones are returned), of
    /// pairs (in no particular order), of clusters (those with the smallest keys), of texts.
    /// Default: all.
    #[inline]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the maximum number of candidates per query document, to bound the time of a query that
    /// meets a crowd. A document counts once per shared band. Default: no maximum.
    ///
    /// If there are more candidates, [`Answer::complete`](crate::Answer::complete) is false and
    /// matches may be missing. Which ones depends on where documents are stored, so it may change
    /// over time. With several query keys, even the most similar document may be missing.
    #[inline]
    pub fn max_candidates(mut self, candidates: usize) -> Self {
        self.candidates_max = candidates;
        self
    }

    /// Returns only documents whose key begins with this prefix: a tenant's part of the index. End
    /// the prefix with a byte that no tenant's name has: `acme/` is no part of `acme-2/`. An empty
    /// prefix is that of all keys. Applied before the limit; costs reading the keys of the
    /// documents that reach the threshold.
    ///
    /// An admission also refuses newcomers whose own key lacks the prefix, as `Invalid`, before
    /// anything is written: see [`Admit`](crate::Admit).
    pub fn prefix(self, prefix: impl AsRef<[u8]>) -> Self {
        self.select(|selection| selection.prefix = prefix.as_ref().to_vec())
    }

    /// Returns only documents that were inserted or last replaced at this time or later, in
    /// milliseconds since 1970, UTC. Applied before the limit; costs reading the times of the
    /// documents that reach the threshold.
    pub fn after(self, time: u64) -> Self {
        self.select(|selection| selection.after = Some(time))
    }

    /// Returns only documents that were inserted or last replaced before this time, in milliseconds
    /// since 1970, UTC: those that [`Index::remove_before`](crate::Index::remove_before) removes.
    pub fn before(self, time: u64) -> Self {
        self.select(|selection| selection.before = Some(time))
    }

    /// Returns only documents whose key and payload pass the filter. It is applied before the
    /// limit, so that the ten best matches of one tenant do not depend on other tenants.
    ///
    /// The answer, and [`Answer::found`](crate::Answer::found), equal those of the query without
    /// the filter, minus the documents that do not pass. The filter is called once for each
    /// document that reaches the threshold (of several queries: once per query), in no particular
    /// order. It may use the index, since no lock is held during the call. A panic of the filter
    /// propagates out of [`Query::run`](crate::Query::run). Costs reading the key and the payload
    /// of each of those documents.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("tickets.nearkin");
    /// use nearkin::{Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let ticket = index.sketcher().text("the printer prints nothing but blank pages")?;
    /// let keys = ["north/1", "north/2", "south/1"];
    /// for key in keys {
    ///     index.insert(key, &ticket)?;
    /// }
    /// let south = |key: &[u8], _: &[u8]| key.starts_with(b"south/");
    /// let answer = index.query(&ticket).filter(south).run()?;
    /// assert_eq!((answer.found, answer.matches[0].key.as_slice()), (1, &b"south/1"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(self, filter: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'a) -> Self {
        self.filter_document(move |seen| filter(seen.key, seen.payload))
    }

    /// Same as [`Conditions::filter`], for a filter that also sees the time: only what is new, or
    /// was stored before a date. Replaces the other filter. Costs reading the time, too.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("news.nearkin");
    /// use nearkin::{Batch, Edit, Index, Options, Params};
    ///
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let story = index.sketcher().text("the ferry was cancelled after a storm")?;
    /// for (key, time) in [("monday", 1_000), ("friday", 5_000)] {
    ///     index.write(Batch::from_iter([Edit::insert(key, &story).time(time)]))?;
    /// }
    /// let answer = index.query(&story).filter_document(|seen| seen.time >= 2_000).run()?;
    /// assert_eq!((answer.found, answer.matches[0].key.as_slice()), (1, &b"friday"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter_document(
        self,
        filter: impl Fn(DocumentView<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.select(|selection| selection.filter = Some(Arc::new(filter)))
    }

    /// Stops at this time and returns what was found so far:
    /// [`Answer::complete`](crate::Answer::complete) is false, and matches may be missing. Pairs,
    /// clusters and admissions have no partial answer: they fail with
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled), and the newcomer is not written. The
    /// clock is read between blocks of some hundred candidates. So the query ends about 100 us late
    /// if the index is in memory; otherwise it may be late by a few disk reads. Default: never.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// use std::time::{Duration, Instant};
    ///
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// # let fox = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
    /// let query = index.query(&fox).limit(10);
    /// let answer = query.clone().deadline(Instant::now() + Duration::from_secs(5)).run()?;
    /// assert!(answer.complete);
    /// let answer = query.deadline(Instant::now()).run()?;
    /// assert!(!answer.complete);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.stop.deadline = Some(deadline);
        self
    }

    /// Stops when this returns true, like [`Conditions::deadline`]. Useful with a flag that another
    /// thread sets, for instance when the client has disconnected. `cancel` is called as often as a
    /// deadline is checked; no lock is held during the call.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// # let fox = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
    /// let gone = AtomicBool::new(false);
    /// let query = index.query(&fox).cancel_if(|| gone.load(Ordering::Relaxed));
    /// assert!(query.run()?.complete);
    /// gone.store(true, Ordering::Relaxed);
    /// assert!(!query.run()?.complete);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        self.stop.cancel = Some(Arc::new(cancel));
        self
    }

    fn select(mut self, change: impl FnOnce(&mut Selection<'a>)) -> Self {
        let mut selection = self.selection.take().unwrap_or_default();
        change(Arc::make_mut(&mut selection));
        self.selection = Some(selection).filter(|selection| !selection.is_all());
        self
    }
}

impl Conditions<'_> {
    /// The condition of a match or a pair, after a check of all conditions: the one place that
    /// refuses some. `own` is the threshold of the index.
    pub(crate) fn check(&self, own: f64) -> Result<Alike> {
        if let Some(selection) = &self.selection {
            selection.check()?;
        }
        let alike = Alike::from_minima(self.threshold, self.contained, own);
        let alike = if self.is_verified { alike.for_verification() } else { alike };
        alike.check()
    }

    /// The conditions on parts of documents, whose keys begin with those of the documents. Which
    /// documents pass, and how many are returned, is decided later, by [`Conditions::pass`].
    pub(crate) fn of_parts(&self) -> Self {
        let prefix = self.selection.as_ref().map_or(&[][..], |selection| &selection.prefix);
        Self { limit: usize::MAX, selection: None, ..self.clone() }.prefix(prefix)
    }

    /// Whether a document passes.
    pub(crate) fn pass(&self, seen: DocumentView<'_>) -> Result<bool> {
        self.selection.as_ref().map_or(Ok(true), |selection| {
            let begins_with = |prefix: &[u8]| Ok(seen.key.starts_with(prefix));
            selection.passes(|| Ok(seen.time), begins_with, |filter| Ok(filter(seen)))
        })
    }

    /// The progress report of pairs and clusters, which also stops when the conditions say so.
    pub(super) fn stopping(
        &self,
        report: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> impl FnMut(Progress) -> ControlFlow<()> {
        |progress| if self.stop.is_due() { ControlFlow::Break(()) } else { report(progress) }
    }

    /// Same as [`Conditions::check`], for pairs and clusters, which compare all candidates.
    pub(crate) fn check_of_pairs(&self, params: &Params) -> Result<Alike> {
        if self.candidates_max < usize::MAX {
            return Err(Error::invalid(
                "max_candidates is no condition of pairs and clusters: they compare all documents \
                 that share a band; give a deadline",
            ));
        }
        self.check(params.threshold())
    }
}

impl From<Alike> for Conditions<'_> {
    fn from(alike: Alike) -> Self {
        Self::default().alike(alike)
    }
}

/// A number is a minimum similarity.
impl From<f64> for Conditions<'_> {
    fn from(threshold: f64) -> Self {
        Self::default().threshold(threshold)
    }
}

/// The conditions that were set, on one line.
impl fmt::Debug for Conditions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Conditions");
        if let Some(threshold) = self.threshold {
            shown.field("threshold", &threshold);
        }
        if let Some(contained) = self.contained {
            shown.field("contained", &contained);
        }
        for (name, count) in [("limit", self.limit), ("max_candidates", self.candidates_max)] {
            if count < usize::MAX {
                shown.field(name, &count);
            }
        }
        let selection = self.selection.as_deref();
        if let Some(prefix) = selection.map(|of| &*of.prefix).filter(|of| !of.is_empty()) {
            shown.field("prefix", &Excerpt(prefix));
        }
        let time = |of: fn(&Selection<'_>) -> Option<u64>| selection.and_then(of);
        for (name, time) in [("after", time(|of| of.after)), ("before", time(|of| of.before))] {
            if let Some(time) = time {
                shown.field(name, &time);
            }
        }
        let Stop { deadline, cancel } = &self.stop;
        let is_set = [
            ("for_verification", self.is_verified),
            ("filter", selection.is_some_and(|selection| selection.filter.is_some())),
            ("deadline", deadline.is_some()),
            ("cancel_if", cancel.is_some()),
        ];
        for (name, _) in is_set.into_iter().filter(|(_, is_set)| *is_set) {
            shown.field(name, &format_args!("set"));
        }
        shown.finish()
    }
}

/// Implements the setters of [`Conditions`] for a type with the field `conditions`.
macro_rules! setters {
    ($builder:ident) => {
        impl<'a> $builder<'a> {
            /// Sets all conditions at once; those set before are replaced.
            #[inline]
            pub fn conditions(mut self, conditions: $crate::Conditions<'a>) -> Self {
                self.conditions = conditions;
                self
            }
        }

        $crate::index::setters! { $builder
            "Sets the minimum similarity", threshold(threshold: f64);
            "Sets the minimum containment", contained(contained: f64);
            "Sets the minimum similarity and containment", alike(alike: impl Into<$crate::Alike>);
            "Searches below the minimum, for a caller that compares the documents",
                for_verification();
            "Sets the maximum number of results", limit(limit: usize);
            "Sets the maximum number of candidates", max_candidates(candidates: usize);
            "Considers only keys that begin with this prefix", prefix(prefix: impl AsRef<[u8]>);
            "Considers only documents of this time or later", after(time: u64);
            "Considers only documents older than this time", before(time: u64);
            "Considers only documents whose key and payload pass",
                filter(filter: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'a);
            "Considers only documents that pass, by key, payload and time",
                filter_document(
                    filter: impl Fn($crate::DocumentView<'_>) -> bool + Send + Sync + 'a
                );
            "Stops at this time", deadline(deadline: std::time::Instant);
            "Stops when this returns true", cancel_if(cancel: impl Fn() -> bool + Send + Sync + 'a);
        }
    };
    ($builder:ident $($text:literal, $name:ident($($value:ident: $type:ty)?);)*) => {
        impl<'a> $builder<'a> {
            $(
                #[doc = concat!($text, ": see [`Conditions::", stringify!($name), "`](crate::\
                    Conditions::", stringify!($name), ").")]
                #[inline]
                pub fn $name(mut self $(, $value: $type)?) -> Self {
                    self.conditions = self.conditions.$name($($value)?);
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
