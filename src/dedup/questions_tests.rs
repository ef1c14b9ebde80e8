//! Questions in texts, compared with brute force over words.
#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use super::*;
use crate::{Params, Shingles};
use std::collections::BTreeSet;

fn questions(all: &[&str], rule: ContainsQuestion) -> Questions {
    questions_of(Shingles::Words(3), all, rule)
}

fn questions_of(shingles: Shingles, all: &[&str], rule: ContainsQuestion) -> Questions {
    let params = Params::builder().shingles(shingles).build().unwrap();
    let mut builder = QuestionsBuilder::new(&Sketcher::new(&params), rule).unwrap();
    for question in all {
        builder.add(question).unwrap();
    }
    builder.build()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }

    fn words(&mut self, count: usize, vocabulary: usize) -> Vec<String> {
        (0..count).map(|_| format!("fi'w{}", self.below(vocabulary))).collect()
    }

    /// The words as a text, some with a ligature or a typographic apostrophe.
    fn spelled(&mut self, words: &[String]) -> String {
        let spelled = words.iter().map(|word| match self.below(4) {
            0 => word.replace("fi", "\u{fb01}"),
            1 => word.replace('\'', "\u{2019}"),
            2 => word.replace("fi'", "\u{fb01}\u{2019}"),
            _ => word.clone(),
        });
        spelled.collect::<Vec<_>>().join(" ")
    }
}

/// The most words of a question that a stretch of the text has, and the longest common run.
fn by_brute_force(question: &[String], text: &[String]) -> (usize, usize) {
    let stretch = (2 * question.len()).min(text.len());
    let mut best = 0;
    for begin in 0..=text.len() - stretch {
        let part = &text[begin..begin + stretch];
        let runs: BTreeSet<&[String]> = part.windows(3).collect();
        let mut covered = vec![false; question.len()];
        for (at, run) in question.windows(3).enumerate() {
            if runs.contains(run) {
                covered[at..at + 3].fill(true);
            }
        }
        best = best.max(covered.iter().filter(|covered| **covered).count());
    }
    let longest = (3..=question.len())
        .rev()
        .find(|width| question.windows(*width).any(|run| text.windows(*width).any(|o| o == run)));
    (best, longest.unwrap_or(0))
}

#[test]
fn all_that_brute_force_finds_and_nothing_else() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let rule = ContainsQuestion::default()
            .share([0.3, 0.6, 0.8, 1.0][random.below(4)])
            .run([3, 5, 12][random.below(3)]);
        let vocabulary = [2, 6, 40][random.below(3)];
        let asked: Vec<Vec<String>> = (0..30)
            .map(|_| {
                let count = 1 + random.below(24);
                random.words(count, vocabulary)
            })
            .collect();
        let joined: Vec<String> = asked.iter().map(|words| words.join(" ")).collect();
        let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
        let shingles = [Shingles::Words(3), Shingles::Chars(4)][random.below(2)];
        let index = questions_of(shingles, &joined, rule);
        for _ in 0..20 {
            let count = random.below(60);
            let mut text = random.words(count, vocabulary);
            let planted = &asked[random.below(asked.len())];
            let at = random.below(text.len() + 1);
            text.splice(at..at, planted.iter().cloned());
            for _ in 0..random.below(4) {
                let at = random.below(text.len());
                text[at] = "new".to_owned();
            }
            let expected = asked.iter().enumerate().filter(|(_, question)| {
                let (shared, longest) = by_brute_force(question, &text);
                question.len() >= GRAM && rule.is_met(shared, longest, question.len())
            });
            let expected: Vec<usize> = expected.map(|(at, _)| at).collect();
            let found = index.find(&random.spelled(&text));
            let message = format!("seed {seed}, {shingles}: {text:?}");
            assert_eq!(
                found.as_ref().map_or(0, |found| found.questions),
                expected.len(),
                "{message}"
            );
            let Some(found) = found else { continue };
            assert!(expected.contains(&found.question), "{message}");
            let (shared, longest) = by_brute_force(&asked[found.question], &text);
            assert_eq!(found.longest, longest, "{message}");
            assert!(found.shared <= shared, "{message}");
            if rule.is_met(shared, 0, found.words) {
                assert_eq!(found.shared, shared, "{message}");
            }
        }
    }
}

#[test]
fn runs_are_compared_in_parts_as_at_once() {
    let question = "a b c d e f g h i j";
    let index = questions(&[question, "x y z"], ContainsQuestion::default());
    let mut text = "a b c ".repeat(SEEDS_MAX);
    assert!(index.find(&text).is_none());
    text.push_str("d e f g h x y z");
    let found = index.find(&text).unwrap();
    assert_eq!((found.question, found.shared, found.longest, found.questions), (0, 8, 8, 2));
    assert_eq!(found.word, 3 * (SEEDS_MAX - 1));
}

#[test]
fn short_questions_are_whole_or_not_there() {
    let index =
        questions(&["yes it is", "no", "one two three four five six"], ContainsQuestion::default());
    assert_eq!(index.find("Yes, it is!").unwrap().question, 0);
    assert!(index.find("no").is_none() && index.find("").is_none());
    assert!(index.find("one two three four five seven").is_none());
    assert_eq!(index.find("zero one two three four five six").unwrap().bytes, 5..32);
    assert!(questions(&[], ContainsQuestion::default()).find("yes it is").is_none());
}

#[test]
fn a_question_of_eight_words_may_be_there_in_pieces() {
    let index = questions(&["a b c d e f g", "h i j k l m n o"], ContainsQuestion::default());
    assert!(index.find("a b c d and e f g").is_none());
    assert_eq!(index.find("h i j k and l m n o").unwrap().shared, 8);
    assert!(index.find("h i j k and l m n").is_none());
}

#[test]
fn of_a_question_longer_than_the_text_only_places_met_are_kept() {
    let long: Vec<String> = (0..5_000).map(|at| format!("w{at}")).collect();
    let index = questions(&[&long.join(" ")], ContainsQuestion::default());
    let found = index.find(&long[4_000..4_020].join(" ")).unwrap();
    assert_eq!((found.words, found.shared, found.longest), (5_000, 20, 20));
    let mut coverage = Coverage::new(false);
    coverage.enter(&[4_000]);
    assert_eq!((coverage.places.len(), coverage.words), (GRAM, GRAM));
}

#[test]
fn scripts_without_spaces_count_by_characters() {
    let question =
        "\u{8fd9}\u{5ea7}\u{6865}\u{662f}\u{54ea}\u{4e00}\u{5e74}\u{5efa}\u{6210}\u{7684}";
    let index = questions(&[question], ContainsQuestion::default());
    let found = index.find(&format!("\u{95ee}\u{ff1a}{question}\u{ff1f}1904")).unwrap();
    assert_eq!((found.words, found.shared, found.longest), (10, 10, 10));
    assert_eq!(found.bytes, 6..6 + question.len());
}

#[test]
fn rules_out_of_range_are_refused() {
    let sketcher = Sketcher::new(&Params::builder().build().unwrap());
    for rule in [
        ContainsQuestion::default().share(0.0),
        ContainsQuestion::default().share(1.1),
        ContainsQuestion::default().share(f64::NAN),
        ContainsQuestion::default().run(2),
    ] {
        assert!(QuestionsBuilder::new(&sketcher, rule).is_err(), "{rule:?}");
    }
}
