//! Payloads, removes by prefix, and batches that are split by length.

use crate::support::{Scratch, kind, run};
use nearkin::{Batch, Document, Edit, ErrorKind, Index, Options, Outcome};

#[test]
fn a_document_from_elsewhere_comes_as_it_is() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    let (index, from) = (scratch.create(), other.create());
    let signature = run(0, 10);
    index.insert_with_payload("a", &signature, "old").unwrap();
    let document = Document::new("a", run(5, 10)).with_time(7);
    index.write(Batch::new().insert_document(&document)).unwrap();
    assert_eq!(index.get("a").unwrap().unwrap(), document, "an empty payload, too");
    index.set_payload("a", "old").unwrap();
    from.insert("a", &signature).unwrap();
    assert_eq!(index.import(&from.snapshot()).unwrap().replaced, 1);
    assert_eq!(index.get("a").unwrap(), from.get("a").unwrap());
}

#[test]
fn a_prefix_goes_as_one_change_or_as_several_that_fit() {
    let signature = run(0, 10);
    for (bytes_max, changes) in [(16 << 20, 1), (1 << 10, 6)] {
        let scratch = Scratch::new();
        let options = Options::default().batch_bytes_max(bytes_max);
        let index = Index::create(scratch.dir(), &crate::support::params(), options).unwrap();
        assert_eq!(index.batch_bytes_max(), bytes_max);
        let keys: Vec<String> =
            (0..200).flat_map(|at| [format!("north/{at}"), format!("south/{at}")]).collect();
        let mut batch = Batch::new();
        for key in &keys {
            let edit = Edit::insert(key, &signature).payload("p");
            if batch.bytes() + edit.bytes() > index.batch_bytes_max() {
                index.write(std::mem::take(&mut batch)).unwrap();
            }
            batch.push(edit);
        }
        index.write(batch).unwrap();
        assert_eq!(index.len(), 400);
        let before = index.snapshot().change();
        assert_eq!(index.remove_prefix("north/").unwrap(), 200);
        assert_eq!(index.snapshot().change() - before, changes);
        assert_eq!(index.len(), 200);
        assert_eq!(index.snapshot().keys_with_prefix("north/").unwrap().count(), 0);
        // There is nothing left to remove, so no change is written.
        let before = index.snapshot().change();
        assert_eq!(index.remove_prefix("north/").unwrap(), 0);
        assert_eq!(index.remove_prefix(vec![b'n'; 5_000]).unwrap(), 0);
        assert_eq!(index.snapshot().change(), before);
        // A key is a prefix of itself, and the empty prefix matches all keys.
        assert_eq!(index.remove_prefix("south/199").unwrap(), 1);
        let refused = index.remove_prefix("").unwrap_err();
        assert_eq!((refused.kind(), index.len()), (ErrorKind::Invalid, 199));
        assert_eq!(index.clear().unwrap(), 199);
        assert!(index.is_empty() && index.verify().unwrap().problems.is_empty());
    }
}

#[test]
fn a_key_longer_than_a_batch_goes_with_its_prefix() {
    let scratch = Scratch::new();
    let index = scratch.create();
    for last in ["1", "2"] {
        index.insert("k".repeat(4_095) + last, &run(0, 10)).unwrap();
    }
    index.close().unwrap();
    let options = Options::default().batch_bytes_max(1 << 10);
    let index = Index::open(scratch.dir(), options).unwrap();
    let before = index.snapshot().change();
    assert_eq!(index.remove_prefix("k").unwrap(), 2);
    assert_eq!(index.snapshot().change() - before, 2);
}

#[test]
fn a_batch_is_built_in_place_and_weighs_what_its_edits_do() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let signature = run(0, 10);
    let edits = [
        Edit::insert("a", &signature),
        Edit::insert("b", &signature).payload("payload").time(7),
        Edit::set_payload("a", "set"),
        Edit::remove("c").payload("ignored"),
    ];
    let mut batch = Batch::new();
    let mut bytes = batch.bytes();
    for edit in &edits {
        bytes += edit.bytes();
        batch.push(edit.clone());
        assert_eq!(batch.bytes(), bytes);
    }
    let chained = Batch::new()
        .insert("a", &signature)
        .insert_document(
            &Document::new("b", signature.clone()).with_payload("payload").with_time(7),
        )
        .set_payload("a", "set")
        .remove("c");
    assert_eq!((chained.bytes(), chained.len()), (bytes, 4));
    let collected: Batch = edits.iter().cloned().collect();
    assert_eq!((collected.bytes(), collected.len()), (bytes, 4));
    let outcomes = index.write(batch).unwrap().outcomes;
    let expected = [Outcome::Superseded, Outcome::Inserted, Outcome::Inserted, Outcome::Missing];
    assert_eq!(outcomes, expected);
    assert_eq!(index.write(collected).unwrap().count(Outcome::Unchanged), 2);
    assert_eq!(index.get("a").unwrap().unwrap().payload, b"set");
    assert_eq!(index.get("b").unwrap().unwrap().time, 7);
    // `set_payload` has the same limit as an insert, and an empty key is refused.
    let long = vec![0; 65_537];
    assert_eq!(kind(index.set_payload("a", &long)), ErrorKind::Invalid);
    assert_eq!(kind(index.set_payload("", "x")), ErrorKind::Invalid);
    assert_eq!(index.set_payload("a", &long[1..]).unwrap(), Outcome::Replaced);
}
