//! The guard of a file lock, and the check whether the lock is still valid.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, TryLockError};

/// Why a lock no longer excludes other writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    all(windows, not(any(test, fuzzing))),
    expect(dead_code, reason = "an open file keeps its name there")
)]
pub(crate) enum LockLost {
    /// This process was forked from the process that took the lock.
    Forked,
    /// The lock file was removed or moved, alone or with its folder.
    Removed,
    /// Another file has the name of the lock file.
    Replaced,
    /// The handle that took the lock has released it.
    Released,
}

impl fmt::Display for LockLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forked => "this process was forked from the one that opened the index",
            Self::Removed => "the folder or its lock file was removed",
            Self::Replaced => "the lock file was replaced by another one",
            Self::Released => "it was closed",
        })
    }
}

impl std::error::Error for LockLost {}

impl From<LockLost> for io::Error {
    fn from(lost: LockLost) -> Self {
        Self::other(lost)
    }
}

impl LockLost {
    /// How the lock was lost, if a lost lock caused this I/O error.
    pub(crate) fn from_io_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// The cause of a failed lock attempt: another handle of this process holds the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldHere;

impl fmt::Display for HeldHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another handle of this process holds the lock")
    }
}

impl std::error::Error for HeldHere {}

impl HeldHere {
    /// Whether this is the cause of an I/O error.
    pub(crate) fn caused(error: &io::Error) -> bool {
        error.get_ref().and_then(|cause| cause.downcast_ref::<Self>()).is_some()
    }
}

/// A held lock. Dropping it releases the lock.
pub(crate) trait FolderLock: Send + Sync {
    /// Checks that the locked file still has its name and that this process locked it. If not, the
    /// error wraps a [`LockLost`]; any other error comes from the operating system.
    fn check(&self) -> io::Result<()>;
}

/// A lock on a file. Held while this value lives.
pub(crate) struct Lock {
    guard: Box<dyn FolderLock>,
    lost: OnceLock<LockLost>,
}

impl Lock {
    pub(crate) fn new(guard: impl FolderLock + 'static) -> Self {
        Self { guard: Box::new(guard), lost: OnceLock::new() }
    }

    /// Whether the lock still excludes other writers. A lost lock stays lost, because another
    /// process may have written meanwhile.
    pub(crate) fn check(&self) -> io::Result<()> {
        if let Some(lost) = self.lost.get() {
            return Err((*lost).into());
        }
        let checked = self.guard.check();
        if let Some(lost) = checked.as_ref().err().and_then(LockLost::from_io_error) {
            self.lost.get_or_init(|| lost);
        }
        checked
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// The place of the lock of a handle: empty while the handle holds none. The handle, its storage
/// and its open files share it, so that all of them see when the lock is released.
#[derive(Debug, Default)]
pub(crate) struct LockPlace(RwLock<Option<Arc<Lock>>>);

impl LockPlace {
    pub(crate) fn holding(lock: Lock) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Some(Arc::new(lock)))))
    }

    /// The lock, if it is held now. While the result lives, the lock is not released.
    pub(crate) fn held(&self) -> Option<Arc<Lock>> {
        match self.0.try_read() {
            Ok(lock) => lock.clone(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().clone(),
            // The lock is being taken or released. (A forked child must not wait for that.)
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn set(&self, lock: Option<Arc<Lock>>) -> Option<Arc<Lock>> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), lock)
    }
}

/// Releases the lock of a handle when the handle is dropped. (Open files may outlive it.)
#[derive(Debug, Default)]
pub(crate) struct ReleaseOnDrop(pub(crate) Option<Arc<LockPlace>>);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        if let Some(place) = &self.0 {
            place.set(None);
        }
    }
}
