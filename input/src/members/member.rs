//! A document in a file of many, and what such a file is read from.

use std::io::{Read, Seek};

use bytes::Bytes;

use crate::raw::Reason;

/// Number of bytes by which a file is recognised, and messages of a mailbox are told from text.
pub(super) const HEAD_BYTES: usize = 4 << 10;

/// What a file that holds many documents is read from.
pub(super) trait Stored: Read + Seek {}

impl<T: Read + Seek> Stored for T {}

/// A document in a file of many.
pub(super) struct MemberDocument {
    /// What stands behind the name of the file; empty for the only document of a file.
    pub(super) name: Vec<u8>,
    pub(super) body: Result<Bytes, Reason>,
}

/// The name of a document by its number in its file.
pub(super) fn numbered(number: u64) -> Vec<u8> {
    format!("#{number}").into_bytes()
}

/// The most bytes that are unpacked of a file of this size: few texts reach it, bombs exceed it.
pub fn unpacked_max(bytes: u64) -> u64 {
    const BYTES_MAX: u64 = if cfg!(test) { 1 << 20 } else { 1 << 30 };
    bytes.saturating_mul(200).max(BYTES_MAX)
}
