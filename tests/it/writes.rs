//! Writing: limits, outcomes, change numbers, atomic batches.

use crate::support::{Scratch, assert_whole, inline, kind, message, params, run};
use nearkin::{Batch, ErrorKind, Index, Outcome, Params, Shingles, Sketcher};

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
