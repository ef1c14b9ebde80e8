//! Folds letters by AVX2, 32 bytes at a time.
//!
//! `fold::Pass` is the scalar reference; tests compare the two.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_alignr_epi8, _mm256_and_si256, _mm256_blendv_epi8,
    _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi64x, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_slli_epi16,
};

use super::{each, is, load, store, within};
use crate::fold::composites::COMPOSITES;
use crate::fold::scripts::{
    BOUNDARY, BREAK, EXTEND, FIRST, Flagged, HEBREW, MARKS, NUKTA, SECOND, Scripts, Shortened,
    Stretch, VIRAMA, complete, ending,
};

/// Folds ASCII, plain letters, and what stands between them. Stops at any other character, after
/// `limit` bytes, or when fewer than 32 bytes are left.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn letters<const WORDS: bool>(
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
        let bytes = load(block);
        let (folded, stops, events) = block_of::<WORDS>(scripts, block, bytes, open);
        let mut read = complete(block);
        if (stops | events) & (u32::MAX >> (32 - read)) == 0 {
            // The usual case. The position of the next block does not depend on the look-ups.
            store(place, folded);
            len += read;
        } else {
            let end = read.min(stops.trailing_zeros() as usize);
            (read, len) = copied((block, folded), events, end, out, len);
        }
        if read == 0 {
            break;
        }
        at += read;
        let hebrew;
        (open, hebrew) = ending(out, len);
        // Up to two bytes of a character may be in the next block.
        if read < 30 || hebrew && matches!(text.get(at), Some(b'\'' | b'"')) {
            break;
        }
        // A mark would hide the Hebrew letter from a quote after it.
        open &= !hebrew;
    }
    Stretch { at, len, open }
}

/// Calls `Composites::copy`. Not inlined, to leave registers to the loop.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn copied(
    (text, folded): (&[u8; 32], __m256i),
    events: u32,
    end: usize,
    out: &mut [u8],
    len: usize,
) -> (usize, usize) {
    let mut copy = [0; 128];
    if let Some(place) = copy.first_chunk_mut::<32>() {
        store(place, folded);
    }
    COMPOSITES.copy::<32>((text, &copy), events.into(), end, out, len)
}

/// Folds a block. Also returns a bit for each byte where the run must stop, and the leading bytes
/// of the characters for `Composites::copy`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn block_of<const WORDS: bool>(
    scripts: &Scripts,
    block: &[u8; 32],
    bytes: __m256i,
    open: bool,
) -> (__m256i, u32, u32) {
    let trail = trailing(bytes);
    let mut folded = lower(bytes);
    // The characters that no step has folded yet. Each step folds those of one table.
    let mut others = mask(bytes) & !mask(trail);
    let (mut stops, mut extends, mut breaks, mut marks, mut short) = (0, 0, 0, 0, 0);
    while let Some([first, second, rest @ ..]) = block.get(others.trailing_zeros() as usize..) {
        let plain = match *first {
            MARKS => {
                marks = mask(is(bytes, MARKS));
                marks
            }
            // The third byte is in the next block.
            0xe0.. if rest.is_empty() => 0,
            0x80..0xe0 => {
                let (to, plain) = of_two(scripts, bytes, trail, *first);
                folded = _mm256_blendv_epi8(folded, to, pair_of(bytes, *first));
                if *first & 0xfe == HEBREW & 0xfe {
                    let quotes = mask(_mm256_or_si256(is(bytes, b'\''), is(bytes, b'"')));
                    stops |= quotes & mask(is(bytes, HEBREW)) << 2;
                }
                plain
            }
            0xe0..=0xe2 => {
                let found = of_three::<WORDS>(scripts, bytes, [*first, *second], open);
                stops |= found.stops;
                extends |= found.extends;
                breaks |= found.breaks;
                short = found.short;
                found.plain
            }
            0xea..=0xed => hangul(bytes),
            _ => 0,
        };
        let left = others & !plain;
        if left.trailing_zeros() == others.trailing_zeros() {
            break;
        }
        others = left;
    }
    if breaks | short != 0 {
        folded = replaced(scripts, folded, bytes, breaks);
        stops |= extends & (breaks | short) << 3;
        // Stop before a quote that follows a Hebrew letter, perhaps with a joiner between them. The
        // character before the first byte is unknown here.
        stops |= short & (mask(is(bytes, HEBREW)) << 2 | 1);
    }
    (folded, others | stops, marks | short)
}

/// Replaces punctuation by boundaries, which are bytes of ASCII that nothing extends, and the first
/// bytes of typographic quotes by those of ASCII.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn replaced(scripts: &Scripts, folded: __m256i, bytes: __m256i, breaks: u32) -> __m256i {
    let short = shortened(scripts, bytes);
    let boundaries = spread(breaks | breaks << 1 | breaks << 2);
    let folded = _mm256_blendv_epi8(folded, each(BOUNDARY), boundaries);
    let folded = _mm256_blendv_epi8(folded, each(b'\''), spread(low(short.singles)));
    _mm256_blendv_epi8(folded, each(b'"'), spread(low(short.doubles)))
}

/// Finds the characters that become shorter: see `Scripts::shortens`.
#[inline]
#[target_feature(enable = "avx2")]
fn shortened(scripts: &Scripts, bytes: __m256i) -> Shortened {
    if !scripts.shortens {
        return Shortened::default();
    }
    let leads = mask(is(bytes, 0xe2)) & mask(is(bytes, 0x80)) >> 1;
    let pairs = _mm256_and_si256(bytes, each(0xfe));
    let of = |third| u64::from(leads & mask(is(pairs, third)) >> 2);
    Shortened { joiners: of(0x8c), singles: of(0x98), doubles: of(0x9c) }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn low(mask: u64) -> u32 {
    mask as u32
}

/// All ones in each byte whose bit is set: the inverse of `mask`.
#[inline]
#[target_feature(enable = "avx2")]
fn spread(mask: u32) -> __m256i {
    let all = _mm256_set1_epi32(mask.cast_signed());
    // Each byte of the mask eight times.
    let eights = _mm256_shuffle_epi8(
        all,
        _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0),
    );
    let bits = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    _mm256_cmpeq_epi8(_mm256_and_si256(eights, bits), bits)
}

/// All bytes of the characters whose leading byte is in the same pair as `first`.
#[inline]
#[target_feature(enable = "avx2")]
fn pair_of(bytes: __m256i, first: u8) -> __m256i {
    let leads = is(_mm256_and_si256(bytes, each(0xfe)), first & 0xfe);
    _mm256_or_si256(leads, before(leads))
}

/// Folds two-byte characters whose leading byte is in the same pair as `first`; other bytes get any
/// values. Also returns the leading bytes of the characters that were folded.
#[inline]
#[target_feature(enable = "avx2")]
fn of_two(scripts: &Scripts, bytes: __m256i, trail: __m256i, first: u8) -> (__m256i, u32) {
    let table = &scripts.of_two[usize::from(first >> 1 & 0xf)];
    let [trails, leads] = table.as_chunks().0 else { return (bytes, 0) };
    let index = CharNumbers::from_utf8(bytes);
    // The results are at the trailing bytes; the shift moves them to the leading bytes before them.
    let to = index.look_up(leads);
    let plain = mask(to) & mask(trail);
    let to = _mm256_alignr_epi8::<1>(_mm256_permute2x128_si256::<0x81>(to, to), to);
    let pair = mask(is(_mm256_and_si256(bytes, each(0xfe)), first & 0xfe));
    (_mm256_blendv_epi8(to, index.look_up(trails), trail), pair & plain >> 1)
}

/// The leading bytes of three-byte characters.
struct ThreeBytes {
    /// The run need not stop for them.
    plain: u32,
    /// The run must stop.
    stops: u32,
    extends: u32,
    breaks: u32,
    short: u32,
}

/// The three-byte characters of one block of 128 that folding does not change, or with `WORDS`
/// replaces by boundaries, and those that become shorter. `start` has the first two bytes of one of
/// them. Not inlined, to leave registers to the other scripts.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn of_three<const WORDS: bool>(
    scripts: &Scripts,
    bytes: __m256i,
    start: [u8; 2],
    open: bool,
) -> ThreeBytes {
    let [first, second] = start;
    let flags = CharNumbers::from_utf8(bytes).look_up(scripts.block(first, second));
    let breaks = having::<BREAK>(flags);
    let unknown = if WORDS { 0 } else { breaks };
    let known = u64::from(!mask(is(flags, 0))) & !unknown;
    let window = mask(is(_mm256_and_si256(bytes, each(0xfe)), second & 0xfe));
    let leads = mask(is(bytes, first));
    let flagged = Flagged {
        plain: u64::from(leads & window >> 1) & known >> 2,
        extend: having::<EXTEND>(flags),
        virama: having::<VIRAMA>(flags),
        nukta: having::<NUKTA>(flags),
        second: having::<SECOND>(flags),
        first: having::<FIRST>(flags),
    };
    let beyond = mask(bytes) & !(mask(is(bytes, HEBREW)) << 1);
    let short = low(shortened(scripts, bytes).all());
    ThreeBytes {
        plain: low(flagged.plain) | short,
        stops: low(flagged.stops(beyond.into(), open)),
        extends: low(flagged.plain & flagged.extend >> 2),
        breaks: low(flagged.plain & breaks >> 2),
        short,
    }
}

/// The bytes that have a flag, which is a power of two.
#[inline]
#[target_feature(enable = "avx2")]
fn having<const FLAG: u8>(flags: __m256i) -> u64 {
    // The mask takes the highest bit of each byte.
    let highest = match FLAG.leading_zeros() {
        0 => flags,
        1 => _mm256_slli_epi16::<1>(flags),
        2 => _mm256_slli_epi16::<2>(flags),
        3 => _mm256_slli_epi16::<3>(flags),
        4 => _mm256_slli_epi16::<4>(flags),
        _ => _mm256_slli_epi16::<5>(flags),
    };
    mask(highest).into()
}

/// The leading bytes of the Hangul syllables up to U+D77F, which folding does not change.
#[inline]
#[target_feature(enable = "avx2")]
fn hangul(bytes: __m256i) -> u32 {
    let trail = mask(trailing(bytes));
    let from_b0 = mask(_mm256_cmpgt_epi8(bytes, each(0xaf)));
    let from_9e = mask(_mm256_cmpgt_epi8(bytes, each(0x9d)));
    let whole = mask(_mm256_or_si256(is(bytes, 0xeb), is(bytes, 0xec)));
    let begun = mask(is(bytes, 0xea)) & from_b0 >> 1 | mask(is(bytes, 0xed)) & !from_9e >> 1;
    (whole | begun) & trail >> 2
}

/// The continuation bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn trailing(bytes: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(each(0xc0), bytes)
}

/// For each byte, the one before it; 0 before the first.
#[inline]
#[target_feature(enable = "avx2")]
fn before(bytes: __m256i) -> __m256i {
    _mm256_alignr_epi8::<15>(bytes, _mm256_permute2x128_si256::<0x08>(bytes, bytes))
}

/// At the last byte of each character, the low seven bits of its code point; and its bits 4, 5 and
/// 6, each in the highest bit of a byte.
#[derive(Clone, Copy)]
struct CharNumbers(__m256i, [__m256i; 3]);

impl CharNumbers {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn from_utf8(bytes: __m256i) -> Self {
        let high = _mm256_slli_epi16::<6>(_mm256_and_si256(before(bytes), each(1)));
        let index = _mm256_or_si256(_mm256_and_si256(bytes, each(0x3f)), high);
        let bits = [
            _mm256_slli_epi16::<3>(index),
            _mm256_slli_epi16::<2>(index),
            _mm256_slli_epi16::<1>(index),
        ];
        Self(index, bits)
    }

    /// The entries of a table.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_up(self, table: &[u8; 128]) -> __m256i {
        let Self(index, [fourth, fifth, sixth]) = self;
        let parts: &[[u8; 16]] = table.as_chunks().0;
        // The shuffle uses the low four bits of an index.
        let entry = |nth: usize| {
            // SAFETY: each part has 16 bytes, and the load needs no alignment.
            let part: __m128i = unsafe { _mm_loadu_si128(parts[nth].as_ptr().cast()) };
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(part), index)
        };
        let two = |nth| _mm256_blendv_epi8(entry(nth), entry(nth + 1), fourth);
        let four = |nth| _mm256_blendv_epi8(two(nth), two(nth + 2), fifth);
        _mm256_blendv_epi8(four(0), four(4), sixth)
    }
}

/// Converts ASCII upper-case letters to lower case.
#[inline]
#[target_feature(enable = "avx2")]
fn lower(bytes: __m256i) -> __m256i {
    _mm256_or_si256(bytes, _mm256_and_si256(within(bytes, b'A', b'Z'), each(0x20)))
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(bytes: __m256i) -> u32 {
    _mm256_movemask_epi8(bytes).cast_unsigned()
}
