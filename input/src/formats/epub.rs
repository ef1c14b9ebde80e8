//! Reads EPUB books: HTML pages, in reading order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::decode::Decoded;
use super::html;
use super::zipped::{self, Archive, ReadSoFar};
use crate::raw::Reason;

/// An archive with this file is an EPUB book. The file names the package document, which lists the
/// pages.
const CONTAINER: &str = "META-INF/container.xml";

/// The folder of the book in an archive. Returns `None` if the archive holds no book, or several.
pub(super) fn folder(archive: &Archive) -> Option<String> {
    if archive.index_for_name(CONTAINER).is_some() {
        return Some(String::new());
    }
    let mut folders = archive.file_names().filter_map(Result::ok).filter_map(|name| {
        let folder = name.strip_suffix(CONTAINER)?;
        folder.ends_with('/').then(|| folder.to_owned())
    });
    folders.next().filter(|_| folders.next().is_none())
}

/// The text of all pages of the book in this folder of an archive.
pub(super) fn text(mut archive: Archive, folder: &str) -> Result<Decoded, Reason> {
    let failed = |what: String| super::format::refused("EPUB", what);
    let mut read = ReadSoFar::nothing();
    let mut book = Decoded::exact(String::new());
    for page in pages(&mut archive, folder, &mut read).map_err(failed)? {
        let bytes = zipped::bytes_of(&mut archive, &page, &mut read).map_err(failed)?;
        let Decoded { text, how } = html::text(bytes)?;
        book.text.push_str(&text);
        book.text.push('\n');
        book.how = book.how.and(how);
    }
    book.how = book.how.and(read.how);
    Ok(book)
}

/// The names of the pages in the archive, in reading order.
fn pages(archive: &mut Archive, folder: &str, read: &mut ReadSoFar) -> Result<Vec<String>, String> {
    let container = zipped::part(archive, &format!("{folder}{CONTAINER}"), read)?;
    let mut root = None;
    elements(&container, |name, element| {
        if name == "rootfile" && root.is_none() {
            root = attribute(element, "full-path");
        }
    })?;
    let root = format!("{folder}{}", root.ok_or("it names no root file")?);
    let folder = root.rfind('/').map_or("", |end| &root[..=end]);
    let (mut hrefs, mut pages) = (HashMap::new(), Vec::new());
    elements(&zipped::part(archive, &root, read)?, |name, element| match name {
        "item" => {
            if let (Some(id), Some(href)) = (attribute(element, "id"), attribute(element, "href")) {
                // Several items may refer to parts of the same page: a part is named after a `#`.
                let page = href.split('#').next().unwrap_or_default();
                hrefs.insert(id, unescaped(page));
            }
        }
        "itemref" => pages.extend(attribute(element, "idref")),
        _ => {}
    })?;
    let mut seen = HashSet::new();
    let pages = pages.iter().filter_map(|id| hrefs.get(id)).filter(|href| seen.insert(*href));
    Ok(pages.map(|href| format!("{folder}{href}")).collect())
}

/// Calls `each` for every element, with its local name.
fn elements(xml: &str, mut each: impl FnMut(&str, &BytesStart<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(element) | Event::Empty(element) => {
                each(element.local_name().as_ref(), &element);
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).ok()??;
    unescape(&found.value).ok().map(Cow::into_owned)
}

/// Converts a link to a file name in the archive: `a%20b` becomes `a b`.
fn unescaped(href: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = href.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value.filter(|_| *first == b'%') {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
