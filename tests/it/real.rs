//! Recall and estimation error on real texts for which the exact similarity of all pairs is known.
//!
//! The seed is fixed, so every number here is the same on every machine.

use crate::support::{Scratch, inline};
use nearkin::{Batch, Durability, Index, Params, Shingles};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// How the exact similarities were computed. Texts are in lower case, with each run of white space
/// as one space.
#[derive(Clone, Copy)]
enum Mode {
    Word3,
    Char5,
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The texts of a corpus, by key.
fn corpus(name: &str) -> BTreeMap<String, String> {
    let lines = fs::read_to_string(data(&format!("{name}.jsonl"))).unwrap();
    let document = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| value[field].as_str().unwrap().to_owned();
        (text("id"), text("text"))
    };
    lines.lines().map(document).collect()
}

/// All pairs with an exact similarity of at least 0.5, the smaller key first.
fn truth(name: &str, mode: Mode) -> BTreeMap<(String, String), f64> {
    let ending = match mode {
        Mode::Word3 => "word3",
        Mode::Char5 => "char5",
    };
    let lines = fs::read_to_string(data(&format!("{name}.{ending}.tsv"))).unwrap();
    let pair = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let (a, b) = (fields[0].to_owned(), fields[1].to_owned());
        (if a < b { (a, b) } else { (b, a) }, fields[2].parse().unwrap())
    };
    lines.lines().map(pair).collect()
}

/// The shingles of a text, computed without using the library.
fn pieces(text: &str, mode: Mode) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let units: Vec<String> = match mode {
        Mode::Word3 => words.iter().map(|word| format!("{word} ")).collect(),
        Mode::Char5 => words.join(" ").chars().map(String::from).collect(),
    };
    let count = match mode {
        Mode::Word3 => 3,
        Mode::Char5 => 5,
    };
    if units.len() < count {
        return BTreeSet::from([units.concat()]);
    }
    units.windows(count).map(<[String]>::concat).collect()
}

fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both) as f64
}

/// Indexes a corpus, queries every document, and compares the answers with the exact values.
#[expect(clippy::print_stdout, reason = "a skipped test must say so; figures are for people")]
fn check(name: &str, mode: Mode, threshold: f64) {
    if !data(&format!("{name}.jsonl")).exists() {
        println!("SKIPPED: tests/data has no {name}.jsonl");
        return;
    }
    let shingles = match mode {
        Mode::Word3 => Shingles::Tokens(3),
        Mode::Char5 => Shingles::Chars(5),
    };
    let params = Params::for_threshold(threshold).shingles(shingles).no_nfc(true).build().unwrap();
    let (corpus, truth) = (corpus(name), truth(name, mode));
    let scratch = Scratch::new();
    let options = inline().durability(Durability::OsBuffer).memtable_bytes_max(128 << 10);
    let index = Index::create(scratch.dir(), &params, options).unwrap();
    let sketcher = index.sketcher();
    for (key, text) in &corpus {
        index.write(Batch::new().insert(key, &sketcher.text(text).unwrap())).unwrap();
    }
    let mut found = BTreeSet::new();
    for key in corpus.keys() {
        for near in index.query_key(key).threshold(threshold).run().unwrap() {
            let near_key = String::from_utf8(near.key).unwrap();
            let exact = jaccard(&pieces(&corpus[key], mode), &pieces(&corpus[&near_key], mode));
            // The standard error at the exact similarity. (The one at the estimate would be 0 if
            // the estimate is 1.)
            let error = (exact * (1.0 - exact) / params.hashes() as f64).sqrt().max(0.005);
            let off = (near.similarity - exact).abs() / error;
            let what = format!("{name}: {key} and {near_key}");
            assert!(off <= 5.0, "{what}: {} for {exact}, {off} errors", near.similarity);
            let pair =
                if *key < near_key { (key.clone(), near_key) } else { (near_key, key.clone()) };
            if let Some(listed) = truth.get(&pair) {
                assert!((listed - exact).abs() < 1e-5, "{what}: {listed} listed, {exact} counted");
            } else {
                assert!(exact < 0.5, "{what}: {exact} is not in the truth");
            }
            found.insert(pair);
        }
    }
    // Pairs at least two standard errors above the threshold: hardly any of them is lost because of
    // its estimate.
    let clear = threshold + 2.0 * (threshold * (1.0 - threshold) / params.hashes() as f64).sqrt();
    let sure: Vec<_> = truth.iter().filter(|(_, exact)| **exact >= clear).collect();
    let expected: f64 =
        sure.iter().map(|(_, exact)| params.expected_recall(**exact, threshold)).sum();
    let hits = sure.iter().filter(|(pair, _)| found.contains(*pair)).count();
    let missed = sure.len() - hits;
    println!("{name} at {threshold}: {hits} of {} clear pairs, {expected:.1} expected", sure.len());
    assert!(sure.len() >= 20, "enough pairs to say something");
    // Pairs in one family of texts are correlated, so the variance is larger than binomial.
    let allowed = sure.len() as f64 - expected + 0.02 * sure.len() as f64 + 2.0;
    assert!(missed as f64 <= allowed, "{name} at {threshold}: missed {missed}, {allowed} allowed");
    let pairs: BTreeSet<_> = index
        .pairs(threshold)
        .unwrap()
        .map(|pair| pair.unwrap())
        .map(|pair| (String::from_utf8(pair.a).unwrap(), String::from_utf8(pair.b).unwrap()))
        .collect();
    assert_eq!(pairs, found, "pairs are what queries find");
}

#[test]
fn licences_are_found_by_their_words_as_often_as_promised() {
    check("spdx", Mode::Word3, 0.5);
    check("spdx", Mode::Word3, 0.7);
}

#[test]
fn licences_are_found_by_their_letters_as_often_as_promised() {
    check("spdx", Mode::Char5, 0.6);
    check("spdx", Mode::Char5, 0.8);
}

#[test]
fn pages_of_documentation_are_found_as_often_as_promised() {
    check("pydocs", Mode::Word3, 0.7);
    check("pydocs", Mode::Char5, 0.5);
    check("pydocs", Mode::Char5, 0.8);
}
