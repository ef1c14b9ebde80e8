//! Unix: a descriptor holds the folder, and names are relative to it.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
pub(super) use std::os::fd::OwnedFd as Held;
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// Where the system can, without the right to list the folder.
#[cfg(target_os = "linux")]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCH: OFlags = OFlags::RDONLY;

pub(super) fn hold(path: &Path) -> io::Result<Held> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(io::Error::other("the path does not begin at the root"));
    }
    let flags = SEARCH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let mut at = fs::open("/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("the path has a part `..`"));
        };
        at = folder(&at, name)?;
    }
    Ok(at)
}

pub(super) fn folder(folder: &Held, name: &OsStr) -> io::Result<Held> {
    let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(folder, name, flags, Mode::empty())?)
}

pub(super) fn create_folder(folder: &Held, name: &OsStr) -> io::Result<()> {
    match fs::mkdirat(folder, name, Mode::RWXU) {
        Err(Errno::EXIST) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn open(folder: &Held, name: &OsStr) -> io::Result<File> {
    // A pipe must not block the call.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(fs::openat(folder, name, flags, Mode::empty())?.into())
}

pub(super) fn create(folder: &Held, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

pub(super) fn metadata(folder: &Held) -> io::Result<Metadata> {
    File::from(folder.try_clone()?).metadata()
}

pub(super) fn look(folder: &Held, name: &OsStr) -> rustix::io::Result<fs::Stat> {
    fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn is_free(folder: &Held, name: &OsStr) -> bool {
    matches!(look(folder, name), Err(Errno::NOENT))
}

pub(super) fn rename(folder: &Held, name: &OsStr, to: &Held, new: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    match fs::renameat_with(folder, name, to, new, fs::RenameFlags::NOREPLACE) {
        // Not every file system knows the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return Ok(done?),
    }
    match look(to, new) {
        Err(Errno::NOENT) => Ok(fs::renameat(folder, name, to, new)?),
        found => Err(found.map_or_else(io::Error::from, |_| io::ErrorKind::AlreadyExists.into())),
    }
}

pub(super) fn replace(folder: &Held, name: &OsStr, replaced: &OsStr) -> io::Result<()> {
    Ok(fs::renameat(folder, name, folder, replaced)?)
}

pub(super) fn link(folder: &Held, name: &OsStr, to: &Held, new: &OsStr) -> io::Result<()> {
    Ok(fs::linkat(folder, name, to, new, AtFlags::empty())?)
}

pub(super) fn remove(folder: &Held, name: &OsStr) -> io::Result<()> {
    Ok(fs::unlinkat(folder, name, AtFlags::empty())?)
}

pub(super) fn remove_folder(folder: &Held, name: &OsStr) -> io::Result<()> {
    Ok(fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
