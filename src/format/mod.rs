//! Encoding and decoding of all files. Pure: no I/O, and decoding never panics.
//!
//! `docs/reference/FILE_FORMAT.md` is normative; `tests.rs` decodes the examples printed there.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::expect_used)]

pub(crate) mod blocks;
pub(crate) mod bytes;
pub(crate) mod catalog;
pub(crate) mod header;
pub(crate) mod manifest;
pub(crate) mod wal;

#[cfg(test)]
mod row_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wal_tests;

use std::fmt;

/// The format version that this code writes.
pub(crate) const FORMAT_VERSION: u16 = 1;

/// Why bytes were refused. The caller that read the file adds its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodeError {
    /// The problem, as in "header checksum does not match".
    pub(crate) what: &'static str,
    /// Offset from the beginning of the decoded bytes.
    pub(crate) offset: u64,
    /// Whether the bytes are intact, but have a version or kind that this code does not know.
    pub(crate) unsupported: bool,
}

impl DecodeError {
    pub(crate) fn damaged(what: &'static str, offset: u64) -> Self {
        Self { what, offset, unsupported: false }
    }

    pub(crate) fn unsupported(what: &'static str, offset: u64) -> Self {
        Self { what, offset, unsupported: true }
    }

    /// Converts to the public error: adds `file`, and `base` to the offset.
    pub(crate) fn in_file(&self, file: &std::path::Path, base: u64) -> crate::Error {
        let offset = base.saturating_add(self.offset);
        if self.unsupported {
            crate::Error::new(
                crate::ErrorKind::Unsupported,
                format!("{}: {}, at byte {offset}; upgrade nearkin", file.display(), self.what),
            )
        } else {
            crate::Error::corrupt(file, offset, self.what)
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.what, self.offset)
    }
}
