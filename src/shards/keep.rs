//! Deduplication, given the pairs.

use std::collections::BTreeMap;

/// The nodes that deduplication drops, in ascending order, each with the least kept node to which
/// it has an edge. All other nodes are kept.
///
/// Nodes are visited in ascending order: a node is dropped if it has an edge to a smaller node that
/// is kept. This is the rule of `docs/guide/DEDUP.md`, with the order of the nodes as the order of
/// preference. Edges are undirected. Components are independent of each other, so each partition of
/// whole components can be decided alone. Memory: a copy of the edges.
///
/// ```
/// use nearkin::shards::dropped;
///
/// // 2 is like 1, which stays; 3 is like 2 only, which does not.
/// assert_eq!(dropped([(1, 2), (3, 2), (4, 3)]), [(2, 1), (4, 3)]);
/// ```
pub fn dropped<N: Ord + Clone>(edges: impl IntoIterator<Item = (N, N)>) -> Vec<(N, N)> {
    let mut lesser: BTreeMap<N, Vec<N>> = BTreeMap::new();
    for (a, b) in edges.into_iter().filter(|(a, b)| a != b) {
        let (less, greater) = if a < b { (a, b) } else { (b, a) };
        lesser.entry(greater).or_default().push(less);
    }
    let mut dropped: BTreeMap<N, N> = BTreeMap::new();
    for (node, neighbours) in lesser {
        let kept = neighbours.into_iter().filter(|neighbour| !dropped.contains_key(neighbour));
        if let Some(least) = kept.min() {
            dropped.insert(node, least);
        }
    }
    dropped.into_iter().collect()
}
