//! Reads the rows of a table: their bytes, their cells, and the line of the file where each begins.
//!
//! A row with more or fewer cells than the header, or with a wrong quotation mark, is wrong: its
//! cells would be other texts than its author wrote. Memory is bounded by the size of a row.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use super::dialect::{self, RowOptions};
use super::scan::{Fault, Scanned, Scanner};
use crate::raw::DOCUMENT_BYTES_MAX;

/// Size of the reads.
const READ_BYTES: usize = 256 << 10;

/// Number of bytes inspected to detect the delimiter.
const HEAD_BYTES: usize = 64 << 10;

/// A byte order mark, which some programs write at the beginning of a file.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Maximum number of columns. Memory is needed for the name of each.
const COLUMNS_MAX: usize = 1_000_000;

/// The rows of a table, one by one.
pub struct CsvTable<R> {
    reader: R,
    scanner: Scanner,
    /// Bytes read. The current row begins at `begin` and has `bytes` bytes; the next row begins
    /// `used` bytes behind it.
    buffer: Vec<u8>,
    begin: usize,
    bytes: usize,
    used: usize,
    is_end: bool,
    is_lenient: bool,
    /// If lenient: why reading has ended early. The rows before it come first.
    failed: Option<io::Error>,
    /// The line where the current row begins, counted from 1.
    line: u64,
    /// Offset of the current row.
    byte: u64,
    /// Number of cells of each row; `None` before the first one.
    columns: Option<usize>,
    /// See [`CsvTable::naming`].
    naming: Vec<u8>,
}

/// A row as it stands in the file, without its line end.
pub struct Row<'a> {
    /// The line of the file where the row begins.
    pub line: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The line end behind it; empty at the end of the file.
    pub line_end: &'a [u8],
    /// The cells, or what is wrong.
    pub cells: Result<Cells<'a>, Wrong>,
}

/// Why a row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line of the file with the fault.
    pub line: u64,
    /// The fault.
    pub why: String,
    /// Whether it is the size of the row.
    pub is_too_large: bool,
}

impl Wrong {
    /// Whether the quotation marks or escapes of the row are wrong: where its cells end is unknown.
    pub(crate) fn is_of_quotes(&self) -> bool {
        ["quotation", "escape"].iter().any(|word| self.why.contains(word))
    }
}

/// The cells of a row.
pub struct Cells<'a> {
    scanner: &'a Scanner,
    row: &'a [u8],
}

impl<'a> Cells<'a> {
    /// Number of cells.
    pub fn count(&self) -> usize {
        self.scanner.count()
    }

    /// The text of a cell; empty if there is no such cell.
    pub fn get(&self, place: usize) -> Cow<'a, [u8]> {
        self.scanner.cell(self.row, place)
    }
}

impl<R: Read> CsvTable<R> {
    /// Opens a table; the name determines the delimiter, unless an option does.
    pub fn open(path: &Path, reader: R, options: &RowOptions) -> io::Result<Self> {
        let scanner = options.scanner(path, &[]);
        let (buffer, line) = (Vec::new(), 1);
        let (begin, bytes, used, byte) = (0, 0, 0, 0);
        let (is_end, is_lenient, columns) = (false, options.lenient, None);
        let naming = Vec::new();
        let mut table = Self {
            reader,
            scanner,
            buffer,
            begin,
            bytes,
            used,
            is_end,
            is_lenient,
            failed: None,
            line,
            byte,
            columns,
            naming,
        };
        while !table.is_end && table.buffer.len() < HEAD_BYTES && !table.has_line() {
            table.fill()?;
        }
        let head = table.buffer.strip_prefix(MARK).unwrap_or(&table.buffer);
        let mark_bytes = table.buffer.len() - head.len();
        if let Some((delimiter, bytes)) = named_delimiter(head) {
            let given = options.delimiter.or(Some(delimiter));
            table.scanner = RowOptions { delimiter: given, ..options.clone() }.scanner(path, head);
            table.naming = head[..bytes].to_vec();
            table.used = mark_bytes + bytes;
        } else {
            table.scanner = options.scanner(path, head);
        }
        Ok(table)
    }

    /// The first line with its line end, if it only names the delimiter.
    pub(crate) fn naming(&self) -> &[u8] {
        &self.naming
    }

    fn has_line(&self) -> bool {
        memchr::memchr2(b'\n', b'\r', &self.buffer).is_some()
    }

    /// What separates the columns.
    pub(crate) fn delimiter(&self) -> u8 {
        self.scanner.marks.delimiter
    }

    /// The line where the next row begins, counted from 1.
    pub fn next_line(&self) -> u64 {
        self.line + line_ends(&self.buffer[self.begin..self.begin + self.used])
    }

    /// Offset of the next row.
    pub fn next_byte(&self) -> u64 {
        self.byte + self.used as u64
    }

    /// The bytes read ahead, behind the current row.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.buffer[self.begin + self.used..]
    }

    /// The next row that is not blank. Returns `None` at the end of the table. Behind a wrong row,
    /// reading continues on the next line.
    pub fn row(&mut self) -> io::Result<Option<Row<'_>>> {
        let wrong = loop {
            self.pass();
            self.scanner.begin();
            let found = self.find()?;
            if let Some(error) = self.cut(&found) {
                return Err(error);
            }
            match found {
                Scanned::Row { bytes, used } => {
                    (self.bytes, self.used) = (bytes, used);
                    match self.scanner.count() {
                        0 if self.is_end && self.ahead().is_empty() => {
                            self.pass();
                            return Ok(None);
                        }
                        0 => {}
                        count => break self.wrong_count(count),
                    }
                }
                Scanned::Wrong { fault, at } => break Some(self.wrong_quote(fault, at)?),
                Scanned::More | Scanned::Doubt(_) => break Some(self.too_large()?),
            }
        };
        let row = &self.buffer[self.begin..self.begin + self.used];
        let (bytes, line_end) = row.split_at(self.bytes);
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        let cells = match wrong {
            Some(wrong) => Err(wrong),
            None => Ok(Cells { scanner: &self.scanner, row: bytes }),
        };
        Ok(Some(Row { line: self.line, bytes, line_end, cells }))
    }

    /// The error that ended reading, if it has cut this row: the row has no end then.
    fn cut(&mut self, found: &Scanned) -> Option<io::Error> {
        let is_cut = match found {
            Scanned::Row { bytes, used } => bytes == used,
            Scanned::Wrong { fault, .. } => *fault == Fault::Unclosed,
            Scanned::More | Scanned::Doubt(_) => true,
        };
        self.failed.take_if(|_| is_cut)
    }

    /// Passes the current row.
    fn pass(&mut self) {
        self.line = self.next_line();
        self.byte = self.next_byte();
        self.begin += self.used;
        (self.bytes, self.used) = (0, 0);
    }

    /// Scans the row at `begin`. The result is [`Scanned::More`] if it is too large.
    fn find(&mut self) -> io::Result<Scanned> {
        while !self.is_end && self.buffer.len() - self.begin < MARK.len() {
            self.fill()?;
        }
        loop {
            let row = &self.buffer[self.begin..];
            let mark_bytes = if row.starts_with(MARK) { MARK.len() } else { 0 };
            let found = match self.scanner.scan(&row[mark_bytes..], self.is_end) {
                Scanned::Row { bytes, used } => {
                    Scanned::Row { bytes: mark_bytes + bytes, used: mark_bytes + used }
                }
                Scanned::Wrong { fault, at } => Scanned::Wrong { fault, at: mark_bytes + at },
                found => found,
            };
            match found {
                Scanned::Row { bytes, .. } if bytes > DOCUMENT_BYTES_MAX => {
                    return Ok(Scanned::More);
                }
                Scanned::More if row.len() > DOCUMENT_BYTES_MAX => return Ok(Scanned::More),
                Scanned::More => self.fill()?,
                Scanned::Doubt(doubt) => {
                    let until = self.begin + dialect::AHEAD_BYTES;
                    while !self.is_end && self.buffer.len() < until {
                        self.fill()?;
                    }
                    let ahead = &self.buffer[self.begin + mark_bytes..];
                    let ahead = &ahead[..ahead.len().min(dialect::AHEAD_BYTES)];
                    let is_end = self.is_end && self.buffer.len() <= until;
                    dialect::decide(doubt, &mut self.scanner, ahead, (self.columns, is_end));
                    self.scanner.begin();
                }
                found => return Ok(found),
            }
        }
    }

    /// Reads more bytes.
    fn fill(&mut self) -> io::Result<()> {
        if self.begin > 0 {
            self.buffer.drain(..self.begin);
            self.begin = 0;
        }
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        match read {
            Err(error) if self.is_lenient => {
                (self.is_end, self.failed) = (true, Some(error));
                Ok(())
            }
            read => {
                self.is_end = read? == 0;
                Ok(())
            }
        }
    }

    /// Compares the number of cells of a row with that of the header.
    fn wrong_count(&mut self, count: usize) -> Option<Wrong> {
        let line = self.line;
        let wrong = |why| Some(Wrong { line, why, is_too_large: false });
        if count > COLUMNS_MAX {
            return wrong(format!("more than {COLUMNS_MAX} columns"));
        }
        let expected = *self.columns.get_or_insert(count);
        if count == expected {
            return None;
        }
        let fields = if count == 1 { "field" } else { "fields" };
        wrong(format!("{count} {fields}, but the first row has {expected}"))
    }

    fn wrong_quote(&mut self, fault: Fault, at: usize) -> io::Result<Wrong> {
        let line = self.line + line_ends(&self.buffer[self.begin..self.begin + at]);
        self.end_at_line_end()?;
        let why = match fault {
            Fault::Unclosed => "a quotation mark is never closed",
            Fault::BehindQuote => "text behind a closing quotation mark",
            Fault::UnknownEscape => "an escape before a character that needs none",
        };
        Ok(Wrong { line, why: why.to_owned(), is_too_large: false })
    }

    fn too_large(&mut self) -> io::Result<Wrong> {
        let line = self.line;
        // Without --lenient, this row ends the run: the rest of it need not be read.
        if self.is_lenient {
            self.end_at_line_end()?;
        }
        let why = "a row of more than 64 MiB: is a quotation mark never closed?".to_owned();
        Ok(Wrong { line, why, is_too_large: true })
    }

    /// Ends a wrong row at its first line end. If that is too far, the rest of the line is passed
    /// over without holding it in memory.
    fn end_at_line_end(&mut self) -> io::Result<()> {
        let (mut searched, mut is_discarded) = (0, false);
        loop {
            let row = &self.buffer[self.begin..];
            let end = memchr::memchr2(b'\n', b'\r', &row[searched..]).map(|at| searched + at);
            let is_whole = end.is_some_and(|end| end + 1 < row.len());
            if is_whole || self.is_end {
                self.bytes = end.unwrap_or(row.len());
                let line_end = &row[self.bytes..];
                let is_pair = line_end.starts_with(b"\r\n");
                self.used = self.bytes + if is_pair { 2 } else { line_end.len().min(1) };
                return Ok(());
            }
            searched = end.unwrap_or(row.len());
            is_discarded |= row.len() > DOCUMENT_BYTES_MAX;
            if end.is_none() && is_discarded {
                self.byte += row.len() as u64;
                self.buffer.clear();
                (self.begin, searched) = (0, 0);
            }
            self.fill()?;
        }
    }
}

/// The delimiter that a first line such as `sep=;` names, as Excel reads and writes it, and the
/// number of bytes of that line.
fn named_delimiter(head: &[u8]) -> Option<(u8, usize)> {
    let end = memchr::memchr2(b'\n', b'\r', head)?;
    let line = head[..end].to_ascii_lowercase();
    let bare = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(&line);
    let [delimiter] = *bare.strip_prefix(b"sep=")? else { return None };
    let is_pair = head[end..].starts_with(b"\r\n");
    Some((delimiter, end + if is_pair { 2 } else { 1 }))
}

/// Counts line ends: LF, CR LF and CR.
fn line_ends(bytes: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', bytes).count();
    let is_alone = |at: &usize| bytes.get(at + 1) != Some(&b'\n');
    (feeds + memchr::memchr_iter(b'\r', bytes).filter(is_alone).count()) as u64
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
