//! The content of a document as bytes, from which the document is made again for comparison.

use nearkin::{Error, Original, Result, Sketcher};

use nearkin_input::fields::Content;

/// The first byte of a text, and of a set.
const TEXT: u8 = 0;
const ITEMS: u8 = 1;

/// The content as bytes; empty for rows of a signature, which cannot be compared.
pub(crate) fn pack(content: &Content) -> Vec<u8> {
    let mut bytes = Vec::new();
    match content {
        Content::Text(text) => {
            bytes.reserve_exact(text.len() + 1);
            bytes.push(TEXT);
            bytes.extend_from_slice(text.as_bytes());
        }
        Content::Items(items) => {
            bytes.push(ITEMS);
            for item in items {
                let length = u32::try_from(item.len()).unwrap_or(u32::MAX);
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(item.as_bytes());
            }
        }
        Content::Rows(_) => {}
    }
    bytes
}

/// The text; `None` for a set.
pub fn text(bytes: &[u8]) -> Option<&str> {
    let (TEXT, text) = bytes.split_first().map(|(kind, text)| (*kind, text))? else { return None };
    std::str::from_utf8(text).ok()
}

/// The document for comparison; of a text, with what can set it apart.
///
/// # Errors
///
/// Those of [`original`].
pub fn detailed(sketcher: &Sketcher, bytes: &[u8]) -> Result<Original> {
    match text(bytes) {
        Some(text) => sketcher.detailed_text(text),
        None => original(sketcher, bytes),
    }
}

/// The document for comparison.
///
/// # Errors
///
/// `Invalid` if the bytes are no packed content, and the errors of sketching.
pub fn original(sketcher: &Sketcher, bytes: &[u8]) -> Result<Original> {
    if let Some(text) = text(bytes) {
        return sketcher.original_text(text);
    }
    let damaged = || Error::invalid("the stored content of a document is damaged");
    let Some((&ITEMS, mut rest)) = bytes.split_first() else { return Err(damaged()) };
    let mut items = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let (item, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
        items.push(item);
        rest = behind;
    }
    sketcher.original_items(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::{Params, Shingles};

    #[test]
    fn a_document_is_made_again_from_its_bytes() {
        let text = Content::Text("three words here and more".to_owned());
        let sketcher = Sketcher::new(&Params::builder().build().unwrap());
        let made = sketcher.original_text("three words here and more").unwrap();
        assert_eq!(original(&sketcher, &pack(&text)).unwrap(), made);
        let items = ["a", "", "10", "\u{e9}"].map(str::to_owned).to_vec();
        let set = Params::builder().shingles(Shingles::Items).build().unwrap();
        let sketcher = Sketcher::new(&set);
        let made = sketcher.original_items(items.iter().map(String::as_str)).unwrap();
        let bytes = pack(&Content::Items(items));
        assert_eq!(original(&sketcher, &bytes).unwrap(), made);
        assert!(super::text(&bytes).is_none());
        assert!(original(&sketcher, &bytes[..bytes.len() - 1]).is_err());
        assert!(original(&sketcher, &[]).is_err());
    }
}
