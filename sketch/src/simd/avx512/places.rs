//! Lists the boundaries of units by AVX-512; `avx2::marks` has found them.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m128i, __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_maskz_compress_epi8, _mm512_set1_epi32, _mm512_setzero_si512,
};

use super::{load, numbers, store};

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
