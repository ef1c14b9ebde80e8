//! Reads the text layer of PDF files; scanned pages have none. The parser is a library, or a
//! program that the user chooses.

#[cfg(feature = "pdf")]
mod fonts;
#[cfg(feature = "pdf")]
mod objects;
#[cfg(feature = "pdf")]
mod pages;

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::format::failed;
#[cfg(feature = "pdf")]
use super::format::refused;
use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

const BEGIN: &[u8] = b"%PDF-";

/// Number of bytes that may stand before the header, such as a line end, a byte order mark or the
/// header of an HTTP answer; PDF readers accept as many.
const BEFORE_BYTES: usize = 1_024;

/// Arguments for pdftotext if the user gives none.
const OF_PDFTOTEXT: [&str; 5] = ["-q", "-enc", "UTF-8", "-", "-"];

/// The user's program for reading PDF.
static COMMAND: OnceLock<OsString> = OnceLock::new();

/// The offset at which a PDF begins.
pub(crate) fn begin(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..BEFORE_BYTES + BEGIN.len()).unwrap_or(bytes);
    let at = head.windows(BEGIN.len()).position(|found| found == BEGIN)?;
    if at == 0 {
        return Some(0);
    }
    // A text about PDF may have the header in it, too. So the header must begin a line, and the
    // first object must follow.
    let begins_line = matches!(bytes[at - 1], b'\n' | b'\r' | 0xbf | 0);
    let after = &bytes[at..];
    let after = after.get(..BEFORE_BYTES).unwrap_or(after);
    let has_object = after.windows(6).any(|found| found.starts_with(b" 0 obj"));
    let has_end = memchr::memmem::rfind(bytes, b"endobj").is_some();
    (begins_line && has_object && has_end).then_some(at)
}

/// The reason for skipping a file of which only a part could be read.
#[cfg(feature = "pdf")]
const LOST: &str = "a part of the file is lost";

/// Sets the program that reads all PDF files: it gets the file on stdin and prints the text.
pub fn read_by(command: OsString) {
    // This is called once per process, before any file is read.
    let _ = COMMAND.set(command);
}

/// Milliseconds that threads waited for texts of PDF files.
static MILLIS: AtomicU64 = AtomicU64::new(0);

/// Time from which another program is suggested.
pub(super) const LONG: Duration = Duration::from_secs(5);

/// Counts the time that reading a PDF took.
pub(super) fn count_time(took: Duration) {
    MILLIS.fetch_add(u64::try_from(took.as_millis()).unwrap_or(0), Ordering::Relaxed);
}

/// Advice for the next run if reading PDF took long, and a program that is usually faster is
/// installed.
pub fn faster() -> Option<String> {
    let took = Duration::from_millis(MILLIS.load(Ordering::Relaxed));
    if command().is_some() {
        return None;
    }
    faster_than(took, &std::env::var_os("PATH")?)
}

/// The same for this time and these folders of programs.
pub(super) fn faster_than(took: Duration, path: &OsStr) -> Option<String> {
    let is_there = |folder: PathBuf| folder.join("pdftotext").is_file();
    if took < LONG || !std::env::split_paths(path).any(is_there) {
        return None;
    }
    let seconds = took.as_secs();
    Some(format!(
        "reading PDF took {seconds} s of the threads' time; pdftotext, which is installed, usually \
         takes a quarter less: --pdf-command pdftotext in every run (the first one reads all PDF \
         again)"
    ))
}

/// The user's program for reading PDF, if one was given.
pub(super) fn command() -> Option<&'static OsString> {
    COMMAND.get()
}

/// The text of all pages.
pub(super) fn text(mut bytes: Vec<u8>) -> Result<String, Reason> {
    bytes.drain(..begin(&bytes).unwrap_or(0));
    // A download may be padded. The parser looks for the end within the last bytes.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    let text = match command() {
        Some(command) => by_command(&command.to_string_lossy(), &bytes),
        None => built_in(bytes),
    }?;
    if text.trim().is_empty() { Err(Reason::NoTextLayer) } else { Ok(text) }
}

fn by_command(command: &str, bytes: &[u8]) -> Result<String, Reason> {
    let failed = |what: String| failed("PDF", format!("{command}: {what}"));
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut words: Vec<&str> = words.collect();
    let name = Path::new(program).file_stem().and_then(|name| name.to_str());
    if words.is_empty() && name == Some("pdftotext") {
        words.extend(OF_PDFTOTEXT);
    }
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let mut text = Vec::new();
    let read = thread::scope(|scope| {
        // The input is written in a thread of its own while the output is read; otherwise both
        // processes could block. A write error is ignored: the program may stop reading early, and
        // only its exit status matters.
        let write = move || input.map(|mut input| input.write_all(bytes));
        thread::Builder::new().spawn_scoped(scope, write)?;
        let most = DOCUMENT_BYTES_MAX as u64 + 1;
        output.map_or(Ok(0), |output| output.take(most).read_to_end(&mut text))
    });
    if text.len() > DOCUMENT_BYTES_MAX {
        // Ends the program, because its output is too large. If it has already exited, killing it
        // fails, which is harmless.
        let _ = child.kill();
    }
    let ended = child.wait();
    read.map_err(|error| failed(error.to_string()))?;
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    match ended {
        Ok(status) if status.success() => Ok(String::from_utf8_lossy(&text).into_owned()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

#[cfg(feature = "pdf")]
fn built_in(bytes: Vec<u8>) -> Result<String, Reason> {
    use pdf_extract::{Document, output_doc};
    let mut document = match Document::load_mem(&bytes) {
        Ok(document) if document.get_pages().is_empty() => mended(&bytes)?.unwrap_or(document),
        Ok(document) => document,
        Err(error) => mended(&bytes)?.ok_or_else(|| refused("PDF", error))?,
    };
    // The parsed document has its own copy of the bytes.
    drop(bytes);
    if document.is_encrypted() {
        document.decrypt("").map_err(|error| refused("PDF", error))?;
    }
    if !pages::are_whole(&document) {
        return Err(refused("PDF", LOST));
    }
    fonts::lighten(&mut document);
    let mut text = String::new();
    let read = output_doc(&document, &mut pages::Separated::new(&mut text));
    read.map(|()| text).map_err(|error| refused("PDF", error))
}

/// A document whose table of objects is lost or wrong: makes a table of the objects that are there.
/// Fails if the last object is cut off: the text of the others must not pass for that of the file.
#[cfg(feature = "pdf")]
fn mended(bytes: &[u8]) -> Result<Option<pdf_extract::Document>, Reason> {
    let Some(table) = objects::table(bytes) else { return Ok(None) };
    let whole = [bytes, &table].concat();
    let Ok(document) = pdf_extract::Document::load_mem(&whole) else { return Ok(None) };
    if document.get_pages().is_empty() {
        return Ok(None);
    }
    if objects::is_cut(bytes) {
        return Err(refused("PDF", LOST));
    }
    Ok(Some(document))
}

/// Not supported in this build.
#[cfg(not(feature = "pdf"))]
fn built_in(_: Vec<u8>) -> Result<String, Reason> {
    Err(super::not_built::not_built("PDF"))
}
