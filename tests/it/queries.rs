//! Compares queries, pairs, clusters and snapshots with the model.

use crate::support::{Model, Scratch, keys, kind, message, params, run};
use nearkin::{Batch, ErrorKind, Index, Options, Params, Signature};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Documents d00 to d29 with decreasing similarity to d00. Dead versions lie in between, and all
/// are spread over two segments and the memtable.
fn filled(scratch: &Scratch) -> (Index, Model) {
    let (index, mut model) = (scratch.create(), Model::default());
    let old = run(500, 100);
    let mut batch = Batch::new();
    for at in 0..30 {
        batch = batch.insert(format!("d{at:02}"), &old).insert(format!("x{at:02}"), &run(0, 100));
    }
    index.write(batch).unwrap();
    index.flush().unwrap();
    for at in 0..30 {
        let signature = run(at * 3, 100);
        let (key, payload) = (format!("d{at:02}"), vec![1; usize::try_from(at).unwrap()]);
        let batch = Batch::new().insert_with_payload(&key, &signature, &payload);
        index.write(batch.remove(format!("x{at:02}"))).unwrap();
        model.insert(&key, &signature, &payload);
        if at == 15 {
            index.flush().unwrap();
        }
    }
    assert_eq!(Model::read(&index), model);
    (index, model)
}

#[test]
fn a_query_without_a_threshold_takes_that_of_the_index() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    let signature = run(0, 100);
    let answer = index.query(&signature).run().unwrap();
    assert_eq!(keys(&answer), model.query(&params(), &signature, 0.5, usize::MAX));
    assert!(answer.found > 1);
}

#[test]
fn a_match_says_similarity_error_and_payload() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    for found in index.query(&run(0, 100)).run().unwrap() {
        assert_eq!(found.similarity.to_bits(), params().similarity(found.equal_rows).to_bits());
        let error = params().standard_error(found.equal_rows);
        assert_eq!(found.standard_error.to_bits(), error.to_bits());
        assert_eq!(found.payload, model.documents[&found.key].1);
    }
}

#[test]
fn the_neighbours_of_a_key_that_nobody_has_are_not_found() {
    let scratch = Scratch::new();
    let (index, _) = filled(&scratch);
    assert!(message(index.query_key("x00").run(), ErrorKind::NoSuchKey).contains("x00"));
    assert_eq!(kind(index.query_key("").run()), ErrorKind::NoSuchKey);
}

#[test]
fn a_threshold_that_is_no_similarity_is_refused() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for threshold in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let query = index.query(&run(0, 10)).threshold(threshold).run();
        assert_eq!(kind(query), ErrorKind::Invalid);
        assert_eq!(
            kind(index.queries(&[run(0, 10)]).threshold(threshold).run()),
            ErrorKind::Invalid
        );
        assert_eq!(kind(index.pairs(threshold)), ErrorKind::Invalid);
        assert_eq!(kind(index.clusters(threshold)), ErrorKind::Invalid);
    }
}

/// The model covers snapshots; here, a query that was begun is the moment of its beginning, too.
#[test]
fn a_query_and_a_snapshot_are_frozen() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    let signature = run(0, 100);
    let (snapshot, query) = (index.snapshot(), index.query(&signature).threshold(0.3));
    let expected = model.query(&params(), &signature, 0.3, usize::MAX);
    index.insert("new", &signature).unwrap();
    assert!(model.documents.keys().all(|key| index.remove(key).is_ok()));
    index.compact().unwrap();
    assert!(index.stats().unwrap().snapshots_pinning > 0);
    assert_eq!(keys(&index.query(&signature).run().unwrap()), [("new".to_owned(), 64)]);
    index.close().unwrap();
    assert_eq!(keys(&query.run().unwrap()), expected);
    assert_eq!(keys(&snapshot.query(&signature).threshold(0.3).run().unwrap()), expected);
}

#[test]
fn progress_of_pairs_stays_within_its_total_during_inserts() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.insert("b", &run(0, 10)).unwrap();
    let mut pairs = index.pairs(0.5).unwrap();
    for at in 0..10 {
        index.insert(format!("late{at}"), &run(0, 10)).unwrap();
    }
    assert_eq!(pairs.by_ref().map(Result::unwrap).count(), 1);
    let progress = pairs.progress();
    assert_eq!((progress.done, progress.total), (2, 2));
}

#[test]
fn looking_for_clusters_can_be_cancelled_where_there_are_none() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for at in 0..5 {
        index.insert(format!("k{at}"), &run(at * 1_000, 10)).unwrap();
    }
    let mut reports = Vec::new();
    let cancelled = index.clusters_with(0.5, &mut |progress| {
        reports.push((progress.done, progress.total));
        if progress.done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(kind(cancelled), ErrorKind::Cancelled);
    // Progress is counted in finished documents: a document is finished when all its bands are.
    assert!(reports.is_sorted(), "never back: {reports:?}");
    assert_eq!((reports.first(), reports.last()), (Some(&(0, 5)), Some(&(3, 5))));
}

/// Three documents share one band with the query; the fourth shares all bands. In the memtable and
/// in segments alike, a candidate counts against the limit once per shared band.
#[test]
fn bounded_candidates_are_equal_in_memtable_and_segments() {
    let folder = tempfile::tempdir().unwrap();
    let params = Params::builder().hashes(16).bands(4, 4).build().unwrap();
    let index = Index::create(folder.path().join("i"), &params, Options::default()).unwrap();
    let rows = |seed: u8| (0..16).map(|row| row * 13 + seed).collect::<Vec<u8>>();
    let signature = Signature::from_bytes(&params, &rows(1), 9).unwrap();
    index.insert("same", &signature).unwrap();
    for seed in 2..5 {
        let mut bytes = rows(seed);
        bytes[..4].copy_from_slice(&rows(1)[..4]);
        index.insert([seed], &Signature::from_bytes(&params, &bytes, 9).unwrap()).unwrap();
    }
    let ask = |candidates| {
        let answer =
            index.query(&signature).threshold(0.9).max_candidates(candidates).run().unwrap();
        (answer.matches.len(), answer.complete)
    };
    let asked_all = || [3, 4, 6, 7].map(ask);
    // In the memtable the newest documents come first.
    assert_eq!(asked_all(), [(0, false), (1, false), (1, false), (1, true)]);
    index.flush().unwrap();
    assert_eq!(ask(1), (1, false), "the oldest come first here");
    assert_eq!(asked_all(), [(1, false), (1, false), (1, false), (1, true)]);
}

/// Regression, found by reading the code: matches from the memtable were dropped when a crowd was
/// about to be compared.
#[test]
fn a_query_that_stops_later_has_no_fewer_matches() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let same = run(0, 100);
    let batch = (0..300).fold(Batch::new(), |batch, at| batch.insert(format!("{at}"), &same));
    index.write(batch).unwrap();
    let mut last = 0;
    for calls_max in 1..60 {
        let calls = AtomicUsize::new(0);
        let is_over = || calls.fetch_add(1, Ordering::Relaxed) + 1 >= calls_max;
        let answer = index.query(&same).cancel_if(is_over).run().unwrap();
        assert!(answer.matches.len() >= last, "{} after {last}", answer.matches.len());
        last = answer.matches.len();
    }
    assert_eq!(last, 300);
}

/// A query by many keys ends soon after it is cancelled, whether it looks up the keys or searches,
/// and never answers a document that was asked for.
#[test]
fn a_query_by_many_keys_stops_wherever_it_is() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let same = run(0, 100);
    let batch = (0..300).fold(Batch::new(), |batch, at| batch.insert(format!("{at}"), &same));
    index.write(batch).unwrap();
    let keys: Vec<_> = (0..200).map(|at| at.to_string()).collect();
    let mut calls_max = 1;
    loop {
        let calls = AtomicUsize::new(0);
        let is_over = || calls.fetch_add(1, Ordering::Relaxed) + 1 >= calls_max;
        let answer = index.query_keys(&keys).cancel_if(is_over).run().unwrap();
        let asked_for = |found: &nearkin::Match| keys.iter().any(|key| found.key == key.as_bytes());
        assert!(!answer.matches.iter().any(asked_for), "cancelled at call {calls_max}");
        let calls = calls.into_inner();
        if calls < calls_max {
            assert!(answer.complete && answer.matches.len() == 100);
            break;
        }
        assert!(!answer.complete && calls - calls_max < 10, "{calls} calls, over at {calls_max}");
        calls_max += calls_max.div_ceil(8);
    }
    assert!(calls_max > 200, "each key is a step");
}
