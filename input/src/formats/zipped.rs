//! Reads files of a ZIP archive, decompressing no more than the maximum document size in total.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

use super::decode;
use super::decode::{Decoded, How};
use crate::raw::DOCUMENT_BYTES_MAX;

/// An open archive.
pub(super) type Archive = ZipArchive<Cursor<Vec<u8>>>;

/// What was read of an archive.
pub(super) struct ReadSoFar {
    /// Number of bytes that may still be decompressed.
    pub(super) left: usize,
    /// How the files of the archive were decoded.
    pub(super) how: How,
}

impl ReadSoFar {
    pub(super) fn nothing() -> Self {
        Self { left: DOCUMENT_BYTES_MAX, how: How::UTF_8 }
    }
}

/// Reads and decodes a text file of an archive.
pub(super) fn part(
    archive: &mut Archive,
    name: &str,
    read: &mut ReadSoFar,
) -> Result<String, String> {
    let bytes = bytes_of(archive, name, read)?;
    let decoded = decode::decode(bytes, None, None);
    let Decoded { text, how } = decoded.map_err(|why| format!("{name}: {}", why.detail()))?;
    read.how = read.how.and(how);
    Ok(text)
}

/// Like [`part`], but for any bytes.
pub(super) fn bytes_of(
    archive: &mut Archive,
    name: &str,
    read: &mut ReadSoFar,
) -> Result<Vec<u8>, String> {
    let file = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    let mut bytes = Vec::new();
    let most = read.left as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    let left = read.left.checked_sub(bytes.len());
    read.left = left.ok_or("unpacked it has more than 64 MiB")?;
    Ok(bytes)
}
