//! What the command line says to read: files by their names, or lines of JSON.
//!
//! Knows which of the two it is, and nothing of what becomes of the documents.

use std::path::PathBuf;
use std::vec;

use nearkin::Shingles;

use crate::args::LinesGiven;
use crate::content::{Origin, Raw};
use crate::failure::Failure;
use crate::files::{self, Files};
use crate::lines::{Fields, Lines};
use crate::progress::{Progress, Unit};

/// A source of documents, read one after the other.
pub(crate) enum Input {
    /// Everything in some files and folders, under their cleaned paths.
    Walk(Files),
    /// Some files, under the names as given.
    Named { files: vec::IntoIter<PathBuf>, read: u64 },
    /// Lines of JSON, and how many bytes they are if that is known.
    Lines { lines: Lines, bytes: Option<u64> },
}

impl Input {
    pub(crate) fn named(files: Vec<PathBuf>) -> Self {
        Self::Named { files: files.into_iter(), read: 0 }
    }

    pub(crate) fn lines(path: &std::path::Path) -> Result<Self, Failure> {
        let (name, reader, bytes) = files::open(path)?;
        Ok(Self::Lines { lines: Lines::new(name, reader), bytes })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Raw>, Failure> {
        match self {
            Self::Walk(files) => Ok(files.next()),
            Self::Lines { lines, .. } => lines.next(),
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

    /// Whether the next document may have to be waited for.
    pub(crate) fn would_wait(&self) -> bool {
        match self {
            Self::Lines { lines, bytes } => bytes.is_none() && lines.would_wait(),
            _ => false,
        }
    }

    /// What is counted by [`Input::reached`], and how much there is in all. Counting the files
    /// of a folder is a walk of its own, so it is done only if somebody sees the result.
    pub(crate) fn size(&self) -> (Unit, Option<u64>) {
        match self {
            Self::Walk(files) => (Unit::Documents, Progress::is_visible().then(|| files.count())),
            Self::Named { files, .. } => (Unit::Documents, Some(files.len() as u64)),
            Self::Lines { bytes, .. } => (Unit::Bytes, *bytes),
        }
    }

    /// How much was read.
    pub(crate) fn reached(&self) -> u64 {
        match self {
            Self::Walk(files) => files.files_read(),
            Self::Named { read, .. } => *read,
            Self::Lines { lines, .. } => lines.bytes_read(),
        }
    }
}

/// The fields to read in lines for an index of such shingles. An error where the index takes
/// items and the input is texts, or the other way round: every document would be refused.
pub(crate) fn fields(given: &LinesGiven, shingles: Shingles) -> Result<Fields, Failure> {
    let named = [&given.key_field, &given.text_field, &given.items_field];
    // The parser lets this pass where --jsonl could not be given anyway, beside a path.
    if given.jsonl.is_none() && named.into_iter().any(Option::is_some) {
        return Err(Failure::new("only the lines of --jsonl have fields", ""));
    }
    let key = given.key_field.as_deref().unwrap_or("id");
    let items = shingles == Shingles::Items;
    if given.items_field.is_some() && !items {
        return Err(Failure::new(
            format!("the index compares texts by {shingles}, and --items-field gives it sets"),
            "use --text-field, or another index with `--shingles items`",
        ));
    }
    if items && (given.jsonl.is_none() || given.text_field.is_some()) {
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
