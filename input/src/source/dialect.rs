//! The dialect of a table: delimiter, quotation marks and escapes, as the user gives them or as the
//! rows show.
//!
//! Pure: works on names and bytes. A dialect is chosen only where the choice matters, by the rows
//! from there on: rows before it mean the same in each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::scan::{Doubt, Marks, Scanned, Scanner};

/// Compression suffixes that may follow .csv or .tsv.
const PACKED: [&str; 3] = [".gz", ".zst", ".zstd"];

/// Number of bytes inspected to choose a dialect.
pub(super) const AHEAD_BYTES: usize = 1 << 20;

/// The last row of the inspected bytes may be cut. If it is longer than this, it counts as wrong: a
/// quotation mark was taken for the beginning of a cell.
const CUT_ROW_BYTES_MAX: usize = AHEAD_BYTES / 2;

/// How the user says that rows are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOptions {
    /// Between cells.
    pub delimiter: Option<u8>,
    /// Around cells.
    pub quote: Option<Mark>,
    /// Before a character that is text.
    pub escape: Option<Mark>,
    /// Whether rows that cannot be read are skipped.
    pub lenient: bool,
}

/// A character of a dialect, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// No character has this meaning.
    None,
    /// This character has it.
    Of(u8),
}

impl Mark {
    fn byte(self) -> Option<u8> {
        match self {
            Self::None => None,
            Self::Of(byte) => Some(byte),
        }
    }
}

impl RowOptions {
    /// Whether the user says that the input is a table.
    fn is_of_tables(&self) -> bool {
        self.delimiter.is_some() || self.quote.is_some() || self.escape.is_some()
    }

    /// Whether a file is read as a table: by its name, or because the user says so and the name
    /// does not say otherwise.
    pub(crate) fn is_table(&self, path: &Path) -> bool {
        let ending = ending(path);
        let is_other = ["jsonl", "ndjson", "ldjson", "parquet", "pq"].contains(&&*ending);
        is_table_ending(&ending) || (self.is_of_tables() && !is_other)
    }

    /// A scanner for a file of this name; `head` is the beginning of the file.
    pub(super) fn scanner(&self, path: &Path, head: &[u8]) -> Scanner {
        let ending = ending(path);
        let has_tabs = ending == "tsv" || ending == "tab";
        let by_name = match &*ending {
            "tsv" | "tab" => Some(b'\t'),
            "psv" => Some(b'|'),
            _ => None,
        };
        let quote = self.quote.unwrap_or(Mark::Of(b'"')).byte();
        let delimiter = self.delimiter.or(by_name).unwrap_or_else(|| delimiter(head, quote));
        let escape = self.escape.and_then(Mark::byte).filter(|escape| Some(*escape) != quote);
        let mut scanner =
            Scanner::new(Marks { delimiter, quote, escape, escapes_all: escape.is_some() });
        scanner.doubts_quote = self.quote.is_none() && (has_tabs || delimiter == b'\t');
        scanner.doubts_escape = self.escape.is_none() && quote.is_some();
        scanner
    }
}

/// Whether the name of a file says that it holds rows.
pub fn is_named_rows(path: &Path) -> bool {
    let ending = ending(path);
    is_table_ending(&ending)
        || ["jsonl", "ndjson", "ldjson", "json", "parquet", "pq"].contains(&&*ending)
}

/// Whether the name of a file says that it is a table.
pub(super) fn is_named_table(path: &Path) -> bool {
    is_table_ending(&ending(path))
}

/// The ending of a file name without its compression suffix, in lower case.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = PACKED.iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    plain.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned()
}

fn is_table_ending(ending: &str) -> bool {
    ["csv", "tsv", "tab", "psv"].contains(&ending)
}

/// The delimiter that occurs most often in the first line, outside of quotation marks.
fn delimiter(head: &[u8], quote: Option<u8>) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut is_quoted = false;
    for byte in head {
        match byte {
            b'\n' | b'\r' if !is_quoted => break,
            byte if Some(*byte) == quote => is_quoted = !is_quoted,
            byte if !is_quoted => {
                for (_, count) in counts.iter_mut().filter(|(delimiter, _)| delimiter == byte) {
                    *count += 1;
                }
            }
            _ => {}
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(one, _)| one)
}

/// Chooses the meaning that fits the rows in `ahead` better. `columns` is the number of cells that
/// each of them must have, if known; `is_end`: no more rows follow.
pub(super) fn decide(
    doubt: Doubt,
    scanner: &mut Scanner,
    ahead: &[u8],
    (columns, is_end): (Option<usize>, bool),
) {
    let doubled = scanner.marks;
    let escaped = Marks { escape: Some(b'\\'), escapes_all: false, ..doubled };
    let bare = Marks { quote: None, escape: None, ..doubled };
    let wrong = |marks| first_wrong(marks, ahead, columns, is_end);
    let (first, second) = (wrong(doubled), wrong(escaped));
    let is_escaped = scanner.doubts_escape && second > first;
    let (quoted, quoted_wrong) = if is_escaped { (escaped, second) } else { (doubled, first) };
    match doubt {
        Doubt::Quote => {
            scanner.doubts_quote = false;
            if wrong(bare) > quoted_wrong || (wrong(bare) == quoted_wrong && quoted_wrong < ALL) {
                scanner.marks = bare;
                scanner.doubts_escape = false;
            }
        }
        Doubt::Escape => {
            scanner.marks = quoted;
            scanner.doubts_escape = false;
        }
    }
}

/// The result of [`first_wrong`] if all rows are right.
const ALL: usize = usize::MAX;

/// The number of rows before the first wrong one.
fn first_wrong(marks: Marks, mut ahead: &[u8], columns: Option<usize>, is_end: bool) -> usize {
    let (mut scanner, mut columns) = (Scanner::new(marks), columns);
    for rows in 0.. {
        if ahead.is_empty() {
            break;
        }
        scanner.begin();
        match scanner.scan(ahead, is_end) {
            Scanned::Row { used, .. } => {
                let count = scanner.count();
                if count > 0 && *columns.get_or_insert(count) != count {
                    return rows;
                }
                // Programs that write backslashes before quotation marks put such cells in quotes.
                let is_guessed = marks.escape.is_some() && !marks.escapes_all;
                if is_guessed && scanner.has_bare_quote(ahead) {
                    return rows;
                }
                ahead = &ahead[used..];
            }
            Scanned::More if ahead.len() <= CUT_ROW_BYTES_MAX => break,
            _ => return rows,
        }
    }
    ALL
}
