//! The hashes of short units by AVX-512.
//!
//! Each function is defined by scalar code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m512i, _mm256_add_epi32, _mm256_maskz_compress_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_storeu_si256, _mm512_add_epi8, _mm512_cmpgt_epu64_mask, _mm512_mask_add_epi64,
    _mm512_mask_blend_epi64, _mm512_mask_storeu_epi64, _mm512_maskz_loadu_epi64,
    _mm512_maskz_permutex2var_epi8, _mm512_maskz_sub_epi32, _mm512_movepi8_mask,
    _mm512_mullo_epi64, _mm512_permutexvar_epi64, _mm512_rol_epi64, _mm512_set_epi64,
    _mm512_shuffle_epi8, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_sub_epi64, _mm512_xor_si512,
};

use super::{constant, load};
use crate::unit::UnitHash;

/// `UnitHash::short` for eight units at a time. Its two formulas share their multiplications.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn short(
    text: &[u8],
    units: &[[u32; 2]],
    hash: UnitHash,
    out: &mut [u64],
    long: &mut [u32],
) -> usize {
    let lengths = lengths(hash);
    let mut at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut count = 0;
    for (units, out) in units.chunks(8).zip(out.chunks_mut(8)) {
        let there = u8::MAX >> (8 - out.len().min(units.len()));
        // SAFETY: the mask selects only pairs inside `units`; masked-off ones are not read.
        let pairs = unsafe { _mm512_maskz_loadu_epi64(there, units.as_ptr().cast()) };
        // The low half of each pair is the start, the high half the end.
        let ends = _mm512_srli_epi64::<32>(pairs);
        let len = _mm512_maskz_sub_epi32(LOW_HALVES, ends, pairs);
        let hashes = if let Some((base, window)) = window(text, units) {
            let from = _mm512_sub_epi64(pairs, constant(u64::from(base)));
            hashes(super::halves(window), from, len, lengths)
        } else {
            let eighths = _mm512_set_epi64(56, 48, 40, 32, 24, 16, 8, 0);
            let heads = heads(text, units);
            // Every byte is in the first vector, so the second is never used.
            hashes([heads, heads], eighths, len, lengths)
        };
        // SAFETY: the mask selects only numbers inside `out`; masked-off ones are not written.
        unsafe { _mm512_mask_storeu_epi64(out.as_mut_ptr().cast(), there, hashes) };
        let more = _mm512_cmpgt_epu64_mask(len, constant(8));
        if let Some(place) = long.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<8>) {
            let kept = _mm256_maskz_compress_epi32(more, at);
            // SAFETY: `place` has 32 bytes, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), kept) };
        }
        count += more.count_ones() as usize;
        at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
    }
    count
}

/// The position of the first unit, and the 128 bytes from there on. `None` unless these include the
/// first eight bytes of every unit.
#[inline(always)]
fn window<'a>(text: &'a [u8], units: &[[u32; 2]]) -> Option<(u32, &'a [u8; 128])> {
    let (first, last) = (units.first()?[0], units.last()?[0]);
    let bytes = text.get(first as usize..)?.first_chunk()?;
    (last - first <= 128 - 8).then_some((first, bytes))
}

/// The first eight bytes of each of up to eight units, in order.
#[inline]
#[target_feature(enable = "avx512f")]
fn heads(text: &[u8], units: &[[u32; 2]]) -> __m512i {
    let head = |nth: usize| {
        let start = units.get(nth).map_or(0, |[start, _]| *start as usize);
        let bytes = text.get(start..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| i64::from_le_bytes(*bytes))
    };
    // Built in registers, not in memory: a 64-byte load after eight-byte stores stalls store
    // forwarding.
    _mm512_set_epi64(head(7), head(6), head(5), head(4), head(3), head(2), head(1), head(0))
}

/// Parameters that depend on the length of a short unit, at index length modulo 8.
#[derive(Clone, Copy)]
struct Lengths {
    /// The indices of the bytes that are mixed, counted from the unit's first byte. If the highest
    /// bit of an index is not set, a zero is mixed instead.
    order: __m512i,
    /// The key that the bytes are mixed with.
    key: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lengths(hash: UnitHash) -> Lengths {
    // Units of one to three bytes also mix their length, as a byte. In `order` this byte is a zero,
    // because the key contains the length.
    let order: [u64; 8] = [
        0x8382_8180_8786_8584,
        0x0000_0000_8080_0080,
        0x0000_0000_8180_0081,
        0x0000_0000_8180_0082,
        0x8382_8180_8382_8180,
        0x8382_8180_8483_8281,
        0x8382_8180_8584_8382,
        0x8382_8180_8685_8483,
    ];
    let [one, two, three] = [1, 2, 3].map(|len| hash.tiny ^ len << 8);
    let small = hash.small;
    Lengths {
        order: load(&order),
        key: load(&[small, one, two, three, small, small, small, small]),
    }
}

/// The hashes of eight units within 128 bytes. Each unit begins at the position in the lowest byte
/// of its number in `from`, and is `len` bytes long.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn hashes([low, high]: [__m512i; 2], from: __m512i, len: __m512i, lengths: Lengths) -> __m512i {
    let small = _mm512_cmpgt_epu64_mask(len, constant(3));
    let one_of = |tiny, other| _mm512_mask_blend_epi64(small, constant(tiny), constant(other));
    let xor = |a, b| _mm512_xor_si512(a, b);
    // Repeats the lowest byte of each number eight times. The shuffle works on 16 bytes, and the
    // second of the two numbers in them has its lowest byte at position 8.
    let lowest = _mm512_set_epi64(EIGHTS, 0, EIGHTS, 0, EIGHTS, 0, EIGHTS, 0);
    let from = _mm512_shuffle_epi8(from, lowest);
    let places = _mm512_add_epi8(from, _mm512_permutexvar_epi64(len, lengths.order));
    let mixed = _mm512_movepi8_mask(places);
    let bytes = _mm512_maskz_permutex2var_epi8(mixed, low, places, high);
    let mixed = xor(bytes, _mm512_permutexvar_epi64(len, lengths.key));
    let turned = xor(_mm512_rol_epi64::<49>(mixed), _mm512_rol_epi64::<24>(mixed));
    let turned = _mm512_mask_blend_epi64(small, _mm512_srli_epi64::<33>(mixed), turned);
    let factor = one_of(0xc2b2_ae3d_27d4_eb4f, 0x9fb2_1c65_1e98_df25);
    let mixed = _mm512_mullo_epi64(xor(mixed, turned), factor);
    let moved = _mm512_srlv_epi64(mixed, one_of(29, 35));
    let mixed = xor(mixed, _mm512_mask_add_epi64(moved, small, moved, len));
    let factor = one_of(0x1656_67b1_9e37_79f9, 0x9fb2_1c65_1e98_df25);
    let mixed = _mm512_mullo_epi64(mixed, factor);
    xor(mixed, _mm512_srlv_epi64(mixed, one_of(32, 28)))
}

/// Selects the low half of each 64-bit number.
const LOW_HALVES: u16 = 0x5555;

/// The number eight in each byte.
const EIGHTS: i64 = 0x0808_0808_0808_0808;
