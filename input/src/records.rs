//! Reads documents from a file of JSON lines, a table or a Parquet file, one after the other, with
//! the line of the file where each begins.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

use super::lines::Lines;
use super::source;
use super::source::{RowOptions, Source, TableRows, Wanted, Wrong};
use crate::Error;
use crate::raw::{Origin, Raw, Reason, has_line};

/// An open file of documents.
pub struct Records {
    rows: RecordRows,
    /// For messages: the file name, or "stdin".
    name: Arc<str>,
    /// Index of the file in the input.
    file: u32,
    is_lenient: bool,
    /// The last line of JSON that could not be read.
    wrong_line: Bytes,
    end: DamagedEnd,
}

/// Whether reading has ended where a file is damaged, which is possible with `--lenient`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DamagedEnd {
    No,
    /// The last call of [`Records::next`] returned the reason.
    Named,
    /// It was named before the last call.
    Passed,
}

enum RecordRows {
    /// The file cannot be opened, and this is why.
    None(Option<Error>),
    Lines(Lines),
    Table {
        rows: Box<TableRows>,
        /// The position before the last call of [`Records::next`].
        before: (u64, u64),
        /// Stored (possibly compressed) bytes read so far.
        taken: Arc<AtomicU64>,
        ends_ahead: Option<Arc<AtomicUsize>>,
    },
}

impl Records {
    /// Opens a file at a position that an earlier run has reached: `number` lines and `at` bytes of
    /// the uncompressed file. With `--lenient`, a file that is damaged where it begins has one
    /// document: the reason.
    pub fn open_at(
        path: &Path,
        how: (&RowOptions, Option<&Wanted>),
        place: (u64, u64),
    ) -> Result<Self, Error> {
        match Self::open_sound(path, how, place) {
            Err(error) if how.0.lenient && error.damage().is_some() => {
                let name = path.display().to_string();
                Ok(Self::new(&name, RecordRows::None(Some(error)), true))
            }
            opened => opened,
        }
    }

    fn new(name: &str, rows: RecordRows, is_lenient: bool) -> Self {
        let (wrong_line, end) = (Bytes::new(), DamagedEnd::No);
        Self { rows, name: name.into(), file: 0, is_lenient, wrong_line, end }
    }

    fn open_sound(
        path: &Path,
        (options, wanted): (&RowOptions, Option<&Wanted>),
        (number, at): (u64, u64),
    ) -> Result<Self, Error> {
        let is_table = options.is_table(path);
        let records = |name: &str, rows| Self::new(name, rows, options.lenient);
        if !is_table {
            let source = source::open_at(path, wanted, at)?;
            if let Some(collection) = source.collection {
                let message = format!("cannot read {}: it is {}", source.name, collection.what());
                return Err(Error::new(message, collection.split()).of_wrong_input());
            }
            return Ok(records(
                &source.name.clone(),
                RecordRows::Lines(Lines::from_source(source, (number, at))),
            ));
        }
        let source = source::open(path, wanted)?;
        let Source { name, reader, taken, has_mark, ends_ahead, .. } = source;
        let mut rows = TableRows::open(path, (reader, has_mark), options, wanted)?;
        // What a row means may depend on those before it, so they are read again.
        while rows.next_byte() < at {
            if rows.next().map_err(|error| failed(&name, rows.next_line(), &error))?.is_none() {
                return Err(source::has_shrunk(path, at));
            }
        }
        let (rows, before) = (Box::new(rows), (number, at));
        Ok(records(&name, RecordRows::Table { rows, before, taken, ends_ahead }))
    }

    /// Opens a file at its beginning.
    pub fn open(path: &Path, options: &RowOptions, wanted: Option<&Wanted>) -> Result<Self, Error> {
        Self::open_at(path, (options, wanted), (0, 0))
    }

    /// Documents of lines that are open already.
    pub fn from_lines(lines: Lines) -> Self {
        let name = lines.name();
        Self::new(&name, RecordRows::Lines(lines), false)
    }

    /// Changes the name used in messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        if let RecordRows::Lines(lines) = self.rows {
            self.rows = RecordRows::Lines(lines.named(name));
        }
        self
    }

    /// Sets the index of the file in the input.
    #[must_use]
    pub fn of_file(mut self, file: u32) -> Self {
        self.file = file;
        if let RecordRows::Lines(lines) = self.rows {
            self.rows = RecordRows::Lines(lines.of_file(file));
        }
        self
    }

    /// The next document. A row that cannot be read is an error, or with `--lenient` a reason. A
    /// line of JSON that cannot be read is always a reason, unless it is not UTF-8. Where a file is
    /// damaged, reading ends with an error, or with `--lenient` with a reason for the whole rest,
    /// [`Reason::Damaged`].
    pub fn next(&mut self) -> Result<Option<Raw>, Error> {
        if self.end != DamagedEnd::No {
            self.end = DamagedEnd::Passed;
            return Ok(None);
        }
        match self.next_row() {
            Err(error) if self.is_lenient => {
                let Some(what) = error.damage().map(str::to_owned) else { return Err(error) };
                let number = self.before().0 + 1;
                self.end = DamagedEnd::Named;
                Ok(Some(self.raw(number, Err(Reason::Damaged(what)))))
            }
            next => next,
        }
    }

    fn next_row(&mut self) -> Result<Option<Raw>, Error> {
        let (number, wrong) = match &mut self.rows {
            RecordRows::None(error) => return error.take().map_or(Ok(None), Err),
            RecordRows::Lines(lines) => {
                let Some(raw) = lines.next()? else { return Ok(None) };
                let Raw { origin: Origin::Line { number, .. }, body: Ok(line) } = &raw else {
                    return Ok(Some(raw));
                };
                if std::str::from_utf8(line).is_ok() {
                    return Ok(Some(raw));
                }
                self.wrong_line = line.clone();
                let why = source::not_utf_8(line);
                (*number, Wrong { line: *number, why, is_too_large: false })
            }
            RecordRows::Table { rows, before, .. } => {
                *before = position_in(rows);
                let next = rows.next();
                let next = next.map_err(|error| failed(&self.name, rows.next_line(), &error))?;
                let Some(row) = next else { return Ok(None) };
                match row.object {
                    Ok(object) => return Ok(Some(self.raw(row.line, Ok(object)))),
                    Err(wrong) => (row.line, wrong),
                }
            }
        };
        if !self.is_lenient {
            return Err(source::wrong_row(&self.name, &wrong));
        }
        let reason = if wrong.is_too_large { Reason::TooLarge } else { Reason::BadLine(wrong.why) };
        Ok(Some(self.raw(number, Err(reason))))
    }

    fn raw(&self, number: u64, body: Result<Bytes, Reason>) -> Raw {
        let (file, file_number) = (Arc::clone(&self.name), self.file);
        Raw { origin: Origin::Line { file, file_number, number, at: None }, body }
    }

    /// Whether the file is damaged, and reading has ended there. Its position says nothing then.
    pub fn has_ended_early(&self) -> bool {
        self.end != DamagedEnd::No
    }

    /// Whether this was so before the last call of [`Records::next`].
    pub fn had_ended_early(&self) -> bool {
        self.end == DamagedEnd::Passed
    }

    /// The bytes of the last document, if [`Records::next`] returned a reason for it.
    pub fn wrong(&self) -> &[u8] {
        match &self.rows {
            RecordRows::None(_) | RecordRows::Lines(_) => &self.wrong_line,
            RecordRows::Table { rows, .. } => rows.wrong_row(),
        }
    }

    /// Lines and uncompressed bytes of the file read so far, including blank lines.
    pub fn position(&self) -> (u64, u64) {
        match &self.rows {
            RecordRows::None(_) => (0, 0),
            RecordRows::Lines(lines) => lines.position(),
            RecordRows::Table { rows, .. } => position_in(rows),
        }
    }

    /// The position before the last call of [`Records::next`].
    pub fn before(&self) -> (u64, u64) {
        match &self.rows {
            RecordRows::None(_) => (0, 0),
            RecordRows::Lines(lines) => lines.before(),
            RecordRows::Table { before, .. } => *before,
        }
    }

    /// Stored (possibly compressed) bytes read so far.
    pub fn bytes_taken(&self) -> u64 {
        match &self.rows {
            RecordRows::None(_) => 0,
            RecordRows::Lines(lines) => lines.bytes_taken(),
            RecordRows::Table { taken, .. } => taken.load(Ordering::Relaxed),
        }
    }

    /// Whether no complete line is buffered, so that reading the next one may block.
    pub fn would_wait(&self) -> bool {
        match &self.rows {
            RecordRows::None(_) => false,
            RecordRows::Lines(lines) => lines.would_wait(),
            RecordRows::Table { rows, ends_ahead, .. } => {
                let none_ahead = |ahead: &Arc<AtomicUsize>| ahead.load(Ordering::Relaxed) == 0;
                !has_line(rows.ahead()) && ends_ahead.as_ref().is_none_or(none_ahead)
            }
        }
    }
}

fn position_in(rows: &TableRows) -> (u64, u64) {
    (rows.next_line() - 1, rows.next_byte())
}

fn failed(name: &str, line: u64, error: &io::Error) -> Error {
    Error::damaged(name, Some(line - 1), error)
}
