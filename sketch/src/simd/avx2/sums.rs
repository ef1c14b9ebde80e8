//! Window sums by AVX2.
//!
//! Defined by scalar code in `hash`, and tested against it.

use std::arch::x86_64::{_mm256_add_epi32, _mm256_add_epi64, _mm256_mul_epu32, _mm256_mullo_epi32};

use super::{constant, load, store, with_cross};
use crate::hash::{BASE, sum_of};

/// `windows::windows` for windows of three units. The parts of the two products are added before
/// they are shifted.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) fn windows_of_3(units: &mut Vec<u64>) {
    const FACTORS: [u64; 2] = [BASE.wrapping_mul(BASE), BASE];
    let [first, second] = FACTORS.map(|factor| constant(factor));
    let [swapped, second_swapped] = FACTORS.map(|factor| constant(factor.rotate_left(32)));
    let count = units.len().saturating_sub(2);
    let mut at = 0;
    while let Some(six) = units.get_mut(at..).and_then(<[u64]>::first_chunk_mut::<6>)
        && let (Some(one), Some(two)) = (six[1..].first_chunk(), six.last_chunk())
        && let (one, two) = (load::<[u64; 4]>(one), load::<[u64; 4]>(two))
        && let Some(place) = six.first_chunk_mut::<4>()
    {
        let zero = load(place);
        let low = _mm256_add_epi64(_mm256_mul_epu32(zero, first), _mm256_mul_epu32(one, second));
        let cross = _mm256_add_epi32(
            _mm256_mullo_epi32(zero, swapped),
            _mm256_mullo_epi32(one, second_swapped),
        );
        store(place, _mm256_add_epi64(with_cross(low, cross), two));
        at += 4;
    }
    for at in at..count {
        units[at] = sum_of(&units[at..at + 3]);
    }
    units.truncate(count);
}
