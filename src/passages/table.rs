//! The words of a stored text: eight bits of the hash of each, and its place.
//!
//! With it, texts are compared word by word without the texts. Pure;
//! `docs/reference/FILE_FORMAT.md` is normative.

use std::ops::Range;

use crate::format::bytes::wide;
use crate::{Error, ErrorKind, Result};
use nearkin_sketch::engine::Word;

/// Codes of a word that is not one byte behind the one before, and has 1 to 13 bytes: a length, or
/// a gap and a length, follows.
const BESIDE: u8 = 0;
const TWO_AWAY: u8 = 14;
const ANY: u8 = 15;

/// The words of a text. The first bytes are the words' own, then come the common ranges, then the
/// places, in half bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordTable {
    bytes: Vec<u8>,
    words: usize,
    /// The half byte at which the places begin.
    places: usize,
    /// The words that count for nothing, in ranges, ascending.
    pub(super) common: Vec<Range<usize>>,
}

impl WordTable {
    pub(super) fn new(words: &[Word]) -> Self {
        let mut bytes: Vec<u8> = words.iter().map(|word| word.hash.to_le_bytes()[7]).collect();
        let mut common: Vec<Range<usize>> = Vec::new();
        for (at, _) in words.iter().enumerate().filter(|(_, word)| word.is_common) {
            match common.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => common.push(at..at + 1),
            }
        }
        let mut halves = Halves::default();
        halves.number(common.len());
        let mut end = 0;
        for range in &common {
            halves.number(range.start - end);
            halves.number(range.len());
            end = range.end;
        }
        let places = 2 * words.len() + halves.count;
        let mut end = 0;
        for word in words {
            halves.place(word.bytes.start - end, word.bytes.len());
            end = word.bytes.end;
        }
        bytes.append(&mut halves.bytes);
        Self { bytes, words: words.len(), places, common }
    }

    /// The table with these bytes, of so many words.
    pub(super) fn decode(bytes: Vec<u8>, words: usize) -> Result<Self> {
        if bytes.len() < words {
            return Err(foreign());
        }
        let mut at = 2 * words;
        let mut common = Vec::new();
        let mut end = 0;
        for _ in 0..number(&bytes, &mut at)? {
            let start = number(&bytes, &mut at)?.checked_add(end).ok_or_else(foreign)?;
            end = number(&bytes, &mut at)?.checked_add(start).ok_or_else(foreign)?;
            if end > words || common.len() > words {
                return Err(foreign());
            }
            common.push(start..end);
        }
        Ok(Self { bytes, words, places: at, common })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A byte for each word.
    pub(super) fn ids(&self) -> &[u8] {
        self.bytes.get(..self.words).unwrap_or_default()
    }

    /// Number of words that count.
    pub(super) fn counted(&self) -> usize {
        self.words - self.common.iter().map(Range::len).sum::<usize>()
    }

    /// The byte range of each word.
    pub(super) fn places(&self) -> Result<Vec<Range<u64>>> {
        let (mut at, mut end) = (self.places, 0_u64);
        let mut places = Vec::with_capacity(self.words);
        for _ in 0..self.words {
            let (gap, length) = match half(&self.bytes, &mut at)? {
                BESIDE => (0, number(&self.bytes, &mut at)?),
                TWO_AWAY => (2, number(&self.bytes, &mut at)?),
                ANY => (number(&self.bytes, &mut at)?, number(&self.bytes, &mut at)?),
                length => (1, usize::from(length)),
            };
            let start = end.checked_add(wide(gap)).ok_or_else(foreign)?;
            end = start.checked_add(wide(length)).ok_or_else(foreign)?;
            places.push(start..end);
        }
        Ok(places)
    }
}

/// A writer of half bytes, the low one first.
#[derive(Default)]
struct Halves {
    bytes: Vec<u8>,
    count: usize,
}

impl Halves {
    fn half(&mut self, half: u8) {
        match self.bytes.last_mut() {
            Some(last) if self.count % 2 == 1 => *last |= half << 4,
            _ => self.bytes.push(half),
        }
        self.count += 1;
    }

    /// Three bits a half, the lowest first; the fourth says that more follow.
    fn number(&mut self, mut number: usize) {
        loop {
            let low = u8::try_from(number & 7).unwrap_or_default();
            number >>= 3;
            self.half(if number > 0 { low | 8 } else { low });
            if number == 0 {
                return;
            }
        }
    }

    fn place(&mut self, gap: usize, length: usize) {
        match (gap, u8::try_from(length)) {
            (1, Ok(length @ 1..=13)) => return self.half(length),
            (0, _) => self.half(BESIDE),
            (2, _) => self.half(TWO_AWAY),
            _ => {
                self.half(ANY);
                self.number(gap);
            }
        }
        self.number(length);
    }
}

fn half(bytes: &[u8], at: &mut usize) -> Result<u8> {
    let byte = bytes.get(*at / 2).ok_or_else(foreign)?;
    let half = if at.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
    *at += 1;
    Ok(half)
}

fn number(bytes: &[u8], at: &mut usize) -> Result<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS - 3).step_by(3) {
        let half = half(bytes, at)?;
        number |= usize::from(half & 7) << shift;
        if half < 8 {
            return Ok(number);
        }
    }
    Err(foreign())
}

/// The error for a document that no index of passages has written.
pub(super) fn foreign() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "a document of the index is not a passage: the index was written as one of documents",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(places: &[(usize, usize)], common: &[usize]) -> Vec<Word> {
        let word = |(at, (start, end)): (usize, &(usize, usize))| Word {
            hash: (at as u64 * 7) << 56 | 5,
            bytes: *start..*end,
            is_common: common.contains(&at),
        };
        places.iter().enumerate().map(word).collect()
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let places = [(3, 5), (6, 7), (7, 20), (22, 35), (36, 50), (900, 5_000), (5_001, 5_014)];
        for common in [&[][..], &[0], &[1, 2, 5], &[0, 1, 2, 3, 4, 5, 6]] {
            let words = words(&places, common);
            let table = WordTable::new(&words);
            let again = WordTable::decode(table.bytes().to_vec(), words.len()).unwrap();
            assert_eq!(table, again);
            assert_eq!(again.ids(), [0, 7, 14, 21, 28, 35, 42]);
            assert_eq!(again.counted(), 7 - common.len());
            let expected: Vec<_> = places.map(|(start, end)| wide(start)..wide(end)).into();
            assert_eq!(again.places().unwrap(), expected);
        }
    }

    #[test]
    fn hostile_bytes_are_refused() {
        assert!(WordTable::decode(vec![1, 2], 3).is_err());
        assert!(WordTable::decode(vec![1, 2], usize::MAX).is_err());
        // A range of common words behind the last word; a number without an end; places cut off.
        assert!(WordTable::decode(vec![1, 0x21, 0x09], 1).is_err());
        assert!(WordTable::decode(vec![1, 0xff, 0xff], 1).is_err());
        assert!(WordTable::decode(vec![1, 2, 0x10], 2).unwrap().places().is_err());
        // Two ranges, the second with a start and a length that overflow.
        let most = [[0xf; 20].as_slice(), &[7]].concat();
        let halves = [[2, 0, 2].as_slice(), &most, &most, &[0]].concat();
        let bytes = halves.chunks(2).map(|two| two[0] | two.get(1).unwrap_or(&0) << 4);
        assert!(WordTable::decode([1, 2].into_iter().chain(bytes).collect(), 2).is_err());
    }
}
