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
    /// Texts of so few different shingles that others of their kind look like copies.
    #[serde(default)]
    pub(super) repetitive: u64,
    /// Lines that could not be compared.
    pub(super) bytes_skipped: u64,
}

impl Counts {
    /// Lines that are not as they should be: not those that are empty or too large.
    pub(super) fn bad(&self) -> u64 {
        ["bad line", "bad key"].into_iter().filter_map(|kind| self.kinds.get(kind)).sum()
    }

    /// Bytes of the lines that were dropped, as plain lines.
    pub(super) fn bytes_saved(&self) -> u64 {
        self.bytes_read.saturating_sub(self.bytes_kept + self.bytes_skipped)
    }
}
