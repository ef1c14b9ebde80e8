//! Text to units: the words, tokens, characters or lines that windows are made of, hashed.
//!
//! Knows where a unit begins and ends. Does not know windows.

use super::hash;
use super::normalise::{Rules, is_white_space, tokens};
use super::words;
use crate::Shingles;

/// Hashes the units of texts. Holds the hashes of the ASCII characters, 1 KiB.
#[derive(Debug)]
pub(crate) struct Units {
    rules: Rules,
    seed: u64,
    ascii: [u64; 128],
}

impl Units {
    pub(crate) fn new(rules: Rules, seed: u64) -> Self {
        let mut ascii = [0; 128];
        for (byte, hash) in (0_u8..).zip(&mut ascii) {
            *hash = hash::unit(&[byte], seed);
        }
        Self { rules, seed, ascii }
    }

    /// The hashes of the units of `text`, in order. Costs eight bytes of memory a unit.
    pub(crate) fn of_text(&self, text: &str, shingles: Shingles) -> Vec<u64> {
        let text = self.rules.letters(text);
        // Units are seldom shorter than this; if they are, the vector grows.
        let mut units = Vec::with_capacity(text.len() / 4);
        let mut add = |unit: &[u8]| units.push(hash::unit(unit, self.seed));
        match shingles {
            // White space of ASCII ends words as a blank does, and so need not be replaced; but a
            // combining mark makes one word with whatever white space stands before it.
            Shingles::Words(_) if text.is_ascii() => words::for_each(&text, add),
            Shingles::Words(_) => words::for_each(&self.rules.blanks(&text), add),
            Shingles::Tokens(_) if text.is_ascii() => {
                let tokens = text.as_bytes().split(|byte| is_white_space(char::from(*byte)));
                tokens.filter(|token| !token.is_empty()).for_each(add);
            }
            Shingles::Tokens(_) => tokens(&text).for_each(|token| add(token.as_bytes())),
            Shingles::Lines(_) => {
                let lines = text.split('\n').map(|line| self.rules.blanks(line));
                lines.filter(|line| !line.is_empty()).for_each(|line| add(line.as_bytes()));
            }
            Shingles::Chars(_) => units = self.chars(&self.rules.blanks(&text)),
            Shingles::Items => {}
        }
        units
    }

    fn chars(&self, text: &str) -> Vec<u64> {
        let mut units = Vec::with_capacity(text.len());
        let mut buffer = [0; 4];
        units.extend(text.chars().map(|c| match self.ascii.get(c as usize) {
            Some(&hash) => hash,
            None => hash::unit(c.encode_utf8(&mut buffer).as_bytes(), self.seed),
        }));
        units
    }
}
