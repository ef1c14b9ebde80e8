//! Windows: while a folder is open without the right to delete it, neither it nor a folder above it
//! can be moved or become a link, so paths lead where they led.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "looks at the user's files, never the index's"
)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;
const FILE_SHARE_DELETE: u32 = 4;
/// Needed to open a folder.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link itself.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// The path of a folder, and what holds it.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _folder: File,
}

pub(super) fn hold(path: &Path) -> io::Result<Held> {
    if !path.is_absolute() {
        return Err(io::Error::other("the path is not absolute"));
    }
    let folder = File::options()
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)?;
    for above in path.ancestors() {
        let metadata = fs::symlink_metadata(above)?;
        if metadata.is_symlink() || !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    Ok(Held { path: path.to_owned(), _folder: folder })
}

/// While the file is open, nobody writes to it.
pub(super) fn open(folder: &Held, name: &OsStr) -> io::Result<File> {
    File::options()
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(folder.path.join(name))
}

pub(super) fn is_free(folder: &Held, name: &OsStr) -> bool {
    let found = fs::symlink_metadata(folder.path.join(name));
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

pub(super) fn rename(folder: &Held, name: &OsStr, to: &Held, new: &OsStr) -> io::Result<()> {
    if !is_free(to, new) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(folder.path.join(name), to.path.join(new))
}

pub(super) fn replace(folder: &Held, name: &OsStr, replaced: &OsStr) -> io::Result<()> {
    fs::rename(folder.path.join(name), folder.path.join(replaced))
}

pub(super) fn link(folder: &Held, name: &OsStr, to: &Held, new: &OsStr) -> io::Result<()> {
    fs::hard_link(folder.path.join(name), to.path.join(new))
}

pub(super) fn remove(folder: &Held, name: &OsStr) -> io::Result<()> {
    fs::remove_file(folder.path.join(name))
}

pub(super) fn folder(folder: &Held, name: &OsStr) -> io::Result<Held> {
    hold(&folder.path.join(name))
}

pub(super) fn create_folder(folder: &Held, name: &OsStr) -> io::Result<()> {
    fs::create_dir(folder.path.join(name))
}

pub(super) fn remove_folder(folder: &Held, name: &OsStr) -> io::Result<()> {
    fs::remove_dir(folder.path.join(name))
}
