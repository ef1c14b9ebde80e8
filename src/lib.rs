//! Nearkin: an embedded similarity index.

mod catalog;
mod curve;
mod error;
mod format;
mod index;
mod memtable;
mod params;
mod segment;
mod sketch;
mod storage;
mod wal;

pub use error::{Error, ErrorKind, Result};
pub use index::{
    Answer, Batch, Cluster, Clusters, Document, Durability, Index, Maintained, Maintenance, Match,
    Options, Outcome, Pair, Pairs, Progress, Query, Recovery, Snapshot, Stats, Verification,
    Written,
};
pub use params::{Params, ParamsBuilder, Scheme, Shingles};
pub use segment::ReadMode;
pub use sketch::{Signature, Sketcher};
