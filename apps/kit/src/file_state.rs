//! The state of a file on the disk, to recognise a change.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use nearkin_input::on_disk::{self, FileId};

/// The state of a file, to recognise a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Device and inode. `None` if the system does not report it.
    pub id: Option<FileId>,
    /// Its length.
    pub bytes: u64,
    /// Time of modification, in nanoseconds since 1970.
    pub modified: i128,
    changed: i128,
}

impl FileState {
    /// The state of the file with this path and metadata.
    pub fn from_metadata(path: &Path, metadata: &Metadata) -> Self {
        let (modified, changed) = times(metadata);
        Self { id: on_disk::id(path, metadata), bytes: metadata.len(), modified, changed }
    }

    /// The time of the last change of the content, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified.div_euclid(1_000_000)).unwrap_or(i64::MAX)
    }

    /// The state of a file that is open: its path may lead elsewhere by now.
    pub fn of_open(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (modified, changed) = times(&metadata);
        let id = on_disk::id_of_open(file, &metadata);
        Ok(Self { id, bytes: metadata.len(), modified, changed })
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
pub type Owner = (u32, u32, u32);

/// Owner, group and mode of a file.
#[cfg(unix)]
pub fn owner(metadata: &Metadata) -> Owner {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.uid(), metadata.gid(), metadata.mode())
}

/// Owner, group and mode of a file: unknown.
#[cfg(not(unix))]
pub fn owner(_: &Metadata) -> Owner {
    (0, 0, 0)
}

/// Whether a file keeps its inode number while nobody has it open. FAT, network and FUSE file
/// systems may number their files anew.
#[cfg(target_os = "linux")]
pub fn has_lasting_inodes(path: &Path) -> bool {
    /// Magic numbers of FAT, exFAT, FUSE, SMB (versions 2 and 1) and 9P.
    const NUMBERED_ANEW: [i128; 6] =
        [0x4d44, 0x2011_bab0, 0x6573_5546, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997];
    rustix::fs::statfs(path).is_ok_and(|found| {
        // The width and the sign of this field differ between processors.
        let kind = i128::from(found.f_type) & 0xffff_ffff;
        !NUMBERED_ANEW.contains(&kind)
    })
}

/// Whether a file keeps its inode number while nobody has it open.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn has_lasting_inodes(_: &Path) -> bool {
    true
}

/// Whether a file keeps its inode number while nobody has it open.
#[cfg(not(unix))]
pub fn has_lasting_inodes(_: &Path) -> bool {
    false
}
