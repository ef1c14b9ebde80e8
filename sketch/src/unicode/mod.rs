//! What signatures need to know of characters: word classes, combining classes, decompositions,
//! composites and lower case.
//!
//! Signatures are stored for ever, so these tables are part of this crate: no other crate and no
//! compiler can change them. `docs/reference/SIGNATURES.md` names their Unicode versions;
//! `tools/tables` writes the files; the tests compare them with the crates they were made from.
//!
//! Layout of `chars.bin`: 256 records of three bytes (`Properties`); one block number of two bytes
//! for every 64 characters, up to U+3347F; then the blocks, which hold the record number of each
//! character in one byte. Numbers are little-endian.

mod char_map;
mod normal;
pub(crate) mod words;

pub(crate) use normal::{compose, is_composed, nfc, ordered};

use char_map::CharMap;

/// The Unicode version of each table.
pub(crate) const LOWER_VERSION: &str = "16.0.0";
pub(crate) const FOLDING_VERSION: &str = "16.0.0";
pub(crate) const FORMS_VERSION: &str = "18.0.0";
pub(crate) const WORDS_VERSION: &str = "17.0.0";

/// The full canonical decomposition of each character that has one, Hangul syllables left out.
static DECOMPOSED: CharMap = CharMap::new(include_bytes!("decomposed.bin"));
/// The lower case of each character that changes.
static LOWER: CharMap = CharMap::new(include_bytes!("lower.bin"));
/// What `fold` makes of characters that `fold.bin` has no record for.
static FOLDED: CharMap = CharMap::new(include_bytes!("folded.bin"));

/// The first character beyond the table.
const CHARS: usize = 0x3_3480;
const BLOCK: usize = 64;
const RECORDS: usize = 256;

static RECORD: [[u8; 3]; RECORDS] = *parts().0;
static NUMBERS: [[u8; 2]; CHARS / BLOCK] = *parts().1;
static BLOCKS: &[u8] = parts().2;

type Parts = (&'static [[u8; 3]; RECORDS], &'static [[u8; 2]; CHARS / BLOCK], &'static [u8]);

const fn parts() -> Parts {
    let (records, rest) = include_bytes!("chars.bin").split_at(RECORDS * 3);
    let (numbers, blocks) = rest.split_at(CHARS / BLOCK * 2);
    match (records.as_chunks().0.first_chunk(), numbers.as_chunks().0.first_chunk()) {
        (Some(records), Some(numbers)) => (records, numbers, blocks),
        _ => panic!("the table is complete"),
    }
}

/// Flags of `Properties`.
pub(crate) mod flag {
    /// Makes a segment a word: property Alphabetic, or general category N.
    pub(crate) const ALPHANUMERIC: u8 = 1;
    /// Joins a zero-width joiner before it: property `Extended_Pictographic`.
    pub(crate) const PICTOGRAPHIC: u8 = 2;
    /// Never occurs in form C.
    pub(crate) const NOT_COMPOSED: u8 = 4;
    /// May compose with the character before it.
    pub(crate) const SECOND: u8 = 8;
    /// `DECOMPOSED` has it.
    pub(crate) const DECOMPOSES: u8 = 16;
    /// `LOWER` has it.
    pub(crate) const LOWERS: u8 = 32;
}

/// The properties of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Properties {
    /// A number of `words::class`.
    pub(crate) word_class: u8,
    flags: u8,
    /// The canonical combining class.
    pub(crate) combining: u8,
}

impl Properties {
    #[inline]
    pub(crate) fn of(c: char) -> Self {
        let number = c as usize;
        let Some(block) = NUMBERS.get(number / BLOCK) else { return Self::beyond(c) };
        let place = usize::from(u16::from_le_bytes(*block)) * BLOCK + number % BLOCK;
        let record = BLOCKS.get(place).copied().unwrap_or(0);
        let [word_class, flags, combining] = RECORD[usize::from(record)];
        Self { word_class, flags, combining }
    }

    /// The properties of characters beyond the table: tags and variation selectors extend.
    fn beyond(c: char) -> Self {
        let extends =
            matches!(c, '\u{e0001}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}');
        let word_class = if extends { words::class::EXTEND } else { words::class::OTHER };
        Self { word_class, flags: 0, combining: 0 }
    }

    /// Whether one of these flags is set.
    #[inline]
    pub(crate) fn has(self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// The canonical combining class.
pub(crate) fn combining_class(c: char) -> u8 {
    Properties::of(c).combining
}

/// The full lower case mapping, without context; `None` if the character stays.
#[inline]
pub(crate) fn lower(c: char) -> Option<&'static str> {
    if Properties::of(c).has(flag::LOWERS) { LOWER.get(c) } else { None }
}

/// The full canonical decomposition of a character that has one and is no Hangul syllable.
pub(crate) fn decomposed(c: char) -> Option<&'static str> {
    if Properties::of(c).has(flag::DECOMPOSES) { DECOMPOSED.get(c) } else { None }
}

/// What `fold` makes of a character that is decomposed and has no record in `fold.bin`; `None` if
/// it stays.
pub(crate) fn folded(c: char) -> Option<&'static str> {
    FOLDED.get(c)
}
