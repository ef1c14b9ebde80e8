//! Text in ISO-2022 and in HZ: ASCII bytes only, in which escapes choose the character set.
//!
//! Such data is also valid UTF-8, so it must be recognised before.

use encoding_rs::{EUC_KR, Encoding, GBK, ISO_2022_JP};

use super::how::{Decoded, Evidence, How};
use super::replacing::few_replaced;
use crate::raw::Reason;

const ESCAPE: u8 = 0x1b;
const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;

/// Announces ISO-2022-KR, at the beginning of a text.
const KOREAN: &[u8] = b"\x1b$)C";

/// With more than one byte in this many beyond ASCII, the data is not ISO-2022.
const BEYOND_ASCII_ONE_IN: usize = 5;

/// Decodes ISO-2022. `None` if the data is something else; an error if it is a variant that is not
/// read.
pub(super) fn decode(
    bytes: &[u8],
    declared: Option<&'static Encoding>,
) -> Option<Result<Decoded, Reason>> {
    if let Some(text) = hz(bytes) {
        return Some(few_replaced(How::new(GBK, Evidence::Bytes), &text, 0));
    }
    let is_declared = declared == Some(ISO_2022_JP);
    let (mut is_japanese, mut is_korean, mut other) = (false, false, None);
    for at in memchr::memchr_iter(ESCAPE, bytes) {
        match bytes.get(at + 1..).unwrap_or_default() {
            [b'$', b'B' | b'@', ..] => is_japanese = true,
            [b'(', b'I' | b'J', ..] => is_japanese |= is_declared,
            [b'$', b')', b'C', ..] => is_korean = true,
            [b'$', b'(', b'D', ..] => other = Some("ISO-2022-JP-1"),
            [b'$', b')', b'A' | b'E' | b'G', ..] => other = Some("ISO-2022-CN"),
            _ => {}
        }
    }
    if !is_japanese && !is_korean && other.is_none() {
        return None;
    }
    let beyond_ascii = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    if beyond_ascii * BEYOND_ASCII_ONE_IN > bytes.len() {
        return None;
    }
    if let Some(other) = other {
        return Some(Err(not_read(other)));
    }
    if is_korean {
        let how = How::new(EUC_KR, Evidence::Bytes);
        return Some(few_replaced(how, &shifted(bytes), 0));
    }
    Some(few_replaced(How::new(ISO_2022_JP, Evidence::Bytes), bytes, 0))
}

fn not_read(encoding: &str) -> Reason {
    Reason::Format(format!("text in {encoding}, which is not read: convert it to UTF-8"))
}

/// Converts ISO-2022-KR to EUC-KR, which has the same characters with the highest bit set.
fn shifted(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(bytes.len());
    let (mut rest, mut is_out) = (bytes, false);
    while let Some((first, after)) = rest.split_first() {
        if rest.starts_with(KOREAN) {
            rest = &rest[KOREAN.len()..];
            continue;
        }
        match *first {
            SHIFT_OUT => is_out = true,
            SHIFT_IN => is_out = false,
            byte => {
                is_out &= byte != b'\n';
                found.push(if is_out && byte.is_ascii_graphic() { byte | 0x80 } else { byte });
            }
        }
        rest = after;
    }
    found
}

/// Converts HZ to GBK. `None` if the data is not HZ: pairs of bytes stand between `~{` and `~}`, in
/// much of the data.
fn hz(bytes: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(bytes, b"~{")?;
    let mut found = Vec::with_capacity(bytes.len());
    let (mut rest, mut pairs) = (bytes, 0);
    while let Some(begin) = memchr::memmem::find(rest, b"~{") {
        let (before, after) = (&rest[..begin], &rest[begin + 2..]);
        let end = after.chunks(2).position(|pair| pair == b"~}" || pair.contains(&b'\n'));
        let end = end.map_or(after.len(), |at| at * 2);
        found.extend_from_slice(before);
        found.extend(after[..end].iter().map(|byte| byte | 0x80));
        pairs += end / 2;
        rest = &after[end..];
        rest = rest.strip_prefix(b"~}").unwrap_or(rest);
    }
    found.extend_from_slice(rest);
    (pairs * 4 > bytes.len()).then_some(found)
}
