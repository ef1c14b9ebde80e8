//! By what documents are decided, and what is known of two of them.

use serde::{Deserialize, Serialize};

/// By what documents are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Deciding {
    /// By the estimate.
    Estimate,
    /// By the shingles of what the estimate finds.
    Confirmed,
    /// By the shingles, with candidates from below the threshold.
    Exact,
}

impl Deciding {
    /// What two documents of the input have in common.
    pub(super) fn equal(self, count: u32) -> Equal {
        match self {
            Self::Estimate => Equal::Rows(count),
            Self::Confirmed | Self::Exact => Equal::Shingles(count),
        }
    }

    /// What a document has in common with one of the archive, whose texts are read with `--exact`
    /// only.
    pub(super) fn equal_to_archived(self, count: u32) -> Equal {
        match self {
            Self::Estimate | Self::Confirmed => Equal::Rows(count),
            Self::Exact => Equal::Shingles(count),
        }
    }
}

/// What two documents have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Equal {
    Rows(u32),
    Shingles(u32),
}
