//! Reads files of a ZIP archive, decompressing no more than the maximum document size in total.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

/// An open archive.
pub(super) type Archive = ZipArchive<Cursor<Vec<u8>>>;

/// Reads a text file of an archive, up to `left` bytes, and subtracts its size from `left`.
pub(super) fn part(archive: &mut Archive, name: &str, left: &mut usize) -> Result<String, String> {
    let not_utf_8 = |_| format!("{name}: not UTF-8");
    String::from_utf8(bytes_of(archive, name, left)?).map_err(not_utf_8)
}

/// Like [`part`], but for any bytes.
pub(super) fn bytes_of(
    archive: &mut Archive,
    name: &str,
    left: &mut usize,
) -> Result<Vec<u8>, String> {
    let file = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    let mut bytes = Vec::new();
    let most = *left as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    *left = left.checked_sub(bytes.len()).ok_or("unpacked it has more than 64 MiB")?;
    Ok(bytes)
}
