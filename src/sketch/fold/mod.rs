//! Normalises a text in one pass: ASCII eight bytes or more at a time, other characters by tables.
//! Words with characters that the tables do not cover take the slow path.
//!
//! The definition is `docs/reference/SIGNATURES.md`; its reference implementation is `slow` here,
//! and the pinned crates in the tests.

use unicode_normalization::char::compose;

mod composites;
mod pass;
pub(crate) mod scripts;
pub(crate) mod slow;
mod table;

pub(crate) use pass::{Pass, PassStop};
pub(crate) use table::{CASE, FOLD, FoldTable};
use table::{CharRecord, MOVED, class};

/// Marks a word boundary: a byte that is not part of a word, and that no rule of UAX #29 joins to
/// anything.
const BOUNDARY: u8 = b'!';

/// Whether an ASCII byte may join its two neighbours into one word, or is `_`.
#[inline(always)]
fn is_joint(byte: u8) -> bool {
    matches!(byte, b'.' | b'\'' | b':' | b',' | b';' | b'_')
}

/// The composite of two characters and its record in the table, or `None` if they do not compose.
/// An error if folding would change the composite again.
fn composite(
    table: &FoldTable,
    first: char,
    second: char,
) -> Result<Option<(char, CharRecord)>, ()> {
    let Some(whole) = compose(first, second) else { return Ok(None) };
    let record = table.get(whole.into());
    if record.is_moved() && record.value() == 0 { Ok(Some((whole, record))) } else { Err(()) }
}

/// The last character of a UTF-8 text.
fn last_char(bytes: &[u8]) -> Option<char> {
    let start = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    std::str::from_utf8(bytes.get(start..)?).ok()?.chars().next()
}

/// The UTF-8 bytes of the character with this code point, and how many there are.
#[inline(always)]
fn encode(number: u32) -> ([u8; 4], usize) {
    let low = |shift: u32| 0x80 | (number >> shift & 0x3f);
    let (bytes, len) = if number < 0x80 {
        (number, 1)
    } else if number < 0x800 {
        (0xc0 | number >> 6 | low(0) << 8, 2)
    } else if number < 0x1_0000 {
        (0xe0 | number >> 12 | low(6) << 8 | low(0) << 16, 3)
    } else {
        (0xf0 | number >> 18 | low(12) << 8 | low(6) << 16 | low(0) << 24, 4)
    };
    (bytes.to_le_bytes(), len)
}

/// The code point of the first character of these bytes, and its length in bytes. The bytes must be
/// UTF-8, and the character not ASCII.
#[inline(always)]
fn decode(bytes: [u8; 4]) -> (u32, usize) {
    let [a, b, c, d] = bytes.map(u32::from);
    if a < 0xe0 {
        ((a & 0x1f) << 6 | b & 0x3f, 2)
    } else if a < 0xf0 {
        ((a & 0xf) << 12 | (b & 0x3f) << 6 | c & 0x3f, 3)
    } else {
        ((a & 7) << 18 | (b & 0x3f) << 12 | (c & 0x3f) << 6 | d & 0x3f, 4)
    }
}

/// The four bytes from this position of a text on, padded with zeros at its end.
#[inline(always)]
fn four(text: &[u8], at: usize) -> [u8; 4] {
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => *bytes,
        None => end_of(text, at),
    }
}

#[cold]
fn end_of(text: &[u8], at: usize) -> [u8; 4] {
    let mut bytes = [0; 4];
    let end = text.get(at..).unwrap_or_default();
    for (byte, end) in bytes.iter_mut().zip(end) {
        *byte = *end;
    }
    bytes
}
