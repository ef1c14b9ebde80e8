//! Office documents, where the tool was built without them: says so.

use crate::raw::Reason;

/// None in this build.
pub(crate) fn text(_: Vec<u8>) -> Result<String, Reason> {
    Err(super::not_built::not_built("an office document or ZIP archive", "office"))
}
