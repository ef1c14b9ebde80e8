//! Finds the hashes that fall into open rows of 128, by AVX2.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256, __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_min_epu32, _mm256_movemask_epi8,
    _mm256_movemask_ps, _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permutevar_ps, _mm256_set_epi64x, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_slli_epi64, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_srli_epi64,
    _mm256_xor_si256,
};

use super::{all, bits, constant, even, in_order, odd, store};

#[target_feature(enable = "avx2")]
pub(crate) fn settle(slots: &mut [u64; 128]) -> [u64; 2] {
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

/// Finds the hashes that a round puts into open rows, for 128 rows, the usual number: see
/// `Processor::pick_of_128`.
///
/// The product p is that of `fast::rehash`, and the row is the highest seven bits of hi(p) ^ lo(p),
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
    let round = Round::new(constants, open);
    assert!(picked.len() >= 8 * hashes.len(), "there is room for all");
    let picked = picked.as_mut_ptr();
    let mut count = 0;
    for some in hashes.chunks(64) {
        let mut hits = [[0; 8]; 8];
        let following = constant_of_32((1 << 25) - 2);
        let mut least = following;
        // Two loops instead of one, so that several iterations of each fit into the processor's
        // out-of-order window.
        for (eight, hit) in some.iter().zip(hits.as_flattened_mut()) {
            let (near, product) = round.high_halves(eight);
            least = _mm256_min_epu32(least, _mm256_and_si256(near, following));
            *hit = round.are_open(_mm256_xor_si256(near, product));
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

/// The constants of a round.
#[derive(Clone, Copy)]
struct Round {
    add: __m256i,
    factor: __m256i,
    /// The factor with its halves swapped.
    swapped: __m256i,
    /// The open rows as bits in order, 32 per number. The first of the 32 rows is in the highest
    /// bit.
    open: __m256,
}

impl Round {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new((add, factor): (u64, u64), open: [u64; 2]) -> Self {
        let [low, high] = open.map(|open| open.reverse_bits().rotate_left(32).cast_signed());
        Self {
            add: constant(add),
            factor: constant(factor),
            swapped: constant(factor.rotate_left(32)),
            open: _mm256_castsi256_ps(_mm256_set_epi64x(high, low, high, low)),
        }
    }

    /// The high 32 bits of hi(p), which may be wrong (see `pick_of_128`), and of lo(p).
    #[inline]
    #[target_feature(enable = "avx2")]
    fn high_halves(self, eight: &[u64; 8]) -> (__m256i, __m256i) {
        let [first, second] = [0, 1].map(|half| {
            let mixed = _mm256_xor_si256(all(half_of(eight, half)), self.add);
            let mixed_high = _mm256_srli_epi64::<32>(mixed);
            let factor_high = self.swapped;
            (
                _mm256_mul_epu32(mixed_high, factor_high),
                _mm256_mul_epu32(mixed, self.factor),
                _mm256_mullo_epi32(mixed, self.swapped),
            )
        });
        let near = _mm256_add_epi32(odd(first.0, second.0), constant_of_32(2));
        let product = _mm256_add_epi32(odd(first.1, second.1), odd(first.2, second.2));
        (near, _mm256_add_epi32(product, even(first.2, second.2)))
    }

    /// Sets a bit for each number whose highest seven bits are the number of an open row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn are_open(self, mixed: __m256i) -> u8 {
        let rows = _mm256_permutevar_ps(self.open, _mm256_srli_epi32::<30>(mixed));
        let row = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<2>(mixed));
        let bits = _mm256_sllv_epi32(_mm256_castps_si256(rows), row);
        _mm256_movemask_ps(_mm256_castsi256_ps(bits)).to_le_bytes()[0]
    }
}

#[inline]
fn half_of(eight: &[u64; 8], half: usize) -> &[u64; 4] {
    &eight.as_chunks::<4>().0[half]
}

#[inline]
#[target_feature(enable = "avx2")]
fn constant_of_32(number: u32) -> __m256i {
    _mm256_set1_epi32(number.cast_signed())
}
