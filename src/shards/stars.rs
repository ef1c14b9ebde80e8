//! Connected components: in one call, or by rounds over partitions.
//!
//! The rounds are large-star and small-star (Kiveris and others, "Connected Components in MapReduce
//! and Beyond", SoCC 2014). At the end every component is a star whose centre is its least node.

use std::collections::BTreeMap;

/// The component of every node that has an edge, as (node, least node of its component), in
/// ascending order. Edges are undirected; loops are ignored.
///
/// Deterministic: the least node represents a component, whatever the order of the edges. The
/// results of several batches can be combined by another call. So each partition can first be
/// reduced to star edges. Costs n log n; memory: a copy of the edges and 8 bytes per node.
///
/// ```
/// use nearkin::shards::components;
///
/// let here = components([("c", "b"), ("b", "a")]);
/// assert_eq!(here, [("a", "a"), ("b", "a"), ("c", "a")]);
/// let there = components([("d", "c")]);
/// let all = components(here.into_iter().chain(there));
/// assert_eq!(all, [("a", "a"), ("b", "a"), ("c", "a"), ("d", "a")]);
/// ```
pub fn components<N: Ord + Clone>(edges: impl IntoIterator<Item = (N, N)>) -> Vec<(N, N)> {
    let edges: Vec<(N, N)> = edges.into_iter().filter(|(a, b)| a != b).collect();
    let mut nodes: Vec<&N> = edges.iter().flat_map(|(a, b)| [a, b]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    // Nodes are numbered in ascending order, so the least number is that of the least node.
    let mut parents: Vec<usize> = (0..nodes.len()).collect();
    for (a, b) in &edges {
        let (Ok(a), Ok(b)) = (nodes.binary_search(&a), nodes.binary_search(&b)) else { continue };
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b)] = a.min(b);
    }
    let represented = |number: usize| {
        let least = root(&mut parents, number);
        (nodes[number].clone(), nodes[least].clone())
    };
    (0..nodes.len()).map(represented).collect()
}

/// The root of a node's tree: union-find with path halving.
fn root(parents: &mut [usize], mut number: usize) -> usize {
    while parents[number] != number {
        parents[number] = parents[parents[number]];
        number = parents[number];
    }
    number
}

/// The first half of a round: connects each larger neighbour of a node to the least node among the
/// node and its neighbours.
///
/// `neighbours` holds (node, neighbour) for *both* directions of every edge: `[(a, b), (b, a)]` for
/// the edge between a and b. All neighbours of a node must be in the same call. Returns distinct
/// edges (larger, smaller).
pub fn large_star<N: Ord + Clone>(neighbours: impl IntoIterator<Item = (N, N)>) -> Vec<(N, N)> {
    star(neighbours, |node, neighbours, edges| {
        let Some(least) = neighbours.iter().chain([node]).min() else { return };
        let larger = neighbours.iter().filter(|neighbour| *neighbour > node);
        edges.extend(larger.map(|neighbour| (neighbour.clone(), least.clone())));
    })
}

/// The second half of a round: connects a node and its smaller neighbours to the least of these.
///
/// `edges` are edges (larger, smaller), as [`large_star`] returns them. All edges of a larger node
/// must be in the same call. Returns distinct edges (larger, smaller). Stop when a round does not
/// change the set of edges; [`are_stars`] checks the result.
pub fn small_star<N: Ord + Clone>(edges: impl IntoIterator<Item = (N, N)>) -> Vec<(N, N)> {
    let edges = edges.into_iter().map(|(a, b)| if a < b { (b, a) } else { (a, b) });
    star(edges, |node, neighbours, edges| {
        let Some(least) = neighbours.iter().min() else { return };
        let others = neighbours.iter().chain([node]).filter(|other| *other != least);
        edges.extend(others.map(|other| (other.clone(), least.clone())));
    })
}

fn star<N: Ord + Clone>(
    edges: impl IntoIterator<Item = (N, N)>,
    connect: impl Fn(&N, &[N], &mut Vec<(N, N)>),
) -> Vec<(N, N)> {
    let mut groups: BTreeMap<N, Vec<N>> = BTreeMap::new();
    for (node, neighbour) in edges.into_iter().filter(|(a, b)| a != b) {
        groups.entry(node).or_default().push(neighbour);
    }
    let mut found = Vec::new();
    for (node, neighbours) in &groups {
        connect(node, neighbours, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether edges (larger, smaller) form stars: every larger node has exactly one edge, and the
/// smaller node of that edge has no edge to an even smaller one. Then the edges are the components:
/// (node, representative).
pub fn are_stars<N: Ord + Clone>(edges: &[(N, N)]) -> bool {
    let mut members: Vec<&N> = edges.iter().map(|(member, _)| member).collect();
    members.sort_unstable();
    let each_once = members.windows(2).all(|pair| pair[0] != pair[1]);
    let is_member = |node: &N| members.binary_search(&node).is_ok();
    each_once && edges.iter().all(|(member, centre)| centre < member && !is_member(centre))
}
