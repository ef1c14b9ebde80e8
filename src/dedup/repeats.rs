//! Runs of words that occur more than once, in bounded memory and two passes over the texts.
//!
//! Pure. The first pass sets bits for all runs; so the second one stores only those that may be
//! repeated, and compares them by hashes of 128 bits.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::keyed::RandomState;
use crate::{Error, Result, Sketcher};
use nearkin_sketch::engine::{Word, words_in};

/// Minimum number of words in a run.
const RUN_MIN: usize = 3;
/// Number of bits that a run sets.
const BITS: u32 = 3;
/// Memory of a stored run, in bytes, with the room that the map leaves.
const STORED_BYTES: usize = 64;
/// The bases of the two hashes of a run.
const BASES: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];

/// The first pass over texts of which repeated runs of words are to be found. Threads may share it.
///
/// Made with some memory for bits, [`RepeatFilter::add`] is called with every text, in any order.
/// Then [`Repeats`] finds the repeated runs, for which each text is cut by [`RepeatFilter::cut`].
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Params, RepeatFilter, Repeats, Sketcher};
///
/// let notice = "all rights reserved by the publisher of this page";
/// let texts = [format!("First text. {notice}."), format!("Second one; {notice}, and more.")];
/// let filter = RepeatFilter::new(&Sketcher::new(&Params::builder().build()?), 8, 1 << 20)?;
/// texts.iter().for_each(|text| filter.add(text));
/// let mut repeats = Repeats::new(1 << 20);
/// assert!(repeats.find(0, &filter.cut(&texts[0]))?.is_empty());
/// let found = repeats.find(1, &filter.cut(&texts[1]))?;
/// assert_eq!(&texts[1][found[0].bytes.clone()], notice);
/// assert_eq!((found[0].first_text, found[0].first_word), (0, 2));
/// # Ok(())
/// # }
/// ```
pub struct RepeatFilter {
    sketcher: Sketcher,
    run: usize,
    /// Bits of the runs that were there once, and of those that came again.
    once: Vec<AtomicU64>,
    again: Vec<AtomicU64>,
}

impl fmt::Debug for RepeatFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatFilter").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The words of a text, and those of its runs that may be repeated.
#[derive(Clone)]
pub struct CutText {
    words: Vec<Word>,
    runs: Vec<(usize, [u64; 2])>,
    width: usize,
}

impl fmt::Debug for CutText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CutText").field("words", &self.words.len()).finish_non_exhaustive()
    }
}

impl CutText {
    /// Number of words.
    pub fn words(&self) -> usize {
        self.words.len()
    }
}

impl RepeatFilter {
    /// For repeated runs of `run` words, at least 3, with this many bytes of memory for bits. With
    /// fewer than two bytes for a word of the texts, more runs are stored that are not repeated;
    /// what is found is the same.
    ///
    /// # Errors
    ///
    /// `Invalid` if the run is too short.
    pub fn new(sketcher: &Sketcher, run: usize, bytes: usize) -> Result<Self> {
        if run < RUN_MIN {
            let message = format!("a repeated run has at least {RUN_MIN} words, not {run}");
            return Err(Error::invalid(message));
        }
        let zeros = |bytes: usize| {
            std::iter::repeat_with(AtomicU64::default).take((bytes / 8).max(64)).collect()
        };
        let (once, again) = (zeros(bytes / 4 * 3), zeros(bytes / 4));
        Ok(Self { sketcher: sketcher.clone(), run, once, again })
    }

    /// Adds a text. Costs two accesses to memory for each word.
    pub fn add(&self, text: &str) {
        let words = words_in(&self.sketcher, text);
        runs(&words, self.run, |_, [hash, other]| {
            if set(&self.once, hash, other) {
                set(&self.again, other, hash);
            }
        });
    }

    /// Cuts a text, after all texts were added.
    pub fn cut(&self, text: &str) -> CutText {
        let (words, mut some) = (words_in(&self.sketcher, text), Vec::new());
        runs(&words, self.run, |at, hashes| {
            let [hash, other] = hashes;
            if is_set(&self.again, other, hash) {
                some.push((at, hashes));
            }
        });
        CutText { words, runs: some, width: self.run }
    }
}

/// Calls `found` with the place of each run of `width` words, and its two hashes.
fn runs(words: &[Word], width: usize, mut found: impl FnMut(usize, [u64; 2])) {
    let tops = BASES.map(|base| (1..width).fold(1_u64, |power, _| power.wrapping_mul(base)));
    let mut sums = [0_u64; 2];
    // The second hash takes other bits of a word than the first.
    let units = |word: &Word| [word.hash, word.hash.rotate_left(32) ^ word.hash >> 7];
    for (at, word) in words.iter().enumerate() {
        if let Some(first) = at.checked_sub(width).and_then(|first| words.get(first)) {
            for ((sum, unit), top) in sums.iter_mut().zip(units(first)).zip(tops) {
                *sum = sum.wrapping_sub(unit.wrapping_mul(top));
            }
        }
        for ((sum, unit), base) in sums.iter_mut().zip(units(word)).zip(BASES) {
            *sum = sum.wrapping_mul(base).wrapping_add(unit);
        }
        if at + 1 >= width {
            found(at + 1 - width, sums.map(mixed));
        }
    }
}

fn mixed(sum: u64) -> u64 {
    let sum = (sum ^ sum >> 32).wrapping_mul(BASES[0]);
    sum ^ sum >> 29
}

/// The word of a filter and the bits in it.
fn place(filter: &[AtomicU64], hash: u64, other: u64) -> (usize, u64) {
    let scaled = (u128::from(hash) * filter.len() as u128) >> 64;
    let bits = (0..BITS).fold(0, |bits, nth| bits | 1_u64 << (other >> (6 * nth) & 63));
    (usize::try_from(scaled).unwrap_or(0), bits)
}

/// Sets the bits of a run. Returns whether all were set before.
fn set(filter: &[AtomicU64], hash: u64, other: u64) -> bool {
    let (at, bits) = place(filter, hash, other);
    filter.get(at).is_some_and(|word| word.fetch_or(bits, Ordering::Relaxed) & bits == bits)
}

fn is_set(filter: &[AtomicU64], hash: u64, other: u64) -> bool {
    let (at, bits) = place(filter, hash, other);
    filter.get(at).is_some_and(|word| word.load(Ordering::Relaxed) & bits == bits)
}

/// The second pass: finds in each text the runs of words that stood before, in this text or in one
/// before it. Two runs are equal if two hashes of 64 bits are.
pub struct Repeats {
    first: HashMap<[u64; 2], (u32, u32), RandomState>,
    stored_max: usize,
}

impl fmt::Debug for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeats").field("stored", &self.first.len()).finish_non_exhaustive()
    }
}

/// Consecutive words of a text that stood before: each lies in a run that did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repeated {
    /// The words, counted from 0.
    pub words: Range<usize>,
    /// Their bytes in the text, from the first word to the last.
    pub bytes: Range<usize>,
    /// The number of the text in which the first of these runs stands first.
    pub first_text: u32,
    /// The index of its first word there.
    pub first_word: usize,
}

impl Repeats {
    /// Uses at most this many bytes of memory, 64 for each run that occurs more than once.
    pub fn new(bytes: usize) -> Self {
        Self { first: HashMap::default(), stored_max: (bytes / STORED_BYTES).max(1_024) }
    }

    /// The passages of a text that stood before, in order. Texts come in their order, with
    /// ascending numbers; all were added to the filter that cut this one.
    ///
    /// # Errors
    ///
    /// `Invalid` if the repeated runs take more memory than they may, or the text has 2^32 words.
    pub fn find(&mut self, number: u32, text: &CutText) -> Result<Vec<Repeated>> {
        let mut found: Vec<Repeated> = Vec::new();
        for (at, hashes) in &text.runs {
            let word = u32::try_from(*at).map_err(|_| Error::invalid("a text of 2^32 words"))?;
            let Some((first_text, first_word)) = self.first.get(hashes).copied() else {
                if self.first.len() >= self.stored_max {
                    return Err(self.full());
                }
                self.first.insert(*hashes, (number, word));
                continue;
            };
            let first_word = first_word as usize;
            // Where a run overlaps with its own first occurrence, that one stays.
            let begin = if first_text == number { first_word + text.width } else { 0 };
            let words = begin.max(*at)..at + text.width;
            if words.is_empty() {
                continue;
            }
            let first_word = first_word + words.start - at;
            let mut one = Repeated { words, bytes: 0..0, first_text, first_word };
            while let Some(last) = found.pop_if(|last| one.words.start <= last.words.end) {
                let end = one.words.end;
                if last.words.start <= one.words.start {
                    one = last;
                }
                one.words.end = end;
            }
            found.push(one);
        }
        for one in &mut found {
            let begin = text.words.get(one.words.start).map_or(0, |word| word.bytes.start);
            let last = one.words.end.checked_sub(1).and_then(|last| text.words.get(last));
            one.bytes = begin..last.map_or(begin, |word| word.bytes.end);
        }
        Ok(found)
    }

    fn full(&self) -> Error {
        Error::invalid(format!(
            "more than {} different runs of words are repeated, which takes more memory than this \
             run may use",
            self.stored_max
        ))
    }
}

/// The bytes of a text to cut out so that it stays readable, for repeated passages in order. With
/// a passage go the punctuation marks attached to it and the white space on one side of it; of the
/// white space on both sides, that with a line end stays.
pub fn readable_cuts(text: &str, passages: &[Repeated]) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for Repeated { bytes, .. } in passages {
        let before = text.get(..bytes.start).unwrap_or_default();
        let after = text.get(bytes.end..).unwrap_or_default();
        // What stands between this passage and the words on both sides.
        let left = before.rfind(is_word).map_or(0, |at| at + char_bytes(before, at));
        let left_gap = before.get(left..).unwrap_or_default();
        let right_gap = after.get(..after.find(is_word).unwrap_or(after.len())).unwrap_or_default();
        let begin = match left_gap.rfind(char::is_whitespace) {
            Some(at) => left + at + char_bytes(left_gap, at),
            None if left == 0 => 0,
            None => bytes.start,
        };
        let end = bytes.end + right_gap.find(char::is_whitespace).unwrap_or(right_gap.len());
        cuts.push(with_space(text, begin..end));
    }
    cuts.dedup_by(|next, last| {
        let touch = next.start <= last.end;
        if touch {
            last.end = last.end.max(next.end);
        }
        touch
    });
    cuts
}

/// With the white space on one side.
fn with_space(text: &str, cut: Range<usize>) -> Range<usize> {
    let before = text.get(..cut.start).unwrap_or_default();
    let after = text.get(cut.end..).unwrap_or_default();
    let left = before.len() - before.trim_end().len();
    let right = after.len() - after.trim_start().len();
    let has_line_end = after.get(..right).is_some_and(|space| space.contains('\n'));
    if left == before.len() || (left > 0 && right > 0 && !has_line_end) {
        cut.start..cut.end + right
    } else if right > 0 || after.is_empty() {
        cut.start - left..cut.end
    } else {
        cut
    }
}

fn char_bytes(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
