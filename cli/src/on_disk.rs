//! Files as the disk knows them: identity, allocated bytes, and number of names.
//!
//! A path is only a way to a file: a second mount, a link or a second name leads to the same one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::Path;

/// Device and inode. Two paths lead to one file if and only if this is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// `None` on systems without inodes.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn id(metadata: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some(FileId { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
pub(crate) fn id(_: &Metadata) -> Option<FileId> {
    None
}

/// Bytes that the file takes on the disk. Holes of a sparse file take none.
#[cfg(unix)]
pub(crate) fn allocated(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // The unit of this count is 512 bytes on every system.
    metadata.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
pub(crate) fn allocated(metadata: &Metadata) -> u64 {
    metadata.len()
}

/// The number of names (hard links) that the file has anywhere.
#[cfg(unix)]
pub(crate) fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
pub(crate) fn links(_: &Metadata) -> u64 {
    1
}

/// A name in a folder. Two paths to one folder, say through two mounts, give equal entries.
#[derive(PartialEq, Eq, Hash)]
struct Entry {
    folder: Option<FileId>,
    name: OsString,
}

impl Entry {
    fn of(path: &Path) -> Self {
        let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
        let folder = folder.and_then(|metadata| id(&metadata));
        // If the folder is unknown, the whole path stands for the entry.
        let name = path.file_name().filter(|_| folder.is_some()).unwrap_or(path.as_os_str());
        Self { folder, name: name.to_owned() }
    }
}

/// Keeps those of several paths to one file that are different names of it.
pub(crate) fn names<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<bool> {
    let mut seen = HashSet::new();
    paths.into_iter().map(|path| seen.insert(Entry::of(path))).collect()
}

/// The bytes that are freed if these paths of one file are removed: nothing, as long as the file
/// keeps another name.
pub(crate) fn freed<'a>(metadata: &Metadata, paths: impl IntoIterator<Item = &'a Path>) -> u64 {
    let gone = || names(paths).into_iter().filter(|is_name| *is_name).count() as u64;
    let links = links(metadata);
    if links <= 1 || gone() >= links { allocated(metadata) } else { 0 }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "scratch files are no index"
    )]

    #[cfg(unix)]
    #[test]
    fn a_file_is_freed_with_its_last_name_and_takes_what_is_allocated() {
        use super::*;

        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("a"), [1; 10_000]).unwrap();
        fs::hard_link(path("a"), path("b")).unwrap();
        std::os::unix::fs::symlink(dir.path(), path("again")).unwrap();
        let freed = |names: &[&str]| {
            let paths: Vec<_> = names.iter().map(|name| path(name)).collect();
            freed(&fs::metadata(path("a")).unwrap(), paths.iter().map(std::path::PathBuf::as_path))
        };
        assert_eq!(freed(&["a"]), 0);
        // Another way to the same name is no second name.
        assert_eq!(freed(&["a", "again/a"]), 0);
        assert!((10_000..40_000).contains(&freed(&["a", "b"])));
        fs::write(path("holes"), "").unwrap();
        let file = fs::File::options().write(true).open(path("holes")).unwrap();
        file.set_len(1 << 40).unwrap();
        let metadata = fs::metadata(path("holes")).unwrap();
        assert!(super::freed(&metadata, [path("holes").as_path()]) < 1 << 20);
    }
}
