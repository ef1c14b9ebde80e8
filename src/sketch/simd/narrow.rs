//! What AVX2 does in its own way: edges of units, hashes of short units; `rows` has the rest.
//!
//! Knows bytes and hashes. Each function is defined by plain code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m256i, _mm_set_epi64x, _mm256_add_epi8, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256,
    _mm256_blend_epi32, _mm256_blendv_epi8, _mm256_castsi256_pd, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi8, _mm256_cmpgt_epi32, _mm256_cmpgt_epi64, _mm256_cvtepu8_epi32,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_mul_epu32,
    _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set_epi64x, _mm256_set_m128i,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_sub_epi64, _mm256_xor_si256,
};

use super::Narrow;
use crate::sketch::split::{Cut, Kind};
use crate::sketch::unit::UnitHash;

mod rows;

/// What `Processor` says of the same names.
impl Narrow {
    /// The first part of `Processor::edges`: whether a unit ends with the piece, whether any
    /// begins with `_`, how many edges there are.
    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        marks: &mut [u64],
        edges: &mut [u32],
        rules: Cut,
    ) -> (bool, bool, usize) {
        let (inside, bars) = match rules.kind {
            // SAFETY: the function needs the features that a `Narrow` is made with only.
            Kind::Words => unsafe { marks_by_avx2::<true>(piece, text, marks, rules.lower) },
            // SAFETY: as above.
            Kind::Tokens => unsafe { marks_by_avx2::<false>(piece, text, marks, rules.lower) },
        };
        // SAFETY: as above.
        let count = unsafe { places_by_avx2(marks, edges) };
        (inside, bars, count)
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn short(
        self,
        text: &[u8],
        units: &[[u32; 2]],
        hash: UnitHash,
        out: &mut [u64],
        long: &mut [u32],
    ) -> usize {
        // SAFETY: the function needs the features that a `Narrow` is made with only.
        unsafe { short_by_avx2(text, units, hash, out, long) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn settle(self, slots: &mut [u64; 128]) -> [u64; 2] {
        // SAFETY: the function needs the features that a `Narrow` is made with only.
        unsafe { rows::settle(slots) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn pick_of_128(
        self,
        hashes: &[[u64; 4]],
        constants: (u64, u64),
        open: [u64; 2],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Narrow` is made with only.
        unsafe { rows::pick_of_128(hashes, constants, open, picked) }
    }
}

/// Writes the text as it is hashed, and its edges as bits; whether a unit ends with it, and whether
/// any begins with `_`.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn marks_by_avx2<const WORDS: bool>(
    piece: &[u8],
    text: &mut [u8],
    marks: &mut [u64],
    lower: bool,
) -> (bool, bool) {
    let case = each(if lower { 0x20 } else { 0 });
    let (mut inside, mut bars, mut base) = (0, 0, 0);
    let (mut letter_before, mut digit_before) = (0, 0);
    let (blocks, tail) = piece.as_chunks::<64>();
    let mut last = [b' '; 64];
    last[..tail.len()].copy_from_slice(tail);
    let last = (!tail.is_empty()).then_some(&last);
    let places = text.as_chunks_mut::<64>().0;
    for ((block, place), mark) in blocks.iter().chain(last).zip(places).zip(marks) {
        let bytes = Block::load(block).map(|bytes| {
            let upper = within(bytes, b'A', b'Z');
            _mm256_add_epi8(bytes, _mm256_and_si256(upper, case))
        });
        bytes.store(place);
        let mut mask;
        if WORDS {
            let digit = bytes.mask(|bytes| within(bytes, b'0', b'9'));
            let letter = bytes.mask(|bytes| within(_mm256_or_si256(bytes, each(0x20)), b'a', b'z'));
            let bar = bytes.mask(|bytes| is(bytes, b'_'));
            mask = digit | letter | bar;
            // As `split::joins` says, for all at once. A class has a bit more at both ends.
            let after = piece.get(base + 64).copied().unwrap_or(b' ');
            let between = |class: u64, before: u64, after: bool| {
                (class << 1 | before) & (class >> 1 | u64::from(after) << 63)
            };
            let letters = between(letter, letter_before, after.is_ascii_alphabetic());
            let digits = between(digit, digit_before, after.is_ascii_digit());
            let either = |bytes, one, other| _mm256_or_si256(is(bytes, one), is(bytes, other));
            let both = bytes.mask(|bytes| either(bytes, b'.', b'\''));
            let of_letters = bytes.mask(|bytes| is(bytes, b':'));
            let of_digits = bytes.mask(|bytes| either(bytes, b',', b';'));
            mask |= (both | of_letters) & letters | (both | of_digits) & digits;
            bars |= bar & !(mask << 1 | inside);
            (letter_before, digit_before) = (letter >> 63, digit >> 63);
        } else {
            let blank = |bytes| _mm256_or_si256(is(bytes, b' '), within(bytes, b'\t', b'\r'));
            mask = !bytes.mask(blank);
        }
        *mark = mask ^ (mask << 1 | inside);
        inside = mask >> 63;
        base += 64;
    }
    (inside == 1, bars != 0)
}

/// 64 bytes.
#[derive(Clone, Copy)]
struct Block([__m256i; 2]);

impl Block {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 64]) -> Self {
        let [low, high] = [0, 32].map(|at| bytes.as_ptr().wrapping_add(at).cast());
        // SAFETY: 64 bytes are there to be read, the first half; no alignment is asked for.
        let low = unsafe { _mm256_loadu_si256(low) };
        // SAFETY: and the second.
        let high = unsafe { _mm256_loadu_si256(high) };
        Self([low, high])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(self, place: &mut [u8; 64]) {
        let [low, high] = [0, 32].map(|at| place.as_mut_ptr().wrapping_add(at).cast());
        // SAFETY: these are 64 bytes that are ours to write, the first half; no alignment is asked
        // for.
        unsafe { _mm256_storeu_si256(low, self.0[0]) };
        // SAFETY: and the second.
        unsafe { _mm256_storeu_si256(high, self.0[1]) };
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn map(self, work: impl Fn(__m256i) -> __m256i) -> Self {
        Self([work(self.0[0]), work(self.0[1])])
    }

    /// The highest bit of each byte of what `class` makes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(self, class: impl Fn(__m256i) -> __m256i) -> u64 {
        let [low, high] =
            self.0.map(|bytes| u64::from(_mm256_movemask_epi8(class(bytes)).cast_unsigned()));
        low | high << 32
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn each(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn is(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, each(byte))
}

/// Bytes from `first` to `last`: moved to the low end of the signed numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn within(bytes: __m256i, first: u8, last: u8) -> __m256i {
    let moved = _mm256_add_epi8(bytes, each(0x80_u8.wrapping_sub(first)));
    _mm256_cmpgt_epi8(each(0x80_u8.wrapping_add(last - first + 1)), moved)
}

/// The places of the bits that are set in each byte, in order, a byte each; zeros after them.
static PLACES: [[u8; 8]; 256] = places();

const fn places() -> [[u8; 8]; 256] {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < places.len() {
        let (mut bit, mut count) = (0_u8, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
}

/// Writes the places of the bits that are set, in order, without a loop that ends where the text
/// says; returns how many there are. What follows them may be overwritten.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn places_by_avx2(marks: &[u64], edges: &mut [u32]) -> usize {
    let (mut count, mut base) = (0, _mm256_setzero_si256());
    for mark in marks {
        let Some(edges) = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<64>) else {
            break;
        };
        let mut new = 0;
        for byte in mark.to_le_bytes() {
            // At most eight were found by each byte before, so that there is room for eight more.
            if let Some(place) = edges.get_mut(new..).and_then(<[u32]>::first_chunk_mut::<8>) {
                write(PLACES[usize::from(byte)], base, place);
            }
            new += byte.count_ones() as usize;
            base = _mm256_add_epi32(base, _mm256_set1_epi32(8));
        }
        count += new;
    }
    count
}

/// Writes eight bytes as numbers counted from `base`.
#[inline]
#[target_feature(enable = "avx2")]
fn write(bytes: [u8; 8], base: __m256i, places: &mut [u32; 8]) {
    let bytes = _mm_set_epi64x(0, i64::from_le_bytes(bytes));
    let numbers = _mm256_add_epi32(_mm256_cvtepu8_epi32(bytes), base);
    // SAFETY: the place is 32 bytes that are ours to write; no alignment is asked for.
    unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), numbers) };
}

/// Four units at a time: `UnitHash::short`, of whose two formulas each product is made once.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn short_by_avx2(
    text: &[u8],
    units: &[[u32; 2]],
    hash: UnitHash,
    out: &mut [u64],
    long: &mut [u32],
) -> usize {
    let Some(heads) = Heads::of(text) else { return 0 };
    let keys = Keys { tiny: constant(hash.tiny), small: constant(hash.small) };
    let (mut count, mut first) = (0, _mm256_setzero_si256());
    // In two loops: a processor looks ahead so far only, and then sees several turns of each.
    let mut head = |units: &[[u32; 2]; 4], out: &mut [u64; 4]| {
        let len = lengths(units);
        store(out, keyed(heads.at(units), len, keys));
        let more = bits(_mm256_slli_epi64::<32>(_mm256_cmpgt_epi32(len, constant(8))));
        if let Some(place) = long.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<8>) {
            write(PLACES[more], first, place);
        }
        count += more.count_ones() as usize;
        first = _mm256_add_epi32(first, _mm256_set1_epi32(4));
    };
    let (fours, rest) = units.as_chunks::<4>();
    let (places, end) = out.as_chunks_mut::<4>();
    let (mut last_units, mut last) = ([[0; 2]; 4], [0; 4]);
    last_units[..rest.len()].copy_from_slice(rest);
    for (units, out) in fours.iter().zip(&mut *places) {
        head(units, out);
    }
    head(&last_units, &mut last);
    for (units, out) in fours.iter().zip(places) {
        let mixed = all(out);
        store(out, short(mixed, lengths(units)));
    }
    let mixed = all(&last);
    store(&mut last, short(mixed, lengths(&last_units)));
    end.copy_from_slice(&last[..rest.len()]);
    count
}

/// The lengths of units.
#[inline]
#[target_feature(enable = "avx2")]
fn lengths(units: &[[u32; 2]; 4]) -> __m256i {
    // SAFETY: 32 bytes are there to be read; no alignment is asked for.
    let pairs = unsafe { _mm256_loadu_si256(units.as_ptr().cast()) };
    let start = _mm256_and_si256(pairs, constant(0xffff_ffff));
    _mm256_sub_epi64(_mm256_srli_epi64::<32>(pairs), start)
}

/// Reads the first eight bytes of units without a check for each.
struct Heads<'a> {
    text: &'a [u8],
    /// One less than a power of two, and less by eight than the text is long.
    mask: usize,
}

impl<'a> Heads<'a> {
    /// `None` if the text has fewer than nine bytes.
    #[inline]
    fn of(text: &'a [u8]) -> Option<Self> {
        let exponent = text.len().checked_sub(8)?.checked_ilog2()?;
        Some(Self { text, mask: (1 << exponent) - 1 })
    }

    /// Of units that begin at `mask` at the latest; of others, any bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at(&self, units: &[[u32; 2]; 4]) -> __m256i {
        let head = |[start, _]: [u32; 2]| {
            debug_assert!(start as usize <= self.mask, "the buffer is made for its units");
            let from = self.text.as_ptr().wrapping_add(start as usize & self.mask);
            // SAFETY: eight bytes are left from `mask` on; no alignment is asked for.
            unsafe { from.cast::<i64>().read_unaligned() }
        };
        let [first, second, third, last] = units.map(head);
        _mm256_set_m128i(_mm_set_epi64x(last, third), _mm_set_epi64x(second, first))
    }
}

/// The first step of `UnitHash::short`, for four lengths from 1 to 8: the bytes it mixes, and its
/// key.
#[inline]
#[target_feature(enable = "avx2")]
fn keyed(head: __m256i, len: __m256i, hash: Keys) -> __m256i {
    // The length in both halves, to choose from tables of eight numbers of 32 bits.
    let len_twice = _mm256_shuffle_epi32::<0b1010_0000>(len);
    let is_small = _mm256_cmpgt_epi32(len_twice, _mm256_set1_epi32(3));
    let low = _mm256_permutevar8x32_epi32(table(&ORDER_LOW), len_twice);
    let high = _mm256_permutevar8x32_epi32(table(&ORDER_HIGH), len_twice);
    let order = _mm256_blend_epi32::<0b1010_1010>(low, high);
    // Each second number is shuffled from the places 8 to 15.
    let second = _mm256_set_epi64x(EIGHTS, 0, EIGHTS, 0);
    let bytes = _mm256_shuffle_epi8(head, _mm256_or_si256(order, second));
    let tiny = _mm256_xor_si256(hash.tiny, _mm256_slli_epi64::<8>(len));
    _mm256_xor_si256(bytes, _mm256_blendv_epi8(tiny, hash.small, is_small))
}

/// The rest of it; of other lengths, any number.
#[inline]
#[target_feature(enable = "avx2")]
fn short(mixed: __m256i, len: __m256i) -> __m256i {
    let xor = |a, b| _mm256_xor_si256(a, b);
    let is_small = _mm256_cmpgt_epi64(len, constant(3));
    let one_of = |tiny, small| _mm256_blendv_epi8(constant(tiny), constant(small), is_small);
    let by_49 = xor(_mm256_slli_epi64::<49>(mixed), _mm256_srli_epi64::<15>(mixed));
    let turned = xor(by_49, _mm256_shuffle_epi8(mixed, table(&BY_24)));
    let turned = _mm256_blendv_epi8(_mm256_srli_epi64::<33>(mixed), turned, is_small);
    let factor = one_of(0xc2b2_ae3d_27d4_eb4f, 0x9fb2_1c65_1e98_df25);
    let mixed = product(xor(mixed, turned), factor);
    let moved = _mm256_srlv_epi64(mixed, one_of(29, 35));
    let mixed = xor(mixed, _mm256_add_epi64(moved, _mm256_and_si256(len, is_small)));
    let factor = one_of(0x1656_67b1_9e37_79f9, 0x9fb2_1c65_1e98_df25);
    let mixed = product(mixed, factor);
    xor(mixed, _mm256_srlv_epi64(mixed, one_of(32, 28)))
}

/// What units of 1 to 3 and of 4 to 8 bytes are mixed with.
#[derive(Clone, Copy)]
struct Keys {
    tiny: __m256i,
    small: __m256i,
}

/// The bytes that are mixed, of the first eight, by the length modulo 8: the low four and the high
/// four. Bit 7 of a place makes a zero.
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
static ORDER_HIGH: [u32; 8] = [
    0x0302_0100,
    0x8080_8080,
    0x8080_8080,
    0x8080_8080,
    0x0302_0100,
    0x0302_0100,
    0x0302_0100,
    0x0302_0100,
];

/// Numbers of 64 bits rotated to the left by 24, as bytes are shuffled within 16.
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

/// Eight in each byte.
const EIGHTS: i64 = 0x0808_0808_0808_0808;

/// The low 64 bits of the products, from those of 32.
#[inline]
#[target_feature(enable = "avx2")]
fn product(a: __m256i, b: __m256i) -> __m256i {
    let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
    let cross = _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_mul_epu32(a, b_high));
    _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(cross))
}

/// The highest bits of four numbers.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(clippy::cast_sign_loss, reason = "it has four bits")]
fn bits(numbers: __m256i) -> usize {
    _mm256_movemask_pd(_mm256_castsi256_pd(numbers)) as usize
}

#[inline]
#[target_feature(enable = "avx2")]
fn constant(number: u64) -> __m256i {
    _mm256_set1_epi64x(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(numbers: &[u64; 4]) -> __m256i {
    // SAFETY: 32 bytes are there to be read; no alignment is asked for.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(place: &mut [u64; 4], numbers: __m256i) {
    // SAFETY: these are 32 bytes that are ours to write; no alignment is asked for.
    unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), numbers) };
}

#[inline]
#[target_feature(enable = "avx2")]
fn table(numbers: &[u32; 8]) -> __m256i {
    // SAFETY: 32 bytes are there to be read; no alignment is asked for.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}
