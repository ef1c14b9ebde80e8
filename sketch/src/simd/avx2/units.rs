//! The hashes of short units by AVX2, eight at a time.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_blend_epi32, _mm256_blendv_epi8, _mm256_blendv_pd, _mm256_castpd_si256,
    _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_movemask_ps,
    _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set_epi64x, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpacklo_epi32, _mm256_xor_si256,
};

use super::marks::{PLACES, Places};
use super::{constant, even, load, odd, product, store};
use crate::unit::UnitHash;

/// `UnitHash::short` for all units. Its two formulas share their multiplications. Also writes the
/// positions of longer units.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn short(
    text: &[u8],
    units: &[[u32; 2]],
    hash: UnitHash,
    out: &mut [u64],
    lens: &mut [u64],
    long: &mut [u32],
) -> usize {
    let Some(heads) = Heads::new(text) else { return 0 };
    let keys = [constant(hash.tiny), constant(hash.small)];
    let Some(mut long) = Long::new(long) else { return 0 };
    let (eights, rest) = units.as_chunks::<8>();
    let (places, end) = out.as_chunks_mut::<8>();
    long = hash_some(&heads, keys, eights, places, lens.as_chunks_mut().0, long);
    if !rest.is_empty() {
        let (mut units, mut out) = ([[0; 2]; 8], [0; 8]);
        units[..rest.len()].copy_from_slice(rest);
        long =
            hash_some(&heads, keys, &[units], std::slice::from_mut(&mut out), &mut [[0; 4]], long);
        end.copy_from_slice(&out[..rest.len()]);
    }
    long.count
}

/// Hashes groups of eight units. `lens` must have an element per group.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn hash_some<'a>(
    heads: &Heads<'_>,
    keys: [__m256i; 2],
    units: &[[[u32; 2]; 8]],
    out: &mut [[u64; 8]],
    lens: &mut [[u64; 4]],
    mut long: Long<'a>,
) -> Long<'a> {
    debug_assert!(lens.len() >= units.len(), "the buffer is made for its units");
    // Three loops instead of one, so that several iterations of each fit into the processor's
    // out-of-order window.
    for (units, lens) in units.iter().zip(&mut *lens) {
        let (units, _) = units.as_chunks::<4>();
        let [low, high] = [load(&units[0]), load(&units[1])];
        let len = _mm256_sub_epi32(odd(low, high), even(low, high));
        store(lens, len);
        let is_long = _mm256_cmpgt_epi32(len, _mm256_set1_epi32(8));
        long.add(_mm256_movemask_ps(_mm256_castsi256_ps(is_long)).to_le_bytes()[0]);
    }
    for ((units, out), lens) in units.iter().zip(&mut *out).zip(&*lens) {
        let (units, _) = units.as_chunks::<4>();
        let (out, _) = out.as_chunks_mut::<4>();
        let lens = Lens::new(load(lens));
        store(&mut out[0], keyed(heads.at(&units[0]), lens.low(), keys));
        store(&mut out[1], keyed(heads.at(&units[1]), lens.high(), keys));
    }
    for (out, lens) in out.iter_mut().zip(&*lens) {
        let (out, _) = out.as_chunks_mut::<4>();
        let lens = Lens::new(load(lens));
        let [low, high] = [mixed(load(&out[0]), lens.low()), mixed(load(&out[1]), lens.high())];
        store(&mut out[0], low);
        store(&mut out[1], high);
    }
    long
}

/// The positions of long units.
struct Long<'a> {
    places: &'a mut [u32],
    count: usize,
    /// The last position at which there is room for eight numbers.
    last: usize,
    /// The number of units examined.
    first: __m256i,
}

impl<'a> Long<'a> {
    /// `None` if there is no room for eight numbers at all.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(places: &'a mut [u32]) -> Option<Self> {
        let last = places.len().checked_sub(8)?;
        Some(Self { places, count: 0, last, first: _mm256_setzero_si256() })
    }

    /// Looks at the next eight units, and adds the positions of those whose bits are set. The bits
    /// are in the order of `even`.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn add(&mut self, bits: u8) {
        let numbers = UNEVEN.positions(bits, self.first);
        let place = self.places.as_mut_ptr().wrapping_add(self.count.min(self.last));
        // SAFETY: at `last` and before, there is room for eight numbers, and the store needs no
        // alignment.
        unsafe { _mm256_storeu_si256(place.cast(), numbers) };
        self.count += bits.count_ones() as usize;
        self.first = _mm256_add_epi32(self.first, _mm256_set1_epi32(8));
    }
}

/// Like `PLACES`, but for the bits of eight units in the order of `even`.
static UNEVEN: Places = Places(uneven());

const fn uneven() -> [[u8; 8]; 256] {
    const ORDER: [u8; 8] = [0, 1, 4, 5, 2, 3, 6, 7];
    let mut places = PLACES.0;
    let mut byte = 0;
    while byte < places.len() {
        let mut nth = 0;
        while nth < 8 {
            places[byte][nth] = ORDER[places[byte][nth] as usize];
            nth += 1;
        }
        byte += 1;
    }
    places
}

/// The lengths of eight units, in the order of `even`, and which of them have at least four bytes.
#[derive(Clone, Copy)]
struct Lens {
    len: __m256i,
    small: __m256i,
}

/// The lengths of four units and the masks derived from them: one 64-bit lane per unit.
#[derive(Clone, Copy)]
struct Four {
    len: __m256i,
    small: __m256i,
    /// Combined by OR with the shuffle indices of a unit's bytes. The low half adds eight for every
    /// second unit, because its bytes are the upper eight of 16. The high half sets bit 7 if the
    /// unit has fewer than four bytes: the shuffle then gives zeros.
    order: __m256i,
}

impl Lens {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(len: __m256i) -> Self {
        Self { len, small: _mm256_cmpgt_epi32(len, _mm256_set1_epi32(3)) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn low(self) -> Four {
        Four {
            len: _mm256_unpacklo_epi32(self.len, _mm256_setzero_si256()),
            small: _mm256_unpacklo_epi32(self.small, self.small),
            order: _mm256_unpacklo_epi32(second(), self.none_above()),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn high(self) -> Four {
        Four {
            len: _mm256_unpackhi_epi32(self.len, _mm256_setzero_si256()),
            small: _mm256_unpackhi_epi32(self.small, self.small),
            order: _mm256_unpackhi_epi32(second(), self.none_above()),
        }
    }

    /// Bit 7 of each index, for units of fewer than four bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn none_above(self) -> __m256i {
        _mm256_andnot_si256(self.small, constant(0x8080_8080_8080_8080))
    }
}

/// For every second number, the shuffle takes bytes from positions 8 to 15.
#[inline]
#[target_feature(enable = "avx2")]
fn second() -> __m256i {
    constant(0x0808_0808_0000_0000)
}

/// Reads the first eight bytes of units without a bounds check for each.
struct Heads<'a> {
    text: &'a [u8],
    /// A power of two minus one. The power is at most the length of the text minus eight.
    mask: usize,
}

impl<'a> Heads<'a> {
    /// `None` if the text has fewer than nine bytes.
    #[inline]
    fn new(text: &'a [u8]) -> Option<Self> {
        let exponent = text.len().checked_sub(8)?.checked_ilog2()?;
        Some(Self { text, mask: (1 << exponent) - 1 })
    }

    /// The first eight bytes of each unit. A unit must begin at `mask` or before; otherwise the
    /// result is unspecified.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at(&self, units: &[[u32; 2]; 4]) -> __m256i {
        let head = |[start, _]: [u32; 2]| {
            debug_assert!(start as usize <= self.mask, "the buffer is made for its units");
            let from = self.text.as_ptr().wrapping_add(start as usize & self.mask);
            // SAFETY: at `mask` and before, eight bytes are left, and the read needs no
            // alignment.
            unsafe { from.cast::<i64>().read_unaligned() }
        };
        let [first, second, third, last] = units.map(head);
        _mm256_set_epi64x(last, third, second, first)
    }
}

/// The first step of `UnitHash::short` for four units of 1 to 8 bytes: selects the bytes to mix,
/// and combines them with their key.
#[inline]
#[target_feature(enable = "avx2")]
fn keyed(head: __m256i, lens: Four, [tiny, small]: [__m256i; 2]) -> __m256i {
    let low = _mm256_permutevar8x32_epi32(load(&ORDER_LOW), lens.len);
    let order = _mm256_blend_epi32::<0b1010_1010>(low, load(&ABOVE));
    let bytes = _mm256_shuffle_epi8(head, _mm256_or_si256(order, lens.order));
    let tiny = _mm256_xor_si256(tiny, _mm256_slli_epi64::<8>(lens.len));
    let (tiny, small) = (_mm256_castsi256_pd(tiny), _mm256_castsi256_pd(small));
    // The highest bit selects `tiny`: it is set for fewer than four bytes.
    let key = _mm256_blendv_pd(small, tiny, _mm256_castsi256_pd(lens.order));
    _mm256_xor_si256(bytes, _mm256_castpd_si256(key))
}

/// The remaining steps of `UnitHash::short`. The result is unspecified for units of more than eight
/// bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn mixed(mixed: __m256i, lens: Four) -> __m256i {
    let xor = |a, b| _mm256_xor_si256(a, b);
    let one_of = |tiny, small| _mm256_blendv_epi8(constant(tiny), constant(small), lens.small);
    let times = |number, tiny: u64, small: u64| {
        let swapped = one_of(tiny.rotate_left(32), small.rotate_left(32));
        product(number, one_of(tiny, small), swapped)
    };
    let by_49 = xor(_mm256_slli_epi64::<49>(mixed), _mm256_srli_epi64::<15>(mixed));
    let turned = xor(by_49, _mm256_shuffle_epi8(mixed, load(&BY_24)));
    let turned = _mm256_blendv_epi8(_mm256_srli_epi64::<33>(mixed), turned, lens.small);
    let mixed = times(xor(mixed, turned), 0xc2b2_ae3d_27d4_eb4f, 0x9fb2_1c65_1e98_df25);
    let moved = _mm256_srlv_epi64(mixed, one_of(29, 35));
    let mixed = xor(mixed, _mm256_add_epi64(moved, _mm256_and_si256(lens.len, lens.small)));
    let mixed = times(mixed, 0x1656_67b1_9e37_79f9, 0x9fb2_1c65_1e98_df25);
    xor(mixed, _mm256_srlv_epi64(mixed, one_of(32, 28)))
}

/// Shuffle indices for the high four bytes that are mixed: the first four bytes of a unit.
static ABOVE: [u32; 8] = [0, 0x0302_0100, 0, 0x0b0a_0908, 0, 0x0302_0100, 0, 0x0b0a_0908];

/// Shuffle indices for the low four bytes that are mixed, at index length modulo 8. An index with
/// bit 7 set gives a zero.
static ORDER_LOW: [u32; 8] = [
    0x0706_0504,
    0x0000_8000,
    0x0100_8001,
    0x0100_8002,
    0x0302_0100,
    0x0403_0201,
    0x0504_0302,
    0x0605_0403,
];

/// Shuffle indices, within 16 bytes each, that rotate 64-bit numbers to the left by 24.
static BY_24: [u32; 8] = [
    0x0007_0605,
    0x0403_0201,
    0x080f_0e0d,
    0x0c0b_0a09,
    0x0007_0605,
    0x0403_0201,
    0x080f_0e0d,
    0x0c0b_0a09,
];
