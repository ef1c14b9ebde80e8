//! RTF: its text without formatting.

use crate::raw::Reason;

/// What every such file begins with.
const BEGIN: &[u8] = b"{\\rtf";

/// Whether bytes begin as RTF does.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN)
}

/// The text of a document.
#[cfg(feature = "rtf")]
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, Reason> {
    // Beyond ASCII there are only escapes; what is there all the same is of an old code page.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    };
    let document = rtf_parser::RtfDocument::try_from(spaced(&text).as_str());
    document
        .map(|document| document.get_text())
        .map_err(|error| super::format::failed("RTF", error))
}

/// Control words that end a word of the text.
#[cfg(feature = "rtf")]
const SPACES: [&str; 7] = ["par", "line", "tab", "cell", "row", "sect", "page"];

/// The same with white space where a line or a cell ends, which the parser leaves out.
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
            // The first blank ends the control word, the second is text.
            spaced.push_str("  ");
            rest = behind.strip_prefix(' ').unwrap_or(behind);
        } else {
            // A backslash behind a backslash is no control word.
            let escaped = usize::from(word.is_empty() && behind.starts_with('\\'));
            spaced.push_str(&after[..end + escaped]);
            rest = &behind[escaped..];
        }
    }
    spaced + rest
}

/// None in this build.
#[cfg(not(feature = "rtf"))]
pub(crate) fn text(_: Vec<u8>) -> Result<String, Reason> {
    Err(super::not_built::not_built("RTF", "rtf"))
}
