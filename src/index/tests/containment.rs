//! Containment: queries, pairs and clusters are those of brute force.

use crate::index::options::{Durability, Maintenance};
use crate::{Alike, Document, Index, Options, Params, Shingles, Signature};
use std::collections::{BTreeMap, BTreeSet};

const CONTAINED: f64 = 0.6;

/// Two segments and a memtable: sets of which some are parts of others, some several times.
fn index(dir: &std::path::Path) -> Index {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64);
    let params = builder.bands(16, 4).build().unwrap();
    let options =
        Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline);
    let index = Index::create(dir, &params, options).unwrap();
    let sketcher = index.sketcher();
    for part in 0..3_u32 {
        for at in 0..60_u32 {
            let number = part * 100 + at;
            // A part of one of ten sets of 120, with some items of its own.
            let first = at % 10 * 1_000;
            let count = [120, 100, 60, 40, 120, 20][(at as usize / 10 + part as usize) % 6];
            let own = if at % 3 == 0 { at % 7 * 6 } else { 0 };
            let items = first..first + count;
            let items = items.chain(1_000_000 + number * 100..1_000_000 + number * 100 + own);
            let signature = sketcher.items(items).unwrap();
            index.insert(number.to_le_bytes(), &signature).unwrap();
        }
        if part < 2 {
            index.flush().unwrap();
        }
    }
    for number in [3_u32, 41, 107] {
        index.remove(number.to_le_bytes()).unwrap();
    }
    index
}

/// The equal rows of two documents that share a band and of which one contains enough of the other.
fn rows(params: &Params, a: &Signature, b: &Signature) -> Option<(u32, f64)> {
    let equal =
        |range: &[u8], other: &[u8]| range.iter().zip(other).filter(|(x, y)| x == y).count();
    let (one, other) = (a.as_bytes(), b.as_bytes());
    let mut bands = one.chunks(params.rows_per_band()).zip(other.chunks(params.rows_per_band()));
    let shares = bands.by_ref().take(params.bands()).any(|(one, other)| one == other);
    let rows = u32::try_from(equal(one, other)).unwrap();
    let told = params.containment(rows, a.shingle_count(), b.shingle_count())?;
    let is = shares && rows >= params.equal_rows_min(0.0) && told.estimate >= CONTAINED - 1e-9;
    is.then_some((rows, told.estimate))
}

fn documents(index: &Index) -> Vec<Document> {
    index.snapshot().iter().map(Result::unwrap).collect()
}

#[test]
fn queries_find_what_contains_enough() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let all = documents(&index);
    let signatures: Vec<_> = all.iter().map(|document| document.signature.clone()).collect();
    let many = index.queries(&signatures).contained(CONTAINED).limit(7).run().unwrap();
    let (mut low, mut missed) = (0, 0);
    for (asked, many) in all.iter().zip(&many) {
        let like = |other: &Document| {
            let (rows, estimate) = rows(index.params(), &asked.signature, &other.signature)?;
            Some((std::cmp::Reverse(rows), other.key.clone(), estimate))
        };
        let mut expected: Vec<_> = all.iter().filter_map(like).collect();
        expected.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        low += expected.iter().filter(|found| found.0.0 < 32).count();
        missed += all.len() - expected.len();
        let found = index.query(&asked.signature).contained(CONTAINED).run().unwrap();
        let told = |found: &crate::Answer| -> Vec<_> {
            let of = |m: &crate::Match| {
                (std::cmp::Reverse(m.equal_rows), m.key.clone(), m.containment.unwrap().estimate)
            };
            found.iter().map(of).collect()
        };
        assert_eq!(told(&found), expected);
        assert_eq!(found.found, expected.len() as u64);
        assert_eq!(told(many), expected[..expected.len().min(7)]);
        let by_key = index.query_key(&asked.key).contained(CONTAINED).run().unwrap();
        expected.retain(|found| found.1 != asked.key);
        assert_eq!(told(&by_key), expected);
    }
    assert!(low > 100 && missed > 1_000, "{low} {missed}");
}

/// A query of several documents finds what is contained in any one of them.
#[test]
fn a_query_of_several_keys_takes_what_one_of_them_contains() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let all = documents(&index);
    let keys: Vec<_> = all.iter().map(|document| document.key.clone()).step_by(13).collect();
    let asked: Vec<_> = all.iter().filter(|document| keys.contains(&document.key)).collect();
    let mut expected = BTreeMap::new();
    for other in all.iter().filter(|other| !keys.contains(&other.key)) {
        let best = asked
            .iter()
            .filter_map(|asked| Some(rows(index.params(), &asked.signature, &other.signature)?.0));
        if let Some(best) = best.max() {
            expected.insert(other.key.clone(), best);
        }
    }
    let found = index.query_keys(&keys).contained(CONTAINED).run().unwrap();
    let found: BTreeMap<_, _> = found.iter().map(|m| (m.key.clone(), m.equal_rows)).collect();
    assert_eq!(found, expected);
    assert!(keys.len() > 8 && expected.len() > 20);
}

#[test]
fn pairs_and_clusters_are_those_of_brute_force() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let all = documents(&index);
    let mut expected = BTreeSet::new();
    let mut cluster: Vec<usize> = (0..all.len()).collect();
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            let Some((rows, _)) = rows(index.params(), &a.signature, &b.signature) else {
                continue;
            };
            if a.key < b.key {
                expected.insert((a.key.clone(), b.key.clone(), rows));
                let (from, to) = (cluster[i].max(cluster[j]), cluster[i].min(cluster[j]));
                cluster.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
    }
    let pairs: BTreeSet<_> = index
        .pairs(Alike::contained(CONTAINED))
        .unwrap()
        .map(|pair| {
            let pair = pair.unwrap();
            assert!(pair.containment.unwrap().estimate >= CONTAINED - 1e-9);
            (pair.a, pair.b, pair.equal_rows)
        })
        .collect();
    assert_eq!(pairs, expected);
    let mut groups: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
    for (document, of) in all.iter().zip(&cluster) {
        groups.entry(*of).or_default().push(document.key.clone());
    }
    let expected: BTreeSet<_> = groups
        .into_values()
        .filter(|keys| keys.len() > 1)
        .map(|mut keys| {
            keys.sort();
            keys
        })
        .collect();
    let clusters = index.clusters(Alike::contained(CONTAINED)).unwrap();
    let clusters: BTreeSet<_> = clusters.map(|cluster| cluster.unwrap().keys).collect();
    assert_eq!(clusters, expected);
    assert!(clusters.len() > 5 && pairs.len() > 200, "{} {}", clusters.len(), pairs.len());
}

/// Two documents of one signature and different counts are no twins: what one of them contains, the
/// other may not.
#[test]
fn documents_of_one_signature_with_other_counts_are_compared_each() {
    let folder = tempfile::tempdir().unwrap();
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64);
    let params = builder.bands(16, 4).build().unwrap();
    let options = Options::default().maintenance(Maintenance::Inline);
    let index = Index::create(folder.path().join("x"), &params, options).unwrap();
    let rows: Vec<u8> = (0..64).collect();
    let half: Vec<u8> = (0..64).map(|row| if row < 32 { row } else { 200 }).collect();
    for (key, bytes, count) in [("few", &rows, 100), ("many", &rows, 1_000), ("part", &half, 100)] {
        let signature = Signature::from_bytes(&params, bytes, count).unwrap();
        index.insert(key, &signature).unwrap();
    }
    for _ in 0..2 {
        let contained = Alike::contained(0.8);
        let mut pairs: Vec<_> =
            index.pairs(contained).unwrap().map(|pair| pair.unwrap()).map(|p| (p.a, p.b)).collect();
        pairs.sort();
        let named = |a: &str, b: &str| (a.as_bytes().to_vec(), b.as_bytes().to_vec());
        assert_eq!(pairs, [named("few", "many"), named("many", "part")]);
        let clusters: Vec<_> = index.clusters(contained).unwrap().map(Result::unwrap).collect();
        assert_eq!((clusters.len(), clusters[0].size()), (1, 3));
        index.flush().unwrap();
    }
}

#[test]
fn what_is_not_from_0_to_1_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert!(index.pairs(Alike::contained(wrong)).is_err());
        assert!(index.query_key(0_u32.to_le_bytes()).contained(wrong).run().is_err());
    }
}
