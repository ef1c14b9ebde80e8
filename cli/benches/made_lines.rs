//! Generates JSON lines with texts that resemble English, including near-duplicates and copies of
//! earlier lines: deterministic input of any size for `nearkin add` and `nearkin dedup`.
//!
//! `cargo bench --bench made_lines -- LINES [WORDS [SPAN]] > made.jsonl`. A line has about WORDS
//! words (default 80). Of 100 lines about 15 are near-duplicates (one word in 40 replaced), 5 are
//! copies, and one belongs to a crowd of equal texts. Each SPAN lines have a crowd of their own
//! (default: all lines have one), so that the number of pairs grows linearly with the lines.

use std::io::{self, BufWriter, Write};

/// Size of the vocabulary. Word n is about 1/n times as frequent as the first word, as in English
/// (Zipf's law).
const WORDS: u64 = 30_000;

/// A random number generator: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Appends the word with this number.
fn push_word(text: &mut String, mut word: u64) {
    const BEGINS: [&str; 16] =
        ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "th", "st", "w"];
    const ENDS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "er", "in"];
    loop {
        text.push_str(BEGINS[usize::try_from(word % 16).unwrap_or(0)]);
        text.push_str(ENDS[usize::try_from(word / 16 % 8).unwrap_or(0)]);
        word /= 128;
        if word == 0 {
            return;
        }
    }
}

/// Appends text number `number`, of `words` words on average. With `noise`, some words are
/// replaced; `noise` is the seed.
fn text(number: u64, words: u64, noise: Option<u64>, out: &mut String) {
    let mut numbers = Numbers(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut noise = noise.map(Numbers);
    out.clear();
    for at in 0..words / 2 + numbers.below(words) {
        if at > 0 {
            out.push_str(if numbers.below(12) == 0 { ", " } else { " " });
        }
        // The product of two uniform numbers approximates Zipf's law: small products are frequent.
        let (one, other) = (numbers.below(WORDS), numbers.below(WORDS));
        let other_word = noise.as_mut().and_then(|noise| {
            let word = noise.below(WORDS);
            (noise.below(40) == 0).then_some(word)
        });
        push_word(out, other_word.unwrap_or(one * other / WORDS));
    }
    out.push('.');
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let lines: u64 = args.next().ok_or("how many lines?")?.parse()?;
    let words: u64 = args.next().map_or(Ok(80), |words| words.parse())?;
    let span: u64 = args.next().map_or(Ok(u64::MAX), |span| span.parse())?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut made = String::new();
    for line in 0..lines {
        let mut numbers = Numbers(line ^ 0x00c0_ffee);
        let earlier = numbers.below(line + 1);
        match numbers.below(100) {
            0 => text(u64::MAX - line / span, words, None, &mut made),
            1..=5 => text(earlier, words, None, &mut made),
            6..=20 => text(earlier, words, Some(line), &mut made),
            _ => text(line, words, None, &mut made),
        }
        writeln!(out, "{{\"id\":\"doc-{line}\",\"text\":\"{made}\"}}")?;
    }
    Ok(out.flush()?)
}
