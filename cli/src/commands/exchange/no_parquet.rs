//! Placeholder for Parquet exports in builds without Parquet: creating or opening one is an error.

use std::path::Path;

use nearkin::{Document, Params};

use super::header::Header;
use nearkin_input::FULL_BUILD;
use nearkin_kit::failure::Failure;

/// Uninhabited: this build cannot write Parquet.
pub(crate) enum ParquetWriter {}

/// Uninhabited: this build cannot read Parquet.
pub(crate) enum ParquetReader {}

fn missing(path: &Path) -> Failure {
    Failure::new(
        format!("{}: this build of nearkin has no Parquet support", path.display()),
        format!("use a .jsonl file, or in a clone of nearkin: `{FULL_BUILD}`"),
    )
}

impl ParquetWriter {
    pub(crate) fn create(path: &Path, _: &Header, _: &Params) -> Result<Self, Failure> {
        Err(missing(path))
    }

    pub(crate) fn write(&mut self, _: Document) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}

impl ParquetReader {
    pub(crate) fn open(path: &Path) -> Result<(Header, Self), Failure> {
        Err(missing(path))
    }

    pub(crate) fn next(&mut self, _: &Params) -> Result<Option<Document>, Failure> {
        match *self {}
    }
}
