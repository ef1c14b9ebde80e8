//! A storage for an index that does not outlive its handle: in memory while it is small, then in a
//! folder of the disk. Nothing is synced.
//!
//! A file stays where it was created. Moving files when they grow would be more code than it saves:
//! segments are never written again, and merges create new ones.

use super::lock::Lock;
use super::{Counters, DirEntry, Disk, File, Memory, OpenMode, Storage, parent_of};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The folder in memory that stands for the root.
const ROOT: &str = "scratch";

/// Files of one folder, which are in memory until they take `memory_bytes` together. Later files
/// are on disk; only then the folder is created.
#[derive(Debug, Clone)]
pub(crate) struct ScratchStorage {
    root: PathBuf,
    memory: Memory,
    disk: Disk,
    memory_bytes: u64,
    is_on_disk: Arc<AtomicBool>,
}

impl ScratchStorage {
    pub(crate) fn new(root: &Path, memory_bytes: u64) -> Self {
        let (memory, disk, is_on_disk) = (Memory::default(), Disk::unsynced(), Arc::default());
        Self { root: root.to_path_buf(), memory, disk, memory_bytes, is_on_disk }
    }

    /// The path in memory. `None` for a path outside the root.
    fn inner(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.root).ok()?;
        let root = Path::new(ROOT);
        // An empty path that is joined would add a separator.
        Some(if rest.as_os_str().is_empty() { root.to_path_buf() } else { root.join(rest) })
    }

    fn within(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner(path).ok_or_else(|| io::ErrorKind::PermissionDenied.into())
    }

    fn is_on_disk(&self) -> bool {
        self.is_on_disk.load(Ordering::Acquire)
    }

    /// Whether the memory has a file of this name.
    fn is_in_memory(&self, inner: &Path) -> bool {
        self.memory.bytes_of(inner).is_ok()
    }

    /// Creates a file on disk, and the folders above it.
    fn create_on_disk(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        match self.disk.open(path, OpenMode::Create) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folders(parent_of(path))?;
                self.disk.open(path, OpenMode::Create)
            }
            opened => opened,
        }
    }

    fn create_folders(&self, dir: &Path) -> io::Result<()> {
        match self.disk.create_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && parent_of(dir) != dir => {
                self.create_folders(parent_of(dir))?;
                self.disk.create_dir(dir)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }
}

impl Storage for ScratchStorage {
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        self.memory.hold(&self.within(dir)?)?;
        Ok(Arc::new(self.clone()))
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.memory.create_dir(&self.within(dir)?)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        // Folders above the root are of no interest.
        let Some(inner) = self.inner(dir) else { return Ok(Vec::new()) };
        let entries = self.memory.list(&inner)?.into_iter();
        let mut all: BTreeMap<String, bool> = entries.map(|one| (one.name, one.is_dir)).collect();
        if self.is_on_disk() {
            match self.disk.list(dir) {
                Ok(entries) => all.extend(entries.into_iter().map(|one| (one.name, one.is_dir))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all.into_iter().map(|(name, is_dir)| DirEntry { name, is_dir }).collect())
    }

    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        match self.memory.bytes_of(&self.within(path)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_on_disk() => {
                self.disk.bytes_of(path)
            }
            bytes => bytes,
        }
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let inner = self.within(path)?;
        if self.is_in_memory(&inner) {
            return self.memory.open(&inner, mode);
        }
        if mode == OpenMode::Create {
            if !self.is_on_disk() && self.memory.bytes() < self.memory_bytes {
                return self.memory.open(&inner, mode);
            }
            self.is_on_disk.store(true, Ordering::Release);
            return self.create_on_disk(path);
        }
        if self.is_on_disk() {
            return self.disk.open(path, mode);
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (inner_from, inner_to) = (self.within(from)?, self.within(to)?);
        if self.is_in_memory(&inner_from) {
            self.memory.rename(&inner_from, &inner_to)?;
            return if self.is_on_disk() { remove_if_any(&self.disk, to) } else { Ok(()) };
        }
        self.disk.rename(from, to)?;
        remove_if_any(&self.memory, &inner_to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.bytes_of(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let inner = self.within(path)?;
        if self.is_in_memory(&inner) || !self.is_on_disk() {
            return self.memory.remove(&inner);
        }
        self.disk.remove(path)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.memory.lock(&self.within(path)?)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.memory.lock_shared(&self.within(path)?)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (inner_from, inner_to) = (self.within(from)?, self.within(to)?);
        if self.is_in_memory(&inner_from) {
            return self.memory.hard_link(&inner_from, &inner_to);
        }
        self.disk.hard_link(from, to)
    }

    fn counters(&self) -> Counters {
        self.disk.counters()
    }

    fn is_in_memory(&self) -> bool {
        !self.is_on_disk()
    }

    fn is_temporary(&self) -> bool {
        true
    }
}

fn remove_if_any(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match storage.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
