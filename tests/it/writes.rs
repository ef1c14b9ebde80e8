//! Writing: limits, outcomes, change numbers, atomic batches.

use crate::support::{Scratch, assert_whole, inline, kind, message, params, run};
use nearkin::{
    Batch, Edit, ErrorKind, Index, Options, Outcome, Params, Reader, Shingles, Sketcher, Snapshot,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_key_has_1_to_4096_bytes() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let signature = run(0, 10);
    for (bytes, fits) in [(0, false), (1, true), (4096, true), (4097, false)] {
        let key = vec![b'k'; bytes];
        let inserted = index.insert(&key, &signature);
        let removed = index.remove(&key);
        if fits {
            assert_eq!(inserted.unwrap(), Outcome::Inserted);
            assert_eq!(removed.unwrap(), Outcome::Removed);
        } else {
            assert!(message(inserted, ErrorKind::Invalid).contains("1 to 4096"));
            assert!(message(removed, ErrorKind::Invalid).contains("1 to 4096"));
        }
    }
}

#[test]
fn keys_are_bytes_of_any_value_and_differ_by_any_of_them() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let longest = vec![0xFF; 4096];
    let almost = [vec![0xFF; 4095], vec![0xFE]].concat();
    let keys: [&[u8]; 6] = [b"\0", b"\0\0", b"\xC3\x28", b"a\tb\nc", &longest, &almost];
    for key in keys {
        assert_eq!(index.insert(key, &run(0, 10)).unwrap(), Outcome::Inserted);
    }
    index.flush().unwrap();
    for key in keys {
        assert_eq!(index.get(key).unwrap().unwrap().key, key);
        assert_eq!(index.query_key(key).run().unwrap().found, 5);
    }
    assert_whole(&index);
}

#[test]
fn looking_up_a_key_that_no_document_can_have_finds_none() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    index.flush().unwrap();
    for bytes in [0, 4097, 70_000] {
        assert!(!index.contains(vec![b'k'; bytes]).unwrap());
    }
}

#[test]
fn a_payload_has_at_most_64_kib() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let signature = run(0, 10);
    let write = |bytes: usize| {
        index.write(Batch::new().insert_with_payload("k", &signature, vec![7; bytes]))
    };
    assert!(message(write(65_537), ErrorKind::Invalid).contains("65536"));
    assert!(index.is_empty());
    write(65_536).unwrap();
    assert_eq!(index.get("k").unwrap().unwrap().payload, vec![7; 65_536]);
    index.close().unwrap();
    let index = scratch.open();
    assert_eq!(index.get("k").unwrap().unwrap().payload, vec![7; 65_536]);
    let answer = index.query(&signature).run().unwrap();
    assert_eq!(answer.matches[0].payload.len(), 65_536);
}

#[test]
fn a_batch_longer_than_batch_bytes_max_is_refused_whole() {
    let scratch = Scratch::new();
    let options = inline().batch_bytes_max(4096);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let mut batch = Batch::new();
    let mut fits = Batch::new();
    while batch.bytes() <= 4096 {
        fits = batch.clone();
        let key = format!("k{}", batch.len());
        batch = batch.insert(key, &run(0, 10));
    }
    let said = message(index.write(batch), ErrorKind::Invalid);
    assert!(said.contains("batch_bytes_max") && said.contains("4096"), "{said}");
    assert_eq!((index.len(), index.snapshot().change()), (0, 0));
    let count = fits.len();
    assert_eq!(index.write(fits).unwrap().outcomes, vec![Outcome::Inserted; count]);
}

#[test]
fn the_largest_batch_by_default_is_written_and_replayed() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let mut batch = Batch::new();
    while batch.bytes() + 65_700 < 16 << 20 {
        let key = format!("k{:04}", batch.len());
        batch = batch.insert_with_payload(key, &run(0, 10), vec![1; 65_536]);
    }
    let count = u64::try_from(batch.len()).unwrap();
    assert_eq!(index.write(batch).unwrap().count(Outcome::Inserted), count);
    drop(index);
    let index = scratch.open();
    assert_eq!(index.stats().unwrap().recovery.changes_replayed, 1);
    assert_eq!(index.len(), count);
    assert_whole(&index);
}

#[test]
fn a_signature_of_other_parameters_is_refused() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let base = || Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64).bands(16, 4);
    let foreign = [base().seed(1), base().hashes(128), base().lane_bits(16), base().bag(true)];
    for params in foreign {
        let signature = Sketcher::new(&params.build().unwrap()).items(0..10_u32).unwrap();
        assert_eq!(kind(index.insert("a", &signature)), ErrorKind::Mismatch);
        assert_eq!(kind(index.query(&signature).run()), ErrorKind::Mismatch);
    }
    assert!(index.is_empty());
    // Signatures do not depend on bands and threshold, so these parameters fit.
    let other_bands = base().threshold(0.9).bands(8, 8).build().unwrap();
    let signature = Sketcher::new(&other_bands).items(0..10_u32).unwrap();
    assert_eq!(index.insert("a", &signature).unwrap(), Outcome::Inserted);
}

#[test]
fn an_empty_batch_is_no_change() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let written = index.write(Batch::new()).unwrap();
    assert_eq!((written.change, written.outcomes.len()), (0, 0));
    assert!(Batch::new().is_empty());
}

#[test]
fn the_clock_of_the_options_stamps_documents() {
    let scratch = Scratch::new();
    let options = inline().clock(|| 1_234_567);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    index.insert("a", &run(0, 10)).unwrap();
    assert_eq!(index.get("a").unwrap().unwrap().time, 1_234_567);
    drop(index);
    let index = scratch.open();
    assert_eq!(index.get("a").unwrap().unwrap().time, 1_234_567);
    assert_eq!(index.query(&run(0, 10)).run().unwrap().matches[0].time, 1_234_567);
    assert_eq!(index.get("a").unwrap().unwrap().signature.shingle_count(), 10);
}

#[test]
fn documents_replaced_again_and_again_do_not_fill_the_memtable() {
    let scratch = Scratch::new();
    let options = inline().durability(nearkin::Durability::OsBuffer);
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    let signature = run(0, 10);
    let mut most = 0;
    for round in 0..50_u32 {
        let document = |batch: Batch, key: u32| {
            batch.insert_with_payload(key.to_le_bytes(), &signature, round.to_le_bytes())
        };
        index.write((0..1_000).fold(Batch::new(), document)).unwrap();
        most = most.max(index.stats().unwrap().memtable_documents);
    }
    assert!((10_000..20_000).contains(&most), "{most}");
    assert_eq!(index.len(), 1_000);
    assert_whole(&index);
}

#[test]
fn a_batch_that_was_cleared_is_a_new_one() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let mut batch = Batch::new().insert("a", &run(0, 10)).remove("b").insert("c", &run(1, 10));
    batch.clear();
    assert_eq!((batch.len(), batch.bytes()), (0, Batch::new().bytes()));
    batch = batch.insert("d", &run(2, 10));
    index.write(&batch).unwrap();
    assert_eq!((index.len(), index.contains("d").unwrap()), (1, true));
    assert!(index.verify().unwrap().is_ok());
}

/// The clock of an index, which the test sets.
type Clock = Arc<AtomicU64>;

/// Options with a clock that the test sets.
fn with_clock() -> (Options, Clock) {
    let clock = Clock::default();
    let time = Arc::clone(&clock);
    (inline().clock(move || time.load(Ordering::Relaxed)), clock)
}

#[test]
fn an_insert_after_a_remove_of_the_same_batch_renews_the_time() {
    let scratch = Scratch::new();
    let (options, clock) = with_clock();
    let index = Index::create(scratch.dir(), &params(), options).unwrap();
    clock.store(1_000, Ordering::Relaxed);
    let (a, b, c) = ("a", "b", "c");
    index.insert(a, &run(0, 10)).unwrap();
    index.insert_with_payload(b, &run(0, 10), "pay").unwrap();
    index.insert_with_payload(c, &run(0, 10), "pay").unwrap();
    // The old versions are in a segment, the new ones in the log.
    index.flush().unwrap();
    clock.store(2_000, Ordering::Relaxed);
    let batch = Batch::new()
        .remove(a)
        .remove(b)
        .remove(c)
        .insert(a, &run(0, 10))
        .insert_with_payload(b, &run(0, 10), "pay")
        .insert(c, &run(0, 10));
    let written = index.write(batch).unwrap();
    assert_eq!((written.change, written.count(Outcome::Replaced)), (4, 3), "{written:?}");
    let is_renewed = |snapshot: &Snapshot, what: &str| {
        for (key, payload) in [(a, ""), (b, "pay"), (c, "")] {
            let document = snapshot.get(key).unwrap().unwrap();
            let expected = (2_000, payload.as_bytes());
            assert_eq!((document.time, &*document.payload), expected, "{key} {what}");
        }
    };
    is_renewed(&index.snapshot(), "at once");
    assert_eq!(index.remove_before(1_500).unwrap(), 0);
    assert_whole(&index);
    // The log is read by a reader, by salvage, and by the next opening.
    let reader = Reader::open(scratch.dir(), inline()).unwrap();
    index.sync().unwrap();
    reader.refresh().unwrap();
    is_renewed(&reader.snapshot(), "for a reader");
    drop((reader, index));
    let salvage = |out: &str| {
        Index::salvage(scratch.dir(), scratch.path(out), None, inline()).unwrap();
        Index::open(scratch.path(out), inline()).unwrap()
    };
    is_renewed(&salvage("log").snapshot(), "salvaged from the log");
    let index = scratch.open();
    is_renewed(&index.snapshot(), "replayed");
    index.close().unwrap();
    std::fs::remove_file(scratch.dir().join("catalog.redb")).unwrap();
    is_renewed(&salvage("segments").snapshot(), "salvaged from segments");
}

/// All sequences of up to four operations on one key: one batch leaves what a write each leaves.
#[test]
fn operations_of_a_batch_count_as_if_each_were_a_write_of_its_own() {
    let (one, other) = (run(0, 10), run(3, 10));
    let edits = [
        Edit::remove("k"),
        Edit::insert("k", &one),
        Edit::insert("k", &other),
        Edit::insert("k", &one).payload("p"),
        Edit::insert("k", &one).payload(""),
        Edit::set_payload("k", "p"),
        Edit::set_payload("k", ""),
    ];
    let stored = [None, Some(Edit::insert("k", &one)), Some(Edit::insert("k", &one).payload("p"))];
    let [together, apart] = [(); 2].map(|()| Index::temporary(&params(), inline()).unwrap());
    for (stored, count) in stored.iter().flat_map(|stored| (1..=4).map(move |n| (stored, n))) {
        for number in 0..edits.len().pow(count) {
            let digit = |at| number / edits.len().pow(at) % edits.len();
            let some: Vec<_> = (0..count).map(|at| edits[digit(at)].clone().time(2_000)).collect();
            for index in [&together, &apart] {
                let first = stored.iter().map(|edit| edit.clone().time(1_000));
                let batch: Batch = [Edit::remove("k")].into_iter().chain(first).collect();
                index.write(batch).unwrap();
            }
            let before = together.get("k").unwrap();
            for edit in &some {
                apart.write(Batch::from_iter([edit.clone()])).unwrap();
            }
            let change = together.snapshot().change();
            let written = together.write(some.iter().cloned().collect::<Batch>()).unwrap();
            let left = together.get("k").unwrap();
            assert_eq!(left, apart.get("k").unwrap(), "{stored:?}, then {some:?}: {written:?}");
            let outcome = written.outcomes.last().copied().unwrap();
            let is_idle = [Outcome::Unchanged, Outcome::Missing].contains(&outcome);
            assert_eq!(is_idle, written.change == change, "{stored:?}, then {some:?}: {written:?}");
            assert_eq!(is_idle, left == before, "{stored:?}, then {some:?}: {written:?}");
        }
    }
}
