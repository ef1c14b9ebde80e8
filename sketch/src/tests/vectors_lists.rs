//! Known answers of lists of common shingles and of numbers that do not count. As in `vectors`,
//! `docs/reference/SIGNATURES.md` prints them.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_64;

use super::vectors::{block, check, id, input_line, quoted, vector};
use crate::normalise::Rules;
use crate::{Common, Normalise, Params, ParamsBuilder, Scheme, Shingles, Sketcher};

/// XXH3-64 of the printed blocks: see `vectors`.
const PINNED_COMMON: u64 = 0xf83a_c416_8de0_42ed;
const PINNED_LOOKALIKES: u64 = 0x59c5_a28a_73cf_bebd;
const PINNED_DIGITS: u64 = 0x4429_8cc5_3a16_eb3c;

/// A text of common shingles only, at first and last.
pub(super) const NOTICE: (&str, &str) = ("notice", "The quick brown fox jumps!");

fn base() -> ParamsBuilder {
    Params::builder().bands(1, 16).normalise(Normalise::Case)
}

/// The list of the shingles of the notice.
fn common() -> Common {
    let sketcher = Sketcher::new(&base().build().unwrap());
    let notice = sketcher.original_text(NOTICE.1).unwrap();
    let list = Common::from_hashes(notice.shingle_hashes().iter().copied()).unwrap();
    base().common(list).build().unwrap().common().unwrap().clone()
}

fn common_list() -> String {
    format!("{}{}\n", input_line(&NOTICE), common())
}

fn common_ids() -> String {
    id(Params::builder().normalise(Normalise::Case).common(common()))
}

fn common_vectors() -> String {
    let with = || base().common(common());
    let all = [
        (with(), "fox"),
        (with().lane_bits(16), "fox"),
        (with().hashes(400).scheme(Scheme::Textbook), "fox"),
        (with(), "notice"),
        (with().hashes(1024).lane_bits(16), "fox"),
    ];
    let sets = all.map(|(builder, name)| vector(builder, name).replacen(" - ", " common ", 1));
    let bag = vector(with().bag(true), "fox").replacen(" bag ", " common-bag ", 1);
    sets.concat() + &bag
}

#[test]
fn the_document_prints_the_answers_of_common_shingles() {
    check("common", &common_list());
    check("common-ids", &common_ids());
    check("common-vectors", &common_vectors());
}

#[test]
fn frozen_answers_of_common_shingles_stay_the_same() {
    let all = [common_list(), common_ids(), common_vectors()].concat();
    assert_eq!(xxh3_64(all.as_bytes()), PINNED_COMMON, "{:#018x}", xxh3_64(all.as_bytes()));
}

fn folded(normalise: &str, text: &str) -> String {
    let params = Params::builder().normalise(normalise.parse().unwrap()).build().unwrap();
    let rules = Rules::new(&params);
    rules.letters(&rules.options(text)).into_owned()
}

/// The texts of `digits-texts`, in order.
pub(super) fn texts_with_digits() -> Vec<String> {
    texts_of("digits-texts")
}

/// The first text of each line of a block.
fn texts_of(name: &str) -> Vec<String> {
    let lines = block(name).lines().map(|line| {
        let text = serde_json::Deserializer::from_str(line).into_iter::<String>().next();
        text.unwrap().unwrap()
    });
    lines.collect()
}

/// The texts of a block, each with what a normalisation makes of it.
fn folded_texts(name: &str, normalise: &str) -> String {
    let mut lines = String::new();
    for text in texts_of(name) {
        writeln!(lines, "{} {}", quoted(&text), quoted(&folded(normalise, &text))).unwrap();
    }
    lines
}

fn digits_texts() -> String {
    folded_texts("digits-texts", "fold,digits")
}

#[test]
fn the_document_prints_the_answers_without_look_alikes() {
    let found = folded_texts("lookalikes-texts", "fold,lookalikes");
    assert_eq!(xxh3_64(found.as_bytes()), PINNED_LOOKALIKES, "{found}");
    check("lookalikes-texts", &found);
}

fn digits_vectors() -> String {
    let all = [
        (Shingles::Words(3), "fox"),
        (Shingles::Tokens(2), "digits"),
        (Shingles::Chars(3), "digits"),
        (Shingles::Items, "items"),
    ];
    let line = |(shingles, name)| {
        let base = base().shingles(shingles).normalise("fold,digits".parse().unwrap());
        vector(base, name).replacen(" - ", " fold,digits ", 1)
    };
    all.map(line).concat()
}

#[test]
fn the_document_prints_the_answers_without_numbers() {
    assert!(texts_with_digits().len() >= 8);
    check("digits-texts", &digits_texts());
    check("digits-vectors", &digits_vectors());
}

#[test]
fn frozen_answers_without_numbers_stay_the_same() {
    let all = [digits_texts(), digits_vectors()].concat();
    assert_eq!(xxh3_64(all.as_bytes()), PINNED_DIGITS, "{:#018x}", xxh3_64(all.as_bytes()));
}
