//! Placeholder for Parquet support in builds without it: each function returns an error that says
//! so.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::wanted::Wanted;
use crate::{Error, FULL_BUILD};

/// Uninhabited: this build cannot open Parquet files.
pub(crate) enum Rows {}

impl Rows {
    pub(crate) fn open(path: &Path, _: Option<&Wanted>, _: Arc<AtomicU64>) -> Result<Self, Error> {
        Err(not_built(path))
    }
}

fn not_built(path: &Path) -> Error {
    Error::new(
        format!("{}: this build of nearkin has no Parquet support", path.display()),
        format!("use a .jsonl file, or in a clone of nearkin: `{FULL_BUILD}`"),
    )
}

/// Fails: this build cannot read Parquet.
pub fn not_for_json(path: &Path) -> Result<Vec<String>, Error> {
    Err(not_built(path))
}

impl Read for Rows {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}
