//! Finds the boundaries of units by AVX-512.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m128i, __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_mask_blend_epi8, _mm512_mask_loadu_epi8,
    _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_test_epi8_mask,
};

use super::{each, load, looked_up, numbers, store};
use crate::sketch::split::{Cut, UnitKind};

/// Classes of a byte, one bit per class. This one: the byte is part of a unit.
const IN_UNIT: u8 = 1 << 7;
/// The byte may join words, or is `_`.
const RARE: u8 = 1 << 6;
const LETTER: u8 = 1 << 5;
const DIGIT: u8 = 1 << 4;
/// The byte joins two letters.
const JOINS_LETTERS: u8 = 1 << 3;
/// The byte joins two digits.
const JOINS_DIGITS: u8 = 1 << 2;
const BAR: u8 = 1 << 1;

/// The classes of non-ASCII bytes.
const BEYOND: u8 = IN_UNIT | LETTER;

/// The classes of ASCII bytes if units are words.
static OF_WORDS: [u8; 128] = classes(UnitKind::Words);
/// The classes of ASCII bytes if units are tokens.
static OF_TOKENS: [u8; 128] = classes(UnitKind::Tokens);
/// The ASCII bytes as they are hashed: in lower case, or unchanged.
static LOWER: [u8; 128] = letters(true);
static AS_IT_WAS: [u8; 128] = letters(false);

#[expect(clippy::cast_possible_truncation, reason = "they are below 128")]
const fn classes(kind: UnitKind) -> [u8; 128] {
    let mut classes = [0; 128];
    let mut at = 0;
    while at < classes.len() {
        classes[at] = match (kind, at as u8) {
            (UnitKind::Tokens, b'\t'..=b'\r' | b' ') => 0,
            (UnitKind::Tokens, _) => IN_UNIT,
            (UnitKind::Words, b'a'..=b'z' | b'A'..=b'Z') => IN_UNIT | LETTER,
            (UnitKind::Words, b'0'..=b'9') => IN_UNIT | DIGIT,
            (UnitKind::Words, b'_') => IN_UNIT | RARE | BAR,
            // See `split::joins`.
            (UnitKind::Words, b'.' | b'\'') => RARE | JOINS_LETTERS | JOINS_DIGITS,
            (UnitKind::Words, b':') => RARE | JOINS_LETTERS,
            (UnitKind::Words, b',' | b';') => RARE | JOINS_DIGITS,
            (UnitKind::Words, _) => 0,
        };
        at += 1;
    }
    classes
}

#[expect(clippy::cast_possible_truncation, reason = "they are below 128")]
const fn letters(lower: bool) -> [u8; 128] {
    let mut letters = [0; 128];
    let mut at = 0;
    while at < letters.len() {
        let byte = at as u8;
        letters[at] = if lower { byte.to_ascii_lowercase() } else { byte };
        at += 1;
    }
    letters
}

/// Writes the bytes of `piece` to `text` as they are hashed, and the edges of units to `marks`, as
/// bits. Returns whether a unit ends at the end of the text, and whether any unit starts with `_`.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn marks(piece: &[u8], text: &mut [u8], marks: &mut [u64], rules: Cut) -> (bool, bool) {
    let classes = if rules.kind == UnitKind::Words { &OF_WORDS } else { &OF_TOKENS };
    let letters = if rules.lower { &LOWER } else { &AS_IT_WAS };
    let blanks = each(b' ');
    let (mut inside, mut bars) = (0, 0);
    let places = text.as_chunks_mut::<64>().0;
    for (nth, ((block, place), mark)) in piece.chunks(64).zip(places).zip(marks).enumerate() {
        let there = u64::MAX >> (64 - block.len());
        // SAFETY: the mask selects only bytes inside `block`; masked-off bytes are not read.
        let bytes = unsafe { _mm512_mask_loadu_epi8(blanks, there, block.as_ptr().cast()) };
        let beyond = _mm512_movepi8_mask(bytes);
        let hashed = _mm512_mask_blend_epi8(beyond, looked_up(letters, bytes), bytes);
        store(place, hashed);
        let class = _mm512_mask_blend_epi8(beyond, looked_up(classes, bytes), each(BEYOND));
        let mut mask = _mm512_movepi8_mask(class);
        let between = (mask << 1 | inside) & (mask >> 1 | 1 << 63);
        // Rare: a joining byte between two word bytes, or a `_`, which is part of a word.
        if _mm512_test_epi8_mask(class, each(RARE)) & (between | mask) != 0 {
            mask |= joined(class, around(piece, 64 * nth));
            bars |= _mm512_test_epi8_mask(class, each(BAR)) & !(mask << 1 | inside);
        }
        *mark = mask ^ (mask << 1 | inside);
        inside = mask >> 63;
    }
    (inside == 1, bars != 0)
}

/// The classes of the bytes just before and just after the block at `base`.
#[inline]
fn around(piece: &[u8], base: usize) -> [u8; 2] {
    let class = |byte: &u8| OF_WORDS.get(usize::from(*byte)).copied().unwrap_or(BEYOND);
    [base.wrapping_sub(1), base + 64].map(|at| piece.get(at).map_or(0, class))
}

/// The bytes that join their neighbours, as defined by `split::joins`.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
fn joined(class: __m512i, [before, after]: [u8; 2]) -> u64 {
    let all = |kind| _mm512_test_epi8_mask(class, each(kind));
    // The bytes whose two neighbours are both of this class. The block's first and last byte have
    // one neighbour outside.
    let between = |kind| {
        let [before, after] = [before, after].map(|class| u64::from(class & kind != 0));
        (all(kind) << 1 | before) & (all(kind) >> 1 | after << 63)
    };
    all(JOINS_LETTERS) & between(LETTER) | all(JOINS_DIGITS) & between(DIGIT)
}

/// The numbers from 0 to 63.
static NUMBERS: [u8; 64] = numbers(0);

/// Writes the positions of the set bits in order, without a data-dependent loop, and returns their
/// number. May overwrite the numbers after them.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
pub(crate) fn places(marks: &[u64], edges: &mut [u32]) -> usize {
    let numbers = load(&NUMBERS);
    let (mut count, mut base) = (0, _mm512_setzero_si512());
    for &mark in marks {
        let Some(places) = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<64>) else {
            break;
        };
        let kept = _mm512_maskz_compress_epi8(mark, numbers);
        let [first, second, third, last] = places.as_chunks_mut::<16>().0 else { break };
        write(_mm512_castsi512_si128(kept), base, first);
        write(_mm512_extracti32x4_epi32::<1>(kept), base, second);
        let new = mark.count_ones() as usize;
        if new > 32 {
            // Rare: a block has more than 32 edges only if most of its units are single letters.
            write(_mm512_extracti32x4_epi32::<2>(kept), base, third);
            write(_mm512_extracti32x4_epi32::<3>(kept), base, last);
        }
        count += new;
        base = _mm512_add_epi32(base, _mm512_set1_epi32(64));
    }
    count
}

/// Writes sixteen bytes as numbers, each increased by `base`.
#[inline]
#[target_feature(enable = "avx512f")]
fn write(bytes: __m128i, base: __m512i, places: &mut [u32; 16]) {
    store(places, _mm512_add_epi32(_mm512_cvtepu8_epi32(bytes), base));
}
