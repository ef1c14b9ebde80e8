//! Letter tables of 128 entries, one table per pair of leading bytes, for processors that look up
//! many entries at once.
//!
//! `FoldTable::letter` and `CharRecord` define which letters are plain.

/// Number of characters per pair of leading bytes: 64 for each of the two.
const PAIR: usize = 128;

/// The letters of one normalisation.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// For each pair of leading bytes from C0 on: the second bytes of the folded characters, then
    /// their first bytes; 0 where `FoldTable::letter` is 0.
    pub(crate) of_two: [[u8; 2 * PAIR]; 16],
    /// The kinds (`LETTER`, `EXTEND` or `VIRAMA`) of the characters from U+0800 to U+0FFF that do
    /// not change; 0 for the others.
    pub(crate) of_three: [[u8; PAIR]; 16],
}

/// A letter that does not compose with a preceding character.
pub(crate) const LETTER: u8 = 1;
/// Extends the preceding character, composes with nothing, and has combining class 0.
pub(crate) const EXTEND: u8 = 2;
/// Like `EXTEND`, but with combining class `VIRAMA_CLASS`.
pub(crate) const VIRAMA: u8 = 4;
/// The combining class of viramas.
pub(crate) const VIRAMA_CLASS: u8 = 9;

impl Scripts {
    /// Built from `FoldTable::letters` and the kinds of U+0800 to U+0FFF.
    pub(super) const fn new(letters: &[u16; 2048], kinds: &[[u8; PAIR]; 16]) -> Self {
        let mut of_two = [[0; 2 * PAIR]; 16];
        let mut number = 0;
        while number < letters.len() {
            let [first, second] = letters[number].to_le_bytes();
            of_two[number / PAIR][number % PAIR] = second;
            of_two[number / PAIR][PAIR + number % PAIR] = first;
            number += 1;
        }
        Self { of_two, of_three: *kinds }
    }

    /// The kind of the three-byte character E0, `second`, `third`.
    #[inline(always)]
    pub(crate) fn kind(&self, second: u8, third: u8) -> u8 {
        let window = &self.of_three[usize::from(second >> 1 & 0xf)];
        window[usize::from(second & 1) << 6 | usize::from(third & 0x3f)]
    }
}

/// The read and write positions at the start or end of a folded run of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// Whether an extending character may follow.
    pub(crate) open: bool,
}
