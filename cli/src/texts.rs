//! From a file's bytes to its text: which format it is, and what cannot be read.
//!
//! Pure but for threads: does not know where the bytes come from. One file a format; every command
//! that reads files uses this, so that what is asked is what was indexed.

mod encoding;
#[cfg(feature = "office")]
mod epub;
#[cfg(any(
    feature = "html",
    feature = "pdf",
    feature = "mail",
    feature = "office",
    feature = "rtf"
))]
mod guarded;
mod gzip;
mod html;
mod known;
mod mail;
#[cfg(not(all(
    feature = "html",
    feature = "pdf",
    feature = "mail",
    feature = "office",
    feature = "rtf"
)))]
mod not_built;
#[cfg(not(feature = "office"))]
#[path = "texts/no_office.rs"]
mod office;
#[cfg(feature = "office")]
mod office;
mod pdf;
mod rtf;
#[cfg(feature = "office")]
mod zipped;

use std::path::Path;

use crate::raw::Reason;

/// Raised whenever a file's text may come out differently: then everything is read again.
const VERSION: u16 = 2;

/// What texts are made with: the same files give the same texts while this is equal.
pub(crate) fn maker() -> u16 {
    let formats = [
        cfg!(feature = "html"),
        cfg!(feature = "pdf"),
        cfg!(feature = "mail"),
        cfg!(feature = "office"),
        cfg!(feature = "rtf"),
    ];
    formats.iter().fold(VERSION, |maker, built| maker << 1 | u16::from(*built))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Plain,
    Html,
    Pdf,
    Mail,
    Mailbox,
    /// Word, PowerPoint, OpenDocument, EPUB, or another ZIP archive.
    Office,
    Rtf,
}

impl Format {
    fn of(path: &Path, bytes: &[u8]) -> Self {
        if pdf::is_one(bytes) {
            return Self::Pdf;
        }
        if bytes.starts_with(b"PK\x03\x04") {
            return Self::Office;
        }
        if rtf::is_one(bytes) {
            return Self::Rtf;
        }
        let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("eml") => Self::Mail,
            Some("mbox") => Self::Mailbox,
            _ if html::is_one(bytes) => Self::Html,
            _ if mail::is_one(bytes) => Self::Mail,
            _ => Self::Plain,
        }
    }
}

/// Keeps panics of parsers off the terminal: the file is named with the reason instead.
pub(crate) fn silence_parsers() {
    #[cfg(any(
        feature = "html",
        feature = "pdf",
        feature = "mail",
        feature = "office",
        feature = "rtf"
    ))]
    guarded::silence();
}

/// How many parsers were given up and still run: each keeps a core busy.
#[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "of --watch"))]
pub(crate) fn abandoned_parsers() -> usize {
    #[cfg(any(
        feature = "html",
        feature = "pdf",
        feature = "mail",
        feature = "office",
        feature = "rtf"
    ))]
    return guarded::abandoned();
    #[cfg(not(any(
        feature = "html",
        feature = "pdf",
        feature = "mail",
        feature = "office",
        feature = "rtf"
    )))]
    0
}

/// The text of a file.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Reason> {
    if !gzip::is_one(&bytes) {
        return text_of(path, bytes);
    }
    // Once: what is packed twice is an archive, whatever is in it.
    let bytes = gzip::unpacked(&bytes)?;
    let packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    text_of(&if packed { path.with_extension("") } else { path.to_owned() }, bytes)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, Reason> {
    match Format::of(path, &bytes) {
        Format::Plain => plain(path, bytes),
        Format::Html => html::text(bytes),
        Format::Pdf => pdf::text(bytes),
        Format::Mail => mail::text(bytes),
        Format::Office => office::text(bytes),
        Format::Rtf => rtf::text(bytes),
        Format::Mailbox => Err(Reason::Format(
            "an mbox, many messages in one file; split it into .eml files".to_owned(),
        )),
    }
}

/// What is text as it is; what is none is named by what it is, if that is known.
fn plain(path: &Path, bytes: Vec<u8>) -> Result<String, Reason> {
    let head = bytes.get(..known::HEAD_BYTES).unwrap_or(&bytes).to_vec();
    encoding::decode(bytes, None).map_err(|reason| match reason {
        Reason::Binary(_) => known::reason(path, &head).unwrap_or(reason),
        _ => reason,
    })
}

#[cfg(test)]
mod tests;
