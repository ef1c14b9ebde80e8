//! How each normalisation maps each character, read from the checked-in tables.
//!
//! Layout of `fold.bin` and `case.bin`: 1,024 records of eight bytes; one block number for every 64
//! characters, up to U+323FF; then the blocks, which hold the record number of each character.
//! Numbers are two-byte little-endian. `tools/tables` writes the files, and `sketch::tests::fold`
//! compares them with their definition.

use super::scripts::{self, Scripts};

/// The first character beyond the tables.
const CHARS: usize = 0x3_2400;
const BLOCK: usize = 64;
const RECORDS: usize = 1024;

/// The tables of one normalisation.
#[derive(Debug)]
pub(crate) struct FoldTable {
    records: &'static [[u8; 8]; RECORDS],
    numbers: &'static [[u8; 2]; CHARS / BLOCK],
    blocks: &'static [[u8; 2]],
    /// For each two-byte character, the bytes of its folded character if that is a letter that does
    /// not compose with a preceding character; otherwise 0.
    letters: &'static [u16; 2048],
    /// One bit for each first byte from E0 on and each second byte. It is set if all three-byte
    /// characters with this start are letters that do not change and do not compose with a
    /// preceding character.
    stay: &'static [u64; 16],
    /// The contents of `letters`, and the kinds of some three-byte characters, in a layout for
    /// vector look-ups.
    pub(crate) scripts: &'static Scripts,
}

/// Normalisation `fold`.
pub(crate) static FOLD: FoldTable =
    FoldTable::new(include_bytes!("fold.bin"), &FOLD_LETTERS, &FOLD_STAY, &FOLD_SCRIPTS);
static FOLD_STAY: [u64; 16] = all_that_stay(include_bytes!("fold.bin"));
static FOLD_LETTERS: [u16; 2048] = all_letters(include_bytes!("fold.bin"));
static FOLD_SCRIPTS: Scripts = scripts(include_bytes!("fold.bin"));
const _: () = assert!(shortens(include_bytes!("fold.bin")), "its fast path depends on it");
/// Normalisation `case`.
pub(crate) static CASE: FoldTable =
    FoldTable::new(include_bytes!("case.bin"), &CASE_LETTERS, &CASE_STAY, &CASE_SCRIPTS);
static CASE_STAY: [u64; 16] = all_that_stay(include_bytes!("case.bin"));
static CASE_LETTERS: [u16; 2048] = all_letters(include_bytes!("case.bin"));
static CASE_SCRIPTS: Scripts = scripts(include_bytes!("case.bin"));

/// How the characters of a record are mapped, and properties of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharRecord(u64);

/// Word classes, with their numbers in the records. The tests define them: `definition::Class`.
pub(crate) mod class {
    pub(crate) const LETTER: u8 = 0;
    pub(crate) const HEBREW: u8 = 1;
    pub(crate) const NUMBER: u8 = 2;
    pub(crate) const KATAKANA: u8 = 3;
    /// A word by itself.
    pub(crate) const ALONE: u8 = 4;
    /// Extends the preceding character, and makes it part of a word.
    pub(crate) const EXTEND_ALPHABETIC: u8 = 5;
    pub(crate) const EXTEND: u8 = 6;
    /// Joins two letters.
    pub(crate) const MID_LETTER: u8 = 7;
    /// Joins two numbers.
    pub(crate) const MID_NUMBER: u8 = 8;
    /// Joins two letters or two numbers.
    pub(crate) const MID_BOTH: u8 = 9;
    pub(crate) const WHITE: u8 = 10;
    /// Not part of a word.
    pub(crate) const BREAK: u8 = 11;
}

/// The value of `CharRecord::bytes` for a character that becomes two.
const PAIR: u8 = 253;
/// The value of `CharRecord::bytes` for a character that becomes a single one, perhaps itself.
pub(crate) const MOVED: u8 = 254;
/// Mask to recognise a letter that composes with nothing before it: the bits of its record under
/// this mask equal `MOVED << 32`. They say that the character becomes a single one, of class
/// `LETTER` or `HEBREW` (which differ in bit 0, which the mask leaves out), has combining class 0
/// and lacks the flag `MAYBE`.
const LETTER_BITS: u64 = 0x01_ff_fe_ff << 32;
/// Flags: the character may compose with a preceding one; it has a canonical decomposition.
const MAYBE: u8 = 1;
const DECOMPOSES: u8 = 2;

impl FoldTable {
    const fn new(
        bytes: &'static [u8],
        letters: &'static [u16; 2048],
        stay: &'static [u64; 16],
        scripts: &'static Scripts,
    ) -> Self {
        let (records, rest) = bytes.split_at(RECORDS * 8);
        let (numbers, blocks) = rest.split_at(CHARS / BLOCK * 2);
        match (records.as_chunks().0.first_chunk(), numbers.as_chunks().0.first_chunk()) {
            (Some(records), Some(numbers)) => {
                Self { records, numbers, blocks: blocks.as_chunks().0, letters, stay, scripts }
            }
            _ => panic!("the tables are complete"),
        }
    }

    /// The entry of `letters` for these two bytes.
    #[inline(always)]
    pub(crate) fn letter(&self, first: u8, second: u8) -> u16 {
        self.letters[usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)]
    }

    /// Whether all three-byte characters that start with these bytes are letters that do not
    /// change.
    #[inline(always)]
    pub(crate) fn stays(&self, first: u8, second: u8) -> bool {
        first < 0xf0 && self.stay[usize::from(first & 0xf)] >> (second & 0x3f) & 1 == 1
    }

    /// Folds the two-byte letters at the start of these bytes, and returns how many there are.
    #[inline(always)]
    pub(crate) fn eight_letters(&self, bytes: &[u8; 16]) -> ([u8; 16], usize) {
        const LEAD: u128 = 0x00e0_00e0_00e0_00e0_00e0_00e0_00e0_00e0;
        const OF_TWO: u128 = 0x00c0_00c0_00c0_00c0_00c0_00c0_00c0_00c0;
        let others = (u128::from_le_bytes(*bytes) & LEAD) ^ OF_TWO;
        let (mut letters, mut none) = ([0; 16], 1 << 8);
        let pairs = bytes.as_chunks::<2>().0.iter().zip(letters.as_chunks_mut::<2>().0);
        for (([first, second], to), nth) in pairs.zip(0..) {
            let letter = self.letter(*first, *second);
            *to = letter.to_le_bytes();
            none |= u32::from(letter == 0) << nth;
        }
        (letters, (others.trailing_zeros() / 16).min(none.trailing_zeros()) as usize)
    }

    /// The record of the character with this code point.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> CharRecord {
        let number = number as usize;
        let block = self.numbers.get(number / BLOCK).map(|block| u16::from_le_bytes(*block));
        let place = block.map(|block| usize::from(block) * BLOCK + number % BLOCK);
        let record = place.and_then(|place| self.blocks.get(place)).copied().unwrap_or([0; 2]);
        // All record numbers are below `RECORDS`; the mask only tells the compiler so.
        let record = usize::from(u16::from_le_bytes(record)) & (RECORDS - 1);
        CharRecord(u64::from_le_bytes(self.records[record]))
    }
}

/// The bits of a character's record, at compile time.
const fn record_of(bytes: &[u8], number: usize) -> u64 {
    let (records, rest) = bytes.split_at(RECORDS * 8);
    let (numbers, blocks) = rest.split_at(CHARS / BLOCK * 2);
    let block = numbers.as_chunks().0[number / BLOCK];
    let place = u16::from_le_bytes(block) as usize * BLOCK + number % BLOCK;
    let record = u16::from_le_bytes(blocks.as_chunks().0[place]) as usize;
    u64::from_le_bytes(records.as_chunks().0[record])
}

/// Computes `FoldTable::letters`.
const fn all_letters(bytes: &[u8]) -> [u16; 2048] {
    let mut letters = [0; 2048];
    let mut number = 0x80;
    while number < letters.len() {
        let record = record_of(bytes, number);
        #[expect(clippy::cast_possible_truncation, reason = "the low half, and a small number")]
        let to = (number as u32).wrapping_add(record as u32);
        let [to_first, to_second] = [0xc0 | to >> 6, 0x80 | to & 0x3f];
        if record & LETTER_BITS == (MOVED as u64) << 32 && 0x80 <= to && to < 0x800 {
            let bytes = to_first | to_second << 8;
            #[expect(clippy::cast_possible_truncation, reason = "two bytes")]
            let bytes = bytes as u16;
            letters[number] = bytes;
        }
        number += 1;
    }
    letters
}

/// Computes `FoldTable::stay`. Hangul syllables are letters that do not change. Blocks whose
/// characters have the same records share one block number. So every block with the number of the
/// first Hangul block consists of such letters, too.
const fn all_that_stay(bytes: &[u8]) -> [u64; 16] {
    const HANGUL: usize = 0xac00;
    let mut number = HANGUL;
    while number < HANGUL + BLOCK {
        let record = record_of(bytes, number);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
        let stays = record & LETTER_BITS == (MOVED as u64) << 32 && record as u32 == 0;
        assert!(stays, "Hangul syllables are letters that stay");
        number += 1;
    }
    let numbers = bytes.split_at(RECORDS * 8).1.as_chunks().0;
    let hangul = u16::from_le_bytes(numbers[HANGUL / BLOCK]);
    let mut stay = [0; 16];
    let mut block = 0x800 / BLOCK;
    while block < 0x1_0000 / BLOCK {
        if u16::from_le_bytes(numbers[block]) == hangul {
            stay[block / 64] |= 1 << (block % 64);
        }
        block += 1;
    }
    stay
}

/// Computes `FoldTable::scripts`.
const fn scripts(bytes: &[u8]) -> Scripts {
    let mut flags = [[0; 128]; scripts::BLOCKS];
    let mut number = 0x800;
    while number < 128 * scripts::BLOCKS {
        flags[number / 128][number % 128] = scripts_flags(record_of(bytes, number));
        number += 1;
    }
    let mut nth = 0;
    while nth < scripts::FIRSTS.len() {
        let number = scripts::FIRSTS[nth] as usize;
        let known = flags[number / 128][number % 128];
        if known != 0 {
            flags[number / 128][number % 128] = known | scripts::FIRST;
        }
        nth += 1;
    }
    Scripts::new(&all_letters(bytes), &flags, shortens(bytes))
}

/// Computes `Scripts::shortens`.
const fn shortens(bytes: &[u8]) -> bool {
    const SHORT: [(usize, u64); 6] = [
        (0x200c, 0),
        (0x200d, 0),
        (0x2018, 1 << 32 | b'\'' as u64),
        (0x2019, 1 << 32 | b'\'' as u64),
        (0x201c, 1 << 32 | b'"' as u64),
        (0x201d, 1 << 32 | b'"' as u64),
    ];
    let mut nth = 0;
    while nth < SHORT.len() {
        let (number, short) = SHORT[nth];
        if record_of(bytes, number) & 0xff_ffff_ffff != short {
            return false;
        }
        nth += 1;
    }
    true
}

/// The flags of a character with this record in `Scripts::of_three`, without `FIRST`.
const fn scripts_flags(record: u64) -> u8 {
    use scripts::{BREAK, EXTEND, LETTER, NUKTA, NUKTA_CLASS, SECOND, VIRAMA, VIRAMA_CLASS};
    let [_, _, _, _, becomes, class, combining, flags] = record.to_le_bytes();
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    let stays = becomes == MOVED && record as u32 == 0;
    let extends = class == class::EXTEND || class == class::EXTEND_ALPHABETIC;
    if stays && record & LETTER_BITS == (MOVED as u64) << 32 {
        return LETTER;
    }
    if stays && (class == class::WHITE || class == class::BREAK) && combining == 0 && flags == 0 {
        return BREAK;
    }
    if !stays || !extends {
        return 0;
    }
    let second = if flags & MAYBE == 0 { 0 } else { SECOND };
    match combining {
        0 => EXTEND | second,
        VIRAMA_CLASS => EXTEND | VIRAMA | second,
        NUKTA_CLASS => EXTEND | NUKTA | second,
        _ => 0,
    }
}

impl CharRecord {
    #[inline(always)]
    fn byte(self, nth: usize) -> u8 {
        self.0.to_le_bytes()[nth]
    }

    /// The number of ASCII bytes that the character becomes, from 0 to 4; or `PAIR` or `MOVED`; or
    /// 255 if it is not in the tables.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u8 {
        self.byte(4)
    }

    /// Whether the character becomes a single one, perhaps itself: see `value`.
    #[inline(always)]
    pub(crate) fn is_moved(self) -> bool {
        self.bytes() == MOVED
    }

    /// The ASCII bytes that the character becomes, followed by zeros.
    #[inline(always)]
    pub(crate) fn ascii(self) -> [u8; 4] {
        self.value().to_le_bytes()
    }

    /// The two characters that the character becomes; `None` if it does not become two.
    #[inline(always)]
    pub(crate) fn pair(self) -> Option<[u32; 2]> {
        let pair = [self.value() & 0xffff, self.value() >> 16];
        (self.bytes() == PAIR).then_some(pair)
    }

    /// Whether the character extends the preceding one, does not change and composes with nothing.
    #[inline(always)]
    pub(crate) fn extends_plainly(self) -> bool {
        let extends = matches!(self.class(), class::EXTEND | class::EXTEND_ALPHABETIC);
        extends && self.is_moved() && self.value() == 0 && !self.may_compose()
    }

    /// The ASCII text that the character becomes; `None` if it becomes something else.
    pub(crate) fn text(self) -> Option<String> {
        let bytes = self.ascii();
        let text = bytes.get(..usize::from(self.bytes()))?;
        Some(text.iter().copied().map(char::from).collect())
    }

    /// The offset that is added to the character's code point if it is moved.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    pub(crate) fn value(self) -> u32 {
        self.0 as u32
    }

    /// The word class of the character after the mapping.
    #[inline(always)]
    pub(crate) fn class(self) -> u8 {
        self.byte(5)
    }

    /// The canonical combining class of the character after the mapping.
    #[inline(always)]
    pub(crate) fn combining(self) -> u8 {
        self.byte(6)
    }

    #[inline(always)]
    pub(crate) fn may_compose(self) -> bool {
        self.byte(7) & MAYBE != 0
    }

    #[inline(always)]
    pub(crate) fn decomposes(self) -> bool {
        self.byte(7) & DECOMPOSES != 0
    }

    /// Whether the character becomes a letter that does not compose with a preceding character.
    #[inline(always)]
    fn is_letter(self) -> bool {
        self.0 & LETTER_BITS == u64::from(MOVED) << 32
    }

    /// Whether this character, with the given code point, becomes a letter that does not compose
    /// with a preceding character and whose first byte says whether it is Hebrew. The Hebrew
    /// letters of three bytes, which `case` keeps, are not plain.
    #[inline(always)]
    pub(crate) fn is_plain_letter(self, number: u32) -> bool {
        let is_long = number.wrapping_add(self.value()) >= 0x800;
        self.is_letter() && !(is_long && self.class() == class::HEBREW)
    }

    /// Whether both a word boundary and a normalisation boundary precede the character if it
    /// follows a blank.
    pub(crate) fn begins(self) -> bool {
        match self.bytes() {
            MOVED => {
                const ALONE: u8 = class::ALONE;
                const MID_LETTER: u8 = class::MID_LETTER;
                let class = self.class();
                let begins = matches!(class, 0..=ALONE | MID_LETTER..=class::MID_BOTH);
                self.combining() == 0 && (begins || class == class::BREAK)
            }
            bytes => (1..=4).contains(&bytes),
        }
    }
}
