//! Files and folders, independent of their content.
//!
//! All file operations of the crate go through [`Storage`] and [`File`], so that tests can use a
//! simulated disk. Composed operations ([`publish`], [`create_dirs`]) use these primitives only.

#[cfg(unix)]
mod at;
#[cfg(windows)]
#[path = "windows.rs"]
mod at;
mod disk;
mod guarded;
mod local_names;
pub(crate) mod lock;
pub(crate) mod map;
mod memory;
pub(crate) mod names;
mod scratch;
#[cfg(unix)]
mod standard_streams;
mod sys;

pub(crate) use disk::Disk;
pub(crate) use guarded::Guarded;
pub(crate) use map::Map;
pub(crate) use memory::Memory;
pub(crate) use scratch::ScratchStorage;
pub(crate) use sys::{forks, prefetch, watch_forks};

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Modes of [`Storage::open`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A new file, for reading and writing; an existing one is emptied first.
    Create,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirEntry {
    pub(crate) name: String,
    pub(crate) is_dir: bool,
}

/// Converts the entries that `std` lists.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn entries_of(listed: std::fs::ReadDir) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in listed {
        let entry = entry?;
        // No extra system call on most file systems: they return the type with the entry.
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            // The entry was removed after the folder was read: skip it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        entries.push(DirEntry { name, is_dir: kind.is_dir() });
    }
    Ok(entries)
}

/// Counters of a storage since its creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) syncs: u64,
}

/// A disk, or a simulated disk that can lose power.
pub(crate) trait Storage: Send + Sync + fmt::Debug {
    /// Returns this storage with the folder `dir` held open: paths below `dir` refer to that folder
    /// even after it is moved. `NotFound` if the folder does not exist.
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>>;
    /// Whether the path `dir`, by which the folder is held, still leads to that folder, or to
    /// nothing. False if it leads to something else.
    fn is_at(&self, dir: &Path) -> io::Result<bool>;
    /// Creates a folder; its parent must exist. `AlreadyExists` if the name is taken.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// The entries of a folder, sorted by name. `NotFound` if the folder does not exist.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// The length in bytes of the file or other entry with this name (links are not followed).
    /// `NotFound` if there is none.
    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        self.open(path, OpenMode::Read)?.bytes()
    }
    /// Opens a file. `NotFound` if it does not exist, except with `Create`.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Renames a file and replaces an existing file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file. `AlreadyExists` if the name `to` is taken.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Its open handles and maps stay valid. `ResourceBusy` if it is in use, on
    /// systems that keep such a file (Windows keeps what is mapped): the name stays.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Syncs a folder, which makes the names in it durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of a file. Creates the file if needed; it stays empty and is never
    /// removed. `WouldBlock` if another handle holds a lock. Dropping the result releases the lock.
    fn lock(&self, path: &Path) -> io::Result<lock::Lock>;
    /// Takes a shared lock of a file, which excludes the exclusive one. `NotFound` if the file does
    /// not exist.
    fn lock_shared(&self, path: &Path) -> io::Result<lock::Lock>;
    /// The process that holds the lock of this file, in words, if the system tells.
    fn lock_holder(&self, _path: &Path) -> Option<String> {
        None
    }
    /// Creates the hard link `to` for the file `from`. `to` may be in another folder of the same
    /// file system.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// The counters of this storage.
    fn counters(&self) -> Counters;
    /// Whether the content is lost with the last handle (in memory).
    fn is_temporary(&self) -> bool {
        false
    }
    /// Whether new files lie in memory.
    fn is_in_memory(&self) -> bool {
        false
    }
    /// Maps a published file and drops the map: fails if the file system does not support maps.
    fn check_map(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Releases the held folder permanently: all later calls fail. Does nothing for a storage
    /// without a held folder.
    fn release(&self) {}
}

/// An open file. All access is positioned; there is no cursor.
pub(crate) trait File: Send + Sync + fmt::Debug {
    /// The length in bytes.
    fn bytes(&self) -> io::Result<u64>;
    /// Fills `buffer` from `offset`. `UnexpectedEof` if the file is too short.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Starts reading bytes that `read_at` will need soon, without waiting. Only a hint.
    fn will_need(&self, _offset: u64, _bytes: u64) {}
    /// Writes all of `buffer` at `offset`, and extends the file if needed. After an error any part
    /// may have been written.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Starts writeback of bytes that were just written, mostly without blocking, so that a later
    /// sync has less to do. Only a hint. An error means the same as an error of `sync`: the state
    /// of everything written since the last successful sync is unknown, and later syncs may succeed
    /// nevertheless.
    fn start_writing(&self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Truncates the file, or extends it with zeros.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;
    /// Makes content and length durable. After an error, the state of everything written since the
    /// last successful sync is unknown.
    fn sync(&self) -> io::Result<()>;
    /// Maps the whole file. Only for published files, which are never written again.
    fn map(&self) -> io::Result<Map>;
}

/// Reads a file, but no more than its first `bytes_max` bytes.
pub(crate) fn read_start(
    storage: &dyn Storage,
    path: &Path,
    bytes_max: u64,
) -> io::Result<Vec<u8>> {
    let file = storage.open(path, OpenMode::Read)?;
    let count = usize::try_from(file.bytes()?.min(bytes_max));
    let mut bytes = vec![0; count.map_err(|_| io::ErrorKind::OutOfMemory)?];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Creates `dir` and all missing parents, and makes the new names durable. Also makes the name of
/// the deepest existing folder durable: the process that created that folder may have died before
/// its sync.
pub(crate) fn create_dirs(storage: &dyn Storage, dir: &Path) -> io::Result<()> {
    let parent = parent_of(dir);
    match storage.list(dir) {
        Ok(_) => {
            return match storage.sync_dir(parent) {
                // Without permission to open the parent, this process cannot have created the
                // folder, so syncing its name is not our task.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                synced => synced,
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // A root that does not exist, such as a drive or a network share of Windows.
    if parent == dir {
        return storage.create_dir(dir);
    }
    create_dirs(storage, parent)?;
    match storage.create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    storage.sync_dir(parent)
}

/// The parent folder of a path; `.` for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// Publishes a complete file: sync, rename, sync the folder. The file must not be written again.
/// `AlreadyExists` if the name is taken: names are never reused, so the existing file is not ours.
pub(crate) fn publish(
    storage: &dyn Storage,
    file: &dyn File,
    from: &Path,
    to: &Path,
) -> io::Result<()> {
    file.sync()?;
    storage.rename_new(from, to).map_err(explain_existing)?;
    storage.sync_dir(parent_of(to))
}

/// Publishes a file that replaces its previous version. After an error nothing has changed if
/// `from` still exists.
pub(crate) fn publish_over(
    storage: &dyn Storage,
    file: &dyn File,
    from: &Path,
    to: &Path,
) -> io::Result<()> {
    file.sync()?;
    storage.rename(from, to)?;
    storage.sync_dir(parent_of(to))
}

/// Whether a file could not be removed because it was removed before, or because somebody uses it
/// (see [`Storage::remove`]). A file that the catalog does not list can stay until the next
/// opening.
pub(crate) fn is_gone_or_in_use(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::ResourceBusy].contains(&error.kind())
}

fn explain_existing(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::AlreadyExists {
        return error;
    }
    let what = "a file of this name exists already, written by another process: verify the index";
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}
