//! Signs that may carry meaning and that shingles of words do not see: `C++` and `C#`, `-5` and
//! `5`, `==` and `!=` are the same words.
//!
//! Pure: knows texts only.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// ASCII signs that count wherever they are. Other punctuation differs between copies of one text,
/// or is counted by its neighbours only: see [`is_sign`].
const SIGNS: &str = "+#=<>*%&|^~$@\\{}";
/// Signs outside ASCII: currencies, arrows, mathematics, symbols and pictures.
const RANGES: [std::ops::RangeInclusive<char>; 4] = [
    '\u{20a0}'..='\u{20cf}',
    '\u{2190}'..='\u{23ff}',
    '\u{2500}'..='\u{27bf}',
    '\u{1f000}'..='\u{1faff}',
];

/// The words of a text, and its words together with its signs. Both are hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Signs {
    words: u64,
    all: u64,
    /// Whether the text has a word.
    has_words: bool,
    count: u32,
    /// The words of the text, of which those with a digit are equal.
    without_numbers: u64,
}

impl Signs {
    pub(super) fn from_text(text: &str) -> Self {
        let (mut words, mut all) = (DefaultHasher::new(), DefaultHasher::new());
        let (mut has_words, mut count, mut before) = (false, 0_u32, ' ');
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            if char.is_alphanumeric() || char == '_' {
                // Between two words there is one space, whatever the text has there.
                if !before.is_alphanumeric() && before != '_' {
                    ' '.hash(&mut words);
                    ' '.hash(&mut all);
                }
                for lower in char.to_lowercase() {
                    lower.hash(&mut words);
                    lower.hash(&mut all);
                }
                has_words = true;
            } else if is_sign(before, char, chars.peek().copied()) {
                char.hash(&mut all);
                count = count.saturating_add(1);
            }
            before = char;
        }
        let (words, all) = (words.finish(), all.finish());
        Self { words, all, has_words, count, without_numbers: without_numbers(text) }
    }

    pub(super) fn words(self) -> u64 {
        self.words
    }

    pub(super) fn count(self) -> u32 {
        self.count
    }
}

/// The hash of a text's words, of which neighbouring ones with a digit are one and the same.
fn without_numbers(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut after_number = false;
    for word in text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let is_number = word.chars().any(char::is_numeric);
        match (is_number, after_number) {
            (true, true) => {}
            (true, false) => 0_u8.hash(&mut hash),
            (false, _) => word.to_lowercase().hash(&mut hash),
        }
        after_number = is_number;
    }
    hash.finish()
}

/// Number of texts that differ from another text in their numbers, and in no other word.
pub(super) fn numbered(texts: impl Iterator<Item = Signs>) -> usize {
    differ(texts.filter(|text| text.has_words).map(|text| (text.without_numbers, text.words)))
}

/// Whether a character is a sign. A minus is one before a number, an exclamation mark one in `!=`.
fn is_sign(before: char, char: char, after: Option<char>) -> bool {
    match char {
        '-' | '\u{2212}' => {
            !before.is_alphanumeric() && after.is_some_and(|after| after.is_ascii_digit())
        }
        '!' => after == Some('='),
        _ => SIGNS.contains(char) || RANGES.iter().any(|range| range.contains(&char)),
    }
}

/// Number of texts that differ from another text in their signs, but not in their words.
pub(super) fn unseen(texts: impl Iterator<Item = Signs>) -> usize {
    differ(texts.filter(|text| text.has_words).map(|text| (text.words, text.all)))
}

/// Number of texts that are equal to another one in their first value and not in their second.
fn differ(texts: impl Iterator<Item = (u64, u64)>) -> usize {
    // For each first value: one of the second, whether others differ, and the number.
    let mut same: HashMap<u64, (u64, bool, usize)> = HashMap::new();
    for (part, whole) in texts {
        let (first, differ, count) = same.entry(part).or_insert((whole, false, 0));
        *differ |= *first != whole;
        *count += 1;
    }
    same.values().filter(|(_, differ, _)| *differ).map(|(_, _, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::{Params, Shingles, Sketcher};

    #[test]
    fn texts_that_only_words_take_for_equal_are_counted() {
        let params = Params::builder().shingles(Shingles::Words(3)).build().unwrap();
        let sketcher = Sketcher::new(&params);
        for (one, other) in [
            ("We look for a C++ developer", "We look for a C# developer"),
            ("it was -5 degrees at noon", "it was 5 degrees at noon"),
            ("if a == b { return c }", "if a != b { return c }"),
            ("if a = b then c", "if a != b then c"),
            ("costs 20 % more", "costs $20 more"),
            ("what a day \u{1f600}", "what a day \u{1f622}"),
        ] {
            let [a, b] = [one, other].map(|text| sketcher.original_text(text).unwrap());
            assert_eq!(a.shingle_hashes(), b.shingle_hashes(), "{one} | {other}");
            assert_eq!(
                unseen([one, other, one].map(Signs::from_text).into_iter()),
                3,
                "{one} | {other}"
            );
        }
    }

    #[test]
    fn texts_that_differ_only_in_numbers_are_counted() {
        let count = |texts: &[&str]| numbered(texts.iter().map(|text| Signs::from_text(text)));
        assert_eq!(count(&["Letters, volume 1", "letters: Volume 23", "Letters of a king"]), 2);
        assert_eq!(count(&["paid 1,000 euros", "paid 2 500 euros"]), 2);
        assert_eq!(count(&["Volume 1", "volume 1!", "12 cats", "12 dogs"]), 0);
    }

    #[test]
    fn copies_that_people_call_equal_are_not_counted() {
        for (one, other) in [
            ("Well, it's late - go home!", "well it's late \u{2014} go home"),
            ("(see \"page 3-5\"; or 7)", "See \u{201c}page 3\u{2013}5\u{201d}, or 7."),
            ("one two", "one  two"),
            ("one two", "one three"),
            ("one_two +", "one_ two"),
            ("C++", "C++"),
            ("+", "-"),
        ] {
            assert_eq!(
                unseen([one, other].map(Signs::from_text).into_iter()),
                0,
                "{one} | {other}"
            );
        }
    }
}
