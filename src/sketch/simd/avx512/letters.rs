//! Folds letters by AVX-512, 64 bytes at a time.
//!
//! `fold::Pass` is the scalar reference; tests compare the two.

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epi8_mask,
    _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_mask_mov_epi8,
    _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutex2var_epi8,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_slli_epi16, _mm512_storeu_si512,
    _mm512_sub_epi8, _mm512_test_epi8_mask,
};

use crate::sketch::fold::scripts::{EXTEND, LETTER, NUKTA, SECOND, Scripts, Stretch};

/// For each of 64 bytes, the index of the byte before it, and of the byte after it.
static BEFORE: [u8; 64] = numbers(63);
static BEHIND: [u8; 64] = numbers(1);

#[expect(clippy::cast_possible_truncation, reason = "they are below 64")]
const fn numbers(plus: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = ((at + plus) % 64) as u8;
        at += 1;
    }
    numbers
}

/// The lead bytes D6 and D7, which share a table, without their lowest bit. All Hebrew letters
/// start with D7.
const HEBREW: u8 = 0xd6;

/// A folded block, and a bit for each byte where an unsupported character starts.
type FoldedBytes = (__m512i, u64);

/// Folds ASCII and plain letters. Stops at any other character, after `limit` bytes, or at the end
/// of the text.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn letters(
    scripts: &Scripts,
    text: &[u8],
    out: &mut [u8],
    limit: usize,
    from: Stretch,
) -> Stretch {
    let Stretch { mut at, mut len, mut open } = from;
    while len <= limit
        && let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty())
        && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<64>)
    {
        let there = u64::MAX >> (64 - rest.len().min(64));
        // SAFETY: the mask selects only bytes of `rest`; masked-off bytes are not read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(there, rest.as_ptr().cast()) };
        let lead = _mm512_movepi8_mask(bytes) & !trailing(bytes);
        let first = rest.get(lead.trailing_zeros() as usize).copied().unwrap_or(0);
        let (folded, others) = match first {
            0..0x80 => (lower(bytes), 0),
            0xe0 => of_three(scripts, rest, bytes, lead, open),
            0x80..0xe0 => of_two(scripts, bytes, lead, first),
            _ => (lower(bytes), lead),
        };
        // SAFETY: `place` has 64 bytes, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), folded) };
        let count = (others | !there).trailing_zeros() as usize;
        if count == 0 {
            break;
        }
        (at, len) = (at + count, len + count);
        open = rest.get(count - 1).is_some_and(|byte| *byte >= 0x80);
        let hebrew = open && first & 0xfe == HEBREW;
        if count < 56 || hebrew && matches!(rest.get(count), Some(b'\'' | b'"')) {
            break;
        }
        // A mark would hide the Hebrew letter from a quote after it.
        open &= !hebrew;
    }
    Stretch { at, len, open }
}

/// Folds two-byte characters whose leading byte is in the same pair as `first`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn of_two(scripts: &Scripts, bytes: __m512i, lead: u64, first: u8) -> FoldedBytes {
    let table = &scripts.of_two[usize::from(first >> 1 & 0xf)];
    let [trails, leads] = table.as_chunks().0 else { return (bytes, lead) };
    let index = numbers_of(bytes);
    let trail = trailing(bytes);
    // The results are at the trailing bytes; the permutation moves them to the leading bytes before
    // them.
    let to = looked_up(leads, index);
    let plain = _mm512_test_epi8_mask(to, to) & trail;
    let to = _mm512_permutexvar_epi8(all(&BEHIND), to);
    let pair = _mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, each(0xfe)), each(first & 0xfe));
    let mut others = lead & !(pair & plain >> 1);
    if first & 0xfe == HEBREW {
        let quotes =
            _mm512_cmpeq_epi8_mask(bytes, each(b'\'')) | _mm512_cmpeq_epi8_mask(bytes, each(b'"'));
        others |= quotes & trail << 1;
    }
    let folded = _mm512_mask_mov_epi8(lower(bytes), trail, looked_up(trails, index));
    (_mm512_mask_mov_epi8(folded, lead, to), others)
}

/// Passes through three-byte characters that folding does not change, if they are in the same
/// aligned block of 128 code points as the first three-byte character.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn of_three(scripts: &Scripts, rest: &[u8], bytes: __m512i, lead: u64, open: bool) -> FoldedBytes {
    let second = rest.get(lead.trailing_zeros() as usize + 1).copied().unwrap_or(0);
    let flags = looked_up(scripts.block(0xe0, second), numbers_of(bytes));
    // What depends on the character before it stops the run here.
    let known = _mm512_test_epi8_mask(flags, each(LETTER | EXTEND))
        & !_mm512_test_epi8_mask(flags, each(SECOND | NUKTA));
    let extends = _mm512_test_epi8_mask(flags, each(EXTEND));
    let window = _mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, each(0xfe)), each(second & 0xfe));
    let leads = _mm512_cmpeq_epi8_mask(bytes, each(0xe0));
    let mut others = lead & !(leads & window >> 1 & known >> 2);
    let beyond = _mm512_movepi8_mask(bytes);
    others |= lead & extends >> 2 & !(beyond << 1 | u64::from(open));
    (lower(bytes), others)
}

/// The continuation bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn trailing(bytes: __m512i) -> u64 {
    _mm512_cmplt_epi8_mask(bytes, each(0xc0))
}

/// At the last byte of each character, the low seven bits of its code point.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn numbers_of(bytes: __m512i) -> __m512i {
    let before = _mm512_permutexvar_epi8(all(&BEFORE), bytes);
    let high = _mm512_slli_epi16(_mm512_and_si512(before, each(1)), 6);
    _mm512_or_si512(_mm512_and_si512(bytes, each(0x3f)), high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn looked_up(table: &[u8; 128], index: __m512i) -> __m512i {
    let [low, high] = super::halves(table);
    _mm512_permutex2var_epi8(low, index, high)
}

/// Converts ASCII upper-case letters to lower case.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn lower(bytes: __m512i) -> __m512i {
    let upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, each(b'A')), each(26));
    _mm512_mask_add_epi8(bytes, upper, bytes, each(0x20))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn each(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: `bytes` has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
