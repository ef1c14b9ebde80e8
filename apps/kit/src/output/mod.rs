//! Printing: results go to stdout, as text or as JSON lines; notes go to stderr.
//!
//! No other module writes to either stream. `println!` panics on a closed stream; this module
//! returns an error instead, so no print macro is used anywhere in the tool.

pub mod differences;
pub mod params;
pub mod progress;
pub mod quoted;
pub mod table;

use std::fmt::Display;
use std::io::{self, BufWriter, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde::Serialize;

pub use nearkin_input::words::{bytes, counted, grouped, lossy, visible};

use crate::base64;
use crate::failure::Failure;

/// Writer of results to stdout.
pub struct Output {
    stdout: BufWriter<io::Stdout>,
    json: bool,
    /// Columns of the terminal; `None` if stdout is not a terminal.
    width: Option<usize>,
}

impl Output {
    /// For text, or for JSON.
    pub fn new(json: bool) -> Self {
        let width = terminal_size::terminal_size_of(io::stdout());
        let width = width.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0);
        Self { stdout: BufWriter::with_capacity(64 << 10, io::stdout()), json, width }
    }

    /// The number of columns a line may take; `None` (no limit) for files and pipes.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether `--json` was given: then only [`Output::object`] may print.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints one line of text.
    pub fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.stdout, "{line}").map_err(|error| Failure::printing(&error))
    }

    /// Prints one JSON object on a line of its own.
    pub fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.stdout, object)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(self.stdout))
            .map_err(|error| Failure::printing(&error))
    }

    /// Prints raw bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).map_err(|error| Failure::printing(&error))
    }

    /// Flushes buffered results to stdout.
    pub fn flush(&mut self) -> Result<(), Failure> {
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
pub fn set_level(quiet: bool, verbose: bool) {
    let level = if quiet {
        QUIET
    } else if verbose {
        VERBOSE
    } else {
        NORMAL
    };
    LEVEL.store(level, Ordering::Relaxed);
}

/// Whether only errors are printed.
pub fn is_quiet() -> bool {
    LEVEL.load(Ordering::Relaxed) == QUIET
}

/// Whether every skipped, added or removed document is named.
pub fn is_verbose() -> bool {
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
pub fn set_json_errors(json: bool) {
    JSON_ERRORS.store(json, Ordering::Relaxed);
}

/// Prints why a command failed: as text, or as an object on one line.
pub fn failure(failure: &Failure) {
    if !JSON_ERRORS.load(Ordering::Relaxed) {
        return error(failure);
    }
    let object = FailureObject { error: failure.message(), advice: failure.advice() };
    let line = serde_json::to_string(&object).unwrap_or_default();
    // If stderr is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line to stderr.
pub fn error(text: impl Display) {
    // If stderr is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "nearkin: {text}");
}

/// Prints a warning to stderr: results are not what they seem, which --quiet does not hide.
pub fn warn(text: impl Display) {
    error(text);
}

/// Prints a note to stderr. While a progress bar is on the terminal, use
/// [`Progress::note`](crate::output::progress::Progress::note) instead.
pub fn note(text: impl Display) {
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
pub fn note_limit(shown: u64, found: u64, what: &str) {
    if found > shown {
        let (shown, all) = (grouped(shown), grouped(found));
        note(format!("{shown} of {all} {what} shown; --limit {found} shows all"));
    }
}

/// Bytes in JSON without loss: a string if they are UTF-8, otherwise `{"base64": "..."}`.
#[derive(Debug, Clone, Copy)]
pub struct JsonBytes<'a>(pub &'a [u8]);

impl Serialize for JsonBytes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_map([("base64", base64::encode(self.0))]),
        }
    }
}
