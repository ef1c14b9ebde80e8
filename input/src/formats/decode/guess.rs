//! Guesses the encoding of text that is not UTF-8, and refuses a guess that gives no words.

use std::collections::BTreeMap;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, IBM866, ISO_8859_5, KOI8_R, KOI8_U, MACINTOSH, WINDOWS_1251, X_MAC_CYRILLIC,
};

use super::how::{Decoded, Evidence, How};
use super::replacing::few_replaced;
use crate::raw::Reason;

/// Number of parts that are guessed separately. The detector rules an encoding out by a single
/// invalid byte, so a damaged byte or line would decide about the whole text.
const PARTS: usize = 12;

/// Minimum length of a part.
const PART_BYTES_MIN: usize = 200;

/// This share of the parts with bytes beyond ASCII must have the same encoding.
const AGREED_PERCENT: usize = 60;

/// A line is odd if more than one letter in this many, of those beyond ASCII, is one that words do
/// not have there.
const ODD_LETTER_ONE_IN: usize = 64;

/// With more than one odd line in this many, the encoding is wrong. A few may be lines of another
/// encoding.
const ODD_LINE_ONE_IN: usize = 4;

/// Decodes text in the most likely encoding.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, Reason> {
    let guessed = by_parts(bytes).unwrap_or_else(|| guess(bytes));
    let is_cyrillic = [WINDOWS_1251, KOI8_R, KOI8_U, ISO_8859_5, IBM866].contains(&guessed);
    // The detector never answers with the encodings of old Macintoshes.
    let macintosh = if is_cyrillic { X_MAC_CYRILLIC } else { MACINTOSH };
    let mut last = None;
    for encoding in [guessed, macintosh] {
        match few_replaced(How::new(encoding, Evidence::Guessed), bytes, 0) {
            Ok(decoded) if has_words(&decoded.text) => return Ok(decoded),
            Ok(_) => {}
            Err(reason) => last = last.or(Some(reason)),
        }
    }
    Err(last.unwrap_or_else(|| {
        Reason::Format("text in an unknown encoding: give --encoding NAME".to_owned())
    }))
}

/// The most likely encoding of bytes that are not UTF-8.
pub(super) fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// The most likely encoding of most parts, if they agree.
fn by_parts(bytes: &[u8]) -> Option<&'static Encoding> {
    let length = (bytes.len() / PARTS).max(PART_BYTES_MIN);
    let mut votes: BTreeMap<&str, (usize, &'static Encoding)> = BTreeMap::new();
    let (mut rest, mut all) = (bytes, 0);
    while !rest.is_empty() {
        let from = length.min(rest.len());
        let end = memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |at| from + at + 1);
        let (part, after) = rest.split_at(end);
        rest = after;
        if !part.is_ascii() {
            let encoding = guess(part);
            votes.entry(encoding.name()).or_insert((0, encoding)).0 += 1;
            all += 1;
        }
    }
    let (most, encoding) = votes.into_values().max_by_key(|(parts, _)| *parts)?;
    (most * 100 >= all * AGREED_PERCENT).then_some(encoding)
}

/// Whether the characters beyond ASCII are those of words, in nearly all lines.
fn has_words(text: &str) -> bool {
    let (mut all, mut odd, mut odd_lines) = (0, 0, 0);
    for line in text.split('\n').filter(|line| !line.is_ascii()) {
        let (letters, others) = letters(line);
        all += 1;
        odd += others;
        odd_lines += usize::from(others * ODD_LETTER_ONE_IN > letters);
    }
    odd < 2 || odd_lines * ODD_LINE_ONE_IN <= all
}

/// The number of letters beyond ASCII, and that of characters that words do not have: in a wrong
/// encoding, words of small letters have symbols and capital letters in them.
fn letters(line: &str) -> (usize, usize) {
    let (mut letters, mut others) = (0, 0);
    let mut characters = line.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        if !character.is_ascii() {
            let after = characters.peek().copied().unwrap_or(' ');
            let is_within = before.is_alphabetic() && after.is_alphabetic();
            let is_small = before.is_lowercase() && !after.is_uppercase();
            let is_odd = if character.is_alphabetic() {
                character.is_uppercase() && is_small
            } else {
                character.is_control() || (is_within && !joins_letters(character))
            };
            letters += usize::from(!is_odd && character.is_alphabetic());
            others += usize::from(is_odd);
        }
        before = character;
    }
    (letters, others)
}

/// Whether a character may stand between two letters: apostrophes, hyphens, points, dashes and the
/// punctuation of scripts that put no space behind it.
fn joins_letters(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{ad}' | '\u{b4}' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5f4}'
            | '\u{600}'..='\u{6ff}' | '\u{e00}'..='\u{e7f}' | '\u{2010}'..='\u{2019}' | '\u{2026}'
            | '\u{3000}'..='\u{30ff}' | '\u{fe00}'..='\u{feff}' | '\u{ff00}'..
    )
}
