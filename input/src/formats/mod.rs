//! Extracts the text of a file: detects the file's format, and explains why a file cannot be read.
//!
//! Pure except for parser processes: does not know where bytes come from. There is one module per
//! format. All commands use this code, so a query sees the same text as the command that added the
//! file.

mod child;
pub mod decode;
#[cfg(feature = "office")]
mod epub;
mod format;
mod gzip;
mod html;
#[cfg(feature = "html")]
mod html_tokens;
#[cfg(any(feature = "html", feature = "mail"))]
mod inline;
mod known;
mod limits;
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
#[path = "no_office.rs"]
mod office;
#[cfg(feature = "office")]
mod office;
mod parser;
mod pdf;
mod rtf;
mod wire;
#[cfg(feature = "office")]
mod zipped;

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::raw::Reason;
use decode::Decoded;
use format::Format;

pub use child::if_asked;
pub use mail::keep_quoted;
pub(crate) use mail::{begins_mailbox, is_header};
pub use parser::{PURGE_OPTION, allow_memory};
pub use pdf::{faster as faster_pdf, read_by as read_pdf_by};

/// Version of the text extraction. Raised whenever the text of a file may come out differently; all
/// files are then read again.
const VERSION: u16 = 7;
/// Number of formats that a build may lack.
const FORMATS: usize = 5;
/// In the value of [`maker`], the version and a bit per format have the low byte, below the hash of
/// what the user gives: the PDF command, the encoding, and whether quotations are kept.
const _: () = assert!(VERSION << FORMATS < 256);

/// Identifies the text extraction. As long as this value is the same, equal files give equal texts.
pub fn maker() -> u16 {
    let formats: [bool; FORMATS] = [
        cfg!(feature = "html"),
        cfg!(feature = "pdf"),
        cfg!(feature = "mail"),
        cfg!(feature = "office"),
        cfg!(feature = "rtf"),
    ];
    let built_in = formats.iter().fold(VERSION, |maker, built| maker << 1 | u16::from(*built));
    let command = pdf::command().map(|command| command.as_encoded_bytes());
    let encoding = decode::forced().map(|encoding| encoding.name().as_bytes());
    let quoted = mail::is_quoted_kept().then_some(&b"quoted"[..]);
    let given = [command, encoding, quoted];
    if given.iter().all(Option::is_none) {
        return built_in;
    }
    let hash = xxh3_64(&given.map(Option::unwrap_or_default).join(&0));
    // The value is from 1 to 255, so it fits.
    let of_given = u16::try_from(hash % u64::from(u8::MAX) + 1).unwrap_or_default();
    built_in | of_given << 8
}

fn format_of(path: &Path, bytes: &[u8]) -> Format {
    if pdf::begin(bytes).is_some() {
        return Format::Pdf;
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Format::Office;
    }
    if rtf::is_one(bytes) {
        return Format::Rtf;
    }
    let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("html" | "htm" | "xhtml") => Format::Html,
        Some("eml") => Format::Mail,
        Some("mbox") => Format::Mailbox,
        _ if html::is_one(bytes) => Format::Html,
        _ if mail::is_mailbox(bytes) => Format::Mailbox,
        _ if mail::is_one(bytes) || mail::begins_mailbox(bytes) => Format::Mail,
        _ => Format::Plain,
    }
}

/// The text of a file.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    if !gzip::is_one(&bytes) {
        return text_of(path, bytes);
    }
    // Decompressed only once: compressed data inside compressed data counts as an archive.
    let bytes = gzip::unpacked(&bytes)?;
    let packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    text_of(&if packed { path.with_extension("") } else { path.to_owned() }, bytes)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    match format_of(path, &bytes) {
        Format::Plain => plain(path, bytes),
        Format::Mailbox if bytes.trim_ascii().is_empty() => Err(Reason::Empty),
        Format::Mailbox if !mail::begins_mailbox(bytes.trim_ascii_start()) => {
            let why = "it does not begin with a line `From ...` and a message";
            Err(Reason::Refused(format!("mbox: {why}")))
        }
        Format::Mailbox => Err(Reason::Format(
            "an mbox, many messages in one file: `nearkin add INDEX FILE` reads them, or split it: \
             `git mailsplit -oFOLDER FILE`"
                .to_owned(),
        )),
        Format::Mail => parser::text(Format::Mail, mail::without_postmark(bytes)),
        format => parser::text(format, bytes),
    }
}

/// Decodes a text file. If the file is not a text but of a known format, the error names the
/// format.
fn plain(path: &Path, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    if let Some(reason) = known::source_of_pages(&bytes) {
        return Err(reason);
    }
    let head = bytes.get(..known::HEAD_BYTES).unwrap_or(&bytes).to_vec();
    decode::decode(bytes, None, decode::forced()).map_err(|reason| match reason {
        Reason::Binary(_) => known::reason(path, &head).unwrap_or(reason),
        _ => reason,
    })
}

#[cfg(test)]
mod tests;
