//! The reason for formats that this build does not support.

use crate::raw::Reason;

/// The reason why this build does not read a format.
pub(super) fn not_built(format: &str, feature: &str) -> Reason {
    Reason::Format(format!("{format}: this nearkin was built without the feature `{feature}`"))
}
