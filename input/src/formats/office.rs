//! Reads documents that are ZIP archives of XML: Word, PowerPoint, OpenDocument, and EPUB.
//! Spreadsheets and other archives are not read, but messages name them.

use std::io::Cursor;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, Event};
use zip::ZipArchive;

use super::decode::{Decoded, How};
use super::format::refused;
use super::zipped::{Archive, ReadSoFar, part};
use crate::raw::Reason;

/// The document format of a ZIP archive.
enum OfficeFormat {
    Word,
    Slides,
    OpenDocument,
    /// A book. Holds its folder in the archive, which is usually the root.
    Epub(String),
    /// A kind that is not read. Holds its name.
    Other(&'static str),
}

impl OfficeFormat {
    fn detect(archive: &mut Archive) -> Self {
        let names = ["word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"];
        let [word, slides, table] = names.map(|name| archive.index_for_name(name).is_some());
        let kind = part(archive, "mimetype", &mut ReadSoFar { left: 1_024, how: How::UTF_8 })
            .unwrap_or_default();
        match (word, slides, table, kind.trim()) {
            (true, ..) => Self::Word,
            (_, true, ..) => Self::Slides,
            (_, _, true, _) => Self::Other("a spreadsheet (.xlsx): save its sheets as CSV"),
            (.., "application/epub+zip") => Self::Epub(String::new()),
            (.., "application/vnd.oasis.opendocument.spreadsheet") => {
                Self::Other("a spreadsheet (.ods): save its sheets as CSV")
            }
            (.., kind) if kind.starts_with("application/vnd.oasis.opendocument.") => {
                Self::OpenDocument
            }
            // Some EPUB files do not state their type in `mimetype`, or have the book in a folder.
            _ => super::epub::folder(archive).map_or(
                Self::Other(
                    "a ZIP archive: unpack it; `add --archives` reads it if it is in no other",
                ),
                Self::Epub,
            ),
        }
    }
}

/// The text of a document.
pub(crate) fn text(bytes: Vec<u8>) -> Result<Decoded, Reason> {
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|error| refused("ZIP", error))?;
    let mut read = ReadSoFar::nothing();
    match OfficeFormat::detect(&mut archive) {
        OfficeFormat::Other(what) => return Err(Reason::Format(what.to_owned())),
        OfficeFormat::Epub(folder) => return super::epub::text(archive, &folder),
        OfficeFormat::Word => word(&mut archive, &mut read).map_err(|error| refused("Word", error)),
        OfficeFormat::Slides => {
            slides(&mut archive, &mut read).map_err(|error| refused("PowerPoint", error))
        }
        OfficeFormat::OpenDocument => {
            open_document(&mut archive, &mut read).map_err(|error| refused("OpenDocument", error))
        }
    }
    .map(|text| Decoded { text, how: read.how })
}

fn open_document(archive: &mut Archive, read: &mut ReadSoFar) -> Result<String, String> {
    let content = part(archive, "content.xml", read)?;
    let text = TextRules {
        paragraphs: &["p", "h", "table-row"],
        spaces: &["s", "tab", "line-break", "table-cell"],
        texts: &[],
        skipped: &["annotation", "tracked-changes", "automatic-styles", "font-face-decls"],
    };
    text.extract(&content)
}

const WORD: TextRules<'_> = TextRules {
    paragraphs: &["p", "tr"],
    spaces: &["tab", "br", "cr", "tc", "txbxContent"],
    texts: &["t"],
    // A text box is stored twice: for current versions of Word, and as a `Fallback` for versions
    // before 2010.
    skipped: &["del", "moveFrom", "Fallback"],
};

fn word(archive: &mut Archive, read: &mut ReadSoFar) -> Result<String, String> {
    let mut text = WORD.extract(&part(archive, "word/document.xml", read)?)?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if archive.index_for_name(notes).is_some() {
            text.push_str(&WORD.extract(&part(archive, notes, read)?)?);
        }
    }
    Ok(text)
}

fn slides(archive: &mut Archive, read: &mut ReadSoFar) -> Result<String, String> {
    let slides =
        TextRules { paragraphs: &["p"], spaces: &["br", "tc"], texts: &["t"], skipped: &[] };
    let number = |name: &str| -> Option<u32> {
        name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse().ok()
    };
    let mut names: Vec<(u32, String)> = archive
        .file_names()
        .filter_map(Result::ok)
        .filter_map(|name| Some((number(&name)?, name.into_owned())))
        .collect();
    names.sort_unstable();
    let mut text = String::new();
    for (_, name) in names {
        text.push_str(&slides.extract(&part(archive, &name, read)?)?);
    }
    Ok(text)
}

/// How the elements of a format are interpreted, by their local names.
struct TextRules<'a> {
    /// Elements whose end ends a line.
    paragraphs: &'a [&'a str],
    /// Elements that become white space.
    spaces: &'a [&'a str],
    /// The elements that contain text. If empty, all elements do.
    texts: &'a [&'a str],
    /// Elements whose content is skipped.
    skipped: &'a [&'a str],
}

impl TextRules<'_> {
    fn extract(&self, xml: &str) -> Result<String, String> {
        let mut reader = Reader::from_str(xml);
        let (mut text, mut within, mut skipping) = (String::new(), 0_u32, 0_u32);
        let mut open = 0_u32;
        loop {
            let event = reader.read_event().map_err(|error| error.to_string())?;
            let counts = skipping == 0 && (self.texts.is_empty() || within > 0);
            match event {
                Event::Start(element) => {
                    open += 1;
                    let name = element.local_name();
                    skipping += u32::from(self.skipped.contains(&name.as_ref()));
                    within += u32::from(self.texts.contains(&name.as_ref()));
                    if self.spaces.contains(&name.as_ref()) {
                        text.push(' ');
                    }
                }
                Event::Empty(element) if self.spaces.contains(&element.local_name().as_ref()) => {
                    text.push(' ');
                }
                Event::End(element) => {
                    open = open.saturating_sub(1);
                    let name = element.local_name();
                    let less = |count: u32, names: &[&str]| {
                        count.saturating_sub(u32::from(names.contains(&name.as_ref())))
                    };
                    (skipping, within) = (less(skipping, self.skipped), less(within, self.texts));
                    if self.paragraphs.contains(&name.as_ref()) {
                        text.push('\n');
                    }
                }
                Event::Text(found) if counts => {
                    text.push_str(&found);
                }
                Event::CData(found) if counts => {
                    text.push_str(&found);
                }
                Event::GeneralRef(found) if counts => text.push_str(&resolved(&found)?),
                Event::Eof if open > 0 => return Err("its end is lost".to_owned()),
                Event::Eof => return Ok(text),
                _ => {}
            }
        }
    }
}

/// Resolves a reference such as `&amp;` or `&#228;`. These formats define no entities of their own.
fn resolved(found: &BytesRef<'_>) -> Result<String, String> {
    if let Some(character) = found.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character.to_string());
    }
    Ok(resolve_xml_entity(found).unwrap_or_default().to_owned())
}
