//! AVX2 kernels, and their common helpers.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_add_epi64, _mm256_and_si256, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_shuffle_ps,
    _mm256_slli_epi64, _mm256_storeu_si256,
};

use super::Integers;

mod letters;
mod marks;
mod rows;
mod sums;
mod units;

pub(super) use letters::letters;
pub(super) use marks::{marks, places};
pub(super) use rows::{open_rounds, pick_of_128};
pub(super) use sums::windows_of_3;
pub(super) use units::short;

/// The low 64 bits of the products, computed from 32-bit products. `swapped` is `b` with the halves
/// of each number swapped.
#[inline]
#[target_feature(enable = "avx2")]
fn product(a: __m256i, b: __m256i, swapped: __m256i) -> __m256i {
    with_cross(_mm256_mul_epu32(a, b), _mm256_mullo_epi32(a, swapped))
}

/// Completes the products, given those of the low halves: `cross` has both cross products of each
/// number, one in each half, and both are added to the high half of `low`.
#[inline]
#[target_feature(enable = "avx2")]
fn with_cross(low: __m256i, cross: __m256i) -> __m256i {
    let high = _mm256_and_si256(cross, constant(!0xffff_ffff));
    _mm256_add_epi64(_mm256_add_epi64(low, _mm256_slli_epi64::<32>(cross)), high)
}

#[inline]
#[target_feature(enable = "avx2")]
fn constant(number: u64) -> __m256i {
    _mm256_set1_epi64x(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn each(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// The bytes equal to `byte`.
#[inline]
#[target_feature(enable = "avx2")]
fn is(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, each(byte))
}

/// Selects bytes from `first` to `last`. Moves this range to the low end of the signed bytes, so
/// that one comparison suffices.
#[inline]
#[target_feature(enable = "avx2")]
fn within(bytes: __m256i, first: u8, last: u8) -> __m256i {
    let moved = _mm256_add_epi8(bytes, each(0x80_u8.wrapping_sub(first)));
    _mm256_cmpgt_epi8(each(0x80_u8.wrapping_add(last - first + 1)), moved)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load<T: Integers>(numbers: &T) -> __m256i {
    const { assert!(size_of::<T>() == 32, "a vector") };
    // SAFETY: `numbers` has 32 bytes without padding, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(numbers).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<T: Integers>(place: &mut T, numbers: __m256i) {
    const { assert!(size_of::<T>() == 32, "a vector") };
    // SAFETY: `place` has 32 bytes of any value, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(std::ptr::from_mut(place).cast(), numbers) };
}

/// The low halves of the numbers of two vectors, in the order a0 a1 b0 b1 a2 a3 b2 b3.
#[inline]
#[target_feature(enable = "avx2")]
fn even(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_castps_si256(_mm256_shuffle_ps::<0b1000_1000>(a, b))
}

/// The high halves of the numbers of two vectors, in the same order as in `even`.
#[inline]
#[target_feature(enable = "avx2")]
fn odd(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_castps_si256(_mm256_shuffle_ps::<0b1101_1101>(a, b))
}

/// Restores the original order of the bits of each byte. `even` and `odd` have changed the order.
#[inline]
fn in_order(bits: u64) -> u64 {
    const SECOND: u64 = 0x0c0c_0c0c_0c0c_0c0c;
    bits & !(SECOND | SECOND << 2) | (bits & SECOND) << 2 | bits >> 2 & SECOND
}
