//! Nearkin: an embedded similarity index.

mod catalog;
mod curve;
mod error;
mod params;
mod sketch;

pub use error::{Error, ErrorKind, Result};
pub use params::{Params, ParamsBuilder, Scheme, Shingles};
pub use sketch::{Signature, Sketcher};

// Until `index` uses them.
mod format;
mod segment;
mod storage;
mod index;
mod memtable;
mod wal;
