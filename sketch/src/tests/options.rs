//! The slow definition of the options of normalisation `fold`.

use unicode_normalization::UnicodeNormalization as _;

use super::definition::{Class, class, fold, is_white};

/// The options of `fold`, as steps before and after it.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is on or off")]
pub(crate) struct OptionsCase {
    pub(crate) diacritics: bool,
    pub(crate) dehyphenate: bool,
    pub(crate) turkish: bool,
    pub(crate) digits: bool,
    pub(crate) lookalikes: bool,
}

/// Normalisation `fold` with options, before the handling of white space.
pub(crate) fn fold_with(text: &str, options: OptionsCase) -> String {
    let mut text = text.to_owned();
    if options.dehyphenate {
        text = dehyphenated(&text);
    }
    if options.turkish {
        text = dotted(&text);
    }
    if options.lookalikes {
        text = without_look_alikes(&text);
    }
    if options.digits {
        text = without_numbers(&text);
    }
    let folded = fold(&text);
    if options.diacritics {
        return folded.nfd().filter(|c| !is_diacritic(*c)).nfc().collect();
    }
    folded
}

fn dehyphenated(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let white = chars[at + 1..].iter().take_while(|c| is_white(**c)).count();
        let next = at + 1 + white;
        let line_end = |c: &char| "\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029}".contains(*c);
        let joined = "-\u{ad}\u{2010}".contains(chars[at])
            && at > 0
            && is_letter(chars[at - 1])
            && chars[at + 1..next].iter().any(line_end)
            && chars.get(next).is_some_and(|c| is_letter(*c));
        if joined {
            at = next;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

fn is_letter(c: char) -> bool {
    use Class::{Alone, Extend, ExtendAlphabetic, Hebrew, Katakana, Letter};
    let letters = [Letter, Hebrew, Katakana, Alone, Extend, ExtendAlphabetic];
    let folded: Vec<Class> = fold(&c.to_string()).chars().map(class).collect();
    !folded.is_empty() && folded.iter().all(|class| letters.contains(class))
}

fn dotted(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        let mark = unicode_normalization::char::canonical_combining_class(next) != 0;
        match chars[at] {
            '\u{130}' => out.push('i'),
            'I' if next == '\u{307}' => {
                out.push('i');
                at += 1;
            }
            'I' if !mark => out.push('\u{131}'),
            c => out.push(c),
        }
        at += 1;
    }
    out
}

fn without_look_alikes(text: &str) -> String {
    let from = "\
        \u{391}\u{3b1}\u{410}\u{430}\u{392}\u{412}\u{421}\u{441}\u{501}\u{395}\u{415}\u{435}\
        \u{50c}\u{397}\u{41d}\u{4bb}\u{399}\u{3b9}\u{1fbe}\u{406}\u{456}\u{37f}\u{3f3}\u{408}\
        \u{458}\u{39a}\u{41a}\u{4c0}\u{39c}\u{41c}\u{39d}\u{39f}\u{3bf}\u{41e}\u{43e}\u{3a1}\
        \u{3c1}\u{420}\u{440}\u{51a}\u{51b}\u{405}\u{455}\u{3a4}\u{422}\u{3c5}\u{3bd}\u{474}\
        \u{475}\u{461}\u{51c}\u{51d}\u{3a7}\u{425}\u{445}\u{3a5}\u{423}\u{443}\u{4ae}\u{4af}\
        \u{396}";
    let to = "aaaabbccdeeeghhhiiiiijjjjkklmmnoooopppp\
              qqssttuvvvwwwxxxyyyyyz";
    assert_eq!(from.chars().count(), to.chars().count());
    let chars: Vec<char> = text.chars().collect();
    let is_marked = |at: usize| {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        unicode_normalization::char::canonical_combining_class(next) != 0
    };
    let is_ascii =
        |at: usize| (chars[at].is_ascii_alphabetic() || chars[at] == '\u{212a}') && !is_marked(at);
    let is_latin = |at: usize| {
        let before = (0..at).rev().take_while(|at| is_letter(chars[*at]));
        let mut word = before.chain((at..chars.len()).take_while(|at| is_letter(chars[*at])));
        word.any(is_ascii)
    };
    let read = |(at, c): (usize, &char)| {
        let found = from.chars().position(|from| from == *c).filter(|_| !is_marked(at));
        found.filter(|_| is_latin(at)).and_then(|place| to.chars().nth(place)).unwrap_or(*c)
    };
    chars.iter().enumerate().map(read).collect()
}

fn without_numbers(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| is_digit(chars[at]);
    let in_run = |at: usize| chars[at].is_ascii_alphabetic() || is_digit(at);
    let mut is_number = vec![false; chars.len()];
    let mut start = 0;
    while start < chars.len() {
        let end = (start..chars.len()).find(|at| !in_run(*at)).unwrap_or(chars.len());
        let prefix = matches!(chars[start..end], ['0', 'x' | 'X', _, ..]);
        let first = if prefix { start + 2 } else { start };
        let mut beside = [start.wrapping_sub(1), end].into_iter().filter_map(|at| chars.get(at));
        let hexadecimal = (first..end).all(|at| chars[at].is_ascii_hexdigit() || is_digit(at))
            && (start..end).any(is_digit)
            && !beside.any(|c| is_letter(*c));
        for (at, is_number) in is_number.iter_mut().enumerate().take(end).skip(start) {
            *is_number = hexadecimal || is_digit(at);
        }
        start = end + 1;
    }
    let parts = is_number.clone();
    for at in 1..chars.len().saturating_sub(1) {
        if parts[at - 1] && parts[at + 1] && separates(&fold(&chars[at].to_string())) {
            is_number[at] = true;
        }
    }
    let mut out = String::new();
    for (at, c) in chars.iter().enumerate() {
        if !is_number[at] {
            out.push(*c);
        } else if at == 0 || !is_number[at - 1] {
            out.push('0');
        }
    }
    out
}

fn is_digit(c: char) -> bool {
    let folded: Vec<char> = fold(&c.to_string()).chars().collect();
    let numeric = |c: &char| class(*c) == Class::Number && *c != '\u{66b}';
    let [first, .., last] = folded[..] else { return folded.iter().any(numeric) };
    numeric(&first)
        && numeric(&last)
        && folded.iter().all(|c| numeric(c) || separates(&c.to_string()))
}

fn separates(folded: &str) -> bool {
    [".", ",", ":", "/", "-", "'", "_", "\u{66b}", "\u{66c}"].contains(&folded)
}

/// The marks that `diacritics` removes, as listed in `docs/reference/SIGNATURES.md`.
fn is_diacritic(c: char) -> bool {
    let ranges = [
        0x300..=0x36f,
        0x483..=0x487,
        0x591..=0x5bd,
        0x5bf..=0x5bf,
        0x5c1..=0x5c2,
        0x5c4..=0x5c5,
        0x5c7..=0x5c7,
        0x610..=0x61a,
        0x64b..=0x65f,
        0x670..=0x670,
        0x6d6..=0x6dc,
        0x6df..=0x6e4,
        0x6e7..=0x6e8,
        0x6ea..=0x6ed,
        0x898..=0x89f,
        0x8ca..=0x8e1,
        0x8e3..=0x8ff,
        0x1ab0..=0x1aff,
        0x1dc0..=0x1dff,
        0x20d0..=0x20ff,
        0xfe20..=0xfe2f,
    ];
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}
