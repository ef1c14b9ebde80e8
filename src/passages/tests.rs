//! Indexes of fingerprints that are incomplete, and pairs of texts.

mod crash;

use super::{PassageIndex, cut};
use crate::{Batch, Conditions, Durability, Options, Params, Preset};

fn index(texts: &[(&str, String)]) -> (tempfile::TempDir, PassageIndex) {
    let folder = tempfile::tempdir().unwrap();
    let params = Params::preset(Preset::Quotes).build().unwrap();
    let options = Options::default().durability(Durability::OsBuffer);
    let index = PassageIndex::create(folder.path().join("i"), &params, options).unwrap();
    for (key, text) in texts {
        index.insert(*key, text).unwrap();
    }
    (folder, index)
}

/// Words of their own.
fn words(name: &str, range: std::ops::Range<u32>) -> String {
    range.map(|word| format!("{name}{word} ")).collect::<Vec<_>>().concat()
}

#[test]
fn a_text_that_is_incomplete_is_left_out() {
    let long = words("w", 0..60_000);
    let short = words("w", 100..140);
    let texts = [("a", long), ("b", short.clone()), ("c", short.clone())];
    let (_folder, index) = index(&texts);
    let found = || {
        let answer = index.view().query(&short).run().unwrap();
        let pairs = index.view().pairs(&Conditions::default()).unwrap();
        (answer.found, pairs.len())
    };
    assert_eq!(found(), (3, 3));
    let key = cut::inner_key(b"a", 1);
    let length = index.view().snapshot.get(&key[..]).unwrap().unwrap().payload.len();
    // Its table is too short, and of the right length but none.
    for payload in [vec![0; length - 1], vec![0xff; length]] {
        index.index.write_to_any(&Batch::new().set_payload(key.clone(), payload)).unwrap();
        assert_eq!(found(), (2, 1));
    }
}

#[test]
fn what_stands_out_does_not_depend_on_the_containment() {
    let phrase = words("all", 0..10);
    let mut texts: Vec<(&str, String)> =
        ["c", "d", "e"].map(|name| (name, format!("{phrase}{}", words(name, 0..60)))).to_vec();
    texts.push(("b", format!("{phrase}{}", words("b", 0..4))));
    texts.push(("a", format!("{phrase}{}{}", words("b", 0..4), words("a", 0..60))));
    let (_folder, index) = index(&texts);
    let pairs = index.view().pairs(&Conditions::default()).unwrap();
    assert_eq!((pairs.len(), pairs[0].longest, pairs[0].stands_out), (10, 14, false));
    let contained = index.view().pairs(&Conditions::default().contained(0.9)).unwrap();
    assert_eq!(contained, pairs[..1]);
}

#[test]
fn groups_are_those_that_pairs_connect() {
    let shared = ["p", "q", "r", "s"].map(|name| words(name, 0..20));
    let [p, q, r, s] = &shared;
    let text = |key, parts: &[&String]| {
        let parts: String = parts.iter().map(|part| part.as_str()).collect();
        (key, format!("{parts}{}", words(key, 0..5)))
    };
    let texts = [text("e", &[p]), text("b", &[q]), text("d", &[p, r]), text("a", &[r, q])];
    let rest = [text("f", &[s]), text("c", &[s]), text("g", &[])];
    let (_folder, index) = index(&[&texts[..], &rest].concat());
    let pairs = index.view().pairs(&Conditions::default()).unwrap();
    assert_eq!(pairs.len(), 4, "{pairs:?}");
    let groups = |limit| index.view().clusters(&Conditions::default().limit(limit)).unwrap();
    let expected = [["a", "b", "d", "e"].as_slice(), &["c", "f"]]
        .map(|group| group.iter().map(|key| key.as_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!(groups(usize::MAX), expected);
    assert_eq!(groups(1), expected[..1]);
}

#[test]
fn a_search_for_pairs_is_stopped_within_a_comparison() {
    let text = words("w", 0..40);
    let (_folder, index) = index(&[("a", text.clone()), ("b", text)]);
    // Documents and texts are read; then the comparison of the only pair is stopped.
    let looks = std::sync::atomic::AtomicUsize::new(0);
    let count = || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let all = Conditions::default().cancel_if(|| count() == usize::MAX);
    assert_eq!(index.view().pairs(&all).unwrap().len(), 1);
    let all = looks.load(std::sync::atomic::Ordering::Relaxed);
    for look in 0..all {
        looks.store(0, std::sync::atomic::Ordering::Relaxed);
        let stopped = Conditions::default().cancel_if(|| count() >= look);
        let kind = index.view().pairs(&stopped).unwrap_err().kind();
        assert_eq!(kind, crate::ErrorKind::Cancelled, "{look} of {all}");
    }
}
