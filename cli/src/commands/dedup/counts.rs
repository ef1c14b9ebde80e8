//! The counts of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use nearkin_input::raw;

/// Counts of lines and bytes, by outcome.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct DedupCounts {
    /// Lines read, except blank ones.
    pub(super) read: u64,
    pub(super) kept: u64,
    /// Lines dropped because a kept line is similar.
    pub(super) dropped: u64,
    /// Lines kept although a kept line is similar: they differ in numbers, or in what is rare.
    #[serde(default)]
    pub(super) apart_in_numbers: u64,
    #[serde(default)]
    pub(super) apart_in_rare: u64,
    /// Lines not dropped for a document of the index, because only numbers set the two apart.
    #[serde(default)]
    pub(super) apart_from_index: u64,
    /// Lines dropped because a document of the index is similar.
    pub(super) dropped_for_index: u64,
    /// Lines dropped because they contain a question of `--without`.
    #[serde(default)]
    pub(super) dropped_without: u64,
    /// Lines kept because they have nothing to compare; they also count as kept.
    #[serde(default)]
    pub(super) blank: u64,
    pub(super) skipped: u64,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) bytes_read: u64,
    pub(super) bytes_kept: u64,
    /// Texts with so few distinct shingles that unrelated texts look like copies.
    #[serde(default)]
    pub(super) repetitive: u64,
    /// With `--exact` and `--index`: candidates of the index that could not be read again.
    #[serde(default)]
    pub(super) unread: u64,
    /// Total size of the lines that could not be compared.
    pub(super) bytes_skipped: u64,
}

impl DedupCounts {
    /// Number of malformed lines. Empty and too large lines do not count as malformed.
    pub(super) fn bad(&self) -> u64 {
        ["bad line", "bad key"].into_iter().filter_map(|kind| self.kinds.get(kind)).sum()
    }

    /// Number of lines that could not be read: malformed or too large.
    pub(super) fn unreadable(&self) -> u64 {
        self.bad() + self.kinds.get("too large").copied().unwrap_or(0)
    }

    /// Number of files that could not be read to the end.
    pub(super) fn damaged(&self) -> u64 {
        self.kinds.get(raw::DAMAGED).copied().unwrap_or(0)
    }

    /// Uncompressed size of the dropped lines. For Parquet: how much smaller OUT is than the input.
    pub(super) fn bytes_saved(&self) -> u64 {
        self.bytes_read.saturating_sub(self.bytes_kept + self.bytes_skipped)
    }
}
