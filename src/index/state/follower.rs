//! What a handle knows of the files of an index that other processes write.

use crate::wal::LogReader;

/// The catalog and the log that a state was read from.
#[derive(Debug)]
pub(crate) struct Follower {
    /// The hash of the catalog.
    pub(in crate::index) catalog_hash: u64,
    /// Whether records were read from the log but not all of them applied, for example after an
    /// error.
    pub(in crate::index) torn: bool,
    /// The log that the catalog lists, if it lists one.
    pub(in crate::index) tail: Option<LogReader>,
    /// The number of bytes after the last record that are not a valid record.
    pub(in crate::index) bytes_cut: u64,
    /// The offset up to which the whole log was checked while nobody wrote to it.
    pub(in crate::index) checked: Option<u64>,
}
