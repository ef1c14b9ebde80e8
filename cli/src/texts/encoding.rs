//! Decodes bytes to text: byte order marks, UTF-16, UTF-8, and a guess for older encodings.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::raw::Reason;

/// Bytes searched for signs of a binary file.
const HEAD_BYTES: usize = 8 << 10;

/// With fewer characters, NUL bytes at every other position prove nothing.
const UNMARKED_MIN: usize = 8;

/// Data that is not UTF-8 and has more control characters than one in this many is binary.
const CONTROLS_ONE_IN: usize = 50;

/// Decodes a file of unknown encoding. `said` is the encoding that the file declares; a byte order
/// mark overrides it.
pub(crate) fn decode(bytes: Vec<u8>, said: Option<&'static Encoding>) -> Result<String, Reason> {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(&bytes) {
        return decode_as(encoding, &bytes[mark_bytes..]);
    }
    let head = bytes.get(..HEAD_BYTES).unwrap_or(&bytes);
    if let Some(encoding) = unmarked_utf_16(head)
        && let Ok(text) = decode_as(encoding, &bytes)
    {
        return Ok(text);
    }
    if let Some(at) = head.iter().position(|byte| *byte == 0) {
        return Err(Reason::Binary(format!("a NUL byte at {at}")));
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let head = bytes.get(..HEAD_BYTES).unwrap_or(&bytes);
    let controls = head.iter().filter(|byte| is_odd_control(**byte)).count();
    if controls * CONTROLS_ONE_IN > head.len() {
        return Err(Reason::Binary("control characters, and not UTF-8".to_owned()));
    }
    if let Some(encoding) = said.filter(|encoding| *encoding != UTF_8)
        && let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(&bytes)
    {
        return Ok(text.into_owned());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes, true);
    // The data is not UTF-8. A single bad byte must not lose the whole file.
    let guess = detector.guess(None, Utf8Detection::Deny);
    let (text, _) = guess.decode_without_bom_handling(&bytes);
    Ok(text.into_owned())
}

/// All bytes must be valid: a mark or a pattern of NUL bytes may be chance.
fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, Reason> {
    match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) if !text.contains('\0') => Ok(text.into_owned()),
        _ => Err(Reason::Binary(format!("not the {} that it begins as", encoding.name()))),
    }
}

/// The byte order of UTF-16 without a mark: most bytes at even or at odd positions are NUL, and
/// none of the others.
fn unmarked_utf_16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.chunks_exact(2);
    let count = pairs.len();
    let (mut first, mut second) = (0, 0);
    for pair in pairs {
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    match (first, second) {
        (0, nuls) if count >= UNMARKED_MIN && nuls * 5 > count * 2 => Some(UTF_16LE),
        (nuls, 0) if count >= UNMARKED_MIN && nuls * 5 > count * 2 => Some(UTF_16BE),
        _ => None,
    }
}

/// A control character that occurs in no text encoding. ESC is allowed: ISO-2022-JP uses it for
/// shifts.
fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}
