//! Compares the folding of whole blocks of letters with its definition: characters that compose or
//! change their order, texts of several scripts, letters with marks of their own.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

use super::definition::{self, Class};
use super::fold::{Checker, all_chars};
use crate::fold::scripts::{FIRSTS, NUKTA_CLASS, VIRAMA_CLASS};

/// The characters of a block of 128 that extend others.
fn extending(block: u32) -> impl Iterator<Item = char> + Clone {
    let of_block = (128 * block..128 * (block + 1)).filter_map(char::from_u32);
    of_block.filter(|c| matches!(definition::class(*c), Class::Extend | Class::ExtendAlphabetic))
}

#[test]
fn extending_characters_compose_with_those_of_their_block() {
    if !definition::comparable() {
        return;
    }
    let mut found = Vec::new();
    for whole in all_chars() {
        let mut parts: Vec<char> = whole.nfd().collect();
        let Some(second) = parts.pop() else { continue };
        let first: Vec<char> = parts.iter().copied().nfc().collect();
        let composes = [whole].into_iter().eq(parts.iter().copied().chain([second]).nfc());
        let class = canonical_combining_class(second);
        let here = ('\u{800}'..'\u{3000}').contains(&second)
            && [0, NUKTA_CLASS, VIRAMA_CLASS].contains(&class)
            && extending(u32::from(second) / 128).any(|c| c == second);
        if composes
            && here
            && let [first] = first[..]
        {
            assert_eq!(u32::from(first) / 128, u32::from(second) / 128, "{whole:?}");
            found.push(u16::try_from(u32::from(first)).unwrap());
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, FIRSTS);
}

/// Tests all pairs of extending characters and of those that they compose with, in long runs of
/// letters, and after a letter of another block.
#[test]
fn pairs_of_extending_characters_are_folded_as_defined() {
    let mut checkers = Checker::both();
    for block in 0x800 / 128..0x3000 / 128 {
        let firsts = FIRSTS.iter().map(|first| u32::from(*first)).filter(|c| c / 128 == block);
        let firsts = firsts.filter_map(char::from_u32);
        let seconds: Vec<char> = extending(block).chain(firsts).collect();
        let letter = (128 * block..).filter_map(char::from_u32);
        let letter = letter.clone().find(|c| definition::class(*c) == Class::Letter);
        let Some(letter) = letter else { continue };
        for a in &seconds {
            let pairs = seconds.iter().map(|b| format!("{letter}{a}{b}{letter}{b}{a}{b} "));
            let inside: String = pairs.collect();
            for checker in &mut checkers {
                checker.check(&inside.replace(' ', ""));
                checker.check(&format!("\u{434}{a}\u{915}\u{94d}{a} {a} \u{5d0}{a}'{inside}"));
            }
        }
    }
}

/// Hebrew letters followed by marks of three bytes and quotes, at every place of a block.
#[test]
fn hebrew_among_other_letters_is_cut_as_defined() {
    for mut checker in Checker::both() {
        for before in 0..70 {
            for pair in ["\u{5d0}'", "\u{5d0}\"\u{5d1}", "\u{5d0}\u{93e}'", "\u{561}'\u{587}"] {
                let letters = "\u{561}".repeat(before);
                checker.check(&format!("{letters}{pair}\u{562}{} a", "\u{915}".repeat(30)));
                checker.check(&format!("{}{pair} {letters}", "a".repeat(before)));
            }
        }
    }
}

/// Joiners, which are dropped, quotes, and punctuation, which becomes a boundary, at every place of
/// a block: before and after what depends on the character before it.
#[test]
fn joiners_quotes_and_punctuation_are_folded_as_defined() {
    const BETWEEN: [&str; 12] = [
        "\u{200c}",
        "\u{200d}\u{200c}",
        "\u{964}",
        "\u{965}\u{200d}",
        "\u{2014}",
        "\u{2022}\u{200c}",
        "\u{2028}",
        "\u{200b}",
        "\u{2019}",
        "\u{201d}",
        "\u{200c}\u{2018}",
        "\u{201c}\u{200d}",
    ];
    let words = [
        ("\u{928}", "\u{93c}"),
        ("\u{915}\u{94d}", "\u{93c}"),
        ("\u{9c7}", "\u{9be}"),
        ("\u{995}\u{9cd}", "\u{9b7}"),
        ("\u{5d0}", "\"\u{5d1}"),
        ("\u{5d0}", "' \u{5d1}"),
        ("e", "\u{301}"),
        ("\u{ea}", "\u{323}\u{301}"),
        ("a", "\u{93e}"),
        (" ", "\u{93e}\u{915}"),
        ("\u{442}", "\u{200d}\u{435}"),
    ];
    for mut checker in Checker::both() {
        for before in 0..66 {
            for between in BETWEEN {
                let words = words.map(|(one, two)| format!("{one}{between}{two}"));
                let text: String = words.iter().flat_map(|word| [word, "\u{928} "]).collect();
                checker.check(&format!("{}{text}", "a".repeat(before)));
                let word = &words[before % words.len()];
                let letters = ["\u{915}", "\u{5d0}", "\u{ea}"][before % 3].repeat(30);
                checker.check(&format!("{}{word}{letters}{word} {letters}", "a".repeat(before)));
            }
        }
    }
}

/// Every letter of up to two bytes with every mark, in the middle of words, and with a second mark.
#[test]
fn letters_with_marks_of_their_own_are_composed_as_defined() {
    let mut checkers = Checker::both();
    for first in ('a'..='\u{500}').filter(|c| c.is_alphabetic()) {
        let marks = ('\u{300}'..'\u{340}').chain(['\u{342}', '\u{345}', '\u{35c}', '\u{5bc}']);
        let words = marks.map(|mark| format!("t{first}{mark} n{first}{mark}ng {mark}{first} "));
        let twice = ('\u{300}'..'\u{340}').map(|mark| format!("{first}\u{302}{mark}\u{323}i "));
        let text: String = words.chain(twice).collect();
        for checker in &mut checkers {
            checker.check(&text);
        }
    }
}

/// Mostly letters of two scripts, with marks and ASCII between them.
fn text_of_two_scripts() -> impl Strategy<Value = String> {
    let scripts = [
        (0x61, 0x7a),
        (0xc0, 0x24f),
        (0x370, 0x3ff),
        (0x400, 0x4ff),
        (0x531, 0x5ea),
        (0x620, 0x65f),
        (0x900, 0x97f),
        (0x980, 0x9ff),
        (0xb80, 0xbff),
        (0xc00, 0xcff),
        (0xd80, 0xdff),
        (0x1000, 0x109f),
        (0x10a0, 0x10ff),
        (0x1100, 0x11ff),
        (0x1b00, 0x1b4f),
        (0x1e00, 0x1fff),
        (0x2000, 0x206f),
        (0x20a0, 0x2bff),
        (0xa900, 0xaabf),
        (0xac00, 0xac7f),
        (0xd6f0, 0xd7ff),
    ];
    let script = || prop::sample::select(scripts.to_vec());
    (script(), script()).prop_flat_map(|(one, two)| {
        let of =
            |(first, last): (u32, u32)| (first..=last).prop_filter_map("assigned", char::from_u32);
        let other = "'\"-,.:_!7A\u{e9}\u{5bc}\u{93c}\u{94d}\u{964}\u{2014}\u{2028}\
            \u{2019}\u{201c}\u{201d}\u{200c}\u{200d}";
        let other: Vec<char> = other.chars().collect();
        let piece = prop_oneof![60 => of(one), 20 => of(two), 12 => Just(' '),
            6 => prop::char::range('a', 'z'), 6 => prop::char::range('\u{300}', '\u{33f}'),
            2 => prop::sample::select(other)];
        prop::collection::vec(piece, 0..300).prop_map(String::from_iter)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn texts_of_two_scripts_are_folded_and_cut_as_defined(text in text_of_two_scripts()) {
        for mut checker in Checker::both() {
            checker.check(&text);
        }
    }
}
