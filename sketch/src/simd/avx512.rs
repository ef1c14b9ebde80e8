//! AVX-512 kernels, and their common helpers.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_set1_epi64,
    _mm512_storeu_si512,
};

use super::Integers;

mod letters;
mod places;
mod rows;
mod units;

pub(super) use letters::letters;
pub(super) use places::places;
pub(super) use rows::{open_rounds, pick_of_128};
pub(super) use units::short;

#[inline]
#[target_feature(enable = "avx512f")]
fn constant(number: u64) -> __m512i {
    _mm512_set1_epi64(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn each(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<T: Integers>(numbers: &T) -> __m512i {
    const { assert!(size_of::<T>() == 64, "a vector") };
    // SAFETY: `numbers` has 64 bytes without padding, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(numbers).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<T: Integers>(place: &mut T, numbers: __m512i) {
    const { assert!(size_of::<T>() == 64, "a vector") };
    // SAFETY: `place` has 64 bytes of any value, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(std::ptr::from_mut(place).cast(), numbers) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(bytes: &[u8; 128]) -> [__m512i; 2] {
    let (halves, _) = bytes.as_chunks::<64>();
    [load(&halves[0]), load(&halves[1])]
}

/// For each byte, the entry of the table whose number is in its low seven bits.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn looked_up(table: &[u8; 128], index: __m512i) -> __m512i {
    let [low, high] = halves(table);
    _mm512_permutex2var_epi8(low, index, high)
}

/// The numbers from 0 to 63, each increased by `plus`, modulo 64.
#[expect(clippy::cast_possible_truncation, reason = "they are below 64")]
const fn numbers(plus: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = ((at + plus) % 64) as u8;
        at += 1;
    }
    numbers
}
