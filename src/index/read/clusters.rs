//! Clusters: documents connected by pairs of similar documents.
//!
//! Documents with the same signature are united first, and only one document of each such crowd is
//! compared with others: a crowd of n copies takes n log n comparisons. `connect.rs` unites the
//! rest.

use crate::format::bytes::wide;
use crate::index::read::alike::Alike;
use crate::index::read::answer::{Cluster, Progress};
use crate::index::read::conditions::Conditions;
use crate::index::read::connect::{cancelled, connect};
use crate::index::read::exact::{Exact, Fetch};
use crate::index::read::forest::{Forest, Numbers};
use crate::index::read::margin::Margin;
use crate::index::read::sweep::Sweep;
use crate::index::state::versions::{Place, Snapshot};
use crate::segment::Bits;
use crate::{Error, ErrorKind, Result, SimilarityText};
use nearkin_sketch::engine::count_equal_rows;
use std::fmt;
use std::ops::{ControlFlow, Range};
use xxhash_rust::xxh3::xxh3_64;

/// The clusters, one at a time, in the order of their smallest keys: an index that stores the same
/// documents in another way yields them in the same order.
pub struct Clusters {
    snapshot: Snapshot,
    /// Members of all clusters, cluster by cluster.
    members: Vec<Place>,
    /// The clusters left: the smallest key, and the range of its members.
    left: std::vec::IntoIter<(Vec<u8>, Range<usize>)>,
    margin: Margin,
}

impl Snapshot {
    /// The clusters of documents linked by pairs that reach a threshold ([`Alike`]). See
    /// [`Snapshot::clusters_with`].
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::clusters_with`], without `Cancelled`.
    pub fn clusters<'c>(&self, conditions: impl Into<Conditions<'c>>) -> Result<Clusters> {
        self.clusters_with(conditions, &mut |_| ControlFlow::Continue(()))
    }

    /// The clusters: documents connected by pairs that satisfy [`Alike`]. Reports the progress in
    /// documents to `progress`, which may cancel the search.
    ///
    /// [`Conditions`] restrict them: the clusters are those of the documents that pass prefix,
    /// times and filter, so a hidden document connects nothing. `limit` keeps the clusters with
    /// the smallest keys. `deadline` and `cancel_if` end the search with `Cancelled`.
    ///
    /// Takes as long as [`Snapshot::pairs`], and needs memory of 4 bytes per document, 16 bytes per
    /// member of a cluster, and one key per cluster.
    ///
    /// # Errors
    ///
    /// `Invalid` (threshold not from 0 to 1, or other [`Conditions`]), `Cancelled` (`progress`
    /// broke off), `Corrupt`, `Io`.
    pub fn clusters_with<'c>(
        &self,
        conditions: impl Into<Conditions<'c>>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Clusters> {
        self.refuse_if_closed()?;
        let conditions = conditions.into();
        let alike = conditions.check_of_pairs(self.params())?;
        let progress = &mut conditions.stopping(progress);
        let sweep = Sweep::by_conditions(self, alike, &conditions, progress)?;
        let numbers = Numbers::for_snapshot(self)?;
        let mut forest = Forest::new(numbers.count);
        let first = sweep.restarted();
        let twins = unite_twins(first, Twins::Connected, &numbers, &mut forest, progress)?;
        let is_twin = |place| twins.is_set(numbers.number(place));
        let connected = connect(sweep, &numbers, &mut forest, &is_twin, None, progress)?;
        let clusters = Clusters::new(self, &numbers, forest, conditions.limit)?;
        Ok(Clusters { margin: connected.margin, ..clusters })
    }

    /// The clusters by exact comparison: documents connected by pairs whose shingles satisfy
    /// [`Alike`]. Candidate pairs are searched from three standard errors below the minimum
    /// ([`Alike::for_verification`]). `fetch` returns the original documents, as for
    /// [`Snapshot::exact_pair`]. If a document of a pair is stale or missing, the pair connects
    /// nothing.
    ///
    /// Costs as much as [`Snapshot::clusters`], plus one exact comparison for each pair of
    /// documents that are not connected yet. `fetch` may be called several times for the same
    /// document.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::clusters_with`] and of `fetch`.
    pub fn exact_clusters<'c>(
        &self,
        conditions: impl Into<Conditions<'c>>,
        fetch: &mut Fetch<'_>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Clusters> {
        self.refuse_if_closed()?;
        let conditions = conditions.into();
        let alike = conditions.check_of_pairs(self.params())?;
        let progress = &mut conditions.stopping(progress);
        let lowered = alike.for_verification();
        let sweep = Sweep::by_conditions(self, lowered, &conditions, progress)?;
        let numbers = Numbers::for_snapshot(self)?;
        let mut forest = Forest::new(numbers.count);
        let confirm = &mut |a, b| {
            let keys = (self.key(a)?, self.key(b)?);
            let exact = self.exactly((&keys.0, &keys.1), alike, fetch)?;
            Ok(matches!(exact, Exact::Similarity(_) | Exact::Contained(_)))
        };
        connect(sweep, &numbers, &mut forest, &|_| false, Some(confirm), progress)?;
        Clusters::new(self, &numbers, forest, conditions.limit)
    }
}

impl Clusters {
    /// How often a document reached the threshold with one of a cluster, and how often it came only
    /// just below it. Documents that other pairs had connected already were not compared, so this
    /// is less than the [`Pairs::margin`](crate::Pairs::margin). Nothing is counted with
    /// [`Snapshot::exact_clusters`].
    pub fn margin(&self) -> Margin {
        self.margin
    }

    /// Costs reading the key of every member.
    fn new(snapshot: &Snapshot, numbers: &Numbers, forest: Forest, limit: usize) -> Result<Self> {
        let numbered = forest.members();
        let mut members = Vec::with_capacity(numbered.len());
        let mut left = Vec::new();
        for cluster in numbered.chunk_by(|one, next| one.0 == next.0) {
            let begin = members.len();
            let mut least: Option<Vec<u8>> = None;
            for (_, number) in cluster {
                let place = numbers.place(*number);
                let key = snapshot.key(place)?;
                least = Some(match least {
                    Some(least) => least.min(key),
                    None => key,
                });
                members.push(place);
            }
            left.extend(least.map(|least| (least, begin..members.len())));
        }
        left.sort_unstable_by(|one, next| one.0.cmp(&next.0));
        left.truncate(limit);
        let (left, margin) = (left.into_iter(), Margin::default());
        Ok(Self { snapshot: snapshot.clone(), members, left, margin })
    }
}

impl Iterator for Clusters {
    type Item = Result<Cluster>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, range) = self.left.next()?;
        let places = self.members[range].iter();
        let member = |place: &Place| Ok((self.snapshot.key(*place)?, self.snapshot.time(*place)?));
        Some(places.map(member).collect::<Result<Vec<_>>>().map(|mut members| {
            members.sort_unstable();
            let (keys, times) = members.into_iter().unzip();
            Cluster { keys, times }
        }))
    }
}

/// How a document of a cluster is related to the representative.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Link {
    /// The similarity of the two: estimated by [`Snapshot::links`], exact by
    /// [`Snapshot::exact_links`].
    pub similarity: f64,
    /// Whether the similarity is exact: the two were compared, or are one document.
    #[cfg_attr(feature = "serde", serde(default))]
    pub is_exact: bool,
    /// Whether the two are a pair. If not, a chain of other documents connects them.
    pub is_direct: bool,
}

impl Link {
    /// The similarity as text.
    pub fn similarity_text(&self) -> SimilarityText {
        if self.is_exact {
            SimilarityText::Exact(self.similarity)
        } else {
            SimilarityText::Estimate(self.similarity)
        }
    }
}

impl Snapshot {
    /// For each document of a cluster, how it is related to the representative. A cluster may join
    /// documents that are not similar: each pair of a chain is, its ends need not be.
    ///
    /// # Errors
    ///
    /// `Invalid` (threshold not from 0 to 1), `NoSuchKey` (the cluster is of another state of the
    /// index), `Corrupt`, `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(256).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// for (key, first) in [("a", 0), ("b", 20), ("c", 40)] {
    ///     index.insert(key, &index.sketcher().items(first..first + 100)?)?;
    /// }
    /// let snapshot = index.snapshot();
    /// let cluster = index.clusters(0.5)?.next().unwrap()?;
    /// let links = snapshot.links(&cluster, 0.5)?;
    /// // `a` and `c` are similar to 60 / 140 only; `b` connects them.
    /// let is_direct: Vec<bool> = links.iter().map(|link| link.is_direct).collect();
    /// assert_eq!(is_direct, [true, true, false]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn links(&self, cluster: &Cluster, alike: impl Into<Alike>) -> Result<Vec<Link>> {
        let alike = alike.into().check()?;
        let params = self.params();
        let place = |key: &Vec<u8>| self.locate(key)?.ok_or_else(|| of_another_state(key));
        let Some(first) = cluster.keys.first() else { return Ok(Vec::new()) };
        let first = place(first)?;
        let (own, own_count) = (self.signature_bytes(first)?, self.shingle_count(first)?);
        let link = |key: &Vec<u8>| {
            let other = place(key)?;
            let signature = self.signature_bytes(other)?;
            let equal_rows = count_equal_rows(&own, &signature, params.lane_bits());
            let counts = (own_count, self.shingle_count(other)?);
            let is_direct = other == first || alike.is_reached(params, equal_rows, counts);
            let (similarity, is_exact) = (params.similarity(equal_rows), other == first);
            Ok(Link { similarity, is_exact, is_direct })
        };
        cluster.keys.iter().map(link).collect()
    }

    /// Same as [`Snapshot::links`], by exact comparison, for [`Snapshot::exact_clusters`]. A
    /// document that is stale or missing is not direct, and its similarity is the estimate.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::links`] and of `fetch`.
    pub fn exact_links(
        &self,
        cluster: &Cluster,
        alike: impl Into<Alike>,
        fetch: &mut Fetch<'_>,
    ) -> Result<Vec<Link>> {
        let alike = alike.into().check()?;
        let mut links = self.links(cluster, alike)?;
        let Some(first) = cluster.keys.first() else { return Ok(links) };
        let own = self.fetched(first, fetch)?.ok();
        for (link, key) in links.iter_mut().zip(&cluster.keys).skip(1) {
            link.is_direct = false;
            let other = self.fetched(key, fetch)?.ok();
            if let (Some(own), Some(other)) = (&own, &other) {
                link.similarity = own.similarity(other);
                link.is_exact = true;
                link.is_direct = alike.overlap(own, other).is_some();
            }
        }
        Ok(links)
    }
}

#[cold]
fn of_another_state(key: &[u8]) -> Error {
    let key = key.escape_ascii();
    Error::new(ErrorKind::NoSuchKey, format!("{key}: the cluster is of another state of the index"))
}

/// Which documents with equal signatures are united, if the condition depends on their counts of
/// shingles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twins {
    /// All documents with equal signatures: by the estimate, each contains the others.
    Connected,
    /// Only documents whose counts are equal, too: they form pairs with exactly the same other
    /// documents.
    Interchangeable,
}

/// Unites documents with equal signatures. Returns the documents that the sweep may skip: all but
/// the first of each crowd, since they form pairs with the same other documents as the first one
/// does. (If counts of shingles are part of the condition, only documents with equal counts are
/// skipped.)
pub(super) fn unite_twins(
    mut sweep: Sweep,
    which: Twins,
    numbers: &Numbers,
    forest: &mut Forest,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Bits> {
    let mut twins = Bits::new(numbers.count);
    let (snapshot, alike) = (&sweep.snapshot.clone(), sweep.alike);
    while sweep.in_first_band() && sweep.collect(&|_| false)? {
        let signature = |place| snapshot.signature_bytes(place);
        let hashed = sweep.neighbours().map(|place| {
            let count =
                if alike.asks_for_containment() { snapshot.shingle_count(place)? } else { 0 };
            Ok((xxh3_64(&signature(place)?), count, place))
        });
        let mut hashed = hashed.collect::<Result<Vec<_>>>()?;
        hashed.sort_unstable();
        for pair in hashed.windows(2) {
            let [(hash, count, place), (next_hash, next_count, next)] = *pair else { continue };
            if hash == next_hash && signature(place)? == signature(next)? {
                if count == next_count || which == Twins::Connected {
                    forest.unite(numbers.number(place), numbers.number(next));
                }
                if count == next_count {
                    twins.set(numbers.number(next));
                }
            }
        }
        if progress(Progress { done: 0, ..sweep.progress() }).is_break() {
            return Err(cancelled());
        }
    }
    Ok(twins)
}

/// Accessors for reports.
impl Cluster {
    /// The smallest key.
    pub fn representative(&self) -> &[u8] {
        self.keys.first().map_or(&[], Vec::as_slice)
    }

    /// The number of documents in the cluster.
    pub fn size(&self) -> u64 {
        wide(self.keys.len())
    }

    /// The time when the oldest document of the cluster was inserted or last replaced, in
    /// milliseconds since the Unix epoch.
    pub fn first_time(&self) -> u64 {
        self.times.iter().copied().min().unwrap_or(0)
    }

    /// The time when the newest document of the cluster was inserted or last replaced, in
    /// milliseconds since the Unix epoch.
    pub fn last_time(&self) -> u64 {
        self.times.iter().copied().max().unwrap_or(0)
    }

    /// The growth of the cluster over time. Time is divided into spans of `span_ms` milliseconds,
    /// counted from 1970: 86,400,000 gives the days of UTC. The result has one entry for each span
    /// in which a document was added: the start of the span, and the number of documents; sorted by
    /// time. A replaced document counts at the time of its replacement. Costs a sort of the times.
    pub fn growth(&self, span_ms: u64) -> Vec<(u64, u64)> {
        let span_ms = span_ms.max(1);
        let mut begins: Vec<u64> = self.times.iter().map(|time| time - time % span_ms).collect();
        begins.sort_unstable();
        begins.chunk_by(|one, next| one == next).map(|span| (span[0], wide(span.len()))).collect()
    }
}

impl fmt::Debug for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut clusters = f.debug_struct("Clusters");
        clusters.field("clusters_left", &self.left.len());
        clusters.field("documents", &self.members.len());
        clusters.field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_come_in_the_order_of_their_smallest_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = crate::index::read::sweep::tests::index(&folder.path().join("a.nearkin"));
        let clusters = |index: &crate::Index| -> Vec<Cluster> {
            index.clusters(0.9).expect("sound").collect::<Result<_>>().expect("sound")
        };
        let before = clusters(&index);
        assert!(before.len() > 2, "{} clusters", before.len());
        assert!(before.is_sorted_by(|one, next| one.keys < next.keys));
        index.compact().expect("a disk with room");
        assert_eq!(clusters(&index), before);
    }
}
