//! Text to units: the words, tokens, characters or lines that windows are made of, hashed.
//!
//! Knows where a unit begins and ends. Does not know windows.

use unicode_segmentation::UnicodeSegmentation;

use super::normalise::{Rules, tokens};
use super::simd::Processor;
use super::split::{Cut, Kind, Split};
use super::unit::UnitHash;
use super::words;
use crate::Shingles;

/// Hashes the units of texts. Holds the hashes of the ASCII characters, 1 KiB.
#[derive(Debug)]
pub(crate) struct Units {
    rules: Rules,
    hash: UnitHash,
    ascii: [u64; 128],
}

impl Units {
    pub(crate) fn new(rules: Rules, hash: UnitHash) -> Self {
        let mut ascii = [0; 128];
        for (byte, unit) in (0_u8..).zip(&mut ascii) {
            *unit = hash.of(&[byte]);
        }
        Self { rules, hash, ascii }
    }

    /// Adds the hashes of the units of `text`, in order. Costs eight bytes of memory a unit.
    #[inline(always)]
    pub(crate) fn of_text(
        &self,
        text: &str,
        shingles: Shingles,
        split: &mut Split,
        processor: Option<Processor>,
        units: &mut Vec<u64>,
    ) {
        let kind = match shingles {
            Shingles::Words(_) => Some(Kind::Words),
            Shingles::Tokens(_) => Some(Kind::Tokens),
            _ => None,
        };
        if let Some(kind) = kind
            && is_ascii(text.as_bytes())
        {
            // White space of ASCII ends words as a blank does, and so need not be replaced.
            let cut = Cut { kind, lower: self.rules.lower() };
            split.hash(text, cut, self.hash, processor, units);
        } else {
            self.of_any(text, shingles, split, units);
        }
    }

    /// The same for every text and kind of unit.
    #[inline(never)]
    fn of_any(&self, text: &str, shingles: Shingles, split: &mut Split, units: &mut Vec<u64>) {
        let text = self.rules.letters(text);
        let mut add = |unit: &[u8]| units.push(self.hash.of(unit));
        match shingles {
            // A combining mark makes one word with whatever white space stands before it.
            Shingles::Words(_) => {
                let cut = Cut { kind: Kind::Words, lower: false };
                for stretch in words::stretches(&self.rules.blanks(&text)) {
                    if stretch.is_ascii() {
                        split.hash(stretch, cut, self.hash, None, units);
                    } else {
                        let words = stretch.unicode_words();
                        units.extend(words.map(|word| self.hash.of(word.as_bytes())));
                    }
                }
            }
            Shingles::Tokens(_) => tokens(&text).for_each(|token| add(token.as_bytes())),
            Shingles::Lines(_) => {
                let lines = text.split('\n').map(|line| self.rules.blanks(line));
                lines.filter(|line| !line.is_empty()).for_each(|line| add(line.as_bytes()));
            }
            Shingles::Chars(_) => self.chars(&self.rules.blanks(&text), units),
            Shingles::Items => {}
        }
    }

    fn chars(&self, text: &str, units: &mut Vec<u64>) {
        if text.is_ascii() {
            units.extend(text.bytes().map(|byte| self.ascii[usize::from(byte & 127)]));
            return;
        }
        let mut buffer = [0; 4];
        units.extend(text.chars().map(|c| match self.ascii.get(c as usize) {
            Some(&hash) => hash,
            None => self.hash.of(c.encode_utf8(&mut buffer).as_bytes()),
        }));
    }
}

/// `<[u8]>::is_ascii`, compiled with the caller for its processor.
#[inline(always)]
fn is_ascii(text: &[u8]) -> bool {
    text.chunks(1024).all(|bytes| bytes.iter().fold(0, |all, byte| all | byte) < 128)
}
