//! Reads RTF, without its formatting.

use crate::raw::Reason;

/// First bytes of every RTF file.
const BEGIN: &[u8] = b"{\\rtf";

/// Whether the bytes start like RTF.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN)
}

/// The text of a document.
#[cfg(feature = "rtf")]
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, Reason> {
    // In RTF, characters beyond ASCII are written as escapes. Raw bytes beyond ASCII come from an
    // old code page.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    };
    let document = rtf_parser::RtfDocument::try_from(spaced(&text).as_str());
    document
        .map(|document| document.get_text())
        .map_err(|error| super::format::refused("RTF", error))
}

/// Control words that separate words of the text. The parser omits them.
#[cfg(feature = "rtf")]
const SPACES: [&str; 7] = ["par", "line", "tab", "cell", "row", "sect", "page"];

/// Inserts white space after each control word in [`SPACES`].
#[cfg(feature = "rtf")]
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, after) = rest.split_at(at + 1);
        spaced.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (word, behind) = after.split_at(end);
        if SPACES.contains(&word) {
            spaced.push_str(word);
            // The first space ends the control word, the second is text.
            spaced.push_str("  ");
            rest = behind.strip_prefix(' ').unwrap_or(behind);
        } else {
            // Two backslashes are an escaped backslash, not the beginning of a control word.
            let escaped = usize::from(word.is_empty() && behind.starts_with('\\'));
            spaced.push_str(&after[..end + escaped]);
            rest = &behind[escaped..];
        }
    }
    spaced + rest
}

/// Not supported in this build.
#[cfg(not(feature = "rtf"))]
pub(crate) fn text(_: Vec<u8>) -> Result<String, Reason> {
    Err(super::not_built::not_built("RTF"))
}
