//! Files as the disk knows them: identity, allocated bytes, and number of names.
//!
//! A path is only a way to a file: a second mount, a link or a second name leads to the same one.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::path::Path;

/// Device and inode; on Windows, the volume and the number of the file. Two paths lead to one file
/// if and only if this is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
}

/// The identity of the file with this path and metadata. `None` if the system does not report it.
#[cfg(unix)]
pub fn id(_: &Path, metadata: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some(FileId { device: metadata.dev(), inode: metadata.ino() })
}

/// The identity of the file with this path. `None` if the system does not report it.
#[cfg(windows)]
pub fn id(path: &Path, _: &Metadata) -> Option<FileId> {
    let found = information(path)?;
    Some(FileId { device: found.volume_serial_number(), inode: found.file_index() })
}

/// The identity of an open file with this metadata. `None` if the system does not report it.
#[cfg(unix)]
pub fn id_of_open(_: &File, metadata: &Metadata) -> Option<FileId> {
    // The path is not looked at.
    id(Path::new(""), metadata)
}

/// The identity of an open file with this metadata. `None` if the system does not report it.
#[cfg(windows)]
pub fn id_of_open(file: &File, _: &Metadata) -> Option<FileId> {
    let found = winapi_util::file::information(file).ok()?;
    Some(FileId { device: found.volume_serial_number(), inode: found.file_index() })
}

/// What Windows says of a file or folder. Links are followed.
#[cfg(windows)]
fn information(path: &Path) -> Option<winapi_util::file::Information> {
    winapi_util::file::information(winapi_util::Handle::from_path_any(path).ok()?).ok()
}

/// The number of names of an open file; 0 if the system does not report it.
#[cfg(unix)]
pub fn links_of_open(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| links(Path::new(""), &metadata))
}

/// The number of names of an open file; 0 if the system does not report it.
#[cfg(windows)]
pub fn links_of_open(file: &File) -> u64 {
    winapi_util::file::information(file).map_or(0, |found| found.number_of_links())
}

/// The bytes that are freed with so many names of an open file: nothing, if it has another one.
pub fn freed_with_names(file: &File, names: u64) -> u64 {
    if links_of_open(file) > names {
        return 0;
    }
    file.metadata().map_or(0, |found| allocated(&found))
}

/// Bytes that the file takes on the disk. Holes of a sparse file take none.
#[cfg(unix)]
pub(crate) fn allocated(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // The unit of this count is 512 bytes on every system.
    metadata.blocks().saturating_mul(512)
}

#[cfg(windows)]
pub(crate) fn allocated(metadata: &Metadata) -> u64 {
    metadata.len()
}

/// The number of names (hard links) that the file has anywhere.
#[cfg(unix)]
fn links(_: &Path, metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(windows)]
fn links(path: &Path, _: &Metadata) -> u64 {
    information(path).map_or(1, |found| found.number_of_links())
}

/// A name in a folder. Two paths to one folder, say through two mounts, give equal entries.
#[derive(PartialEq, Eq, Hash)]
struct FolderEntry {
    folder: Option<FileId>,
    name: OsString,
}

impl FolderEntry {
    fn from_path(path: &Path) -> Self {
        let folder = path.parent().and_then(|folder| id(folder, &fs::metadata(folder).ok()?));
        // If the folder is unknown, the whole path stands for the entry.
        let name = path.file_name().filter(|_| folder.is_some()).unwrap_or(path.as_os_str());
        Self { folder, name: name.to_owned() }
    }
}

/// Keeps those of several paths to one file that are different names of it.
pub fn names<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<bool> {
    let mut seen = HashSet::new();
    paths.into_iter().map(|path| seen.insert(FolderEntry::from_path(path))).collect()
}

/// The bytes that are freed if these paths of one file are removed: nothing, as long as the file
/// keeps another name.
pub fn freed<'a>(metadata: &Metadata, paths: impl IntoIterator<Item = &'a Path>) -> u64 {
    let mut paths = paths.into_iter().peekable();
    let Some(first) = paths.peek() else { return 0 };
    let links = links(first, metadata);
    let gone = || names(paths).into_iter().filter(|is_name| *is_name).count() as u64;
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
    fn a_file_is_freed_with_its_last_name_at_its_allocated_size() {
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
