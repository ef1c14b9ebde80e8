//! What can set two similar texts apart: their runs of three words, and their numbers.
//!
//! The hashes live as long as a program runs; nothing stores them.

use std::fmt;

use crate::distinct::sorted_bag;
use crate::masks::{Cut, UnitKind};
use crate::plain_words::{is_number, next_word, words};
use crate::scratch;
use crate::unit::UnitHash;
use crate::windows::windows;
use crate::{Original, Result, Shingles, Sketcher, Variety};

/// Number of words in a run.
const RUN: u32 = 3;

/// Shingles of at most so many characters are made for short texts.
const FINE: u32 = 4;

/// What can set a text apart from a similar one: its runs of three words, and the words themselves.
/// Made by [`Sketcher::detailed_text`].
#[derive(Clone, PartialEq, Eq)]
pub struct Details {
    /// Ascending. A run that the text repeats has another hash each time. `None` if the shingles
    /// serve as such.
    runs: Option<Vec<u64>>,
    text: Box<str>,
}

impl Details {
    /// The hashes of all runs of three words, ascending and distinct: a run that the text repeats
    /// has another hash each time, the same in every text. `None` if the shingles of the document
    /// serve as runs: `words:1` and up to `chars:4`, for short texts. A text of fewer words is one
    /// run.
    pub fn runs(&self) -> Option<&[u64]> {
        self.runs.as_deref()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of bytes in memory.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.runs().map_or(0, size_of_val)
    }

    /// Whether two texts have the same numbers, each as often, in any order.
    pub fn has_same_numbers(&self, other: &Self) -> bool {
        let numbers = |text: &Self| {
            let numbers = words(&text.text).filter(|word| is_number(word));
            let mut numbers: Vec<String> = numbers.map(str::to_lowercase).collect();
            numbers.sort_unstable();
            numbers
        };
        numbers(self) == numbers(other)
    }

    /// Whether two texts differ in their numbers, and in nothing else that is a word. A word with a
    /// digit of any script is a number; neighbouring numbers are one.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// let sketcher = nearkin::Sketcher::new(&nearkin::Params::builder().build()?);
    /// let bill = |text| sketcher.detailed_text(text).map(|bill| bill.details().unwrap().clone());
    /// let [one, other] = [bill("Pay 40 euros by 1.2.2025")?, bill("Pay 55 euros by 3.2.2025")?];
    /// assert!(one.differs_only_in_numbers(&other) && !one.differs_only_in_numbers(&one));
    /// # Ok(())
    /// # }
    /// ```
    pub fn differs_only_in_numbers(&self, other: &Self) -> bool {
        let from = equal_until(&self.text, &other.text);
        differ_only_in_numbers(&self.text[from..], &other.text[from..])
    }
}

fn differ_only_in_numbers(one: &str, other: &str) -> bool {
    let (mut here, mut there) = (Parts::new(one), Parts::new(other));
    let mut is_other_number = false;
    loop {
        match (here.next(), there.next()) {
            (None, None) => return is_other_number,
            (Some(Part::Numbers(one)), Some(Part::Numbers(other))) => {
                is_other_number |= one != other;
            }
            (Some(Part::Word(one)), Some(Part::Word(other))) if is_same(one, other) => {}
            _ => return false,
        }
    }
}

/// A place up to which two texts have the same parts: where the last word of ASCII letters between
/// spaces begins before their first difference, which neither reaches into it nor into the numbers
/// before it.
fn equal_until(one: &str, other: &str) -> usize {
    let equal = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let mut behind = equal;
    while let Some(space) = one.as_bytes()[..behind].iter().rposition(|byte| *byte == b' ') {
        let before = one.as_bytes()[..space].iter().rev();
        let begin = space - before.take_while(|byte| byte.is_ascii_alphabetic()).count();
        if begin < space && begin.checked_sub(1).is_some_and(|at| one.as_bytes()[at] == b' ') {
            return begin;
        }
        behind = space;
    }
    0
}

impl fmt::Debug for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs().map_or(0, <[u64]>::len);
        write!(f, "Details({} bytes of text, {runs} runs)", self.text.len())
    }
}

/// A word that is no number, or all numbers up to the next such word.
enum Part<'t> {
    Word(&'t str),
    Numbers(Vec<&'t str>),
}

struct Parts<'t> {
    rest: &'t str,
}

impl<'t> Parts<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn next(&mut self) -> Option<Part<'t>> {
        let word = next_word(&mut self.rest)?;
        if !is_number(word) {
            return Some(Part::Word(word));
        }
        let mut numbers = vec![word];
        loop {
            let mut rest = self.rest;
            match next_word(&mut rest) {
                Some(word) if is_number(word) => numbers.push(word),
                _ => return Some(Part::Numbers(numbers)),
            }
            self.rest = rest;
        }
    }
}

/// Whether two words are equal but for upper and lower case.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

impl Sketcher {
    /// A document for exact comparison, as [`Sketcher::original_text`] makes it, with what can set
    /// it apart from a similar one.
    ///
    /// # Errors
    ///
    /// Those of [`Sketcher::original_text`].
    pub fn detailed_text(&self, text: &str) -> Result<Original> {
        Ok(self.with_details(self.original_text(text)?, text))
    }

    /// A document that [`Sketcher::original_text`] made of this text, with what can set it apart
    /// from a similar one.
    pub fn with_details(&self, document: Original, text: &str) -> Original {
        document.with_details(self.details(text))
    }

    /// Like [`Sketcher::detailed_text`]; also returns the variety of the text's shingles, at the
    /// cost of [`Sketcher::text_with_variety`].
    ///
    /// # Errors
    ///
    /// Those of [`Sketcher::original_text`].
    pub fn detailed_text_with_variety(&self, text: &str) -> Result<(Original, Variety)> {
        let (original, variety) = self.original_with_variety(text)?;
        Ok((original.with_details(self.details(text)), variety))
    }

    fn details(&self, text: &str) -> Details {
        let runs = if self.has_runs() { None } else { Some(self.runs(text)) };
        Details { runs, text: text.into() }
    }

    /// Whether the shingles serve as runs: they are as fine as the texts are short.
    fn has_runs(&self) -> bool {
        !self.inner.bag
            && matches!(self.inner.shingles, Shingles::Words(1) | Shingles::Chars(..=FINE))
    }

    fn runs(&self, text: &str) -> Vec<u64> {
        let text = self.inner.units.rules().options(text);
        let mut runs = if text.is_ascii() {
            self.hashes_of_ascii(&text)
        } else {
            hashes(&self.folded(&text)).collect()
        };
        windows(&mut runs, RUN as usize, self.inner.processor);
        sorted_bag(runs)
    }

    /// A text in which two texts may differ: lower case, letters folded as the parameters say.
    pub(crate) fn plain_letters(&self, text: &str) -> String {
        self.folded(&self.inner.units.rules().options(text))
    }

    fn folded(&self, text: &str) -> String {
        let rules = self.inner.units.rules();
        let letters = rules.letters(text);
        if rules.lower() { letters.into_owned() } else { letters.to_lowercase() }
    }

    /// Same as [`hashes`] of a text of ASCII in lower case. What joins words as sketching cuts
    /// them, and not here, becomes a space.
    pub(crate) fn hashes_of_ascii(&self, text: &str) -> Vec<u64> {
        let (text, mut cut) = (text.as_bytes(), text.as_bytes().to_vec());
        let is_digit = |byte: u8| byte.wrapping_sub(b'0') < 10;
        let last = text.len().saturating_sub(1);
        for byte in &mut cut {
            let joins = matches!(*byte, b'\'' | b':' | b';' | b'_');
            *byte = if joins { b' ' } else { *byte };
        }
        if text.len() > 2 {
            let beside = text.iter().zip(&text[2..]);
            for (byte, (before, behind)) in cut[1..last].iter_mut().zip(beside) {
                let is_mark = matches!(*byte, b'.' | b',');
                let stays = is_digit(*before) && is_digit(*behind);
                *byte = if is_mark && !stays { b' ' } else { *byte };
            }
        }
        let rules = Cut { kind: UnitKind::Words, lower: true };
        // A word and a space have two bytes. What is not written takes no memory.
        let mut hashes = Vec::with_capacity(text.len() / 2 + 1);
        scratch::with(|scratch| {
            let processor = self.inner.processor;
            scratch.split.hash(&cut, rules, UnitHash::new(0), processor, &mut hashes);
        });
        hashes
    }
}

/// The hashes of the words of a text.
pub(crate) fn hashes(text: &str) -> impl Iterator<Item = u64> {
    let hash = UnitHash::new(0);
    words(text).map(move |word| hash.hash_bytes(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    fn details(text: &str) -> Details {
        let sketcher =
            Sketcher::new(&Params::builder().shingles(Shingles::Chars(5)).build().unwrap());
        sketcher.detailed_text(text).unwrap().details().unwrap().clone()
    }

    #[test]
    fn hashes_of_ascii_are_those_of_its_words() {
        let sketcher = Sketcher::new(&Params::builder().build().unwrap());
        let mut state = 3_u64;
        let mut next = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % end
        };
        for round in 0..20_000 {
            let length = if round % 100 == 0 { 9_000 } else { 40 };
            let all: Vec<u8> = (0..next(length))
                .map(|_| match next(4) {
                    0 => b"ab12.,:;'_-\"  \n"[next(15)],
                    1 => u8::try_from(next(128)).unwrap(),
                    _ => b"aZ09."[next(5)],
                })
                .collect();
            let text = String::from_utf8(all).unwrap();
            let expected: Vec<u64> = hashes(&text.to_ascii_lowercase()).collect();
            assert_eq!(sketcher.hashes_of_ascii(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn variety_comes_with_the_details() {
        for shingles in [Shingles::Words(3), Shingles::Chars(5)] {
            let sketcher = Sketcher::new(&Params::builder().shingles(shingles).build().unwrap());
            for text in ["one two three four five", &"spam ".repeat(300)] {
                let (original, variety) = sketcher.detailed_text_with_variety(text).unwrap();
                assert_eq!(original, sketcher.detailed_text(text).unwrap());
                assert_eq!(variety, sketcher.text_with_variety(text).unwrap().1);
                assert_eq!(original.details().unwrap().text(), text);
            }
        }
    }

    #[test]
    fn numbers_of_any_script_count_as_numbers() {
        for (one, other) in [
            ("Volume 3 of the letters", "volume 12, of the Letters"),
            ("invoice 2024-10-05 paid", "invoice 2025-01-17 paid"),
            ("the sum of 1,000 euros", "the sum of 2 500 euros"),
            (
                "\u{645}\u{628}\u{644}\u{63a} \u{661}\u{662} \u{631}\u{64a}",
                "\u{645}\u{628}\u{644}\u{63a} \u{663}\u{664} \u{631}\u{64a}",
            ),
            (
                "\u{4ef6}\u{6570}\u{306f}\u{ff11}\u{ff12}\u{4ef6}",
                "\u{4ef6}\u{6570}\u{306f}\u{ff13}\u{ff14}\u{ff15}\u{4ef6}",
            ),
            ("model A4 in blue", "model B7 in blue"),
        ] {
            let (a, b) = (details(one), details(other));
            assert!(a.differs_only_in_numbers(&b) && !a.has_same_numbers(&b), "{one} / {other}");
            assert!(!a.differs_only_in_numbers(&a));
        }
        assert!(details("A4, 12 blue").has_same_numbers(&details("12 red of a4")));
        for (one, other) in [
            ("12 grey cats", "13 black cats"),
            ("Paid: 12", "paid 12!"),
            ("12 cats", "12 cats and 3"),
            ("cats", "cats 3"),
        ] {
            assert!(!details(one).differs_only_in_numbers(&details(other)), "{one} / {other}");
        }
    }

    #[test]
    fn what_two_texts_begin_with_does_not_change_the_verdict() {
        let pieces =
            ["7", "8,5", "the", "a4", " ", " ", "  ", ",", "\u{e9}t\u{e9}", "\u{663}", "Cat"];
        let mut state = 11_u64;
        let mut next = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % end
        };
        let mut verdicts = [0, 0];
        for _ in 0..20_000 {
            let mut text: Vec<&str> = (0..next(16)).map(|_| pieces[next(pieces.len())]).collect();
            let one = "w ".to_owned() + &text.concat();
            for _ in 0..next(3) {
                let at = next(text.len() + 1);
                match next(3) {
                    0 => text.insert(at, pieces[next(pieces.len())]),
                    1 if at < text.len() => text[at] = pieces[next(pieces.len())],
                    2 if at < text.len() => drop(text.remove(at)),
                    _ => {}
                }
            }
            let other = "w ".to_owned() + &text.concat();
            let verdict = differ_only_in_numbers(&one, &other);
            verdicts[usize::from(verdict)] += 1;
            assert_eq!(
                details(&one).differs_only_in_numbers(&details(&other)),
                verdict,
                "{one:?} {other:?}"
            );
        }
        assert!(verdicts.iter().all(|count| *count > 1_000), "{verdicts:?}");
    }

    #[test]
    fn runs_are_three_words_and_normalised() {
        let runs = |text| details(text).runs().unwrap().to_vec();
        assert_eq!(runs("one two three four").len(), 2);
        assert_eq!(runs("ONE  two"), runs("one, two"));
        assert_ne!(runs("one two"), runs("two one"));
        assert_eq!(runs("caf\u{e9} no 3"), runs("cafe\u{301} NO 3"));
        let repeated = runs("a b c a b c");
        assert!(repeated.len() == 4 && runs("a b c").iter().all(|run| repeated.contains(run)));
        let fine = Params::builder().shingles(Shingles::Words(1)).build().unwrap();
        let own = Sketcher::new(&fine).detailed_text("one two three four").unwrap();
        assert!(own.details().unwrap().runs().is_none());
        assert_eq!(own.runs(), own.shingle_hashes());
    }
}
