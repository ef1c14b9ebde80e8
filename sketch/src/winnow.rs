//! Winnowed fingerprints: the words of a text with their places, and which runs of words stand for
//! it (Schleimer, Wilkerson and Aiken, SIGMOD 2003).
//!
//! Pure. Part of the format: see `docs/reference/SIGNATURES.md`.

use std::ops::Range;

use super::hash::{finalise, sum_of};
use super::inner::Inner;
use super::scratch;
use super::sketcher::Sketcher;
use super::unicode;
use super::white_space::{is_white_space, tokens};
use crate::{Error, Params, Result, Shingles};

/// Number of bytes of a word that is hashed without the general path, if it is ASCII.
const SHORT_BYTES: usize = 32;
/// Number of bytes of a text, at most, that are joined to one word.
const JOINED_BYTES: usize = 256;

/// Cuts texts into words and picks their fingerprints. Cheap to clone, shared by threads.
///
/// With shingles of k words and runs of r words: among all shingles of each run, the one of the
/// least hash is a fingerprint (of equal ones the last). So two texts that share a run of r words
/// share a fingerprint, and about 2 in r - k + 2 shingles are one.
#[derive(Debug, Clone)]
pub struct Winnower {
    sketcher: Sketcher,
    run: usize,
}

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The hash of the normalised word.
    pub hash: u64,
    /// Its bytes in the text as it was given.
    pub bytes: Range<usize>,
    /// Whether it lies in a common shingle, which is no fingerprint and counts for nothing.
    pub is_common: bool,
}

/// A shingle of consecutive words that stands for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// The hash of the shingle.
    pub hash: u64,
    /// The index of its first word.
    pub word: usize,
}

/// A text cut by a [`Winnower`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Winnowed {
    /// All words, in order.
    pub words: Vec<Word>,
    /// All shingles that are not common, in order.
    pub shingles: Vec<Fingerprint>,
    /// Those that were picked, in order.
    pub fingerprints: Vec<Fingerprint>,
    width: usize,
}

impl Winnowed {
    /// The bytes of the text that a fingerprint or a shingle covers.
    pub fn bytes(&self, of: Fingerprint) -> Range<usize> {
        let start = self.words.get(of.word).map_or(0, |word| word.bytes.start);
        let last = (of.word + self.width).min(self.words.len()).saturating_sub(1);
        start..self.words.get(last).map_or(start, |word| word.bytes.end)
    }
}

impl Winnower {
    /// A winnower for the shingles, normalisation, seed and common shingles of these parameters,
    /// with which texts that share `run` words share a fingerprint.
    ///
    /// # Errors
    ///
    /// `Invalid` if the shingles are not words or tokens, or longer than the run.
    pub fn new(params: &Params, run: usize) -> Result<Self> {
        match params.shingles() {
            Shingles::Words(units) | Shingles::Tokens(units) if units as usize <= run => {
                Ok(Self { sketcher: Sketcher::new(params), run })
            }
            other => Err(Error::invalid(format!(
                "runs of {run} words have no fingerprints of {other}: use words:N or tokens:N, \
                 with N at most {run}"
            ))),
        }
    }

    /// Cuts a text. A text without words that is not blank (symbols) has one: all of it. A text of
    /// fewer words than a run has one fingerprint, unless its shingles are common. A blank text has
    /// no words.
    pub fn winnow(&self, text: &str) -> Winnowed {
        let inner = &*self.sketcher.inner;
        let mut words = words_of(inner, text);
        if words.is_empty()
            && let Some(hash) = inner.units.whole(text)
        {
            words.push(Word { hash, bytes: 0..text.len(), is_common: false });
        }
        let width = inner.shingles.units().clamp(1, words.len().max(1));
        let hashes: Vec<u64> = words.iter().map(|word| word.hash).collect();
        let all = hashes.windows(width).map(|window| finalise(sum_of(window)));
        let all: Vec<Option<u64>> =
            all.map(|hash| Some(hash).filter(|h| !inner.is_common(*h))).collect();
        for (word, _) in all.iter().enumerate().filter(|(_, hash)| hash.is_none()) {
            words.iter_mut().skip(word).take(width).for_each(|word| word.is_common = true);
        }
        let fingerprints = picked(&all, (self.run + 1).saturating_sub(width));
        let some = all.into_iter().enumerate();
        let shingles = some.filter_map(|(word, hash)| Some(Fingerprint { hash: hash?, word }));
        Winnowed { shingles: shingles.collect(), words, fingerprints, width }
    }
}

/// By what shingles are compared: not the bits that an index looks fingerprints up by, or these
/// would no longer be evenly distributed.
fn rank(hash: u64) -> u64 {
    hash >> 8 & 0xff_ffff
}

/// The shingles of the least rank among each `window` consecutive ones; of equal ones the last.
fn picked(all: &[Option<u64>], window: usize) -> Vec<Fingerprint> {
    let mut picked: Vec<Fingerprint> = Vec::new();
    let mut least: Option<Fingerprint> = None;
    let less = |a: u64, b: Fingerprint| rank(a) <= rank(b.hash);
    for (word, hash) in all.iter().enumerate() {
        let begin = (word + 1).saturating_sub(window);
        if least.is_some_and(|least| least.word < begin) {
            least = None;
            let before = all.iter().enumerate().take(word).skip(begin);
            for (word, hash) in before.filter_map(|(word, hash)| Some((word, (*hash)?))) {
                if least.is_none_or(|least| less(hash, least)) {
                    least = Some(Fingerprint { hash, word });
                }
            }
        }
        if let Some(hash) = *hash
            && least.is_none_or(|least| less(hash, least))
        {
            least = Some(Fingerprint { hash, word });
        }
        // The first window that is whole, or that ends with the text.
        let is_whole = word + 1 >= window || word + 1 == all.len();
        if is_whole
            && let Some(least) = least
            && picked.last() != Some(&least)
        {
            picked.push(least);
        }
    }
    picked
}

/// The words of a text, with shingles of tokens its tokens, in order: normalised as the sketcher
/// does, with their places.
pub fn words_in(sketcher: &Sketcher, text: &str) -> Vec<Word> {
    words_of(&sketcher.inner, text)
}

/// The words of a text. Words are cut in the text as it was given, and normalised one by one, so
/// that their places are known. Parts of a word (hyphenated at the end of a line, or with a sign in
/// between that is dropped or becomes an apostrophe) are one word, if the normalisation joins them.
fn words_of(inner: &Inner, text: &str) -> Vec<Word> {
    let places: Vec<Range<usize>> = match inner.shingles {
        Shingles::Tokens(_) => {
            let begin = |token: &str| token.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            tokens(text).map(|token| begin(token)..begin(token) + token.len()).collect()
        }
        _ => unicode::words::words(text).map(|(at, word)| at..at + word.len()).collect(),
    };
    let mut words: Vec<Word> = Vec::with_capacity(places.len());
    scratch::with(|scratch| {
        for place in places {
            if let Some(last) = words.last_mut()
                && place.end - last.bytes.start <= JOINED_BYTES
                && may_join(text.get(..last.bytes.end), text.get(last.bytes.end..place.start))
                && let Some([joined]) = units(inner, text.get(last.bytes.start..place.end), scratch)
            {
                (last.hash, last.bytes.end) = (*joined, place.end);
                continue;
            }
            if let Some(hash) = hash_of(inner, text.get(place.clone()), scratch) {
                words.push(Word { hash, bytes: place, is_common: false });
            }
        }
    });
    words
}

/// Whether what comes after a gap may be of one word with what comes before.
fn may_join(before: Option<&str>, gap: Option<&str>) -> bool {
    let (Some(before), Some(gap)) = (before, gap) else { return false };
    let is_sign = |c: char| !c.is_ascii() && !is_white_space(c);
    gap.starts_with(['-', '\u{ad}', '\u{2010}'])
        || before.ends_with('\u{ad}')
        || (!gap.is_empty() && gap.chars().all(is_sign))
}

/// The hashes of the words in a part of a text, or of its tokens with shingles of tokens.
fn units<'a>(
    inner: &Inner,
    part: Option<&str>,
    scratch: &'a mut scratch::Scratch,
) -> Option<&'a [u64]> {
    let shingles = match inner.shingles {
        Shingles::Tokens(_) => Shingles::Tokens(1),
        _ => Shingles::Words(1),
    };
    scratch.sums.clear();
    inner.units.of_text(part?, shingles, &mut scratch.split, None, &mut scratch.sums);
    Some(&scratch.sums)
}

/// The hash of a word; of the sum of its units, if normalisation makes several of it.
fn hash_of(inner: &Inner, word: Option<&str>, scratch: &mut scratch::Scratch) -> Option<u64> {
    let word = word?;
    let rules = inner.units.rules();
    let mut lower = [0; SHORT_BYTES];
    if word.is_ascii()
        && !rules.has_options_for_ascii()
        && let Some(lower) = lower.get_mut(..word.len())
    {
        lower.copy_from_slice(word.as_bytes());
        if rules.lower() {
            lower.make_ascii_lowercase();
        }
        return Some(inner.unit.hash_bytes(lower));
    }
    match units(inner, Some(word), scratch)? {
        [] => None,
        [one] => Some(*one),
        several => Some(sum_of(several)),
    }
}
