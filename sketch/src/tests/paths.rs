//! Fast paths compared with the slow code that defines them.

use proptest::prelude::*;

use super::{naive, steps};
use crate::compare::equal_rows;
use crate::normalise::Rules;
use crate::simd::Processor;
use crate::unicode;
use crate::white_space::is_white_space;
use crate::windows;
use crate::{ErrorKind, Normalise, Params, ParamsBuilder, Shingles, Sketcher};

fn general_words(text: &str) -> Vec<String> {
    unicode::words::words(text).map(|(_, word)| word.to_owned()).collect()
}

#[test]
fn every_short_ascii_text_has_the_words_of_uax_29() {
    let alphabet = ['a', 'Z', '5', '_', '.', ',', ':', ';', '\'', ' ', '-', '\n'];
    let mut texts = vec![String::new()];
    for _ in 0..5 {
        let longer = texts.iter().flat_map(|text| alphabet.map(|c| format!("{text}{c}")));
        texts = longer.collect();
        for text in &texts {
            assert_eq!(steps::words(text), general_words(text), "{text:?}");
        }
    }
}

#[test]
fn every_ascii_byte_between_two_others_has_the_words_of_uax_29() {
    for middle in 0..128_u8 {
        for (before, after) in [("a", "b"), ("1", "2"), ("a", "1"), ("_", "_"), (" ", "a")] {
            let text = format!("{before}{}{after}", char::from(middle));
            assert_eq!(steps::words(&text), general_words(&text), "{text:?}");
        }
    }
}

/// Tests every position of a joining byte relative to the blocks of 64 bytes.
#[test]
fn block_edges_change_no_words() {
    for text in ["it's", "3.14", "a_b", "a.b.c", "1,000;5", "_", "__", "a:b", "x", "'", "a.", ".a"]
    {
        for before in 56..=72 {
            for (filler, after) in [(" ", 0), (" ", 70), ("b", 0), ("1", 1)] {
                let text = format!("{}{text}{}", filler.repeat(before), filler.repeat(after));
                assert_eq!(steps::words(&text), general_words(&text), "{text:?}");
            }
        }
    }
}

#[test]
fn white_space_is_unicodes() {
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        assert_eq!(is_white_space(c), c.is_whitespace(), "{c:?}");
    }
}

/// Our tables and the standard library may use different Unicode versions. They must agree
/// on letters that both know.
#[test]
fn lower_case_is_the_full_mapping_of_each_character() {
    let params = Params::builder().no_nfc(true).keep_space(true).build().unwrap();
    let rules = Rules::new(&params);
    let mut differ = 0;
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        let expected: String = c.to_lowercase().collect();
        differ += usize::from(rules.letters(&c.to_string()) != expected);
    }
    assert!(differ < 100, "{differ} characters differ from std's lower case");
    assert_eq!(rules.letters("\u{130}STANBUL \u{1e9e}"), "i\u{307}stanbul \u{df}");
    // There is no final sigma, because each character is mapped by itself.
    assert_eq!(rules.letters("\u{39f}\u{3a3}"), "\u{3bf}\u{3c3}");
}

/// A change here changes the signatures of texts with the newest characters: mention it in the
/// changelog and in docs/reference/SIGNATURES.md.
#[test]
fn the_unicode_versions_are_the_documented_ones() {
    let versions = "lower case 16.0.0, folding 16.0.0, form C 18.0.0, words 17.0.0";
    assert_eq!(crate::normalise::unicode_versions(), versions);
}

/// Tests every short text of blanks and letters, which covers every run, end and kind of blank.
#[test]
fn white_space_of_ascii_is_made_single() {
    let rules = Rules::new(&Params::builder().build().unwrap());
    let mut texts = vec![String::new()];
    for _ in 0..6 {
        let longer =
            texts.iter().flat_map(|text| [' ', 'a', '\t', '\n'].map(|c| format!("{text}{c}")));
        texts = longer.collect();
        for text in &texts {
            let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(rules.blanks(text), expected, "{text:?}");
        }
    }
}

fn text_strategy() -> impl Strategy<Value = String> {
    // ASCII of all kinds, white space, combining and enclosing marks, joiners, letters of several
    // scripts, emoji and flags: characters that the rules of UAX #29 treat differently.
    let piece = prop_oneof![
        8 => "[ -~]{0,12}",
        4 => "[a-zA-Z0-9'.,:;_ ]{0,30}",
        2 => "[ \t\r\n\u{b}\u{85}\u{a0}\u{2003}\u{2028}\u{3000}]{1,3}",
        1 => "[\u{300}\u{301}\u{345}\u{308}\u{200d}\u{200c}\u{ad}\u{feff}\u{20dd}]{1,2}",
        1 => "[\u{130}\u{df}\u{3a3}\u{e9}\u{c5}\u{212b}\u{1e9b}\u{323}\u{5d0}\u{5d1}\u{22}]{1,4}",
        1 => "[\u{4f60}\u{30ab}\u{30bf}\u{e01}\u{e34}\u{1100}\u{1161}\u{11a8}\u{ac00}]{1,4}",
        1 => "[\u{1f1e6}\u{1f1e7}\u{1f468}\u{2764}\u{2019}\u{2024}\u{ff0e}\u{b7}]{1,3}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// The definition in the plainest code: lower case of each character, form C, single blanks.
fn plainly_normalised(text: &str) -> String {
    let lower = |c| unicode::lower(c).map_or_else(|| String::from(c), str::to_owned);
    let lower: String = text.chars().map(lower).collect();
    let mut composed = String::new();
    unicode::nfc(lower.chars(), &mut composed);
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn words_of_any_text_are_those_of_uax_29(text in text_strategy()) {
        prop_assert_eq!(steps::words(&text), general_words(&text));
    }

    #[test]
    fn normalisation_is_what_its_definition_says(text in text_strategy()) {
        let rules = Rules::new(&case().build().unwrap());
        let letters = rules.letters(&text);
        prop_assert_eq!(rules.blanks(&letters), plainly_normalised(&text));
    }

    #[test]
    fn a_normalised_text_has_the_same_signature(text in text_strategy()) {
        for shingles in [Shingles::Words(2), Shingles::Tokens(2), Shingles::Chars(3)] {
            let sketcher = sketcher(case().shingles(shingles));
            let (raw, plain) = (sketcher.text(&text), sketcher.text(&plainly_normalised(&text)));
            prop_assert_eq!(raw.ok(), plain.ok(), "{}", shingles);
        }
    }

    #[test]
    fn shingles_of_one_unit_are_the_set_of_units(text in text_strategy()) {
        let plain = plainly_normalised(&text);
        let items = sketcher(Params::builder().shingles(Shingles::Items));
        let bytes = |signature: crate::Result<crate::Signature>| {
            signature.ok().map(|signature| signature.as_bytes().to_vec())
        };
        let tokens = sketcher(case().shingles(Shingles::Tokens(1)));
        let expected = plain.split(' ').filter(|token| !token.is_empty());
        prop_assert_eq!(bytes(tokens.text(&text)), bytes(items.items(expected)));
        let words = sketcher(case().shingles(Shingles::Words(1)));
        let mut expected = general_words(&plain);
        // A text without words is one shingle, unless it is blank.
        if expected.is_empty() && plain.split_whitespace().next().is_some() {
            expected.push(plain.clone());
        }
        prop_assert_eq!(bytes(words.text(&text)), bytes(items.items(expected)));
        let chars = sketcher(case().shingles(Shingles::Chars(1)));
        let expected = plain.chars().map(String::from);
        prop_assert_eq!(bytes(chars.text(&text)), bytes(items.items(expected)));
    }

    #[test]
    fn windows_are_polynomials_however_they_are_summed(
        units in prop::collection::vec(any::<u64>(), 0..40), width in 1_usize..=12
    ) {
        let base = 0xd134_2543_de82_ef93_u64;
        let sum = |window: &[u64]| {
            window.iter().fold(0_u64, |sum, &u| sum.wrapping_mul(base).wrapping_add(u))
        };
        let ways = Processor::all().map(Some).chain([None]);
        let expected: Vec<u64> = match units.len() {
            0 => vec![],
            n if n < width => vec![sum(&units)],
            _ => units.windows(width).map(sum).collect(),
        };
        for processor in ways {
            let mut found = units.clone();
            windows::windows(&mut found, width, processor);
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn the_fast_scheme_is_the_papers(
        hashes in prop::collection::hash_set(any::<u64>(), 1..80), rows in 16_usize..=200
    ) {
        let hashes: Vec<u64> = hashes.into_iter().collect();
        let expected = naive::fast(&hashes, rows, &naive::rehash);
        prop_assert_eq!(steps::fast_values(&hashes, rows), expected);
    }

    #[test]
    fn equal_rows_are_counted_one_by_one(
        bytes in prop::collection::vec((0_u8..3, 0_u8..3), 0..10_000), at in 0_usize..64
    ) {
        let (a, b): (Vec<u8>, Vec<u8>) = bytes.into_iter().unzip();
        let (a, b) = (&a[at.min(a.len())..], &b[at.min(b.len())..]);
        let narrow = a.iter().zip(b).filter(|(a, b)| a == b).count();
        let pairs = a.chunks_exact(2).zip(b.chunks_exact(2));
        let wide = pairs.filter(|(a, b)| a == b).count();
        prop_assert_eq!(equal_rows(a, b, 8) as usize, narrow);
        prop_assert_eq!(equal_rows(a, b, 16) as usize, wide);
        prop_assert!(equal_rows(a, &b[b.len() / 2..], 8) as usize <= b.len());
    }
}

fn case() -> ParamsBuilder {
    Params::builder().normalise(Normalise::Case)
}

fn sketcher(builder: ParamsBuilder) -> Sketcher {
    Sketcher::new(&builder.build().unwrap())
}

#[test]
fn equal_columns_do_not_overflow() {
    let bytes = vec![7; 100_001];
    assert_eq!(equal_rows(&bytes, &bytes, 8), 100_001);
    assert_eq!(equal_rows(&bytes, &bytes, 16), 50_000);
}

#[test]
fn the_fast_scheme_is_the_papers_for_one_shingle_and_many_rows() {
    for rows in [16, 255, 256, 257, 400, 1024] {
        for hash in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let expected = naive::fast(&[hash], rows, &naive::rehash);
            assert_eq!(steps::fast_values(&[hash], rows), expected, "{rows} {hash}");
        }
    }
}

#[test]
fn integers_are_their_digits() {
    let sketcher = sketcher(Params::builder().shingles(Shingles::Items));
    let numbers = [0, 1, -1, 42, i64::MIN, i64::MAX];
    let digits = numbers.map(|number| number.to_string());
    let expected = sketcher.items(digits).unwrap();
    assert_eq!(sketcher.items(numbers).unwrap(), expected);
    let (number, digits) = (sketcher.items([u64::MAX]), sketcher.items([u64::MAX.to_string()]));
    assert_eq!(number.unwrap(), digits.unwrap());
    let (number, digits) = (sketcher.items([i128::MIN]), sketcher.items([i128::MIN.to_string()]));
    assert_eq!(number.unwrap(), digits.unwrap());
    assert_eq!(expected.shingle_count(), 6);
}

#[test]
fn the_order_and_repeats_of_items_do_not_matter() {
    let sketcher = sketcher(Params::builder().shingles(Shingles::Items));
    let expected = sketcher.items(["a", "b", ""]).unwrap();
    assert_eq!(sketcher.items(["", "b", "a", "b"]).unwrap(), expected);
    assert_eq!(expected.shingle_count(), 3);
    assert_ne!(sketcher.items(["A", "b", ""]).unwrap().as_bytes(), expected.as_bytes());
}

#[test]
fn a_bag_counts_repeats() {
    let bag = sketcher(Params::builder().shingles(Shingles::Words(1)).bag(true));
    let set = sketcher(Params::builder().shingles(Shingles::Words(1)));
    let (one, two) = (bag.text("row row boat").unwrap(), bag.text("row boat").unwrap());
    assert_eq!((one.shingle_count(), two.shingle_count()), (3, 2));
    assert_ne!(one, two);
    assert_eq!(bag.text("row boat row").unwrap(), one);
    assert_eq!(set.text("row row boat").unwrap().shingle_count(), 2);
    // Without repeats a bag has the rows of a set; only the ids differ.
    assert_eq!(set.text("row boat").unwrap().as_bytes(), two.as_bytes());
}

#[test]
fn windows_of_a_bag_whose_hashes_are_equal_count_each() {
    // The hash of the second item equals that of the first plus `hash::GOLDEN`. So it also equals
    // the hash of the first repeat of the first item.
    let (item, other) = ("00000767", "LCyag!/A");
    let bag = sketcher(Params::builder().shingles(Shingles::Items).bag(true));
    let (two, three) = ([item, item], [item, item, other]);
    let (one, all) = (bag.items(two).unwrap(), bag.items(three).unwrap());
    assert_eq!((one.shingle_count(), all.shingle_count()), (2, 3));
    assert_eq!(one.as_bytes(), all.as_bytes());
    let (one, all) = (bag.original_items(two).unwrap(), bag.original_items(three).unwrap());
    assert!((one.similarity(&all) - 2.0 / 3.0).abs() < 1e-9);
}

#[test]
fn a_text_shorter_than_a_shingle_is_one_shingle() {
    let sketcher = sketcher(Params::builder().shingles(Shingles::Words(5)));
    let short = sketcher.text("only two").unwrap();
    assert_eq!(short.shingle_count(), 1);
    assert_eq!(sketcher.text("Only, TWO!").unwrap(), short);
    assert_ne!(sketcher.text("two only").unwrap(), short);
    assert_ne!(sketcher.text("only two x").unwrap(), short);
}

#[test]
fn a_blank_text_is_empty_and_the_wrong_kind_invalid() {
    let kind = |result: crate::Result<_>| {
        result.map(|_: crate::Signature| ()).err().map(|error| error.kind())
    };
    for shingles in [Shingles::Words(3), Shingles::Tokens(1), Shingles::Chars(5)] {
        let sketcher = sketcher(Params::builder().shingles(shingles));
        for text in ["", " ", "\t\r\n\u{a0}"] {
            assert_eq!(kind(sketcher.text(text)), Some(ErrorKind::Empty), "{shingles} {text:?}");
        }
        assert_eq!(kind(sketcher.items(["a"])), Some(ErrorKind::Invalid));
        assert_eq!(kind(sketcher.items([1])), Some(ErrorKind::Invalid));
    }
    // What folding leaves out is nothing.
    let (folds, cases) =
        (sketcher(Params::builder()), Params::builder().normalise(Normalise::Case));
    let cases = sketcher(cases);
    for text in ["\u{200b}", "\u{feff}", " \u{200d}\n\u{fe0f}", "\u{ad}"] {
        assert_eq!(kind(folds.text(text)), Some(ErrorKind::Empty), "{text:?}");
        assert_eq!(kind(cases.text(text)), None, "{text:?}");
    }
    assert_eq!((kind(folds.text("\0")), kind(cases.text("\0"))), (None, None));
    let items = sketcher(Params::builder().shingles(Shingles::Items));
    assert_eq!(kind(items.text("a")), Some(ErrorKind::Invalid));
    assert_eq!(kind(items.items([] as [&str; 0])), Some(ErrorKind::Empty));
}

#[test]
fn a_text_without_words_is_one_shingle() {
    let texts =
        ["... -- ___ !?", "===>", "===> ", "\u{1f600}", "\u{1f600}\u{1f600}", "\u{2211} =", "$"];
    for bag in [false, true] {
        let words = sketcher(Params::builder().bag(bag));
        let originals = texts.map(|text| words.original_text(text).unwrap());
        for (one, a) in originals.iter().zip(texts) {
            let spaced = format!("\t{a} \n");
            let (again, variety) = words.text_with_variety(&spaced).unwrap();
            assert_eq!((variety.shingles, variety.distinct), (1, 1));
            assert_eq!((again, one.signature().shingle_count()), (one.signature().clone(), 1));
            for (other, b) in originals.iter().zip(texts) {
                let equal = a.trim() == b.trim();
                let similarity = one.similarity(other).to_bits();
                assert_eq!(similarity, f64::from(u8::from(equal)).to_bits(), "{a:?} {b:?}");
                assert_eq!(one.signature() == other.signature(), equal, "{a:?} {b:?}");
            }
        }
    }
    // Letters are folded, too, if there is a word without one.
    let stop = sketcher(Params::builder().stop_words(["the", "of"]));
    assert_eq!(stop.text("The OF!").unwrap(), stop.text("the  of!").unwrap());
    assert_ne!(stop.text("The of").unwrap(), stop.text("the").unwrap());
    // A text with a word is compared by its words only.
    let words = sketcher(Params::builder());
    assert_eq!(words.text("===> a").unwrap(), words.text("a \u{1f600}").unwrap());
}

#[test]
fn a_large_text_without_words_is_one_shingle() {
    let words = sketcher(Params::builder());
    let large = |n: usize| words.original_text(&"=> \u{1f600} ".repeat(n)).unwrap();
    let (one, other) = (large(40_000), large(40_001));
    assert_eq!((one.signature().shingle_count(), one.similarity(&one)), (1, 1.0));
    assert_eq!(one.overlap(&other).shared, 0);
    let blank = words.text(&" \n".repeat(200_000)).unwrap_err();
    assert_eq!(blank.kind(), ErrorKind::Empty);
}

#[test]
fn lines_are_compared_without_their_blanks_and_ends() {
    let lines = sketcher(Params::builder().shingles(Shingles::Lines(2)));
    let plain = lines.text("one two\nthree\nfour").unwrap();
    assert_eq!(plain.shingle_count(), 2);
    assert_eq!(lines.text("\n  One\ttwo \r\n\r\n \nthree\n\nfour\r\n").unwrap(), plain);
    assert_ne!(lines.text("one two three\nfour").unwrap(), plain);
    let kept = sketcher(Params::builder().shingles(Shingles::Lines(2)).keep_space(true));
    assert_ne!(kept.text("one two \nthree").unwrap(), kept.text("one two\nthree").unwrap());
    assert_eq!(kept.text("one\n\ntwo\n").unwrap(), kept.text("one\ntwo").unwrap());
}

#[test]
fn each_normalisation_can_be_left_out() {
    let base = || Params::builder().shingles(Shingles::Chars(3));
    let pairs = [
        ("ABC def", "abc def", base().keep_case(true)),
        ("abc  def ", "abc def", base().keep_space(true)),
        ("caf\u{e9}", "cafe\u{301}", base().no_nfc(true)),
    ];
    for (one, other, kept) in pairs {
        let (all, kept) = (sketcher(base()), sketcher(kept));
        assert_eq!(all.text(one).unwrap(), all.text(other).unwrap(), "{one:?}");
        assert_ne!(kept.text(one).unwrap(), kept.text(other).unwrap(), "{one:?}");
    }
}
