//! Compares queries, pairs, clusters and snapshots with the model.

use crate::support::{Model, Scratch, inline, keys, kind, message, params, run};
use nearkin::{Batch, ErrorKind, Index, Options, Params, Signature};
use std::collections::BTreeSet;
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
fn a_query_obeys_the_law_at_every_threshold_and_limit() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    for compacted in [false, true] {
        for begin in [0, 7, 45, 500, 10_000] {
            let signature = run(begin, 100);
            for threshold in [0.0, 0.3, 0.5, 0.8, 0.95, 1.0] {
                for limit in [0, 1, 5, usize::MAX] {
                    let query = index.query(&signature).threshold(threshold).limit(limit);
                    let answer = query.run().unwrap();
                    let all = model.query(&params(), &signature, threshold, usize::MAX);
                    let first = &all[..limit.min(all.len())];
                    assert_eq!(keys(&answer), first, "{compacted} {begin} {threshold} {limit}");
                    assert_eq!(answer.found, u64::try_from(all.len()).unwrap());
                    assert_eq!(answer.change, index.snapshot().change());
                }
            }
        }
        index.compact().unwrap();
    }
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
fn equal_matches_come_in_order_of_their_keys_wherever_they_lie() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for key in ["m", "b", "z", "a\0", "a", "aa"] {
        index.insert(key, &run(0, 10)).unwrap();
        if key == "z" {
            index.flush().unwrap();
        }
    }
    let answer = index.query(&run(0, 10)).limit(4).run().unwrap();
    let found: Vec<_> = answer.matches.iter().map(|found| found.key.as_slice()).collect();
    assert_eq!(found, [&b"a"[..], b"a\0", b"aa", b"b"]);
    assert_eq!(answer.found, 6);
}

#[test]
fn a_document_never_finds_itself() {
    let scratch = Scratch::new();
    let (index, mut model) = filled(&scratch);
    for key in model.clone().documents.keys() {
        let (signature, payload) = model.documents.remove(key).unwrap();
        let answer = index.query_key(key).threshold(0.4).run().unwrap();
        let expected = model.query(&params(), &signature, 0.4, usize::MAX);
        assert_eq!(keys(&answer), expected);
        assert_eq!(answer.found, u64::try_from(expected.len()).unwrap());
        model.insert(key, &signature, &payload);
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
        assert_eq!(kind(index.pairs(threshold)), ErrorKind::Invalid);
        assert_eq!(kind(index.clusters(threshold)), ErrorKind::Invalid);
    }
}

#[test]
fn an_empty_index_answers_with_nothing() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for emptied in [false, true] {
        if emptied {
            index.insert("a", &run(0, 10)).unwrap();
            index.flush().unwrap();
            index.remove("a").unwrap();
        }
        let answer = index.query(&run(0, 10)).threshold(0.0).run().unwrap();
        assert_eq!((answer.matches.len(), answer.found), (0, 0));
        assert!(index.pairs(0.0).unwrap().next().is_none());
        assert!(index.clusters(0.0).unwrap().next().is_none());
        assert!(index.snapshot().iter().next().is_none());
        assert_eq!((index.len(), index.get("a").unwrap()), (0, None));
    }
}

#[test]
fn pairs_are_those_that_queries_find_each_once() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    for compacted in [false, true] {
        for threshold in [0.3, 0.5, 0.9] {
            let mut expected = BTreeSet::new();
            for (key, (signature, _)) in &model.documents {
                let key = String::from_utf8_lossy(key).into_owned();
                for (other, equal) in model.query(&params(), signature, threshold, usize::MAX) {
                    if key < other {
                        expected.insert((key.clone(), other, equal));
                    }
                }
            }
            let mut found = BTreeSet::new();
            for pair in index.pairs(threshold).unwrap() {
                let pair = pair.unwrap();
                assert_eq!(
                    pair.similarity.to_bits(),
                    params().similarity(pair.equal_rows).to_bits()
                );
                let text = |key: Vec<u8>| String::from_utf8(key).unwrap();
                assert!(found.insert((text(pair.a), text(pair.b), pair.equal_rows)), "twice");
            }
            assert_eq!(found, expected, "{compacted} {threshold}");
            assert!(!found.is_empty());
        }
        index.compact().unwrap();
    }
}

#[test]
fn clusters_are_what_pairs_connect() {
    let scratch = Scratch::new();
    let index = scratch.create();
    // Two chains whose ends are not similar. A single document follows.
    for at in 0..5 {
        index.insert(format!("b{at}"), &run(at * 10, 100)).unwrap();
        index.insert(format!("a{at}"), &run(5_000 + at * 10, 100)).unwrap();
        if at == 2 {
            index.flush().unwrap();
        }
    }
    index.insert("alone", &run(90_000, 100)).unwrap();
    index.insert("gone", &run(20, 100)).unwrap();
    index.remove("gone").unwrap();
    let clusters = |threshold| {
        let found = index.clusters(threshold).unwrap().map(Result::unwrap);
        let mut found: Vec<_> = found.map(|cluster| cluster.keys).collect();
        found.sort();
        found
    };
    let chain = |name: &str| (0..5).map(|at| format!("{name}{at}").into_bytes()).collect();
    let expected: Vec<Vec<Vec<u8>>> = vec![chain("a"), chain("b")];
    assert_eq!(clusters(0.4), expected);
    index.compact().unwrap();
    assert_eq!(clusters(0.4), expected);
    let first = index.clusters(0.4).unwrap().next().unwrap().unwrap();
    assert_eq!(first.size(), 5);
    assert_eq!(first.representative(), first.keys[0]);
    assert!(clusters(1.0).is_empty());
    let cancelled = index.clusters_with(0.4, &mut |_| ControlFlow::Break(()));
    assert_eq!(kind(cancelled), ErrorKind::Cancelled);
}

#[test]
fn a_snapshot_is_frozen_whatever_happens_to_the_index() {
    let scratch = Scratch::new();
    let (index, model) = filled(&scratch);
    let signature = run(0, 100);
    let snapshot = index.snapshot();
    let query = index.query(&signature).threshold(0.3);
    let expected = model.query(&params(), &signature, 0.3, usize::MAX);
    let check = |what: &str| {
        assert_eq!(keys(&query.run().unwrap()), expected, "{what}");
        let answer = snapshot.query(&signature).threshold(0.3).run().unwrap();
        assert_eq!(keys(&answer), expected, "{what}");
        assert_eq!(answer.change, snapshot.change(), "{what}");
        assert_eq!(snapshot.len(), 30, "{what}");
        assert_eq!(snapshot.iter().count(), 30, "{what}");
        assert!(snapshot.contains("d00").unwrap() && !snapshot.contains("new").unwrap());
    };
    check("at once");
    index.insert("new", &signature).unwrap();
    check("after an insert");
    for key in model.documents.keys() {
        index.remove(key).unwrap();
    }
    check("after removes");
    index.flush().unwrap();
    check("after a flush");
    index.compact().unwrap();
    check("after a compaction");
    assert!(index.stats().unwrap().snapshots_pinning > 0);
    assert_eq!(keys(&index.query(&signature).run().unwrap()), [("new".to_owned(), 64)]);
    index.close().unwrap();
    check("after closing");
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

#[test]
fn queries_asked_together_are_answered_as_if_asked_alone() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for at in 0..40 {
        index.insert(format!("k{at}"), &run(at * 3, 30)).unwrap();
        if at % 11 == 10 {
            index.flush().unwrap();
        }
    }
    index.remove("k7").unwrap();
    // More look-ups than one batch holds: 43 signatures with 16 bands each. The last signature
    // equals the first.
    let queries: Vec<_> = (0..43).map(|at| run(at % 42 * 5, 30)).collect();
    let snapshot = index.snapshot();
    for (threshold, limit) in [(0.5, usize::MAX), (0.0, 2), (0.9, 1)] {
        let together = snapshot.queries(&queries).threshold(threshold).limit(limit).run().unwrap();
        let alone = queries.iter().map(|one| snapshot.query(one).threshold(threshold).limit(limit));
        let alone: Vec<_> = alone.map(|query| query.run().unwrap()).collect();
        assert_eq!(together, alone);
        assert!(alone.iter().any(|answer| answer.found > 1));
    }
    assert!(index.queries(&[]).run().unwrap().is_empty());
    assert_eq!(kind(index.queries(&queries).threshold(1.5).run()), ErrorKind::Invalid);
}

/// More look-ups than one batch holds: 41 segments with 16 bands each, which makes rounds of 14
/// segments.
#[test]
fn many_segments_are_asked_as_one_is() {
    let scratch = Scratch::new();
    let options = inline().tier_segments_max(1000);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    for at in 0..41 {
        // Each segment has a unique document, and one that is similar to documents in the
        // neighbouring segments.
        index.insert(format!("a{at}"), &run(10_000 + at * 100, 30)).unwrap();
        index.insert(format!("b{at}"), &run(at * 3, 30)).unwrap();
        index.flush().unwrap();
    }
    index.remove("b20").unwrap();
    assert_eq!(index.stats().unwrap().segments, 41);
    let mut queries: Vec<_> = (0..41).map(|at| run(10_000 + at * 100, 30)).collect();
    queries.extend((0..41).map(|at| run(at * 3, 30)));
    let ask = || {
        let snapshot = index.snapshot();
        let together = snapshot.queries(&queries).run().unwrap();
        let alone = queries.iter().map(|one| snapshot.query(one).run().unwrap());
        let found = |answer: nearkin::Answer| (answer.matches, answer.found, answer.complete);
        let alone: Vec<_> = alone.map(found).collect();
        assert_eq!(together.into_iter().map(found).collect::<Vec<_>>(), alone);
        alone
    };
    let of_many = ask();
    for (at, (matches, ..)) in of_many.iter().enumerate() {
        let own = if at < 41 { format!("a{at}") } else { format!("b{}", at - 41) };
        assert_eq!(matches.iter().any(|found| found.key == own.as_bytes()), own != "b20");
        assert_eq!(at < 41, matches.len() == 1, "{own}");
    }
    index.compact().unwrap();
    assert_eq!(index.stats().unwrap().segments, 1);
    assert_eq!(ask(), of_many);
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
