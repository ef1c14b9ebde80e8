//! Which documents are in one cluster: numbers for all places, and a union-find over them.

use crate::format::bytes::index;
use crate::index::state::versions::{Place, Snapshot};
use crate::{Error, Result};

/// A numbering of all places.
#[derive(Debug)]
pub(super) struct Numbers {
    /// For each source, the number of its first document.
    bases: Vec<u32>,
    pub(super) count: u32,
}

impl Numbers {
    pub(super) fn for_snapshot(snapshot: &Snapshot) -> Result<Self> {
        let mut bases = Vec::new();
        let mut count: u32 = 0;
        for source in 0..=snapshot.state.segments.len() {
            bases.push(count);
            count = count.checked_add(snapshot.document_count(source)).ok_or_else(|| {
                Error::invalid("clusters are limited to 2^32 stored documents; compact first")
            })?;
        }
        Ok(Self { bases, count })
    }

    pub(super) fn number(&self, place: Place) -> u32 {
        self.bases[place.source] + place.ordinal
    }

    pub(super) fn place(&self, number: u32) -> Place {
        let source = self.bases.partition_point(|base| *base <= number) - 1;
        Place { source, ordinal: number - self.bases[source] }
    }
}

/// Union-find over all places, by number: 4 bytes per document. Union by the smaller number with
/// path halving; near-constant time per operation (Tarjan and van Leeuwen, JACM 31, 1984).
pub(crate) struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    pub(crate) fn new(count: u32) -> Self {
        Self { parents: (0..count).collect() }
    }

    pub(super) fn root(&mut self, mut number: u32) -> u32 {
        while self.parents[index(number)] != number {
            let parent = self.parents[index(number)];
            self.parents[index(number)] = self.parents[index(parent)];
            number = parent;
        }
        number
    }

    /// Whether they were in two trees.
    pub(crate) fn unite(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[index(a.max(b))] = a.min(b);
        a != b
    }

    /// The members of every tree with two or more documents, tree by tree.
    pub(crate) fn members(mut self) -> Vec<(u32, u32)> {
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
        members
    }
}
