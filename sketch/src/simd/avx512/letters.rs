//! Folds letters by AVX-512, 64 bytes at a time.
//!
//! `fold::Pass` is the scalar reference; tests compare the two.

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epi8_mask,
    _mm512_cmplt_epu8_mask, _mm512_mask_add_epi8, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_slli_epi16, _mm512_sub_epi8, _mm512_test_epi8_mask,
};

use super::{each, load, looked_up, numbers, store};
use crate::fold::composites::COMPOSITES;
use crate::fold::scripts::{
    BOUNDARY, BREAK, EXTEND, FIRST, Flagged, HEBREW, MARKS, NUKTA, SECOND, Scripts, Shortened,
    Stretch, VIRAMA, complete, ending,
};

/// For each of 64 bytes, the index of the byte before it, and of the byte after it.
static BEFORE: [u8; 64] = numbers(63);
static BEHIND: [u8; 64] = numbers(1);

/// Folds ASCII, plain letters, and what stands between them. Stops at any other character, after
/// `limit` bytes, or at the end of the text.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn letters<const WORDS: bool>(
    scripts: &Scripts,
    text: &[u8],
    out: &mut [u8],
    limit: usize,
    from: Stretch,
) -> Stretch {
    let Stretch { mut at, mut len, mut open } = from;
    let mut copy = [0; 128];
    while len <= limit
        && let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty())
        && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<64>)
    {
        let block = rest.get(..64).unwrap_or(rest);
        let there = u64::MAX >> (64 - block.len());
        // SAFETY: the mask selects only bytes of `block`; masked-off bytes are not read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(there, block.as_ptr().cast()) };
        let (folded, stops, marks, short) = block_of::<WORDS>(scripts, block, bytes, open);
        let mut read = complete(block);
        let whole = u64::MAX >> (64 - read);
        if (stops | marks) & whole == 0 {
            // The usual case. The position of the next block does not depend on the look-ups.
            let kept = whole & !(short.joiners | short.all() << 1 | short.all() << 2);
            let folded = _mm512_maskz_compress_epi8(kept, folded);
            store(place, folded);
            len += kept.count_ones() as usize;
        } else {
            let end = read.min(stops.trailing_zeros() as usize);
            if let Some(place) = copy.first_chunk_mut::<64>() {
                store(place, folded);
            }
            (read, len) = COMPOSITES.copy::<64>((block, &copy), marks | short.all(), end, out, len);
        }
        if read == 0 {
            break;
        }
        at += read;
        let hebrew;
        (open, hebrew) = ending(out, len);
        // Up to two bytes of a character may be in the next block.
        if read < 62 || hebrew && matches!(text.get(at), Some(b'\'' | b'"')) {
            break;
        }
        // A mark would hide the Hebrew letter from a quote after it.
        open &= !hebrew;
    }
    Stretch { at, len, open }
}

/// Folds a block. Also returns a bit for each byte where the run must stop, the leading bytes of
/// marks, and those of characters that become shorter.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn block_of<const WORDS: bool>(
    scripts: &Scripts,
    block: &[u8],
    bytes: __m512i,
    open: bool,
) -> (__m512i, u64, u64, Shortened) {
    let trail = trailing(bytes);
    let mut folded = lower(bytes);
    // The characters that no step has folded yet. Each step folds those of one table.
    let mut others = _mm512_movepi8_mask(bytes) & !trail;
    let (mut stops, mut extends, mut breaks, mut marks) = (0, 0, 0, 0);
    let mut short = Shortened::default();
    while let Some([first, second, rest @ ..]) = block.get(others.trailing_zeros() as usize..) {
        let plain = match *first {
            MARKS => {
                marks = is(bytes, MARKS);
                marks
            }
            // The third byte is in the next block.
            0xe0.. if rest.is_empty() => 0,
            0x80..0xe0 => {
                let (to, pair, plain) = of_two(scripts, bytes, trail, *first);
                folded = _mm512_mask_mov_epi8(folded, pair | pair << 1, to);
                if *first & 0xfe == HEBREW & 0xfe {
                    stops |= (is(bytes, b'\'') | is(bytes, b'"')) & is(bytes, HEBREW) << 2;
                }
                plain
            }
            0xe0..=0xe2 => {
                let (flagged, found) = of_three::<WORDS>(scripts, bytes, [*first, *second]);
                let beyond = _mm512_movepi8_mask(bytes) & !(is(bytes, HEBREW) << 1);
                stops |= flagged.stops(beyond, open);
                extends |= flagged.plain & flagged.extend >> 2;
                breaks |= flagged.plain & found >> 2;
                short = shortened(scripts, bytes);
                flagged.plain | short.all()
            }
            0xea..=0xed => hangul(bytes, trail),
            _ => 0,
        };
        let left = others & !plain;
        if left.trailing_zeros() == others.trailing_zeros() {
            break;
        }
        others = left;
    }
    if breaks | short.all() != 0 {
        // A boundary is a byte of ASCII, which nothing extends.
        let boundaries = breaks | breaks << 1 | breaks << 2;
        folded = _mm512_mask_mov_epi8(folded, boundaries, each(BOUNDARY));
        folded = _mm512_mask_mov_epi8(folded, short.singles, each(b'\''));
        folded = _mm512_mask_mov_epi8(folded, short.doubles, each(b'"'));
        stops |= extends & (breaks | short.all()) << 3;
        // Stop before a quote that follows a Hebrew letter, perhaps with a joiner between them. The
        // character before the first byte is unknown here.
        stops |= short.all() & (is(bytes, HEBREW) << 2 | 1);
    }
    (folded, others | stops, marks, short)
}

/// Finds the characters that become shorter: see `Scripts::shortens`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shortened(scripts: &Scripts, bytes: __m512i) -> Shortened {
    if !scripts.shortens {
        return Shortened::default();
    }
    let leads = is(bytes, 0xe2) & is(bytes, 0x80) >> 1;
    Shortened {
        joiners: leads & pair_of(bytes, 0x8c) >> 2,
        singles: leads & pair_of(bytes, 0x98) >> 2,
        doubles: leads & pair_of(bytes, 0x9c) >> 2,
    }
}

/// Folds two-byte characters whose leading byte is in the same pair as `first`; other bytes get any
/// values. Also returns the leading bytes of that pair, and those of the characters that were
/// folded.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn of_two(scripts: &Scripts, bytes: __m512i, trail: u64, first: u8) -> (__m512i, u64, u64) {
    let table = &scripts.of_two[usize::from(first >> 1 & 0xf)];
    let [trails, leads] = table.as_chunks().0 else { return (bytes, 0, 0) };
    let index = numbers_of(bytes);
    // The results are at the trailing bytes; the permutation moves them to the leading bytes before
    // them.
    let to = looked_up(leads, index);
    let plain = _mm512_test_epi8_mask(to, to) & trail;
    let to = _mm512_permutexvar_epi8(load(&BEHIND), to);
    let pair = pair_of(bytes, first);
    (_mm512_mask_mov_epi8(to, trail, looked_up(trails, index)), pair, pair & plain >> 1)
}

/// The three-byte characters of one block of 128 that folding does not change, or with `WORDS`
/// replaces by boundaries: the latter by their third bytes, too. `start` has the first two bytes of
/// one of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn of_three<const WORDS: bool>(
    scripts: &Scripts,
    bytes: __m512i,
    start: [u8; 2],
) -> (Flagged, u64) {
    let [first, second] = start;
    let flags = looked_up(scripts.block(first, second), numbers_of(bytes));
    let having = |flag| _mm512_test_epi8_mask(flags, each(flag));
    let known = having(if WORDS { u8::MAX } else { !BREAK });
    let flagged = Flagged {
        plain: is(bytes, first) & pair_of(bytes, second) >> 1 & known >> 2,
        extend: having(EXTEND),
        virama: having(VIRAMA),
        nukta: having(NUKTA),
        second: having(SECOND),
        first: having(FIRST),
    };
    (flagged, having(BREAK))
}

/// The leading bytes of the Hangul syllables up to U+D77F, which folding does not change.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn hangul(bytes: __m512i, trail: u64) -> u64 {
    let below_9e = _mm512_cmplt_epu8_mask(bytes, each(0x9e));
    let below_b0 = _mm512_cmplt_epu8_mask(bytes, each(0xb0));
    let begun = is(bytes, 0xea) & !below_b0 >> 1 | is(bytes, 0xed) & below_9e >> 1;
    (is(bytes, 0xeb) | is(bytes, 0xec) | begun) & trail >> 2
}

/// The bytes that differ from `byte` in the lowest bit at most.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pair_of(bytes: __m512i, byte: u8) -> u64 {
    is(_mm512_and_si512(bytes, each(0xfe)), byte & 0xfe)
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
    let before = _mm512_permutexvar_epi8(load(&BEFORE), bytes);
    let high = _mm512_slli_epi16(_mm512_and_si512(before, each(1)), 6);
    _mm512_or_si512(_mm512_and_si512(bytes, each(0x3f)), high)
}

/// Converts ASCII upper-case letters to lower case.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn lower(bytes: __m512i) -> __m512i {
    let upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, each(b'A')), each(26));
    _mm512_mask_add_epi8(bytes, upper, bytes, each(0x20))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn is(bytes: __m512i, byte: u8) -> u64 {
    _mm512_cmpeq_epi8_mask(bytes, each(byte))
}
