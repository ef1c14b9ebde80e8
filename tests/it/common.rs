//! An index keeps its list of common shingles: when it is opened again, rebuilt and read.

use crate::support::{Scratch, inline};
use nearkin::{Common, CommonLearner, ErrorKind, Index, Params, Reader, Shingles, Sketcher};

const NOTICE: &str = "sent by the weather service of the county all rights reserved";

fn plain() -> Params {
    Params::for_threshold(0.5).shingles(Shingles::Words(2)).build().unwrap()
}

fn texts() -> Vec<String> {
    let text = |n: u32| format!("storm{n} hits town{n} and harbour{n} at {NOTICE}");
    (0..40).map(text).collect()
}

fn with_list() -> Params {
    let mut learner = CommonLearner::new(&plain()).unwrap();
    for text in texts() {
        learner.add_text(&text).unwrap();
    }
    plain().to_builder().common(learner.common(0.5).unwrap()).build().unwrap()
}

fn found(index: &Index) -> u64 {
    let signature = index.sketcher().text(&texts()[3]).unwrap();
    index.query(&signature).threshold(0.5).run().unwrap().found
}

#[test]
fn an_index_keeps_its_list() {
    let scratch = Scratch::new();
    let (params, plain) = (with_list(), plain());
    assert_eq!(params.common().unwrap().hashes().len(), 11);
    let without = Index::create(scratch.path("plain"), &plain, inline()).unwrap();
    let index = Index::create(scratch.dir(), &params, inline()).unwrap();
    for (n, text) in texts().iter().enumerate() {
        for index in [&without, &index] {
            index.insert(n.to_string(), &index.sketcher().text(text).unwrap()).unwrap();
        }
    }
    assert!(found(&without) > 20, "as a check: {}", found(&without));
    assert_eq!(found(&index), 1);
    index.flush().unwrap();
    index.close().unwrap();
    let index = scratch.open();
    assert_eq!((index.params(), found(&index)), (&params, 1));
    let reader = Reader::open(scratch.dir(), inline()).unwrap();
    assert_eq!(reader.params(), &params);

    let out = scratch.path("out");
    let bands = params.to_builder().threshold(0.3).choose_bands().build().unwrap();
    Index::rebuild(&index.snapshot(), &out, &bands, inline()).unwrap();
    let again = Index::open(&out, inline()).unwrap();
    assert_eq!((again.params().common(), found(&again)), (params.common(), 1));

    // Signatures of one list are not those of another, nor of none.
    let foreign = Sketcher::new(&plain).text(&texts()[0]).unwrap();
    assert_eq!(index.insert("x", &foreign).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(index.import(&without.snapshot()).unwrap_err().kind(), ErrorKind::Mismatch);
    let other = plain.to_builder().common(Common::from_hashes([1]).unwrap()).build().unwrap();
    drop(index);
    let opened = Index::open_or_create(scratch.dir(), &other, inline()).unwrap_err();
    assert_eq!(opened.kind(), ErrorKind::Mismatch);
    assert!(opened.to_string().contains("common shingles: 11 here, 1 asked"), "{opened}");
}

/// The largest list fits into every commit.
#[test]
fn an_index_takes_the_largest_list() {
    let scratch = Scratch::new();
    let most = Common::HASHES_MAX as u64;
    let list = (0..most).map(|n| u64::MAX - n * 0x9e37_79b9_7f4a);
    let params = plain().to_builder().common(Common::from_hashes(list).unwrap()).build().unwrap();
    let index = Index::create(scratch.dir(), &params, inline()).unwrap();
    index.insert("a", &index.sketcher().text("one two three").unwrap()).unwrap();
    index.flush().unwrap();
    index.close().unwrap();
    assert_eq!(scratch.open().params(), &params);
}
