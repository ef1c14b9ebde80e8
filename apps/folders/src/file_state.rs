//! The state of a file on the disk, to recognise a change.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use nearkin_input::on_disk::{self, FileId};

/// The state of a file, to recognise a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) id: Option<FileId>,
    pub(crate) bytes: u64,
    pub(crate) modified: i128,
    changed: i128,
}

impl FileState {
    pub(crate) fn from_metadata(path: &Path, metadata: &Metadata) -> Self {
        let (modified, changed) = times(metadata);
        Self { id: on_disk::id(path, metadata), bytes: metadata.len(), modified, changed }
    }

    /// The time of the last change of the content, in milliseconds since 1970.
    pub(crate) fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified.div_euclid(1_000_000)).unwrap_or(i64::MAX)
    }

    /// The state of a file that is open: its path may lead elsewhere by now.
    pub(crate) fn of_open(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (modified, changed) = times(&metadata);
        Ok(Self { id: on_disk::id_of_open(file), bytes: metadata.len(), modified, changed })
    }
}

/// The times of the last change of the content and of the inode, in nanoseconds since 1970.
#[cfg(unix)]
fn times(metadata: &Metadata) -> (i128, i128) {
    use std::os::unix::fs::MetadataExt as _;
    let time = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let modified = time(metadata.mtime(), metadata.mtime_nsec());
    (modified, time(metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn times(metadata: &Metadata) -> (i128, i128) {
    let since = metadata.modified().ok();
    let since = since.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    (since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)), 0)
}

/// Owner, group and mode.
pub(crate) type Owner = (u32, u32, u32);

#[cfg(unix)]
pub(crate) fn owner(metadata: &Metadata) -> Owner {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.uid(), metadata.gid(), metadata.mode())
}

#[cfg(not(unix))]
pub(crate) fn owner(_: &Metadata) -> Owner {
    (0, 0, 0)
}
