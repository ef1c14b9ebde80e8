//! The input named on the command line: files and folders, JSON lines, or tables.
//!
//! This module chooses the kind of input and reads documents one by one. It does not know what is
//! done with them.

use std::path::PathBuf;
use std::vec;

use bytes::Bytes;
use nearkin::{Params, Scheme, Shingles};
use serde::{Deserialize, Serialize};

use super::shards;
use crate::failure::Failure;
use crate::output::progress::{Progress, Unit};
use crate::output::{self, counted};
use nearkin_input::Error;
use nearkin_input::fields::Fields;
use nearkin_input::files;
use nearkin_input::files::Files;
#[cfg(test)]
use nearkin_input::lines::Lines;
use nearkin_input::members;
use nearkin_input::raw::{self, Origin, Raw};
use nearkin_input::records::Records;
use nearkin_input::sets::Sets;
use nearkin_input::source::{RowOptions, Wanted};

/// A sequence of documents from one of several kinds of input.
pub enum Input {
    /// The given files, and all files in the given folders. Keys are normalised paths.
    Walk(Files),
    /// The given files. Their names are used as given, without normalising.
    Named {
        /// The files not yet read.
        files: vec::IntoIter<PathBuf>,
        /// Number of files read.
        read: u64,
    },
    /// Files chosen and read by the caller.
    Listed {
        /// The documents not yet taken.
        raws: Box<dyn Iterator<Item = Raw>>,
        /// Number of documents.
        total: u64,
        /// Number of documents taken.
        read: u64,
    },
    /// JSON lines.
    Lines(LineFiles),
    /// Sets grouped from the rows of a table.
    Sets(Sets),
}

/// Files of JSON lines, read one after the other.
pub struct LineFiles {
    files: Vec<PathBuf>,
    options: RowOptions,
    /// The columns to read from tables and Parquet files; `None`: all readable columns.
    wanted: Option<Wanted>,
    /// A copy of stdin, which is read instead of stdin.
    stdin_copy: Option<PathBuf>,
    /// Where the next file is opened; with `records`, the number of the open file.
    opened_at: Position,
    records: Option<Records>,
    /// Total size of all files as stored: a compressed file counts with its compressed size. `None`
    /// if unknown, as for stdin.
    bytes: Option<u64>,
    /// Total size, as stored, of the files that have been read to the end.
    bytes_done: u64,
}

/// A position in a list of line files; all fields count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file in the list.
    pub file: usize,
    /// The line in the file.
    pub line: u64,
    /// Byte offset in the uncompressed lines.
    pub byte: u64,
}

impl LineFiles {
    /// Fails if one of the files does not exist. A folder stands for the files of rows in it.
    pub fn new(files: &[PathBuf], options: RowOptions) -> Result<Self, Failure> {
        let files = shards::expand(files)?;
        let mut bytes = Some(0);
        for path in &files {
            bytes = bytes.zip(files::length(path)?).map(|(sum, length)| sum + length);
        }
        let (wanted, stdin_copy, records) = (None, None, None);
        let (opened_at, bytes_done) = (Position::default(), 0);
        Ok(Self { files, options, wanted, stdin_copy, opened_at, records, bytes, bytes_done })
    }

    /// Reads `copy` wherever the files name stdin.
    #[must_use]
    pub fn with_stdin_in(mut self, copy: PathBuf) -> Self {
        self.stdin_copy = Some(copy);
        self
    }

    /// Checks that tables and Parquet files have these columns, and reads no others if it says so.
    #[must_use]
    pub fn with_columns(mut self, wanted: Wanted) -> Self {
        self.wanted = Some(wanted);
        self
    }

    /// The file that is being read.
    pub fn records(&self) -> Option<&Records> {
        self.records.as_ref()
    }

    /// The next document.
    pub fn next(&mut self) -> Result<Option<Raw>, Failure> {
        loop {
            if let Some(records) = &mut self.records {
                if let Some(raw) = records.next().map_err(advised)? {
                    return Ok(Some(raw));
                }
                // The last file stays open, because the position is that of its end.
                if self.opened_at.file + 1 >= self.files.len() {
                    return Ok(None);
                }
                self.bytes_done += records.bytes_taken();
                self.records = None;
                self.opened_at = Position { file: self.opened_at.file + 1, line: 0, byte: 0 };
            }
            let Position { file, line, byte } = self.opened_at;
            let Some(path) = self.files.get(file) else { return Ok(None) };
            let how = (&self.options, self.wanted.as_ref());
            let records = match &self.stdin_copy {
                Some(copy) if path.as_os_str() == raw::STDIN => {
                    Records::open_at(copy, how, (line, byte))
                        .map(|records| records.named("stdin"))
                        .map_err(|error| error.with_name(copy, "stdin"))
                }
                _ => Records::open_at(path, how, (line, byte)),
            };
            let records = records.map_err(advised)?;
            self.records = Some(records.of_file(u32::try_from(file).unwrap_or(u32::MAX)));
        }
    }

    /// Total size of all files, if known.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Stored bytes read so far, over all files.
    pub fn bytes_taken(&self) -> u64 {
        self.bytes_done + self.records.as_ref().map_or(0, Records::bytes_taken)
    }

    /// Position of the next line.
    pub fn position(&self) -> Position {
        let Some(records) = &self.records else { return self.opened_at };
        if records.has_ended_early() { self.next_file() } else { self.in_file(records.position()) }
    }

    /// Position before the last call of [`LineFiles::next`], for reading its line again: after a
    /// failed call, [`LineFiles::position`] may lie within a line.
    fn before(&self) -> Position {
        let Some(records) = &self.records else { return self.opened_at };
        if records.had_ended_early() { self.next_file() } else { self.in_file(records.before()) }
    }

    /// The beginning of the file after the open one: where a run goes on behind a damaged file.
    fn next_file(&self) -> Position {
        Position { file: self.opened_at.file + 1, line: 0, byte: 0 }
    }

    /// A position in the open file.
    fn in_file(&self, (line, byte): (u64, u64)) -> Position {
        Position { file: self.opened_at.file, line, byte }
    }

    /// Continues at a position that an earlier run over the same files has reached.
    pub fn go_to(&mut self, position: Position) -> Result<(), Failure> {
        self.records = None;
        self.opened_at = position;
        self.bytes_done = 0;
        for path in self.files.iter().take(position.file) {
            self.bytes_done += files::length(path)?.unwrap_or(0);
        }
        Ok(())
    }
}

/// The failure for an error of reading; for a damaged file, with the option that goes on.
pub(crate) fn advised(error: Error) -> Failure {
    let is_damaged = error.damage().is_some();
    let failure = Failure::from(error);
    if !is_damaged {
        return failure;
    }
    let advice = match failure.advice() {
        "" => "restore the file".to_owned(),
        advice => advice.to_owned(),
    };
    failure.advise(&format!("{advice}, or take what can be read of such files: --lenient"))
}

impl Input {
    /// The given files, with their names as given.
    pub fn named(files: Vec<PathBuf>) -> Self {
        Self::Named { files: files.into_iter(), read: 0 }
    }

    /// The given files, or all documents of files and folders if one of the paths is a folder or
    /// holds many documents.
    pub fn files_or_folders(paths: &[PathBuf], archives: bool) -> Result<Self, Failure> {
        let is_many = |path: &PathBuf| path.is_dir() || members::are_in(path, archives);
        if archives || paths.iter().any(is_many) {
            return Ok(Self::Walk(Files::new(paths.to_vec())?.archives(archives)?));
        }
        Ok(Self::named(paths.to_vec()))
    }

    /// JSON lines of some files; fails if one of them does not exist.
    pub fn lines(paths: &[PathBuf], options: RowOptions) -> Result<Self, Failure> {
        LineFiles::new(paths, options).map(Self::Lines)
    }

    /// If the input is lines: reads only these fields from tables and Parquet files.
    #[must_use]
    pub fn of_fields(mut self, fields: &Fields) -> Self {
        if let Self::Lines(lines) = &mut self {
            lines.wanted = Some(fields.wanted());
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn from_lines(lines: Lines) -> Self {
        let (options, opened_at) = (RowOptions::default(), Position::default());
        let (wanted, stdin_copy, bytes) = (None, None, None);
        let (files, bytes_done, records) = (Vec::new(), 0, Some(Records::from_lines(lines)));
        Self::Lines(LineFiles {
            files,
            options,
            wanted,
            stdin_copy,
            opened_at,
            records,
            bytes,
            bytes_done,
        })
    }

    /// The next document.
    pub fn next(&mut self) -> Result<Option<Raw>, Failure> {
        match self {
            Self::Walk(files) => Ok(files.next()),
            Self::Listed { raws, read, .. } => {
                *read += 1;
                Ok(raws.next())
            }
            Self::Lines(lines) => lines.next(),
            Self::Sets(sets) => Ok(sets.next()?.map(|(key, body)| Raw {
                origin: Origin::Set { key },
                body: body.map(Bytes::from),
            })),
            Self::Named { files, read } => {
                *read += 1;
                Ok(files.next().map(|path| Raw {
                    body: files::read_or_stdin(&path).map(Bytes::from),
                    origin: Origin::File {
                        name: path.as_os_str().as_encoded_bytes().to_vec(),
                        path,
                    },
                }))
            }
        }
    }

    /// Position of the next line; `None` if the input is not lines.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Lines(lines) => Some(lines.position()),
            _ => None,
        }
    }

    /// Position before the last call of [`Input::next`]; `None` if the input is not lines.
    pub fn before(&self) -> Option<Position> {
        match self {
            Self::Lines(lines) => Some(lines.before()),
            _ => None,
        }
    }

    /// Whether [`Input::would_wait`] can ever be true: pipes can block for long, regular files
    /// cannot.
    pub(crate) fn may_wait(&self) -> bool {
        // The size is known only if all inputs are regular files.
        matches!(self, Self::Lines(lines) if lines.bytes.is_none())
    }

    /// Whether reading the next document may block.
    pub(crate) fn would_wait(&self) -> bool {
        match self {
            Self::Lines(LineFiles { records, bytes: None, .. }) => {
                records.as_ref().is_none_or(Records::would_wait)
            }
            _ => false,
        }
    }

    /// The unit that [`Input::reached`] counts in, and the total number of units. For folders, the
    /// total takes an extra walk, so it is only computed if a progress bar shows it.
    pub fn size(&self) -> (Unit, Option<u64>) {
        match self {
            Self::Walk(files) => (Unit::Documents, Progress::is_visible().then(|| files.count())),
            Self::Named { files, .. } => (Unit::Documents, Some(files.len() as u64)),
            Self::Listed { total, .. } => (Unit::Documents, Some(*total)),
            Self::Lines(lines) => (Unit::Bytes, lines.bytes),
            Self::Sets(_) => (Unit::Documents, None),
        }
    }

    /// Prints a note if hidden names in the given folders were left out.
    pub fn note_left_out(&self) {
        let Self::Walk(files) = self else { return };
        let names = counted(files.hidden_left_out(), "hidden name");
        if files.hidden_left_out() > 0 {
            output::note(format!("left out {names} (--hidden includes them)"));
        }
    }

    /// Units read so far.
    pub fn reached(&self) -> u64 {
        match self {
            Self::Walk(files) => files.files_read(),
            Self::Named { read, .. } | Self::Listed { read, .. } => *read,
            Self::Lines(lines) => lines.bytes_taken(),
            Self::Sets(sets) => sets.returned(),
        }
    }
}

/// Fails if the input is sets from a table but the index holds texts or external signatures.
pub fn check_takes_sets(params: &Params) -> Result<(), Failure> {
    if params.shingles() == Shingles::Items && !matches!(params.scheme(), Scheme::External(_)) {
        return Ok(());
    }
    Err(Failure::new(
        "--transactions gives sets of items, but the index holds no sets",
        "use another index, with `--shingles items`",
    ))
}
