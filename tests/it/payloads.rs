//! Payloads, removes by prefix, and batches that are split by length.

use crate::support::{Scratch, kind, run};
use nearkin::{
    Admit, Batch, Decision, Document, Edit, ErrorKind, Index, Keep, Newcomer, Options, Outcome,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens to the index after each write.
#[derive(Clone, Copy)]
enum Then {
    Nothing,
    Flush,
    Compact,
    /// The index is dropped and opened again, so that the log is replayed.
    Replay,
}

/// An index with a clock that the test controls.
struct Desk {
    scratch: Scratch,
    clock: Arc<AtomicU64>,
    index: Option<Index>,
    then: Then,
}

impl Desk {
    fn new(then: Then) -> Self {
        let (scratch, clock) = (Scratch::new(), Arc::new(AtomicU64::new(0)));
        let mut desk = Self { scratch, clock, index: None, then };
        let params = crate::support::params();
        desk.index = Some(Index::create(desk.scratch.dir(), &params, desk.options()).unwrap());
        desk
    }

    fn options(&self) -> Options {
        let clock = Arc::clone(&self.clock);
        Options::default().clock(move || clock.load(Ordering::Relaxed))
    }

    fn index(&self) -> &Index {
        self.index.as_ref().unwrap()
    }

    /// Writes at a given time, then does what `then` says.
    fn write<T>(&mut self, time: u64, write: impl FnOnce(&Index) -> T) -> T {
        self.clock.store(time, Ordering::Relaxed);
        let written = write(self.index());
        match self.then {
            Then::Nothing => {}
            Then::Flush => self.index().flush().unwrap(),
            Then::Compact => self.index().compact().unwrap(),
            Then::Replay => {
                drop(self.index.take());
                self.index = Some(Index::open(self.scratch.dir(), self.options()).unwrap());
            }
        }
        written
    }

    /// Payload and time of a document.
    fn found(&self, key: &str) -> (Vec<u8>, u64) {
        let Document { payload, time, .. } = self.index().get(key).unwrap().unwrap();
        (payload, time)
    }
}

const ALL: [Then; 4] = [Then::Nothing, Then::Flush, Then::Compact, Then::Replay];

#[test]
fn a_payload_stays_until_a_caller_gives_another() {
    let (one, two) = (run(0, 10), run(5, 10));
    for then in ALL {
        let mut desk = Desk::new(then);
        let expect = |desk: &Desk, payload: &str, time| {
            assert_eq!(desk.found("a"), (payload.as_bytes().to_vec(), time));
        };
        // A second document, whose payload must not be mixed up with that of "a".
        desk.write(1, |index| index.insert_with_payload("b", &one, "other").unwrap());
        assert_eq!(desk.write(1, |index| index.insert("a", &one)).unwrap(), Outcome::Inserted);
        expect(&desk, "", 1);
        let set = |index: &Index| index.set_payload("a", "set").unwrap();
        assert_eq!(desk.write(2, set), Outcome::Replaced);
        expect(&desk, "set", 1);
        assert_eq!(desk.write(3, set), Outcome::Unchanged);
        assert_eq!(desk.write(3, |index| index.insert("a", &one)).unwrap(), Outcome::Unchanged);
        expect(&desk, "set", 1);
        assert_eq!(desk.write(4, |index| index.insert("a", &two)).unwrap(), Outcome::Replaced);
        expect(&desk, "set", 4);
        assert_eq!(desk.index().signature("a").unwrap().unwrap(), two);
        let given = |index: &Index| index.insert_with_payload("a", &one, "given").unwrap();
        assert_eq!(desk.write(5, given), Outcome::Replaced);
        assert_eq!(desk.write(6, given), Outcome::Unchanged);
        expect(&desk, "given", 5);
        let cleared = |index: &Index| index.insert_with_payload("a", &one, "").unwrap();
        assert_eq!(desk.write(7, cleared), Outcome::Replaced);
        expect(&desk, "", 7);
        desk.write(8, set);
        assert_eq!(desk.write(9, |index| index.set_payload("a", "")).unwrap(), Outcome::Replaced);
        expect(&desk, "", 7);
        // A remove deletes the payload.
        desk.write(10, set);
        desk.write(11, |index| index.remove("a").unwrap());
        assert_eq!(desk.write(12, set), Outcome::Missing);
        assert!(!desk.index().contains("a").unwrap());
        desk.write(13, |index| index.insert("a", &one).unwrap());
        expect(&desk, "", 13);
        assert_eq!(desk.found("b"), (b"other".to_vec(), 1));
        assert!(desk.index().verify().unwrap().problems.is_empty());
    }
}

/// A case: whether the key is stored, the operations of a batch, the outcome, and the resulting
/// payload and time.
type PayloadCase<'a> = (bool, Vec<Edit<'a>>, Outcome, Option<(&'a str, u64)>);

#[test]
fn operations_of_a_batch_on_one_key_count_in_their_order() {
    let (one, two) = (run(0, 10), run(5, 10));
    let set = |payload| Edit::set_payload("k", payload);
    let insert = |signature| Edit::insert("k", signature);
    let remove = || Edit::remove("k");
    let cases: Vec<PayloadCase<'_>> = vec![
        // Cases in which the key is stored, with signature `one`, payload "stored", time 1.
        (true, vec![set("a"), insert(&two)], Outcome::Replaced, Some(("a", 9))),
        (true, vec![insert(&two), set("a")], Outcome::Replaced, Some(("a", 9))),
        (true, vec![set("a"), set("b")], Outcome::Replaced, Some(("b", 1))),
        (true, vec![set("a"), set("stored")], Outcome::Unchanged, Some(("stored", 1))),
        (true, vec![insert(&two), insert(&one)], Outcome::Unchanged, Some(("stored", 1))),
        (true, vec![insert(&two).payload("a"), insert(&one)], Outcome::Replaced, Some(("a", 9))),
        (true, vec![remove(), insert(&one)], Outcome::Replaced, Some(("", 9))),
        (true, vec![remove(), set("a")], Outcome::Removed, None),
        (true, vec![set("a"), remove()], Outcome::Removed, None),
        (true, vec![remove(), insert(&two), set("a")], Outcome::Replaced, Some(("a", 9))),
        (true, vec![set("a"), remove(), insert(&two)], Outcome::Replaced, Some(("", 9))),
        (true, vec![insert(&two).time(5), set("a")], Outcome::Replaced, Some(("a", 5))),
        (true, vec![insert(&two).payload("")], Outcome::Replaced, Some(("", 9))),
        // Cases in which the key is not stored.
        (false, vec![set("a")], Outcome::Missing, None),
        (false, vec![insert(&one), set("a")], Outcome::Inserted, Some(("a", 9))),
        (false, vec![set("a"), insert(&one)], Outcome::Inserted, Some(("", 9))),
        (false, vec![insert(&one).payload("a"), insert(&two)], Outcome::Inserted, Some(("a", 9))),
        (false, vec![insert(&one), remove(), set("a")], Outcome::Missing, None),
        (false, vec![insert(&one), set("a"), remove()], Outcome::Missing, None),
        (false, vec![insert(&one), remove(), insert(&two)], Outcome::Inserted, Some(("", 9))),
    ];
    for then in ALL {
        for (is_stored, edits, outcome, left) in &cases {
            let mut desk = Desk::new(then);
            desk.write(1, |index| index.insert_with_payload("z", &two, "beside").unwrap());
            if *is_stored {
                desk.write(1, |index| index.insert_with_payload("k", &one, "stored").unwrap());
            }
            // The operations alternate with operations on another key.
            let mut batch = Batch::new();
            for edit in edits {
                batch.push(edit.clone());
                batch.push(Edit::set_payload("z", "beside"));
            }
            let mut expected = vec![Outcome::Superseded; batch.len()];
            expected[batch.len() - 2] = *outcome;
            expected[batch.len() - 1] = Outcome::Unchanged;
            let written = desk.write(9, |index| index.write(batch).unwrap());
            assert_eq!(written.outcomes, expected, "{edits:?}");
            match left {
                None => assert!(!desk.index().contains("k").unwrap(), "{edits:?}"),
                Some((payload, time)) => {
                    assert_eq!(desk.found("k"), (payload.as_bytes().to_vec(), *time), "{edits:?}");
                }
            }
            assert_eq!(desk.index().len(), 1 + u64::from(left.is_some()));
            assert!(desk.index().verify().unwrap().problems.is_empty());
        }
    }
}

#[test]
fn an_admitted_document_keeps_the_payload_of_its_key() {
    let (text, near, far) = (run(0, 100), run(1, 100), run(500, 100));
    for then in ALL {
        let mut desk = Desk::new(then);
        let terms = Admit::at(0.7).keep(Keep::Newest);
        let first = Newcomer::new("a", &text).payload("of a");
        assert!(desk.write(1, |index| index.admit_one(&first, &terms)).unwrap().is_admitted());
        let other = Newcomer::new("b", &far).payload("of b");
        desk.write(1, |index| index.admit_one(&other, &terms).unwrap());
        // Admitted under the stored key "b", this document also replaces the duplicate "a".
        let admission = desk.write(2, |index| index.admit("b", &near, &terms)).unwrap();
        let Decision::Admitted { outcome, removed, .. } = admission.decision else {
            panic!("it takes the place of both");
        };
        assert_eq!((outcome, removed.len()), (Outcome::Replaced, 1));
        assert_eq!(desk.found("b"), (b"of b".to_vec(), 2));
        assert_eq!(desk.index().len(), 1);
        // Several newcomers in one call; the second has the same key as the first.
        let both = [Newcomer::new("b", &far), Newcomer::new("b", &text).payload("")];
        let admissions = desk.write(3, |index| index.admit_all(&both, &terms)).unwrap();
        assert!(admissions.iter().all(nearkin::Admission::is_admitted));
        assert_eq!(desk.found("b"), (Vec::new(), 3));
        let both = [Newcomer::new("b", &far).payload("again"), Newcomer::new("b", &text)];
        desk.write(4, |index| index.admit_all(&both, &terms)).unwrap();
        assert_eq!(desk.found("b"), (b"again".to_vec(), 4));
        // A rejected newcomer changes nothing.
        let refused = Newcomer::new("c", &near).payload("of c");
        let admission = desk.write(5, |index| index.admit_one(&refused, &Admit::at(0.7))).unwrap();
        assert!(!admission.is_admitted());
        assert_eq!(desk.found("b"), (b"again".to_vec(), 4));
    }
}

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
        assert_eq!(index.remove_prefix("").unwrap(), 199);
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
