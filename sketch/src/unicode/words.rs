//! The words of a text: segments of the word boundaries of Unicode Standard Annex #29 that hold an
//! alphanumeric character.

use super::{Properties, flag};

/// Word classes: the values of the property `Word_Break`, except that `EXTEND` is also Format, and
/// `NEWLINE` is also CR and LF, which makes no difference to words.
pub(crate) mod class {
    pub(crate) const OTHER: u8 = 0;
    pub(crate) const LETTER: u8 = 1;
    pub(crate) const HEBREW: u8 = 2;
    pub(crate) const NUMERIC: u8 = 3;
    pub(crate) const KATAKANA: u8 = 4;
    pub(crate) const EXTEND_NUM_LET: u8 = 5;
    pub(crate) const EXTEND: u8 = 6;
    pub(crate) const ZWJ: u8 = 7;
    pub(crate) const MID_LETTER: u8 = 8;
    pub(crate) const MID_NUM: u8 = 9;
    pub(crate) const MID_NUM_LET: u8 = 10;
    pub(crate) const SINGLE_QUOTE: u8 = 11;
    pub(crate) const DOUBLE_QUOTE: u8 = 12;
    pub(crate) const REGIONAL: u8 = 13;
    pub(crate) const SPACE: u8 = 14;
    pub(crate) const NEWLINE: u8 = 15;
}

/// The words of a text, each with the position of its first byte.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let (bytes, is_word) = segment(rest);
            let start = at;
            at += bytes;
            if is_word && let Some(word) = rest.get(..bytes) {
                return Some((start, word));
            }
        }
        None
    })
}

/// What a segment may continue with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentState {
    Start,
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    ExtendNumLet,
    /// One half of a flag.
    Regional,
    Space,
    /// Nothing but what extends it.
    Closed,
    /// A Hebrew letter and a single quote, which belongs to it.
    HebrewQuote,
    /// A letter or number, and what joins it to another one of the same kind only.
    LetterMid,
    HebrewMid,
    NumericMid,
}

/// The length of the first segment in bytes, and whether it is a word. The text is not empty.
fn segment(text: &str) -> (usize, bool) {
    let (mut state, mut is_word, mut at) = of_ascii(text);
    let (mut before, mut extended) = (class::OTHER, false);
    // Where the segment ends if `state` requires a character that does not follow.
    let mut mid = None;
    for c in text.get(at..).unwrap_or_default().chars() {
        let properties = Properties::of(c);
        let class = properties.word_class;
        if state != SegmentState::Start && matches!(class, class::EXTEND | class::ZWJ) {
            extended = true;
        } else if before == class::ZWJ && properties.has(flag::PICTOGRAPHIC) {
            (state, mid) = (SegmentState::Closed, None);
        } else if state == SegmentState::Start && class == class::NEWLINE {
            return (at + c.len_utf8(), false);
        } else {
            let Some(next) = state.with(class, extended) else { break };
            mid = next.is_mid().then_some((at, is_word));
            state = next;
        }
        before = class;
        is_word |= properties.has(flag::ALPHANUMERIC);
        at += c.len_utf8();
    }
    mid.unwrap_or((at, is_word))
}

/// The state after the ASCII letters and digits that a text starts with, whether there are any, and
/// how many.
fn of_ascii(text: &str) -> (SegmentState, bool, usize) {
    let count = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let last = text.as_bytes().get(..count).and_then(<[u8]>::last);
    let state = match last {
        None => SegmentState::Start,
        Some(last) if last.is_ascii_digit() => SegmentState::Numeric,
        Some(_) => SegmentState::Letter,
    };
    (state, count > 0, count)
}

impl SegmentState {
    /// The state with one more character, or `None` if there is a boundary before it. `extended`:
    /// the segment has characters that extend it.
    fn with(self, class: u8, extended: bool) -> Option<Self> {
        use SegmentState::{
            Closed, ExtendNumLet, Hebrew, HebrewMid, HebrewQuote, Katakana, Letter, LetterMid,
            Numeric, NumericMid, Regional, Space, Start,
        };
        let next = match (class, self) {
            (
                class::LETTER,
                Start | Letter | Hebrew | Numeric | ExtendNumLet | LetterMid | HebrewQuote,
            ) => Letter,
            (
                class::HEBREW,
                Start | Letter | Hebrew | Numeric | ExtendNumLet | LetterMid | HebrewQuote
                | HebrewMid,
            ) => Hebrew,
            (class::NUMERIC, Start | Letter | Hebrew | Numeric | ExtendNumLet | NumericMid) => {
                Numeric
            }
            (class::KATAKANA, Start | Katakana | ExtendNumLet) => Katakana,
            (
                class::EXTEND_NUM_LET,
                Start | Letter | Hebrew | Numeric | Katakana | ExtendNumLet,
            ) => ExtendNumLet,
            (class::DOUBLE_QUOTE, Hebrew) => HebrewMid,
            (class::SINGLE_QUOTE, Hebrew) => HebrewQuote,
            (class::SINGLE_QUOTE, Letter)
            | (class::MID_LETTER | class::MID_NUM_LET, Letter | Hebrew) => LetterMid,
            (class::SINGLE_QUOTE | class::MID_NUM | class::MID_NUM_LET, Numeric) => NumericMid,
            (class::REGIONAL, Start) => Regional,
            (class::SPACE, Start) => Space,
            (class::SPACE, Space) if !extended => Space,
            (class::REGIONAL, Regional) | (_, Start) => Closed,
            _ => return None,
        };
        Some(next)
    }

    fn is_mid(self) -> bool {
        matches!(self, Self::LetterMid | Self::HebrewMid | Self::NumericMid)
    }
}
