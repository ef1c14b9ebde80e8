//! What is said of a format that this build does not read.

use crate::raw::Reason;

/// Why a format is not read by this build.
pub(super) fn not_built(format: &str, feature: &str) -> Reason {
    Reason::Format(format!("{format}: this nearkin was built without the feature `{feature}`"))
}
