//! System calls on Unix that name a file relative to an open folder.
//!
//! With `None` as the folder, a path is used as it is. A path relative to a folder is resolved in
//! that folder, even if the folder was renamed.
#![expect(unsafe_code, reason = "std has no calls relative to a folder: see the argument at each")]
#![expect(clippy::disallowed_types, reason = "disk.rs alone uses this module")]

use super::{DirEntry, OpenMode};
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
use libc::{fstat, fstatat, openat, stat};
// The calls without `64` in their names are limited to files of 2 GiB on 32-bit systems.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libc::{fstat64 as fstat, fstatat64 as fstatat, openat64 as openat, stat64 as stat};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The identity of a file, independent of its names. (The types of the two numbers differ between
/// systems; `i128` can hold all of them.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: i128,
    inode: i128,
}

impl Identity {
    fn of(status: &stat) -> Self {
        Self { device: i128::from(status.st_dev), inode: i128::from(status.st_ino) }
    }
}

fn number_of(folder: Option<&File>) -> libc::c_int {
    folder.map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd)
}

/// Converts a path to the C string for a system call. The empty path, which is the folder itself,
/// becomes `.`.
pub(super) fn name_of(path: &Path) -> io::Result<CString> {
    let bytes = path.as_os_str().as_bytes();
    Ok(CString::new(if bytes.is_empty() { b"." } else { bytes })?)
}

/// Repeats a call for as long as signals interrupt it.
fn call(mut act: impl FnMut() -> libc::c_int) -> io::Result<libc::c_int> {
    loop {
        let result = act();
        if result >= 0 {
            return Ok(result);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn open_with(folder: Option<&File>, path: &Path, flags: libc::c_int) -> io::Result<File> {
    let name = name_of(path)?;
    let (at, flags, mode) = (number_of(folder), flags | libc::O_CLOEXEC, 0o666 as libc::c_uint);
    // SAFETY: the name is a C string and the folder is open, both borrowed until the call returns.
    let number = call(|| unsafe { openat(at, name.as_ptr(), flags, mode) })?;
    // SAFETY: the call has just returned this descriptor, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(number) })
}

pub(super) fn open(folder: Option<&File>, path: &Path, mode: OpenMode) -> io::Result<File> {
    let flags = match mode {
        OpenMode::Read => libc::O_RDONLY,
        OpenMode::ReadWrite => libc::O_RDWR,
        OpenMode::Create => libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
    };
    open_with(folder, path, flags)
}

/// Opens a file in order to lock it. Creates the file if it is missing.
pub(super) fn open_lock(folder: Option<&File>, path: &Path) -> io::Result<File> {
    // `O_NOFOLLOW`: a symbolic link could make us lock a different file.
    let flags = libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW;
    open_with(folder, path, flags)
}

pub(super) fn open_folder(folder: Option<&File>, path: &Path) -> io::Result<File> {
    open_with(folder, path, libc::O_RDONLY | libc::O_DIRECTORY)
}

pub(super) fn create_folder(folder: Option<&File>, path: &Path) -> io::Result<()> {
    let (at, name) = (number_of(folder), name_of(path)?);
    // SAFETY: as in `open_with`.
    call(|| unsafe { libc::mkdirat(at, name.as_ptr(), 0o777) }).map(|_| ())
}

pub(super) fn remove(folder: Option<&File>, path: &Path) -> io::Result<()> {
    let (at, name) = (number_of(folder), name_of(path)?);
    // SAFETY: as in `open_with`.
    call(|| unsafe { libc::unlinkat(at, name.as_ptr(), 0) }).map(|_| ())
}

/// The location of a file: the folder that its name is relative to, and its name.
pub(super) type FileLocation<'a> = (Option<&'a File>, &'a Path);

pub(super) fn rename(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    let (old, new) = (name_of(from.1)?, name_of(to.1)?);
    let (old_at, new_at) = (number_of(from.0), number_of(to.0));
    // SAFETY: as in `open_with`, here with two names and two folders.
    call(|| unsafe { libc::renameat(old_at, old.as_ptr(), new_at, new.as_ptr()) }).map(|_| ())
}

pub(super) fn link(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    let (old, new) = (name_of(from.1)?, name_of(to.1)?);
    let (old_at, new_at) = (number_of(from.0), number_of(to.0));
    // SAFETY: as in `open_with`, here with two names and two folders.
    call(|| unsafe { libc::linkat(old_at, old.as_ptr(), new_at, new.as_ptr(), 0) }).map(|_| ())
}

/// Renames a file. `AlreadyExists` if the new name is taken.
///
/// Uses one system call if the system and the file system support it, otherwise a hard link and an
/// unlink. On a file system without links (exFAT), checks that the name is free and then renames:
/// for some microseconds in between, another process can take the name unnoticed.
pub(super) fn rename_new(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    match rename_if_new(from, to) {
        Err(error) if is_unknown(&error) => {}
        renamed => return renamed,
    }
    match link(from, to) {
        Ok(()) => remove(from.0, from.1),
        Err(error) if is_unknown(&error) || error.raw_os_error() == Some(libc::EPERM) => {
            match identity(to.0, &name_of(to.1)?) {
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
    let codes = [libc::ENOSYS, libc::EINVAL, libc::EOPNOTSUPP, libc::ENOTSUP];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn rename_if_new(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    let (old, new) = (name_of(from.1)?, name_of(to.1)?);
    let [old_at, new_at] = [from.0, to.0].map(|at| libc::c_long::from(number_of(at)));
    // SAFETY: as in `open_with`, here with two names and two folders. Called by its number, because
    // the C library has had the function only since 2018.
    let renamed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            old_at,
            old.as_ptr(),
            new_at,
            new.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if renamed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(target_vendor = "apple")]
fn rename_if_new(from: FileLocation<'_>, to: FileLocation<'_>) -> io::Result<()> {
    let (old, new) = (name_of(from.1)?, name_of(to.1)?);
    let (old_at, new_at) = (number_of(from.0), number_of(to.0));
    // SAFETY: as in `open_with`, here with two names and two folders.
    call(|| unsafe {
        libc::renameatx_np(old_at, old.as_ptr(), new_at, new.as_ptr(), libc::RENAME_EXCL)
    })
    .map(|_| ())
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_if_new(_: FileLocation<'_>, _: FileLocation<'_>) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// The status of the file with this name. For a symbolic link: the status of the link itself, not
/// of its target.
fn status(folder: Option<&File>, name: &CStr) -> io::Result<stat> {
    let at = number_of(folder);
    let mut status = std::mem::MaybeUninit::<stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: as in `open_with`; the call writes to `status` only, which is ours and large enough.
    call(|| unsafe { fstatat(at, name.as_ptr(), status.as_mut_ptr(), flags) })?;
    // SAFETY: the call succeeded, so it has filled `status`.
    Ok(unsafe { status.assume_init() })
}

/// The identity of the file with this name. `NotFound` if there is none.
pub(super) fn identity(folder: Option<&File>, name: &CStr) -> io::Result<Identity> {
    status(folder, name).map(|status| Identity::of(&status))
}

/// The identity of an open file.
pub(super) fn identity_of(file: &File) -> io::Result<Identity> {
    let mut status = std::mem::MaybeUninit::<stat>::uninit();
    // SAFETY: the file is open, and the call writes to `status` only, which is large enough.
    call(|| unsafe { fstat(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it has filled `status`.
    Ok(Identity::of(unsafe { status.assume_init_ref() }))
}

/// The length in bytes of the file or other entry with this name.
pub(super) fn bytes_of(folder: Option<&File>, path: &Path) -> io::Result<u64> {
    let status = status(folder, &name_of(path)?)?;
    Ok(u64::try_from(status.st_size).unwrap_or(0))
}

/// The entries of a folder, in the order in which the system returns them.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn list(folder: Option<&File>, path: &Path, _: &Path) -> io::Result<Vec<DirEntry>> {
    let dir = open_folder(folder, path)?;
    let mut entries = Vec::new();
    let mut buffer = vec![0_u8; 4096];
    loop {
        let (number, bytes) = (libc::c_long::from(dir.as_raw_fd()), buffer.len());
        // SAFETY: the folder is open, and the call writes at most `bytes` bytes to `buffer`, which
        // is that long. Both are borrowed until the call returns.
        let count =
            unsafe { libc::syscall(libc::SYS_getdents64, number, buffer.as_mut_ptr(), bytes) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        if count == 0 {
            return Ok(entries);
        }
        let mut rest = &buffer[..count];
        while let Some((record, after)) = split_record(rest) {
            entries.extend(entry_of(record, &dir)?);
            rest = after;
        }
    }
}

/// Offset of the name in a directory entry. Before it are two 8-byte numbers, a 2-byte length and a
/// 1-byte type.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NAME_BEGINS: usize = 19;

/// Splits off the first directory entry. Returns it and the bytes after it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    #[expect(clippy::host_endian_bytes, reason = "the kernel wrote it for this processor")]
    let length = u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?);
    let length = usize::from(length);
    (length > NAME_BEGINS && length <= bytes.len()).then(|| bytes.split_at(length))
}

/// Decodes a directory entry. `None` for the folder itself, its parent, and files that are gone.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn entry_of(record: &[u8], dir: &File) -> io::Result<Option<DirEntry>> {
    let Ok(name) = CStr::from_bytes_until_nul(&record[NAME_BEGINS..]) else { return Ok(None) };
    if [c".", c".."].contains(&name) {
        return Ok(None);
    }
    let is_dir = match record[NAME_BEGINS - 1] {
        libc::DT_UNKNOWN => match status(Some(dir), name) {
            Ok(status) => status.st_mode & libc::S_IFMT == libc::S_IFDIR,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
        kind => kind == libc::DT_DIR,
    };
    // None of our names is invalid Unicode, so a lossy conversion is enough: the result only has to
    // differ from our names.
    Ok(Some(DirEntry { name: name.to_string_lossy().into_owned(), is_dir }))
}

/// The names in a folder, listed by the path of the folder. `NotFound` if that path no longer leads
/// to the held folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn list(folder: Option<&File>, path: &Path, named: &Path) -> io::Result<Vec<DirEntry>> {
    if let Some(folder) = folder {
        let held = open_folder(Some(folder), path).and_then(|held| identity_of(&held))?;
        let now = open_folder(None, named).and_then(|now| identity_of(&now)).ok();
        if now != Some(held) {
            return Err(io::ErrorKind::NotFound.into());
        }
    }
    super::entries_of(std::fs::read_dir(named)?)
}
