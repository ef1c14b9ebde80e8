//! Masks of bytes by SSE2, which every x86-64 has: 16 bytes compared and gathered at once.
//! With its parts for AVX2 and AVX-512, the only unsafe code that makes signatures.
//!
//! Knows bytes. What the masks mean is defined in `split`, and tested there.
#![expect(unsafe_code, reason = "functions of a processor's features: see the arguments")]

use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_cvtsi128_si64,
    _mm_movemask_epi8, _mm_mul_epu32, _mm_mulhi_epu16, _mm_mullo_epi16, _mm_or_si128,
    _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi16, _mm_set1_epi64x, _mm_slli_epi16, _mm_slli_epi32,
    _mm_slli_epi64, _mm_srli_epi16, _mm_srli_epi64, _mm_sub_epi16, _mm_sub_epi64,
    _mm_unpackhi_epi64,
};

use super::few::{Eight, FEW_MAX};
use super::fold::scripts::{Scripts, Stretch};
use super::hash::{direct, finalise_all};
use super::large::Large;
use super::scratch::Scratch;
use super::split::{Cut, Masks};
use super::unit::UnitHash;
use super::{Inner, Signature};
use crate::Result;

mod narrow;
mod wide;

/// What this processor has beyond what every one has, and proof of it: made by `detect` only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    Narrow(Narrow),
    Wide(Wide),
}

/// Proof that it has AVX2 and what x86-64-v3 adds with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow(());

/// Proof that it has AVX-512 as x86-64-v4 defines it, and VBMI and VBMI2, besides. Those that have
/// only the first (before Ice Lake) take the way of AVX2, so that there is no third.
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
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        v3.then_some(if v4 { Self::Wide(Wide(())) } else { Self::Narrow(Narrow(())) })
    }

    /// All that this processor has, one for each kind.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        let narrow = best.map(|_| Self::Narrow(Narrow(())));
        let wide = best.filter(|best| matches!(best, Self::Wide(_)));
        narrow.into_iter().chain(wide)
    }

    /// `Inner::text`, compiled for this processor: the same code, fewer instructions.
    pub(crate) fn text(
        self,
        inner: &Inner,
        text: &str,
        scratch: &mut Scratch,
    ) -> Result<Signature> {
        match self {
            // SAFETY: the function needs the features that a `Narrow` is made with only.
            Self::Narrow(narrow) => unsafe { text_by_avx2(narrow, inner, text, scratch) },
            // SAFETY: the function needs the features that a `Wide` is made with only.
            Self::Wide(wide) => unsafe { text_by_avx512(wide, inner, text, scratch) },
        }
    }

    /// `Inner::large_text` likewise.
    pub(crate) fn large_text(
        self,
        inner: &Inner,
        text: &str,
        large: Large,
        scratch: &mut Scratch,
    ) -> Result<Signature> {
        match self {
            // SAFETY: the function needs the features that a `Narrow` is made with only.
            Self::Narrow(_) => unsafe { large_text_by_avx2(self, inner, text, large, scratch) },
            // SAFETY: the function needs the features that a `Wide` is made with only.
            Self::Wide(_) => unsafe { large_text_by_avx512(self, inner, text, large, scratch) },
        }
    }

    /// `split::edges`. `edges` must be longer by 64 than `piece`, `text` no shorter and a multiple
    /// of 64, and `marks` hold a number for each 64 bytes.
    #[inline(always)]
    pub(crate) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        marks: &mut [u64],
        edges: &mut [u32],
        rules: Cut,
    ) -> (usize, bool) {
        let marks = &mut marks[..piece.len().div_ceil(64)];
        let (inside, bars, mut count) = match self {
            Self::Narrow(narrow) => narrow.edges(piece, text, marks, edges, rules),
            Self::Wide(wide) => wide.edges(piece, text, marks, edges, rules),
        };
        if inside && let Some(place) = edges.get_mut(count) {
            #[expect(clippy::cast_possible_truncation, reason = "a piece is shorter than 2^31")]
            let end = (64 * marks.len()) as u32;
            *place = end;
            count += 1;
        }
        (count, bars)
    }

    /// ASCII and plain letters from `from` on, folded as `fold::Pass` does. It ends before what
    /// needs more, after `limit` bytes or a little more, or where little of the text is left.
    #[inline(always)]
    pub(crate) fn letters(
        self,
        scripts: &Scripts,
        text: &[u8],
        out: &mut [u8],
        limit: usize,
        from: Stretch,
    ) -> Stretch {
        match self {
            Self::Narrow(narrow) => narrow.letters(scripts, text, out, limit, from),
            Self::Wide(wide) => wide.letters(scripts, text, out, limit, from),
        }
    }

    /// The hashes of all units as if they were short, into `out`, which must be as long; the places
    /// of those that are not into `long`, which must be longer by eight, in any order; returns how
    /// many they are. `lens` is a buffer, as long as the units are many. `text` goes on for 128
    /// bytes behind a power of two, before which all units begin.
    #[inline(always)]
    pub(crate) fn short(
        self,
        text: &[u8],
        units: &[[u32; 2]],
        hash: UnitHash,
        out: &mut [u64],
        lens: &mut [u64],
        long: &mut [u32],
    ) -> usize {
        match self {
            Self::Narrow(narrow) => narrow.short(text, units, hash, out, lens, long),
            Self::Wide(wide) => wide.short(text, units, hash, out, long),
        }
    }

    /// `fast::pick`, where this processor has its own way. `picked` must be longer by eight than
    /// `hashes`.
    #[inline(always)]
    pub(crate) fn pick(
        self,
        hashes: &[u64],
        constants: (u64, u64),
        slots: &[u64],
        picked: &mut [u64],
    ) -> Option<usize> {
        match self {
            Self::Narrow(_) => None,
            Self::Wide(wide) => Some(wide.pick(hashes, constants, slots, picked)),
        }
    }

    /// `hash::windows` of three units.
    #[inline(always)]
    pub(crate) fn windows_of_3(self, units: &mut Vec<u64>) {
        match self {
            Self::Narrow(narrow) => narrow.windows_of_3(units),
            Self::Wide(_) => direct::<3>(units),
        }
    }

    /// `hash::finalise` of each.
    #[inline(always)]
    pub(crate) fn finalise(self, sums: &mut [u64]) {
        match self {
            Self::Narrow(narrow) => narrow.finalise(sums),
            Self::Wide(_) => finalise_all(sums),
        }
    }

    /// Least hashes to values; which slots no hash fell into, bit by bit.
    #[inline(always)]
    pub(crate) fn settle(self, slots: &mut [u64; 128]) -> [u64; 2] {
        match self {
            Self::Narrow(narrow) => narrow.settle(slots),
            Self::Wide(wide) => wide.settle(slots),
        }
    }

    /// From how many hashes on rounds one by one, of all hashes, are faster than `few::values`.
    #[inline(always)]
    pub(crate) fn many(self) -> usize {
        match self {
            Self::Narrow(_) => 24,
            Self::Wide(_) => 48,
        }
    }

    /// For each hash, which of eight rounds put it into one of the `open` rows of 128, bit by bit,
    /// and perhaps other rounds. False if this processor has no way of its own.
    #[inline(always)]
    pub(crate) fn open_rounds(
        self,
        hashes: &[u64],
        eight: &Eight,
        open: [u64; 2],
        hits: &mut [u8; FEW_MAX],
    ) -> bool {
        match self {
            Self::Narrow(_) => false,
            Self::Wide(wide) => {
                wide.open_rounds(hashes, eight, open, hits);
                true
            }
        }
    }

    /// Writes the hashes, as they were given, that this round puts into rows of `open`, of 128,
    /// and perhaps others; returns how many. `picked` must be longer by eight than all of them.
    #[inline(always)]
    pub(crate) fn pick_of_128(
        self,
        hashes: &[[u64; 8]],
        constants: (u64, u64),
        open: [u64; 2],
        picked: &mut [u64],
    ) -> usize {
        match self {
            Self::Narrow(narrow) => narrow.pick_of_128(hashes, constants, open, picked),
            Self::Wide(wide) => wide.pick_of_128(hashes, constants, open, picked),
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx2(
    narrow: Narrow,
    inner: &Inner,
    text: &str,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.text(Some(Processor::Narrow(narrow)), text, scratch)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx512(
    wide: Wide,
    inner: &Inner,
    text: &str,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.text(Some(Processor::Wide(wide)), text, scratch)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn large_text_by_avx2(
    own: Processor,
    inner: &Inner,
    text: &str,
    large: Large,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.large_text(Some(own), text, large, scratch)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn large_text_by_avx512(
    own: Processor,
    inner: &Inner,
    text: &str,
    large: Large,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.large_text(Some(own), text, large, scratch)
}

/// The masks of 64 bytes.
#[inline]
pub(crate) fn masks(block: &[u8; 64]) -> Masks {
    // SAFETY: the function needs SSE2 and nothing else; this file is compiled where the build has
    // it, so no processor that runs the build is without.
    unsafe { masks_by_sse2(block) }
}

/// The white space of ASCII in 64 bytes.
#[inline]
pub(crate) fn blanks(block: &[u8; 64]) -> u64 {
    // SAFETY: as above.
    unsafe { blanks_by_sse2(block) }
}

/// The eight digits of each of two numbers below 10^8: `item::plain_eights`.
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
        // The highest bit of a byte is gathered: that of those beyond ASCII is set.
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
