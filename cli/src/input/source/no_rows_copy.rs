//! Placeholder for copying Parquet rows in builds without Parquet support.

use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A row group; never constructed in this build.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceGroup {
    pub(crate) rows: u64,
}

/// A copy of Parquet rows; never constructed in this build.
pub(crate) struct RowCopy<W: Write + Send>(PhantomData<W>);

fn not_built(path: &Path) -> Failure {
    Failure::new(
        format!("{}: this build of nearkin has no Parquet support", path.display()),
        "give a .jsonl file, or build nearkin with `--features full`",
    )
}

pub(crate) fn check_same_columns(files: &[PathBuf]) -> Result<(), Failure> {
    Err(not_built(files.first().map_or(Path::new("the file"), PathBuf::as_path)))
}

impl<W: Write + Send> RowCopy<W> {
    pub(crate) fn new(_: &[PathBuf], out: &Path, _: W) -> Result<Self, Failure> {
        Err(not_built(out))
    }

    #[expect(clippy::unused_self, reason = "other builds use it")]
    pub(crate) fn groups(&self) -> Vec<SourceGroup> {
        Vec::new()
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other builds use it")]
    pub(crate) fn keep(&mut self, _: SourceGroup, _: Vec<bool>) -> Result<(), Failure> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "other builds use it")]
    pub(crate) fn finish(self) -> Result<W, Failure> {
        Err(not_built(Path::new("the file")))
    }
}
