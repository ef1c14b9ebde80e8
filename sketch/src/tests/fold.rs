//! Compares the fast pass of normalisation with its definition: every character, every pair and
//! triple of classes, Unicode's own files, random texts.

use std::fmt::Write as _;
use std::sync::OnceLock;

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::definition::{self, Class};
use super::{oracle, steps, tables};
use crate::normalise::Rules;
use crate::simd::Processor;
use crate::split::Split;
use crate::unicode::words::words;
use crate::unit::UnitHash;
use crate::units::Units;
use crate::white_space::is_white_space;
use crate::{FoldOptions, Normalise, Params, Shingles, Sketcher};

/// Compares the units of a text by the fast pass on each processor with those of the definition.
pub(super) struct Checker {
    normalise: Normalise,
    units: Units,
    split: Split,
    found: Vec<u64>,
}

impl Checker {
    fn new(normalise: Normalise) -> Self {
        let params = Params::builder().normalise(normalise).build().unwrap();
        let units = Units::new(Rules::new(&params), UnitHash::new(0));
        Self { normalise, units, split: Split::default(), found: Vec::new() }
    }

    /// None if the crates of the definition are of other Unicode versions.
    pub(super) fn both() -> Vec<Self> {
        let both = [Normalise::FOLD, Normalise::Case].map(Self::new);
        both.into_iter().filter(|_| definition::comparable()).collect()
    }

    pub(super) fn check(&mut self, text: &str) {
        let plain = oracle::normalised(self.normalise, text);
        let blanks = plain.split(is_white_space).filter(|token| !token.is_empty());
        let blanks = blanks.collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = words(&blanks).map(|(_, word)| word).collect();
        self.check_units(text, Shingles::Words(1), &words);
        let tokens: Vec<&str> = blanks.split(' ').filter(|token| !token.is_empty()).collect();
        self.check_units(text, Shingles::Tokens(1), &tokens);
        let chars: Vec<String> = blanks.chars().map(String::from).collect();
        let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
        self.check_units(text, Shingles::Chars(1), &chars);
    }

    fn check_units(&mut self, text: &str, shingles: Shingles, expected: &[&str]) {
        let hashes = expected.iter().map(|unit| steps::unit(unit.as_bytes(), 0));
        let hashes: Vec<u64> = hashes.collect();
        for processor in Processor::all().map(Some).chain([None]) {
            self.found.clear();
            let Self { units, split, found, .. } = self;
            units.of_text(text, shingles, split, processor, found);
            assert_eq!(*found, hashes, "{} {shingles} {text:?} {expected:?}", self.normalise);
        }
    }
}

pub(super) fn all_chars() -> impl Iterator<Item = char> {
    (0..=0x10_ffff).filter_map(char::from_u32)
}

#[test]
fn the_tables_are_made_by_their_definition() {
    if !definition::comparable() {
        return;
    }
    let made =
        [("fold", tables::bytes(definition::fold)), ("case", tables::bytes(definition::case))];
    for (name, bytes) in made.into_iter().chain([("composites", tables::composites())]) {
        let stored: &[u8] = match name {
            "fold" => include_bytes!("../fold/fold.bin"),
            "composites" => include_bytes!("../fold/composites.bin"),
            _ => include_bytes!("../fold/case.bin"),
        };
        assert!(bytes == stored, "{name}.bin is not what tools/tables makes: run it there");
    }
}

/// Tests every single character, by the slow path and by the fast pass.
#[test]
fn every_character_is_folded_as_defined() {
    for mut checker in Checker::both() {
        let params = Params::builder().normalise(checker.normalise).build().unwrap();
        let rules = Rules::new(&params);
        let mut line = String::new();
        for c in all_chars() {
            let alone = c.to_string();
            assert_eq!(rules.letters(&alone), oracle::normalised(checker.normalise, &alone));
            line.push_str(&alone);
            line.push_str(" a");
            if line.len() > 8_000 {
                checker.check(&line);
                line.clear();
            }
        }
        checker.check(&line);
    }
}

/// Whether a long test must cover everything: `NEARKIN_FOLD=all`.
fn nothing_left_out() -> bool {
    std::env::var("NEARKIN_FOLD").is_ok_and(|which| which == "all")
}

/// Test characters: every character whose properties differ from those of the character before it,
/// and one in 64 of the others. All characters if `nothing_left_out()`.
fn chosen_chars() -> Vec<char> {
    if nothing_left_out() {
        return all_chars().collect();
    }
    let mut before = None;
    let mut chosen = Vec::new();
    for (nth, c) in all_chars().enumerate() {
        let moved = |text: &str| text.chars().map(|to| u32::from(to).wrapping_sub(c.into())).next();
        let folded = definition::fold(&c.to_string());
        let combining = unicode_normalization::char::canonical_combining_class(c);
        let kind = (moved(&folded), folded.chars().count(), definition::class(c), combining);
        // One in 64 of the others; the remainder 37 is arbitrary.
        if before != Some(kind) || nth % 64 == 37 {
            chosen.push(c);
        }
        before = Some(kind);
    }
    chosen
}

/// Tests every character between characters of all kinds.
#[test]
fn characters_are_folded_and_cut_as_defined_between_others() {
    let chosen = chosen_chars();
    assert!(chosen.len() > 20_000, "{}", chosen.len());
    for mut checker in Checker::both() {
        let mut line = String::new();
        for c in &chosen {
            line.clear();
            for (before, after) in [
                ("", " "),
                ("a", "b "),
                ("a'", "'b "),
                ("", "' "),
                ("", "\"\u{5d0} "),
                ("1.", ".2 "),
                ("\u{5d0}", "\u{5d0} "),
                ("\u{30a2}", "\u{30a2} "),
                ("_", "_ "),
                ("e", "\u{301} "),
                (" ", "\u{327}\u{301} "),
                ("\u{4f60}", "\u{915}\u{93e} "),
                ("\u{430}", "\u{661},\u{661} "),
                ("\u{300}", ""),
            ] {
                let _ = write!(line, "{before}{c}{after}");
            }
            checker.check(&line);
        }
    }
}

/// Some characters of each class, and the special ones of each normalisation.
fn representatives() -> &'static [char] {
    static ALL: OnceLock<Vec<char>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut chosen: Vec<char> =
            "aZi0_.,:;'\"- !<\n\r\u{a0}\u{2003}\u{3000}\u{85}".chars().collect();
        chosen.extend(
            "\u{300}\u{301}\u{307}\u{308}\u{323}\u{327}\u{338}\u{345}\u{34f}\u{3099}".chars(),
        );
        chosen.extend("\u{200d}\u{200c}\u{200b}\u{ad}\u{feff}\u{fe0f}\u{1f3fb}\u{20dd}".chars());
        chosen.extend(
            "\u{df}\u{1e9e}\u{130}\u{131}\u{3a3}\u{3c2}\u{e9}\u{c9}\u{fb03}\u{1fb4}".chars(),
        );
        chosen.extend(
            "\u{a8}\u{b4}\u{2026}\u{2019}\u{2033}\u{bd}\u{b2}\u{2044}\u{149}\u{640}".chars(),
        );
        chosen.extend(
            "\u{430}\u{438}\u{5d0}\u{5b4}\u{5f3}\u{5f4}\u{628}\u{623}\u{64e}\u{661}\u{60c}".chars(),
        );
        chosen.extend(
            "\u{915}\u{93c}\u{93e}\u{94d}\u{9c7}\u{9be}\u{e01}\u{e34}\u{4f60}\u{304b}".chars(),
        );
        chosen.extend(
            "\u{30ab}\u{ff76}\u{ff9e}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{ac01}\u{b7}\u{203f}"
                .chars(),
        );
        chosen.extend(
            "\u{1f1e6}\u{1f468}\u{2764}\u{a9}\u{1f170}\u{ff0e}\u{ff10}\u{2160}\u{e0041}".chars(),
        );
        chosen.extend("\u{2f800}\u{20000}\u{10400}\u{1d400}\u{378}\u{e000}\u{600}\u{1160}".chars());
        let mut kinds: Vec<(Class, u8)> = Vec::new();
        for c in all_chars().filter(|c| u32::from(*c) < 0x2_0000) {
            let combining = unicode_normalization::char::canonical_combining_class(c);
            let kind = (definition::class(c), combining);
            if !kinds.contains(&kind) {
                kinds.push(kind);
                if !(12..=225).contains(&combining) {
                    chosen.push(c);
                }
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    })
}

#[test]
fn all_pairs_of_kinds_are_folded_and_cut_as_defined() {
    for mut checker in Checker::both() {
        for a in representatives() {
            let mut line = String::new();
            for b in representatives() {
                let _ = write!(line, "{a}{b} x{a}{b}y.{a}{b} \u{4e00}{a}{b} \u{430}{a}{b}{a} ");
            }
            checker.check(&line);
        }
    }
}

fn random_text() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(representatives());
    let word = prop::sample::select(vec![
        "it's",
        "3.14",
        " ",
        " ",
        " ",
        ", ",
        "\n",
        "don\u{2019}t",
        "na\u{ef}ve",
        "e\u{301}te\u{301}",
        "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}",
        "\u{39f}\u{394}\u{39f}\u{3a3}",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "\u{645}\u{64e}\u{631}\u{652}\u{62d}\u{628}\u{627}",
        "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}",
        "\u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35}",
        "\u{4f60}\u{597d}\u{3002}",
        "\u{30ab}\u{30bf}\u{30ab}\u{30ca}",
        "\u{d55c}\u{ad6d}",
    ]);
    let piece = prop_oneof![
        4 => prop::collection::vec(kind, 1..5).prop_map(String::from_iter),
        4 => word.prop_map(str::to_owned),
        1 => "[ -~]{0,90}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn text_of_one_script() -> impl Strategy<Value = String> {
    // Latin-1, other Latin, Greek, Cyrillic, Armenian and Hebrew, Arabic, Devanagari, Bengali.
    let scripts = [(0xc0, 0xff), (0x100, 0x17f), (0x386, 0x3ce), (0x400, 0x45f), (0x531, 0x5ea)];
    let scripts = scripts.into_iter().chain([(0x620, 0x652), (0x905, 0x94d), (0x985, 0x9cd)]);
    let script = prop::sample::select(scripts.collect::<Vec<(u32, u32)>>());
    let other = || {
        prop::sample::select(
            "'\"-,.:_!7A\u{e9}\u{2019}\u{301}\u{5bc}\u{967}".chars().collect::<Vec<_>>(),
        )
    };
    script.prop_flat_map(move |(first, last)| {
        let letter = (first..=last).prop_filter_map("assigned", char::from_u32);
        let piece = prop_oneof![60 => letter, 8 => Just(' '), 4 => prop::char::range('a', 'z'),
            2 => other()];
        prop::collection::vec(piece, 0..400).prop_map(String::from_iter)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn random_texts_are_folded_and_cut_as_defined(text in random_text()) {
        for mut checker in Checker::both() {
            checker.check(&text);
            // The text is repeated, so that it crosses the ends of buffers.
            checker.check(&text.repeat(1 + 14_000 / (text.len() + 1)));
        }
    }

    /// Mostly letters of one script, so that many bytes are folded at once.
    #[test]
    fn texts_of_one_script_are_folded_and_cut_as_defined(text in text_of_one_script()) {
        for mut checker in Checker::both() {
            checker.check(&text);
        }
    }

    #[test]
    fn options_do_what_they_are_defined_to_do(text in random_text(), bits in 0_u8..32) {
        let text = text.replace(',', "-\n").replace('e', "I").replace('o', "4").replace('q', "0x");
        let set = |bit: u8| bits & bit != 0;
        let options = FoldOptions::default().diacritics(set(1)).dehyphenate(set(2));
        let options = options.turkish(set(4)).digits(set(8)).lookalikes(set(16));
        if definition::comparable() {
            Checker::new(Normalise::Fold(options)).check(&text);
        }
    }

    #[test]
    fn folding_again_changes_nothing(text in random_text()) {
        let once = definition::fold(&text);
        prop_assert_eq!(definition::fold(&once), once);
    }

    #[test]
    fn canonical_equivalents_are_folded_alike(text in random_text()) {
        let once = definition::fold(&text);
        let [composed, decomposed]: [String; 2] = [text.nfc().collect(), text.nfd().collect()];
        prop_assert_eq!(definition::fold(&composed), once.clone());
        prop_assert_eq!(definition::fold(&decomposed), once);
    }

    #[test]
    fn numbers_and_look_alikes_of_canonical_equivalents_are_alike(text in random_text()) {
        let text = text.replace('o', "4").replace('q', "0x").replace('e', "a\u{435}");
        let normalise = Normalise::Fold(FoldOptions::default().digits(true).lookalikes(true));
        let fold = |text: &str| super::oracle::normalised(normalise, text);
        let [composed, decomposed]: [String; 2] = [text.nfc().collect(), text.nfd().collect()];
        prop_assert_eq!(fold(&composed), fold(&text));
        prop_assert_eq!(fold(&decomposed), fold(&text));
    }
}

#[test]
fn folding_any_character_again_changes_nothing() {
    for c in all_chars() {
        let once = definition::fold(&c.to_string());
        assert_eq!(definition::fold(&once), once, "{c:?}");
    }
}

#[test]
fn items_are_folded_if_asked_and_text() {
    let items = || Params::builder().shingles(Shingles::Items);
    let plain = Sketcher::new(&items().build().unwrap());
    let folded = Sketcher::new(&items().normalise(Normalise::FOLD).build().unwrap());
    let [a, b] = ["It\u{2019}s ", "it's"];
    let [other_a, other_b]: [&[u8]; 2] = [b"A\xff", b"a\xff"];
    assert_ne!(plain.items([a]).unwrap(), plain.items([b]).unwrap());
    assert_eq!(folded.items([a]).unwrap(), folded.items([b]).unwrap());
    assert_eq!(folded.items([a]).unwrap(), folded.items([b]).unwrap());
    assert_eq!(folded.original_items([a]).unwrap().signature(), &folded.items([b]).unwrap());
    assert_ne!(folded.items([other_a]).unwrap(), folded.items([other_b]).unwrap());
    assert_eq!(folded.items([17]).unwrap(), folded.items(["\u{ff11}\u{ff17}"]).unwrap());
}

/// A file of Debian's `unicode-data` (Unicode 15). `None` if it is not installed.
fn unicode_file(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/usr/share/unicode/{name}")).ok();
    if text.is_none() {
        eprintln!("SKIPPED: /usr/share/unicode/{name} is missing (Debian: unicode-data)");
    }
    text
}

fn parse(numbers: &str) -> String {
    let number = |text| char::from_u32(u32::from_str_radix(text, 16).unwrap()).unwrap();
    numbers.split_whitespace().map(number).collect()
}

/// Compares characters with Unicode's property `NFKC_Casefold`.
#[test]
fn nfkc_casefold_is_unicodes() {
    let Some(file) = unicode_file("DerivedNormalizationProps.txt") else { return };
    let mut listed = std::collections::HashMap::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let Some((range, rest)) = line.split_once(';') else { continue };
        let Some(mapped) = rest.trim().strip_prefix("NFKC_CF;") else { continue };
        let mapped = parse(mapped.split('#').next().unwrap());
        let (first, last) = range.trim().split_once("..").unwrap_or((range.trim(), range.trim()));
        let [first, last] = [first, last].map(|text| u32::from_str_radix(text, 16).unwrap());
        listed.extend((first..=last).map(|number| (number, mapped.clone())));
    }
    assert!(listed.len() > 10_000);
    let mut newer = Vec::new();
    for c in all_chars() {
        let mapped = listed.get(&u32::from(c)).cloned().unwrap_or_else(|| c.to_string());
        if definition::nfkc_casefold(c) != mapped {
            newer.push(c);
        }
    }
    // Characters newer than Unicode 15, which the crates know and the file does not.
    assert!(newer.len() < 200, "{} {newer:?}", newer.len());
    assert!(newer.iter().all(|c| !listed.contains_key(&u32::from(*c))), "{newer:?}");
}

/// Tests the words of Unicode's own test file, in texts of one or several words.
#[test]
fn words_of_unicodes_own_test_are_cut_as_defined() {
    let Some(file) = unicode_file("auxiliary/WordBreakTest.txt") else { return };
    let mut checked = 0;
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let test = line.split('#').next().unwrap().replace(['\u{f7}', '\u{d7}'], " ");
        let words = parse(&test);
        for mut checker in Checker::both() {
            checker.check(&words);
            checker.check(&format!("\u{e9} {words} \u{e9}{words}\u{e9} {words}"));
        }
        checked += 1;
    }
    assert!(checked > 1_500, "{checked}");
}

/// Unicode's own test lists five forms of each text. The first three (the source, its form C and
/// its form D) must be folded to the same text.
#[test]
fn forms_of_unicodes_own_test_are_folded_alike() {
    let path = "/usr/share/unicode/NormalizationTest.txt.bz2";
    let output = std::process::Command::new("bzcat").arg(path).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        eprintln!("SKIPPED: {path} (Debian: unicode-data) or bzcat is missing");
        return;
    };
    let file = String::from_utf8(output.stdout).unwrap();
    let mut checked = 0;
    let mut checkers = Checker::both();
    for line in file.lines().filter(|line| !line.starts_with(['#', '@'])) {
        let forms: Vec<String> = line.split(';').take(5).map(parse).collect();
        let folded: Vec<String> = forms.iter().map(|form| definition::fold(form)).collect();
        assert!(folded[..3].iter().all(|form| *form == folded[0]), "{line}");
        for checker in &mut checkers {
            checker.check(&format!("{} a{}b {}", forms[0], forms[2], forms.join(" ")));
        }
        checked += 1;
    }
    assert!(checked > 15_000, "{checked}");
}
