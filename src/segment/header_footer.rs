//! The header, footer and tail of a block file, which identify and describe the file.
//!
//! Independent of the body.

use crate::format::blocks::{Footer, Tail};
use crate::format::bytes::{narrow, wide};
use crate::format::catalog::Listed;
use crate::format::header::FileHeader;
use crate::storage::{File, OpenMode, Storage};
use crate::{Error, OrIo, Result};
use std::path::Path;

/// Reads and checks the footer, the tail and the header, in this order. The footer comes first,
/// because it says where the tail is, and the tail and the header must agree with it.
pub(super) fn read_header_and_footer(
    file: &dyn File,
    path: &Path,
    listed: &Listed,
    expected: &FileHeader,
) -> Result<(Footer, Tail)> {
    let length = file.bytes().or_io("measure", path)?;
    if length != listed.length {
        return Err(Error::corrupt(
            path,
            length,
            "the length of the file differs from the catalog",
        ));
    }
    let (footer, mut bytes) = read_tail(file, path, length)?;
    if xxhash_rust::xxh3::xxh3_64(&bytes) != listed.tail_hash {
        return Err(Error::corrupt(
            path,
            footer.tail_offset,
            "the tail of the file differs from the catalog",
        ));
    }
    bytes.truncate(bytes.len().saturating_sub(Footer::BYTES));
    let tail =
        Tail::decode(&bytes, &footer).map_err(|error| error.in_file(path, footer.tail_offset))?;
    let mut header_bytes = [0; FileHeader::BYTES];
    file.read_at(&mut header_bytes, 0).or_io("read", path)?;
    // Checked as for writing, because a writer must respect flags that forbid writing.
    let header = FileHeader::decode(&header_bytes, true).map_err(|error| error.in_file(path, 0))?;
    let footer_agrees = footer.kind == header.kind && footer.number == header.number;
    if header != *expected || !footer_agrees || header.number != listed.number {
        return Err(Error::corrupt(path, 0, "file belongs to another index, place or parameters"));
    }
    Ok((footer, tail))
}

/// The footer, and the bytes from the tail to the end of the file.
fn read_tail(file: &dyn File, path: &Path, length: u64) -> Result<(Footer, Vec<u8>)> {
    let Some(at) = length.checked_sub(wide(Footer::BYTES)) else {
        return Err(Error::corrupt(path, length, "file is shorter than its footer"));
    };
    let mut footer = [0; Footer::BYTES];
    file.read_at(&mut footer, at).or_io("read", path)?;
    let footer = Footer::decode(&footer, length).map_err(|error| error.in_file(path, at))?;
    // The footer's lengths agree with the file length, so the tail is not longer than the file.
    let count = narrow(length.saturating_sub(footer.tail_offset), "tail");
    let mut tail = vec![0; count.map_err(|error| error.in_file(path, at))?];
    file.read_at(&mut tail, footer.tail_offset).or_io("read", path)?;
    Ok((footer, tail))
}

/// Describes a block file by its own header and tail, to salvage it without a catalog.
pub(crate) fn describe(storage: &dyn Storage, path: &Path) -> Result<(FileHeader, Listed)> {
    let file = storage.open(path, OpenMode::Read).or_io("read", path)?;
    let length = file.bytes().or_io("read", path)?;
    let mut header = [0; FileHeader::BYTES];
    file.read_at(&mut header, 0).or_io("read", path)?;
    let header = FileHeader::decode(&header, false).map_err(|error| error.in_file(path, 0))?;
    let (_, tail) = read_tail(&*file, path, length)?;
    let tail_hash = xxhash_rust::xxh3::xxh3_64(&tail);
    Ok((header, Listed { number: header.number, length, tail_hash }))
}
