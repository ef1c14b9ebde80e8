//! A storage that refuses changes once the lock of the handle is lost.
//!
//! Reads still work. Every create, rename, remove and open for writing checks the lock first;
//! because this type does the check, no caller can forget it. After a shutdown the folder is
//! released, and all calls are refused.

use super::lock::{Lock, LockLost, LockPlace};
use super::{Counters, DirEntry, File, OpenMode, Storage};
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

/// The storage of an open index.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// `None` after the folder was released. The `RwLock` is held only while this field is read or
    /// set.
    storage: RwLock<Option<Arc<dyn Storage>>>,
    /// Empty after the end of the handle, which open files may outlive, and between the turns of a
    /// shared handle.
    lock: Arc<LockPlace>,
}

impl Guarded {
    pub(crate) fn by(lock: &Arc<LockPlace>, storage: Arc<dyn Storage>) -> Self {
        Self { storage: RwLock::new(Some(storage)), lock: Arc::clone(lock) }
    }

    fn storage(&self) -> io::Result<Arc<dyn Storage>> {
        let storage = match self.storage.try_read() {
            Ok(storage) => storage,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The folder is being released. (A forked child must not wait for that.)
            Err(TryLockError::WouldBlock) => return Err(LockLost::Released.into()),
        };
        storage.clone().ok_or_else(|| LockLost::Released.into())
    }

    /// The storage, if the lock is still held.
    fn checked(&self) -> io::Result<Arc<dyn Storage>> {
        self.lock.held().ok_or(LockLost::Released)?.check()?;
        self.storage()
    }
}

impl Storage for Guarded {
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        let storage = RwLock::new(Some(self.storage()?.hold(dir)?));
        Ok(Arc::new(Self { storage, lock: Arc::clone(&self.lock) }))
    }

    fn is_at(&self, dir: &Path) -> io::Result<bool> {
        self.storage()?.is_at(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.checked()?.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.storage()?.list(dir)
    }

    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        self.storage()?.bytes_of(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let storage = if mode == OpenMode::Read { self.storage() } else { self.checked() };
        storage?.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.checked()?.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.checked()?.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.checked()?.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.storage()?.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.storage()?.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.storage()?.lock_shared(path)
    }

    fn lock_holder(&self, path: &Path) -> Option<String> {
        self.storage().ok()?.lock_holder(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.checked()?.hard_link(from, to)
    }

    fn counters(&self) -> Counters {
        self.storage().map(|storage| storage.counters()).unwrap_or_default()
    }

    fn is_in_memory(&self) -> bool {
        self.storage().is_ok_and(|storage| storage.is_in_memory())
    }

    fn is_temporary(&self) -> bool {
        self.storage().is_ok_and(|storage| storage.is_temporary())
    }

    fn check_map(&self, path: &Path) -> io::Result<()> {
        self.storage()?.check_map(path)
    }

    fn release(&self) {
        *self.storage.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
