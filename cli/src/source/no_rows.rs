//! Rows of Parquet files, where the tool was built without it: says so.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::failure::Failure;

/// There are none.
pub(crate) enum Rows {}

impl Rows {
    pub(crate) fn open(path: &Path, _: &[&str], _: Arc<AtomicU64>) -> Result<Self, Failure> {
        Err(not_built(path))
    }
}

fn not_built(path: &Path) -> Failure {
    Failure::new(
        format!("{}: this nearkin was built without Parquet", path.display()),
        "use a .jsonl file, or build it with the feature `parquet`",
    )
}

/// None that could be read.
pub(crate) fn column_names(path: &Path) -> Result<Vec<String>, Failure> {
    Err(not_built(path))
}

/// None that could be read.
pub(crate) fn not_for_json(path: &Path) -> Result<Vec<String>, Failure> {
    Err(not_built(path))
}

impl Read for Rows {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}
