//! The option `digits` of normalisation `fold`: every number becomes `0`.
//!
//! The definition is section 1.2 of `docs/reference/SIGNATURES.md`.

use std::borrow::Cow;
use std::ops::Range;

use super::slow::{fold_char, is_letter};
use super::table::{FOLD, class};

/// What a character is for numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Digit,
    /// An ASCII letter from A to F, in either case.
    Hex,
    /// Another ASCII letter.
    Letter,
    Other,
}

/// Replaces each number by `0`. Borrows if there is none.
pub(crate) fn without_numbers(text: &str) -> Cow<'_, str> {
    let mut folded = String::new();
    let mut out = String::new();
    // The text before `done` is written; a number ends there, unless it is 0.
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        let (run, has_digit) = run_from(text, at, &mut folded);
        if has_digit {
            for part in parts(text, run.clone(), &mut folded) {
                let before = text.get(done..part.start).unwrap_or_default();
                if done == 0 || !is_separator(before, &mut folded) {
                    out.push_str(before);
                    out.push('0');
                }
                done = part.end;
            }
        }
        at = run.end;
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// The longest sequence of digits and ASCII letters from a position on, and whether it has a digit.
fn run_from(text: &str, start: usize, folded: &mut String) -> (Range<usize>, bool) {
    let (mut end, mut has_digit) = (start, false);
    for c in text.get(start..).unwrap_or_default().chars() {
        match kind(c, folded) {
            Kind::Other => break,
            kind => has_digit |= kind == Kind::Digit,
        }
        end += c.len_utf8();
    }
    (start..end, has_digit)
}

/// The parts of numbers in a run: the run itself if it is hexadecimal, otherwise its longest
/// sequences of digits. With a letter or mark beside it, a run is part of a word: the composed and
/// the decomposed form of a letter must give the same result.
fn parts(text: &str, run: Range<usize>, folded: &mut String) -> Vec<Range<usize>> {
    let all = text.get(run.clone()).unwrap_or_default();
    let digits = all.strip_prefix("0x").or_else(|| all.strip_prefix("0X")).unwrap_or(all);
    let before = text.get(..run.start).and_then(|text| text.chars().next_back());
    let after = text.get(run.end..).and_then(|text| text.chars().next());
    let in_word = before.is_some_and(is_letter) || after.is_some_and(is_letter);
    if !in_word && !digits.is_empty() && digits.chars().all(|c| kind(c, folded) <= Kind::Hex) {
        return vec![run];
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (at, c) in all.char_indices() {
        if kind(c, folded) != Kind::Digit {
            continue;
        }
        let (start, end) = (run.start + at, run.start + at + c.len_utf8());
        match parts.last_mut() {
            Some(part) if part.end == start => part.end = end,
            _ => parts.push(start..end),
        }
    }
    parts
}

fn kind(c: char, folded: &mut String) -> Kind {
    match c {
        '0'..='9' => Kind::Digit,
        'a'..='f' | 'A'..='F' => Kind::Hex,
        'g'..='z' | 'G'..='Z' => Kind::Letter,
        _ if c.is_ascii() => Kind::Other,
        _ if is_digit(fold_one(c, folded)) => Kind::Digit,
        _ => Kind::Other,
    }
}

/// Whether the folded form of a character is a digit, or several with separators between them, as
/// that of a fraction.
fn is_digit(folded: &str) -> bool {
    let digit = |c: char| match c {
        _ if c.is_ascii() => c.is_ascii_digit(),
        DECIMAL_SEPARATOR => false,
        _ => FOLD.get(c.into()).class() == class::NUMBER,
    };
    let ends = [folded.chars().next(), folded.chars().next_back()];
    ends.into_iter().all(|end| end.is_some_and(digit))
        && folded.chars().all(|c| digit(c) || separates(c))
}

/// The Arabic decimal and thousands separators.
const DECIMAL_SEPARATOR: char = '\u{66b}';
const THOUSANDS_SEPARATOR: char = '\u{66c}';

/// Whether a text is one separator.
fn is_separator(text: &str, folded: &mut String) -> bool {
    let mut chars = text.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return false };
    let mut folded = fold_one(c, folded).chars();
    folded.next().is_some_and(separates) && folded.next().is_none()
}

/// Whether a folded character between two parts joins them into one number.
fn separates(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | '/' | '-' | '\'' | '_' | DECIMAL_SEPARATOR | THOUSANDS_SEPARATOR)
}

/// The folded form of a character by itself.
fn fold_one(c: char, folded: &mut String) -> &str {
    folded.clear();
    fold_char(c, folded);
    folded
}
