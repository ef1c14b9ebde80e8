//! Decodes bytes in a known encoding, and replaces a few invalid ones.

use encoding_rs::{DecoderResult, UTF_8, UTF_16BE, UTF_16LE};

use super::how::{Decoded, How};
use super::utf8;
use super::utf16;
use crate::raw::Reason;

/// Up to one character in this many, of those beyond ASCII or of all, may be invalid and replaced.
/// With more, the encoding is wrong.
const REPLACED_ONE_IN: usize = 20;
const REPLACED_ONE_IN_ASCII: usize = 200;

/// Decodes bytes, without the first `skipped`. Fails if more than a few of them are invalid.
pub(super) fn few_replaced(how: How, bytes: &[u8], skipped: usize) -> Result<Decoded, Reason> {
    let is_utf_16 = [UTF_16LE, UTF_16BE].contains(&how.encoding);
    if is_utf_16 && let Some(at) = utf16::shifted_at(&bytes[skipped..], how.encoding) {
        let name = how.encoding.name();
        return Err(Reason::Format(format!("{name} that is shifted by one byte from {at} on")));
    }
    let Decoded { text, how } = replacing(how, bytes, skipped);
    if is_utf_16 && (text.contains('\0') || text.chars().all(|c| c == '\u{fffd}')) {
        return Err(Reason::Binary(format!("not {}", how.encoding.name())));
    }
    let is_sure = how.encoding == UTF_8 && utf8::Utf8Counts::count(bytes).is_likely();
    if !is_sure && how.replaced > 1 {
        // ASCII characters are the same in nearly all encodings, so they prove little.
        let proof = text.chars().filter(|c| !c.is_ascii()).count() - how.replaced;
        let most = (proof / REPLACED_ONE_IN).max(text.len() / REPLACED_ONE_IN_ASCII);
        if how.replaced > most {
            return Err(Reason::Format(format!(
                "not {} ({} invalid bytes, the first at {}): give --encoding NAME",
                how.encoding.name(),
                how.replaced,
                how.first
            )));
        }
    }
    Ok(Decoded { text, how })
}

/// Decodes bytes, without the first `skipped`, and replaces invalid ones.
fn replacing(mut how: How, bytes: &[u8], skipped: usize) -> Decoded {
    let mut decoder = how.encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len() - skipped);
    let mut at = skipped;
    loop {
        let (result, read) =
            decoder.decode_to_string_without_replacement(&bytes[at..], &mut text, true);
        at += read;
        match result {
            DecoderResult::InputEmpty => break,
            // Grows by a quarter, because a text may have 64 MiB.
            DecoderResult::OutputFull => text.reserve((bytes.len() / 4).max(64)),
            DecoderResult::Malformed(length, after) => {
                if how.replaced == 0 {
                    how.first = at.saturating_sub(usize::from(length) + usize::from(after));
                }
                how.replaced += 1;
                text.push('\u{fffd}');
            }
        }
    }
    Decoded { text, how }
}
