//! An in-memory storage, for an index that does not outlive its handle. It behaves like a disk, but
//! nothing is durable and no other process can open it.

use super::lock::{FolderLock, Lock, LockLost};
use super::{Counters, DirEntry, File, Map, OpenMode, Storage, forks, parent_of, watch_forks};
use crate::format::bytes::wide;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

/// Folders and files. They are freed with the last handle, file or map.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    nodes: Arc<Mutex<BTreeMap<PathBuf, Node>>>,
    is_locked: Arc<AtomicBool>,
    /// The number of forks when it was made.
    forks: u32,
}

impl Default for Memory {
    fn default() -> Self {
        watch_forks();
        Self { nodes: Arc::default(), is_locked: Arc::default(), forks: forks() }
    }
}

#[derive(Debug, Clone)]
enum Node {
    Folder,
    File(Arc<MemoryFile>),
}

impl Memory {
    /// A weak reference, to test whether anything still holds the storage.
    #[cfg(test)]
    pub(crate) fn weak(&self) -> std::sync::Weak<impl Sized + use<>> {
        Arc::downgrade(&self.nodes)
    }

    /// The length of all files together.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |node: &Node| match node {
            Node::Folder => 0,
            Node::File(file) => wide(file.content().len()),
        };
        self.nodes().map_or(0, |nodes| nodes.values().map(bytes).sum())
    }

    /// Locks the nodes. An error in a forked child if another thread of the parent held them at the
    /// fork: then they are never released.
    fn nodes(&self) -> io::Result<MutexGuard<'_, BTreeMap<PathBuf, Node>>> {
        // No critical section leaves the value inconsistent.
        if forks() == self.forks {
            return Ok(self.nodes.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.nodes.try_lock() {
            Ok(nodes) => Ok(nodes),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(LockLost::Forked.into()),
        }
    }
}

/// Whether the folder exists. The current folder always does.
fn is_folder(nodes: &BTreeMap<PathBuf, Node>, dir: &Path) -> bool {
    dir == Path::new(".") || matches!(nodes.get(dir), Some(Node::Folder))
}

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

fn file_at(nodes: &BTreeMap<PathBuf, Node>, path: &Path) -> io::Result<Arc<MemoryFile>> {
    match nodes.get(path) {
        Some(Node::File(file)) => Ok(Arc::clone(file)),
        Some(Node::Folder) => Err(io::ErrorKind::IsADirectory.into()),
        None => missing(),
    }
}

impl Storage for Memory {
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        if is_folder(&*self.nodes()?, dir) { Ok(Arc::new(self.clone())) } else { missing() }
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut nodes = self.nodes()?;
        if !is_folder(&nodes, parent_of(dir)) {
            return missing();
        }
        if nodes.contains_key(dir) || is_folder(&nodes, dir) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        nodes.insert(dir.to_path_buf(), Node::Folder);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let nodes = self.nodes()?;
        if !is_folder(&nodes, dir) {
            return missing();
        }
        let within = nodes.iter().filter(|(path, _)| parent_of(path) == dir);
        let entries = within.filter_map(|(path, node)| {
            let name = path.file_name()?.to_str()?.to_owned();
            Some(DirEntry { name, is_dir: matches!(node, Node::Folder) })
        });
        Ok(entries.collect())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut nodes = self.nodes()?;
        match file_at(&nodes, path) {
            Ok(file) => {
                if mode == OpenMode::Create {
                    file.set_bytes(0)?;
                }
                Ok(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && mode == OpenMode::Create => {
                if !is_folder(&nodes, parent_of(path)) {
                    return missing();
                }
                let file = Arc::new(MemoryFile::default());
                nodes.insert(path.to_path_buf(), Node::File(Arc::clone(&file)));
                Ok(file)
            }
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut nodes = self.nodes()?;
        let file = file_at(&nodes, from)?;
        nodes.remove(from);
        nodes.insert(to.to_path_buf(), Node::File(file));
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.hard_link(from, to)?;
        self.remove(from)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut nodes = self.nodes()?;
        file_at(&nodes, path)?;
        nodes.remove(path);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if is_folder(&*self.nodes()?, dir) { Ok(()) } else { missing() }
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.open(path, OpenMode::Create)?;
        if self.is_locked.swap(true, Ordering::AcqRel) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Lock::new(LockedName(Arc::clone(&self.is_locked))))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.bytes_of(path)?;
        // Within one process, a shared lock is held only during a check, so the exclusive lock can
        // take its place.
        self.lock(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut nodes = self.nodes()?;
        let file = file_at(&nodes, from)?;
        if nodes.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        nodes.insert(to.to_path_buf(), Node::File(file));
        Ok(())
    }

    /// All zeros: no operation reaches a disk.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn is_temporary(&self) -> bool {
        true
    }
}

/// The exclusive lock.
struct LockedName(Arc<AtomicBool>);

impl FolderLock for LockedName {
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LockedName {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A file. Maps share its bytes, because a mapped file is never written again.
#[derive(Debug, Default)]
struct MemoryFile(RwLock<Arc<Vec<u8>>>);

impl MemoryFile {
    fn content(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut content = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut content));
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

impl File for MemoryFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(wide(self.content().len()))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = content.get(place(offset)?..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let begin = place(offset)?;
        let end = begin.checked_add(buffer.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.change(|content| {
            if content.len() < end {
                content.resize(end, 0);
            }
            content[begin..end].copy_from_slice(buffer);
        });
        Ok(())
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let length = place(bytes)?;
        self.change(|content| {
            content.resize(length, 0);
            if length == 0 {
                content.shrink_to_fit();
            }
        });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn map(&self) -> io::Result<Map> {
        Ok(Map::Heap(self.content()))
    }
}
