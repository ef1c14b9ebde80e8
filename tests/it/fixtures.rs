//! Indexes in released formats must open and give the same answers.

use crate::support::inline;
use nearkin::{Index, Params, Shingles, Sketcher};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const BANDS: usize = 12;
const ROWS: usize = 5;
const HASHES: usize = 64;

/// A document of the fixture, as it was written.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    time: u64,
    shingle_count: u32,
    signature: Vec<u8>,
    payload: Vec<u8>,
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1").join(name)
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The documents that `file` lists for the index `name`, by key.
fn expected(name: &str, file: &str) -> BTreeMap<Vec<u8>, Stored> {
    let text = fs::read_to_string(fixture(file)).unwrap();
    let fields = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let documents = fields.filter(|fields| fields[0] == name).map(|fields| {
        let stored = Stored {
            time: fields[2].parse().unwrap(),
            shingle_count: fields[3].parse().unwrap(),
            signature: unhex(fields[4]),
            payload: unhex(fields[5]),
        };
        (fields[1].as_bytes().to_vec(), stored)
    });
    documents.collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn equal_rows(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a == b)).sum()
}

/// Pairs that share a band and have at least `least` equal rows, with the smaller key first.
fn pairs(documents: &BTreeMap<Vec<u8>, Stored>, least: u32) -> BTreeSet<(Vec<u8>, Vec<u8>, u32)> {
    let mut pairs = BTreeSet::new();
    for (a, one) in documents {
        for (b, other) in documents.range(a.clone()..).skip(1) {
            let equal = equal_rows(&one.signature, &other.signature);
            let band = |signature: &[u8], band: usize| signature[band * ROWS..][..ROWS].to_vec();
            let shared = (0..BANDS)
                .any(|number| band(&one.signature, number) == band(&other.signature, number));
            if shared && equal >= least {
                pairs.insert((a.clone(), b.clone(), equal));
            }
        }
    }
    pairs
}

fn check(index: &Index, documents: &BTreeMap<Vec<u8>, Stored>) {
    assert_eq!(index.len(), documents.len() as u64);
    let mut found = BTreeMap::new();
    for document in index.snapshot().iter() {
        let document = document.unwrap();
        let stored = Stored {
            time: document.time,
            shingle_count: document.signature.shingle_count(),
            signature: document.signature.as_bytes().to_vec(),
            payload: document.payload,
        };
        found.insert(document.key, stored);
    }
    assert_eq!(&found, documents);
    let least = index.params().equal_rows_min(0.3);
    let pairs = pairs(documents, least);
    assert!(pairs.len() >= 3, "there is something to find");
    let answered = index.pairs(0.3).unwrap().map(|pair| {
        let pair = pair.unwrap();
        (pair.a, pair.b, pair.equal_rows)
    });
    assert_eq!(answered.collect::<BTreeSet<_>>(), pairs);
    for (key, stored) in documents {
        let document = index.get(key).unwrap().unwrap();
        assert_eq!(document.signature.as_bytes(), stored.signature);
        let answer = index.query_key(key).threshold(0.3).run().unwrap();
        let likes = answer.matches.into_iter().map(|found| (found.key, found.equal_rows));
        let expected = pairs.iter().filter_map(|(a, b, equal)| match (a == key, b == key) {
            (true, _) => Some((b.clone(), *equal)),
            (_, true) => Some((a.clone(), *equal)),
            _ => None,
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        assert_eq!(likes.collect::<Vec<_>>(), expected);
    }
    assert!(index.verify().unwrap().problems.is_empty());
}

/// Opens a copy of the fixture, checks it, writes to it, and checks everything again after
/// reopening.
fn live_with(name: &str, file: &str, changes_replayed: u64) {
    if skipped() {
        return;
    }
    let normalise = if name == "fold" { "fold,diacritics" } else { "case" };
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join(name);
    copy(&fixture(&format!("{name}.nearkin")), &dir);
    let mut documents = expected(name, file);
    let index = Index::open(&dir, inline()).unwrap();
    let recovery = index.stats().unwrap().recovery;
    assert_eq!((recovery.changes_replayed, recovery.bytes_cut), (changes_replayed, 0));
    let params = Params::for_threshold(0.7).shingles(Shingles::Words(3)).hashes(HASHES);
    let params = params.normalise(normalise.parse().unwrap());
    let params = params.bands(BANDS, ROWS).build().unwrap();
    assert_eq!(index.params().id(), params.id(), "the parameters' id is the same for ever");
    check(&index, &documents);

    let removed = documents.keys().next().unwrap().clone();
    index.remove(&removed).unwrap();
    documents.remove(&removed);
    let (key, text) = (b"new".to_vec(), "a text that was not there before, of a few words");
    let signature = Sketcher::new(&params).text(text).unwrap();
    index.insert(&key, &signature).unwrap();
    let stored = Stored {
        time: index.get(&key).unwrap().unwrap().time,
        shingle_count: signature.shingle_count(),
        signature: signature.as_bytes().to_vec(),
        payload: Vec::new(),
    };
    documents.insert(key, stored);
    check(&index, &documents);
    drop(index);
    let index = Index::open(&dir, inline()).unwrap();
    check(&index, &documents);
    index.compact().unwrap();
    check(&index, &documents);
    index.close().unwrap();
    check(&Index::open(&dir, inline()).unwrap(), &documents);
}

/// Whether the fixtures are missing: they are not part of the package.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn skipped() -> bool {
    let missing = !fixture("closed.nearkin").exists();
    if missing {
        println!("SKIPPED: there is no tests/fixtures here; it is in the repository");
    }
    missing
}

#[test]
fn a_closed_index_of_format_1_opens() {
    live_with("closed", "expected.tsv", 0);
}

#[test]
fn an_index_of_format_1_that_was_killed_opens() {
    live_with("killed", "expected.tsv", 3);
}

#[test]
fn an_index_of_normalisation_fold_opens() {
    live_with("fold", "fold.tsv", 0);
}
