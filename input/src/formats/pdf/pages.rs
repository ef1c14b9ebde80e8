//! The pages of a PDF: whether all of them are there, and how their texts are separated.

use flate2::{Decompress, FlushDecompress, Status};
use pdf_extract::{
    Document, MediaBox, Object, ObjectId, OutputDev, OutputError, PlainTextOutput, Transform,
};

/// Compressions of text that the library can undo.
const FILTERS: [&[u8]; 3] = [b"FlateDecode", b"LZWDecode", b"ASCII85Decode"];

const BUFFER_BYTES: usize = 64 << 10;

/// Whether no page is missing, and the content of each is whole. The library reads what is there,
/// and says nothing of the rest: the text of some pages would pass for that of the file.
pub(super) fn are_whole(document: &Document) -> bool {
    let pages = document.get_pages();
    let is_there = |page: &ObjectId| {
        document.get_page_contents(*page).iter().all(|part| is_readable(document, *part))
    };
    count(document).is_none_or(|count| pages.len() >= count) && pages.values().all(is_there)
}

/// The number of pages that a document says it has.
fn count(document: &Document) -> Option<usize> {
    let pages = document.get_dict_in_dict(document.catalog().ok()?, b"Pages").ok()?;
    usize::try_from(pages.get(b"Count").ok()?.as_i64().ok()?).ok()
}

fn is_readable(document: &Document, part: ObjectId) -> bool {
    let Ok(stream) = document.get_object(part).and_then(Object::as_stream) else { return false };
    // A stream without filters is not compressed.
    let filters = stream.filters().unwrap_or_default();
    filters.iter().all(|filter| FILTERS.contains(filter))
        && (filters.first() != Some(&FILTERS[0]) || is_inflatable(&stream.content))
}

/// Whether data of zlib reaches its end. Its checksum does not count: it is often wrong.
fn is_inflatable(bytes: &[u8]) -> bool {
    const HEADER_BYTES: usize = 2;
    let Some(mut rest) = bytes.get(HEADER_BYTES..) else { return bytes.is_empty() };
    let (mut inflate, mut buffer) = (Decompress::new(false), vec![0; BUFFER_BYTES]);
    loop {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        match inflate.decompress(rest, &mut buffer, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return true,
            Ok(_) if (inflate.total_in(), inflate.total_out()) != (read, written) => {}
            Ok(_) | Err(_) => return false,
        }
        let read = usize::try_from(inflate.total_in() - read).unwrap_or(rest.len());
        rest = rest.get(read..).unwrap_or_default();
    }
}

/// Writes the text of all pages, with a line end before the first character of each page. The
/// library alone joins the last word of a page and the first word of the next one if both are at
/// the same height.
pub(super) struct Separated<'a> {
    output: PlainTextOutput<&'a mut String>,
    is_new: bool,
}

impl<'a> Separated<'a> {
    pub(super) fn new(text: &'a mut String) -> Self {
        Self { output: PlainTextOutput::new(text), is_new: false }
    }
}

impl OutputDev for Separated<'_> {
    fn begin_page(
        &mut self,
        number: u32,
        media: &MediaBox,
        art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.is_new = true;
        self.output.begin_page(number, media, art)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.output.end_page()
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        character: &str,
    ) -> Result<(), OutputError> {
        if !std::mem::take(&mut self.is_new) {
            return self.output.output_character(at, width, spacing, size, character);
        }
        self.output.output_character(at, width, spacing, size, &format!("\n{character}"))
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.output.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.output.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.output.end_line()
    }
}
