//! Files and folders, and nothing about their content.
//!
//! Every file operation of the crate goes through [`Storage`] and [`File`], so that a simulated
//! disk can stand in for the real one. The primitives are here; what is composed of them
//! ([`publish`], [`create_dirs`]) is too, in terms of the primitives only.

#[cfg(unix)]
mod at;
#[cfg(not(unix))]
#[path = "at_by_path.rs"]
mod at;
mod disk;
mod guarded;
pub(crate) mod lock;
pub(crate) mod map;
mod memory;
pub(crate) mod names;
#[cfg(any(test, fuzzing))]
pub(crate) mod sim;

pub(crate) use disk::Disk;
pub(crate) use guarded::Guarded;
pub(crate) use map::Map;
pub(crate) use memory::Memory;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How [`Storage::open`] opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A new file, for reading and writing; an existing one is emptied first.
    Create,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_dir: bool,
}

/// The names that std lists.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn entries_of(listed: std::fs::ReadDir) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in listed {
        let entry = entry?;
        // The folder mostly says so itself.
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            // Removed since the folder was read: by now it is not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        entries.push(Entry { name, is_dir: kind.is_dir() });
    }
    Ok(entries)
}

/// What a storage has done since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) syncs: u64,
}

/// A disk, or something that behaves like one and can lose its power.
pub(crate) trait Storage: Send + Sync + fmt::Debug {
    /// The same storage with the folder `dir` held: from then on paths below `dir` lead into the
    /// folder that had this path, wherever it is moved. `NotFound` if there is none.
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>>;
    /// Whether the path of a held folder leads there, or nowhere: not to something else.
    fn is_at(&self, dir: &Path) -> io::Result<bool>;
    /// Creates one folder; its parent must exist. `AlreadyExists` if there is one.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// The names in a folder, sorted. `NotFound` if there is none.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;
    /// The length of a file, or of whatever else has this name (a link's own), in bytes. `NotFound`
    /// if nothing has.
    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        self.open(path, OpenMode::Read)?.bytes()
    }
    /// Opens a file. `NotFound` if it is missing (but for `Create`).
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Renames a file, replacing any at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file; `AlreadyExists` if there is one at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Handles and maps of it stay usable.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of a file, creating the file if it is missing (it is left empty
    /// and never removed). `WouldBlock` if another handle holds it. Released by dropping.
    fn lock(&self, path: &Path) -> io::Result<lock::Lock>;
    /// Takes a lock that many may hold, and nobody who has the exclusive one. Creates nothing:
    /// `NotFound` if there is no such file.
    fn lock_shared(&self, path: &Path) -> io::Result<lock::Lock>;
    /// Gives a file a second name, in another folder of the same file system.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// What was done so far.
    fn counters(&self) -> Counters;
    /// Whether it is gone with its last handle, so that what is to stay goes elsewhere.
    fn is_temporary(&self) -> bool {
        false
    }
    /// Lets go of the folder that is held, for good: whatever is asked for after it is refused.
    /// Does nothing to a storage that belongs to no handle.
    fn release(&self) {}
}

/// An open file. All access is positioned; none of it moves a cursor.
pub(crate) trait File: Send + Sync + fmt::Debug {
    /// The length in bytes.
    fn bytes(&self) -> io::Result<u64>;
    /// Fills `buffer` from `offset`; `UnexpectedEof` where the file ends first.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// The same if that needs no wait for a disk; whether it was done. If not, `buffer` holds
    /// anything, and nothing is known of the disk.
    fn read_at_hand(&self, _buffer: &mut [u8], _offset: u64) -> bool {
        false
    }
    /// Writes all of `buffer` at `offset`, extending the file if need be. After an error any part
    /// of it may have been written.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Has the disk begin with these bytes, which were just written, mostly without waiting: a sync
    /// that comes later has the less to do. Promises nothing. An error is as one of `sync`: nothing
    /// is known of what was written since the last success, and no later sync need tell of it.
    fn start_writing(&self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Cuts or extends (with zeros) the file.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;
    /// Makes content and length durable. After an error nothing is known of what was written
    /// since the last success.
    fn sync(&self) -> io::Result<()>;
    /// The whole file as memory. Only for files that are published and never written again.
    fn map(&self) -> io::Result<Map>;
}

/// Creates `dir` and every missing folder above it, and makes each new name durable: that of the
/// last one found too, since the process that made it may have died before its sync.
pub(crate) fn create_dirs(storage: &dyn Storage, dir: &Path) -> io::Result<()> {
    let parent = parent_of(dir);
    match storage.list(dir) {
        Ok(_) => {
            return match storage.sync_dir(parent) {
                // Nor could we have made it there: it is not ours.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                synced => synced,
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    create_dirs(storage, parent)?;
    match storage.create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    storage.sync_dir(parent)
}

/// The folder a path lies in; `.` for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

/// Gives a finished file its name, durably: sync, rename, sync the folder. Afterwards nobody may
/// write to it again. `AlreadyExists` if something has that name: nobody gives a name twice, so it
/// is a stranger's.
pub(crate) fn publish(
    storage: &dyn Storage,
    file: &dyn File,
    from: &Path,
    to: &Path,
) -> io::Result<()> {
    planted!(FileNotSynced, Ok(()), file.sync())?;
    storage.rename_new(from, to).map_err(explain_existing)?;
    planted!(FolderNotSynced => return Ok(()));
    storage.sync_dir(parent_of(to))
}

/// The same for a file that takes the place of the one before it.
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

fn explain_existing(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::AlreadyExists {
        return error;
    }
    let what = "a file of this name is there already, and not by this handle: verify the index";
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}
