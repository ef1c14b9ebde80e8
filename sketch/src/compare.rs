//! Compares two signatures: which rows are equal.
//!
//! The scalar code is the definition. On x86-64, the compare instructions of SSE2, which is always
//! available there, give the same results.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vector instructions: see the argument at the call")
)]

/// Rows per word of [`Agreement`].
const WORD: usize = 64;
/// Words for the longest signature, of 1,024 rows.
const WORDS: usize = 16;

/// The set of equal rows of two signatures, and their number.
#[derive(Debug, Clone, Copy)]
pub struct Agreement {
    words: [u64; WORDS],
    equal_rows: u32,
}

impl Agreement {
    /// Compares two signatures of equal length and at most 1,024 rows. `None` if fewer than
    /// `equal_rows_min` rows are equal; stops as soon as that is certain.
    #[inline]
    pub fn compare(a: &[u8], b: &[u8], lane_bits: u32, equal_rows_min: u32) -> Option<Self> {
        debug_assert!(a.len() == b.len(), "signatures of one index");
        match lane_bits {
            8 => Self::collect::<WORD>(a, b, 1, equal_rows_min, narrow_word),
            16 => Self::collect::<{ 2 * WORD }>(a, b, 2, equal_rows_min, lanes_word::<2, _>),
            32 => Self::collect::<{ 4 * WORD }>(a, b, 4, equal_rows_min, lanes_word::<4, _>),
            _ => Self::collect::<{ 8 * WORD }>(a, b, 8, equal_rows_min, lanes_word::<8, _>),
        }
    }

    #[inline]
    fn collect<const BYTES: usize>(
        a: &[u8],
        b: &[u8],
        lane_bytes: usize,
        equal_rows_min: u32,
        word_of: impl Fn(&[u8; BYTES], &[u8; BYTES]) -> u64,
    ) -> Option<Self> {
        let mut agreement = Self { words: [0; WORDS], equal_rows: 0 };
        let mut words = agreement.words.iter_mut();
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<BYTES>(), b.as_chunks::<BYTES>());
        let mut rows_left = (a.len() * BYTES + a_rest.len()) / lane_bytes;
        for (a, b) in a.iter().zip(b) {
            let word = words.next()?;
            *word = word_of(a, b);
            agreement.equal_rows += word.count_ones();
            rows_left -= WORD;
            if wide_of(agreement.equal_rows) + rows_left < wide_of(equal_rows_min) {
                return None;
            }
        }
        if !a_rest.is_empty() {
            let word = words.next()?;
            let lanes = a_rest.chunks_exact(lane_bytes).zip(b_rest.chunks_exact(lane_bytes));
            *word = lanes.rev().fold(0, |bits, (a, b)| bits << 1 | u64::from(a == b));
            agreement.equal_rows += word.count_ones();
        }
        (agreement.equal_rows >= equal_rows_min).then_some(agreement)
    }

    /// The number of equal rows.
    #[inline]
    pub fn equal_rows(&self) -> u32 {
        self.equal_rows
    }

    /// Whether all of the `count` rows from `first` on are equal.
    #[inline]
    pub fn all_equal(&self, mut first: usize, mut count: usize) -> bool {
        while count > 0 {
            let shift = first % WORD;
            let here = count.min(WORD - shift);
            let wanted = u64::MAX >> (WORD - here) << shift;
            if self.words[first / WORD] & wanted != wanted {
                return false;
            }
            first += here;
            count -= here;
        }
        true
    }
}

/// The first band that two signatures share, or `None` if it comes after band `last`. A band has
/// `rows` rows.
#[inline]
pub fn first_shared_band(agreement: &Agreement, last: usize, rows: usize) -> Option<usize> {
    (0..=last).find(|band| agreement.all_equal(band * rows, rows))
}

/// The number of equal rows of two signatures of equal length. Cheaper than an [`Agreement`], which
/// also tells which rows are equal.
#[inline]
pub fn count_equal_rows(a: &[u8], b: &[u8], lane_bits: u32) -> u32 {
    match lane_bits {
        8 => count_narrow(a, b),
        16 => count_wide(a, b),
        _ => Agreement::compare(a, b, lane_bits, 0).map_or(0, |agreement| agreement.equal_rows()),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn count_narrow(a: &[u8], b: &[u8]) -> u32 {
    count_of(a, b)
}

#[cfg(not(target_arch = "x86_64"))]
fn count_wide(a: &[u8], b: &[u8]) -> u32 {
    count_of(pairs(a), pairs(b))
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn count_narrow(a: &[u8], b: &[u8]) -> u32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    // SAFETY: the function needs SSE2, which is part of x86-64.
    unsafe { sse2::count_narrow(a, b) + count_of(a_rest, b_rest) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn count_wide(a: &[u8], b: &[u8]) -> u32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    // SAFETY: the function needs SSE2, which is part of x86-64.
    unsafe { sse2::count_wide(a, b) + count_of(pairs(a_rest), pairs(b_rest)) }
}

#[inline]
fn pairs(bytes: &[u8]) -> &[[u8; 2]] {
    bytes.as_chunks().0
}

#[inline]
fn count_of<T: PartialEq>(a: &[T], b: &[T]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a == b)).sum()
}

/// Whether two signatures share one of the first `bands` bands.
#[inline]
pub fn shares_a_band(a: &[u8], b: &[u8], band_bytes: usize, bands: usize) -> bool {
    a.chunks_exact(band_bytes).zip(b.chunks_exact(band_bytes)).take(bands).any(|(a, b)| a == b)
}

/// The definition: the number of equal lanes of two signatures, up to the length of the shorter
/// one.
#[cfg(test)]
pub(crate) fn equal_rows(a: &[u8], b: &[u8], lane_bits: u32) -> u32 {
    let lane_bytes = super::lane::bytes(lane_bits);
    let lanes = a.chunks_exact(lane_bytes).zip(b.chunks_exact(lane_bytes));
    lanes.map(|(a, b)| u32::from(a == b)).sum()
}

fn wide_of(rows: u32) -> usize {
    super::numbers::index(rows)
}

/// One cache line: 32 little-endian integers of 16 bits, which are compared at once.
pub type BitWindow = [u8; 64];

/// Sets bit i if integer i equals `wanted`.
#[cfg(not(target_arch = "x86_64"))]
pub fn equal_bits(integers: &BitWindow, wanted: u16) -> u64 {
    let (integers, wanted) = (integers.as_chunks::<2>().0, wanted.to_le_bytes());
    integers.iter().rev().fold(0, |bits, integer| bits << 1 | u64::from(*integer == wanted))
}

/// Sets bit i if integer i equals `wanted`.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn equal_bits(integers: &BitWindow, wanted: u16) -> u64 {
    // SAFETY: the function needs SSE2, which is part of x86-64.
    unsafe { sse2::equal_bits(integers, wanted) }
}

/// Sets bit i if byte i of `a` equals byte i of `b`.
#[cfg(not(target_arch = "x86_64"))]
fn narrow_word(a: &[u8; WORD], b: &[u8; WORD]) -> u64 {
    a.iter().zip(b).rev().fold(0, |bits, (a, b)| bits << 1 | u64::from(a == b))
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn narrow_word(a: &[u8; WORD], b: &[u8; WORD]) -> u64 {
    // SAFETY: the function needs SSE2, which is part of x86-64.
    unsafe { sse2::narrow_word(a, b) }
}

/// Sets bit i if lane i of `a` equals lane i of `b`; lanes have `LANE` bytes. Compilers vectorise
/// the loop.
#[inline]
fn lanes_word<const LANE: usize, const BYTES: usize>(a: &[u8; BYTES], b: &[u8; BYTES]) -> u64 {
    let (a, b) = (a.as_chunks::<LANE>().0, b.as_chunks::<LANE>().0);
    let mut equal = [0; WORD];
    for (equal, (a, b)) in equal.iter_mut().zip(a.iter().zip(b)) {
        *equal = u8::from(a == b);
    }
    narrow_word(&equal, &[1; WORD])
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::{BitWindow, WORD};
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_add_epi16, _mm_cmpeq_epi8, _mm_cmpeq_epi16, _mm_cvtsi128_si32,
        _mm_movemask_epi8, _mm_packs_epi16, _mm_packus_epi16, _mm_sad_epu8, _mm_set_epi64x,
        _mm_set1_epi16, _mm_setzero_si128, _mm_sub_epi8, _mm_sub_epi16, _mm_unpackhi_epi64,
    };

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8; 16]) -> __m128i {
        let [low, high] = halves(bytes);
        _mm_set_epi64x(high, low)
    }

    #[inline]
    fn halves(bytes: &[u8; 16]) -> [i64; 2] {
        let (halves, _) = bytes.as_chunks::<8>();
        [i64::from_le_bytes(halves[0]), i64::from_le_bytes(halves[1])]
    }

    /// The number of equal bytes. The one-byte counters do not overflow: each counts at most 1,024
    /// / 16 rows.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn count_narrow(a: &[BitWindow], b: &[BitWindow]) -> u32 {
        // One counter per vector of a cache line, so that additions do not wait for each other.
        let mut counts = [_mm_setzero_si128(); 4];
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (a.as_chunks().0, b.as_chunks().0);
            for (count, (a, b)) in counts.iter_mut().zip(a.iter().zip(b)) {
                // The comparison gives -1 in equal lanes.
                *count = _mm_sub_epi8(*count, _mm_cmpeq_epi8(load(a), load(b)));
            }
        }
        let [a, b, c, d] = counts;
        sum(_mm_add_epi8(_mm_add_epi8(a, b), _mm_add_epi8(c, d)))
    }

    /// The number of equal pairs of bytes. Counters reach at most 1,024 / 16, so that packing them
    /// into bytes loses nothing.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn count_wide(a: &[BitWindow], b: &[BitWindow]) -> u32 {
        let mut counts = [_mm_setzero_si128(); 4];
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (a.as_chunks().0, b.as_chunks().0);
            for (count, (a, b)) in counts.iter_mut().zip(a.iter().zip(b)) {
                *count = _mm_sub_epi16(*count, _mm_cmpeq_epi16(load(a), load(b)));
            }
        }
        let [a, b, c, d] = counts;
        sum(_mm_packus_epi16(_mm_add_epi16(a, b), _mm_add_epi16(c, d)))
    }

    /// The sum of 16 bytes.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn sum(bytes: __m128i) -> u32 {
        let sums = _mm_sad_epu8(bytes, _mm_setzero_si128());
        _mm_cvtsi128_si32(_mm_add_epi16(sums, _mm_unpackhi_epi64(sums, sums))).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn equal_bits(integers: &BitWindow, wanted: u16) -> u64 {
        let wanted = _mm_set1_epi16(wanted.cast_signed());
        let (eights, _) = integers.as_chunks();
        let equal = |eight: usize| _mm_cmpeq_epi16(load(&eights[eight]), wanted);
        // Lanes are 0 or -1, so that packing loses nothing.
        let bits = |low: __m128i, high: __m128i| {
            u64::from(_mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned())
        };
        bits(equal(0), equal(1)) | bits(equal(2), equal(3)) << 16
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn narrow_word(a: &[u8; WORD], b: &[u8; WORD]) -> u64 {
        let (a, b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
        let mut bits = 0;
        for (a, b) in a.iter().zip(b).rev() {
            let equal = _mm_cmpeq_epi8(load(a), load(b));
            bits = bits << 16 | u64::from(_mm_movemask_epi8(equal).cast_unsigned());
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::{Agreement, count_equal_rows, equal_bits, first_shared_band, shares_a_band};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn equal_bits_are_what_a_loop_over_integers_says(
            integers in proptest::collection::vec(0_u16..9, 32),
            high in prop_oneof![Just(0_u16), Just(0x8000), Just(0xfff0), Just(0x0100)],
        ) {
            let bytes: Vec<u8> =
                integers.iter().flat_map(|integer| (integer ^ high).to_le_bytes()).collect();
            for wanted in 0..9 {
                let window = bytes.as_slice().try_into().expect("a window");
                let bits = equal_bits(window, wanted ^ high);
                for (at, integer) in integers.iter().enumerate() {
                    prop_assert_eq!(bits >> at & 1 == 1, *integer == wanted);
                }
                prop_assert_eq!(bits >> 32, 0);
            }
        }

        #[test]
        fn an_agreement_is_what_a_loop_over_rows_says(
            a in proptest::collection::vec(0_u8..3, 8..3_000),
            lane_bytes in prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)],
            seed in any::<u64>(),
        ) {
            let a = &a[..a.len().min(1_024 * lane_bytes)];
            let a = &a[..a.len() / lane_bytes * lane_bytes];
            let mut random = seed;
            let b: Vec<u8> = a.iter().map(|byte| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if random >> 61 == 0 { byte ^ 1 } else { *byte }
            }).collect();
            let rows: Vec<bool> =
                a.chunks(lane_bytes).zip(b.chunks(lane_bytes)).map(|(a, b)| a == b).collect();
            let count = rows.iter().filter(|equal| **equal).count();
            let bits = 8 * u32::try_from(lane_bytes).expect("few bytes");
            let least = u32::try_from(count).expect("few rows");
            prop_assert!(Agreement::compare(a, &b, bits, least + 1).is_none());
            let agreement = Agreement::compare(a, &b, bits, least).expect("as many are equal");
            prop_assert_eq!(agreement.equal_rows(), least);
            prop_assert_eq!(count_equal_rows(a, &b, bits), least);
            for band in [1, 3, 7] {
                let bands = rows.len() / band;
                let first = first_shared_band(&agreement, bands.saturating_sub(1), band);
                let shares = shares_a_band(a, &b, band * lane_bytes, bands);
                prop_assert_eq!(shares, bands > 0 && first.is_some());
            }
            for first in (0..rows.len()).step_by(5) {
                for count in [0, 1, 2, 3, 8, 63, 64, 65, 130] {
                    if first + count <= rows.len() {
                        let all = rows[first..first + count].iter().all(|equal| *equal);
                        prop_assert_eq!(agreement.all_equal(first, count), all);
                    }
                }
            }
        }
    }
}
