//! Queries in a crowd: what they ask of the system.

use crate::storage::map::tests::REQUESTS;
use crate::{Batch, Index, Options, Params, Reader};

/// A reader of 3,000 equal documents in one segment, none of whose blocks is verified.
fn crowd(folder: &std::path::Path) -> Reader {
    let params = Params::for_threshold(0.7).build().expect("sound");
    let index = Index::create(folder, &params, Options::default()).expect("a new folder");
    let signature = index.sketcher().text("one text that all documents have").expect("a text");
    let batch = (0..3_000_u64).fold(Batch::new(), |batch, key| batch.insert(key, &signature));
    index.write(batch).expect("written");
    index.close().expect("closed");
    Reader::open(folder, Options::default()).expect("opened")
}

/// The calls of `madvise` of a second query: what the first one requested, it also read.
fn requested_again(ask: impl Fn()) -> usize {
    ask();
    let before = REQUESTS.get();
    ask();
    REQUESTS.get() - before
}

#[test]
fn what_is_requested_from_the_disk_is_read_and_so_requested_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let reader = crowd(&folder.path().join("i"));
    let signature = reader.signature(0_u64).expect("sound").expect("stored");
    let query = || reader.query(&signature).limit(1);
    assert_eq!(requested_again(|| drop(query().run().expect("answered"))), 0);
    assert!(REQUESTS.get() > 0, "the first query of all requests something");
    let prefixed = || drop(query().prefix([0_u8]).run().expect("answered"));
    assert_eq!(requested_again(prefixed), 0);
    let filtered = || drop(query().filter(|key, _| !key.is_empty()).run().expect("answered"));
    assert_eq!(requested_again(filtered), 0);
    let timed = || drop(query().after(1).run().expect("answered"));
    assert_eq!(requested_again(timed), 0);
}
