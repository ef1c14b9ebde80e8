//! Placeholder for Office documents in builds without them: parsing one is an error.

use super::decode::Decoded;
use crate::raw::Reason;

/// Not supported in this build.
pub(crate) fn text(_: Vec<u8>) -> Result<Decoded, Reason> {
    Err(super::not_built::not_built("an office document or ZIP archive"))
}
