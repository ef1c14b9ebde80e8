//! Containment: queries, pairs and clusters equal brute force.

use crate::index::state::options::{Durability, Maintenance};
use crate::{
    Admit, Alike, Decision, Document, Index, Keep, Match, Newcomer, Options, Params, Shingles,
    Signature,
};
use std::collections::{BTreeMap, BTreeSet};

const CONTAINED: f64 = 0.6;

/// Two segments and a memtable. Some of the sets are subsets of others, and some of several others.
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
            // The first `count` items of one of ten ranges. Every third document also has some
            // items that no other has.
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

/// The equal rows and the containment of two documents, if they share a band and the containment is
/// sufficient.
fn rows(params: &Params, a: &Signature, b: &Signature) -> Option<(u32, f64)> {
    let equal =
        |range: &[u8], other: &[u8]| range.iter().zip(other).filter(|(x, y)| x == y).count();
    let (one, other) = (a.as_bytes(), b.as_bytes());
    let mut bands = one.chunks(params.rows_per_band()).zip(other.chunks(params.rows_per_band()));
    let shares = bands.by_ref().take(params.bands()).any(|(one, other)| one == other);
    let rows = u32::try_from(equal(one, other)).unwrap();
    let containment = params.containment(rows, a.shingle_count(), b.shingle_count())?;
    let is =
        shares && rows >= params.equal_rows_min(0.0) && containment.estimate >= CONTAINED - 1e-9;
    is.then_some((rows, containment.estimate))
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
    for (query, many) in all.iter().zip(&many) {
        let like = |other: &Document| {
            let (rows, estimate) = rows(index.params(), &query.signature, &other.signature)?;
            Some((std::cmp::Reverse(rows), other.key.clone(), estimate))
        };
        let mut expected: Vec<_> = all.iter().filter_map(like).collect();
        expected.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        low += expected.iter().filter(|found| found.0.0 < 32).count();
        missed += all.len() - expected.len();
        let found = index.query(&query.signature).contained(CONTAINED).run().unwrap();
        let listed = |found: &crate::Answer| -> Vec<_> {
            let of = |m: &crate::Match| {
                (std::cmp::Reverse(m.equal_rows), m.key.clone(), m.containment.unwrap().estimate)
            };
            found.iter().map(of).collect()
        };
        assert_eq!(listed(&found), expected);
        assert_eq!(found.found, expected.len() as u64);
        assert_eq!(listed(many), expected[..expected.len().min(7)]);
        let by_key = index.query_key(&query.key).contained(CONTAINED).run().unwrap();
        expected.retain(|found| found.1 != query.key);
        assert_eq!(listed(&by_key), expected);
    }
    assert!(low > 100 && missed > 1_000, "{low} {missed}");
}

/// A query of several keys finds the documents that any one of them contains.
#[test]
fn a_query_of_several_keys_takes_what_one_of_them_contains() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let all = documents(&index);
    let keys: Vec<_> = all.iter().map(|document| document.key.clone()).step_by(13).collect();
    let queries: Vec<_> = all.iter().filter(|document| keys.contains(&document.key)).collect();
    let mut expected = BTreeMap::new();
    for other in all.iter().filter(|other| !keys.contains(&other.key)) {
        let best = queries
            .iter()
            .filter_map(|query| Some(rows(index.params(), &query.signature, &other.signature)?.0));
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

/// Two documents with the same signature but different shingle counts are not interchangeable: a
/// third document may be contained in only one of them.
#[test]
fn equal_signatures_with_other_counts_are_compared_each() {
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
fn containment_outside_0_to_1_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert!(index.pairs(Alike::contained(wrong)).is_err());
        assert!(index.query_key(0_u32.to_le_bytes()).contained(wrong).run().is_err());
    }
}

/// The shingle counts of a crowd of candidates are read in blocks. A query may be stopped between
/// two blocks.
#[test]
fn a_query_can_be_stopped_while_it_reads_counts() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let found = |one: &Document| index.query(&one.signature).threshold(0.0).run().unwrap().found;
    let all = documents(&index);
    let signature = &all.iter().max_by_key(|one| found(one)).unwrap().signature;
    let looks = |contained: Option<f64>, stopped_at: u32| {
        let count = AtomicU32::new(0);
        let query = index.query(signature).threshold(0.0).limit(1);
        let query = contained.map_or(query.clone(), |contained| query.contained(contained));
        let is_due = || count.fetch_add(1, Ordering::Relaxed) >= stopped_at;
        let answer = query.cancel_if(is_due).run().unwrap();
        (count.into_inner(), answer)
    };
    let (plain, found) = looks(None, u32::MAX);
    let (all, whole) = looks(Some(0.99), u32::MAX);
    assert!(found.complete && whole.complete && found.found > 12);
    assert!(all > plain + 1, "{all} looks, {plain} without counts");
    for stopped_at in 0..all {
        let (_, answer) = looks(Some(0.99), stopped_at);
        assert!(!answer.complete, "stopped at look {stopped_at} of {all}");
        assert!(answer.found <= whole.found);
    }
}

/// Only documents with equal signatures and equal shingle counts are collapsed into a crowd.
#[test]
fn collapsed_pairs_equal_brute_force_wherever_documents_lie() {
    let params = {
        let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64);
        builder.bands(16, 4).build().unwrap()
    };
    let made = |like: u8, changed: usize, count: u32| {
        let row = |row: u8| if usize::from(row) < 64 - changed { row + like } else { row ^ 0x55 };
        let bytes: Vec<u8> = (0..64).map(row).collect();
        Signature::from_bytes(&params, &bytes, count).unwrap()
    };
    let mut documents: Vec<(String, Signature)> = Vec::new();
    for at in 0..60_usize {
        let changed = [0, 0, 20, 32, 40][at % 5];
        let count = [100, 1_000, 100, 300][at / 5 % 4];
        let like = u8::try_from(at / 20).unwrap() * 70;
        // The order of keys differs from the order of insertion.
        documents.push((format!("{:02}", at * 37 % 60), made(like, changed, count)));
    }
    let mut groups: BTreeMap<(Vec<u8>, u32), Vec<String>> = BTreeMap::new();
    for (key, signature) in &documents {
        let what = (signature.as_bytes().to_vec(), signature.shingle_count());
        groups.entry(what).or_default().push(key.clone());
    }
    for keys in groups.values_mut() {
        keys.sort();
    }
    let groups: Vec<_> = groups.into_iter().collect();
    let mut expected = BTreeSet::new();
    for (at, ((bytes, count), keys)) in groups.iter().enumerate() {
        let of = |bytes: &[u8], count: u32| Signature::from_bytes(&params, bytes, count).unwrap();
        if keys.len() > 1 {
            expected.insert((keys[0].clone(), String::new(), keys.len() as u64, 0));
        }
        for ((other_bytes, other_count), others) in &groups[at + 1..] {
            if rows(&params, &of(bytes, *count), &of(other_bytes, *other_count)).is_some() {
                let mut both = [(&keys[0], keys.len() as u64), (&others[0], others.len() as u64)];
                both.sort();
                let [(a, a_count), (b, b_count)] = both;
                expected.insert((a.clone(), b.clone(), a_count, b_count));
            }
        }
    }
    let by_similarity: BTreeSet<_> = groups.iter().map(|((bytes, _), _)| bytes).collect();
    assert!(by_similarity.len() < groups.len() && expected.len() > groups.len());
    for flushed in [vec![], vec![30], vec![7, 31, 59]] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default().maintenance(Maintenance::Inline);
        let index = Index::create(folder.path().join("x"), &params, options).unwrap();
        for (at, (key, signature)) in documents.iter().enumerate() {
            index.insert(key, signature).unwrap();
            if flushed.contains(&at) {
                index.flush().unwrap();
            }
        }
        let pairs = index.pairs(Alike::contained(CONTAINED)).unwrap().collapse().unwrap();
        let text = |key: Vec<u8>| String::from_utf8(key).unwrap();
        let fields = |one| match one {
            crate::Collapsed::Crowd { key, count } => (text(key), String::new(), count, 0),
            crate::Collapsed::Pair { pair, a_count, b_count } => {
                (text(pair.a), text(pair.b), a_count, b_count)
            }
        };
        let found: Vec<_> = pairs.map(|one| fields(one.unwrap())).collect();
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    }
}

/// The duplicates of a newcomer, with equal rows and containment, and the keys of its related
/// documents.
type Like = (Vec<(Vec<u8>, u32, f64)>, Vec<Vec<u8>>);

fn like(
    params: &Params,
    own: &Signature,
    stored: &BTreeMap<Vec<u8>, Signature>,
    relate: Option<f64>,
) -> Like {
    let (mut duplicates, mut related) = (Vec::new(), Vec::new());
    for (key, other) in stored {
        let (a, b) = (own.as_bytes(), other.as_bytes());
        let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
        let shares = a.chunks(4).zip(b.chunks(4)).any(|(a, b)| a == b);
        let reaches = |least: f64| equal >= params.equal_rows_min(least) as usize;
        if let Some((rows, estimate)) = rows(params, own, other) {
            duplicates.push((key.clone(), rows, estimate));
        } else if shares && relate.is_some_and(reaches) {
            related.push(key.clone());
        }
    }
    (duplicates, related)
}

/// A newcomer is rejected if a stored document contains it or is contained in it.
#[test]
fn newcomers_are_admitted_as_by_brute_force() {
    let folder = tempfile::tempdir().unwrap();
    let all = documents(&index(&folder.path().join("all")));
    let params = index(&folder.path().join("again")).params().clone();
    let mut contained_only = 0;
    for (keep, relate) in
        [(Keep::First, None), (Keep::Newest, Some(0.2)), (Keep::Longest, Some(0.4))]
    {
        let options = Options::default().maintenance(Maintenance::Inline);
        let dir = folder.path().join(format!("{keep:?}"));
        let index = Index::create(dir, &params, options).unwrap();
        let terms = Admit::at(Alike::contained(CONTAINED)).keep(keep);
        let terms = match relate {
            Some(relate) => terms.relate(relate),
            None => terms,
        };
        let mut stored: BTreeMap<Vec<u8>, Signature> = BTreeMap::new();
        for some in all.chunks(23) {
            let newcomers: Vec<_> =
                some.iter().map(|one| Newcomer::new(&one.key, &one.signature)).collect();
            let admissions = index.admit_all(&newcomers, &terms).unwrap();
            for (newcomer, admission) in some.iter().zip(admissions) {
                let own = &newcomer.signature;
                let (duplicates, related) = like(&params, own, &stored, relate);
                let low = |(_, rows, _): &&(Vec<u8>, u32, _)| *rows < 30;
                contained_only += duplicates.iter().filter(low).count();
                let duplicates: Vec<_> = duplicates
                    .into_iter()
                    .map(|(key, _, containment)| (key, Some(containment)))
                    .collect();
                let count = |key: &Vec<u8>| stored[key].shingle_count();
                let stays = match keep {
                    Keep::Newest => true,
                    Keep::Longest => {
                        duplicates.iter().all(|(key, _)| count(key) < own.shingle_count())
                    }
                    Keep::First => duplicates.is_empty(),
                };
                let listed = |matches: &[Match]| {
                    let of = |m: &Match| {
                        (m.key.clone(), m.containment.map(|containment| containment.estimate))
                    };
                    let mut all: Vec<_> = matches.iter().map(of).collect();
                    all.sort_by(|a, b| a.0.cmp(&b.0));
                    all
                };
                match &admission.decision {
                    Decision::Rejected { duplicates: found } => {
                        assert!(!stays);
                        assert_eq!(listed(found), duplicates);
                    }
                    Decision::Admitted { related: found, removed, .. } => {
                        assert!(stays);
                        assert_eq!(listed(removed), duplicates);
                        let found: Vec<_> = listed(found).into_iter().map(|(key, _)| key).collect();
                        assert_eq!(found, related);
                        for (key, _) in &duplicates {
                            stored.remove(key);
                        }
                        stored.insert(newcomer.key.clone(), own.clone());
                    }
                }
            }
            index.flush().unwrap();
        }
        assert_eq!(index.len(), stored.len() as u64);
        assert!(stored.len() > 10 && stored.len() < 150, "{keep:?}: {}", stored.len());
    }
    assert!(contained_only > 50, "{contained_only}");
}

/// An exact comparison is preceded by a search with a lower minimum, which allows for the error of
/// the estimates: the search finds everything down to three standard errors below the requested
/// minimum.
#[test]
fn searches_for_verification_reach_below_the_minimum() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let (params, all) = (index.params(), documents(&index));
    let low = params.equal_rows_min(params.search_threshold(0.6));
    assert!(low < params.equal_rows_min(0.6));
    let mut more = [0; 2];
    for document in &all {
        let query = || index.query(&document.signature).for_verification();
        let answer = query().contained(0.95).run().unwrap();
        let reach = |other: &&Document| {
            let all_pairs = index.query(&document.signature).threshold(0.0).contained(0.0);
            let found = all_pairs.run().unwrap();
            let found = found.matches.iter().find(|found| found.key == other.key);
            let containment = found.and_then(|found| found.containment);
            containment.is_some_and(|containment| {
                containment.estimate + 3.0 * containment.standard_error >= 0.95 - 1e-9
            })
        };
        if document.key[0] % 8 == 0 {
            let expected: BTreeSet<_> = all.iter().filter(reach).map(|one| &one.key).collect();
            assert_eq!(answer.matches.iter().map(|m| &m.key).collect::<BTreeSet<_>>(), expected);
            more[0] += answer.found
                - index.query(&document.signature).contained(0.95).run().unwrap().found;
        }
        let answer = query().threshold(0.6).run().unwrap();
        assert!((answer.threshold - params.search_threshold(0.6)).abs() < 1e-12);
        let by_rows = index.query(&document.signature).threshold(0.0).run().unwrap();
        let reaching = by_rows.matches.iter().filter(|found| found.equal_rows >= low).count();
        assert_eq!(answer.matches.len(), reaching);
        more[1] +=
            answer.found - index.query(&document.signature).threshold(0.6).run().unwrap().found;
    }
    assert!(more[0] > 4 && more[1] > 10, "{more:?}");
    let pairs = |alike: Alike| index.pairs(alike).unwrap().count();
    let contained = Alike::contained(0.95);
    assert!(pairs(contained.for_verification()) > pairs(contained));
    assert!(pairs(Alike::similar(0.6).for_verification()) > pairs(0.6.into()));
}
