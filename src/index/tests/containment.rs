//! Containment: what answers say of it, how a query by it stops, and searches for verification. The
//! model compares queries, pairs, clusters and admissions with brute force.

use crate::index::state::options::{Durability, Maintenance};
use crate::{Admit, Alike, Decision, Document, Index, Match, Options, Params, Shingles};
use std::collections::BTreeSet;

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

fn documents(index: &Index) -> Vec<Document> {
    index.snapshot().iter().map(Result::unwrap).collect()
}

#[test]
fn answers_say_how_much_is_contained() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(&folder.path().join("x"));
    let count = |key: &[u8]| index.signature(key).unwrap().unwrap().shingle_count();
    let of = |rows, own, key: &[u8]| index.params().containment(rows, own, count(key));
    let all = documents(&index);
    let signatures: Vec<_> = all.iter().map(|document| document.signature.clone()).collect();
    let together = index.queries(&signatures).contained(CONTAINED).run().unwrap();
    let terms = Admit::at(Alike::contained(CONTAINED));
    for (document, together) in all.iter().zip(together) {
        let alone = index.query_key(&document.key).contained(CONTAINED).run().unwrap();
        let admission = index.admit("new", &document.signature, &terms).unwrap();
        let Decision::Rejected { duplicates } = admission.decision else { panic!("it is stored") };
        let matches = alone.matches.into_iter().chain(together).chain(duplicates);
        for Match { key, equal_rows, containment, .. } in matches {
            assert_eq!(containment, of(equal_rows, document.signature.shingle_count(), &key));
        }
    }
    let pairs: Vec<_> = index.pairs(Alike::contained(CONTAINED)).unwrap().flatten().collect();
    assert!(pairs.len() > 200);
    for pair in pairs {
        assert_eq!(pair.containment, of(pair.equal_rows, count(&pair.a), &pair.b));
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
