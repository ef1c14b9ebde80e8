//! A storage whose changes are refused once the lock of the handle is lost.
//!
//! Reads go on. Nothing is created, renamed, removed or opened for writing unless the lock was
//! checked just before: whoever forgets the check cannot get past this type.

use super::lock::{Lock, LockLost};
use super::{Counters, Entry, File, OpenMode, Storage};
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

/// The storage of one open index.
#[derive(Debug)]
pub(crate) struct Guarded {
    storage: Arc<dyn Storage>,
    /// Weak: files that outlive the handle hold their storage, and must not keep its lock.
    lock: Weak<Lock>,
}

impl Guarded {
    pub(crate) fn by(lock: &Arc<Lock>, storage: Arc<dyn Storage>) -> Self {
        Self { storage, lock: Arc::downgrade(lock) }
    }

    fn check(&self) -> io::Result<()> {
        let lock = self.lock.upgrade().ok_or(LockLost::Released)?;
        lock.check()
    }
}

impl Storage for Guarded {
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::new(Self { storage: self.storage.hold(dir)?, lock: Weak::clone(&self.lock) }))
    }

    fn is_at(&self, dir: &Path) -> io::Result<bool> {
        self.storage.is_at(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.check()?;
        self.storage.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.storage.list(dir)
    }

    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        self.storage.bytes_of(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode != OpenMode::Read {
            self.check()?;
        }
        self.storage.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check()?;
        self.storage.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check()?;
        self.storage.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check()?;
        self.storage.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.storage.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.storage.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.storage.lock_shared(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check()?;
        self.storage.hard_link(from, to)
    }

    fn counters(&self) -> Counters {
        self.storage.counters()
    }
}
