//! The real disk: std's files with positioned reads and writes, and counters.
//!
//! Outside tests, only the modules in `src/storage` use `std::fs`. This one knows nothing about the
//! content of files or about their names.
#![expect(clippy::disallowed_types, reason = "this is the place the bans point to")]

use super::at::{self, FileLocation, Identity};
use super::lock::{FolderLock, HeldHere, Lock, LockLost};
use super::{Counters, DirEntry, File, Map, OpenMode, Storage, sys};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The operating system's file system. It can hold folders open, so that paths into them are
/// resolved in these folders even after they were renamed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    tally: Arc<Tally>,
    held: Vec<HeldFolder>,
    /// Whether files are never synced: their content need not survive a power cut.
    is_unsynced: bool,
}

/// A folder that is held, and the path by which it was found.
#[derive(Debug, Clone)]
struct HeldFolder {
    root: PathBuf,
    folder: at::FolderHandle,
}

impl Disk {
    /// The file system, without syncs of files.
    pub(super) fn unsynced() -> Self {
        Self { is_unsynced: true, ..Self::default() }
    }

    /// Resolves a path. Returns the held folder that contains it, if any, and the path relative to
    /// that folder.
    fn place<'a>(&'a self, path: &'a Path) -> FileLocation<'a> {
        for held in self.held.iter().rev() {
            if let Ok(rest) = path.strip_prefix(&held.root) {
                return at::within(&held.folder, rest);
            }
        }
        (None, Cow::Borrowed(path))
    }

    /// Locks the folder of a file, through an open descriptor if one is given. `None` if the folder
    /// cannot be locked. `WouldBlock` if another process holds the lock.
    fn lock_folder(
        &self,
        path: &Path,
        held: Option<Arc<fs::File>>,
        lock: impl Fn(&fs::File) -> Result<(), fs::TryLockError>,
    ) -> io::Result<Option<Arc<fs::File>>> {
        #[cfg(unix)]
        {
            let (at, path) = self.place(path);
            let parent = path.parent().unwrap_or(&path);
            let open = || at::open_folder(at, parent).map(Arc::new);
            let folder = held.map_or_else(open, Ok)?;
            match taken(lock(&folder)) {
                Ok(()) => return Ok(Some(folder)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                // Some network file systems can lock files but not folders.
                Err(_) => {}
            }
        }
        #[cfg(windows)]
        let _ = (path, held, lock);
        Ok(None)
    }

    /// The held folder of a path, if there is one.
    fn folder_of(&self, path: &Path) -> Option<Arc<fs::File>> {
        let held = self.held.iter().rev().find(|held| path.starts_with(&held.root))?;
        at::folder_of(&held.folder)
    }
}

#[derive(Debug, Default)]
struct Tally {
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    syncs: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(crate::format::bytes::wide(count), Ordering::Relaxed);
}

impl Storage for Disk {
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        let folder = at::hold(self.place(dir))?;
        let mut disk = self.clone();
        disk.held.push(HeldFolder { root: dir.to_path_buf(), folder });
        Ok(Arc::new(disk))
    }

    fn is_at(&self, dir: &Path) -> io::Result<bool> {
        #[cfg(unix)]
        if let (Some(folder), _) = self.place(dir) {
            return match at::open_folder(None, dir) {
                Ok(now) => Ok(at::identity_of(&now, dir)? == at::identity_of(folder, dir)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
                Err(error) => Err(error),
            };
        }
        let _ = dir;
        Ok(true)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let (at, path) = self.place(dir);
        at::create_folder(at, &path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let (at, path) = self.place(dir);
        let mut entries = at::list(at, &path, dir)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        // The file is not opened, because opening anything but a regular file (a pipe, for example)
        // may block.
        let (at, path) = self.place(path);
        at::bytes_of(at, &path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let (at, path) = self.place(path);
        let (file, tally) = (at::open(at, &path, mode)?, Arc::clone(&self.tally));
        Ok(Arc::new(DiskFile { file, tally, is_unsynced: self.is_unsynced }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        at::rename(&self.place(from), &self.place(to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        at::rename_new(&self.place(from), &self.place(to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (at, path) = self.place(path);
        at::remove(at, &path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.tally.syncs.fetch_add(1, Ordering::Relaxed);
        let (at, path) = self.place(dir);
        at::sync_folder(at, &path)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let (at, name) = self.place(path);
        let file = at::open_lock(at, &name)?;
        taken(file.try_lock()).map_err(|error| held_here(error, &file, &name))?;
        let held = self.folder_of(path).filter(|_| name.parent() == Some(Path::new("")));
        let folder_lock = self.lock_folder(path, held, fs::File::try_lock)?;
        let registered = Registered::new(&file, &name)?;
        LockedFile::lock(file, folder_lock, self.folder_of(path), &name, Some(registered))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        let (at, name) = self.place(path);
        let file = match at::open(at, &name, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // There may be a writer whose lock file was removed: it still holds the lock of the
                // folder.
                self.lock_folder(path, None, fs::File::try_lock_shared)?;
                return Err(error);
            }
            opened => opened?,
        };
        taken(file.try_lock_shared())?;
        let folder_lock = self.lock_folder(path, None, fs::File::try_lock_shared)?;
        LockedFile::lock(file, folder_lock, self.folder_of(path), &name, None)
    }

    #[cfg(target_os = "linux")]
    fn lock_holder(&self, path: &Path) -> Option<String> {
        let (at, name) = self.place(path);
        let file = at::identity(at, &name).ok()?.in_proc_locks();
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let process = process_of_lock(&locks, &file)?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        Some(match name.trim_end() {
            "" => format!("process {process}"),
            name => format!("process {process}, {name}"),
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        at::link(&self.place(from), &self.place(to))
    }

    fn check_map(&self, path: &Path) -> io::Result<()> {
        let (at, name) = self.place(path);
        Map::from_file(&at::open(at, &name, OpenMode::Read)?).map(|_| ())
    }

    fn counters(&self) -> Counters {
        Counters {
            bytes_read: self.tally.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.tally.bytes_written.load(Ordering::Relaxed),
            syncs: self.tally.syncs.load(Ordering::Relaxed),
        }
    }
}

/// The process that holds a file locked exclusively, by the list in `/proc/locks`. `None` also if
/// it is in another container, whose processes have no numbers here.
#[cfg(target_os = "linux")]
fn process_of_lock<'a>(locks: &'a str, file: &str) -> Option<&'a str> {
    locks
        .lines()
        .find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            // A line with `->` is a process that waits.
            [_, "FLOCK", _, "WRITE", process, of, ..] if of == file => Some(process),
            _ => None,
        })
        .filter(|process| process.parse().is_ok_and(|process: u32| process > 0))
}

/// Converts the result of a lock attempt: an error if another process holds the lock.
fn taken(result: Result<(), fs::TryLockError>) -> io::Result<()> {
    result.map_err(|error| match error {
        fs::TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        fs::TryLockError::Error(error) => error,
    })
}

/// The lock files that this process holds for writing. Only the text of an error depends on it.
static HELD_HERE: Mutex<Vec<(u32, Identity)>> = Mutex::new(Vec::new());

/// Locks the list. `None` in a forked child if another thread of the parent held it at the fork:
/// then it is never released.
fn held_list() -> Option<MutexGuard<'static, Vec<(u32, Identity)>>> {
    // It is held for less than a microsecond.
    for _ in 0..if sys::forks() > 0 { 1_000 } else { 0 } {
        match HELD_HERE.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    (sys::forks() == 0).then(|| HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An entry of the list above; dropping it removes the entry.
struct Registered((u32, Identity));

impl Registered {
    fn new(file: &fs::File, path: &Path) -> io::Result<Self> {
        let entry = (std::process::id(), at::identity_of(file, path)?);
        if let Some(mut held) = held_list() {
            held.push(entry.clone());
        }
        Ok(Self(entry))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let Some(mut held) = held_list() else { return };
        if let Some(at) = held.iter().position(|entry| *entry == self.0) {
            held.swap_remove(at);
        }
    }
}

/// The error of a lock attempt; it wraps [`HeldHere`] if this very process holds the lock.
fn held_here(error: io::Error, file: &fs::File, path: &Path) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock
        && let Ok(identity) = at::identity_of(file, path)
        && held_list().is_some_and(|held| held.contains(&(std::process::id(), identity)))
    {
        return io::Error::new(io::ErrorKind::WouldBlock, HeldHere);
    }
    error
}

/// A locked file, and the path by which it was found.
struct LockedFile {
    file: fs::File,
    /// The entry of an exclusive lock.
    _registered: Option<Registered>,
    /// The lock of its folder, so that deleting the lock file does not release the lock. `None` if
    /// the system cannot lock folders.
    folder_lock: Option<Arc<fs::File>>,
    /// The process that took the lock. A forked child shares the open file, and thereby the lock.
    process: u32,
    #[cfg(unix)]
    name: (Option<Arc<fs::File>>, PathBuf, Identity),
}

impl LockedFile {
    /// Wraps a file that was just locked. `WouldBlock` if the file has lost its name meanwhile:
    /// another process would create and lock a new file with that name, and not see this lock.
    fn lock(
        file: fs::File,
        folder_lock: Option<Arc<fs::File>>,
        folder: Option<Arc<fs::File>>,
        path: &Path,
        registered: Option<Registered>,
    ) -> io::Result<Lock> {
        let process = std::process::id();
        #[cfg(unix)]
        let held = {
            let identity = at::identity_of(&file, path)?;
            let name = (folder, path.to_path_buf(), identity);
            Self { file, _registered: registered, folder_lock, process, name }
        };
        #[cfg(windows)]
        let held = {
            let _ = (folder, path);
            Self { file, _registered: registered, folder_lock, process }
        };
        let lock = Lock::new(held);
        match lock.check() {
            Ok(()) => Ok(lock),
            Err(error) if LockLost::from_io_error(&error).is_some() => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error),
        }
    }
}

impl FolderLock for LockedFile {
    fn check(&self) -> io::Result<()> {
        if std::process::id() != self.process {
            return Err(LockLost::Forked.into());
        }
        // On other systems, an open file cannot lose its name.
        #[cfg(unix)]
        {
            let (folder, name, identity) = &self.name;
            match at::identity(folder.as_deref(), name) {
                Ok(now) if now == *identity => {}
                Ok(_) => return Err(LockLost::Replaced.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(LockLost::Removed.into());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // In a forked child the lock belongs to the parent.
        if std::process::id() == self.process {
            // A child process shares the open file between its fork and its exec, so closing the
            // file here would not release the lock. If unlocking fails, the lock is released when
            // the last descriptor of the file is closed.
            let _ = self.file.unlock();
            let _ = self.folder_lock.as_ref().map(|folder| folder.unlock());
        }
    }
}

#[derive(Debug)]
struct DiskFile {
    file: fs::File,
    tally: Arc<Tally>,
    is_unsynced: bool,
}

impl File for DiskFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        add(&self.tally.bytes_read, buffer.len());
        at::read_exact_at(&self.file, buffer, offset)
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        sys::will_need(&self.file, offset, bytes);
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        add(&self.tally.bytes_written, buffer.len());
        at::write_all_at(&self.file, buffer, offset)
    }

    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        if self.is_unsynced { Ok(()) } else { sys::start_writing(&self.file, offset, bytes) }
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_unsynced {
            return Ok(());
        }
        self.tally.syncs.fetch_add(1, Ordering::Relaxed);
        // `fdatasync` syncs the content and the length; `File::sync` promises no more.
        self.file.sync_data()
    }

    fn map(&self) -> io::Result<Map> {
        Map::from_file(&self.file)
    }
}
