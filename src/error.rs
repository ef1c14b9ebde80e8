//! The one error type: a kind to act on, a message for a person, and the cause.
//!
//! Knows nothing of files or formats: the caller says what failed, where, and what to do.

use crate::storage::lock::LockLost;
use std::fmt;
use std::io;
use std::path::Path;

type Cause = Box<dyn std::error::Error + Send + Sync>;

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
    /// No document has this key. Insert it, or treat it as absent; the index is sound.
    NoSuchKey,
    /// There is an index at the path where one was to be made. Open it, or choose another path.
    Exists,
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
    ///
    /// After [`Index::shutdown`](crate::Index::shutdown) every call of the handle is refused so,
    /// reads too.
    Closed,
    /// The operation was cancelled by its caller's callback. Nothing was changed by it.
    Cancelled,
    /// A closure of the caller failed, and said so by [`Error::other`]. What to do is the
    /// caller's to know: [`Error::get_ref`] is the error that it returned.
    Other,
}

impl ErrorKind {
    /// The kind as one word, for logs, metrics and protocols: it never changes.
    ///
    /// ```
    /// assert_eq!(nearkin::ErrorKind::NoSuchKey.as_str(), "no_such_key");
    /// assert_eq!(nearkin::ErrorKind::Io.to_string(), "io");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Empty => "empty",
            Self::NotFound => "not_found",
            Self::NoSuchKey => "no_such_key",
            Self::Exists => "exists",
            Self::Mismatch => "mismatch",
            Self::Locked => "locked",
            Self::Unsettled => "unsettled",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Unknown => "unknown",
            Self::Poisoned => "poisoned",
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

fn why_closed(lost: LockLost) -> String {
    let what = match lost {
        LockLost::Forked => "open the index in this process",
        LockLost::Removed | LockLost::Replaced | LockLost::Released => "open the index again",
    };
    let so = if lost == LockLost::Released { "is of no more use" } else { "writes nothing more" };
    format!("this handle {so}: {lost}; {what}")
}

/// What went wrong: see [`Error::kind`] for what to do about it.
///
/// Its `Display` is one line that ends with the cause, so that `{error}` is enough in a log. As
/// with [`std::io::Error`], `source()` is therefore what lies behind the cause, and a report that
/// prints the whole chain says nothing twice; [`Error::get_ref`] is the cause itself.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    cause: Option<Cause>,
}

// What a cause holds is only ever read.
impl std::panic::UnwindSafe for Error {}
impl std::panic::RefUnwindSafe for Error {}

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// An error of a closure that the caller hands in, as [`Fetch`](crate::Fetch): it comes back
    /// from the call that was under way, of kind [`ErrorKind::Other`].
    ///
    /// ```
    /// use nearkin::{Error, ErrorKind};
    ///
    /// let error = Error::other(std::io::Error::from(std::io::ErrorKind::TimedOut));
    /// assert_eq!(error.kind(), ErrorKind::Other);
    /// assert_eq!(error.to_string(), "timed out");
    /// assert_eq!(error.io_kind(), Some(std::io::ErrorKind::TimedOut));
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Other, "").caused_by(error)
    }

    /// What the operating system said, if it lies behind this error: a full disk is
    /// [`StorageFull`](std::io::ErrorKind::StorageFull).
    ///
    /// ```
    /// let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    /// let error = nearkin::Error::other(full);
    /// assert_eq!(error.io_kind(), Some(std::io::ErrorKind::StorageFull));
    /// assert_eq!(nearkin::Error::other("no such row").io_kind(), None);
    /// ```
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> =
            self.get_ref().map(|cause| cause as _);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Some(error.kind());
            }
            if let Some(error) = error.downcast_ref::<Self>() {
                return error.io_kind();
            }
            cause = error.source();
        }
        None
    }

    /// The cause, if there is one: of kind [`ErrorKind::Other`] the error that the caller's
    /// closure returned.
    pub fn get_ref(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.inner.cause.as_deref()
    }

    /// The same, to keep.
    ///
    /// ```
    /// let error = nearkin::Error::other("no such file in the archive");
    /// assert_eq!(error.into_inner().unwrap().to_string(), "no such file in the archive");
    /// ```
    pub fn into_inner(self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.inner.cause
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), cause: None }) }
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

    pub(crate) fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        self.inner.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        match &self.inner.cause {
            Some(cause) if self.inner.message.is_empty() => write!(f, "{cause}"),
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.cause.as_ref()?.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    fn not_allowed() -> io::Error {
        io::Error::from(io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn an_error_is_one_line_with_its_cause_and_a_chain_says_nothing_twice() {
        let error = Error::io("read", Path::new("/x/catalog.redb"), not_allowed());
        assert_eq!(error.to_string(), "cannot read /x/catalog.redb: permission denied");
        assert_eq!(format!("{error:?}"), "Io: cannot read /x/catalog.redb: permission denied");
        assert!(error.source().is_none(), "it was said");
        assert_eq!(error.io_kind(), Some(io::ErrorKind::PermissionDenied));
        let behind = Error::new(ErrorKind::Unsettled, "it changes too fast").caused_by(error);
        let line = "it changes too fast: cannot read /x/catalog.redb: permission denied";
        assert_eq!(behind.to_string(), line);
        assert_eq!(behind.io_kind(), Some(io::ErrorKind::PermissionDenied));
        let cause = behind.into_inner().expect("there is a cause");
        assert_eq!(cause.downcast::<Error>().expect("one of ours").kind(), ErrorKind::Io);
    }

    #[test]
    fn an_error_of_the_caller_comes_back_as_it_was() {
        let error = Error::other(io::Error::other(not_allowed()));
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Other, "permission denied")
        );
        assert_eq!(error.io_kind(), Some(io::ErrorKind::Other));
        assert!(error.get_ref().and_then(|cause| cause.downcast_ref::<io::Error>()).is_some());
        let plain = Error::invalid("limit must be a number");
        assert!(plain.io_kind().is_none() && plain.get_ref().is_none());
        assert_eq!(plain.to_string(), "limit must be a number");
    }
}
