//! Winnowing against its definition, computed directly.

use super::hash::{finalise, split_mix};
use super::winnow::{Fingerprint, Winnower, words_in};
use crate::{Common, FoldOptions, Normalise, Params, Preset, Shingles, Sketcher, Windows};

fn winnower(units: u32, run: usize) -> Winnower {
    Winnower::new(&Params::builder().shingles(Shingles::Words(units)).build().unwrap(), run)
        .unwrap()
}

/// A text of words from a small vocabulary.
fn text(seed: u64, words: u64) -> String {
    let word = |n| format!("w{} ", split_mix(seed, n) % 40);
    (0..words).map(word).collect()
}

#[test]
fn every_run_holds_the_least_of_its_shingles() {
    for (units, run) in [(4, 8), (5, 8), (1, 3), (3, 3)] {
        for (seed, words) in [(1, 300), (2, 9), (3, 8), (4, 5), (5, 1), (6, 0)] {
            let cut = winnower(units, run).winnow(&text(seed, words));
            let all = &cut.shingles;
            let window = (run + 1 - units as usize).min(all.len()).max(1);
            let rank = |one: &Fingerprint| one.hash >> 8 & 0xff_ffff;
            let least = all.windows(window).map(|part| {
                // `min_by_key` returns the first: the last one wins.
                *part.iter().rev().min_by_key(|one| rank(one)).unwrap()
            });
            let mut expected: Vec<Fingerprint> = least.collect();
            expected.dedup();
            assert_eq!(cut.fingerprints, expected, "{units} {run} {words}");
        }
    }
}

#[test]
fn words_have_their_places_and_the_hashes_of_the_sketcher() {
    let fold = Normalise::Fold(FoldOptions::default().dehyphenate(true).lookalikes(true));
    let params = Params::builder().shingles(Shingles::Words(1)).normalise(fold).build().unwrap();
    let text = "The \u{201c}\u{fb01}re-\n  bri\u{ad}gade\u{201d}, \u{421}\u{430}fe\u{301} 3.5, \
                it's \u{6771}\u{4eac}\u{e44}\u{e17}\u{e22} don\u{2019}t-stop";
    let cut = Winnower::new(&params, 1).unwrap().winnow(text);
    let shown: Vec<&str> = cut.words.iter().map(|word| &text[word.bytes.clone()]).collect();
    assert_eq!(
        shown[..3],
        ["The", "\u{fb01}re-\n  bri\u{ad}gade", "\u{421}\u{430}fe\u{301}"],
        "{shown:?}"
    );
    let mut hashes: Vec<u64> = cut.words.iter().map(|word| finalise(word.hash)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let original = Sketcher::new(&params).original_text(text).unwrap();
    assert_eq!(hashes, original.shingle_hashes());
}

#[test]
fn common_shingles_are_no_fingerprints() {
    let sketcher = Sketcher::new(&Params::builder().shingles(Shingles::Words(4)).build().unwrap());
    let form = "please answer all of these questions in full sentences";
    let list = sketcher.original_text(form).unwrap().shingle_hashes().to_vec();
    let builder = Params::builder().shingles(Shingles::Words(4));
    let params = builder.common(Common::from_hashes(list).unwrap()).build().unwrap();
    let winnower = Winnower::new(&params, 8).unwrap();
    let cut = winnower.winnow(&format!("{form} whales are mammals and breathe the air"));
    assert!(cut.fingerprints.iter().all(|one| one.word > 5), "{cut:?}");
    assert_eq!(cut.words.iter().filter(|word| word.is_common).count(), 9);
    assert!(winnower.winnow(form).fingerprints.is_empty());
}

#[test]
fn a_text_without_words_is_one_word_and_a_blank_one_none() {
    let winnower = winnower(4, 8);
    for (text, count) in [("", 0), (" \n", 0), ("===>", 1), ("one", 1), ("one two three", 1)] {
        let cut = winnower.winnow(text);
        assert_eq!(cut.fingerprints.len(), count, "{text:?}");
        for one in &cut.fingerprints {
            assert_eq!(&text[cut.bytes(*one)], text);
        }
    }
    let items = Params::builder().shingles(Shingles::Items).build().unwrap();
    assert!(Winnower::new(&items, 8).is_err());
    let long = Params::builder().shingles(Shingles::Words(9)).build().unwrap();
    assert!(Winnower::new(&long, 8).is_err());
}

#[test]
fn words_are_joined_as_folding_joins_them() {
    let fold = Normalise::Fold(FoldOptions::default().dehyphenate(true).lookalikes(true));
    let params = Params::builder().shingles(Shingles::Words(1)).normalise(fold).build().unwrap();
    let winnower = Winnower::new(&params, 4).unwrap();
    for text in [
        "equ-\nal",
        "equ\u{ad}\nal",
        "don\u{b4}t",
        "don\u{2032}t",
        "don\u{2035}t",
        "by\u{200b}pass",
    ] {
        let words = winnower.winnow(text).words;
        let original = Sketcher::new(&params).original_text(text).unwrap();
        let hashes: Vec<u64> = words.iter().map(|word| finalise(word.hash)).collect();
        assert_eq!(hashes, original.shingle_hashes(), "{text:?}");
        assert_eq!(words[0].bytes, 0..text.len());
    }
    for text in ["one\u{2014}two", "one\u{201d}\u{2026}two", "one\u{ad} two", "\u{6771}\u{4eac}"] {
        assert_eq!(winnower.winnow(text).words.len(), 2, "{text:?}");
    }
}

#[test]
fn words_are_the_same_whatever_the_shingles_are() {
    let fold = FoldOptions::default().dehyphenate(true).diacritics(true).digits(true);
    let text = "don\u{2019}t don't \u{fb01}re fire caf\u{e9} cafe\u{301} equ-\nal by\u{200b}pass \
                \u{6771}\u{4eac} 3.5 \u{ff21}\u{ff22} one\u{2014}two";
    let words = |shingles| {
        let params = Params::builder().shingles(shingles).normalise(Normalise::Fold(fold)).build();
        words_in(&Sketcher::new(&params.unwrap()), text)
    };
    let expected = words(Shingles::Words(3));
    assert_eq!((expected[0].hash, expected[2].hash), (expected[1].hash, expected[3].hash));
    for shingles in [Shingles::Chars(4), Shingles::Lines(1), Shingles::Items] {
        assert_eq!(words(shingles), expected, "{shingles}");
    }
}

#[test]
fn a_chain_of_line_ends_is_cut_into_words_of_256_bytes() {
    let params = Params::preset(Preset::Quotes).build().unwrap();
    let text = "a-\n".repeat(20_000);
    let words = Winnower::new(&params, 8).unwrap().winnow(&text).words;
    let longest = words.iter().map(|word| word.bytes.len()).max();
    assert_eq!((longest, words.len()), (Some(256), 20_000_usize.div_ceil(86)));
}

#[test]
fn runs_that_no_index_finds_are_refused() {
    let of = |window| {
        let windows = Windows::new(window, 1).unwrap();
        Params::preset(Preset::Quotes).shingles(Shingles::Words(2)).passages(windows).build()
    };
    let error = of(3).unwrap_err().to_string();
    assert!(error.contains("runs of 4 words or more"), "{error}");
    assert!(of(4).is_ok());
}
