//! Reads HTML as it is displayed: without tags, scripts, styles and link addresses.

use encoding_rs::Encoding;

use super::decode;
use super::decode::Decoded;
use crate::raw::Reason;

/// Number of bytes searched for a declared encoding; browsers search as many.
const HEAD_BYTES: usize = 1_024;

/// Whether the bytes start like HTML.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"].iter().any(|begin| {
        bytes.get(..begin.len()).is_some_and(|found| found.eq_ignore_ascii_case(begin))
    })
}

/// The text of a page.
pub(crate) fn text(bytes: Vec<u8>) -> Result<Decoded, Reason> {
    let declared = declared(&bytes);
    let Decoded { text, how } = decode::decode(bytes, declared, decode::forced())?;
    Ok(Decoded { text: parse(&text)?, how })
}

/// The encoding that a page declares, in a `meta` element or in its XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes).to_ascii_lowercase();
    let behind = |word: &[u8]| {
        head.windows(word.len()).position(|found| found == word).map(|at| at + word.len())
    };
    let in_xml = behind(b"encoding=").filter(|_| head.starts_with(b"<?xml"));
    let label = head[behind(b"charset=").or(in_xml)?..].trim_ascii_start();
    let label = label.strip_prefix(b"\"").or(label.strip_prefix(b"'")).unwrap_or(label);
    let end = label.iter().position(|byte| b"\"'/>; ".contains(byte)).unwrap_or(label.len());
    Encoding::for_label(&label[..end])
}

#[cfg(feature = "html")]
fn parse(page: &str) -> Result<String, Reason> {
    /// The line width. Large enough for any line, so that no line breaks are inserted.
    const WIDTH: usize = 1 << 20;
    /// Pages larger than this are parsed without building a tree.
    const LARGE_BYTES: usize = 256 << 10;
    if page.len() > LARGE_BYTES {
        return Ok(super::html_tokens::text(page));
    }
    html2text::config::with_decorator(html2text::render::TrivialDecorator::new())
        .raw_mode(true)
        .no_link_wrapping()
        .unicode_strikeout(false)
        .allow_width_overflow()
        .string_from_read(page.as_bytes(), WIDTH)
        .map_err(|error| super::format::refused("HTML", error))
}

#[cfg(not(feature = "html"))]
fn parse(_: &str) -> Result<String, Reason> {
    Err(super::not_built::not_built("HTML"))
}
