//! Normalisation `fold` and its options, step by step as defined.
//!
//! The definition is section 1 of `docs/reference/SIGNATURES.md`.

use std::borrow::Cow;

use super::table::{FOLD, class};
use crate::unicode::{self, combining_class, nfc, ordered};
use crate::white_space::is_white_space;

/// Steps 1 to 4: decomposes the text, folds each character by itself, composes the result.
pub(crate) fn fold(text: &str, diacritics: bool) -> String {
    let mut folded = String::with_capacity(text.len());
    ordered(text.chars(), |c, _| fold_char(c, &mut folded));
    if diacritics {
        let mut kept = String::with_capacity(folded.len());
        ordered(folded.chars(), |c, _| kept.extend(Some(c).filter(|c| !is_diacritic(*c))));
        folded = kept;
    }
    let mut composed = String::with_capacity(folded.len());
    nfc(folded.chars(), &mut composed);
    composed
}

/// Folds a character, or the parts of one that decomposes.
pub(crate) fn fold_char(c: char, out: &mut String) {
    if ('\u{e0000}'..='\u{e0fff}').contains(&c) {
        // Default ignorable: dropped.
        return;
    }
    let record = FOLD.get(c.into());
    if let Some(text) = record.text() {
        out.push_str(&text);
    } else if record.is_moved() {
        out.extend(char::from_u32(u32::from(c).wrapping_add(record.value())));
    } else if let Some(pair) = record.pair() {
        out.extend(pair.into_iter().filter_map(char::from_u32));
    } else if let Some(text) = unicode::folded(c) {
        out.push_str(text);
    } else if let Some(parts) = unicode::decomposed(c) {
        parts.chars().for_each(|part| fold_char(part, out));
    } else {
        out.push(c);
    }
}

/// The marks removed by the option `diacritics`.
fn is_diacritic(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{487}'
            | '\u{591}'..='\u{5bd}'
            | '\u{5bf}'
            | '\u{5c1}'..='\u{5c2}'
            | '\u{5c4}'..='\u{5c5}'
            | '\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{670}'
            | '\u{6d6}'..='\u{6dc}'
            | '\u{6df}'..='\u{6e4}'
            | '\u{6e7}'..='\u{6e8}'
            | '\u{6ea}'..='\u{6ed}'
            | '\u{898}'..='\u{89f}'
            | '\u{8ca}'..='\u{8e1}'
            | '\u{8e3}'..='\u{8ff}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

/// The option `dehyphenate`: between two letters, removes a hyphen followed by blanks, a line end
/// and blanks.
pub(crate) fn dehyphenate(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (hyphen, c) in text.match_indices(['-', '\u{ad}', '\u{2010}']) {
        let after = &text[hyphen + c.len()..];
        let rest = after.trim_start_matches(is_white_space);
        let white = &after[..after.len() - rest.len()];
        let joined = white.contains(is_line_end)
            && text[done..hyphen].chars().next_back().is_some_and(is_letter)
            && rest.chars().next().is_some_and(is_letter);
        if joined {
            out.push_str(&text[done..hyphen]);
            done = text.len() - rest.len();
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether folding turns a character into letters and marks only.
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    let mut folded = String::new();
    fold_char(c, &mut folded);
    let is_letter = |c: char| match FOLD.get(c.into()).class() {
        _ if c.is_ascii() => c.is_ascii_alphabetic(),
        class::LETTER | class::HEBREW | class::KATAKANA | class::ALONE => true,
        other => matches!(other, class::EXTEND | class::EXTEND_ALPHABETIC),
    };
    !folded.is_empty() && folded.chars().all(is_letter)
}

/// The option `turkish`: dotless capital I becomes dotless small i, and dotted capital I becomes
/// dotted small i.
pub(crate) fn turkish(text: &str) -> Cow<'_, str> {
    if !text.contains(['I', '\u{130}']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{130}' => out.push('i'),
            'I' => {
                let mut after = rest.clone();
                match after.next() {
                    Some('\u{307}') => {
                        out.push('i');
                        rest = after;
                    }
                    Some(mark) if combining_class(mark) != 0 => out.push('I'),
                    _ => out.push('\u{131}'),
                }
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}
