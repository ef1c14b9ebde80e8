//! Masks of ASCII bytes by SSE2, which every x86-64 has: 16 bytes compared and gathered at once.
//! The only unsafe code of the pure part.
//!
//! Knows bytes. What the masks mean is defined in `split`, and tested there.
#![expect(unsafe_code, reason = "functions of a processor's features: see the arguments")]

use std::arch::x86_64::{
    __m128i, __m512i, _mm_add_epi8, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8,
    _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm512_add_epi64,
    _mm512_and_si512, _mm512_loadu_si512, _mm512_maskz_compress_epi64, _mm512_movepi64_mask,
    _mm512_mul_epu32, _mm512_or_si512, _mm512_permutex2var_epi64, _mm512_set1_epi64,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512,
    _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::scratch::Scratch;
use super::split::{self, Cut, Masks};
use super::{Inner, Signature};
use crate::Result;

/// Proof that this processor has AVX2 and what x86-64-v3 adds with it, made by `detect` only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Processor {
    wide: Option<Wide>,
}

/// Proof that it has AVX-512 as x86-64-v4 defines it, besides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(());

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
        v3.then_some(Self { wide: v4.then_some(Wide(())) })
    }

    /// All that this processor has, one for each kind.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        let narrow = best.map(|_| Self { wide: None });
        narrow.into_iter().chain(best.filter(|best| best.wide.is_some()))
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

impl Wide {
    /// `split::edges`. With AVX-512 the compiler makes vectors of what is faster without.
    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(crate) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        edges: &mut [u32],
        rules: Cut,
    ) -> (usize, bool) {
        // SAFETY: whoever has a `Wide` had a `Processor` first, which is a proof of AVX2.
        unsafe { edges_by_avx2(piece, text, edges, rules) }
    }

    /// `fast::pick`. `picked` must be longer by eight than `hashes`.
    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(crate) fn pick(
        self,
        hashes: &[u64],
        constants: (u64, u64),
        slots: &[u64],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { pick_by_avx512(hashes, constants, slots, picked) }
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

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn edges_by_avx2(piece: &[u8], text: &mut [u8], edges: &mut [u32], rules: Cut) -> (usize, bool) {
    split::edges(piece, text, edges, rules)
}

/// Eight hashes at a time; which slots are empty is a set of bits in two registers.
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn pick_by_avx512(
    hashes: &[u64],
    constants: (u64, u64),
    slots: &[u64],
    picked: &mut [u64],
) -> usize {
    let mut open = [0_u8; 128];
    for (open, slots) in open.iter_mut().zip(slots.chunks(8)) {
        // The highest bit of a slot says that it is empty.
        *open = _mm512_movepi64_mask(some(slots));
    }
    let open = open.as_chunks::<8>().0;
    let words =
        |from: usize| -> [u64; 8] { std::array::from_fn(|at| u64::from_le_bytes(open[from + at])) };
    let (open_low, open_high) = (all(&words(0)), all(&words(8)));
    let constant = |number: u64| _mm512_set1_epi64(number.cast_signed());
    let (add, factor, rows) =
        (constant(constants.0), constant(constants.1), constant(slots.len() as u64));
    let mut count = 0;
    let (eights, rest) = hashes.as_chunks::<8>();
    let mut last = [0; 8];
    // What fills the rest is a hash of the set once more, and so changes nothing.
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()..].fill(hashes.first().copied().unwrap_or(0));
    for eight in eights.iter().chain((!rest.is_empty()).then_some(&last)) {
        let hash = folded(_mm512_xor_si512(all(eight), add), factor);
        // (hash x rows) >> 16, from the halves of the hash.
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hash), rows);
        let low = _mm512_mul_epu32(hash, rows);
        let entry = _mm512_add_epi64(_mm512_slli_epi64::<16>(high), _mm512_srli_epi64::<16>(low));
        let row = _mm512_srli_epi64::<48>(entry);
        let word = _mm512_permutex2var_epi64(open_low, _mm512_srli_epi64::<6>(row), open_high);
        let bit = _mm512_srlv_epi64(word, _mm512_and_si512(row, constant(63)));
        let hit = _mm512_test_epi64_mask(bit, constant(1));
        if let Some(place) = picked.get_mut(count..).and_then(<[u64]>::first_chunk_mut::<8>) {
            let kept = _mm512_maskz_compress_epi64(hit, entry);
            // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), kept) };
        }
        count += hit.count_ones() as usize;
    }
    count
}

/// The two halves of the product of 64 bits, folded, from products of 32.
#[inline]
#[target_feature(enable = "avx512f")]
fn folded(a: __m512i, b: __m512i) -> __m512i {
    let half = _mm512_set1_epi64(0xffff_ffff);
    let (a_high, b_high) = (_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
    let (low, high) = (_mm512_mul_epu32(a, b), _mm512_mul_epu32(a_high, b_high));
    let (cross, other) = (_mm512_mul_epu32(a_high, b), _mm512_mul_epu32(a, b_high));
    let middle = _mm512_add_epi64(_mm512_srli_epi64::<32>(low), other);
    // A sum of two halves more would not fit: the low half of the other product comes later.
    let carried = _mm512_add_epi64(_mm512_and_si512(middle, half), _mm512_and_si512(cross, half));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(cross));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(middle));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(carried));
    let low = _mm512_or_si512(_mm512_and_si512(low, half), _mm512_slli_epi64::<32>(carried));
    _mm512_xor_si512(low, high)
}

/// Up to eight numbers, and zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn some(numbers: &[u64]) -> __m512i {
    if let Some(eight) = numbers.first_chunk() {
        return all(eight);
    }
    let mut eight = [0; 8];
    eight[..numbers.len()].copy_from_slice(numbers);
    all(&eight)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(numbers: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes are there to be read; no alignment is asked for.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
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
