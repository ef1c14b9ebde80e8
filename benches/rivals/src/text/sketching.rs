//! Text to signature on one thread: Nearkin, gaoya on the same words, and two reference points: the
//! smallest possible signature, and splitting and hashing alone.

use crate::clock::time;
use crate::engines::params;
use crate::made::ROWS;
use crate::results::{Result, Results, Subject};
use gaoya::minhash::{MinHasher, MinHasher32};
use nearkin::{Params, Shingles, Sketcher};
use std::hint::black_box;

/// Number of texts that each contender sketches per turn.
const TOGETHER: usize = 1_000;

/// Sketches all texts with each contender, in turn.
pub fn run(texts: &[String], results: &mut Results) -> Result<()> {
    let sketcher = Sketcher::new(&params()?);
    let hasher = MinHasher32::new(ROWS);
    let shingles: usize = texts.iter().map(|text| words(text).len().saturating_sub(2)).sum();
    let mut nearkin = |text: &str| -> Result<()> {
        black_box(sketcher.text(text)?);
        Ok(())
    };
    let fewest = Params::builder().hashes(16).bands(2, 8).shingles(Shingles::Words(3)).build()?;
    let fewest = Sketcher::new(&fewest);
    let mut few_rows = |text: &str| -> Result<()> {
        black_box(fewest.text(text)?);
        Ok(())
    };
    let mut gaoya = |text: &str| {
        let lower = text.to_ascii_lowercase();
        black_box(hasher.create_signature(words(&lower).windows(3)));
        Ok(())
    };
    let mut splitter = Splitter::default();
    let mut mark = |text: &str| {
        black_box(splitter.run(text.as_bytes()));
        Ok(())
    };
    type Work<'a> = &'a mut dyn FnMut(&str) -> Result<()>;
    let mut all: [(&str, Work<'_>); 4] = [
        ("nearkin", &mut nearkin),
        ("nearkin, 16 rows", &mut few_rows),
        ("gaoya", &mut gaoya),
        ("split and hash", &mut mark),
    ];
    let mut seconds = [0.0; 4];
    // The contenders take turns, so that all see the same machine state. Each of them is sometimes
    // the first, which loads the texts into the cache for the others.
    for (first, texts) in texts.chunks(TOGETHER).enumerate() {
        for turn in 0..all.len() {
            let nth = (first + turn) % all.len();
            seconds[nth] += time(|| texts.iter().try_for_each(|text| all[nth].1(text)))?.0;
        }
    }
    for ((engine, _), seconds) in all.iter().zip(seconds) {
        let of = Subject {
            stage: "sketch",
            engine,
            durability: "nothing stored",
            documents: texts.len() as u64,
        };
        results.note(of, "sketch, words:3", "documents/s", texts.len() as f64 / seconds);
        results.note(of, "sketch, words:3, per shingle", "ns", seconds * 1e9 / shingles as f64);
    }
    Ok(())
}

/// The words of a text, found in the simplest way.
fn words(text: &str) -> Vec<&str> {
    let other = |byte: char| !byte.is_ascii_alphanumeric();
    text.split(other).filter(|word| !word.is_empty()).collect()
}

/// Splits text into ASCII words, hashes them eight bytes at a time, and combines the hashes of
/// every three words in a row: all that any sketch of `words:3` must do before it computes rows.
/// Written for speed alone: it converts blocks of 64 bytes to lower case, classifies them at once,
/// and finds words in the resulting bits.
#[derive(Debug, Default)]
struct Splitter {
    /// The text in lower case, padded beyond its end.
    lower: Vec<u8>,
    /// One bit per byte: whether it belongs to a word.
    bits: Vec<u64>,
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Splitter {
    fn run(&mut self, text: &[u8]) -> u64 {
        self.class(text);
        let (mut all, mut one, mut two) = (0_u64, 0_u64, 0_u64);
        let (mut block, mut at) = (0, 0);
        // At least one byte of padding follows the text, so the end of the last word is found like
        // that of any other. No word begins after the last one, so the loop ends.
        while let Some(from) = self.next(&mut block, at, false) {
            let to = self.next(&mut block, from, true).unwrap_or(text.len());
            let three = self.hash(from, to);
            let sum = one.rotate_left(21).wrapping_add(two.rotate_left(42)).wrapping_add(three);
            all ^= sum.wrapping_mul(FACTOR);
            (one, two, at) = (two, three, to);
        }
        all
    }

    /// Fills `lower` and `bits`.
    fn class(&mut self, text: &[u8]) {
        self.lower.clear();
        self.lower.extend_from_slice(text);
        self.lower.resize(text.len() / 64 * 64 + 72, b' ');
        self.bits.clear();
        for block in self.lower.as_chunks_mut::<64>().0 {
            let mut classes = [0_u8; 64];
            for (byte, class) in block.iter_mut().zip(&mut classes) {
                *byte |= u8::from(byte.is_ascii_uppercase()) << 5;
                let word = byte.is_ascii_lowercase() | byte.is_ascii_digit();
                *class = u8::from(word);
            }
            let mut bits = 0;
            for (at, eight) in classes.as_chunks::<8>().0.iter().enumerate() {
                let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080);
                bits |= (gathered >> 56) << (8 * at);
            }
            self.bits.push(bits);
        }
    }

    /// The position of the first byte, from `at` on, that belongs to a word; with `flip`, of the
    /// first that does not.
    #[inline]
    fn next(&self, block: &mut usize, at: usize, flip: bool) -> Option<usize> {
        let mask = if flip { u64::MAX } else { 0 };
        *block = at / 64;
        let mut bits = (self.bits.get(*block)? ^ mask) & (u64::MAX << (at % 64));
        while bits == 0 {
            *block += 1;
            bits = self.bits.get(*block)? ^ mask;
        }
        Some(*block * 64 + bits.trailing_zeros() as usize)
    }

    #[inline]
    fn hash(&self, from: usize, to: usize) -> u64 {
        let mut hash = (to - from) as u64;
        let mut at = from;
        while at < to {
            let eight = self.lower[at..].first_chunk::<8>().copied().unwrap_or_default();
            let keep = u64::MAX >> (64 - 8 * (to - at).min(8));
            hash = (hash ^ (u64::from_le_bytes(eight) & keep)).wrapping_mul(FACTOR);
            hash ^= hash >> 32;
            at += 8;
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_splitter_finds_the_words() {
        let text = "The quick, brown fox (aged 7) jumps over -- 123456789abcdefgh -- the lazy dog. \
                    And so on, until there is more than one block of it; Then it ends in a word";
        let mut splitter = Splitter::default();
        splitter.class(text.as_bytes());
        let (mut found, mut block, mut at) = (Vec::new(), 0, 0);
        while let Some(from) = splitter.next(&mut block, at, false) {
            at = splitter.next(&mut block, from, true).unwrap_or(text.len());
            found.push(std::str::from_utf8(&splitter.lower[from..at]).unwrap().to_owned());
        }
        assert_eq!(found, words(&text.to_ascii_lowercase()));
    }
}
