//! The setters that `Query` and `Queries` share: each sets a term of the search.

use crate::index::read::alike::Alike;
use crate::index::read::queries::Queries;
use crate::index::read::query::Query;
use crate::index::read::terms::DocumentView;
use std::sync::Arc;
use std::time::Instant;

macro_rules! setters {
    ($builder:ident) => {
        impl<'a> $builder<'a> {
            /// Sets the minimum similarity of a match, from 0 to 1. Default: the index's own
            /// threshold.
            ///
            /// Only documents that share a band are found. Below the threshold that the bands were
            /// chosen for, similar documents are less likely to share one: see
            /// [`Params::expected_recall`](crate::Params::expected_recall) and
            /// [`Answer::is_unlikely`](crate::Answer::is_unlikely). With 0, a match is any document
            /// that shares a band and has more equal rows than expected by chance. Together with a
            /// limit, this returns the most similar documents, however similar they are.
            pub fn threshold(mut self, threshold: f64) -> Self {
                self.terms.threshold = Some(threshold);
                self
            }

            /// Returns only documents that contain, or are contained in, the query document: the
            /// larger of the two contains at least this fraction of the smaller one, from 0 to 1,
            /// as estimated from signatures ([`Params::containment`](crate::Params::containment)).
            /// Applied before the limit. [`Match::containment`](crate::Match::containment) holds
            /// the estimate.
            ///
            /// The threshold becomes 0 unless it is set: all documents that share a band are
            /// compared. Choose the threshold of the index for the similarity of such documents
            /// ([`Params::similarity_of_contained`](crate::Params::similarity_of_contained)). Costs
            /// reading the count of shingles of each candidate. Documents with an unknown count are
            /// left out.
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
            pub fn contained(mut self, contained: f64) -> Self {
                self.terms.contained = Some(contained);
                self
            }

            /// Sets the condition of a match, as for pairs and clusters. Replaces the threshold,
            /// the minimum containment and
            /// [`Query::for_verification`](crate::Query::for_verification).
            pub fn alike(mut self, alike: impl Into<Alike>) -> Self {
                self.terms.ask_for(alike.into());
                self
            }

            /// Searches from three standard errors below the threshold and below the minimum
            /// containment, for callers that compare the documents afterwards. The answer then
            /// contains nearly all true matches, and some false ones. See
            /// [`Snapshot::exact_matches`](crate::Snapshot::exact_matches), and
            /// [`Params::search_threshold`](crate::Params::search_threshold).
            pub fn for_verification(mut self) -> Self {
                self.terms.is_verified = true;
                self
            }

            /// Sets the maximum number of matches; the most similar ones are returned. Default:
            /// all.
            pub fn limit(mut self, limit: usize) -> Self {
                self.terms.limit = limit;
                self
            }

            /// Returns only documents whose key and payload pass the filter. It is applied before
            /// the limit, so that the ten best matches of one tenant do not depend on other
            /// tenants.
            ///
            /// The answer, and [`Answer::found`](crate::Answer::found), equal those of the query
            /// without the filter, minus the documents that do not pass. The filter is called once
            /// for each document that reaches the threshold (of several queries: once per query),
            /// in no particular order. It may use the index, since no lock is held during the call.
            /// A panic of the filter propagates out of [`Query::run`](crate::Query::run). Costs
            /// reading the key and the payload of each of those documents.
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

            /// Same as [`Query::filter`](crate::Query::filter), for a filter that also sees the
            /// time: only what is new, or was stored before a date. Replaces the other filter.
            /// Costs reading the time, too.
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
                mut self,
                filter: impl Fn(DocumentView<'_>) -> bool + Send + Sync + 'a,
            ) -> Self {
                self.terms.filter = Some(Arc::new(filter));
                self
            }

            /// Stops at this time and returns what was found so far:
            /// [`Answer::complete`](crate::Answer::complete) is false, and matches may be missing.
            /// The clock is read between blocks of some hundred candidates. So the query ends about
            /// 100 us late if the index is in memory; otherwise it may be late by a few disk reads.
            /// Default: never.
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
            pub fn deadline(mut self, deadline: Instant) -> Self {
                self.terms.stop.deadline = Some(deadline);
                self
            }

            /// Stops when this returns true, like [`Query::deadline`](crate::Query::deadline).
            /// Useful with a flag that another thread sets, for instance when the client has
            /// disconnected. `cancel` is called as often as a deadline is checked; no lock is held
            /// during the call.
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
                self.terms.stop.cancel = Some(Arc::new(cancel));
                self
            }

            /// Sets the maximum number of candidates per query document, to bound the time of a
            /// query that meets a crowd. A document counts once per shared band. Default: no
            /// maximum.
            ///
            /// If there are more candidates, [`Answer::complete`](crate::Answer::complete) is false
            /// and matches may be missing. Which ones depends on where documents are stored, so it
            /// may change over time. With several query keys, even the most similar document may be
            /// missing.
            pub fn max_candidates(mut self, candidates: usize) -> Self {
                self.terms.candidates_max = candidates;
                self
            }
        }
    };
}

setters!(Query);
setters!(Queries);
