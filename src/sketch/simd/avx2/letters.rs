//! Folds letters by AVX2, 32 bytes at a time.
//!
//! `fold::Pass` is the scalar reference; tests compare the two.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi8, _mm256_adds_epu8, _mm256_alignr_epi8,
    _mm256_and_si256, _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
};

use crate::sketch::fold::scripts::{EXTEND, Scripts, Stretch, VIRAMA};

/// The lead bytes D6 and D7, which share a table, without their lowest bit. All Hebrew letters
/// start with D7.
const HEBREW: u8 = 0xd6;

/// A folded block, and a bit for each byte where an unsupported character starts.
type FoldedLetters = (__m256i, u32);

/// Folds ASCII and plain letters. Stops at any other character, after `limit` bytes, or when fewer
/// than 32 bytes are left.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn letters(
    scripts: &Scripts,
    text: &[u8],
    out: &mut [u8],
    limit: usize,
    from: Stretch,
) -> Stretch {
    let Stretch { mut at, mut len, mut open } = from;
    while len <= limit
        && let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<32>)
        && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<32>)
    {
        // SAFETY: `block` has 32 bytes, and the load needs no alignment.
        let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let lead = mask(bytes) & !mask(trailing(bytes));
        let first = block.get(lead.trailing_zeros() as usize).copied().unwrap_or(0);
        let (folded, others) = match first {
            0..0x80 => (lower(bytes), 0),
            0xe0 => of_three(scripts, block, bytes, lead, open),
            0x80..0xe0 => of_two(scripts, bytes, lead, first),
            _ => (lower(bytes), lead),
        };
        // SAFETY: `place` has 32 bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), folded) };
        let count = others.trailing_zeros() as usize;
        if count == 0 {
            break;
        }
        (at, len) = (at + count, len + count);
        open = block.get(count - 1).is_some_and(|byte| *byte >= 0x80);
        let next = text.get(at).copied().unwrap_or(0);
        if count < 29 || open && first & 0xfe == HEBREW && matches!(next, b'\'' | b'"') {
            break;
        }
    }
    Stretch { at, len, open }
}

/// Folds two-byte characters whose leading byte is in the same pair as `first`.
#[inline]
#[target_feature(enable = "avx2")]
fn of_two(scripts: &Scripts, bytes: __m256i, lead: u32, first: u8) -> FoldedLetters {
    let table = &scripts.of_two[usize::from(first >> 1 & 0xf)];
    let [trails, leads] = table.as_chunks().0 else { return (bytes, lead) };
    let index = numbers_of(bytes);
    let trail = trailing(bytes);
    // The results are at the trailing bytes; the shift moves them to the leading bytes before them.
    let to = looked_up(leads, index);
    let plain = mask(to) & mask(trail);
    let to = _mm256_alignr_epi8::<1>(_mm256_permute2x128_si256::<0x81>(to, to), to);
    let pair = mask(is(_mm256_and_si256(bytes, each(0xfe)), first & 0xfe));
    let mut others = lead & !(pair & plain >> 1);
    if first & 0xfe == HEBREW {
        let quotes = mask(_mm256_or_si256(is(bytes, b'\''), is(bytes, b'"')));
        others |= quotes & mask(trail) << 1;
    }
    let letter = _mm256_blendv_epi8(to, looked_up(trails, index), trail);
    // The highest bit of each byte selects: non-ASCII bytes have it.
    (_mm256_blendv_epi8(lower(bytes), letter, bytes), others)
}

/// Passes through three-byte characters that folding does not change, if they are in the same
/// aligned block of 128 code points as the first three-byte character.
#[inline]
#[target_feature(enable = "avx2")]
fn of_three(
    scripts: &Scripts,
    block: &[u8; 32],
    bytes: __m256i,
    lead: u32,
    open: bool,
) -> FoldedLetters {
    let second = block.get(lead.trailing_zeros() as usize + 1).copied().unwrap_or(0);
    let kinds = looked_up(&scripts.of_three[usize::from(second >> 1 & 0xf)], numbers_of(bytes));
    let known = !mask(is(kinds, 0));
    let plain = mask(is(_mm256_and_si256(kinds, each(EXTEND | VIRAMA)), 0));
    let window = mask(is(_mm256_and_si256(bytes, each(0xfe)), second & 0xfe));
    let leads = mask(is(bytes, 0xe0));
    let others = lead & !(leads & window >> 1 & known >> 2);
    let beyond = mask(bytes) << 1 | u32::from(open);
    (lower(bytes), others | lead & !plain >> 2 & !beyond)
}

/// The continuation bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn trailing(bytes: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(each(0xc0), bytes)
}

/// At the last byte of each character, the low seven bits of its code point.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers_of(bytes: __m256i) -> __m256i {
    let before = _mm256_permute2x128_si256::<0x08>(bytes, bytes);
    let before = _mm256_alignr_epi8::<15>(bytes, before);
    let high = _mm256_slli_epi16::<6>(_mm256_and_si256(before, each(1)));
    _mm256_or_si256(_mm256_and_si256(bytes, each(0x3f)), high)
}

/// Looks up indices below 128 in a table, sixteen entries at a time. An index outside the current
/// sixteen gets its highest bit set, so that the shuffle gives zero.
#[inline]
#[target_feature(enable = "avx2")]
fn looked_up(table: &[u8; 128], index: __m256i) -> __m256i {
    let mut found = _mm256_setzero_si256();
    for (part, first) in table.as_chunks::<16>().0.iter().zip((0..128_u8).step_by(16)) {
        // SAFETY: `part` has 16 bytes, and the load needs no alignment.
        let part: __m128i = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
        let within = _mm256_adds_epu8(_mm256_xor_si256(index, each(first)), each(0x70));
        let of_part = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(part), within);
        found = _mm256_or_si256(found, of_part);
    }
    found
}

/// Converts ASCII upper-case letters to lower case.
#[inline]
#[target_feature(enable = "avx2")]
fn lower(bytes: __m256i) -> __m256i {
    let moved = _mm256_add_epi8(bytes, each(0x80 - b'A'));
    let upper = _mm256_cmpgt_epi8(each(0x80 + 26), moved);
    _mm256_or_si256(bytes, _mm256_and_si256(upper, each(0x20)))
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(bytes: __m256i) -> u32 {
    _mm256_movemask_epi8(bytes).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn is(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, each(byte))
}

#[inline]
#[target_feature(enable = "avx2")]
fn each(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}
