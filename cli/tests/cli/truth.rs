//! Real texts through the tool. `tests/it/real.rs` compares the pairs with the exact similarity of
//! all pairs, on the same corpora.

use super::*;

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
