//! Printing: results go to stdout, as text or as JSON lines; notes go to stderr.
//!
//! No other module writes to either stream. `println!` panics on a closed stream; this module
//! returns an error instead, so no print macro is used anywhere in the tool.

pub(crate) mod progress;
pub(crate) mod quoted;
pub(crate) mod row_count;
pub(crate) mod table;
pub(crate) mod web;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde::Serialize;

use crate::base64;
use crate::failure::Failure;

/// Writer of results to stdout.
pub(crate) struct Output {
    stdout: BufWriter<io::Stdout>,
    json: bool,
    /// Columns of the terminal; `None` if stdout is not a terminal.
    width: Option<usize>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let width = terminal_size::terminal_size_of(io::stdout());
        let width = width.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0);
        Self { stdout: BufWriter::with_capacity(64 << 10, io::stdout()), json, width }
    }

    /// The number of columns a line may take; `None` (no limit) for files and pipes.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether `--json` was given: then only [`Output::object`] may print.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Prints one line of text.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.stdout, "{line}").map_err(|error| Failure::printing(&error))
    }

    /// Prints one JSON object on a line of its own.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.stdout, object)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(self.stdout))
            .map_err(|error| Failure::printing(&error))
    }

    /// Prints raw bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).map_err(|error| Failure::printing(&error))
    }

    /// Flushes buffered results to stdout.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush().map_err(|error| Failure::printing(&error))
    }
}

/// Verbosity of stderr.
static LEVEL: AtomicU8 = AtomicU8::new(NORMAL);

const QUIET: u8 = 0;
const NORMAL: u8 = 1;
const VERBOSE: u8 = 2;

/// Sets the verbosity: `quiet` prints errors only, `verbose` names every skipped, added or removed
/// document.
pub(crate) fn set_level(quiet: bool, verbose: bool) {
    let level = if quiet {
        QUIET
    } else if verbose {
        VERBOSE
    } else {
        NORMAL
    };
    LEVEL.store(level, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    LEVEL.load(Ordering::Relaxed) == QUIET
}

pub(crate) fn is_verbose() -> bool {
    LEVEL.load(Ordering::Relaxed) == VERBOSE
}

/// Whether failures are printed as JSON.
static JSON_ERRORS: AtomicBool = AtomicBool::new(false);

#[derive(Serialize)]
struct FailureObject<'a> {
    error: &'a str,
    /// What to do next; may be empty.
    advice: &'a str,
}

/// Says that failures are to be printed as JSON: `--json` was given.
pub(crate) fn set_json_errors(json: bool) {
    JSON_ERRORS.store(json, Ordering::Relaxed);
}

/// Prints why a command failed: as text, or as an object on one line.
pub(crate) fn failure(failure: &Failure) {
    if !JSON_ERRORS.load(Ordering::Relaxed) {
        return error(failure);
    }
    let object = FailureObject { error: failure.message(), advice: failure.advice() };
    let line = serde_json::to_string(&object).unwrap_or_default();
    // If stderr is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line to stderr.
pub(crate) fn error(text: impl Display) {
    // If stderr is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "nearkin: {text}");
}

/// Prints a note to stderr. While a progress bar is on the terminal, use
/// [`Progress::note`](crate::progress::Progress::note) instead.
pub(crate) fn note(text: impl Display) {
    if !is_quiet() {
        error(text);
    }
}

/// Prints a note on a new line: the cursor may stand behind `^C` or a progress bar.
pub(crate) fn note_below(text: impl Display) {
    // If stderr is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "\nnearkin: {text}");
}

/// Notes that `--limit` has cut the results, and that a larger limit shows all.
pub(crate) fn note_limit(shown: u64, found: u64, what: &str) {
    if found > shown {
        let (shown, all) = (grouped(shown), grouped(found));
        note(format!("{shown} of {all} {what} shown; --limit {found} shows all"));
    }
}

/// A key for JSON: UTF-8, with invalid bytes replaced by U+FFFD.
pub(crate) fn lossy(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key)
}

/// Bytes in JSON without loss: a string if they are UTF-8, otherwise `{"base64": "..."}`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonBytes<'a>(pub(crate) &'a [u8]);

impl Serialize for JsonBytes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_map([("base64", base64::encode(self.0))]),
        }
    }
}

/// A key for the terminal: like [`lossy`], but control characters and bidirectional marks are
/// escaped. They could break a table, run terminal commands or reorder the visible text.
pub(crate) fn visible(key: &[u8]) -> String {
    // Fast path: printable ASCII needs no escapes.
    if key.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return lossy(key).into_owned();
    }
    let mut text = String::with_capacity(key.len());
    for character in lossy(key).chars() {
        if character.is_control() || is_layout(character) {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

/// Whether a character changes the layout of others: bidirectional marks, embeddings, overrides and
/// isolates, and Unicode's line and paragraph separators.
fn is_layout(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// A number with thousands separators: 1,061,040.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 document`, `2,000 documents`.
pub(crate) fn counted(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {singular}{plural}", grouped(number))
}

/// A byte count in the largest binary unit that leaves at least one digit before the point.
pub(crate) fn bytes(number: u64) -> String {
    let mut size = number as f64;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if unit == "bytes" { counted(number, "byte") } else { format!("{size:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_061_040), "1,061,040");
        assert_eq!(counted(1, "pair"), "1 pair");
        assert_eq!(counted(0, "pair"), "0 pairs");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1_023), "1,023 bytes");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
    }

    #[test]
    fn a_key_cannot_command_the_terminal() {
        assert_eq!(visible(b"a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(visible(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(visible("a\u{9b}b\u{7f}".as_bytes()), "a\\u{9b}b\\u{7f}");
    }

    #[test]
    fn a_key_cannot_turn_the_order_of_what_is_shown() {
        let turned = "invoice\u{202e}txt.exe\u{2066}\u{2069}\u{200f}\u{61c}";
        let expected = "invoice\\u{202e}txt.exe\\u{2066}\\u{2069}\\u{200f}\\u{61c}";
        assert_eq!(visible(turned.as_bytes()), expected);
        assert_eq!(visible("a\u{2028}b".as_bytes()), "a\\u{2028}b");
        let hebrew = "\u{5e9}\u{5dc}\u{5d5}\u{5dd}";
        assert_eq!(visible(hebrew.as_bytes()), hebrew, "letters stay as they are");
    }
}
