//! The guard of a file lock, and whether the lock is still what it was. Knows nothing of what it
//! guards.

use std::fmt;
use std::io;
use std::sync::OnceLock;

/// Why a lock that was taken no longer keeps other writers out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockLost {
    /// This process is a forked copy of the one that took the lock.
    Forked,
    /// No file has the lock's name: it was removed or moved away, alone or with its folder.
    Removed,
    /// Another file has the lock's name.
    Replaced,
    /// The handle that took the lock has released it.
    Released,
}

impl fmt::Display for LockLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forked => "this process was forked from the one that opened the index",
            Self::Removed => "the folder or its lock file was removed",
            Self::Replaced => "another lock file has taken the place of this handle's",
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
    /// The lost lock that made a call fail, if that is why it failed.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// What holds a lock; dropping it releases the lock.
pub(crate) trait Guard: Send + Sync {
    /// Whether the file that is locked still has the name under which it was locked, and this
    /// process is the one that locked it: else the error is a [`LockLost`]. Another one is the
    /// system's, which could not tell.
    fn check(&self) -> io::Result<()>;
}

/// A lock on a file. Held while this value lives.
pub(crate) struct Lock {
    guard: Box<dyn Guard>,
    lost: OnceLock<LockLost>,
}

impl Lock {
    pub(crate) fn new(guard: impl Guard + 'static) -> Self {
        Self { guard: Box::new(guard), lost: OnceLock::new() }
    }

    /// Whether it still keeps other writers out. Once it did not, it never does again: what was
    /// written meanwhile is unknown.
    pub(crate) fn check(&self) -> io::Result<()> {
        if let Some(lost) = self.lost.get() {
            return Err((*lost).into());
        }
        let checked = self.guard.check();
        if let Some(lost) = checked.as_ref().err().and_then(LockLost::of) {
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
