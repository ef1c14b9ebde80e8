//! The reason for skipping files of formats that this build does not support.

use crate::raw::Reason;

/// The reason for skipping a file, if this build does not read its format.
pub(super) fn not_built(format: &str) -> Reason {
    let command = crate::FULL_BUILD;
    Reason::Format(format!("{format}: not in this build; in a clone of nearkin: `{command}`"))
}
