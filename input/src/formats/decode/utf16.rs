//! Recognises UTF-16 without a byte order mark in any script, and UTF-16 shifted by a byte.
//!
//! Most scripts other than Latin have few NUL bytes in UTF-16. What all have are spaces, line ends
//! or the full stops of East Asia, and only in one of the two byte orders.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// Number of bytes searched.
const SAMPLE_BYTES: usize = 64 << 10;

/// Minimum number of characters. With fewer, NUL bytes at every other position prove nothing.
const CHARACTERS_MIN: usize = 8;

/// At least one character in this many must be a separator.
const SEPARATOR_ONE_IN: usize = 100;

/// At most one character in this many may be none that texts have.
const BAD_ONE_IN: usize = 50;

/// Length of the parts that are searched for a shift.
const PART_BYTES: usize = 192;

/// Counts of characters in one byte order.
#[derive(Default)]
struct Utf16Counts {
    all: usize,
    /// Spaces, line ends, East Asian commas and full stops.
    separators: usize,
    /// Control characters, lone surrogates, and characters for private use.
    bad: usize,
    /// Characters with one NUL byte.
    latin: usize,
}

impl Utf16Counts {
    fn count(bytes: &[u8], encoding: &'static Encoding) -> Self {
        let unit = |pair: &[u8]| {
            let (high, low) = if encoding == UTF_16BE { (0, 1) } else { (1, 0) };
            u16::from(pair[high]) << 8 | u16::from(pair[low])
        };
        let mut counts = Self::default();
        for character in char::decode_utf16(bytes.chunks_exact(2).map(unit)) {
            counts.all += 1;
            let Ok(character) = character else {
                counts.bad += 1;
                continue;
            };
            counts.latin += usize::from(character < '\u{100}');
            counts.separators += usize::from(is_separator(character));
            counts.bad += usize::from(is_bad(character));
        }
        counts
    }

    fn has_few_bad(&self) -> bool {
        self.bad * BAD_ONE_IN <= self.all
    }

    fn is_text(&self, other: &Self) -> bool {
        let is_separated =
            self.separators * SEPARATOR_ONE_IN >= self.all && self.separators > other.separators;
        let is_latin = self.latin * 5 > self.all * 2;
        self.all >= CHARACTERS_MIN && self.has_few_bad() && (is_separated || is_latin)
    }
}

fn is_separator(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\r' | '\t' | '\u{3000}'..='\u{3002}' | '\u{ff0c}')
}

/// Whether a character is a control character, for private use, or not assigned.
fn is_bad(character: char) -> bool {
    (character.is_control() && !is_separator(character))
        || matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}' | '\u{40000}'..)
}

/// Detects UTF-16 without a byte order mark, and its byte order.
pub(super) fn detect(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let [little, big] = [UTF_16LE, UTF_16BE].map(|encoding| Utf16Counts::count(sample, encoding));
    let (found, other, encoding) = match (little.is_text(&big), big.is_text(&little)) {
        (true, false) => (little, UTF_16BE, UTF_16LE),
        (false, true) => (big, UTF_16LE, UTF_16BE),
        _ => return None,
    };
    // Shifted by one byte, text in one order looks much like text in the other.
    let shifted = Utf16Counts::count(sample.get(1..).unwrap_or_default(), other);
    (found.separators >= shifted.separators).then_some(encoding)
}

/// Finds the part from which on UTF-16 is shifted by one byte, because a byte is missing, or a line
/// of another encoding was inserted.
pub(super) fn shifted_at(bytes: &[u8], encoding: &'static Encoding) -> Option<usize> {
    (0..bytes.len().saturating_sub(PART_BYTES)).step_by(PART_BYTES).find(|at| {
        let found = Utf16Counts::count(&bytes[*at..*at + PART_BYTES], encoding);
        let shifted = Utf16Counts::count(&bytes[*at + 1..=*at + PART_BYTES], encoding);
        let is_odd = !found.has_few_bad() || found.separators == 0;
        is_odd && shifted.has_few_bad() && shifted.separators > found.separators + 1
    })
}
