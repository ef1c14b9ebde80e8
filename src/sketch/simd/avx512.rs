//! AVX-512 kernels, and their common helpers.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_set1_epi64};

mod letters;
mod marks;
mod rows;
mod units;

pub(super) use letters::letters;
pub(super) use marks::{marks, places};
pub(super) use rows::{open_rounds, pick_of_128, settle};
pub(super) use units::short;

#[inline]
#[target_feature(enable = "avx512f")]
fn constant(number: u64) -> __m512i {
    _mm512_set1_epi64(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(numbers: &[u64; 8]) -> __m512i {
    // SAFETY: `numbers` has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(bytes: &[u8; 128]) -> [__m512i; 2] {
    let [low, high] = [0, 64].map(|at| bytes.as_ptr().wrapping_add(at).cast());
    // SAFETY: the first 64 of 128 bytes; the load needs no alignment.
    let low = unsafe { _mm512_loadu_si512(low) };
    // SAFETY: the last 64 of 128 bytes; the load needs no alignment.
    let high = unsafe { _mm512_loadu_si512(high) };
    [low, high]
}
