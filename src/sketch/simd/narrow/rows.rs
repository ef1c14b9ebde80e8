//! What AVX2 does in its own way with hashes and 128 rows: which are empty, and what falls there.
//!
//! Knows hashes. Each function is defined by plain code elsewhere, and tested against it.

use std::arch::x86_64::{
    _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_cmpeq_epi64, _mm256_mul_epu32, _mm256_or_si256, _mm256_permutevar8x32_epi32,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_sllv_epi64, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_xor_si256,
};

use super::{all, bits, constant, store, table};

#[target_feature(enable = "avx2")]
pub(super) fn settle(slots: &mut [u64; 128]) -> [u64; 2] {
    let empty = constant(u64::MAX);
    let mut open = [0; 2];
    for (open, slots) in open.iter_mut().zip(slots.as_chunks_mut::<64>().0) {
        for (four, shift) in slots.as_chunks_mut::<4>().0.iter_mut().zip((0..64).step_by(4)) {
            let least = all(four);
            let none = _mm256_cmpeq_epi64(least, empty);
            let value = _mm256_srli_epi64::<16>(_mm256_slli_epi64::<7>(least));
            store(four, _mm256_or_si256(value, none));
            *open |= (bits(none) as u64) << shift;
        }
    }
    open
}

/// For the usual number of rows: two words of bits, and rows that are the highest bits of
/// hi(p) ^ lo(p). Those of lo(p) are exact. hi(p) is the product of the high halves and a carry
/// below 2^33: with 2^33 added, its highest seven bits are right unless the 24 that follow are
/// zeros, and then the hash is picked, too.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn pick_of_128(
    hashes: &[[u64; 4]],
    constants: (u64, u64),
    open: [u64; 2],
    picked: &mut [u64],
) -> usize {
    // The first row's bit is the highest, where a shift by the row takes the row's own.
    let [low, high] = open.map(|open| _mm256_castsi256_pd(constant(open.reverse_bits())));
    let (add, factor) = (constant(constants.0), constant(constants.1));
    let (factor_high, carry) = (constant(constants.1 >> 32), constant(1 << 33));
    let following = constant((1 << 57) - (1 << 33));
    let none = _mm256_setzero_si256();
    assert!(picked.len() >= 4 * hashes.len() + 8, "there is room for all, and a vector more");
    let picked = picked.as_mut_ptr();
    let mut count = 0;
    for four in hashes {
        let hash = all(four);
        let mixed = _mm256_xor_si256(hash, add);
        let mixed_high = _mm256_srli_epi64::<32>(mixed);
        let near = _mm256_add_epi64(_mm256_mul_epu32(mixed_high, factor_high), carry);
        let unsure = _mm256_cmpeq_epi64(_mm256_and_si256(near, following), none);
        let cross = _mm256_add_epi64(
            _mm256_mul_epu32(mixed_high, factor),
            _mm256_mul_epu32(mixed, factor_high),
        );
        let product =
            _mm256_add_epi64(_mm256_mul_epu32(mixed, factor), _mm256_slli_epi64::<32>(cross));
        let mixed = _mm256_xor_si256(product, near);
        let word = _mm256_castpd_si256(_mm256_blendv_pd(low, high, _mm256_castsi256_pd(mixed)));
        // The row without its highest bit.
        let row = _mm256_srli_epi64::<58>(_mm256_slli_epi64::<1>(mixed));
        let hit = bits(_mm256_or_si256(_mm256_sllv_epi64(word, row), unsure));
        let kept = _mm256_permutevar8x32_epi32(hash, table(&KEPT[hit]));
        // SAFETY: each turn moves the place by four at most, and there is one for each four hashes,
        // so it is no farther than the hashes go; from there on 64 bytes are ours to write.
        unsafe { _mm256_storeu_si256(picked.wrapping_add(count).cast(), kept) };
        count += hit.count_ones() as usize;
    }
    count
}

/// Where the numbers of 64 bits lie, in halves, whose bits are set: they are moved to the front.
static KEPT: [[u32; 8]; 16] = kept();

const fn kept() -> [[u32; 8]; 16] {
    let mut kept = [[0; 8]; 16];
    let mut bits = 0;
    while bits < kept.len() {
        let (mut at, mut half) = (0, 0_u32);
        while half < 8 {
            if bits >> (half / 2) & 1 == 1 {
                kept[bits][at] = half;
                at += 1;
            }
            half += 1;
        }
        bits += 1;
    }
    kept
}
