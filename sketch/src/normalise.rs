//! Normalises text for comparison: letters are folded, or converted to lower case and Unicode form
//! C; runs of white space become single blanks.
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use std::borrow::Cow;

use super::fold::{CASE, FOLD, FoldTable, digits, lookalikes, slow};
use super::unicode;
use super::white_space::tokens;
use crate::{FoldOptions, Normalise, Params};

/// The Unicode versions used. They are recorded with an index and shown to the user, but an index
/// with other versions is not refused: versions differ only in newly assigned characters.
pub fn unicode_versions() -> String {
    let [lower, folding] = [unicode::LOWER_VERSION, unicode::FOLDING_VERSION];
    let [forms, words] = [unicode::FORMS_VERSION, unicode::WORDS_VERSION];
    format!("lower case {lower}, folding {folding}, form C {forms}, words {words}")
}

/// The steps of a normalisation, in order: the options of `fold`, letters, white space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    letters: Normalise,
    space: bool,
}

impl Rules {
    pub(crate) fn new(params: &Params) -> Self {
        Self { letters: params.normalise(), space: !params.keep_space() }
    }

    /// Whether ASCII letters become lower case.
    pub(crate) fn lower(self) -> bool {
        !matches!(self.letters, Normalise::None | Normalise::Nfc)
    }

    /// Whether letters are folded.
    pub(crate) fn folds(self) -> bool {
        matches!(self.letters, Normalise::Fold(_))
    }

    /// Whether an option changes words of ASCII characters, beside their case.
    pub(crate) fn has_options_for_ascii(self) -> bool {
        matches!(self.letters, Normalise::Fold(options) if options.turkish || options.digits)
    }

    /// Whether runs of white space become single blanks.
    pub(crate) fn space(self) -> bool {
        self.space
    }

    /// The tables with which `fold::Pass` does the same as `letters` in one pass. `None` if there
    /// are none for this normalisation.
    pub(crate) fn table(self) -> Option<&'static FoldTable> {
        match self.letters {
            Normalise::Case => Some(&CASE),
            Normalise::Fold(FoldOptions { diacritics: false, .. }) => Some(&FOLD),
            _ => None,
        }
    }

    /// Applies the options of `fold`, the first step. Borrows if nothing changes.
    #[inline(always)]
    pub(crate) fn options(self, text: &str) -> Cow<'_, str> {
        match self.letters {
            Normalise::Fold(options)
                if options.dehyphenate
                    || options.turkish
                    || options.lookalikes
                    || options.digits =>
            {
                options_of(options, text)
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Normalises letters, step by step. Borrows if nothing changes.
    pub(crate) fn letters(self, text: &str) -> Cow<'_, str> {
        let compose = match self.letters {
            Normalise::Fold(options) if !text.is_ascii() => {
                return Cow::Owned(slow::fold(text, options.diacritics));
            }
            Normalise::Nfc | Normalise::Case => true,
            Normalise::Fold(_) | Normalise::None | Normalise::Lower => false,
        };
        let text = if self.lower() { lower(text) } else { Cow::Borrowed(text) };
        if !compose || text.is_ascii() || unicode::is_composed(&text) {
            return text;
        }
        let mut composed = String::with_capacity(text.len());
        unicode::nfc(text.chars(), &mut composed);
        Cow::Owned(composed)
    }

    /// Replaces runs of white space by one blank, and removes them at the ends.
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
    let mut result = Cow::Borrowed(text);
    let mut apply = |is_on: bool, step: fn(&str) -> Cow<'_, str>| {
        if is_on && let Cow::Owned(changed) = step(&result) {
            result = Cow::Owned(changed);
        }
    };
    apply(options.dehyphenate, slow::dehyphenate);
    apply(options.turkish, slow::turkish);
    apply(options.lookalikes, lookalikes::latin);
    apply(options.digits, digits::without_numbers);
    result
}

/// Applies the full lower-case mapping of each character, without context: a capital sigma always
/// becomes the medial one, and there are no language-specific rules.
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
        match unicode::lower(c) {
            Some(lower) => out.push_str(lower),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// `Rules::blanks` for ASCII. Most texts need no change, which a vectorised check detects.
fn ascii_blanks(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    // Combines the results for all bytes instead of stopping at the first match, so that the loop
    // is vectorised.
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
