//! Counts the near-duplicates that pairs of folders have in common.
//!
//! Keys are treated as paths with `/` between folders. Memory is bounded: of a cluster with
//! documents in many folders, only the folders with the most documents count, and the number of
//! folder pairs is limited.

use std::collections::{BTreeMap, HashMap};

use nearkin::Cluster;

use super::data::{FolderPair, FoldersShown};
use nearkin_kit::output::visible;

/// Maximum number of folders per cluster that are paired: those with the most documents in it.
const FOLDERS_OF_CLUSTER_MAX: usize = 32;
/// Maximum number of folder pairs that are counted.
const PAIRS_MAX: usize = 200_000;
/// Maximum number of folder pairs on the page, largest first.
const ROWS_MAX: usize = 200;

/// The folder of a key; empty if the key has no `/`.
fn folder_of(key: &[u8]) -> &[u8] {
    key.iter().rposition(|byte| *byte == b'/').map_or(b"", |end| &key[..end])
}

#[derive(Default)]
struct SharedClusters {
    clusters: u64,
    /// Number of documents of the first and of the second folder, counting only clusters that have
    /// documents in both.
    documents: [u64; 2],
}

/// Counts per folder and per pair of folders. First all clusters are added, then all documents.
#[derive(Default)]
pub(super) struct Folders {
    numbers: HashMap<Vec<u8>, usize>,
    /// Number of documents per folder.
    documents: Vec<u64>,
    shared: HashMap<(usize, usize), SharedClusters>,
    cut: bool,
}

impl Folders {
    fn number(&mut self, folder: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(folder) {
            return *number;
        }
        let number = self.documents.len();
        self.numbers.insert(folder.to_vec(), number);
        self.documents.push(0);
        number
    }

    pub(super) fn add_cluster(&mut self, cluster: &Cluster) {
        let mut counts = BTreeMap::<&[u8], u64>::new();
        for key in &cluster.keys {
            *counts.entry(folder_of(key)).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        if counts.len() > FOLDERS_OF_CLUSTER_MAX {
            // Folders with equal counts are ordered by name, so that the page is deterministic.
            counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            counts.truncate(FOLDERS_OF_CLUSTER_MAX);
            counts.sort_unstable();
            self.cut = true;
        }
        for (at, (one, count)) in counts.iter().enumerate() {
            for (other, other_count) in &counts[at..] {
                if one != other || *count > 1 {
                    self.add_pair([one, other], [*count, *other_count]);
                }
            }
        }
    }

    fn add_pair(&mut self, [one, other]: [&[u8]; 2], documents: [u64; 2]) {
        let pair = (self.number(one), self.number(other));
        if self.shared.len() >= PAIRS_MAX && !self.shared.contains_key(&pair) {
            self.cut = true;
            return;
        }
        let shared = self.shared.entry(pair).or_default();
        shared.clusters += 1;
        for (sum, more) in shared.documents.iter_mut().zip(documents) {
            *sum += more;
        }
    }

    pub(super) fn add_document(&mut self, key: &[u8]) {
        if let Some(number) = self.numbers.get(folder_of(key)) {
            self.documents[*number] += 1;
        }
    }

    /// The result for the page. Empty if there is only one folder.
    pub(super) fn shown(self) -> FoldersShown {
        if self.numbers.len() < 2 {
            return FoldersShown { rows: Vec::new(), cut: false };
        }
        let mut names = vec![&[][..]; self.documents.len()];
        for (name, number) in &self.numbers {
            names[*number] = name;
        }
        let mut pairs: Vec<_> = self.shared.into_iter().collect();
        let order = |((one, other), shared): &((usize, usize), SharedClusters)| {
            let documents = shared.documents[0] + shared.documents[1];
            (std::cmp::Reverse(documents), names[*one], names[*other])
        };
        pairs.sort_by(|one, other| order(one).cmp(&order(other)));
        let cut = self.cut || pairs.len() > ROWS_MAX;
        let rows = pairs.into_iter().take(ROWS_MAX).map(|((one, other), shared)| FolderPair {
            a: visible(names[one]),
            b: visible(names[other]),
            clusters: shared.clusters,
            documents_a: shared.documents[0],
            documents_b: shared.documents[1],
            all_a: self.documents[one],
            all_b: self.documents[other],
        });
        FoldersShown { rows: rows.collect(), cut }
    }
}
