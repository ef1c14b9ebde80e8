//! Repeated runs, compared with brute force over words.
#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use super::*;
use crate::{Params, Shingles};

fn sketcher(shingles: Shingles) -> Sketcher {
    Sketcher::new(&Params::builder().shingles(shingles).build().unwrap())
}

fn found(texts: &[String], run: usize, bytes: usize) -> Vec<Vec<Repeated>> {
    found_by(&sketcher(Shingles::Words(3)), texts, run, bytes)
}

fn found_by(sketcher: &Sketcher, texts: &[String], run: usize, bytes: usize) -> Vec<Vec<Repeated>> {
    let filter = RepeatFilter::new(sketcher, run, bytes).unwrap();
    for text in texts.iter().rev() {
        filter.add(text);
    }
    let mut repeats = Repeats::new(1 << 30);
    let find = |(number, text): (u32, &String)| repeats.find(number, &filter.cut(text)).unwrap();
    (0..).zip(texts).map(find).collect()
}

/// Which words of each text lie in a run that stood before.
fn by_brute_force(texts: &[String], run: usize) -> Vec<Vec<bool>> {
    let mut first: Vec<(Vec<&str>, usize, usize)> = Vec::new();
    let mut cut = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut repeated = vec![false; words.len()];
        for (at, window) in words.windows(run).enumerate() {
            match first.iter().find(|(other, ..)| other == window) {
                None => first.push((window.to_vec(), number, at)),
                Some((_, of, place)) => {
                    let begin = if *of == number { place + run } else { 0 };
                    repeated[begin.max(at).min(at + run)..at + run].fill(true);
                }
            }
        }
        cut.push(repeated);
    }
    cut
}

fn random(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % end
}

#[test]
fn all_that_brute_force_finds_and_nothing_else() {
    for seed in 0..80 {
        let mut state = seed;
        let (run, vocabulary) = (3 + random(&mut state, 5) as usize, 2 + random(&mut state, 30));
        let mut texts: Vec<String> = Vec::new();
        for _ in 0..25 {
            let count = random(&mut state, 40);
            let mut words: Vec<String> =
                (0..count).map(|_| format!("fi'w{}", random(&mut state, vocabulary))).collect();
            if let Some(other) = texts.last().filter(|_| random(&mut state, 2) == 0) {
                words.extend(other.split(' ').skip(count as usize / 3).map(str::to_owned));
            }
            texts.push(words.join(" "));
        }
        // Some words have a ligature or a typographic apostrophe.
        let mut spelled = |word: &str| match random(&mut state, 3) {
            0 => word.replace("fi", "\u{fb01}"),
            1 => word.replace('\'', "\u{2019}"),
            _ => word.to_owned(),
        };
        let spelled: Vec<String> = texts
            .iter()
            .map(|text| text.split(' ').map(&mut spelled).collect::<Vec<_>>().join(" "))
            .collect();
        let shingles = if seed % 4 < 2 { Shingles::Words(3) } else { Shingles::Chars(4) };
        // The filter is full of bits in every other round.
        let bytes = if seed % 2 == 0 { 1 << 20 } else { 1 };
        let all = found_by(&sketcher(shingles), &spelled, run, bytes);
        for (number, (found, expected)) in all.iter().zip(by_brute_force(&texts, run)).enumerate() {
            let words: Vec<&str> = texts[number].split(' ').collect();
            let mut cut = vec![false; expected.len()];
            for one in found {
                cut[one.words.clone()].fill(true);
                let bytes = spelled[number][one.bytes.clone()].split(' ').count();
                assert_eq!(bytes, one.words.len(), "seed {seed}");
                // A run that overlaps with its own first occurrence is repeated only behind it.
                let is_own = one.first_text as usize == number;
                let rest = if is_own { one.words.start - one.first_word } else { run };
                let equal = one.words.len().min(run).min(rest);
                let first: Vec<&str> = texts[one.first_text as usize].split(' ').collect();
                assert_eq!(
                    words[one.words.clone()][..equal],
                    first[one.first_word..one.first_word + equal],
                    "seed {seed}: {one:?}"
                );
            }
            let text = &spelled[number];
            assert_eq!(cut, expected, "seed {seed}: {text}");
        }
    }
}

#[test]
fn a_text_stays_readable() {
    let notice = "the notice that stands in every text";
    let cut = |text: &str| {
        let texts = [notice.to_owned(), text.to_owned()];
        let found = found(&texts, 7, 1 << 20).pop().unwrap();
        let mut text = text.to_owned();
        for cut in readable_cuts(&text, &found).into_iter().rev() {
            text.replace_range(cut, "");
        }
        text
    };
    for (text, expected) in [
        ("Before. The notice that stands in every text. After it.", "Before. After it."),
        ("The notice that stands in every text! After", "After"),
        ("Before (the notice that stands in every text)", "Before"),
        ("One,\nthe notice that stands in every text.\n\nTwo", "One,\n\nTwo"),
        ("One\nthe NOTICE, that stands in every text \"Two\"", "One\n\"Two\""),
        ("x-the notice that stands in every text-y", "x-y"),
        ("the notice that stands in every text", ""),
        ("the notice that stands in every text.__init__", "__init__"),
        ("nothing of it", "nothing of it"),
        ("a the notice that stands in every text the notice that stands in every text b", "a b"),
    ] {
        assert_eq!(cut(text), expected, "{text:?}");
    }
}

#[test]
fn an_overlapping_repetition_leaves_the_first_one() {
    let all = found(&["a a a a a a a a".to_owned()], 3, 1 << 20);
    assert_eq!((all[0].len(), all[0][0].words.clone()), (1, 3..8));
    let all = found(&["a b a b a b a c".to_owned()], 3, 1 << 20);
    assert_eq!(all[0][0].words, 3..7);
}

#[test]
fn the_filter_forgets_no_run_and_the_memory_has_a_limit() {
    let texts: Vec<String> = (0..4_000).map(|at| format!("w{at} x{at} y{at}")).collect();
    let twice = [texts.clone(), texts].concat();
    let all = found(&twice, 3, 64);
    assert!(
        all[..4_000].iter().all(Vec::is_empty) && all[4_000..].iter().all(|one| one.len() == 1)
    );
    let sketcher = sketcher(Shingles::Words(3));
    let filter = RepeatFilter::new(&sketcher, 3, 64).unwrap();
    for text in &twice {
        filter.add(text);
    }
    let mut repeats = Repeats::new(0);
    let ended = (0..).zip(&twice).find_map(|(at, text)| repeats.find(at, &filter.cut(text)).err());
    assert!(ended.unwrap().to_string().contains("1024 different runs"));
    assert!(RepeatFilter::new(&sketcher, 2, 64).is_err());
}
