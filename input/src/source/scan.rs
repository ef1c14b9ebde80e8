//! Finds the end of a row and of its cells in the bytes of a table, strictly: a quotation mark that
//! is not closed, or text behind a closing one, is an error.
//!
//! Pure: works on bytes only. Scanning can be continued when more bytes have been read.

use std::borrow::Cow;

/// The characters with a meaning in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) delimiter: u8,
    /// `None`: quotation marks are text.
    pub(super) quote: Option<u8>,
    /// The character that takes away the meaning of the next one. A doubled quotation mark within
    /// quotation marks always stands for one.
    pub(super) escape: Option<u8>,
    /// Whether `escape` works outside of quotation marks, too, and before delimiters and line ends.
    /// Before any other character it is then an error: `\n` has no agreed meaning.
    pub(super) escapes_all: bool,
}

impl Marks {
    /// Whether an escape before this character takes away its meaning.
    fn is_escapable(self, byte: u8) -> bool {
        let in_quotes = Some(byte) == self.quote || Some(byte) == self.escape;
        let elsewhere = [self.delimiter, b'"', b'\n', b'\r'];
        in_quotes || (self.escapes_all && elsewhere.contains(&byte))
    }
}

/// A cell: a range of bytes in its row, with its quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    begin: usize,
    end: usize,
    is_quoted: bool,
    /// Whether the cell holds doubled quotation marks or escapes.
    is_escaped: bool,
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The quotation mark is never closed.
    Unclosed,
    /// Text follows the closing quotation mark.
    BehindQuote,
    /// The escape character stands before one that needs none.
    UnknownEscape,
}

/// A situation that a table may mean in two ways, until one of them is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A cell begins with a quotation mark.
    Quote,
    /// A backslash stands before a quotation mark, within quotation marks.
    Escape,
}

/// The result of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The row has not ended.
    More,
    /// A row of `bytes` bytes; `used` includes its line end.
    Row {
        bytes: usize,
        used: usize,
    },
    /// The row is wrong, because of the byte at `at`.
    Wrong {
        fault: Fault,
        at: usize,
    },
    Doubt(Doubt),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the first byte of a cell.
    Begin,
    Plain,
    Quoted,
}

/// Scans one row after the other.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) marks: Marks,
    /// Situations to report, because no meaning has been chosen.
    pub(super) doubts_quote: bool,
    pub(super) doubts_escape: bool,
    state: ScanState,
    /// The next byte to look at.
    at: usize,
    /// The cell at `at`.
    cell: Cell,
    cells: Vec<Cell>,
}

const NO_CELL: Cell = Cell { begin: 0, end: 0, is_quoted: false, is_escaped: false };

impl Scanner {
    pub(super) fn new(marks: Marks) -> Self {
        let (doubts_quote, doubts_escape, cells) = (false, false, Vec::new());
        let (state, at, cell) = (ScanState::Begin, 0, NO_CELL);
        Self { marks, doubts_quote, doubts_escape, state, at, cell, cells }
    }

    /// Begins a row.
    pub(super) fn begin(&mut self) {
        (self.state, self.at, self.cell) = (ScanState::Begin, 0, NO_CELL);
        self.cells.clear();
    }

    /// Continues with a row, given all of its bytes read so far, and what follows them. `is_end`:
    /// nothing follows.
    pub(super) fn scan(&mut self, row: &[u8], is_end: bool) -> Scanned {
        loop {
            let Some(&byte) = row.get(self.at) else {
                return if is_end { self.at_end() } else { Scanned::More };
            };
            let found = match self.state {
                ScanState::Begin => self.begin_cell(byte),
                ScanState::Plain => self.plain(row, is_end),
                ScanState::Quoted => self.quoted(row, is_end),
            };
            if let Some(found) = found {
                return found;
            }
        }
    }

    fn at_end(&mut self) -> Scanned {
        if self.state == ScanState::Quoted {
            return Scanned::Wrong { fault: Fault::Unclosed, at: self.cell.begin };
        }
        if self.at > 0 {
            self.end_cell(self.at);
        }
        Scanned::Row { bytes: self.at, used: self.at }
    }

    fn begin_cell(&mut self, byte: u8) -> Option<Scanned> {
        self.cell = Cell { begin: self.at, ..NO_CELL };
        if self.marks.quote != Some(byte) {
            self.state = ScanState::Plain;
            return None;
        }
        if self.doubts_quote {
            return Some(Scanned::Doubt(Doubt::Quote));
        }
        self.cell.is_quoted = true;
        self.at += 1;
        self.state = ScanState::Quoted;
        None
    }

    /// Goes to the end of a cell without quotation marks.
    fn plain(&mut self, row: &[u8], is_end: bool) -> Option<Scanned> {
        let Marks { delimiter, escape, escapes_all, .. } = self.marks;
        let rest = &row[self.at..];
        let end = memchr::memchr3(delimiter, b'\n', b'\r', rest);
        let escape = escape.filter(|_| escapes_all);
        if let Some(escape) = escape
            && let Some(at) = memchr::memchr(escape, &rest[..end.unwrap_or(rest.len())])
        {
            let begin = self.at + at;
            if begin + 1 == row.len() && !is_end {
                self.at = begin;
                return Some(Scanned::More);
            }
            return self.escaped(row, begin);
        }
        self.at += end.unwrap_or(rest.len());
        end.and_then(|_| self.end_of_cell(row, is_end))
    }

    /// Goes to the closing quotation mark and past it.
    fn quoted(&mut self, row: &[u8], is_end: bool) -> Option<Scanned> {
        let quote = self.marks.quote.unwrap_or(b'"');
        let escape = self.marks.escape.filter(|escape| *escape != quote);
        let rest = &row[self.at..];
        let found = match escape {
            None => memchr::memchr(quote, rest),
            Some(escape) => memchr::memchr2(quote, escape, rest),
        };
        let Some(found) = found else {
            self.at = row.len();
            return None;
        };
        self.at += found;
        let next = row.get(self.at + 1).copied();
        if next.is_none() && !is_end {
            return Some(Scanned::More);
        }
        if Some(row[self.at]) == escape {
            return self.escaped(row, self.at);
        }
        let is_escaped = self.at > self.cell.begin + 1 && row[self.at - 1] == b'\\';
        if self.doubts_escape && is_escaped {
            return Some(Scanned::Doubt(Doubt::Escape));
        }
        if next == Some(quote) {
            self.cell.is_escaped = true;
            self.at += 2;
            return None;
        }
        let delimiter = self.marks.delimiter;
        if next.is_some_and(|next| next != delimiter && next != b'\n' && next != b'\r') {
            return Some(Scanned::Wrong { fault: Fault::BehindQuote, at: self.at + 1 });
        }
        self.at += 1;
        self.state = ScanState::Plain;
        next?;
        self.end_of_cell(row, is_end)
    }

    /// Passes the escape at `at`, and the character behind it.
    fn escaped(&mut self, row: &[u8], at: usize) -> Option<Scanned> {
        let next = row.get(at + 1).copied();
        if next.is_some_and(|next| self.marks.is_escapable(next)) {
            self.cell.is_escaped = true;
        } else if self.marks.escapes_all {
            return Some(Scanned::Wrong { fault: Fault::UnknownEscape, at });
        }
        self.at = row.len().min(at + 2);
        None
    }

    /// Ends the cell before a delimiter or a line end, which is at `self.at`.
    fn end_of_cell(&mut self, row: &[u8], is_end: bool) -> Option<Scanned> {
        let at = self.at;
        let line_end = match row[at] {
            b'\n' => 1,
            b'\r' => match row.get(at + 1) {
                None if !is_end => return Some(Scanned::More),
                Some(b'\n') => 2,
                _ => 1,
            },
            _ => {
                self.end_cell(at);
                self.at += 1;
                (self.state, self.cell) = (ScanState::Begin, Cell { begin: at + 1, ..NO_CELL });
                return None;
            }
        };
        if at > 0 {
            self.end_cell(at);
        }
        Some(Scanned::Row { bytes: at, used: at + line_end })
    }

    fn end_cell(&mut self, end: usize) {
        self.cell.end = end;
        self.cells.push(self.cell);
    }

    /// The number of cells of the row; 0 if it is blank.
    pub(super) fn count(&self) -> usize {
        self.cells.len()
    }

    /// Whether a cell without quotation marks around it has one within.
    pub(super) fn has_bare_quote(&self, row: &[u8]) -> bool {
        let Some(quote) = self.marks.quote else { return false };
        let bare = self.cells.iter().filter(|cell| !cell.is_quoted);
        bare.map(|cell| &row[cell.begin..cell.end])
            .any(|cell| memchr::memchr(quote, cell).is_some())
    }

    /// The text of a cell; empty if there is no such cell.
    pub(super) fn cell<'a>(&self, row: &'a [u8], place: usize) -> Cow<'a, [u8]> {
        let Some(cell) = self.cells.get(place) else { return Cow::Borrowed(&[]) };
        let cut = usize::from(cell.is_quoted);
        let text = &row[cell.begin + cut..cell.end - cut];
        if !cell.is_escaped {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.unescaped(text, cell.is_quoted))
    }

    fn unescaped(&self, text: &[u8], is_quoted: bool) -> Vec<u8> {
        let Marks { quote, escape, .. } = self.marks;
        let mut plain = Vec::with_capacity(text.len());
        let mut rest = text.iter();
        while let Some(&byte) = rest.next() {
            let next = rest.as_slice().first().copied();
            let is_escape =
                Some(byte) == escape && next.is_some_and(|next| self.marks.is_escapable(next));
            let is_doubled = is_quoted && Some(byte) == quote && next == quote;
            plain.push(if is_escape || is_doubled { *rest.next().unwrap_or(&byte) } else { byte });
        }
        plain
    }
}
