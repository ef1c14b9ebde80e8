//! Text as it is compared: lower case, Unicode form C, white space as single blanks.
//!
//! Knows characters. Does not know what a unit is. Frozen: see `docs/SIGNATURES.md`.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::Params;

/// What to do to a text, in this order: lower case, form C, white space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    lower: bool,
    compose: bool,
    space: bool,
}

impl Rules {
    pub(crate) fn new(params: &Params) -> Self {
        Self { lower: !params.keep_case(), compose: !params.no_nfc(), space: !params.keep_space() }
    }

    /// Lower case and form C. Borrows where nothing changes.
    pub(crate) fn letters(self, text: &str) -> Cow<'_, str> {
        let text = if self.lower { lower(text) } else { Cow::Borrowed(text) };
        if !self.compose || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            return text;
        }
        Cow::Owned(text.nfc().collect())
    }

    /// White-space runs to one blank, none at the ends.
    pub(crate) fn blanks(self, text: &str) -> Cow<'_, str> {
        if !self.space || is_single_spaced(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for token in tokens(text) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(token);
        }
        Cow::Owned(out)
    }
}

/// The pieces of a text between white space.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_white_space).filter(|token| !token.is_empty())
}

/// Unicode's property White_Space, which has not changed since 2013 and is written out so that
/// it never will.
pub(crate) fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// Each character's full lower-case mapping of its own: a capital sigma becomes the medial one
/// wherever it stands, and no language has rules of its own.
fn lower(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
            continue;
        }
        // Zeros mean that the character is its own mapping, or that there is no second one.
        let mapped = unicode_case_mapping::to_lowercase(c);
        let mut mapped = mapped.iter().filter(|&&c| c != 0).filter_map(|&c| char::from_u32(c));
        out.push(mapped.next().unwrap_or(c));
        out.extend(mapped);
    }
    Cow::Owned(out)
}

/// Whether `blanks` would change nothing. Gives up at the first character outside ASCII.
fn is_single_spaced(text: &str) -> bool {
    let mut blank = true;
    for &byte in text.as_bytes() {
        let next = byte == b' ';
        if !byte.is_ascii() || matches!(byte, b'\t'..=b'\r') || (blank && next) {
            return false;
        }
        blank = next;
    }
    !blank || text.is_empty()
}
