//! What the command line says to read: files by their names, or lines of JSON.
//!
//! Knows which of the two it is, and nothing of what becomes of the documents.

use std::path::PathBuf;
use std::vec;

use nearkin::{Params, Scheme, Shingles};
use serde::{Deserialize, Serialize};

use crate::args::{ExactGiven, LinesGiven};
use crate::failure::Failure;
use crate::files::{self, Files};
use crate::lines::{Fields, Lines};
use crate::progress::{Progress, Unit};
use crate::raw::{self, Origin, Raw};
use crate::sets::Sets;

/// A source of documents, read one after the other.
pub(crate) enum Input {
    /// Everything in some files and folders, under their cleaned paths.
    Walk(Files),
    /// Some files, under the names as given.
    Named { files: vec::IntoIter<PathBuf>, read: u64 },
    /// Files that somebody has chosen and reads.
    Listed { raws: Box<dyn Iterator<Item = Raw>>, total: u64, read: u64 },
    /// Lines of JSON.
    Lines(LineFiles),
    /// Sets of the rows of a table.
    Sets(Sets),
}

/// Files of lines, read one after the other.
pub(crate) struct LineFiles {
    files: Vec<PathBuf>,
    /// What is wanted of Parquet files; nothing: all that can be had.
    columns: Vec<String>,
    /// A copy of stdin, to be read instead of it.
    stdin_copy: Option<PathBuf>,
    /// Where the next line is.
    position: Position,
    lines: Option<Lines>,
    /// Bytes of all files, packed or not as they are, if they are known.
    bytes: Option<u64>,
    /// Bytes of the files that are done.
    bytes_done: u64,
}

/// A place in files of lines, all of it counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) file: usize,
    pub(crate) line: u64,
    /// Position in the unpacked lines.
    pub(crate) byte: u64,
}

impl LineFiles {
    /// An error if one of the files is not there.
    pub(crate) fn new(files: Vec<PathBuf>) -> Result<Self, Failure> {
        let mut bytes = Some(0);
        for path in &files {
            bytes = bytes.zip(files::length(path)?).map(|(sum, length)| sum + length);
        }
        let (columns, position) = (Vec::new(), Position::default());
        let (lines, stdin_copy) = (None, None);
        Ok(Self { files, columns, stdin_copy, position, lines, bytes, bytes_done: 0 })
    }

    /// The same, but that what stdin gave is read from a copy of it.
    pub(crate) fn with_stdin_in(mut self, copy: PathBuf) -> Self {
        self.stdin_copy = Some(copy);
        self
    }

    /// The same, of which only these columns matter, where there are columns.
    pub(crate) fn with_columns(mut self, columns: Vec<String>) -> Self {
        self.columns = columns;
        self
    }

    pub(crate) fn next(&mut self) -> Result<Option<Raw>, Failure> {
        loop {
            if let Some(lines) = &mut self.lines {
                let raw = lines.next()?;
                (self.position.line, self.position.byte) = (lines.lines_read(), lines.bytes_read());
                if raw.is_some() {
                    return Ok(raw);
                }
                self.bytes_done += lines.bytes_taken();
                self.lines = None;
                self.position = Position { file: self.position.file + 1, line: 0, byte: 0 };
            }
            let Some(path) = self.files.get(self.position.file) else { return Ok(None) };
            let columns: Vec<_> = self.columns.iter().map(String::as_str).collect();
            let Position { line, byte, .. } = self.position;
            self.lines = Some(match &self.stdin_copy {
                Some(copy) if path.as_os_str() == raw::STDIN => {
                    Lines::open_at(copy, &columns, (line, byte))?.named("stdin")
                }
                _ => Lines::open_at(path, &columns, (line, byte))?,
            });
        }
    }

    /// Bytes of all files, if they are known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Bytes taken of all files.
    pub(crate) fn bytes_taken(&self) -> u64 {
        self.bytes_done + self.lines.as_ref().map_or(0, Lines::bytes_taken)
    }

    /// Where the next line is.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Goes on from a position where these files, or the same ones, once were.
    pub(crate) fn go_to(&mut self, position: Position) -> Result<(), Failure> {
        self.lines = None;
        self.position = position;
        self.bytes_done = 0;
        for path in self.files.iter().take(position.file) {
            self.bytes_done += files::length(path)?.unwrap_or(0);
        }
        Ok(())
    }

    fn would_wait(&self) -> bool {
        // A file on disk never keeps anybody waiting for long.
        self.bytes.is_none() && self.lines.as_ref().is_none_or(Lines::would_wait)
    }
}

impl Input {
    pub(crate) fn named(files: Vec<PathBuf>) -> Self {
        Self::Named { files: files.into_iter(), read: 0 }
    }

    /// Lines of some files; an error if one of them is not there.
    pub(crate) fn lines(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        LineFiles::new(paths).map(Self::Lines)
    }

    /// The same, of which only some fields matter.
    pub(crate) fn of_fields(mut self, fields: &Fields) -> Self {
        if let Self::Lines(lines) = &mut self {
            lines.columns = fields.names().map(str::to_owned).to_vec();
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn of(lines: Lines) -> Self {
        let (files, columns, position) = (Vec::new(), Vec::new(), Position::default());
        let lines = Some(lines);
        let (stdin_copy, bytes) = (None, None);
        let bytes_done = 0;
        Self::Lines(LineFiles { files, columns, stdin_copy, position, lines, bytes, bytes_done })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Raw>, Failure> {
        match self {
            Self::Walk(files) => Ok(files.next()),
            Self::Listed { raws, read, .. } => {
                *read += 1;
                Ok(raws.next())
            }
            Self::Lines(lines) => lines.next(),
            Self::Sets(sets) => {
                Ok(sets.next()?.map(|(key, body)| Raw { origin: Origin::Set { key }, body }))
            }
            Self::Named { files, read } => {
                *read += 1;
                Ok(files.next().map(|path| Raw {
                    body: files::read(&path),
                    origin: Origin::File {
                        name: path.as_os_str().as_encoded_bytes().to_vec(),
                        path,
                    },
                }))
            }
        }
    }

    /// Where the next line is, if these are lines.
    pub(crate) fn position(&self) -> Option<Position> {
        match self {
            Self::Lines(lines) => Some(lines.position()),
            _ => None,
        }
    }

    /// Whether the next document may have to be waited for.
    pub(crate) fn would_wait(&self) -> bool {
        match self {
            Self::Lines(lines) => lines.would_wait(),
            _ => false,
        }
    }

    /// What is counted by [`Input::reached`], and how much there is in all. Counting the files
    /// of a folder is a walk of its own, so it is done only if somebody sees the result.
    pub(crate) fn size(&self) -> (Unit, Option<u64>) {
        match self {
            Self::Walk(files) => (Unit::Documents, Progress::is_visible().then(|| files.count())),
            Self::Named { files, .. } => (Unit::Documents, Some(files.len() as u64)),
            Self::Listed { total, .. } => (Unit::Documents, Some(*total)),
            Self::Lines(lines) => (Unit::Bytes, lines.bytes),
            Self::Sets(_) => (Unit::Documents, None),
        }
    }

    /// How much was read.
    pub(crate) fn reached(&self) -> u64 {
        match self {
            Self::Walk(files) => files.files_read(),
            Self::Named { read, .. } | Self::Listed { read, .. } => *read,
            Self::Lines(lines) => lines.bytes_taken(),
            Self::Sets(sets) => sets.returned(),
        }
    }
}

/// Refuses sets from a table for an index that takes something else.
pub(crate) fn check_takes_sets(params: &Params) -> Result<(), Failure> {
    if params.shingles() == Shingles::Items && !matches!(params.scheme(), Scheme::External(_)) {
        return Ok(());
    }
    Err(Failure::new(
        "the index takes no sets of items, which the rows of --transactions are",
        "use another index, with `--shingles items`",
    ))
}

/// Where the documents that are read again have their keys and their content.
pub(crate) fn fields_again(given: &ExactGiven, params: &Params) -> Result<Fields, Failure> {
    if let Scheme::External(_) = params.scheme() {
        return Err(Failure::new(
            format!("signatures of {} are made elsewhere", params.scheme()),
            "compare the documents where they are made: --exact cannot",
        ));
    }
    let key = given.from_key_field.as_deref().unwrap_or("id");
    if params.shingles() != Shingles::Items {
        return Ok(Fields::text(key, given.from_field.as_deref().unwrap_or("text")));
    }
    if given.from.is_empty() {
        return Err(Failure::new(
            "the index holds sets of items, which are no files",
            "say where they are: --from FILE.jsonl",
        ));
    }
    Ok(Fields::items(key, given.from_field.as_deref().unwrap_or("items")))
}

/// The fields to read in lines for an index of such parameters. An error where the index takes
/// one kind of thing and the input is another: every document would be refused.
pub(crate) fn fields(given: &LinesGiven, params: &Params) -> Result<Fields, Failure> {
    let named = [&given.key_field, &given.text_field, &given.items_field, &given.rows_field];
    // The parser lets this pass where --jsonl could not be given anyway, beside a path.
    if given.jsonl.is_empty() && named.into_iter().any(Option::is_some) {
        return Err(Failure::new("only the lines of --jsonl have fields", ""));
    }
    let key = given.key_field.as_deref().unwrap_or("id");
    if let Scheme::External(_) = params.scheme() {
        if given.jsonl.is_empty() || given.text_field.is_some() || given.items_field.is_some() {
            return Err(Failure::new(
                format!(
                    "the index takes signatures made elsewhere ({}), and can make none of texts \
                     or items",
                    params.scheme()
                ),
                "give it their rows with --jsonl FILE --rows-field NAME, or use another index",
            ));
        }
        return Ok(Fields::rows(key, given.rows_field.as_deref().unwrap_or("rows")));
    }
    if given.rows_field.is_some() {
        return Err(Failure::new(
            format!("the index makes its signatures itself (scheme {})", params.scheme()),
            "create one for signatures made elsewhere: `--scheme external:NAME --hashes K`",
        ));
    }
    let shingles = params.shingles();
    let items = shingles == Shingles::Items;
    if given.items_field.is_some() && !items {
        return Err(Failure::new(
            format!("the index compares texts by {shingles}, and --items-field gives it sets"),
            "use --text-field, or another index with `--shingles items`",
        ));
    }
    if items && (given.jsonl.is_empty() || given.text_field.is_some()) {
        return Err(Failure::new(
            "the index compares sets of items, not texts",
            "give it sets with --jsonl FILE --items-field NAME, or use another index",
        ));
    }
    Ok(if items {
        Fields::items(key, given.items_field.as_deref().unwrap_or("items"))
    } else {
        Fields::text(key, given.text_field.as_deref().unwrap_or("text"))
    })
}
