//! Concurrent writers on disjoint keys, readers, and background merges. At the end, the index must
//! equal the union of all writes, and every answer to a reader must equal the model's at the change
//! that the answer names.

use crate::support::{Model, Random, Scratch, Version, assert_whole, equal_rows, params, run};
use nearkin::{Batch, Durability, Index, Options, Outcome, Signature};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const WRITERS: u32 = 8;
/// Maximum number of answers per reader that are compared with the model at the end.
const GIVEN_MAX: usize = 2_000;

fn tiny_memtables(durability: Durability) -> Options {
    Options::default().durability(durability).memtable_bytes_max(64 << 10).tier_segments_max(2)
}

/// The effect of every change: a key and its new version, or `None` for a remove. A change is
/// recorded when its writer returns, so answers can be compared only at the end.
#[derive(Default)]
struct History(Mutex<BTreeMap<u64, (String, Option<Version>)>>);

impl History {
    fn note(&self, change: u64, key: &str, version: Option<Version>) {
        let before = self.0.lock().unwrap().insert(change, (key.to_owned(), version));
        assert!(before.is_none(), "two writers were told of change {change}");
    }
}

/// An answer to a reader: the matching keys and their equal rows, as of `change`.
struct Given {
    change: u64,
    documents: u64,
    query: Signature,
    threshold: f64,
    keys: Vec<(String, u32)>,
}

impl History {
    /// Replays the changes once, and compares every answer with the model as of its change.
    fn check(&self, mut given: Vec<Given>) {
        given.sort_by_key(|answer| answer.change);
        let params = params();
        let changes = self.0.lock().unwrap();
        assert!(changes.keys().copied().eq(1..=u64::try_from(changes.len()).unwrap()));
        let (mut changes, mut model, mut change) = (changes.iter(), Model::default(), 0);
        for answer in &given {
            while change < answer.change {
                let (number, (key, version)) = changes.next().expect("a change somebody made");
                match version {
                    Some((signature, payload)) => model.insert(key, signature, payload),
                    None => model.remove(key),
                }
                change = *number;
            }
            assert_eq!(u64::try_from(model.documents.len()).unwrap(), answer.documents);
            let expected = model.query(&params, &answer.query, answer.threshold, usize::MAX);
            assert_eq!(answer.keys, expected, "at change {change}");
        }
    }
}

/// Inserts, replaces and removes documents under keys that only this writer uses, and checks after
/// each write that it is visible.
fn write(index: &Index, history: &History, writer: u32, operations: u32) -> Model {
    let mut random = Random(u64::from(writer));
    let mut model = Model::default();
    for at in 0..operations {
        let key = format!("w{writer}-{}", random.below(60));
        let known = model.documents.contains_key(key.as_bytes());
        if random.below(4) == 0 {
            let written = index.write(Batch::new().remove(&key)).unwrap();
            if known {
                history.note(written.change, &key, None);
            }
            let expected = if known { Outcome::Removed } else { Outcome::Missing };
            assert_eq!(written.outcomes, [expected]);
            assert!(!index.contains(&key).unwrap(), "{key} was removed");
            model.remove(&key);
            continue;
        }
        let signature = run(random.below(500), 30);
        let payload = format!("{writer}.{at}");
        let batch = Batch::new().insert_with_payload(&key, &signature, &payload);
        let written = index.write(batch).unwrap();
        let expected = if known { Outcome::Replaced } else { Outcome::Inserted };
        assert_eq!(written.outcomes, [expected]);
        let version = (signature.clone(), payload.clone().into_bytes());
        history.note(written.change, &key, Some(version));
        model.insert(&key, &signature, payload.as_bytes());
        let answer = index.query(&signature).threshold(0.9).run().unwrap();
        assert!(answer.change >= written.change);
        let own = answer.matches.iter().find(|found| found.key == key.as_bytes());
        let own = own.unwrap_or_else(|| panic!("{key}: Ok implies visible"));
        assert_eq!((own.payload.as_slice(), own.equal_rows), (payload.as_bytes(), 64));
    }
    model
}

/// Queries until `stop` is set, and checks every answer against its snapshot. Returns some of the
/// answers.
fn read(index: &Index, seed: u64, stop: &AtomicBool) -> Vec<Given> {
    let params = params();
    let mut random = Random(seed);
    let (mut answers, mut given) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let signature = run(random.below(500), 30);
        let snapshot = index.snapshot();
        let answer = snapshot.query(&signature).threshold(0.3).run().unwrap();
        assert_eq!(answer.change, snapshot.change());
        for found in &answer.matches {
            let stored = snapshot.get(&found.key).unwrap().expect("what is found exists");
            assert_eq!(stored.payload, found.payload, "of one version");
            assert_eq!(equal_rows(&params, &signature, &stored.signature), found.equal_rows);
        }
        if answers % 8 == 0 {
            let mut model = Model::default();
            for document in snapshot.iter().map(Result::unwrap) {
                model.insert(&document.key, &document.signature, &document.payload);
            }
            assert_eq!(u64::try_from(model.documents.len()).unwrap(), snapshot.len());
            let expected = model.query(&params, &signature, 0.3, usize::MAX);
            assert_eq!(crate::support::keys(&answer), expected);
        }
        if given.len() < GIVEN_MAX {
            let keys = crate::support::keys(&answer);
            let (change, documents) = (snapshot.change(), snapshot.len());
            given.push(Given { change, documents, query: signature, threshold: 0.3, keys });
        }
        answers += 1;
    }
    given
}

/// Runs eight writers and two readers. Returns the expected documents.
fn write_and_read(index: &Index, operations: u32) -> Model {
    let (stop, history) = (AtomicBool::new(false), History::default());
    let (model, given) = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let stop = &stop;
                scope.spawn(move || read(index, 1_000 + reader, stop))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let history = &history;
                scope.spawn(move || write(index, history, writer, operations))
            })
            .collect();
        let mut union = Model::default();
        // Readers must stop even if a writer fails.
        let results: Vec<_> =
            writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        for model in results {
            union.documents.extend(model.unwrap().documents);
        }
        let mut given = Vec::new();
        for reader in readers {
            let of_one = reader.join().unwrap();
            assert!(!of_one.is_empty());
            given.extend(of_one);
        }
        (union, given)
    });
    history.check(given);
    model
}

#[test]
fn writers_that_share_syncs_agree_with_the_union_of_models() {
    let scratch = Scratch::new();
    let options = tiny_memtables(Durability::Sync);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let model = write_and_read(&index, 120);
    assert!(Model::read(&index) == model);
    assert_whole(&index);
    let stats = index.stats().unwrap();
    assert_eq!((stats.change, stats.maintenance_failure), (stats.durable_change, None));
    drop(index);
    assert!(Model::read(&scratch.open()) == model);
}

#[test]
fn without_syncs_merges_keep_up_with_eight_writers() {
    let scratch = Scratch::new();
    let options = tiny_memtables(Durability::OsBuffer);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let model = write_and_read(&index, 600);
    assert!(Model::read(&index) == model);
    index.compact().unwrap();
    assert!(Model::read(&index) == model);
    assert_whole(&index);
    index.close().unwrap();
    assert!(Model::read(&scratch.open()) == model);
}

#[test]
fn flushing_compacting_and_verifying_by_hand_disturb_nobody() {
    let scratch = Scratch::new();
    let options = tiny_memtables(Durability::OsBuffer);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let stop = AtomicBool::new(false);
    let model = std::thread::scope(|scope| {
        let by_hand = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                index.flush().unwrap();
                index.compact().unwrap();
                let found = index.verify().unwrap();
                assert!(found.problems.is_empty(), "{:?}", found.problems);
                index.stats().unwrap();
                index.sync().unwrap();
            }
        });
        let model = write_and_read(&index, 150);
        stop.store(true, Ordering::Relaxed);
        by_hand.join().unwrap();
        model
    });
    assert!(Model::read(&index) == model);
    assert_whole(&index);
}

/// Regression, found by a soak test of the server: `stats` took a nested read lock of the memtable,
/// which deadlocks with a queued writer.
#[test]
fn stats_beside_writers_never_stop_them() {
    let scratch = Scratch::new();
    let options = Options::default().durability(Durability::OsBuffer);
    let index = Arc::new(Index::create(scratch.path("stats"), &params(), options).unwrap());
    let (done, ended) = mpsc::channel();
    for worker in 0..4_u32 {
        let (index, done) = (Arc::clone(&index), done.clone());
        std::thread::spawn(move || {
            for turn in 0..20_000 {
                if worker % 2 == 0 {
                    index.stats().unwrap();
                } else {
                    index.insert(worker.to_string(), &run(turn % 2, 3)).unwrap();
                }
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..4 {
        ended.recv_timeout(Duration::from_secs(120)).expect("they wait for each other");
    }
}
