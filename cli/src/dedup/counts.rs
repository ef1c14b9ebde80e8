//! What became of the lines, in numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What became of the lines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Lines, without blank ones.
    pub(super) read: u64,
    pub(super) kept: u64,
    /// Like a kept one.
    pub(super) dropped: u64,
    /// Like a document of the index.
    pub(super) dropped_for_index: u64,
    pub(super) skipped: u64,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) bytes_read: u64,
    pub(super) bytes_kept: u64,
}
