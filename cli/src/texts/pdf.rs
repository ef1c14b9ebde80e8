//! PDF: its layer of text. Pictures of pages have none.

use crate::raw::Reason;

/// Readers accept some bytes before the header; most often there are none.
const BEGIN: &[u8] = b"%PDF-";

/// Whether bytes begin as a PDF does.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN)
}

/// The text of all pages.
#[cfg(feature = "pdf")]
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, Reason> {
    super::guarded::guarded("PDF", move || {
        pdf_extract::extract_text_from_mem(&bytes).map_err(|error| error.to_string())
    })
}

/// None in this build.
#[cfg(not(feature = "pdf"))]
pub(crate) fn text(_: Vec<u8>) -> Result<String, Reason> {
    Err(super::not_built::not_built("PDF", "pdf"))
}
