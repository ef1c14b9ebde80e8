//! Text to signature, one thread: Nearkin, gaoya on the same words, and the least that splitting
//! and hashing alone cost.

use crate::clock::time;
use crate::engines::params;
use crate::made::ROWS;
use crate::results::{Result, Results, Subject};
use gaoya::minhash::{MinHasher, MinHasher32};
use nearkin::Sketcher;
use std::hint::black_box;

/// Sketches all texts with each, in turn.
pub fn run(texts: &[String], results: &mut Results) -> Result<()> {
    let sketcher = Sketcher::new(&params()?);
    let hasher = MinHasher32::new(ROWS);
    let shingles: usize = texts.iter().map(|text| words(text).len().saturating_sub(2)).sum();
    let nearkin = |text: &str| -> Result<()> {
        black_box(sketcher.text(text)?);
        Ok(())
    };
    let gaoya = |text: &str| {
        let lower = text.to_ascii_lowercase();
        black_box(hasher.create_signature(words(&lower).windows(3)));
        Ok(())
    };
    let limit = |text: &str| {
        black_box(split_and_hash(text.as_bytes()));
        Ok(())
    };
    type Work<'a> = &'a dyn Fn(&str) -> Result<()>;
    let all: [(&str, Work<'_>); 3] =
        [("nearkin", &nearkin), ("gaoya", &gaoya), ("split and hash", &limit)];
    for (engine, work) in all {
        let (seconds, ()) = time(|| texts.iter().try_for_each(|text| work(text)))?;
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

/// The words of a text, as plainly as possible.
fn words(text: &str) -> Vec<&str> {
    let other = |byte: char| !byte.is_ascii_alphanumeric();
    text.split(other).filter(|word| !word.is_empty()).collect()
}

/// Splits ASCII words, hashes each from eight bytes at a time and combines three in a row: the
/// front end of any sketch of `words:3`, without rows.
fn split_and_hash(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut all, mut one, mut two) = (0_u64, 0_u64, 0_u64);
    let (mut hash, mut part, mut length) = (0_u64, 0_u64, 0_u32);
    for byte in text {
        if IN_WORD[usize::from(*byte)] != 0 {
            part = (part << 8) | u64::from(IN_WORD[usize::from(*byte)]);
            length += 1;
            if length % 8 == 0 {
                hash = (hash ^ part).wrapping_mul(FACTOR).rotate_left(29);
                part = 0;
            }
        } else if length > 0 {
            let three = (hash ^ part).wrapping_mul(FACTOR);
            let sum = one.rotate_left(21).wrapping_add(two.rotate_left(42)).wrapping_add(three);
            all ^= sum.wrapping_mul(FACTOR);
            (one, two) = (two, three);
            (hash, part, length) = (0, 0, 0);
        }
    }
    all ^ hash ^ part
}

/// Lower case of letters and digits, 0 of everything else.
const IN_WORD: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};
