//! The counterpart of `at.rs` on Windows, where an open folder cannot be moved or removed, so that
//! a path is enough. (The lock file is open and shared with nobody who deletes, and Windows refuses
//! to rename a folder in which a file is open.)
//!
//! Other programs open our files without asking: virus scanners, search indexers, backups. While
//! one of them looks at a file, a call may be refused. Such a call is tried again for a while.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "disk.rs alone uses this module"
)]

use super::local_names;
use super::{DirEntry, OpenMode};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::Arc;
use std::time::Duration;

/// The location of a file. The folder is always `None`.
pub(super) type FileLocation<'a> = (Option<&'a File>, Cow<'a, Path>);

/// The full path of a held folder, so that the process can change its current folder.
pub(super) type FolderHandle = PathBuf;

/// Finds a folder's full path. `NotFound` if there is none, `InvalidInput` if no index may be
/// there.
pub(super) fn hold((_, path): FileLocation<'_>) -> io::Result<FolderHandle> {
    check_folder(&path)?;
    if !fs::metadata(&path)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    std::path::absolute(&path)
}

/// The location of a path that is relative to a held folder.
pub(super) fn within<'a>(held: &'a FolderHandle, rest: &'a Path) -> FileLocation<'a> {
    if rest.as_os_str().is_empty() {
        return (None, Cow::Borrowed(held));
    }
    (None, Cow::Owned(held.join(rest)))
}

pub(super) fn folder_of(_: &FolderHandle) -> Option<Arc<File>> {
    None
}

/// The identity of a lock file: its full path, which cannot change while the file is open.
pub(super) type Identity = PathBuf;

// Codes of the system (WinError.h).
const ERROR_INVALID_FUNCTION: i32 = 1;
const ERROR_ACCESS_DENIED: i32 = 5;
const ERROR_SHARING_VIOLATION: i32 = 32;
const ERROR_LOCK_VIOLATION: i32 = 33;
const ERROR_USER_MAPPED_FILE: i32 = 1224;
/// Modes of sharing: others may read and write the file, but neither delete nor rename it.
const SHARE_READ_AND_WRITE: u32 = 1 | 2;
/// Opens a folder like a file (`FILE_FLAG_BACKUP_SEMANTICS`).
const FOLDER_AS_FILE: u32 = 0x0200_0000;

/// Waits between attempts: 1, 2, 4 ... 512 ms, about a second in all.
const WAITS: u32 = 10;

fn is(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Makes a call again while it is refused with one of these codes, for about a second.
fn patiently<T>(codes: &[i32], mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for wait in 0..WAITS {
        match call() {
            Err(error) if is(&error, codes) => {
                std::thread::sleep(Duration::from_millis(1 << wait));
            }
            answer => return answer,
        }
    }
    call()
}

pub(super) fn open(_: Option<&File>, path: &Path, mode: OpenMode) -> io::Result<File> {
    let mut options = OpenOptions::new();
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
    patiently(&[ERROR_SHARING_VIOLATION], || options.open(path))
}

/// Opens a file in order to lock it. Creates the file if it is missing. While it is open, it can be
/// neither removed nor renamed.
pub(super) fn open_lock(_: Option<&File>, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).share_mode(SHARE_READ_AND_WRITE);
    patiently(&[ERROR_SHARING_VIOLATION], || options.open(path))
}

/// The identity of a file that was opened by this path.
pub(super) fn identity_of(_: &File, path: &Path) -> io::Result<Identity> {
    fs::canonicalize(path)
}

/// Refuses a folder for an index that Windows, or this library, could not keep: the error says why.
pub(super) fn check_folder(path: &Path) -> io::Result<()> {
    for component in path.components() {
        let reason = match component {
            Component::Prefix(prefix) => match prefix.kind() {
                Prefix::UNC(..) | Prefix::VerbatimUNC(..) => Some(
                    "it is on a network share, where neither locks nor maps of files can be \
                     relied on: keep the index on a disk of this computer",
                ),
                Prefix::DeviceNS(_) => Some("it names a device"),
                Prefix::Disk(_) | Prefix::VerbatimDisk(_) | Prefix::Verbatim(_) => None,
            },
            Component::Normal(name) => name.to_str().and_then(local_names::refused_on_windows),
            Component::RootDir | Component::CurDir | Component::ParentDir => None,
        };
        if let Some(reason) = reason {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
    }
    Ok(())
}

pub(super) fn create_folder(_: Option<&File>, path: &Path) -> io::Result<()> {
    check_folder(path)?;
    fs::create_dir(path)
}

/// Removes a file. `ResourceBusy` if it is mapped, or stays open elsewhere.
pub(super) fn remove(_: Option<&File>, path: &Path) -> io::Result<()> {
    let in_use = [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE];
    match patiently(&[ERROR_SHARING_VIOLATION], || fs::remove_file(path)) {
        Err(error) if is(&error, &in_use) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, error))
        }
        removed => removed,
    }
}

pub(super) fn rename(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    let passing = [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION];
    patiently(&passing, || fs::rename(&from.1, &to.1))
}

/// Renames a file. `AlreadyExists` if the new name is taken.
///
/// Makes a hard link and removes the old name. On a file system without links (FAT), checks that
/// the name is free and then renames: for some microseconds in between, another process can take
/// the name unnoticed.
pub(super) fn rename_new(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    match link(from, to) {
        Ok(()) => remove(from.0, &from.1),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(&to.1).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => rename(from, to),
    }
}

pub(super) fn link(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    patiently(&[ERROR_SHARING_VIOLATION], || fs::hard_link(&from.1, &to.1))
}

/// Asks the system to write the names in a folder. NTFS keeps a journal of names, and refuses the
/// call or not, depending on its version: a refusal is no error.
pub(super) fn sync_folder(_: Option<&File>, path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(FOLDER_AS_FILE);
    let refused = [ERROR_INVALID_FUNCTION, ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION];
    match options.open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if is(&error, &refused) => Ok(()),
        synced => synced,
    }
}

pub(super) fn bytes_of(_: Option<&File>, path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.len())
}

pub(super) fn list(_: Option<&File>, path: &Path, _: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(path) {
        Ok(entries) => super::entries_of(entries),
        // Wine has another error for this.
        Err(_) if fs::metadata(path).is_ok_and(|there| !there.is_dir()) => {
            Err(io::ErrorKind::NotADirectory.into())
        }
        Err(error) => Err(error),
    }
}

pub(super) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                buffer = &mut buffer[count..];
                offset += crate::format::bytes::wide(count);
            }
        }
    }
    Ok(())
}

pub(super) fn write_all_at(file: &File, mut buffer: &[u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                buffer = &buffer[count..];
                offset += crate::format::bytes::wide(count);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn calls_are_repeated_for_a_while_if_a_scanner_has_the_file() {
        let calls = Cell::new(0);
        let refused = |times: u32, code: i32| {
            calls.set(0);
            patiently(&[ERROR_SHARING_VIOLATION], || {
                calls.set(calls.get() + 1);
                if calls.get() > times { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
            })
        };
        assert!(refused(3, ERROR_SHARING_VIOLATION).is_ok());
        assert_eq!(calls.get(), 4);
        assert!(refused(100, ERROR_SHARING_VIOLATION).is_err());
        assert_eq!(calls.get(), WAITS + 1);
        assert!(refused(100, ERROR_ACCESS_DENIED).is_err());
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn shares_and_device_names_are_refused_with_the_reason() {
        for refused in [
            r"\\server\share\index",
            r"\\?\UNC\server\share\index",
            r"\\.\pipe\index",
            r"C:\data\nul",
            r"C:\data\aux.index\papers",
            r"data\papers.",
        ] {
            assert!(check_folder(Path::new(refused)).is_err(), "{refused}");
        }
        for kept in [r"C:\data\index", r"\\?\C:\data\index", r"C:index", r"..\data\index", "index"]
        {
            check_folder(Path::new(kept)).expect(kept);
        }
    }

    /// Regression, found by a person: looking for the parent of a root never ended.
    #[test]
    fn a_drive_or_share_that_is_not_there_is_an_error() {
        let disk = super::super::Disk::default();
        for (path, reason) in [(r"\\server\share\a\index", "network share"), (r"Q:\a\index", "")] {
            let error = super::super::create_dirs(&disk, Path::new(path)).expect_err(path);
            assert!(error.to_string().contains(reason), "{path}: {error}");
        }
    }

    #[test]
    fn a_name_that_is_taken_stays_and_a_mapped_file_is_in_use() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let place = |name: &str| (None, Cow::Owned(at(name)));
        fs::write(at("a"), "one").expect("written");
        fs::write(at("b"), "two").expect("written");
        let taken = rename_new(&place("a"), &place("b")).expect_err("taken");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(at("b")).expect("kept"), b"two");
        rename_new(&place("a"), &place("c")).expect("free");
        assert!(!at("a").exists());
        let file = open(None, &at("c"), OpenMode::Read).expect("opened");
        let map = super::super::Map::from_file(&file).expect("mapped");
        let removed = remove(None, &at("c"));
        // Wine removes it all the same.
        if let Err(error) = removed {
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        }
        assert_eq!(map.bytes(), b"one");
        sync_folder(None, dir.path()).expect("synced, or refused");
    }
}
