//! Decodes bytes to text. Recognises byte order marks, UTF-16 and UTF-8, and guesses older
//! encodings.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::raw::Reason;

/// Number of bytes searched for signs of a binary file.
const HEAD_BYTES: usize = 8 << 10;

/// Minimum number of characters for recognising UTF-16 by its NUL bytes. With fewer, NUL bytes at
/// every other position prove nothing.
const UNMARKED_MIN: usize = 8;

/// In data that is not UTF-8, up to one byte in this many may be a control character. With more,
/// the data is binary.
const CONTROLS_ONE_IN: usize = 50;

/// Decodes a file of unknown encoding. `said` is the encoding that the file declares; a byte order
/// mark takes precedence.
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
    // The detector must not answer UTF-8, because the data is not valid UTF-8. Invalid bytes are
    // replaced, so that a single one does not make the whole file unreadable.
    let guess = detector.guess(None, Utf8Detection::Deny);
    let (text, _) = guess.decode_without_bom_handling(&bytes);
    Ok(text.into_owned())
}

/// Decodes bytes in this encoding. Fails if some are invalid, or if the text contains NUL
/// characters: then the byte order mark or the pattern of NUL bytes was probably there by chance.
fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, Reason> {
    match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) if !text.contains('\0') => Ok(text.into_owned()),
        _ => Err(Reason::Binary(format!("not the {} that it begins as", encoding.name()))),
    }
}

/// Detects UTF-16 without a byte order mark, and its byte order: many bytes at even positions are
/// NUL and none at odd positions, or the other way round.
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

/// Whether a byte is a control character that occurs in no text encoding. ESC is accepted, because
/// ISO-2022-JP uses it to switch character sets.
fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}
