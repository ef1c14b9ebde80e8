//! Items of sets: strings, bytes and integers.
//!
//! Items are hashed as bytes. This module defines the bytes of an integer.

use super::eights::{eight, of_fours};
use super::numbers::{index, wide};
use super::simd::eights;
use super::unit::UnitHash;
use std::borrow::Cow;
use std::fmt;

/// An item of a set: made from `&str`, `String`, `&[u8]`, `Vec<u8>` and references to other byte
/// strings, from any integer, or from an [`ItemHash`].
///
/// Functions that take `impl Into<Item>` accept all of these. A string equals its bytes, and an
/// integer equals its decimal digits: `1_u8`, `1_i64` and `"1"` are the same item.
///
/// ```
/// # use nearkin_sketch as nearkin;
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Params, Shingles, Sketcher};
///
/// let params = Params::for_threshold(0.5).shingles(Shingles::Items).build()?;
/// let sketch = Sketcher::new(&params);
/// let numbers = sketch.items([17, 4, -1])?;
/// assert_eq!(sketch.items(["-1", "17", "4"])?, numbers);
/// assert_eq!(sketch.items([b"17".as_slice(), b"4", b"-1"])?, numbers);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Item<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
    /// Whether the integer is negative, and its absolute value.
    Integer(bool, u64),
    Wide(bool, u128),
    Hashed(ItemHash),
}

/// The hash of an item, made by [`crate::Sketcher::hash_item`]: 8 bytes that stand for the item in
/// later calls of [`crate::Sketcher::items`] with the same parameters. Under other parameters the
/// hash is another item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemHash(pub(crate) u64);

/// Buffer size for the longest 128-bit integer with its sign, in whole chunks.
const DIGITS_MAX: usize = 48;
/// 10^8, because integers are written in chunks of eight digits.
const CHUNK: u64 = 100_000_000;
/// The largest power of ten in 64 bits with a whole number of chunks, and its number of zeros.
const SPLIT: u128 = 10_000_000_000_000_000;
const SPLIT_DIGITS: usize = 16;

/// Buffer for the digits of an integer.
pub(crate) struct Digits([u8; DIGITS_MAX]);

impl Digits {
    pub(crate) fn new() -> Self {
        Self([0; DIGITS_MAX])
    }

    /// Writes the digits of `number` so that they end before `end`, and returns the position of the
    /// first digit.
    #[inline(always)]
    fn put(&mut self, mut number: u64, mut end: usize) -> usize {
        while number >= CHUNK {
            self.put_chunk(eight(number % CHUNK), end);
            number /= CHUNK;
            end -= 8;
        }
        let digits = eight(number);
        self.put_chunk(digits, end);
        end - 8 + index(leading_zeros(digits))
    }

    /// Writes eight digits as ASCII, so that they end before `end`. `digits` has one digit per
    /// byte, the first in the lowest byte.
    #[inline(always)]
    fn put_chunk(&mut self, digits: u64, end: usize) {
        self.0[end - 8..end].copy_from_slice(&(digits | ASCII).to_le_bytes());
    }

    /// Same as `put`, for numbers of more than 64 bits.
    fn put_wide(&mut self, number: u128) -> usize {
        let (mut rest, mut end) = (number, DIGITS_MAX);
        while rest > u128::from(u64::MAX) {
            let begin = self.put(low_u64(rest % SPLIT), end);
            end -= SPLIT_DIGITS;
            self.0[end..begin].fill(b'0');
            rest /= SPLIT;
        }
        self.put(low_u64(rest), end)
    }

    #[inline(always)]
    fn sign(&mut self, negative: bool, mut begin: usize) -> &[u8] {
        if negative {
            begin -= 1;
            self.0[begin] = b'-';
        }
        &self.0[begin..]
    }
}

/// The character `0` in each byte. OR with eight digits, one per byte, gives their ASCII
/// characters.
const ASCII: u64 = 0x3030_3030_3030_3030;

/// Number of leading zeros of eight digits, at most seven.
#[inline(always)]
fn leading_zeros(digits: u64) -> u32 {
    (digits | 1 << 63).trailing_zeros() / 8
}

/// The four digits of a number below 10^4, computed the same way.
#[inline(always)]
fn four(number: u64) -> u64 {
    of_fours(number << 32)
}

#[expect(clippy::cast_possible_truncation, reason = "below 2^64")]
fn low_u64(number: u128) -> u64 {
    number as u64
}

impl Item<'_> {
    /// The unit hash of the item. `of_text` hashes strings and bytes, and may fold them. Positive
    /// integers of nine digits or more are hashed directly, without writing their digits to memory.
    #[inline(always)]
    pub(crate) fn hash(
        &self,
        unit: UnitHash,
        digits: &mut Digits,
        of_text: impl FnOnce(&[u8]) -> u64,
    ) -> u64 {
        match self.0 {
            Form::Borrowed(bytes) => of_text(bytes),
            Form::Owned(ref bytes) => of_text(bytes),
            Form::Integer(false, number) if (CHUNK..CHUNK * CHUNK).contains(&number) => {
                let [high, last] = eights([number / CHUNK, number % CHUNK]);
                let last = last | ASCII;
                let zeros = leading_zeros(high);
                let first = (high | ASCII) >> (8 * zeros) | last.unbounded_shl(64 - 8 * zeros);
                unit.medium(first, last, 16 - zeros)
            }
            Form::Integer(false, number) if number >= CHUNK => {
                let upper = number / CHUNK;
                let rest = upper / CHUNK;
                let last = eights([upper - rest * CHUNK, number - upper * CHUNK]);
                let last = last.map(|digits| digits | ASCII);
                let high = four(rest);
                let zeros = leading_zeros(high);
                let join = |low: u64, high: u64| low >> (8 * zeros) | high << (64 - 8 * zeros);
                unit.large([join(high | ASCII, last[0]), join(last[0], last[1])], last, 24 - zeros)
            }
            Form::Integer(..) | Form::Wide(..) => unit.hash_bytes(self.bytes(digits)),
            Form::Hashed(ItemHash(hash)) => hash,
        }
    }

    /// The bytes that are hashed. For an integer, its digits are written to `digits`. A hash no
    /// longer knows its bytes.
    #[inline(always)]
    pub(crate) fn bytes<'b>(&'b self, digits: &'b mut Digits) -> &'b [u8] {
        match &self.0 {
            Form::Borrowed(bytes) => bytes,
            Form::Owned(bytes) => bytes,
            Form::Integer(negative, number) => {
                let begin = digits.put(*number, DIGITS_MAX);
                digits.sign(*negative, begin)
            }
            Form::Wide(negative, number) => {
                let begin = digits.put_wide(*number);
                digits.sign(*negative, begin)
            }
            Form::Hashed(_) => b"?",
        }
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Item<'a> {
    #[inline(always)]
    fn from(item: &'a T) -> Self {
        Self(Form::Borrowed(item.as_ref()))
    }
}

impl From<ItemHash> for Item<'_> {
    #[inline(always)]
    fn from(item: ItemHash) -> Self {
        Self(Form::Hashed(item))
    }
}

impl From<String> for Item<'_> {
    #[inline]
    fn from(item: String) -> Self {
        Self(Form::Owned(item.into_bytes()))
    }
}

impl From<Vec<u8>> for Item<'_> {
    #[inline]
    fn from(item: Vec<u8>) -> Self {
        Self(Form::Owned(item))
    }
}

impl<'a> From<Cow<'a, str>> for Item<'a> {
    #[inline]
    fn from(item: Cow<'a, str>) -> Self {
        match item {
            Cow::Borrowed(item) => item.into(),
            Cow::Owned(item) => item.into(),
        }
    }
}

/// Conversions from integers; signed ones use `unsigned_abs`.
macro_rules! integers {
    ($($unsigned:ty, $signed:ty, $form:ident;)*) => {$(
        impl From<$unsigned> for Item<'_> {
            #[inline(always)]
            fn from(item: $unsigned) -> Self {
                Self(Form::$form(false, item.into()))
            }
        }

        impl From<$signed> for Item<'_> {
            #[inline(always)]
            fn from(item: $signed) -> Self {
                Self(Form::$form(item < 0, item.unsigned_abs().into()))
            }
        }
    )*};
}

integers! {
    u8, i8, Integer;
    u16, i16, Integer;
    u32, i32, Integer;
    u64, i64, Integer;
    u128, i128, Wide;
}

impl From<usize> for Item<'_> {
    #[inline(always)]
    fn from(item: usize) -> Self {
        Self(Form::Integer(false, wide(item)))
    }
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = Digits::new();
        let bytes = self.bytes(&mut digits);
        let shown = bytes.get(..64).unwrap_or(bytes);
        write!(f, "Item(\"{}\"{})", shown.escape_ascii(), if bytes.len() > 64 { ".." } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eights::plain_eights;

    fn bytes<'a>(item: impl Into<Item<'a>>) -> String {
        let item = item.into();
        String::from_utf8(item.bytes(&mut Digits::new()).to_vec()).unwrap()
    }

    #[test]
    fn integers_are_their_decimal_digits() {
        let powers = (0..39).map(|power| 10_u128.pow(power));
        let twos = (0..128).map(|power| 1_u128 << power);
        for number in powers.chain(twos).flat_map(|number| [number - 1, number, number + 1]) {
            assert_eq!(bytes(number), number.to_string());
            if let Ok(number) = i128::try_from(number) {
                assert_eq!(bytes(-number), (-number).to_string());
            }
            if let Ok(number) = u64::try_from(number) {
                assert_eq!(bytes(number), number.to_string());
            }
            if let Ok(number) = i64::try_from(number) {
                assert_eq!(bytes(-number), (-number).to_string());
            }
        }
        assert_eq!(
            (bytes(i128::MIN), bytes(u128::MAX)),
            (i128::MIN.to_string(), u128::MAX.to_string())
        );
        assert_eq!((bytes(i64::MIN), bytes(i8::MIN)), (i64::MIN.to_string(), "-128".to_owned()));
        assert_eq!((bytes(7_usize), bytes(7_u8), bytes(7)), ("7".into(), "7".into(), "7".into()));
    }

    #[test]
    fn two_numbers_have_their_digits_at_once() {
        let mut checked = 0;
        let edges = [0, 1, 9, 10, 99, 100, 9_999, 10_000, CHUNK - 1];
        for number in edges.into_iter().chain((0..CHUNK).step_by(9_973)) {
            for numbers in [[number, CHUNK - 1 - number], [number, number], [0, number]] {
                assert_eq!(eights(numbers), plain_eights(numbers), "{numbers:?}");
                let digits = format!("{number:08}");
                let value = plain_eights([number, 0])[0] | ASCII;
                assert_eq!(value.to_le_bytes(), digits.as_bytes());
                checked += 1;
            }
        }
        assert!(checked > 30_000);
        assert!((0..10_000).all(|number| four(number) == eight(number)));
    }

    #[test]
    fn an_integer_has_the_hash_of_its_digits() {
        for (unit, power) in (0..5).flat_map(|seed| (0..20).map(move |power| (seed, power))) {
            let (unit, power) = (UnitHash::new(unit), 10_u64.pow(power));
            for number in [power - 1, power, power.wrapping_mul(3) + 7, power ^ 0x5a5a] {
                let hash = Item::from(number).hash(unit, &mut Digits::new(), |_| 0);
                assert_eq!(hash, unit.hash_bytes(number.to_string().as_bytes()), "{number}");
            }
        }
    }

    #[test]
    fn whatever_stands_for_an_item_is_the_same_bytes() {
        let owned = "item".to_owned();
        let all = [
            bytes("item"),
            bytes(&owned),
            bytes::<'_>(b"item"),
            bytes(b"item".to_vec()),
            bytes(Cow::Borrowed("item")),
            bytes(Cow::Owned::<str>(owned.clone())),
            bytes(owned.clone()),
        ];
        assert!(all.iter().all(|one| one == "item"));
    }

    #[test]
    fn an_item_prints_a_line() {
        assert_eq!(format!("{:?}", Item::from("a\n")), "Item(\"a\\n\")");
        assert_eq!(format!("{:?}", Item::from(-5)), "Item(\"-5\")");
        assert!(format!("{:?}", Item::from(vec![b'x'; 1 << 20])).len() < 100);
    }
}
