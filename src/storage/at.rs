//! System calls on Unix that name a file relative to an open folder.
//!
//! With `None` as the folder, a path is used as it is. A path relative to a folder is resolved in
//! that folder, even if the folder was renamed.
#![expect(clippy::disallowed_types, reason = "disk.rs alone uses this module")]

use super::{DirEntry, OpenMode, standard_streams};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

/// The identity of a file, independent of its names. (The types of the two numbers differ between
/// systems; `i128` can hold all of them.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    device: i128,
    inode: i128,
}

impl Identity {
    fn from_stat(status: &Stat) -> Self {
        Self { device: i128::from(status.st_dev), inode: i128::from(status.st_ino) }
    }

    /// The file as `/proc/locks` names it.
    #[cfg(target_os = "linux")]
    pub(super) fn in_proc_locks(&self) -> String {
        let device = u64::try_from(self.device).unwrap_or_default();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        format!("{major:02x}:{minor:02x}:{}", self.inode)
    }
}

/// The location of a file: the folder that its name is relative to, and its name.
pub(super) type FileLocation<'a> = (Option<&'a File>, Cow<'a, Path>);

/// A folder that is held open.
pub(super) type FolderHandle = Arc<File>;

pub(super) fn hold((folder, path): FileLocation<'_>) -> io::Result<FolderHandle> {
    open_folder(folder, &path).map(Arc::new)
}

/// The location of a path that is relative to a held folder.
pub(super) fn within<'a>(held: &'a FolderHandle, rest: &'a Path) -> FileLocation<'a> {
    (Some(held), Cow::Borrowed(rest))
}

#[expect(clippy::unnecessary_wraps, reason = "other systems have no open folder")]
pub(super) fn folder_of(held: &FolderHandle) -> Option<Arc<File>> {
    Some(Arc::clone(held))
}

/// A location as system calls take it. The empty path, which is the folder itself, becomes `.`.
fn place<'a>(folder: Option<&'a File>, path: &'a Path) -> (BorrowedFd<'a>, &'a Path) {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    (folder.map_or(CWD, AsFd::as_fd), path)
}

fn open_with(folder: Option<&File>, path: &Path, flags: OFlags) -> io::Result<File> {
    let (at, path) = place(folder, path);
    let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
    let open = || retry_on_intr(|| rustix::fs::openat(at, path, flags, mode));
    Ok(standard_streams::open_above(open)?.into())
}

pub(super) fn open(folder: Option<&File>, path: &Path, mode: OpenMode) -> io::Result<File> {
    let flags = match mode {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::ReadWrite => OFlags::RDWR,
        OpenMode::Create => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
    };
    open_with(folder, path, flags)
}

/// Opens a file in order to lock it. Creates the file if it is missing.
pub(super) fn open_lock(folder: Option<&File>, path: &Path) -> io::Result<File> {
    // `NOFOLLOW`: a symbolic link could make us lock a different file.
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    open_with(folder, path, flags)
}

pub(super) fn open_folder(folder: Option<&File>, path: &Path) -> io::Result<File> {
    open_with(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

pub(super) fn create_folder(folder: Option<&File>, path: &Path) -> io::Result<()> {
    let ((at, path), mode) = (place(folder, path), Mode::from_raw_mode(0o777));
    Ok(retry_on_intr(|| rustix::fs::mkdirat(at, path, mode))?)
}

pub(super) fn remove(folder: Option<&File>, path: &Path) -> io::Result<()> {
    let (at, path) = place(folder, path);
    Ok(retry_on_intr(|| rustix::fs::unlinkat(at, path, AtFlags::empty()))?)
}

pub(super) fn rename(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    let ((old_at, old), (new_at, new)) = (place(from.0, &from.1), place(to.0, &to.1));
    Ok(retry_on_intr(|| rustix::fs::renameat(old_at, old, new_at, new))?)
}

pub(super) fn link(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    let ((old_at, old), (new_at, new)) = (place(from.0, &from.1), place(to.0, &to.1));
    Ok(retry_on_intr(|| rustix::fs::linkat(old_at, old, new_at, new, AtFlags::empty()))?)
}

/// Renames a file. `AlreadyExists` if the new name is taken.
///
/// Uses one system call if the system and the file system support it, otherwise a hard link and an
/// unlink. On a file system without links (exFAT), checks that the name is free and then renames:
/// for some microseconds in between, another process can take the name unnoticed.
pub(super) fn rename_new(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    match rename_if_new(from, to) {
        Err(error) if is_unknown(&error) => {}
        renamed => return renamed,
    }
    match link(from, to) {
        Ok(()) => remove(from.0, &from.1),
        Err(error) if is_unknown(&error) || is(&error, &[Errno::PERM]) => {
            match identity(to.0, &to.1) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => rename(from, to),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Whether the system or the file system does not support the call.
fn is_unknown(error: &io::Error) -> bool {
    is(error, &[Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP])
}

fn is(error: &io::Error, any: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|error| any.contains(&error))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_if_new(from: &FileLocation<'_>, to: &FileLocation<'_>) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    let ((old_at, old), (new_at, new)) = (place(from.0, &from.1), place(to.0, &to.1));
    let call = || renameat_with(old_at, old, new_at, new, RenameFlags::NOREPLACE);
    Ok(retry_on_intr(call)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_if_new(_: &FileLocation<'_>, _: &FileLocation<'_>) -> io::Result<()> {
    Err(Errno::NOSYS.into())
}

/// Syncs the names in a folder.
pub(super) fn sync_folder(folder: Option<&File>, path: &Path) -> io::Result<()> {
    open_folder(folder, path)?.sync_all()
}

pub(super) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

pub(super) fn write_all_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, buffer, offset)
}

/// The status of the file with this name. For a symbolic link: the status of the link itself, not
/// of its target.
fn status(folder: Option<&File>, path: &Path) -> io::Result<Stat> {
    let (at, path) = place(folder, path);
    Ok(retry_on_intr(|| rustix::fs::statat(at, path, AtFlags::SYMLINK_NOFOLLOW))?)
}

/// The identity of the file with this name. `NotFound` if there is none.
pub(super) fn identity(folder: Option<&File>, path: &Path) -> io::Result<Identity> {
    status(folder, path).map(|status| Identity::from_stat(&status))
}

/// The identity of an open file. (Where a file cannot lose its name, its path is needed.)
pub(super) fn identity_of(file: &File, _: &Path) -> io::Result<Identity> {
    Ok(Identity::from_stat(&retry_on_intr(|| rustix::fs::fstat(file))?))
}

/// The length in bytes of the file or other entry with this name.
pub(super) fn bytes_of(folder: Option<&File>, path: &Path) -> io::Result<u64> {
    Ok(u64::try_from(status(folder, path)?.st_size).unwrap_or(0))
}

/// The entries of a folder, in the order in which the system returns them.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn list(folder: Option<&File>, path: &Path, _: &Path) -> io::Result<Vec<DirEntry>> {
    use rustix::fs::{FileType, RawDir};
    use std::os::unix::ffi::OsStrExt;
    let dir = open_folder(folder, path)?;
    let (mut entries, mut buffer) = (Vec::new(), Vec::with_capacity(4096));
    // `rustix::fs::Dir` would end without an error in a folder that was removed.
    let mut listed = RawDir::new(&dir, buffer.spare_capacity_mut());
    while let Some(entry) = listed.next() {
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                match status(Some(&dir), Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))) {
                    Ok(status) => FileType::from_raw_mode(status.st_mode),
                    // The entry was removed after the folder was read: skip it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            kind => kind,
        };
        // None of our names is invalid Unicode, so a lossy conversion is enough: the result only
        // has to differ from our names.
        let name = name.to_string_lossy().into_owned();
        entries.push(DirEntry { name, is_dir: kind == FileType::Directory });
    }
    Ok(entries)
}

/// The names in a folder, listed by the path of the folder. `NotFound` if that path no longer leads
/// to the held folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn list(folder: Option<&File>, path: &Path, named: &Path) -> io::Result<Vec<DirEntry>> {
    if let Some(folder) = folder {
        let held = open_folder(Some(folder), path).and_then(|held| identity_of(&held, path))?;
        let now = open_folder(None, named).and_then(|now| identity_of(&now, named)).ok();
        if now != Some(held) {
            return Err(io::ErrorKind::NotFound.into());
        }
    }
    standard_streams::occupy_closed();
    super::entries_of(std::fs::read_dir(named)?)
}
