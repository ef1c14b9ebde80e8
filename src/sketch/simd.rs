//! Masks of ASCII bytes by SSE2, which every x86-64 has: 16 bytes compared and gathered at once.
//! With its part for AVX-512, the only unsafe code that makes signatures.
//!
//! Knows bytes. What the masks mean is defined in `split`, and tested there.
#![expect(unsafe_code, reason = "functions of a processor's features: see the arguments")]

use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
};

use super::scratch::Scratch;
use super::split::Masks;
use super::{Inner, Signature};
use crate::Result;

mod wide;

/// Proof that this processor has AVX2 and what x86-64-v3 adds with it, made by `detect` only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Processor {
    wide: Option<Wide>,
}

/// Proof that it has AVX-512 as x86-64-v4 defines it, besides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide {
    /// That it has VBMI2, too.
    bytes: bool,
}

impl Processor {
    pub(crate) fn detect() -> Option<Self> {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let v4 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let bytes = is_x86_feature_detected!("avx512vbmi2");
        v3.then_some(Self { wide: v4.then_some(Wide { bytes }) })
    }

    /// All that this processor has, one for each kind.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        let narrow = best.map(|_| Self { wide: None });
        let wide = best.and_then(|best| best.wide);
        let wides = [wide.map(|_| Wide { bytes: false }), wide.filter(|wide| wide.bytes)];
        let wides = wides.into_iter().flatten().map(|wide| Self { wide: Some(wide) });
        narrow.into_iter().chain(wides)
    }

    #[cfg(test)]
    pub(crate) fn wide(self) -> Option<Wide> {
        self.wide
    }

    /// `Inner::text`, compiled for this processor: the same code, fewer instructions.
    pub(crate) fn text(
        self,
        inner: &Inner,
        text: &str,
        scratch: &mut Scratch,
    ) -> Result<Signature> {
        match self.wide {
            // SAFETY: the function needs the features that a `Wide` is made with only.
            Some(wide) => unsafe { text_by_avx512(wide, inner, text, scratch) },
            // SAFETY: the function needs the features that a `Processor` is made with only.
            None => unsafe { text_by_avx2(inner, text, scratch) },
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx2(inner: &Inner, text: &str, scratch: &mut Scratch) -> Result<Signature> {
    inner.text(None, text, scratch)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx512(
    wide: Wide,
    inner: &Inner,
    text: &str,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.text(Some(wide), text, scratch)
}

/// The masks of 64 ASCII bytes.
#[inline]
pub(crate) fn masks(block: &[u8; 64]) -> Masks {
    // SAFETY: the function needs SSE2 and nothing else; this file is compiled where the build has
    // it, so no processor that runs the build is without.
    unsafe { masks_by_sse2(block) }
}

/// The white space of 64 ASCII bytes.
#[inline]
pub(crate) fn blanks(block: &[u8; 64]) -> u64 {
    // SAFETY: as above.
    unsafe { blanks_by_sse2(block) }
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

/// Bytes from `first` to `last`: moved to the low end of the signed numbers.
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

/// Two words, which the compiler makes one load.
#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    let bytes = u128::from_le_bytes(*bytes).cast_signed();
    #[expect(clippy::cast_possible_truncation, reason = "halves are wanted")]
    let (low, high) = (bytes as i64, (bytes >> 64) as i64);
    _mm_set_epi64x(high, low)
}
