//! Finds the hashes that fall into open rows of 128, by AVX2.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256, __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_min_epu32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_or_si256, _mm256_permutevar_ps, _mm256_set_epi64x,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_slli_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_srli_epi64, _mm256_xor_si256,
};

use super::{constant, even, in_order, load, odd};
use crate::rounds::{Eight, FEW_MAX};

/// Finds the hashes that a round puts into open rows, for 128 rows, the usual number: see
/// `Processor::pick_of_128`.
///
/// The product p is that of `rehash`, and the row is the highest seven bits of hi(p) ^ lo(p),
/// the halves of p. The bits of lo(p) are computed exactly. hi(p) is the product of the high halves
/// of both factors, plus a carry below 2^33 that is not computed. With 2^33 added instead, the
/// highest seven bits are right unless the next 24 bits are all zeros. In that case all hashes of
/// the chunk are picked.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn pick_of_128(
    hashes: &[[u64; 8]],
    constants: (u64, u64),
    open: [u64; 2],
    picked: &mut [u64],
) -> usize {
    let open = OpenRows::new(open);
    let add = constant(constants.0);
    let factors = Factors::new([constant(constants.1); 2]);
    assert!(picked.len() >= 8 * hashes.len(), "there is room for all");
    let picked = picked.as_mut_ptr();
    let mut count = 0;
    for some in hashes.chunks(64) {
        let mut hits = [[0; 8]; 8];
        let following = constant_of_32(FOLLOWING);
        let mut least = following;
        // Two loops instead of one, so that several iterations of each fit into the processor's
        // out-of-order window.
        for (eight, hit) in some.iter().zip(hits.as_flattened_mut()) {
            let mixed = halves_of(eight).map(|half| _mm256_xor_si256(half, add));
            let (near, product) = factors.high_halves(mixed);
            least = _mm256_min_epu32(least, _mm256_and_si256(near, following));
            *hit = signs(open.at(_mm256_xor_si256(near, product)));
        }
        if _mm256_movemask_epi8(_mm256_cmpeq_epi32(least, _mm256_setzero_si256())) != 0 {
            hits.as_flattened_mut()[..some.len()].fill(u8::MAX);
        }
        for (hashes, hits) in some.chunks(8).zip(hits) {
            let mut hits = in_order(u64::from_le_bytes(hits));
            while hits != 0 {
                let at = hits.trailing_zeros() as usize;
                debug_assert!(at < 8 * hashes.len(), "no others were looked at");
                let hash = hashes.as_ptr().cast::<u64>().wrapping_add(at);
                // SAFETY: `hits` has a byte for each eight hashes, and its bytes without hashes are
                // zero: so each set bit has a hash.
                let hash = unsafe { *hash };
                // SAFETY: each hash is written at most once, and `picked` has room for all hashes.
                unsafe { *picked.wrapping_add(count) = hash };
                count += 1;
                hits &= hits - 1;
            }
        }
    }
    count
}

/// Finds, for each hash, which of eight rounds put it into an open row: see
/// `Processor::open_rounds`.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn open_rounds(hashes: &[u64], eight: &Eight, open: [u64; 2], hits: &mut [u8; FEW_MAX]) {
    let open = OpenRows::new(open);
    let factors = Factors::new(halves_of(&eight.factor));
    let [first, second] = halves_of(&eight.add);
    let following = constant_of_32(FOLLOWING);
    for (hashes, hits) in hashes.chunks(8).zip(hits.as_chunks_mut::<8>().0) {
        for (hash, hit) in hashes.iter().zip(&mut *hits) {
            let hash = constant(*hash);
            let mixed = [_mm256_xor_si256(hash, first), _mm256_xor_si256(hash, second)];
            let (near, product) = factors.high_halves(mixed);
            let unsure =
                _mm256_cmpeq_epi32(_mm256_and_si256(near, following), _mm256_setzero_si256());
            *hit = signs(_mm256_or_si256(open.at(_mm256_xor_si256(near, product)), unsure));
        }
        *hits = in_order(u64::from_le_bytes(*hits)).to_le_bytes();
    }
}

/// The bits of the high half of hi(p) after the highest seven, without the lowest: see
/// `pick_of_128`.
const FOLLOWING: u32 = (1 << 25) - 2;

/// The factors of eight products, and the factors with their halves swapped.
#[derive(Clone, Copy)]
struct Factors {
    factor: [__m256i; 2],
    swapped: [__m256i; 2],
}

impl Factors {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(factor: [__m256i; 2]) -> Self {
        let [first, second] = factor;
        let swapped = [
            _mm256_shuffle_epi32::<0b10_11_00_01>(first),
            _mm256_shuffle_epi32::<0b10_11_00_01>(second),
        ];
        Self { factor, swapped }
    }

    /// The high 32 bits of hi(p), which may be wrong (see `pick_of_128`), and of lo(p).
    #[inline]
    #[target_feature(enable = "avx2")]
    fn high_halves(self, mixed: [__m256i; 2]) -> (__m256i, __m256i) {
        let [first, second] = [0, 1].map(|half| {
            let (mixed, factor, swapped) = (mixed[half], self.factor[half], self.swapped[half]);
            let (mixed_high, factor_high) = (_mm256_srli_epi64::<32>(mixed), swapped);
            (
                _mm256_mul_epu32(mixed_high, factor_high),
                _mm256_mul_epu32(mixed, factor),
                _mm256_mullo_epi32(mixed, swapped),
            )
        });
        let near = _mm256_add_epi32(odd(first.0, second.0), constant_of_32(2));
        let product = _mm256_add_epi32(odd(first.1, second.1), odd(first.2, second.2));
        (near, _mm256_add_epi32(product, even(first.2, second.2)))
    }
}

/// The open rows as bits in order, 32 per number. The first of the 32 rows is in the highest bit.
#[derive(Clone, Copy)]
struct OpenRows(__m256);

impl OpenRows {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(open: [u64; 2]) -> Self {
        let [low, high] = open.map(|open| open.reverse_bits().rotate_left(32).cast_signed());
        Self(_mm256_castsi256_ps(_mm256_set_epi64x(high, low, high, low)))
    }

    /// Sets the highest bit of each number whose highest seven bits are the number of an open row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at(self, mixed: __m256i) -> __m256i {
        let rows = _mm256_permutevar_ps(self.0, _mm256_srli_epi32::<30>(mixed));
        let row = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<2>(mixed));
        _mm256_sllv_epi32(_mm256_castps_si256(rows), row)
    }
}

/// The highest bit of each of the eight numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn signs(numbers: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(numbers)).to_le_bytes()[0]
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves_of(eight: &[u64; 8]) -> [__m256i; 2] {
    let (fours, _) = eight.as_chunks::<4>();
    [load(&fours[0]), load(&fours[1])]
}

#[inline]
#[target_feature(enable = "avx2")]
fn constant_of_32(number: u32) -> __m256i {
    _mm256_set1_epi32(number.cast_signed())
}
