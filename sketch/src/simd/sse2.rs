//! Byte masks by SSE2, which is available on every x86-64: 16 bytes per instruction.
//!
//! The meaning of the masks is defined in `masks`.

use crate::masks::Masks;
use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_cvtsi128_si64,
    _mm_movemask_epi8, _mm_mul_epu32, _mm_mulhi_epu16, _mm_mullo_epi16, _mm_or_si128,
    _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi16, _mm_set1_epi64x, _mm_slli_epi16, _mm_slli_epi32,
    _mm_slli_epi64, _mm_srli_epi16, _mm_srli_epi64, _mm_sub_epi16, _mm_sub_epi64,
    _mm_unpackhi_epi64,
};

/// The masks of a block of 64 bytes.
#[inline]
pub(crate) fn masks(block: &[u8; 64]) -> Masks {
    // SAFETY: the function needs only SSE2. This file is compiled only for targets with SSE2, so
    // every processor that runs it has SSE2.
    unsafe { masks_by_sse2(block) }
}

/// The mask of ASCII white space in 64 bytes.
#[inline]
pub(crate) fn blanks(block: &[u8; 64]) -> u64 {
    // SAFETY: as above.
    unsafe { blanks_by_sse2(block) }
}

/// The eight digits of each of two numbers below 10^8, as defined by `eights::plain_eights`.
#[inline(always)]
pub(crate) fn eights(numbers: [u64; 2]) -> [u64; 2] {
    // SAFETY: as above.
    unsafe { eights_by_sse2(numbers) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn eights_by_sse2([first, second]: [u64; 2]) -> [u64; 2] {
    let numbers = _mm_set_epi64x(second.cast_signed(), first.cast_signed());
    // x * 3,518,437,209 >> 45 is x / 10,000 for all x below 2^32.
    let high = _mm_set1_epi64x(3_518_437_209);
    let high = _mm_srli_epi64::<45>(_mm_mul_epu32(numbers, high));
    let low = _mm_sub_epi64(numbers, _mm_mul_epu32(high, _mm_set1_epi64x(10_000)));
    let fours = _mm_or_si128(high, _mm_slli_epi64::<32>(low));
    // x * 5,243 >> 19 is x / 100 for all x below 10,000; x * 6,554 >> 16 is x / 10 below 100.
    let high = _mm_srli_epi16::<3>(_mm_mulhi_epu16(fours, _mm_set1_epi16(5_243)));
    let low = _mm_sub_epi16(fours, _mm_mullo_epi16(high, _mm_set1_epi16(100)));
    let twos = _mm_or_si128(high, _mm_slli_epi32::<16>(low));
    let high = _mm_mulhi_epu16(twos, _mm_set1_epi16(6_554));
    let low = _mm_sub_epi16(twos, _mm_mullo_epi16(high, _mm_set1_epi16(10)));
    let digits = _mm_or_si128(high, _mm_slli_epi16::<8>(low));
    let halves = [digits, _mm_unpackhi_epi64(digits, digits)];
    halves.map(|half| _mm_cvtsi128_si64(half).cast_unsigned())
}

#[inline]
#[target_feature(enable = "sse2")]
fn masks_by_sse2(block: &[u8; 64]) -> Masks {
    let mut masks = Masks { word: 0, joint: 0, bar: 0 };
    for (bytes, shift) in block.as_chunks::<16>().0.iter().zip((0..64).step_by(16)) {
        let bytes = load(bytes);
        let digit = between(bytes, b'0', b'9');
        let letter = between(_mm_or_si128(bytes, each(0x20)), b'a', b'z');
        let bar = _mm_cmpeq_epi8(bytes, each(b'_'));
        let joint = _mm_andnot_si128(digit, between(bytes, b'\'', b';'));
        // The mask takes the highest bit of each byte, which is set in non-ASCII bytes.
        let letter = _mm_or_si128(letter, bytes);
        masks.word |= gather(_mm_or_si128(_mm_or_si128(digit, letter), bar)) << shift;
        masks.joint |= gather(joint) << shift;
        masks.bar |= gather(bar) << shift;
    }
    masks
}

#[inline]
#[target_feature(enable = "sse2")]
fn blanks_by_sse2(block: &[u8; 64]) -> u64 {
    let mut mask = 0;
    for (bytes, shift) in block.as_chunks::<16>().0.iter().zip((0..64).step_by(16)) {
        let bytes = load(bytes);
        let blank = _mm_cmpeq_epi8(bytes, each(b' '));
        mask |= gather(_mm_or_si128(blank, between(bytes, b'\t', b'\r'))) << shift;
    }
    mask
}

#[inline]
#[target_feature(enable = "sse2")]
fn each(byte: u8) -> __m128i {
    _mm_set1_epi8(byte.cast_signed())
}

/// Selects bytes from `first` to `last`. Moves this range to the low end of the signed bytes, so
/// that one comparison suffices.
#[inline]
#[target_feature(enable = "sse2")]
fn between(bytes: __m128i, first: u8, last: u8) -> __m128i {
    let moved = _mm_add_epi8(bytes, each(0x80_u8.wrapping_sub(first)));
    _mm_cmplt_epi8(moved, each(0x80_u8.wrapping_add(last - first + 1)))
}

#[inline]
#[target_feature(enable = "sse2")]
fn gather(mask: __m128i) -> u64 {
    u64::from(_mm_movemask_epi8(mask).cast_unsigned())
}

/// Loads two words, which the compiler combines into one load.
#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    let bytes = u128::from_le_bytes(*bytes).cast_signed();
    #[expect(clippy::cast_possible_truncation, reason = "halves are wanted")]
    let (low, high) = (bytes as i64, (bytes >> 64) as i64);
    _mm_set_epi64x(high, low)
}
