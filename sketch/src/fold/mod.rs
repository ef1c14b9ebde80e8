//! Normalises a text in one pass: ASCII eight bytes or more at a time, other characters by tables.
//! Words with characters that the tables do not cover take the slow path.
//!
//! The definition is `docs/reference/SIGNATURES.md`; its reference implementation is `slow` here,
//! and `definition` in the tests.

use crate::unicode::compose;

pub(crate) mod composites;
pub(crate) mod digits;
pub(crate) mod lookalikes;
mod pass;
pub(crate) mod scripts;
pub(crate) mod slow;
mod table;
mod utf8;

pub(crate) use pass::{Pass, PassStop};
pub(crate) use table::{CASE, FOLD, FoldTable};
use table::{CharRecord, MOVED, class};
use utf8::{decode, encode};

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
