//! The counterpart of `at.rs` for systems on which an open folder cannot be moved or removed, so
//! that a path is enough. (Windows refuses to rename a folder in which a file is open.)
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "disk.rs alone uses this module"
)]

use super::{DirEntry, OpenMode};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The location of a file. On these systems the folder is always `None`.
pub(super) type FileLocation<'a> = (Option<&'a File>, &'a Path);

pub(super) fn open(_: Option<&File>, path: &Path, mode: OpenMode) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    match mode {
        OpenMode::Read => {}
        OpenMode::ReadWrite => {
            options.write(true);
        }
        OpenMode::Create => {
            options.write(true).create(true).truncate(true);
        }
    }
    options.open(path)
}

pub(super) fn open_lock(_: Option<&File>, path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().read(true).append(true).create(true).open(path)
}

pub(super) fn create_folder(_: Option<&File>, path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

pub(super) fn remove(_: Option<&File>, path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

pub(super) fn rename(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    fs::rename(from.1, to.1)
}

/// Renames a file. `AlreadyExists` if the new name is taken.
pub(super) fn rename_new(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    if fs::symlink_metadata(to.1).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from.1, to.1)
}

pub(super) fn link(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    fs::hard_link(from.1, to.1)
}

pub(super) fn bytes_of(_: Option<&File>, path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.len())
}

pub(super) fn list(_: Option<&File>, path: &Path, _: &Path) -> io::Result<Vec<DirEntry>> {
    super::entries_of(fs::read_dir(path)?)
}
