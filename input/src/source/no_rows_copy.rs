//! Placeholder for copying Parquet rows in builds without Parquet support.

use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::{Error, FULL_BUILD};

/// A row group; never constructed in this build.
#[derive(Debug, Clone, Copy)]
pub struct SourceGroup {
    /// The index of the file in the input.
    pub file: usize,
    /// Number of rows.
    pub rows: u64,
}

/// A copy of Parquet rows; never constructed in this build.
pub struct RowCopy<W: Write + Send>(PhantomData<W>);

fn not_built(path: &Path) -> Error {
    Error::new(
        format!("{}: this build of nearkin has no Parquet support", path.display()),
        format!("give a .jsonl file, or in a clone of nearkin: `{FULL_BUILD}`"),
    )
}

/// Fails: this build reads no Parquet.
pub fn check_same_columns(files: &[PathBuf], _: bool) -> Result<(), Error> {
    Err(not_built(files.first().map_or(Path::new("the file"), PathBuf::as_path)))
}

impl<W: Write + Send> RowCopy<W> {
    /// Fails: this build writes no Parquet.
    pub fn new(_: &[PathBuf], out: &Path, _: W, _: bool) -> Result<Self, Error> {
        Err(not_built(out))
    }

    /// The row groups of all files.
    pub fn groups(&self) -> Vec<SourceGroup> {
        Vec::new()
    }

    /// Takes the next row group.
    pub fn keep(&mut self, _: SourceGroup, _: Vec<bool>) -> Result<(), Error> {
        Ok(())
    }

    /// Closes the file.
    pub fn finish(self) -> Result<W, Error> {
        Err(not_built(Path::new("the file")))
    }
}
