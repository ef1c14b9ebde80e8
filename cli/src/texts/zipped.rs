//! Parts of a ZIP archive, of which no more is unpacked than a document may have.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

/// An archive that was read.
pub(super) type Archive = ZipArchive<Cursor<Vec<u8>>>;

/// A part of an archive, of which no more is read than is left.
pub(super) fn part(archive: &mut Archive, name: &str, left: &mut usize) -> Result<String, String> {
    let not_utf_8 = |_| format!("{name}: not UTF-8");
    String::from_utf8(bytes_of(archive, name, left)?).map_err(not_utf_8)
}

/// The same, of any bytes.
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
