//! Many threads at once: writers on keys of their own, readers, and merges in the background.
//! At the end the index equals the union of what each writer did.

use crate::support::{Model, Random, Scratch, assert_whole, equal_rows, params, run};
use nearkin::{Batch, Durability, Index, Options, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};

const WRITERS: u32 = 8;

fn tiny_memtables(durability: Durability) -> Options {
    Options::default().durability(durability).memtable_bytes_max(64 << 10).tier_segments_max(2)
}

/// Inserts, replaces and removes on keys of its own, looking after each that it is seen.
fn write(index: &Index, writer: u32, operations: u32) -> Model {
    let mut random = Random(u64::from(writer));
    let mut model = Model::default();
    for at in 0..operations {
        let key = format!("w{writer}-{}", random.below(60));
        let known = model.documents.contains_key(key.as_bytes());
        if random.below(4) == 0 {
            let outcome = index.remove(&key).unwrap();
            assert_eq!(outcome, if known { Outcome::Removed } else { Outcome::Missing });
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
        model.insert(&key, &signature, payload.as_bytes());
        let answer = index.query(&signature).threshold(0.9).run().unwrap();
        assert!(answer.change >= written.change);
        let own = answer.matches.iter().find(|found| found.key == key.as_bytes());
        let own = own.unwrap_or_else(|| panic!("{key}: Ok implies visible"));
        assert_eq!((own.payload.as_slice(), own.equal_rows), (payload.as_bytes(), 64));
    }
    model
}

/// Asks until told to stop; every answer must fit what its own snapshot holds.
fn read(index: &Index, seed: u64, stop: &AtomicBool) -> u32 {
    let params = params();
    let mut random = Random(seed);
    let mut answers = 0;
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
        answers += 1;
    }
    answers
}

/// Eight writers and two readers; returns what must be there.
fn write_and_read(index: &Index, operations: u32) -> Model {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                let stop = &stop;
                scope.spawn(move || read(index, 1_000 + reader, stop))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(index, writer, operations)))
            .collect();
        let mut union = Model::default();
        // Readers must end also when a writer fails.
        let results: Vec<_> =
            writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        for model in results {
            union.documents.extend(model.unwrap().documents);
        }
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
        union
    })
}

#[test]
fn writers_that_share_syncs_and_readers_agree_with_the_union_of_the_models() {
    let scratch = Scratch::new();
    let options = tiny_memtables(Durability::Sync);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let model = write_and_read(&index, 120);
    assert!(Model::of(&index) == model);
    assert_whole(&index);
    let stats = index.stats().unwrap();
    assert_eq!((stats.change, stats.maintenance_failure), (stats.durable_change, None));
    drop(index);
    assert!(Model::of(&scratch.open()) == model);
}

#[test]
fn without_syncs_merges_keep_up_with_eight_writers() {
    let scratch = Scratch::new();
    let options = tiny_memtables(Durability::OsBuffer);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let model = write_and_read(&index, 600);
    assert!(Model::of(&index) == model);
    index.compact().unwrap();
    assert!(Model::of(&index) == model);
    assert_whole(&index);
    index.close().unwrap();
    assert!(Model::of(&scratch.open()) == model);
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
    assert!(Model::of(&index) == model);
    assert_whole(&index);
}
