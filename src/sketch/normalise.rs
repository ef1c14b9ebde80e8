//! Text as it is compared: folded, or in lower case and Unicode form C; white space as single
//! blanks.
//!
//! Knows characters. Does not know what a unit is. Frozen: see `docs/SIGNATURES.md`.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::fold::{CASE, FOLD, Table, slow};
use crate::{FoldOptions, Normalise, Params};

/// The versions of Unicode that texts are read by. Recorded beside an index and shown, never a
/// reason to refuse one: they differ in characters assigned between them only.
pub(crate) fn unicode_versions() -> String {
    let [lower, compose, words] = [
        unicode_case_mapping::UNICODE_VERSION,
        widen(unicode_normalization::UNICODE_VERSION),
        unicode_segmentation::UNICODE_VERSION,
    ]
    .map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
    format!("lower case {lower}, folding {FOLDING}, form C {compose}, words {words}")
}

/// The version of the case folding that `fold.bin` was made with.
const FOLDING: &str = "16.0.0";

fn widen((major, minor, patch): (u8, u8, u8)) -> (u64, u64, u64) {
    (major.into(), minor.into(), patch.into())
}

/// What to do to a text, in this order: options of `fold`, letters, white space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    letters: Normalise,
    space: bool,
}

impl Rules {
    pub(crate) fn new(params: &Params) -> Self {
        Self { letters: params.normalise(), space: !params.keep_space() }
    }

    /// Whether letters of ASCII are made lower case.
    pub(crate) fn lower(self) -> bool {
        !matches!(self.letters, Normalise::None | Normalise::Nfc)
    }

    /// Whether letters are folded.
    pub(crate) fn folds(self) -> bool {
        matches!(self.letters, Normalise::Fold(_))
    }

    /// Whether white space becomes single blanks.
    pub(crate) fn space(self) -> bool {
        self.space
    }

    /// The tables by which `letters` can be done in one pass, if there are any.
    pub(crate) fn table(self) -> Option<&'static Table> {
        match self.letters {
            Normalise::Case => Some(&CASE),
            Normalise::Fold(FoldOptions { diacritics: false, .. }) => Some(&FOLD),
            _ => None,
        }
    }

    /// The options of `fold` that come before all else. Borrows where nothing changes.
    #[inline(always)]
    pub(crate) fn options(self, text: &str) -> Cow<'_, str> {
        match self.letters {
            Normalise::Fold(options) if options.dehyphenate || options.turkish => {
                options_of(options, text)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// What is done to letters, one step after the other. Borrows where nothing changes.
    pub(crate) fn letters(self, text: &str) -> Cow<'_, str> {
        let compose = match self.letters {
            Normalise::Fold(options) if !text.is_ascii() => {
                return Cow::Owned(slow::fold(text, options.diacritics));
            }
            Normalise::Nfc | Normalise::Case => true,
            Normalise::Fold(_) | Normalise::None | Normalise::Lower => false,
        };
        let text = if self.lower() { lower(text) } else { Cow::Borrowed(text) };
        if !compose || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            return text;
        }
        Cow::Owned(text.nfc().collect())
    }

    /// White-space runs to one blank, none at the ends.
    pub(crate) fn blanks(self, text: &str) -> Cow<'_, str> {
        if !self.space {
            return Cow::Borrowed(text);
        }
        if text.is_ascii() {
            return ascii_blanks(text);
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

#[inline(never)]
fn options_of(options: FoldOptions, text: &str) -> Cow<'_, str> {
    let joined = if options.dehyphenate { slow::dehyphenate(text) } else { Cow::Borrowed(text) };
    if options.turkish { Cow::Owned(slow::turkish(&joined).into_owned()) } else { joined }
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

/// `Rules::blanks` of ASCII. Most texts need no change, which whole vectors of bytes can tell.
fn ascii_blanks(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    // Bits are gathered over all bytes: looking for the first would not be done by vectors.
    let control = bytes.iter().fold(0, |any, b| any | u8::from(matches!(b, b'\t'..=b'\r')));
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let double = pairs.fold(0, |any, (a, b)| any | u8::from((a ^ b' ') | (b ^ b' ') == 0));
    if (control | double) == 0 && !ends.contains(&Some(&b' ')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for &byte in bytes {
        let white = matches!(byte, b'\t'..=b'\r' | b' ');
        if !(white && blank) {
            out.push(char::from(if white { b' ' } else { byte }));
        }
        blank = white;
    }
    out.truncate(out.trim_end_matches(' ').len());
    Cow::Owned(out)
}
