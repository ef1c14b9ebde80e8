//! The report of an opening.

/// What opening found in the WAL and in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Recovery {
    /// Changes replayed from the WAL: 0 after a clean close.
    pub changes_replayed: u64,
    /// Bytes that were cut off the end of the WAL because its last record was torn. They were never
    /// acknowledged, or belonged to the last sync group before a crash.
    pub bytes_cut: u64,
    /// Number of files that were deleted because the catalog does not list them.
    pub files_swept: u64,
    /// Bytes that opening read: a few KiB per segment, and the WAL if it was listed.
    pub bytes_read: u64,
}
