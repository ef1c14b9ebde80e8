//! Compares the pairs found in real texts with the exact Jaccard similarity of all pairs.
//!
//! The seed is fixed, so the numbers are the same on every machine; the bounds are the measured
//! values with a small margin. A query filters by its estimate: about half of the pairs exactly at
//! the threshold are found, and nearly all pairs two standard errors above it.

use super::*;

use std::collections::BTreeMap;

/// Pairs with their similarity.
type Pairs = BTreeMap<(String, String), f64>;

/// All pairs with an exact similarity of at least 0.5.
fn exact(name: &str) -> Pairs {
    let lines = fs::read_to_string(data(name)).unwrap();
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap().to_owned();
        let (a, b, similarity) = (next(), next(), next());
        (if a < b { (a, b) } else { (b, a) }, similarity.parse().unwrap())
    };
    lines.lines().map(pair).collect()
}

/// All pairs found by the tool.
fn found(corpus: &str, shingles: &str, threshold: &str) -> Pairs {
    let scratch = Scratch::new();
    let corpus = data(corpus);
    let add = ["add", "i", "--jsonl", corpus.to_str().unwrap(), "--no-nfc"];
    let parameters = ["--shingles", shingles, "--threshold", threshold];
    scratch.run_split(&[&add[..], &parameters].concat()).ends_with(0);
    let ran = scratch.ok("pairs i --json");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ran.objects()
        .iter()
        .map(|pair| ((text(&pair["a"]), text(&pair["b"])), pair["similarity"].as_f64().unwrap()))
        .collect()
}

/// Expectations for one corpus.
struct Case {
    corpus: &'static str,
    shingles: &'static str,
    exact: &'static str,
    threshold: f64,
    /// Maximum number of missed pairs at or above the threshold.
    missed_max: usize,
    /// Maximum number of found pairs whose exact similarity is below the threshold. None of them
    /// may lie more than 0.15 below it; this is checked for thresholds of 0.65 and more.
    excess_max: usize,
    /// Mean absolute error of the estimate.
    error_max: f64,
}

fn check(case: &Case) {
    let Case { corpus, shingles, threshold, .. } = *case;
    let all = exact(case.exact);
    let found = found(corpus, shingles, &threshold.to_string());
    let label = format!("{corpus} {shingles} at {threshold}");
    let wanted = |least: f64| all.iter().filter(move |(_, similarity)| **similarity >= least);
    let missed = |least| wanted(least).filter(|(pair, _)| !found.contains_key(*pair)).count();
    assert_eq!(missed(threshold + 0.1), 0, "{label}: well above the threshold");
    assert!(missed(threshold) <= case.missed_max, "{label}: {} missed", missed(threshold));
    let similarity = |pair| all.get(pair).copied().unwrap_or(0.0);
    let excess = found.keys().filter(|pair| similarity(*pair) < threshold).count();
    assert!(excess <= case.excess_max, "{label}: {excess} in excess");
    // The file of exact similarities has no pairs below 0.5, so this can be checked only for
    // thresholds of 0.65 and more.
    let far = found.keys().filter(|pair| similarity(*pair) < threshold - 0.15).count();
    assert!(threshold < 0.65 || far == 0, "{label}: {far} far below the threshold");
    let errors: Vec<f64> = found
        .iter()
        .filter_map(|(pair, estimate)| all.get(pair).map(|exact| (estimate - exact).abs()))
        .collect();
    let error = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(error <= case.error_max, "{label}: mean error {error}");
}

#[test]
fn licences_by_characters() {
    let (corpus, shingles, exact) = ("spdx.jsonl", "chars:5", "spdx.char5.tsv");
    let case = |threshold, missed_max, excess_max| Case {
        corpus,
        shingles,
        exact,
        threshold,
        missed_max,
        excess_max,
        error_max: 0.03,
    };
    check(&case(0.5, 300, 200));
    check(&case(0.7, 35, 50));
}

#[test]
fn licences_by_tokens() {
    let (corpus, shingles, exact) = ("spdx.jsonl", "tokens:3", "spdx.word3.tsv");
    let case = |threshold, missed_max, excess_max| Case {
        corpus,
        shingles,
        exact,
        threshold,
        missed_max,
        excess_max,
        error_max: 0.03,
    };
    check(&case(0.5, 45, 40));
    check(&case(0.7, 15, 25));
}

#[test]
fn documentation_by_characters_and_tokens() {
    let case = |shingles, exact, threshold, missed_max, excess_max| Case {
        corpus: "pydocs.jsonl",
        shingles,
        exact,
        threshold,
        missed_max,
        excess_max,
        error_max: 0.025,
    };
    check(&case("chars:5", "pydocs.char5.tsv", 0.5, 2, 10));
    check(&case("chars:5", "pydocs.char5.tsv", 0.7, 3, 4));
    check(&case("tokens:3", "pydocs.word3.tsv", 0.5, 3, 2));
    check(&case("tokens:3", "pydocs.word3.tsv", 0.7, 3, 2));
}

#[test]
fn every_page_finds_its_other_version() {
    let scratch = Scratch::new();
    let corpus = data("pydocs.jsonl");
    let corpus = corpus.to_str().unwrap();
    scratch.run_split(&["add", "i", "--jsonl", corpus, "--threshold", "0.5"]).ends_with(0);
    let ran = scratch.run_split(&["query", "i", "--json", "--jsonl", corpus]).ends_with(0);
    let found: std::collections::BTreeSet<(String, String)> = ran
        .objects()
        .iter()
        .map(|one| (one["query"].as_str().unwrap().into(), one["key"].as_str().unwrap().into()))
        .collect();
    let labels = fs::read_to_string(data("pydocs.labels.tsv")).unwrap();
    let pages: Vec<_> = labels.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let both = pages.iter().filter(|(old, new)| {
        let has = |a: &str, b: &str| found.contains(&(a.to_owned(), b.to_owned()));
        has(old, new) && has(new, old) && has(old, old) && has(new, new)
    });
    // Pages that are not found were largely rewritten between the versions.
    assert!(both.count() >= 150, "of {}", pages.len());
}
