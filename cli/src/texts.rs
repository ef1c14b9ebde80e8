//! From a file's bytes to its text: which format it is, and what cannot be read.
//!
//! Pure but for threads: does not know where the bytes come from. One file a format; every command
//! that reads files uses this, so that what is asked is what was indexed.

mod encoding;
#[cfg(any(feature = "html", feature = "pdf", feature = "mail"))]
mod guarded;
mod html;
mod mail;
#[cfg(not(all(feature = "html", feature = "pdf", feature = "mail")))]
mod not_built;
mod pdf;

use std::path::Path;

use crate::raw::Reason;

/// Raised whenever a file's text may come out differently: then everything is read again.
const VERSION: u16 = 1;

/// What texts are made with: the same files give the same texts while this is equal.
pub(crate) fn maker() -> u16 {
    let formats = [cfg!(feature = "html"), cfg!(feature = "pdf"), cfg!(feature = "mail")];
    formats.iter().fold(VERSION, |maker, built| maker << 1 | u16::from(*built))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Plain,
    Html,
    Pdf,
    Mail,
    Mailbox,
}

impl Format {
    fn of(path: &Path, bytes: &[u8]) -> Self {
        if pdf::is_one(bytes) {
            return Self::Pdf;
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
    #[cfg(any(feature = "html", feature = "pdf", feature = "mail"))]
    guarded::silence();
}

/// How many parsers were given up and still run: each keeps a core busy.
#[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "of --watch"))]
pub(crate) fn abandoned_parsers() -> usize {
    #[cfg(any(feature = "html", feature = "pdf", feature = "mail"))]
    return guarded::abandoned();
    #[cfg(not(any(feature = "html", feature = "pdf", feature = "mail")))]
    0
}

/// The text of a file.
pub(crate) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Reason> {
    match Format::of(path, &bytes) {
        Format::Plain => encoding::decode(bytes, None),
        Format::Html => html::text(bytes),
        Format::Pdf => pdf::text(bytes),
        Format::Mail => mail::text(bytes),
        Format::Mailbox => Err(Reason::Format(
            "an mbox, many messages in one file; split it into .eml files".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests;
