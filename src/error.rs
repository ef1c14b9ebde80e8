//! The one error type: a kind to act on, a message for a person, and the cause.
//!
//! Knows nothing of files or formats; whoever fails says what, where and what to do.

use crate::storage::lock::LockLost;
use std::fmt;
use std::path::Path;

/// What [`Error`] means for the caller: each kind is a different thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is out of its range. Nothing was written. Fix the call.
    Invalid,
    /// The text or set has no shingle at all, so there is nothing to compare. Nothing was
    /// written; a document replaced by it keeps its old version. Skip it.
    Empty,
    /// There is no index at this path. Create one, or correct the path.
    NotFound,
    /// The index has other parameters, or a signature was made with others: the message says
    /// which differ. Open with the index's own, or rebuild. Or, beneath a reader, it is another
    /// index by now: open that one anew.
    Mismatch,
    /// Another handle, in this process or another, writes to this index, and so does what was asked
    /// for. Wait, or close that one. Or a backup is just being made in this folder.
    Locked,
    /// A writer changed the index again and again while this reader looked. Try again.
    Unsettled,
    /// The files were written by a newer version. Upgrade; nothing is wrong with them.
    Unsupported,
    /// Bytes that were once durable are damaged. Restore a backup or rebuild; the message names
    /// file and offset.
    Corrupt,
    /// The operating system refused. The change named was certainly not written, and the handle
    /// stays usable: remove the cause (often a full disk) and try again.
    Io,
    /// The change was appended but its sync failed: after a power cut it may or may not be
    /// there. Reopen the index and look.
    Unknown,
    /// An earlier sync failed, so this handle writes nothing more; this change was certainly not
    /// written. Reads go on. Reopen the index.
    Poisoned,
    /// This handle writes nothing more, because it no longer is the index's one writer: the folder
    /// or its lock file was removed or replaced, or this process was forked from the one that
    /// opened it. The change was certainly not written. Reads go on. Open the index again.
    Closed,
    /// The operation was cancelled by its caller's callback. Nothing was changed by it.
    Cancelled,
}

fn why_closed(lost: LockLost) -> String {
    let what = match lost {
        LockLost::Forked => "open the index in this process",
        LockLost::Removed | LockLost::Replaced | LockLost::Released => "open the index again",
    };
    format!("this handle writes nothing more: {lost}; {what}")
}

/// What went wrong: see [`Error::kind`] for what to do about it.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), source: None }) }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Damage: `what` is wrong in `file` at `offset`.
    pub(crate) fn corrupt(file: &Path, offset: u64, what: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::Corrupt,
            format!("{}: {what}, at byte {offset}; restore a backup or rebuild", file.display()),
        )
    }

    /// The operating system refused `doing` (as in "cannot <doing> <file>").
    pub(crate) fn io(doing: &str, file: &Path, source: std::io::Error) -> Self {
        if let Some(lost) = LockLost::of(&source) {
            let message = format!("cannot {doing} {}: {}", file.display(), why_closed(lost));
            return Self::new(ErrorKind::Closed, message);
        }
        Self::new(ErrorKind::Io, format!("cannot {doing} {}", file.display())).caused_by(source)
    }

    /// The handle of the index in `dir` is no longer its writer.
    pub(crate) fn closed(dir: &Path, lost: LockLost) -> Self {
        Self::new(ErrorKind::Closed, format!("{}: {}", dir.display(), why_closed(lost)))
    }

    pub(crate) fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.inner.source = Some(source.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.inner.kind, self.inner.message)?;
        match &self.inner.source {
            Some(source) => write!(f, " ({source})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}
