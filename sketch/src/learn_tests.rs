//! The learner against counting by hand, in any order and in parts.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Shingles;

/// Documents that share notices, with crowds of equal ones.
fn documents() -> Vec<String> {
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let notices: Vec<String> =
        (0..6).map(|notice| format!("notice{notice} of our house may not be copied")).collect();
    (0..400)
        .map(|document| {
            let words: Vec<String> = (0..5 + next(30)).map(|_| format!("w{}", next(900))).collect();
            let notice = usize::try_from(next(30)).unwrap();
            match document % 50 {
                0 => "the same text again and again".to_owned(),
                _ => words.join(" ") + " " + notices.get(notice).map_or("", |notice| notice),
            }
        })
        .collect()
}

fn learner() -> CommonLearner {
    CommonLearner::new(&Params::builder().shingles(Shingles::Words(2)).build().unwrap()).unwrap()
}

/// Counts without the learner: pairs of words of different documents.
fn counts(documents: &[String]) -> BTreeMap<(String, String), u64> {
    let sets: BTreeSet<BTreeSet<(String, String)>> = documents
        .iter()
        .map(|text| {
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            words.windows(2).map(|two| (two[0].to_owned(), two[1].to_owned())).collect()
        })
        .collect();
    let mut counts = BTreeMap::new();
    for pair in sets.into_iter().flatten() {
        *counts.entry(pair).or_default() += 1;
    }
    counts
}

#[test]
fn counts_are_exact_and_equal_documents_count_once() {
    let (mut learner, texts) = (learner(), documents());
    for text in &texts {
        learner.add_text(text).unwrap();
    }
    learner.add_text("  ").unwrap();
    let distinct: BTreeSet<&String> = texts.iter().collect();
    assert_eq!(learner.documents(), wide(distinct.len()));
    assert!(!learner.is_sample());
    for share in [0.02, 0.03, 0.04] {
        let least = (share * distinct.len() as f64).max(10.0);
        let mut expected: Vec<u64> =
            counts(&texts).into_values().filter(|count| *count as f64 >= least).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let shingles = learner.shingles(share).unwrap();
        let found: Vec<u64> = shingles.iter().map(|one| one.documents).collect();
        assert!(found.len() > 5, "{found:?}");
        assert_eq!(found, expected, "{share}");
        // The hashes are those of the pairs of words.
        let pairs = counts(&texts);
        for one in &shingles {
            let named = pairs.iter().any(|((a, b), count)| {
                let shown = learner.sketcher.text_shingles(&format!("{a} {b}")).unwrap();
                *count == one.documents && shown.hashes == [one.hash]
            });
            assert!(named, "{one:?}");
        }
    }
    for wrong in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(learner.shingles(wrong).is_err(), "{wrong}");
    }
}

/// A number of learners, and which of them the n-th text is given to.
type Spread = (usize, fn(usize) -> usize);

/// Also with a bound that only a sample fits into.
#[test]
fn neither_order_nor_the_number_of_learners_changes_the_result() {
    let texts = documents();
    for size_max in [usize::MAX, 6_000, 3_000, 1_500] {
        let bounded = || CommonLearner { size_max, ..learner() };
        let mut one = bounded();
        for text in &texts {
            one.add_text(text).unwrap();
        }
        assert_eq!(one.is_sample(), size_max < usize::MAX);
        assert!(one.size <= size_max);
        let expected = (one.documents(), one.shingles(0.01).unwrap());
        assert!(size_max < 3_000 || !expected.1.is_empty());
        let mut backwards = bounded();
        for text in texts.iter().rev() {
            backwards.add_text(text).unwrap();
        }
        assert_eq!((backwards.documents(), backwards.shingles(0.01).unwrap()), expected);
        // Learners of equal and of very unequal parts.
        let spreads: [Spread; 5] = [
            (2, |n| n % 2),
            (5, |n| n % 5),
            (2, |n| n / 10),
            (2, |n| n / 390),
            (3, |n| n.pow(2) / 90_000),
        ];
        for (parts, part_of) in spreads {
            let mut whole = bounded();
            for part in 0..parts {
                let mut own = bounded();
                let mine =
                    texts.iter().enumerate().filter(|(n, _)| part_of(*n).min(parts - 1) == part);
                for (_, text) in mine {
                    own.add_text(text).unwrap();
                }
                whole.merge(own).unwrap();
            }
            assert_eq!((whole.documents(), whole.shingles(0.01).unwrap()), expected, "{parts}");
            let used = whole.kept.values().map(|hashes| hashes.len() + OVERHEAD).sum::<usize>();
            assert_eq!(whole.size, used);
        }
    }
}

#[test]
fn a_sample_has_the_frequencies_of_all() {
    let mut learner = CommonLearner { size_max: 20_000, ..learner() };
    for document in 0..10_000_u32 {
        let notice = if document % 10 == 3 { "all rights reserved" } else { "" };
        learner.add_text(&format!("a{document} b{document} c{document} {notice}")).unwrap();
    }
    assert!(learner.is_sample() && learner.documents() > 500, "{}", learner.documents());
    let shingles = learner.shingles(0.05).unwrap();
    assert_eq!(shingles.len(), 2);
    let share = shingles[0].documents as f64 / learner.documents() as f64;
    assert!((share - 0.1).abs() < 0.04, "{share}");
}

#[test]
fn only_what_the_learner_can_use_is_taken() {
    let mut learner = learner();
    let other = Sketcher::new(&Params::builder().build().unwrap());
    assert!(learner.add(&other.original_text("one two three").unwrap()).is_err());
    assert!(
        learner.merge(CommonLearner::new(&Params::builder().build().unwrap()).unwrap()).is_err()
    );
    assert!(CommonLearner::new(&"passages=50:25".parse().unwrap()).is_err());
    assert!(CommonLearner::new(&"scheme=external:own".parse().unwrap()).is_err());
    // A bag counts repeats, a list does not: it is the same for both.
    let bag = Params::builder().shingles(Shingles::Words(2)).bag(true).build().unwrap();
    let mut of_bag = CommonLearner::new(&bag).unwrap();
    for text in documents() {
        learner.add_text(&text).unwrap();
        of_bag.add_text(&text).unwrap();
    }
    let (list, of_bag) = (learner.common(0.03).unwrap(), of_bag.common(0.03).unwrap());
    assert_eq!(list, of_bag);
    assert!(bag.to_builder().common(list).build().unwrap().common().is_some());
    assert_eq!(learner.common(1.0).unwrap(), None);
}
