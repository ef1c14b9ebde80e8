//! What AVX-512 does in its own way with rows: the hashes that fall into open ones.
//!
//! Knows hashes. Each function is defined by plain code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m512i, _mm256_storeu_si256, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi512_si256,
    _mm512_cmpeq_epi64_mask, _mm512_mask_blend_epi32, _mm512_mask_blend_epi64,
    _mm512_maskz_compress_epi64, _mm512_movepi64_mask, _mm512_movm_epi8, _mm512_mul_epu32,
    _mm512_mullo_epi64, _mm512_permutex2var_epi8, _mm512_permutex2var_epi64, _mm512_rol_epi64,
    _mm512_rorv_epi64, _mm512_set1_epi64, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_test_epi64_mask, _mm512_testn_epi64_mask, _mm512_xor_si512,
};

use super::{all, constant};
use crate::sketch::few::{Eight, FEW_MAX};

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn settle(slots: &mut [u64; 128]) -> [u64; 2] {
    let empty = constant(u64::MAX);
    let mut open = [0; 2];
    for (open, slots) in open.iter_mut().zip(slots.as_chunks_mut::<64>().0) {
        for (eight, shift) in slots.as_chunks_mut::<8>().0.iter_mut().zip((0..64).step_by(8)) {
            let least = all(eight);
            let none = _mm512_cmpeq_epi64_mask(least, empty);
            let value = _mm512_srli_epi64::<16>(_mm512_slli_epi64::<7>(least));
            let value = _mm512_mask_blend_epi64(none, value, empty);
            // SAFETY: these are 64 bytes that are ours to write; no alignment is asked for.
            unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), value) };
            *open |= u64::from(none) << shift;
        }
    }
    open
}

/// For the usual number of rows, the highest bits of hi(p) ^ lo(p). Those of lo(p) are exact. hi(p)
/// is the product of the high halves and a carry below 2^33: with 2^33 added, its highest seven
/// bits are right unless the 24 that follow are zeros, and then the hash is picked, too.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn pick_of_128(
    eights: &[[u64; 8]],
    constants: (u64, u64),
    open: [u64; 2],
    picked: &mut [u64],
) -> usize {
    let open = open.map(|open| _mm512_movm_epi8(open));
    let (add, factor) = (constant(constants.0), constant(constants.1));
    let mut count = 0;
    for eight in eights {
        let hash = all(eight);
        count += keep(hash, are_open(hash, add, factor, open), count, picked);
    }
    count
}

/// The same for each hash in eight rounds.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
pub(super) fn open_rounds(hashes: &[u64], eight: &Eight, open: [u64; 2], hits: &mut [u8; FEW_MAX]) {
    let open = open.map(|open| _mm512_movm_epi8(open));
    let (add, factor) = (all(&eight.add), all(&eight.factor));
    for (hash, hit) in hashes.iter().zip(hits) {
        *hit = are_open(constant(*hash), add, factor, open);
    }
}

/// Whether hashes fall into open rows; `open` has a byte for each row, ones if it is.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn are_open(hash: __m512i, add: __m512i, factor: __m512i, [low, high]: [__m512i; 2]) -> u8 {
    let (carry, following) = (constant(1 << 33), constant((1 << 57) - (1 << 33)));
    let mixed = _mm512_xor_si512(hash, add);
    let halves = (_mm512_srli_epi64::<32>(mixed), _mm512_srli_epi64::<32>(factor));
    let near = _mm512_add_epi64(_mm512_mul_epu32(halves.0, halves.1), carry);
    let unsure = _mm512_testn_epi64_mask(near, following);
    let mixed = _mm512_xor_si512(_mm512_mullo_epi64(mixed, factor), near);
    // The row as the lowest seven bits: of each byte no others choose.
    let bytes = _mm512_permutex2var_epi8(low, _mm512_rol_epi64::<7>(mixed), high);
    _mm512_test_epi64_mask(bytes, constant(1)) | unsure
}

/// What fills the rest is a hash of the set once more, and so changes nothing.
#[inline]
fn filled(rest: &[u64], hashes: &[u64]) -> [u64; 8] {
    let mut last = [hashes.first().copied().unwrap_or(0); 8];
    last[..rest.len()].copy_from_slice(rest);
    last
}

/// Writes what was hit to `picked` from `count` on; returns how many that is. Seldom are they more
/// than four, and 64 bytes that cross a line of the cache are written more slowly than 32.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn keep(entry: __m512i, hit: u8, count: usize, picked: &mut [u64]) -> usize {
    let new = hit.count_ones() as usize;
    if let Some(place) = picked.get_mut(count..count + 8) {
        let kept = _mm512_maskz_compress_epi64(hit, entry);
        let first = _mm512_castsi512_si256(kept);
        // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), first) };
        if new > 4 {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), kept) };
        }
    }
    new
}

/// Eight hashes at a time; which slots are empty is a set of bits in two registers.
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn pick(
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
    let (add, factor, rows) =
        (constant(constants.0), constant(constants.1), constant(slots.len() as u64));
    let mut count = 0;
    let (eights, rest) = hashes.as_chunks::<8>();
    let last = filled(rest, hashes);
    for eight in eights.iter().chain((!rest.is_empty()).then_some(&last)) {
        let hash = folded(_mm512_xor_si512(all(eight), add), factor);
        // (hash x rows) >> 16, from the halves of the hash.
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hash), rows);
        let low = _mm512_mul_epu32(hash, rows);
        let entry = _mm512_add_epi64(_mm512_slli_epi64::<16>(high), _mm512_srli_epi64::<16>(low));
        let row = _mm512_srli_epi64::<48>(entry);
        let word = _mm512_permutex2var_epi64(open_low, _mm512_srli_epi64::<6>(row), open_high);
        let bit = _mm512_rorv_epi64(word, row);
        let hit = _mm512_test_epi64_mask(bit, constant(1));
        count += keep(hash, hit, count, picked);
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
    // Neither sum reaches 2^64: the greatest product is 2^64 - 2^33 + 1.
    let middle = _mm512_add_epi64(_mm512_srli_epi64::<32>(low), other);
    let second = _mm512_add_epi64(_mm512_and_si512(middle, half), cross);
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(middle));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(second));
    let low = _mm512_mask_blend_epi32(0x5555, _mm512_slli_epi64::<32>(second), low);
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
