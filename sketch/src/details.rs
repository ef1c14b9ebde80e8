//! What can set two similar texts apart: their runs of three words, and their numbers.
//!
//! The hashes live as long as a program runs; nothing stores them.

use crate::Sketcher;
use crate::hash::{finalise, sum_of};
use crate::normalise::Rules;
use crate::unit::UnitHash;

/// Number of words in a run.
const RUN: usize = 3;

/// What can set a text apart from a similar one: the set of its runs of three words, and its
/// numbers. Made by [`Sketcher::details`], independent of the shingles of the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    runs: Vec<u64>,
    numbers: Vec<u64>,
    others: u64,
}

impl Details {
    /// The hashes of all runs of three words, ascending and distinct. A shorter text is one run.
    pub fn runs(&self) -> &[u64] {
        &self.runs
    }

    /// Whether both texts have the same numbers, in any order. A word with a digit of any script
    /// is a number.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// let sketcher = nearkin::Sketcher::new(&nearkin::Params::builder().build()?);
    /// let [one, two] = ["40 boxes, 2 pallets", "2 pallets; 40 crates"].map(|t| sketcher.details(t));
    /// assert!(one.has_same_numbers(&two));
    /// # Ok(())
    /// # }
    /// ```
    pub fn has_same_numbers(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }

    /// Whether the texts differ in their numbers, and in nothing else that is a word.
    pub fn differs_only_in_numbers(&self, other: &Self) -> bool {
        self.numbers != other.numbers && self.others == other.others
    }

    fn from_words<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let hash = UnitHash::new(0);
        let (mut runs, mut numbers, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut after_number = false;
        for word in words {
            let unit = hash.hash_bytes(word.as_bytes());
            runs.push(unit);
            let is_number = word.chars().any(char::is_numeric);
            if is_number {
                numbers.push(unit);
            }
            // Neighbouring numbers count as one, so that 1,000 and 1 000 stand in one place.
            if !(is_number && after_number) {
                others.push(if is_number { 0 } else { unit });
            }
            after_number = is_number;
        }
        if runs.len() < RUN {
            runs = vec![finalise(sum_of(&runs))];
        } else {
            runs = runs.windows(RUN).map(|run| finalise(sum_of(run))).collect();
        }
        runs.sort_unstable();
        runs.dedup();
        numbers.sort_unstable();
        Self { runs, numbers, others: sum_of(&others) }
    }
}

impl Sketcher {
    /// What can set a text apart from a similar one. Letters are normalised as the parameters say.
    /// Costs a few steps per byte of the text.
    pub fn details(&self, text: &str) -> Details {
        let letters = self.plain_letters(text);
        Details::from_words(words(&letters))
    }

    /// The words of a text in which two texts may differ, in order: lower case, letters folded as
    /// the parameters say.
    pub(crate) fn plain_letters(&self, text: &str) -> String {
        let rules: Rules = self.inner.units.rules();
        let text = rules.options(text);
        rules.letters(&text).to_lowercase()
    }
}

/// The words of a text: runs of letters and digits. A point or comma between two digits belongs to
/// the number. In scripts without spaces each character is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(char::is_alphanumeric)?;
        rest = &rest[begin..];
        let (word, behind) = rest.split_at(end_of_word(rest));
        rest = behind;
        Some(word)
    })
}

/// The length of the word at the start of a text.
fn end_of_word(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = None;
    while let Some((at, char)) = chars.next() {
        let joins = matches!(char, '.' | ',')
            && before.is_some_and(char::is_numeric)
            && chars.peek().is_some_and(|(_, next)| next.is_numeric());
        if !(char.is_alphanumeric() || is_mark(char) || joins) {
            return at;
        }
        if stands_alone(char) {
            return if at == 0 { char.len_utf8() } else { at };
        }
        before = Some(char);
    }
    text.len()
}

/// Whether a character is a mark on the letter before it.
fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{93a}'..='\u{94f}')
}

/// Whether a character is of a script without spaces between words: Thai to Khmer, kana, Han.
fn stands_alone(char: char) -> bool {
    let is_letter = matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    is_letter && !char.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    fn details(text: &str) -> Details {
        Sketcher::new(&Params::builder().build().unwrap()).details(text)
    }

    #[test]
    fn words_are_letters_and_digits_and_characters_of_han() {
        let all = |text| words(text).collect::<Vec<_>>();
        assert_eq!(all("It's 1,234.50 EUR, no. 7."), ["It", "s", "1,234.50", "EUR", "no", "7"]);
        assert_eq!(all("値を 12 個"), ["値", "を", "12", "個"]);
        assert_eq!(all("a値b"), ["a", "値", "b"]);
        assert_eq!(all("  - . "), [""; 0]);
    }

    #[test]
    fn numbers_of_any_script_count_as_numbers() {
        for (one, other) in [
            ("Volume 3 of the letters", "Volume 12 of the letters"),
            ("invoice 2024-10-05 paid", "invoice 2025-01-17 paid"),
            ("the sum of 1,000 euros", "the sum of 2 500 euros"),
            ("المبلغ ١٢ ريال", "المبلغ ٣٤ ريال"),
            ("件数は１２件", "件数は３４５件"),
            ("model A4 in blue", "model B7 in blue"),
        ] {
            let (a, b) = (details(one), details(other));
            assert!(a.differs_only_in_numbers(&b) && !a.has_same_numbers(&b), "{one} / {other}");
            assert!(!a.differs_only_in_numbers(&a));
        }
        let (a, b) = (details("12 grey cats"), details("13 black cats"));
        assert!(!a.differs_only_in_numbers(&b));
        let (a, b) = (details("Paid: 12, 13!"), details("paid 13 12"));
        assert!(a.has_same_numbers(&b) && !a.differs_only_in_numbers(&b));
    }

    #[test]
    fn runs_are_three_words_and_normalised() {
        assert_eq!(details("one two three four").runs().len(), 2);
        assert_eq!(details("ONE  two"), details("one, two"));
        assert_ne!(details("one two").runs(), details("two one").runs());
        assert_eq!(details("caf\u{e9} no 3"), details("cafe\u{301} NO 3"));
        assert_eq!(details("").runs().len(), 1);
    }
}
