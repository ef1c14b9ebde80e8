//! All pairs of like documents, as a stream; and the clusters they connect.
//!
//! Each pair is found once, from the document that lies first, and at the first band it shares:
//! no set of pairs seen is kept.

use crate::format::bytes::{index, wide};
use crate::index::read::answer::{Cluster, Pair, Progress};
use crate::index::read::query::check_threshold;
use crate::index::read::search::{Found, Probe};
use crate::index::read::state::{Place, Snapshot};
use crate::{Error, ErrorKind, Result};
use std::ops::ControlFlow;

/// The stream of all pairs. Holds the matches of one document at a time.
#[derive(Debug)]
pub struct Pairs {
    snapshot: Snapshot,
    threshold: f64,
    /// The next document to look at.
    next: Place,
    progress: Progress,
    /// What the last document looked at is like, still to be returned.
    pending: Vec<Found>,
    of: Option<Place>,
}

impl Snapshot {
    /// All pairs of documents with at least this similarity that share a band, each once, in no
    /// particular order.
    ///
    /// A stream: memory does not grow with the number of pairs. Costs a query per document.
    /// Errors: `Invalid` (threshold not from 0 to 1); while it runs `Corrupt` and `Io`.
    pub fn pairs(&self, threshold: f64) -> Result<Pairs> {
        check_threshold(threshold)?;
        Ok(Pairs {
            threshold,
            next: Place { source: 0, ordinal: 0 },
            progress: Progress { done: 0, total: self.place_count() },
            snapshot: self.clone(),
            pending: Vec::new(),
            of: None,
        })
    }

    /// The clusters: documents connected by pairs of at least this similarity. See
    /// [`crate::Index::clusters_with`].
    pub fn clusters_with(
        &self,
        threshold: f64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Clusters> {
        Clusters::compute(self, threshold, progress)
    }
}

impl Pairs {
    /// How far the stream is, in documents.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The next pair of places, the one that lies first first. Tells of each document that it
    /// comes to.
    fn next_places(
        &mut self,
        tell: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<(Place, Found)>> {
        loop {
            if let (Some(found), Some(of)) = (self.pending.pop(), self.of) {
                return Ok(Some((of, found)));
            }
            if self.next.source > self.snapshot.state.segments.len() {
                return Ok(None);
            }
            if self.next.ordinal >= self.snapshot.document_count(self.next.source) {
                self.next = Place { source: self.next.source + 1, ordinal: 0 };
                continue;
            }
            let place = self.next;
            self.next.ordinal += 1;
            // A memtable may have grown since the snapshot, by documents that it does not see.
            self.progress.done = self.progress.total.min(self.progress.done + 1);
            if tell(self.progress).is_break() {
                return Err(Error::new(ErrorKind::Cancelled, "looking for pairs was cancelled"));
            }
            if self.snapshot.is_live(place)? {
                self.look_at(place)?;
            }
        }
    }

    fn look_at(&mut self, place: Place) -> Result<()> {
        let signature = self.snapshot.signature_bytes(place)?;
        let least = self.snapshot.params.equal_rows_min(self.threshold);
        let probe = Probe::new(&self.snapshot.params, &signature, least);
        self.of = Some(place);
        self.pending = self.snapshot.search(&[probe])?;
        self.pending.retain(|found| found.place > place);
        Ok(())
    }

    fn complete(&self, place: Place, found: Found) -> Result<Pair> {
        let (one, other) = (self.snapshot.key(place)?, self.snapshot.key(found.place)?);
        let (a, b) = if one < other { (one, other) } else { (other, one) };
        let similarity = self.snapshot.params.similarity(found.equal_rows);
        Ok(Pair { a, b, equal_rows: found.equal_rows, similarity })
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        let places = self.next_places(&mut |_| ControlFlow::Continue(())).transpose()?;
        Some(places.and_then(|(place, found)| self.complete(place, found)))
    }
}

/// The clusters, one at a time; in the order in which their first documents lie.
#[derive(Debug)]
pub struct Clusters {
    snapshot: Snapshot,
    /// Members of all clusters: (number of the root, place), in that order.
    members: std::iter::Peekable<std::vec::IntoIter<(u32, Place)>>,
}

impl Clusters {
    fn compute(
        snapshot: &Snapshot,
        threshold: f64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self> {
        let mut pairs = snapshot.pairs(threshold)?;
        let mut forest = Forest::of(snapshot)?;
        while let Some((place, found)) = pairs.next_places(progress)? {
            forest.unite(forest.number(place), forest.number(found.place));
        }
        let members = forest.members().into_iter().peekable();
        Ok(Self { snapshot: snapshot.clone(), members })
    }
}

impl Iterator for Clusters {
    type Item = Result<Cluster>;

    fn next(&mut self) -> Option<Self::Item> {
        let (root, first) = self.members.next()?;
        let mut places = vec![first];
        while let Some((_, place)) = self.members.next_if(|(other, _)| *other == root) {
            places.push(place);
        }
        let keys = places.into_iter().map(|place| self.snapshot.key(place));
        Some(keys.collect::<Result<Vec<_>>>().map(|mut keys| {
            keys.sort_unstable();
            Cluster { keys }
        }))
    }
}

/// Union-find over all places, by number: 4 bytes a document. Union by the smaller number with
/// path halving; near-constant per operation (Tarjan and van Leeuwen, JACM 31, 1984).
struct Forest {
    parents: Vec<u32>,
    /// The number of the first document of each source.
    bases: Vec<u32>,
}

impl Forest {
    fn of(snapshot: &Snapshot) -> Result<Self> {
        let mut bases = Vec::new();
        let mut count: u32 = 0;
        for source in 0..=snapshot.state.segments.len() {
            bases.push(count);
            count = count.checked_add(snapshot.document_count(source)).ok_or_else(|| {
                Error::invalid("clusters are limited to 2^32 stored documents; compact first")
            })?;
        }
        Ok(Self { parents: (0..count).collect(), bases })
    }

    fn number(&self, place: Place) -> u32 {
        self.bases[place.source] + place.ordinal
    }

    fn place(&self, number: u32) -> Place {
        let source = self.bases.partition_point(|base| *base <= number) - 1;
        Place { source, ordinal: number - self.bases[source] }
    }

    fn root(&mut self, mut number: u32) -> u32 {
        while self.parents[index(number)] != number {
            let parent = self.parents[index(number)];
            self.parents[index(number)] = self.parents[index(parent)];
            number = parent;
        }
        number
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[index(a.max(b))] = a.min(b);
    }

    /// The members of every tree of two and more, tree by tree.
    fn members(mut self) -> Vec<(u32, Place)> {
        let count = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        let mut members = Vec::new();
        for number in 0..count {
            let root = self.root(number);
            if root != number {
                members.push((root, number));
            }
        }
        let mut roots: Vec<u32> = members.iter().map(|(root, _)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        members.extend(roots.into_iter().map(|root| (root, root)));
        members.sort_unstable();
        members.into_iter().map(|(root, number)| (root, self.place(number))).collect()
    }
}

/// Documents of a cluster, for reports.
impl Cluster {
    /// The smallest key.
    pub fn representative(&self) -> &[u8] {
        self.keys.first().map_or(&[], Vec::as_slice)
    }

    /// How many documents it has.
    pub fn size(&self) -> u64 {
        wide(self.keys.len())
    }
}
