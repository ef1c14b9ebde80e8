//! Makes edited copies of a text. The kinds of edits are the differences between copies that occur
//! in real collections.

use super::support::random;

/// An edit of a text. A person would call the result a copy of the original, in whole or in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Percentage of characters misread by a scanner.
    Ocr(u64),
    /// Percentage of words replaced by others.
    WordsReplaced(u64),
    /// Percentage of words left out.
    WordsLeftOut(u64),
    /// Every digit replaced: another date, another version.
    Digits,
    /// A header and a footer, together half as long as the text.
    Boilerplate,
    /// The first half.
    Half,
    /// Another text of about the same length appended.
    Joined,
    /// Sentences reordered.
    Moved,
    /// One sentence in ten replaced by one of another text.
    Sentences,
    /// Soft hyphens inserted in long words.
    SoftHyphens,
    /// Words hyphenated at line ends, as in a PDF.
    LineEnds,
    /// Upper case.
    Upper,
    /// Different line breaks and runs of spaces.
    Reflow,
    /// Curly quotes, dashes, an ellipsis, ligatures.
    Typography,
    /// Zero-width and no-break spaces inserted.
    Invisible,
    /// This many letters mistyped.
    Typos(usize),
    /// This many words replaced.
    Words(usize),
    /// Two neighbouring words swapped.
    Swapped,
    /// Punctuation removed.
    NoPunctuation,
    /// A few words added at the start.
    Added,
    /// Percentage of identifiers renamed throughout.
    Renamed(u64),
    /// Indentation halved.
    Indented,
    /// Comments removed.
    NoComments,
    /// Percentage of lines left out.
    LinesLeftOut(u64),
    /// Percentage of lines replaced by those of another text.
    LinesReplaced(u64),
    /// Blocks between empty lines reordered.
    BlocksMoved,
}

/// The kinds of edits, with their names.
pub(crate) const EDITS: [(&str, Edit); 18] = [
    ("OCR noise, 1 % of characters", Edit::Ocr(1)),
    ("OCR noise, 3 %", Edit::Ocr(3)),
    ("OCR noise, 5 %", Edit::Ocr(5)),
    ("words replaced, 5 %", Edit::WordsReplaced(5)),
    ("words replaced, 10 %", Edit::WordsReplaced(10)),
    ("words left out, 5 %", Edit::WordsLeftOut(5)),
    ("digits changed", Edit::Digits),
    ("boilerplate added", Edit::Boilerplate),
    ("cut to half", Edit::Half),
    ("joined with another", Edit::Joined),
    ("sentences moved", Edit::Moved),
    ("sentences replaced, 10 %", Edit::Sentences),
    ("soft hyphens", Edit::SoftHyphens),
    ("hyphens at line ends", Edit::LineEnds),
    ("upper case", Edit::Upper),
    ("reflowed", Edit::Reflow),
    ("typographic characters", Edit::Typography),
    ("invisible characters", Edit::Invisible),
];

/// Edits of short texts, of about a dozen words.
pub(crate) const SHORT: [(&str, Edit); 8] = [
    ("a letter mistyped", Edit::Typos(1)),
    ("two letters mistyped", Edit::Typos(2)),
    ("a word replaced", Edit::Words(1)),
    ("two words replaced", Edit::Words(2)),
    ("two words swapped", Edit::Swapped),
    ("upper case", Edit::Upper),
    ("without punctuation", Edit::NoPunctuation),
    ("three words added", Edit::Added),
];

/// Edits of program text.
pub(crate) const CODE: [(&str, Edit); 8] = [
    ("names changed, 5 %", Edit::Renamed(5)),
    ("names changed, 15 %", Edit::Renamed(15)),
    ("indented by half", Edit::Indented),
    ("without comments", Edit::NoComments),
    ("lines left out, 10 %", Edit::LinesLeftOut(10)),
    ("lines replaced, 10 %", Edit::LinesReplaced(10)),
    ("blocks moved", Edit::BlocksMoved),
    ("boilerplate added", Edit::Boilerplate),
];

/// Characters that scanners confuse.
const MISREAD: [(&str, &str); 12] = [
    ("e", "c"),
    ("c", "e"),
    ("o", "0"),
    ("l", "1"),
    ("i", "l"),
    ("rn", "m"),
    ("m", "rn"),
    ("h", "b"),
    ("a", "o"),
    ("s", "5"),
    ("t", "f"),
    ("u", "ii"),
];

const HEADER: &str = "Skip to main content. Sign in or create an account to save this page. \
    You are reading the archived edition, which may have been superseded since. Home, News, \
    Documents, People, Contact. Share this page by mail, print it, or subscribe to the newsletter \
    that tells you every Friday what is new in your area of interest. ";
const FOOTER: &str = " All rights reserved by the publisher and the authors. No part of this page \
    may be reproduced without written permission except for private use. The views expressed here \
    are those of the authors and not necessarily those of the editors, who accept no liability \
    for errors or omissions. Terms of use, privacy, cookies, accessibility, imprint. ";

fn below(state: &mut u64, bound: usize) -> usize {
    let drawn = random(state) % u64::try_from(bound.max(1)).unwrap_or(1);
    usize::try_from(drawn).unwrap_or(0)
}

fn of_hundred(state: &mut u64, share: u64) -> bool {
    random(state) % 1_000 < share * 10
}

impl Edit {
    /// The edited text. `other` is an unrelated text.
    pub(crate) fn apply(self, text: &str, other: &str, state: &mut u64) -> String {
        match self {
            Self::Ocr(share) => ocr(text, share, state),
            Self::WordsReplaced(share) => {
                let others: Vec<&str> = other.split_whitespace().collect();
                each_word(text, |word| {
                    let replaced = of_hundred(state, share);
                    Some(if replaced { others[below(state, others.len())] } else { word }.into())
                })
            }
            Self::WordsLeftOut(share) => {
                each_word(text, |word| (!of_hundred(state, share)).then(|| word.into()))
            }
            Self::Digits => text.chars().map(|char| digit(char, state)).collect(),
            Self::Boilerplate => boilerplate(text),
            Self::Half => first_words(text, text.split_whitespace().count() / 2),
            Self::Joined => {
                format!("{text}\n\n{}", first_words(other, text.split_whitespace().count()))
            }
            Self::Moved => {
                let mut parts = sentences(text);
                for at in (1..parts.len()).rev() {
                    parts.swap(at, below(state, at + 1));
                }
                parts.concat()
            }
            Self::Sentences => {
                let others = sentences(other);
                let take = |part| {
                    if of_hundred(state, 10) { others[below(state, others.len())] } else { part }
                };
                sentences(text).into_iter().map(take).collect()
            }
            Self::SoftHyphens => each_word(text, |word| Some(cut(word, "\u{ad}"))),
            Self::LineEnds => each_word(text, |word| {
                let cut_here = of_hundred(state, 10);
                Some(if cut_here { cut(word, "-\n") } else { word.into() })
            }),
            Self::Upper => text.to_uppercase(),
            Self::Reflow => reflow(text, state),
            Self::Typography => typography(text),
            Self::Invisible => text.replace(' ', "\u{a0}").replace("in", "i\u{200b}n"),
            _ => self.apply_to_short(text, other, state),
        }
    }

    /// Edits of short texts and of program text.
    fn apply_to_short(self, text: &str, other: &str, state: &mut u64) -> String {
        match self {
            Self::Typos(count) => (0..count).fold(text.to_owned(), |text, _| typo(&text, state)),
            Self::Words(count) => replace_words(text, other, count, state),
            Self::Swapped => {
                let mut words: Vec<&str> = text.split_whitespace().collect();
                let at = below(state, words.len() - 1);
                words.swap(at, at + 1);
                words.join(" ")
            }
            Self::NoPunctuation => text.replace(|char: char| char.is_ascii_punctuation(), " "),
            Self::Added => format!("{} {text}", first_words(other, 3)),
            Self::Renamed(share) => renamed(text, share, state),
            Self::Indented => each_line(text, |line| {
                let indent = line.len() - line.trim_start().len();
                Some(line.split_at(indent / 2).1.to_owned())
            }),
            Self::NoComments => each_line(text, |line| {
                let is_comment = line.trim_start().starts_with("//");
                (!is_comment).then(|| line.split(" // ").next().unwrap_or_default().to_owned())
            }),
            Self::LinesLeftOut(share) => {
                each_line(text, |line| (!of_hundred(state, share)).then(|| line.to_owned()))
            }
            Self::LinesReplaced(share) => {
                let others: Vec<&str> = other.lines().collect();
                each_line(text, |line| {
                    let replaced = of_hundred(state, share);
                    Some(if replaced { others[below(state, others.len())] } else { line }.into())
                })
            }
            Self::BlocksMoved => {
                let mut blocks: Vec<&str> = text.split("\n\n").collect();
                for at in (1..blocks.len()).rev() {
                    blocks.swap(at, below(state, at + 1));
                }
                blocks.join("\n\n")
            }
            _ => text.to_owned(),
        }
    }
}

fn each_word(text: &str, mut change: impl FnMut(&str) -> Option<String>) -> String {
    let words: Vec<String> = text.split_whitespace().filter_map(&mut change).collect();
    words.join(" ")
}

fn each_line(text: &str, mut change: impl FnMut(&str) -> Option<String>) -> String {
    let lines: Vec<String> = text.lines().filter_map(&mut change).collect();
    lines.join("\n")
}

/// A letter replaced, left out or doubled.
fn typo(text: &str, state: &mut u64) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let letters: Vec<usize> = (0..chars.len()).filter(|at| chars[*at].is_alphabetic()).collect();
    let at = letters[below(state, letters.len())];
    match below(state, 3) {
        0 => chars[at] = char::from(b'a' + u8::try_from(below(state, 26)).unwrap_or(0)),
        1 => chars.insert(at, chars[at]),
        _ => drop(chars.remove(at)),
    }
    chars.into_iter().collect()
}

fn replace_words(text: &str, other: &str, count: usize, state: &mut u64) -> String {
    let others: Vec<&str> = other.split_whitespace().collect();
    let mut words: Vec<&str> = text.split_whitespace().collect();
    for _ in 0..count {
        let (at, from) = (below(state, words.len()), below(state, others.len()));
        words[at] = others[from];
    }
    words.join(" ")
}

/// Renames identifiers: each of them either everywhere or nowhere.
fn renamed(text: &str, share: u64, state: &mut u64) -> String {
    let salt = random(state);
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(|char| !is_name(char)) {
        let (name, rest) = part.split_at(part.find(|char| !is_name(char)).unwrap_or(part.len()));
        let hash = name
            .bytes()
            .fold(salt, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let is_renamed = name.len() > 3 && (hash >> 17) % 100 < share;
        out.push_str(if is_renamed { "renamed_" } else { "" });
        out.push_str(name);
        out.push_str(rest);
    }
    out
}

fn ocr(text: &str, share: u64, state: &mut u64) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let mut length = char.len_utf8();
        if !char.is_whitespace() && of_hundred(state, share) {
            let misread = MISREAD.iter().find(|(from, _)| rest.starts_with(from));
            match misread {
                Some((from, to)) => {
                    length = from.len();
                    out.push_str(to);
                }
                // A character that `MISREAD` does not list is lost, or gets a speck beside it.
                None if below(state, 2) == 0 => {}
                None => out.extend([char, '.']),
            }
        } else {
            out.push(char);
        }
        rest = &rest[length..];
    }
    out
}

fn digit(char: char, state: &mut u64) -> char {
    match char.to_digit(10) {
        Some(digit) if char.is_ascii() => {
            let moved = (u64::from(digit) + 1 + random(state) % 9) % 10;
            u32::try_from(moved).ok().and_then(|moved| char::from_digit(moved, 10)).unwrap_or(char)
        }
        _ => char,
    }
}

fn boilerplate(text: &str) -> String {
    let words = text.split_whitespace().count() / 4;
    let long = |part: &str| {
        let all: Vec<&str> = part.split_whitespace().cycle().take(words).collect();
        all.join(" ")
    };
    format!("{}\n{text}\n{}", long(HEADER), long(FOOTER))
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

/// Sentences with their final punctuation. A text without such punctuation is divided into lines,
/// or into runs of words.
fn sentences(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split_inclusive(". ").collect();
    if parts.len() >= 4 { parts } else { text.split_inclusive(['\n', ',']).collect() }
}

/// A word of eight or more letters with `with` inserted in its middle.
fn cut(word: &str, with: &str) -> String {
    let is_long = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_long {
        return word.into();
    }
    let (begin, end) = word.split_at(word.len() / 2);
    format!("{begin}{with}{end}")
}

fn reflow(text: &str, state: &mut u64) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        out.push_str(word);
        out.push_str(match random(state) % 9 {
            0 => "\r\n",
            1 => "  ",
            2 => "\t",
            _ => " ",
        });
    }
    out
}

fn typography(text: &str) -> String {
    let mut out = text.replace("...", "\u{2026}").replace("--", "\u{2014}");
    for (from, to) in [("ffi", "\u{fb03}"), ("fi", "\u{fb01}"), ("fl", "\u{fb02}")] {
        out = out.replace(from, to);
    }
    out = out.replace('\'', "\u{2019}").replace(" \"", " \u{201c}").replace('"', "\u{201d}");
    out
}
