//! Pairs and clusters by exact comparison, against brute force.

use crate::index::state::options::Maintenance;
use crate::{Alike, Exact, Index, Options, Original, Overlap, Params, Shingles};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

type Set = BTreeSet<u32>;

/// Sets in three crowds. Each set has some items of its own, and every fifth set is half as long.
fn sets() -> Vec<Set> {
    let set = |at: u32| {
        let crowd = at % 3 * 1_000;
        let own = at * 7 % 40;
        let length = if at.is_multiple_of(5) { 50 } else { 100 };
        (crowd..crowd + length - own / 2)
            .chain(10_000 + at * 100..10_000 + at * 100 + own)
            .collect()
    };
    (0..90).map(set).collect()
}

fn key(at: usize) -> [u8; 8] {
    (at as u64).to_le_bytes()
}

fn at(key: &[u8]) -> usize {
    usize::try_from(u64::from_le_bytes(key.try_into().unwrap())).unwrap()
}

/// The pairs of similar sets, and for each set the smallest number of a set in its cluster.
fn by_definition(
    sets: &[Set],
    left_out: [usize; 2],
    is_alike: &dyn Fn(Overlap) -> bool,
) -> (BTreeMap<(usize, usize), Overlap>, Vec<usize>) {
    let mut group: Vec<usize> = (0..sets.len()).collect();
    let mut expected = BTreeMap::new();
    for (i, a) in sets.iter().enumerate() {
        for (j, b) in sets.iter().enumerate().skip(i + 1) {
            let found = Overlap::of(a.intersection(b).count(), a.len(), b.len());
            if [i, j].iter().any(|one| left_out.contains(one)) || !is_alike(found) {
                continue;
            }
            expected.insert((i, j), found);
            let (from, to) = (group[i].max(group[j]), group[i].min(group[j]));
            for of in group.iter_mut().filter(|of| **of == from) {
                *of = to;
            }
        }
    }
    (expected, group)
}

fn clusters_of(group: &[usize]) -> Vec<Vec<Vec<u8>>> {
    let mut groups: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
    for (number, of) in group.iter().enumerate() {
        groups.entry(*of).or_default().push(key(number).to_vec());
    }
    let mut expected: Vec<Vec<Vec<u8>>> =
        groups.into_values().filter(|keys| keys.len() > 1).collect();
    for keys in &mut expected {
        keys.sort();
    }
    expected.sort();
    expected
}

#[test]
fn exact_pairs_and_clusters_are_those_of_brute_force() {
    let folder = tempfile::tempdir().unwrap();
    // Each row is a band, so that sets with a common item are candidates.
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(256);
    let params = builder.bands(256, 1).lane_bits(16).build().unwrap();
    let options = Options::default().maintenance(Maintenance::Inline);
    let index = Index::create(folder.path().join("x"), &params, options).unwrap();
    let (sets, sketcher) = (sets(), index.sketcher());
    let original = |set: &Set| sketcher.original_items(set.iter().copied()).unwrap();
    for (number, set) in sets.iter().enumerate() {
        index.insert(key(number), original(set).signature()).unwrap();
        if number % 40 == 39 {
            index.flush().unwrap();
        }
    }
    let missing = 17;
    // The current version of this set has one more item than the stored one.
    let stale = sets.iter().position(|set| set.len() > 100).unwrap();
    let mut fetch = |key: &[u8]| -> crate::Result<Option<Original>> {
        let mut set = sets[at(key)].clone();
        if at(key) == stale {
            set.insert(999_999);
        }
        Ok((at(key) != missing).then(|| original(&set)))
    };
    for alike in [Alike::similar(0.7), Alike::contained(0.9)] {
        let by_containment = alike.asks_for_containment();
        let is_alike = |overlap: Overlap| {
            if by_containment { overlap.containment >= 0.9 } else { overlap.similarity >= 0.7 }
        };
        let (expected, group) = by_definition(&sets, [missing, stale], &is_alike);
        let snapshot = index.snapshot();
        let (mut found, mut not_decided, mut below) = (BTreeMap::new(), 0, 0);
        for pair in snapshot.pairs(alike.for_verification()).unwrap() {
            let pair = pair.unwrap();
            let (i, j) = (at(&pair.a).min(at(&pair.b)), at(&pair.a).max(at(&pair.b)));
            match snapshot.exact_pair(&pair, alike, &mut fetch).unwrap() {
                Exact::Similarity(similarity) => {
                    assert!(!alike.asks_for_containment());
                    assert!((similarity - expected[&(i, j)].similarity).abs() < 1e-12);
                    found.insert((i, j), expected[&(i, j)]);
                }
                Exact::Contained(overlap) => {
                    found.insert((i, j), overlap);
                }
                Exact::Stale => {
                    assert!(i == stale || j == stale);
                    not_decided += 1;
                }
                Exact::Missing => not_decided += 1,
                Exact::Below => below += 1,
            }
        }
        assert_eq!(found, expected);
        assert!(not_decided > 10 && below > 20, "{not_decided} {below}");
        let expected = clusters_of(&group);
        let go_on = &mut |_| ControlFlow::Continue(());
        let clusters = snapshot.exact_clusters(alike, &mut fetch, go_on).unwrap();
        let mut clusters: Vec<_> = clusters.map(|cluster| cluster.unwrap().keys).collect();
        clusters.sort();
        assert_eq!(clusters, expected);
        assert!(clusters.len() > 2, "{}", clusters.len());
    }
}

/// An added word may leave all rows of a signature unchanged. The number of shingles still reveals
/// it.
#[test]
fn a_document_with_the_old_signature_and_another_count_is_stale() {
    let params = Params::for_threshold(0.7).shingles(Shingles::Words(1)).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default().maintenance(Maintenance::Inline);
    let index = Index::create(folder.path().join("x"), &params, options).unwrap();
    let sketcher = index.sketcher();
    let text = (0..2_000).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    let original = |text: &str| sketcher.original_text(text).unwrap();
    let stored = original(&text);
    let with_a_word = |at: u32| original(&format!("{text} more{at}"));
    let changed = (0..2_000).map(with_a_word).find(|changed| {
        changed.signature().as_bytes() == stored.signature().as_bytes()
            && changed.signature().shingle_count() > stored.signature().shingle_count()
    });
    let changed = changed.expect("one of them changes no row");
    index.insert("a", stored.signature()).unwrap();
    index.insert("b", stored.signature()).unwrap();
    let snapshot = index.snapshot();
    let pair = snapshot.pairs(0.7).unwrap().next().unwrap().unwrap();
    let compared = |b: &Original| {
        let mut fetch = |key: &[u8]| Ok(Some(if key == b"a" { stored.clone() } else { b.clone() }));
        snapshot.exact_pair(&pair, 0.7, &mut fetch).unwrap()
    };
    assert_eq!(compared(&stored), Exact::Similarity(1.0));
    assert_eq!(compared(&changed), Exact::Stale);
}
