//! Finds the boundaries of units by AVX2.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256i, _mm_set_epi64x, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi8,
    _mm256_cvtepu8_epi32, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
};

use super::{each, is, load, store, within};
use crate::masks::{Cut, UnitKind};

/// Writes the bytes of `piece` to `text` as they are hashed, and the edges of units to `marks`, as
/// bits. Returns whether a unit ends at the end of the text, and whether any unit starts with `_`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn marks(piece: &[u8], text: &mut [u8], marks: &mut [u64], rules: Cut) -> (bool, bool) {
    match rules.kind {
        UnitKind::Words => marks_of::<true>(piece, text, marks, rules.lower),
        UnitKind::Tokens => marks_of::<false>(piece, text, marks, rules.lower),
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn marks_of<const WORDS: bool>(
    piece: &[u8],
    text: &mut [u8],
    marks: &mut [u64],
    lower: bool,
) -> (bool, bool) {
    let case = each(if lower { 0x20 } else { 0 });
    let (mut inside, mut bars) = (0, 0);
    let (blocks, tail) = piece.as_chunks::<64>();
    let mut last = [b' '; 64];
    last[..tail.len()].copy_from_slice(tail);
    let places = text.as_chunks_mut::<64>().0;
    for (at, (place, mark)) in places.iter_mut().zip(marks).enumerate() {
        let block = blocks.get(at).unwrap_or(&last);
        let bytes = Bytes64::load(block);
        let letters = bytes.map(|bytes| letters(bytes));
        let bytes = bytes.with(letters, |bytes, letters| {
            _mm256_or_si256(bytes, _mm256_and_si256(letters, case))
        });
        bytes.store(place);
        let mut mask;
        if WORDS {
            let others = |bytes| _mm256_or_si256(digits(bytes), is(bytes, b'_'));
            // Only the highest bit of each byte counts: non-ASCII bytes have it.
            let word =
                |bytes, letters| _mm256_or_si256(_mm256_or_si256(letters, bytes), others(bytes));
            mask = bytes.with(letters, word).bits();
            let between = (mask << 1 | inside) & (mask >> 1 | 1 << 63);
            // Rare: a joining byte between two word bytes, or a `_`, which is part of a word.
            let rare = bytes.map(|bytes| joints_and_bars(bytes)).bits();
            if rare & (between | mask) != 0 {
                mask |= joined(place, around(piece, 64 * at));
                bars |= bytes.map(|bytes| is(bytes, b'_')).bits() & !(mask << 1 | inside);
            }
        } else {
            let blank = |bytes| _mm256_or_si256(is(bytes, b' '), within(bytes, b'\t', b'\r'));
            mask = !bytes.map(blank).bits();
        }
        *mark = mask ^ (mask << 1 | inside);
        inside = mask >> 63;
    }
    (inside == 1, bars != 0)
}

/// The bytes just before and just after the block at `base`.
#[inline]
fn around(piece: &[u8], base: usize) -> [u8; 2] {
    [base.wrapping_sub(1), base + 64].map(|at| piece.get(at).copied().unwrap_or(b' '))
}

/// The bytes that join their neighbours, as defined by `split::joins`.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn joined(bytes: &[u8; 64], [before, after]: [u8; 2]) -> u64 {
    let bytes = Bytes64::load(bytes);
    // The bytes whose two neighbours are both of this class. The block's first and last byte have
    // one neighbour outside.
    let between = |class: u64, before: bool, after: bool| {
        (class << 1 | u64::from(before)) & (class >> 1 | u64::from(after) << 63)
    };
    let letters = bytes.map(|bytes| _mm256_or_si256(letters(bytes), bytes)).bits();
    let digits = bytes.map(|bytes| digits(bytes)).bits();
    let [first, last] = [before, after].map(|byte| byte.is_ascii_alphabetic() || byte >= 0x80);
    let letters = between(letters, first, last);
    let digits = between(digits, before.is_ascii_digit(), after.is_ascii_digit());
    let either = |bytes, one, other| _mm256_or_si256(is(bytes, one), is(bytes, other));
    let both = bytes.map(|bytes| either(bytes, b'.', b'\'')).bits();
    let of_letters = bytes.map(|bytes| is(bytes, b':')).bits();
    let of_digits = bytes.map(|bytes| either(bytes, b',', b';')).bits();
    (both | of_letters) & letters | (both | of_digits) & digits
}

/// A block of 64 bytes in two vectors.
#[derive(Clone, Copy)]
struct Bytes64([__m256i; 2]);

impl Bytes64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 64]) -> Self {
        let (halves, _) = bytes.as_chunks::<32>();
        Self([load(&halves[0]), load(&halves[1])])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(self, place: &mut [u8; 64]) {
        let (halves, _) = place.as_chunks_mut::<32>();
        store(&mut halves[0], self.0[0]);
        store(&mut halves[1], self.0[1]);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn map(self, work: impl Fn(__m256i) -> __m256i) -> Self {
        Self([work(self.0[0]), work(self.0[1])])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn with(self, other: Self, work: impl Fn(__m256i, __m256i) -> __m256i) -> Self {
        Self([work(self.0[0], other.0[0]), work(self.0[1], other.0[1])])
    }

    /// The highest bit of each byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(self) -> u64 {
        let [low, high] =
            self.0.map(|bytes| u64::from(_mm256_movemask_epi8(bytes).cast_unsigned()));
        low | high << 32
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn letters(bytes: __m256i) -> __m256i {
    within(_mm256_or_si256(bytes, each(0x20)), b'a', b'z')
}

#[inline]
#[target_feature(enable = "avx2")]
fn digits(bytes: __m256i) -> __m256i {
    within(bytes, b'0', b'9')
}

/// Selects the bytes that may join words, and `_`: those equal to the table entry for their low
/// four bits.
#[inline]
#[target_feature(enable = "avx2")]
fn joints_and_bars(bytes: __m256i) -> __m256i {
    // The table has ' at 7, : at 10, ; at 11, comma at 12, . at 14 and _ at 15. All other entries
    // differ from every byte that is compared with them.
    let [low, high] = [0x27ff_ffff_ffff_ffff_u64, 0x5f2e_ff2c_3b3a_ffff].map(u64::cast_signed);
    let chosen = _mm256_set_epi64x(high, low, high, low);
    _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(chosen, bytes))
}

/// For each byte value: the positions of its set bits in order, one byte each, followed by zeros.
pub(super) static PLACES: Places = Places(all_places());

/// Aligned so that no entry crosses a cache line.
#[repr(align(64))]
pub(super) struct Places(pub(super) [[u8; 8]; 256]);

impl Places {
    /// The positions of the set bits of one byte, each increased by `base`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn positions(&self, byte: u8, base: __m256i) -> __m256i {
        let places = _mm_set_epi64x(0, i64::from_le_bytes(self.0[usize::from(byte)]));
        _mm256_add_epi32(_mm256_cvtepu8_epi32(places), base)
    }
}

const fn all_places() -> [[u8; 8]; 256] {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < places.len() {
        let (mut bit, mut count) = (0_u8, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
}

/// Writes the positions of the set bits in order, without a data-dependent loop, and returns their
/// number. May overwrite the numbers after them.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn places(marks: &[u64], edges: &mut [u32]) -> usize {
    let (mut count, mut base) = (0, _mm256_setzero_si256());
    for mark in marks {
        let Some(edges) = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<64>) else {
            break;
        };
        let mut new = 0;
        for byte in mark.to_le_bytes() {
            // Each earlier byte has at most eight set bits, so there is room for eight more
            // positions.
            if let Some(place) = edges.get_mut(new..).and_then(<[u32]>::first_chunk_mut::<8>) {
                store(place, PLACES.positions(byte, base));
            }
            new += byte.count_ones() as usize;
            base = _mm256_add_epi32(base, _mm256_set1_epi32(8));
        }
        count += new;
    }
    count
}
