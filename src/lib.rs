//! Nearkin: an embedded similarity index.

mod error;

pub use error::{Error, ErrorKind, Result};

// Until `index` uses them.
mod format;
mod segment;
mod storage;
