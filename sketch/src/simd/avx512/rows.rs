//! Finds the hashes that fall into open rows, by AVX-512.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m512i, _mm256_storeu_si256, _mm512_add_epi64, _mm512_castsi512_si256,
    _mm512_maskz_compress_epi64, _mm512_movm_epi8, _mm512_mul_epu32, _mm512_mullo_epi64,
    _mm512_permutex2var_epi8, _mm512_rol_epi64, _mm512_srli_epi64, _mm512_test_epi64_mask,
    _mm512_testn_epi64_mask, _mm512_xor_si512,
};

use super::{constant, load, store};
use crate::rounds::{Eight, FEW_MAX};

/// Finds the hashes that a round puts into open rows, for 128 rows, the usual number: see
/// `Processor::pick_of_128`.
///
/// The product p is that of `rehash`, and the row is the highest seven bits of hi(p) ^ lo(p),
/// the halves of p. The bits of lo(p) are computed exactly. hi(p) is the product of the high halves
/// of both factors, plus a carry below 2^33 that is not computed. With 2^33 added instead, the
/// highest seven bits are right unless the next 24 bits are all zeros. In that case the hash is
/// picked, too.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn pick_of_128(
    eights: &[[u64; 8]],
    constants: (u64, u64),
    open: [u64; 2],
    picked: &mut [u64],
) -> usize {
    let open = open.map(|open| _mm512_movm_epi8(open));
    let (add, factor) = (constant(constants.0), constant(constants.1));
    let mut count = 0;
    for eight in eights {
        let hash = load(eight);
        count += keep(hash, are_open(hash, add, factor, open), count, picked);
    }
    count
}

/// Finds, for each hash, which of eight rounds put it into an open row: see
/// `Processor::open_rounds`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
pub(crate) fn open_rounds(hashes: &[u64], eight: &Eight, open: [u64; 2], hits: &mut [u8; FEW_MAX]) {
    let open = open.map(|open| _mm512_movm_epi8(open));
    let (add, factor) = (load(&eight.add), load(&eight.factor));
    for (hash, hit) in hashes.iter().zip(hits) {
        *hit = are_open(constant(*hash), add, factor, open);
    }
}

/// One bit per hash, set if the hash falls into an open row, or if that is uncertain. `low` and
/// `high` have a byte per row, all ones if the row is open.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn are_open(hash: __m512i, add: __m512i, factor: __m512i, [low, high]: [__m512i; 2]) -> u8 {
    let (carry, following) = (constant(1 << 33), constant((1 << 57) - (1 << 33)));
    let mixed = _mm512_xor_si512(hash, add);
    let halves = (_mm512_srli_epi64::<32>(mixed), _mm512_srli_epi64::<32>(factor));
    let near = _mm512_add_epi64(_mm512_mul_epu32(halves.0, halves.1), carry);
    let unsure = _mm512_testn_epi64_mask(near, following);
    let mixed = _mm512_xor_si512(_mm512_mullo_epi64(mixed, factor), near);
    // The rotation makes the row the lowest seven bits; the permutation ignores all other bits of a
    // byte.
    let bytes = _mm512_permutex2var_epi8(low, _mm512_rol_epi64::<7>(mixed), high);
    _mm512_test_epi64_mask(bytes, constant(1)) | unsure
}

/// Writes the hits to `picked` from `count` on, and returns their number. There are rarely more
/// than four, and a 64-byte store across a cache line is slower than a 32-byte one.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn keep(entry: __m512i, hit: u8, count: usize, picked: &mut [u64]) -> usize {
    let new = hit.count_ones() as usize;
    if let Some(place) = picked.get_mut(count..).and_then(<[u64]>::first_chunk_mut::<8>) {
        let kept = _mm512_maskz_compress_epi64(hit, entry);
        let first = _mm512_castsi512_si256(kept);
        // SAFETY: `place` has 64 bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), first) };
        if new > 4 {
            store(place, kept);
        }
    }
    new
}
