//! Letter tables of 128 entries, for processors that look up many entries at once: one table per
//! pair of leading bytes, or per block of 128 three-byte characters.
//!
//! `FoldTable::letter` and `CharRecord` define which letters are plain.

/// Number of characters per table.
const BLOCK: usize = 128;
/// Number of tables up to U+2FFF.
pub(super) const BLOCKS: usize = 96;

/// Marks a word boundary: a byte that is not part of a word, and that no rule of UAX #29 joins to
/// anything.
pub(crate) const BOUNDARY: u8 = b'!';

/// The first byte of all Hebrew letters of two bytes, and of no other letters.
pub(crate) const HEBREW: u8 = 0xd7;
/// The first byte of the marks from U+0300 to U+033F.
pub(crate) const MARKS: u8 = 0xcc;

/// The letters of one normalisation.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// For each pair of leading bytes from C0 on: the second bytes of the folded characters, then
    /// their first bytes; 0 where `FoldTable::letter` is 0.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
    pub(crate) of_two: [[u8; 2 * BLOCK]; 16],
    /// The flags (`LETTER` to `BREAK`) of the characters from U+0800 to U+2FFF that do not change;
    /// 0 for the others. The blocks below U+0800 are empty.
    pub(crate) of_three: [[u8; BLOCK]; BLOCKS],
    /// Whether the joiners U+200C and U+200D, which stand between letters of Persian and Indic
    /// scripts, are dropped, and typographic quotes become ASCII quotes: `fold` does this.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
    pub(crate) shortens: bool,
}

/// A letter that does not compose with a preceding character.
pub(crate) const LETTER: u8 = 1;
/// Extends the preceding character.
pub(crate) const EXTEND: u8 = 1 << 7;
/// An extending character of combining class `VIRAMA_CLASS`; others have class 0 or `NUKTA`.
pub(crate) const VIRAMA: u8 = 1 << 6;
/// An extending character of combining class `NUKTA_CLASS`.
pub(crate) const NUKTA: u8 = 1 << 5;
/// An extending character that composes with some of the characters `FIRST`, if it follows them
/// directly.
pub(crate) const SECOND: u8 = 1 << 4;
/// A character with which a `SECOND` may compose.
pub(crate) const FIRST: u8 = 1 << 3;
/// White space or punctuation that is not part of a word, such as a dash or a danda.
pub(crate) const BREAK: u8 = 1 << 2;
/// The combining class of viramas.
pub(crate) const VIRAMA_CLASS: u8 = 9;
/// The combining class of nuktas.
pub(crate) const NUKTA_CLASS: u8 = 7;

/// The characters from U+0800 to U+2FFF that compose with an extending character of class 0,
/// `NUKTA_CLASS` or `VIRAMA_CLASS`. The tests compare them with `unicode-normalization`.
pub(crate) const FIRSTS: [u16; 27] = [
    0x928, 0x930, 0x933, 0x9c7, 0xb47, 0xb92, 0xbc6, 0xbc7, 0xcbf, 0xcc6, 0xcca, 0xd46, 0xd47,
    0xdd9, 0xddc, 0x1025, 0x1b05, 0x1b07, 0x1b09, 0x1b0b, 0x1b0d, 0x1b11, 0x1b3a, 0x1b3c, 0x1b3e,
    0x1b3f, 0x1b42,
];

impl Scripts {
    /// Built from `FoldTable::letters` and the flags of U+0800 to U+2FFF.
    pub(super) const fn new(
        letters: &[u16; 2048],
        flags: &[[u8; BLOCK]; BLOCKS],
        shortens: bool,
    ) -> Self {
        let mut of_two = [[0; 2 * BLOCK]; 16];
        let mut number = 0;
        while number < letters.len() {
            let [first, second] = letters[number].to_le_bytes();
            of_two[number / BLOCK][number % BLOCK] = second;
            of_two[number / BLOCK][BLOCK + number % BLOCK] = first;
            number += 1;
        }
        Self { of_two, of_three: *flags, shortens }
    }

    /// The block of the three-byte characters that start with E0, E1 or E2, and `second`.
    #[inline(always)]
    pub(crate) fn block(&self, first: u8, second: u8) -> &[u8; BLOCK] {
        let lead = usize::from(first.wrapping_sub(0xe0).min(2));
        &self.of_three[lead << 5 | usize::from(second >> 1 & 0x1f)]
    }

    /// The flags of a three-byte character that starts with E0, E1 or E2.
    #[inline(always)]
    pub(crate) fn flags(&self, first: u8, second: u8, third: u8) -> u8 {
        self.block(first, second)[usize::from(second & 1) << 6 | usize::from(third & 0x3f)]
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

/// Length of the complete characters at the start of a block, if all have at most three bytes. It
/// depends on the last two bytes alone, so the next block can be loaded before this one is folded.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
pub(crate) fn complete(block: &[u8]) -> usize {
    let [.., before, last] = *block else { return block.len() };
    block.len() - usize::from(last >= 0xc0).max(2 * usize::from(before >= 0xe0))
}

/// Whether the last character that was written is beyond ASCII, and whether it is a Hebrew letter.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
pub(crate) fn ending(out: &[u8], len: usize) -> (bool, bool) {
    match out.get(..len) {
        Some([.., HEBREW, _]) => (true, true),
        Some([.., 0x80..=0xff]) => (true, false),
        _ => (false, false),
    }
}

/// The leading bytes of characters of three bytes that become shorter: see `Scripts::shortens`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shortened {
    /// Become nothing.
    pub(crate) joiners: u64,
    /// Become `'`.
    pub(crate) singles: u64,
    /// Become `"`.
    pub(crate) doubles: u64,
}

impl Shortened {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
    pub(crate) fn all(self) -> u64 {
        self.joiners | self.singles | self.doubles
    }
}

/// The three-byte characters of one block in a run of text, and their flags: masks with one bit
/// per byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flagged {
    /// The leading bytes of the characters of this block that do not change.
    pub(crate) plain: u64,
    /// The third bytes of the characters with each flag. Other bytes may be set, too.
    pub(crate) extend: u64,
    pub(crate) virama: u64,
    pub(crate) nukta: u64,
    pub(crate) second: u64,
    pub(crate) first: u64,
}

impl Flagged {
    /// The leading bytes of plain characters that change, or change others, because of the
    /// character before them. `beyond` has the bytes after which a character may extend; `open`
    /// says the same of the byte before the first.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
    pub(crate) fn stops(self, beyond: u64, open: bool) -> u64 {
        let Self { plain, extend, virama, nukta, second, first } = self;
        let alone = extend >> 2 & !(beyond << 1 | u64::from(open));
        // Viramas have a higher class than nuktas, so their order would change. A character of
        // another block, or before the first byte, may be a virama; the latter may be a `FIRST`.
        let unordered = nukta >> 2 & !((plain << 2 & !virama) << 1);
        let composed = second >> 2 & (first << 1 | 1);
        plain & (alone | unordered | composed)
    }
}
