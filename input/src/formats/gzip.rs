//! Reads files compressed by gzip, such as `notes.txt.gz`: they are decompressed, then parsed
//! according to their content.

use std::io::Read as _;

use crate::gunzip::GzipMembers;
use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

/// Whether the bytes start like gzip data.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1f\x8b\x08")
}

/// Decompresses the data, up to the maximum document size.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, Reason> {
    let mut unpacked = Vec::new();
    let reader = GzipMembers::new(bytes);
    let read = reader.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|error| Reason::Refused(format!("gzip: {error}")))?;
    if unpacked.len() > DOCUMENT_BYTES_MAX { Err(Reason::TooLarge) } else { Ok(unpacked) }
}
