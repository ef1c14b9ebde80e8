//! Decodes bytes to text: one decision about the encoding for every kind of file.
//!
//! In this order: what the user names; a byte order mark; UTF-16 without a mark;
//! ISO-2022 escapes; valid UTF-8; the encoding that the document declares; UTF-8 with a few invalid
//! bytes, which are replaced; a guess. If none of them gives a text, the reason says so: a
//! wrong text would be compared as if it were the file's.
//!
//! Knows neither files nor formats. `Utf8Reader` is for input that is not read as a
//! whole, such as JSON lines and tables: there, nothing is guessed.

mod guess;
mod how;
mod iso2022;
mod reader;
mod replacing;
mod signs;
#[cfg(test)]
mod tests;
mod utf16;
mod utf8;

use std::sync::OnceLock;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::raw::Reason;
use replacing::few_replaced;
use signs::{is_odd_control, mark_of};

pub(crate) use how::Evidence;
pub use how::{Decoded, How};

pub(crate) use reader::Utf8Reader;

/// Number of bytes searched for signs of a binary file.
const HEAD_BYTES: usize = 8 << 10;

/// In data that is not UTF-8, up to one byte in this many may be a control character. With more,
/// the data is binary.
const CONTROLS_ONE_IN: usize = 50;

/// The encoding that the user names, of all files and rows that this process reads.
static FORCED: OnceLock<&'static Encoding> = OnceLock::new();

/// Sets the encoding of all files and rows.
pub fn force(encoding: &'static Encoding) {
    // This is called once per process, before any file is read.
    let _ = FORCED.set(encoding);
}

/// The name of the encoding that the user names, if any: with another one, rows are other texts.
pub fn forced_name() -> Option<&'static str> {
    forced().map(Encoding::name)
}

/// The encoding that the user names, if any.
pub(crate) fn forced() -> Option<&'static Encoding> {
    FORCED.get().copied()
}

/// The most likely encoding of a row that is not UTF-8; `None` if it is mostly UTF-8.
pub fn likely(row: &[u8]) -> Option<&'static Encoding> {
    (!utf8::Utf8Counts::count(row).is_likely()).then(|| guess::guess(row))
}

/// The encoding of a label, such as `latin1` or `windows-1251`. `None` if it cannot be decoded.
pub fn by_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes())
}

/// Decodes a whole document. `declared` is the encoding that the document names, `forced` the one
/// that the user names.
pub fn decode(
    bytes: Vec<u8>,
    declared: Option<&'static Encoding>,
    forced: Option<&'static Encoding>,
) -> Result<Decoded, Reason> {
    if let Some(encoding) = forced {
        return by_force(encoding, &bytes);
    }
    if let Some((encoding, mark_bytes)) = mark_of(&bytes) {
        return marked(bytes, encoding, mark_bytes);
    }
    let head = bytes.get(..HEAD_BYTES).unwrap_or(&bytes);
    // In UTF-16, spaces, line ends and full stops of every script have a control character.
    let is_odd = head.iter().any(|byte| is_odd_control(*byte));
    if is_odd && let Some(encoding) = utf16::detect(&bytes) {
        return few_replaced(How::new(encoding, Evidence::Unmarked), &bytes, 0);
    }
    if head.contains(&0) {
        return Err(binary(head));
    }
    if let Some(decoded) = iso2022::decode(&bytes, declared) {
        return decoded;
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(Decoded { text, how: How::UTF_8 }),
        Err(error) => error.into_bytes(),
    };
    not_utf_8(&bytes, declared)
}

/// Decodes data that is neither valid UTF-8 nor UTF-16 nor ISO-2022.
fn not_utf_8(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<Decoded, Reason> {
    let counts = utf8::Utf8Counts::count(bytes);
    if counts.is_only_cut() || (counts.is_likely() && declared.is_none_or(|one| one == UTF_8)) {
        return few_replaced(How::new(UTF_8, Evidence::Bytes), bytes, 0);
    }
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    let controls = head.iter().filter(|byte| is_odd_control(**byte)).count();
    if controls * CONTROLS_ONE_IN > head.len() {
        return Err(Reason::Binary("control characters, and not UTF-8".to_owned()));
    }
    if let Some(encoding) = declared.filter(|encoding| *encoding != UTF_8)
        && let Ok(decoded) = few_replaced(How::new(encoding, Evidence::Declared), bytes, 0)
    {
        return Ok(decoded);
    }
    if counts.is_likely() {
        return few_replaced(How::new(UTF_8, Evidence::Bytes), bytes, 0);
    }
    guess::decode(bytes)
}

/// Decodes bytes in the encoding that the user names.
fn by_force(encoding: &'static Encoding, bytes: &[u8]) -> Result<Decoded, Reason> {
    let marked = mark_of(bytes).filter(|(marked, _)| *marked == encoding);
    let is_utf_16 = [UTF_16LE, UTF_16BE].contains(&encoding);
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if !is_utf_16 && head.contains(&0) {
        return Err(binary(head));
    }
    let skipped = marked.map_or(0, |(_, mark_bytes)| mark_bytes);
    few_replaced(How::new(encoding, Evidence::Forced), bytes, skipped)
}

/// Decodes bytes behind a byte order mark.
fn marked(
    bytes: Vec<u8>,
    encoding: &'static Encoding,
    mark_bytes: usize,
) -> Result<Decoded, Reason> {
    let how = How::new(encoding, Evidence::Mark);
    let head = bytes.get(..HEAD_BYTES).unwrap_or(&bytes);
    if encoding != UTF_8 {
        let decoded = few_replaced(how, &bytes, mark_bytes);
        let wrong = |_| Reason::Binary(format!("not the {} that it begins as", encoding.name()));
        return decoded.map_err(wrong);
    }
    if head.contains(&0) {
        return Err(binary(head));
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.drain(..mark_bytes);
            Ok(Decoded { text, how })
        }
        Err(error) => few_replaced(how, error.as_bytes(), mark_bytes),
    }
}

/// The reason for skipping a file with NUL bytes.
fn binary(head: &[u8]) -> Reason {
    if head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff") {
        return Reason::Format("text in UTF-32, which is not read: convert it to UTF-8".to_owned());
    }
    let at = head.iter().position(|byte| *byte == 0).unwrap_or_default();
    Reason::Binary(format!("a NUL byte at {at}"))
}
