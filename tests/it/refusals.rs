//! A refusal of one of many documents says which one it is.

use crate::support::{Scratch, inline, params, run};
use nearkin::passages::PassageIndex;
use nearkin::shards::{Ticket, seal};
use nearkin::{
    Admit, Batch, Conditions, Document, Edit, Error, ErrorKind, Newcomer, Params, Shingles,
    Signature, Sketcher, Windows,
};

/// Key, signature and payload of a document that is refused; the kind of the error, and a part of
/// its message.
type Fault<'a> = (&'a [u8], &'a Signature, &'a [u8], ErrorKind, &'a str);

/// A signature that an index of `params()` refuses.
fn foreign() -> Signature {
    let params = Params::for_threshold(0.5).shingles(Shingles::Items).seed(9).hashes(64);
    Sketcher::new(&params.bands(16, 4).build().unwrap()).items(0..10_u32).unwrap()
}

/// The error of a call about document 1 of several, with this key.
#[track_caller]
fn is_about<T>(refused: nearkin::Result<T>, key: &[u8], kind: ErrorKind) -> String {
    let Err(error) = refused else { panic!("not refused") };
    assert_eq!((error.kind(), error.position(), error.key()), (kind, Some(1), Some(key)));
    let message = error.to_string();
    assert!(message.starts_with("document 1 (counted from 0), key \""), "{message}");
    assert!(message.len() < 400, "{message}");
    assert_eq!(error.full_message(), message);
    message
}

#[test]
fn a_refusal_of_one_of_many_names_its_number_and_its_key() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let (good, foreign) = (run(0, 10), foreign());
    let (long_key, long_payload) = (vec![b'k'; 5_000], vec![7; 70_000]);
    let faults: [Fault<'_>; 4] = [
        (b"", &good, b"", ErrorKind::Invalid, "key \"\": a key has 1 to 4096 bytes, not 0"),
        (&long_key, &good, b"", ErrorKind::Invalid, ".. (5000 bytes): a key has 1 to 4096 bytes"),
        (b"b", &good, &long_payload, ErrorKind::Invalid, "key \"b\": a payload has at most 65536"),
        (b"b", &foreign, b"", ErrorKind::Mismatch, "key \"b\": the signature was made with other"),
    ];
    for (key, signature, payload, kind, says) in faults {
        let edit = Edit::insert(key, signature).payload(payload);
        let others = [Edit::insert("a", &good), edit, Edit::insert("c", &good)];
        let message = is_about(index.write(Batch::from_iter(others)), key, kind);
        assert!(message.contains(says), "{message}");

        let newcomers = [Newcomer::new("a", &good), Newcomer::new(key, signature).payload(payload)];
        let admitted = index.admit_all(&newcomers, &Admit::at(0.9));
        assert!(is_about(admitted, key, kind).contains(says));
        let admitted =
            index.admit_all(&newcomers, &Admit::at(Conditions::from(0.9).filter(|_, _| true)));
        assert!(is_about(admitted, key, kind).contains(says));
        let mut fetch = |_: &[u8]| Ok(None);
        let admitted = index.admit_verified(&newcomers, &mut Admit::at(0.9).verify(&mut fetch));
        assert!(is_about(admitted, key, kind).contains(says));

        let document = |key: &[u8], signature: &Signature, payload: &[u8]| {
            Document::new(key, signature.clone()).with_payload(payload)
        };
        let documents = vec![document(b"a", &good, b""), document(key, signature, payload)];
        let ticket = Ticket::new([7; 16], 1).unwrap();
        let sealed = seal(&params(), documents, &ticket, scratch.path("sealed"));
        assert!(is_about(sealed, key, kind).contains(says));
    }
    let removes = Batch::new().remove("a").remove("");
    is_about(index.write(removes), b"", ErrorKind::Invalid);
    let payloads = Batch::new().set_payload("a", "").set_payload("b", &long_payload);
    is_about(index.write(payloads), b"b", ErrorKind::Invalid);
    assert_eq!((index.len(), index.snapshot().change()), (0, 0), "nothing was written");

    // One alone needs no number.
    let message = index.insert("", &good).unwrap_err().to_string();
    assert_eq!(message, "a key has 1 to 4096 bytes, not 0");
    let message = index.admit("", &good, &Admit::at(0.9)).unwrap_err().to_string();
    assert_eq!(message, "a key has 1 to 4096 bytes, not 0");
}

#[test]
fn an_error_during_a_call_names_the_newcomer_too() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("b", &run(500, 10)).unwrap();
    let original = |from: u32| index.sketcher().original_items(from..from + 10).unwrap();
    let (a, b) = (original(0), original(500));
    let newcomers = [Newcomer::original("a", &a), Newcomer::original("c", &b)];
    let mut fetch = |_: &[u8]| Err(Error::other("the archive is closed"));
    let mut terms = Admit::at(0.9).verify(&mut fetch);
    let message = is_about(index.admit_verified(&newcomers, &mut terms), b"c", ErrorKind::Other);
    assert!(message.ends_with("key \"c\": the archive is closed"), "{message}");
    // A document that the filter hides has the key of the second newcomer.
    let newcomers = [Newcomer::original("a", &a), Newcomer::original("b", &a)];
    let conditions = Conditions::from(0.9).filter(|key, _| key != b"b");
    let admitted = index.admit_all(&newcomers, &Admit::at(conditions));
    is_about(admitted, b"b", ErrorKind::Exists);
    let newcomers = [Newcomer::original("a", &a), Newcomer::new("d", a.signature())];
    let mut fetch = |_: &[u8]| Ok(None);
    let admitted = index.admit_verified(&newcomers, &mut Admit::at(0.9).verify(&mut fetch));
    assert!(is_about(admitted, b"d", ErrorKind::Invalid).contains("use Newcomer::original"));
}

#[test]
fn a_refused_query_of_many_has_a_number() {
    let index = Scratch::new().create();
    let signatures = [run(0, 10), foreign(), run(0, 10)];
    let error = index.snapshot().queries(&signatures).run().unwrap_err();
    assert_eq!((error.kind(), error.position()), (ErrorKind::Mismatch, Some(1)));
    let message = error.to_string();
    assert!(message.starts_with("query 1 (counted from 0): the signature was made"), "{message}");
}

#[test]
fn a_refused_passage_is_told_as_its_text() {
    let scratch = Scratch::new();
    let params = |seed| {
        let windows = Windows::new(20, 10).unwrap();
        Params::for_threshold(0.5).seed(seed).passages(windows).build().unwrap()
    };
    let index = PassageIndex::create(scratch.dir(), &params(1), inline()).unwrap();
    let other = PassageIndex::create(scratch.path("other"), &params(2), inline()).unwrap();
    let text: Vec<String> = (0..99).map(|word| format!("word{word}")).collect();
    let text = text.join(" ");
    let good = index.cutter().prepare("a", &text, None).unwrap();
    let foreign = other.cutter().prepare("b", &text, None).unwrap();
    is_about(index.write(&[good.clone(), foreign, good]), b"b", ErrorKind::Mismatch);
}
