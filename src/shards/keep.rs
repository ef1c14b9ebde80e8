//! Deduplication of pairs: which nodes stay.

use std::collections::BTreeMap;

/// The nodes that deduplication drops, each with the least kept node that it has an edge to, in
/// order of the nodes. All other nodes stay.
///
/// In order of the nodes, a node is dropped if it has an edge to a node that was kept before it:
/// the rule of `docs/DEDUP.md`, where the order of the nodes is the order of preference. Edges have
/// no direction. Components do not influence each other: a partition that has whole components
/// decides on them alone. Memory is a copy of the edges.
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
