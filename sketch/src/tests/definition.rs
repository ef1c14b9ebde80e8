//! Normalisation and word classes by the crates of `Cargo.lock`, step by step. This is the slow
//! definition that the fast pass and its tables must equal. `tools/tables` includes this file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::iter::once;
use std::sync::LazyLock;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Whether the crates have the Unicode versions of our tables. Otherwise they cannot be compared:
/// newer ones know more characters. Says so on stderr.
#[cfg_attr(not(test), expect(dead_code, reason = "tests ask"))]
pub(crate) fn comparable() -> bool {
    static COMPARABLE: LazyLock<bool> = LazyLock::new(|| {
        let (lower, folding) = (unicode_case_mapping::UNICODE_VERSION, caseless::UNICODE_VERSION);
        let (forms, words) =
            (unicode_normalization::UNICODE_VERSION, unicode_segmentation::UNICODE_VERSION);
        let found = format!("{lower:?} {folding:?} {forms:?} {words:?}");
        let same = found == "(16, 0, 0) (16, 0, 0) (18, 0, 0) (17, 0, 0)";
        if !same {
            eprintln!("SKIPPED: the crates of Cargo.lock are of other Unicode versions: {found}");
        }
        same
    });
    *COMPARABLE
}

/// The typographic equivalents of `docs/reference/SIGNATURES.md`, section 1.
pub(crate) const EQUIVALENTS: &[(&str, &str)] = &[
    (
        "\u{b4}\u{2b9}\u{2bb}\u{2bc}\u{2bd}\u{5f3}\u{2018}\u{2019}\u{201a}\u{201b}\u{2032}\u{2035}\
         \u{2039}\u{203a}\u{275b}\u{275c}\u{275f}\u{a78c}",
        "'",
    ),
    (
        "\u{ab}\u{bb}\u{2ba}\u{2ee}\u{5f4}\u{201c}\u{201d}\u{201e}\u{201f}\u{2033}\u{2036}\u{275d}\
         \u{275e}\u{2760}\u{2e42}\u{301d}\u{301e}\u{301f}",
        "\"",
    ),
    (
        "\u{2d7}\u{58a}\u{5be}\u{1806}\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2043}\
         \u{2212}\u{2e17}\u{2e1a}\u{2e3a}\u{2e3b}\u{2e40}\u{10ead}",
        "-",
    ),
    ("\u{22ef}", "..."),
    ("\u{2044}\u{2215}", "/"),
    ("\u{2dc}\u{223c}\u{301c}", "~"),
    ("\u{640}", ""),
];

/// The property `Default_Ignorable_Code_Point`, as listed in `docs/reference/SIGNATURES.md`.
pub(crate) fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Unicode's property `NFKC_Casefold` of one character: repeats its three steps until nothing
/// changes.
pub(crate) fn nfkc_casefold(c: char) -> String {
    let mut text = c.to_string();
    loop {
        let composed: String = text.nfkc().collect();
        let folded: String = composed.chars().default_case_fold().collect();
        let kept: String = folded.chars().filter(|c| !is_ignorable(*c)).collect();
        let next: String = kept.nfkc().collect();
        if next == text {
            return text;
        }
        text = next;
    }
}

fn equivalent(c: char) -> String {
    let found = EQUIVALENTS.iter().find(|(from, _)| from.contains(c));
    found.map_or_else(|| c.to_string(), |(_, to)| (*to).to_owned())
}

/// Step 4 of `fold` on one character.
fn folded_char(c: char) -> String {
    let first = equivalent(c);
    let folded: String = first.chars().map(nfkc_casefold).collect();
    folded.chars().map(equivalent).collect()
}

thread_local! {
    /// Cached results of `folded_char`.
    static FOLDED: RefCell<HashMap<char, String>> = RefCell::default();
}

/// Normalisation `fold` without its options, before the handling of white space.
pub(crate) fn fold(text: &str) -> String {
    FOLDED.with_borrow_mut(|known| {
        let mut folded = String::with_capacity(text.len());
        text.nfd().for_each(|c| {
            folded.push_str(known.entry(c).or_insert_with(|| folded_char(c)));
        });
        folded.nfc().collect()
    })
}

/// Normalisation `case`, before the handling of white space.
pub(crate) fn case(text: &str) -> String {
    lower(text).nfc().collect()
}

/// Converts each character to lower case.
pub(crate) fn lower(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(|c| {
        // If `first` is zero, the character maps to itself; if `second` is zero, there is no second
        // one.
        let [first, second] = unicode_case_mapping::to_lowercase(c);
        let of = |number| Some(number).filter(|n| *n != 0).and_then(char::from_u32);
        [Some(of(first).unwrap_or(c)), of(second)].into_iter().flatten()
    })
}

/// The class of a character under UAX #29, as far as the fast pass distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Letter,
    Hebrew,
    Number,
    Katakana,
    /// Always a word of its own.
    Alone,
    /// Extends the preceding unit, and makes it part of a word.
    ExtendAlphabetic,
    /// Extends the preceding unit.
    Extend,
    /// Joins two letters.
    MidLetter,
    /// Joins two numbers.
    MidNumber,
    /// Joins two letters or two numbers.
    MidBoth,
    /// White space.
    White,
    /// Not part of a word.
    Break,
    /// Anything else.
    Other,
}

/// The class of a character, derived from the boundaries that `unicode-segmentation` sets next to
/// it.
pub(crate) fn class(c: char) -> Class {
    let one = |before: &str, after: &str| {
        let text: String = before.chars().chain(once(c)).chain(after.chars()).collect();
        text.split_word_bounds().count() == 1
    };
    let alphanumeric = c.to_string().unicode_words().next().is_some();
    let pictographic = one("!\u{200d}", "");
    if is_white(c) {
        return Class::White;
    }
    if c == '\u{200d}' {
        return Class::Other;
    }
    if one("!", "") {
        return if alphanumeric { Class::ExtendAlphabetic } else { Class::Extend };
    }
    if one("a", "") && one("", "a") {
        return match (one("\u{30a2}", ""), one("1,", ""), one("", "'")) {
            _ if pictographic || !alphanumeric => Class::Other,
            (true, _, _) => Class::Other,
            (_, true, _) => Class::Number,
            (_, _, true) => Class::Hebrew,
            _ => Class::Letter,
        };
    }
    if one("\u{30a2}", "") && one("", "\u{30a2}") {
        return if alphanumeric && !pictographic { Class::Katakana } else { Class::Other };
    }
    match (one("a", "a"), one("1", "1")) {
        (true, false) => Class::MidLetter,
        (false, true) => Class::MidNumber,
        (true, true) => Class::MidBoth,
        _ if one("\u{5d0}", "\u{5d0}") || one("_", "") => Class::Other,
        _ if alphanumeric && pictographic => Class::Other,
        _ if alphanumeric => Class::Alone,
        _ => Class::Break,
    }
}

pub(crate) fn is_white(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}'
            | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}
