//! What AVX-512 does in its own way: edges of units, hashes of short units, slots that matter.
//!
//! Knows bytes and hashes. Each function is defined by plain code elsewhere, and tested against it.

use std::arch::x86_64::{
    __m128i, __m512i, _mm256_add_epi32, _mm256_maskz_compress_epi32, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_storeu_si256, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512,
    _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi64_mask,
    _mm512_cmpgt_epu64_mask, _mm512_cmple_epu8_mask, _mm512_cmple_epu64_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_mask_add_epi64,
    _mm512_mask_blend_epi32, _mm512_mask_blend_epi64, _mm512_mask_i64gather_epi64,
    _mm512_mask_loadu_epi8, _mm512_mask_storeu_epi64, _mm512_maskz_compress_epi8,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_maskz_loadu_epi64,
    _mm512_movepi64_mask, _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_si512,
    _mm512_permutex2var_epi64, _mm512_permutexvar_epi64, _mm512_rol_epi64, _mm512_rolv_epi64,
    _mm512_rorv_epi64, _mm512_set_epi64, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi64,
    _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi8, _mm512_sub_epi64,
    _mm512_test_epi64_mask, _mm512_testn_epi64_mask, _mm512_xor_si512,
};

use super::Wide;
use crate::sketch::split::{Cut, Kind};
use crate::sketch::unit::UnitHash;

/// What `Processor` says of the same names.
impl Wide {
    /// The first part of `Processor::edges`: whether a unit ends with the piece, whether any
    /// begins with `_`, how many edges there are.
    pub(super) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        marks: &mut [u64],
        edges: &mut [u32],
        rules: Cut,
    ) -> (bool, bool, usize) {
        let (inside, bars) = match rules.kind {
            // SAFETY: the function needs the features that a `Wide` is made with only.
            Kind::Words => unsafe { marks_by_avx512::<true>(piece, text, marks, rules.lower) },
            // SAFETY: as above.
            Kind::Tokens => unsafe { marks_by_avx512::<false>(piece, text, marks, rules.lower) },
        };
        let count = if self.bytes {
            // SAFETY: the function needs what `bytes` says besides.
            unsafe { places_by_vbmi2(marks, edges) }
        } else {
            // SAFETY: the function needs the features that a `Wide` is made with only.
            unsafe { places_by_avx512(marks, edges) }
        };
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
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { short_by_avx512(text, units, hash, out, long) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn pick(
        self,
        hashes: &[u64],
        constants: (u64, u64),
        slots: &[u64],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { pick_by_avx512(hashes, constants, slots, picked) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn settle(self, slots: &mut [u64; 128]) -> [u64; 2] {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { settle_by_avx512(slots) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn pick_of_128(
        self,
        hashes: &[u64],
        constants: (u64, u64),
        open: [u64; 2],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { pick_of_128(hashes, constants, open, picked) }
    }
}

/// Writes the text as it is hashed, and its edges as bits; whether a unit ends with it, and whether
/// any begins with `_`.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn marks_by_avx512<const WORDS: bool>(
    piece: &[u8],
    text: &mut [u8],
    marks: &mut [u64],
    lower: bool,
) -> (bool, bool) {
    let each = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let within = |bytes, first: u8, last: u8| {
        _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, each(first)), each(last - first))
    };
    let cased = if lower { u64::MAX } else { 0 };
    let (mut inside, mut bars, mut base) = (0, 0, 0);
    let (mut letter_before, mut digit_before) = (0, 0);
    let places = text.as_chunks_mut::<64>().0;
    for ((block, place), mark) in piece.chunks(64).zip(places).zip(marks) {
        let there = u64::MAX >> (64 - block.len());
        let blanks = each(b' ');
        // SAFETY: the bits say which bytes are read, and those are the block's.
        let bytes = unsafe { _mm512_mask_loadu_epi8(blanks, there, block.as_ptr().cast()) };
        let upper = within(bytes, b'A', b'Z') & cased;
        let bytes = _mm512_mask_add_epi8(bytes, upper, bytes, each(0x20));
        // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), bytes) };
        let mut mask;
        if WORDS {
            let digit = within(bytes, b'0', b'9');
            let letter = within(_mm512_or_si512(bytes, each(0x20)), b'a', b'z');
            let bar = _mm512_cmpeq_epi8_mask(bytes, each(b'_'));
            mask = digit | letter | bar;
            // As `split::joins` says, for all at once. A class has a bit more at both ends.
            let after = piece.get(base + 64).copied().unwrap_or(b' ');
            let between = |class: u64, before: u64, after: bool| {
                (class << 1 | before) & (class >> 1 | u64::from(after) << 63)
            };
            let letters = between(letter, letter_before, after.is_ascii_alphabetic());
            let digits = between(digit, digit_before, after.is_ascii_digit());
            let is = |byte| _mm512_cmpeq_epi8_mask(bytes, each(byte));
            let (both, of_digits) = (is(b'.') | is(b'\''), is(b',') | is(b';'));
            mask |= (both | is(b':')) & letters | (both | of_digits) & digits;
            bars |= bar & !(mask << 1 | inside);
            (letter_before, digit_before) = (letter >> 63, digit >> 63);
        } else {
            mask = !(_mm512_cmpeq_epi8_mask(bytes, blanks) | within(bytes, b'\t', b'\r'));
        }
        *mark = mask ^ (mask << 1 | inside);
        inside = mask >> 63;
        base += 64;
    }
    (inside == 1, bars != 0)
}

/// The numbers of 64 bytes.
static NUMBERS: [u8; 64] = numbers();

#[expect(clippy::cast_possible_truncation, reason = "they are below 64")]
const fn numbers() -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = at as u8;
        at += 1;
    }
    numbers
}

/// Writes the places of the bits that are set, in order, without a loop that ends where the text
/// says; returns how many there are. What follows them may be overwritten.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn places_by_vbmi2(marks: &[u64], edges: &mut [u32]) -> usize {
    // SAFETY: 64 bytes are there to be read; no alignment is asked for.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let (mut count, mut base) = (0, _mm512_setzero_si512());
    for &mark in marks {
        let Some(places) = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<64>) else {
            break;
        };
        let kept = _mm512_maskz_compress_epi8(mark, numbers);
        let [first, second, third, last] = places.as_chunks_mut::<16>().0 else { break };
        write(_mm512_castsi512_si128(kept), base, first);
        write(_mm512_extracti32x4_epi32::<1>(kept), base, second);
        let new = mark.count_ones() as usize;
        if new > 32 {
            // Single letters: rare.
            write(_mm512_extracti32x4_epi32::<2>(kept), base, third);
            write(_mm512_extracti32x4_epi32::<3>(kept), base, last);
        }
        count += new;
        base = _mm512_add_epi32(base, _mm512_set1_epi32(64));
    }
    count
}

/// Writes sixteen bytes as numbers counted from `base`.
#[inline]
#[target_feature(enable = "avx512f")]
fn write(bytes: __m128i, base: __m512i, places: &mut [u32; 16]) {
    let numbers = _mm512_add_epi32(_mm512_cvtepu8_epi32(bytes), base);
    // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
    unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), numbers) };
}

/// The same for processors that compress no bytes.
#[inline(never)]
#[target_feature(enable = "avx512f,bmi1,bmi2,popcnt")]
fn places_by_avx512(marks: &[u64], edges: &mut [u32]) -> usize {
    let mut at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    for mark in marks {
        for quarter in 0..4 {
            #[expect(clippy::cast_possible_truncation, reason = "a quarter is wanted")]
            let bits = (mark >> (16 * quarter)) as u16;
            let places = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<16>);
            if let Some(places) = places {
                let kept = _mm512_maskz_compress_epi32(bits, at);
                // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
                unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), kept) };
            }
            count += bits.count_ones() as usize;
            at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
        }
    }
    count
}

/// Eight units at a time: `UnitHash::short`, of whose two formulas each product is made once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn short_by_avx512(
    text: &[u8],
    units: &[[u32; 2]],
    hash: UnitHash,
    out: &mut [u64],
    long: &mut [u32],
) -> usize {
    let Some(last) = text.len().checked_sub(8) else { return 0 };
    let last = constant(last as u64);
    let (half, lengths) = (constant(0xffff_ffff), lengths(hash));
    let mut at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut count = 0;
    for (units, out) in units.chunks(8).zip(out.chunks_mut(8)) {
        let there = u8::MAX >> (8 - out.len().min(units.len()));
        // SAFETY: the bits say which pairs are read, and those are the slice's.
        let pairs = unsafe { _mm512_maskz_loadu_epi64(there, units.as_ptr().cast()) };
        let (start, end) = (_mm512_and_si512(pairs, half), _mm512_srli_epi64::<32>(pairs));
        let len = _mm512_sub_epi64(end, start);
        let (from, inside) = (text.as_ptr().cast(), _mm512_cmple_epu64_mask(start, last));
        let none = _mm512_setzero_si512();
        // SAFETY: only what starts eight bytes before the end of `text`, or earlier, is read.
        let head = unsafe { _mm512_mask_i64gather_epi64::<1>(none, inside, start, from) };
        let hashes = short(head, len, lengths);
        // SAFETY: the bits say which numbers are written, and those are the slice's.
        unsafe { _mm512_mask_storeu_epi64(out.as_mut_ptr().cast(), there, hashes) };
        let more = _mm512_cmpgt_epu64_mask(len, constant(8));
        if let Some(place) = long.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<8>) {
            let kept = _mm256_maskz_compress_epi32(more, at);
            // SAFETY: the place is 32 bytes that are ours to write; no alignment is asked for.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), kept) };
        }
        count += more.count_ones() as usize;
        at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
    }
    count
}

/// What differs between the lengths of short units, each in the place of the length modulo 8.
#[derive(Clone, Copy)]
struct Lengths {
    /// The bytes that are mixed, as `_mm512_shuffle_epi8` takes them from the first eight.
    order: __m512i,
    /// What they are mixed with.
    key: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lengths(hash: UnitHash) -> Lengths {
    // Bit 7 of a place makes a zero. The length itself, a byte of short ones, is put into the key.
    let order = [
        0x0302_0100_0706_0504,
        0x8080_8080_0000_8000,
        0x8080_8080_0100_8001,
        0x8080_8080_0100_8002,
        0x0302_0100_0302_0100,
        0x0302_0100_0403_0201,
        0x0302_0100_0504_0302,
        0x0302_0100_0605_0403,
    ];
    let [one, two, three] = [1, 2, 3].map(|len| hash.tiny ^ len << 8);
    let small = hash.small;
    Lengths { order: all(&order), key: all(&[small, one, two, three, small, small, small, small]) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn short(head: __m512i, len: __m512i, lengths: Lengths) -> __m512i {
    let small = _mm512_cmpgt_epu64_mask(len, constant(3));
    let one_of = |tiny, other| _mm512_mask_blend_epi64(small, constant(tiny), constant(other));
    let xor = |a, b| _mm512_xor_si512(a, b);
    // Each second number is shuffled from the places 8 to 15.
    let second = _mm512_set_epi64(EIGHTS, 0, EIGHTS, 0, EIGHTS, 0, EIGHTS, 0);
    let order = _mm512_or_si512(_mm512_permutexvar_epi64(len, lengths.order), second);
    let bytes = _mm512_shuffle_epi8(head, order);
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

/// Eight in each byte.
const EIGHTS: i64 = 0x0808_0808_0808_0808;

#[target_feature(enable = "avx512f,avx512dq")]
fn settle_by_avx512(slots: &mut [u64; 128]) -> [u64; 2] {
    let empty = constant(u64::MAX);
    let mut open = [0; 2];
    for (open, slots) in open.iter_mut().zip(slots.as_chunks_mut::<64>().0) {
        for (eight, shift) in slots.as_chunks_mut::<8>().0.iter_mut().zip((0..64).step_by(8)) {
            let least = all(eight);
            let none = _mm512_cmpeq_epi64_mask(least, empty);
            let value = _mm512_srli_epi64::<16>(_mm512_slli_epi64::<7>(least));
            let value = _mm512_mask_blend_epi64(none, value, empty);
            // SAFETY: these are 64 bytes that are ours to write; no alignment is asked for.
            unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), value) };
            *open |= u64::from(none) << shift;
        }
    }
    open
}

/// For the usual number of rows: two words of bits, and rows that are the highest bits of
/// hi(p) ^ lo(p). Those of lo(p) are exact. hi(p) is the product of the high halves and a carry
/// below 2^33: with 2^33 added, its highest seven bits are right unless the 24 that follow are
/// zeros, and then the hash is picked, too.
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn pick_of_128(hashes: &[u64], constants: (u64, u64), open: [u64; 2], picked: &mut [u64]) -> usize {
    // The first row's bit is the highest, where a rotation by the row takes the row's own.
    let [low, high] = open.map(|open| constant(open.reverse_bits()));
    let (add, factor) = (constant(constants.0), constant(constants.1));
    let (factor_high, carry) = (constant(constants.1 >> 32), constant(1 << 33));
    let following = constant((1 << 57) - (1 << 33));
    let mut count = 0;
    let (eights, rest) = hashes.as_chunks::<8>();
    let last = filled(rest, hashes);
    for eight in eights.iter().chain((!rest.is_empty()).then_some(&last)) {
        let hash = all(eight);
        let mixed = _mm512_xor_si512(hash, add);
        let near = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), factor_high);
        let near = _mm512_add_epi64(near, carry);
        let unsure = _mm512_testn_epi64_mask(near, following);
        let mixed = _mm512_xor_si512(_mm512_mullo_epi64(mixed, factor), near);
        let word = _mm512_mask_blend_epi64(_mm512_movepi64_mask(mixed), low, high);
        // The row without its highest bit: a rotation takes no other.
        let bit = _mm512_rolv_epi64(word, _mm512_srli_epi64::<57>(mixed));
        count += keep(hash, _mm512_movepi64_mask(bit) | unsure, count, picked);
    }
    count
}

/// What fills the rest is a hash of the set once more, and so changes nothing.
#[inline]
fn filled(rest: &[u64], hashes: &[u64]) -> [u64; 8] {
    let mut last = [hashes.first().copied().unwrap_or(0); 8];
    last[..rest.len()].copy_from_slice(rest);
    last
}

/// Writes what was hit to `picked` from `count` on; returns how many that is.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn keep(entry: __m512i, hit: u8, count: usize, picked: &mut [u64]) -> usize {
    if let Some(place) = picked.get_mut(count..).and_then(<[u64]>::first_chunk_mut::<8>) {
        let kept = _mm512_maskz_compress_epi64(hit, entry);
        // SAFETY: the place is 64 bytes that are ours to write; no alignment is asked for.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), kept) };
    }
    hit.count_ones() as usize
}

#[inline]
#[target_feature(enable = "avx512f")]
fn constant(number: u64) -> __m512i {
    _mm512_set1_epi64(number.cast_signed())
}

/// Eight hashes at a time; which slots are empty is a set of bits in two registers.
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn pick_by_avx512(
    hashes: &[u64],
    constants: (u64, u64),
    slots: &[u64],
    picked: &mut [u64],
) -> usize {
    let mut open = [0_u8; 128];
    for (open, slots) in open.iter_mut().zip(slots.chunks(8)) {
        // The highest bit of a slot says that it is empty.
        *open = _mm512_movepi64_mask(some(slots));
    }
    let open = open.as_chunks::<8>().0;
    let words =
        |from: usize| -> [u64; 8] { std::array::from_fn(|at| u64::from_le_bytes(open[from + at])) };
    let (open_low, open_high) = (all(&words(0)), all(&words(8)));
    let (add, factor, rows) =
        (constant(constants.0), constant(constants.1), constant(slots.len() as u64));
    let mut count = 0;
    let (eights, rest) = hashes.as_chunks::<8>();
    let last = filled(rest, hashes);
    for eight in eights.iter().chain((!rest.is_empty()).then_some(&last)) {
        let hash = folded(_mm512_xor_si512(all(eight), add), factor);
        // (hash x rows) >> 16, from the halves of the hash.
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(hash), rows);
        let low = _mm512_mul_epu32(hash, rows);
        let entry = _mm512_add_epi64(_mm512_slli_epi64::<16>(high), _mm512_srli_epi64::<16>(low));
        let row = _mm512_srli_epi64::<48>(entry);
        let word = _mm512_permutex2var_epi64(open_low, _mm512_srli_epi64::<6>(row), open_high);
        let bit = _mm512_rorv_epi64(word, row);
        let hit = _mm512_test_epi64_mask(bit, constant(1));
        count += keep(hash, hit, count, picked);
    }
    count
}

/// The two halves of the product of 64 bits, folded, from products of 32.
#[inline]
#[target_feature(enable = "avx512f")]
fn folded(a: __m512i, b: __m512i) -> __m512i {
    let half = _mm512_set1_epi64(0xffff_ffff);
    let (a_high, b_high) = (_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
    let (low, high) = (_mm512_mul_epu32(a, b), _mm512_mul_epu32(a_high, b_high));
    let (cross, other) = (_mm512_mul_epu32(a_high, b), _mm512_mul_epu32(a, b_high));
    // Neither sum reaches 2^64: the greatest product is 2^64 - 2^33 + 1.
    let middle = _mm512_add_epi64(_mm512_srli_epi64::<32>(low), other);
    let second = _mm512_add_epi64(_mm512_and_si512(middle, half), cross);
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(middle));
    let high = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(second));
    let low = _mm512_mask_blend_epi32(0x5555, _mm512_slli_epi64::<32>(second), low);
    _mm512_xor_si512(low, high)
}

/// Up to eight numbers, and zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn some(numbers: &[u64]) -> __m512i {
    if let Some(eight) = numbers.first_chunk() {
        return all(eight);
    }
    let mut eight = [0; 8];
    eight[..numbers.len()].copy_from_slice(numbers);
    all(&eight)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(numbers: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes are there to be read; no alignment is asked for.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}
