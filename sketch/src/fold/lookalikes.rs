//! The option `lookalikes` of normalisation `fold`: Cyrillic and Greek letters within Latin words
//! become the Latin letters that they look like.
//!
//! The definition is section 1.2.2 of `docs/reference/SIGNATURES.md`.

use std::borrow::Cow;

use super::slow::is_letter;
use crate::unicode::combining_class;

/// The letters, each before the one that it becomes.
const LOOK_ALIKES: [(&str, char); 24] = [
    ("\u{391}\u{3b1}\u{410}\u{430}", 'a'),
    ("\u{392}\u{412}", 'b'),
    ("\u{421}\u{441}", 'c'),
    ("\u{501}", 'd'),
    ("\u{395}\u{415}\u{435}", 'e'),
    ("\u{50c}", 'g'),
    ("\u{397}\u{41d}\u{4bb}", 'h'),
    ("\u{399}\u{3b9}\u{1fbe}\u{406}\u{456}", 'i'),
    ("\u{37f}\u{3f3}\u{408}\u{458}", 'j'),
    ("\u{39a}\u{41a}", 'k'),
    ("\u{4c0}", 'l'),
    ("\u{39c}\u{41c}", 'm'),
    ("\u{39d}", 'n'),
    ("\u{39f}\u{3bf}\u{41e}\u{43e}", 'o'),
    ("\u{3a1}\u{3c1}\u{420}\u{440}", 'p'),
    ("\u{51a}\u{51b}", 'q'),
    ("\u{405}\u{455}", 's'),
    ("\u{3a4}\u{422}", 't'),
    ("\u{3c5}", 'u'),
    ("\u{3bd}\u{474}\u{475}", 'v'),
    ("\u{461}\u{51c}\u{51d}", 'w'),
    ("\u{3a7}\u{425}\u{445}", 'x'),
    ("\u{3a5}\u{423}\u{443}\u{4ae}\u{4af}", 'y'),
    ("\u{396}", 'z'),
];
/// The Kelvin sign is canonically equivalent to K.
const KELVIN: char = '\u{212a}';

/// Replaces the look-alikes in Latin words. Borrows if there is none.
pub(crate) fn latin(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut changed) = (text, false);
    while !rest.is_empty() {
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_latin = letters(word, after)
            .any(|(c, is_unmarked)| is_unmarked && (c.is_ascii_alphabetic() || c == KELVIN));
        for (c, is_unmarked) in letters(word, after) {
            let like = if is_latin && is_unmarked { look_alike(c) } else { None };
            changed |= like.is_some();
            out.push(like.unwrap_or(c));
        }
        let mut others = after.chars();
        out.extend(others.next());
        rest = others.as_str();
    }
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// The characters of a word, and whether no mark stands directly behind each. `after` is the text
/// after the word.
fn letters<'t>(word: &'t str, after: &'t str) -> impl Iterator<Item = (char, bool)> + 't {
    let next = word.chars().skip(1).chain(after.chars().next());
    let is_unmarked = next.map(|next| combining_class(next) == 0);
    word.chars().zip(is_unmarked.chain([true]))
}

/// The Latin letter that a letter of another script looks like.
fn look_alike(c: char) -> Option<char> {
    let found = LOOK_ALIKES.iter().find(|(letters, _)| !c.is_ascii() && letters.contains(c));
    found.map(|(_, like)| *like)
}
