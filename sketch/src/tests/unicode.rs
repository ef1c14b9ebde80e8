//! Compares the tables of `unicode` with the crates that they were made from: every character,
//! every sequence of four kinds of characters, random texts.
//!
//! `NEARKIN_UNICODE_TEXTS` is the number of random texts, `NEARKIN_UNICODE_SEED` the seed of the
//! first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation as _;

use super::definition::{comparable, lower};
use super::fold::all_chars;
use super::unicode_tables;
use crate::hash::split_mix;
use crate::unicode::words::words;
use crate::unicode::{self, Properties};

fn nfc(text: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    unicode::nfc(text, &mut out);
    out
}

fn nfd(text: &str) -> String {
    let mut out = String::new();
    unicode::ordered(text.chars(), |c, class| {
        assert_eq!(class, canonical_combining_class(c), "{c:?}");
        out.push(c);
    });
    out
}

/// One character of each kind that the tables tell apart, in order of the kinds.
fn kinds() -> Vec<char> {
    let mut kinds = BTreeMap::new();
    for c in all_chars() {
        let Properties { word_class, combining, .. } = Properties::of(c);
        let flags = [1, 2, 4, 8, 16].map(|flag| Properties::of(c).has(flag));
        kinds.entry((word_class, combining, flags)).or_insert(c);
    }
    kinds.into_values().collect()
}

#[track_caller]
fn check(text: &str) {
    let found: Vec<(usize, &str)> = words(text).collect();
    assert!(text.unicode_word_indices().eq(found.iter().copied()), "{text:?} {found:?}");
    assert_eq!(nfd(text), text.nfd().collect::<String>(), "{text:?}");
    assert_eq!(nfc(text.chars()), text.nfc().collect::<String>(), "{text:?}");
    let quick = is_nfc_quick(text.chars()) == IsNormalized::Yes;
    assert_eq!(unicode::is_composed(text), quick, "{text:?}");
}

#[test]
fn the_tables_are_made_from_the_crates() {
    if !comparable() {
        return;
    }
    for (name, bytes) in unicode_tables::files() {
        let stored: &[u8] = match name {
            "chars" => include_bytes!("../unicode/chars.bin"),
            "composed" => include_bytes!("../unicode/composed.bin"),
            "decomposed" => include_bytes!("../unicode/decomposed.bin"),
            "lower" => include_bytes!("../unicode/lower.bin"),
            _ => include_bytes!("../unicode/folded.bin"),
        };
        assert!(bytes == stored, "{name}.bin is not what tools/tables makes: run it there");
    }
}

#[test]
fn every_character_is_as_in_the_crates() {
    if !comparable() {
        return;
    }
    // One of each word class, and some that the rules treat in special ways.
    let near = "a1_,;.:'\"! \n\u{300}\u{200d}\u{5d0}\u{30a2}\u{1f1e6}\u{2764}\u{24c2}\u{1f3fb}";
    let mut line = String::new();
    for c in all_chars() {
        let alone = c.to_string();
        check(&alone);
        let mapped = unicode::lower(c).map_or_else(|| alone.clone(), str::to_owned);
        assert_eq!(mapped, lower(&alone).collect::<String>(), "{c:?}");
        assert_eq!(Properties::of(c).combining, canonical_combining_class(c), "{c:?}");
        line.clear();
        for before in near.chars() {
            let _ = write!(line, "{before}{c}{before}\n{before}\u{200d}{c}a\n");
        }
        let found: Vec<&str> = words(&line).map(|(_, word)| word).collect();
        assert!(line.unicode_words().eq(found.iter().copied()), "{line:?} {found:?}");
    }
}

/// The fold of a single character: that of its compatibility decomposition, part by part.
#[test]
fn characters_without_a_record_are_folded_as_their_parts() {
    if !comparable() {
        return;
    }
    let folded = |c: char| {
        let mut out = String::new();
        crate::fold::slow::fold_char(c, &mut out);
        out
    };
    for c in all_chars() {
        let mut parts = Vec::new();
        decompose_compatible(c, |part| parts.push(part));
        if unicode::folded(c).is_some() && c != '\u{345}' {
            let of_parts: String = parts.into_iter().map(folded).collect();
            assert_eq!(nfc(folded(c).chars()), nfc(of_parts.chars()), "{c:?}");
        }
    }
}

#[test]
fn every_pair_composes_as_in_the_crate() {
    if !comparable() {
        return;
    }
    let parts = all_chars().filter(|c| !('\u{ac1c}'..='\u{d788}').contains(c));
    let parts = parts.filter(|c| Properties::of(*c).has(0x18) || [*c].into_iter().nfd().ne([*c]));
    let mut parts: Vec<char> = parts.flat_map(|c| [c].into_iter().nfd().chain([c])).collect();
    parts.extend(all_chars().filter(|c| canonical_combining_class(*c) != 0).step_by(7));
    parts.extend('\u{1100}'..='\u{1200}');
    parts.sort_unstable();
    parts.dedup();
    assert!(parts.len() > 3_000, "{}", parts.len());
    for first in &parts {
        for second in &parts {
            let composite = unicode_normalization::char::compose(*first, *second);
            assert_eq!(unicode::compose(*first, *second), composite, "{first:?} {second:?}");
        }
    }
}

/// Four characters of any kinds: more than any rule of word boundaries looks at.
#[test]
fn words_of_every_sequence_of_four_kinds_are_those_of_the_crate() {
    if !comparable() {
        return;
    }
    let mut kinds = BTreeMap::new();
    for c in all_chars() {
        let properties = Properties::of(c);
        let flags = [1, 2].map(|flag| properties.has(flag));
        kinds.entry((properties.word_class, flags)).or_insert(c);
    }
    let kinds: Vec<char> = kinds.into_values().collect();
    assert!(kinds.len() > 20, "{}", kinds.len());
    let each = || kinds.iter().copied();
    for (one, two) in each().flat_map(|one| each().map(move |two| (one, two))) {
        for (three, four) in each().flat_map(|three| each().map(move |four| (three, four))) {
            let text = String::from_iter([one, two, three, four]);
            let found: Vec<&str> = words(&text).map(|(_, word)| word).collect();
            assert!(text.unicode_words().eq(found.iter().copied()), "{text:?} {found:?}");
        }
    }
}

#[test]
fn random_texts_are_as_in_the_crates() {
    if !comparable() {
        return;
    }
    let setting = |name, default| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (texts, first) =
        (setting("NEARKIN_UNICODE_TEXTS", 4_000), setting("NEARKIN_UNICODE_SEED", 1));
    let (kinds, all) = (kinds(), all_chars().collect::<Vec<char>>());
    for seed in first..first + texts {
        let mut number = 0;
        let mut random = |below: usize| {
            number += 1;
            usize::try_from(split_mix(seed, number) % below as u64).expect("small")
        };
        let length = 1 + random(24);
        let any = |random: &mut dyn FnMut(usize) -> usize| match random(4) {
            0 => all[random(all.len())],
            1 => all[random(0x3100)],
            _ => kinds[random(kinds.len())],
        };
        let text: String = (0..length).map(|_| any(&mut random)).collect();
        let checked = std::panic::catch_unwind(|| check(&text));
        assert!(checked.is_ok(), "NEARKIN_UNICODE_SEED={seed} NEARKIN_UNICODE_TEXTS=1: {text:?}");
    }
}
