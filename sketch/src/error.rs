//! The error type of this crate and of `nearkin`, which builds on it. An error has a kind to act
//! on, a message for people, and a cause.
//!
//! The code that creates an error says what failed, where, and what to do.

use super::excerpt::Excerpt;
use std::fmt;
use std::io;
use std::path::Path;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The kind of an [`Error`]. Each kind calls for a different reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is out of range. Nothing was written. Fix the call.
    Invalid,
    /// The text is blank, or the set has no items, so there is nothing to compare. Nothing was
    /// written; a stored document with the same key stays. Skip the text or set.
    Empty,
    /// There is no index at this path. Create one, or correct the path.
    NotFound,
    /// No document has this key. Insert it, or treat it as absent; the index is sound.
    NoSuchKey,
    /// There is already an index at this path. Open it, or choose another path.
    Exists,
    /// The parameters of the index differ from the requested ones, or from those of a signature;
    /// the message lists the differences. Use the parameters of the index, or rebuild it. For a
    /// reader: the path now leads to another index. Open it again.
    Mismatch,
    /// Another handle, in this process or another, is writing to this index, or a backup is being
    /// written to this folder. Wait, or close the other handle.
    Locked,
    /// The index changed repeatedly while this reader opened it, or while a newcomer was compared
    /// with documents like it. Nothing was written for that newcomer. Try again.
    Unsettled,
    /// A newer version wrote the files; they are intact: upgrade. Or the file system does not
    /// support memory maps, and the message says so: use `ReadMode::Pread`.
    Unsupported,
    /// Stored data are damaged; the message names the file and the offset. Restore a backup, or
    /// rebuild the index.
    Corrupt,
    /// The operating system reported an error. The change was certainly not written, and the handle
    /// stays usable. Remove the cause (often a full disk) and try again.
    Io,
    /// The change was appended, but its sync failed: after a power cut, the index may or may not
    /// contain it. Reopen the index and check.
    Unknown,
    /// An earlier sync failed, so this handle refuses all writes. This change was certainly not
    /// written. Reads still work. Reopen the index.
    Poisoned,
    /// This handle refuses all writes because it is no longer the only writer: the folder or its
    /// lock file was removed or replaced, or the process was forked after opening. The change was
    /// certainly not written. Reads still work. Open the index again.
    ///
    /// After `Index::shutdown`, every call of the handle returns this kind, even reads. So do reads
    /// in a child process that was forked while another thread was writing.
    Closed,
    /// A callback of the caller cancelled the operation, which changed nothing.
    Cancelled,
    /// A closure of the caller returned [`Error::other`], or the caller's own I/O failed (`?` on a
    /// [`std::io::Error`]). [`Error::get_ref`] returns the error that was wrapped.
    Other,
}

impl ErrorKind {
    /// The kind as one word, for logs, metrics and protocols. The word of a kind never changes.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
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

    /// What to do about an error of this kind, in one line. For programs that show errors to
    /// people: the message says what happened, the advice what to do.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// assert_eq!(nearkin::ErrorKind::Poisoned.advice(), "reopen the index");
    /// ```
    pub fn advice(self) -> &'static str {
        match self {
            Self::Invalid => "fix the arguments of the call",
            Self::Empty => "skip this text or set",
            Self::NotFound => "create the index, or correct the path",
            Self::NoSuchKey => "insert the document, or treat it as absent",
            Self::Exists => "open the index, or choose another path or key",
            Self::Mismatch => "use the parameters of the index, or rebuild it",
            Self::Locked => "wait, close the other handle, or open a reader",
            Self::Unsettled => "try again",
            Self::Unsupported => "upgrade, or set read_mode=pread if the message says so",
            Self::Corrupt => "restore a backup, or rebuild the index",
            Self::Io => "remove the cause, often a full disk, and try again",
            Self::Unknown => "reopen the index and check the last change",
            Self::Poisoned => "reopen the index",
            Self::Closed => "open the index again",
            Self::Cancelled => "try again with more time",
            Self::Other => "see the message",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error of every fallible function. [`Error::kind`] says how to react.
///
/// `Display` prints one line that ends with the cause, so `{error}` is enough for a log. Therefore
/// `source()` returns the source of the cause, as for [`std::io::Error`]: a report that prints the
/// whole chain repeats nothing. [`Error::get_ref`] returns the cause itself.
pub struct Error {
    inner: Box<ErrorParts>,
}

struct ErrorParts {
    kind: ErrorKind,
    message: String,
    cause: Option<Cause>,
    element: Option<Element>,
}

/// The element of a call with several that an error is about.
struct Element {
    /// "document" or "query".
    what: &'static str,
    number: usize,
    /// The number of elements of the call.
    count: usize,
    key: Option<Box<[u8]>>,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, number, key, .. } = self;
        write!(f, "{what} {number} (counted from 0)")?;
        key.as_ref().map_or(Ok(()), |key| write!(f, ", key {:?}", Excerpt(key)))
    }
}

// The cause is only read, so a panic cannot leave it inconsistent.
impl std::panic::UnwindSafe for Error {}
impl std::panic::RefUnwindSafe for Error {}

/// The result of every fallible function.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The kind, which says how to react.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What to do about the error, in one line: see [`ErrorKind::advice`].
    pub fn advice(&self) -> &'static str {
        self.inner.kind.advice()
    }

    /// The message with all causes, on one line: what `Display` prints, and then each
    /// [`source`](std::error::Error::source). For programs that pass errors on as text.
    pub fn full_message(&self) -> String {
        let mut message = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(source) = cause {
            message.push_str(": ");
            message.push_str(&source.to_string());
            cause = source.source();
        }
        message
    }

    /// Wraps an error of the caller's own closure, such as a `Fetch`. The call that
    /// runs the closure returns the wrapped error, with the kind [`ErrorKind::Other`].
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
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

    /// The kind of the operating system's error, if one caused this error. A full disk is
    /// [`StorageFull`](std::io::ErrorKind::StorageFull).
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
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

    /// The cause, if there is one. If the kind is [`ErrorKind::Other`], the cause is the error that
    /// the caller's closure wrapped.
    pub fn get_ref(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.inner.cause.as_deref()
    }

    /// Returns the cause by value.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// let error = nearkin::Error::other("no such file in the archive");
    /// assert_eq!(error.into_inner().unwrap().to_string(), "no such file in the archive");
    /// ```
    pub fn into_inner(self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.inner.cause
    }

    /// An error of this kind, without a cause. The message says what failed, where, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (message, cause, element) = (message.into(), None, None);
        Self { inner: Box::new(ErrorParts { kind, message, cause, element }) }
    }

    /// An error that concerns a file or folder.
    pub fn about(kind: ErrorKind, path: &Path, what: impl fmt::Display) -> Self {
        Self::new(kind, format!("{}: {what}", path.display()))
    }

    /// An error for an argument that is out of range.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// An error for damaged data: says `what` is wrong in `file` at `offset`.
    pub fn corrupt(file: &Path, offset: u64, what: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::Corrupt,
            format!("{}: {what}, at byte {offset}; restore a backup or rebuild", file.display()),
        )
    }

    /// This error, about one document (or operation on a document) of a call with `count` of them.
    /// If there are several, `Display` begins with its number and its key.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// use nearkin::Error;
    ///
    /// let error = Error::invalid("a key has 1 to 4096 bytes, not 0").of_document(1, 3, b"");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "document 1 (counted from 0), key \"\": a key has 1 to 4096 bytes, not 0"
    /// );
    /// assert_eq!((error.position(), error.key()), (Some(1), Some(&b""[..])));
    /// ```
    #[must_use]
    pub fn of_document(mut self, number: usize, count: usize, key: &[u8]) -> Self {
        let key = Some(key.into());
        self.inner.element = Some(Element { what: "document", number, count, key });
        self
    }

    /// This error, about one query of a call with `count` of them.
    #[must_use]
    pub fn of_query(mut self, number: usize, count: usize) -> Self {
        self.inner.element = Some(Element { what: "query", number, count, key: None });
        self
    }

    /// This error of a call that got a part of the elements of a larger call: those from the number
    /// `begin` on, of `count`. An error that is about no single element stays as it is.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # use nearkin::Error;
    /// let error = Error::invalid("a key has 1 to 4096 bytes, not 0").of_document(0, 1, b"");
    /// let error = error.in_part(1_000, 1_001);
    /// assert_eq!(error.position(), Some(1_000));
    /// assert!(error.to_string().starts_with("document 1000 (counted from 0), key \"\": "));
    /// ```
    #[must_use]
    pub fn in_part(mut self, begin: usize, count: usize) -> Self {
        if let Some(element) = &mut self.inner.element {
            element.number = element.number.saturating_add(begin);
            element.count = count;
        }
        self
    }

    /// The number of the element that the error is about, counted from 0: the operation of a batch,
    /// the newcomer, the document or the query. `None` if the error is about the whole call.
    pub fn position(&self) -> Option<usize> {
        self.inner.element.as_ref().map(|element| element.number)
    }

    /// The key of the document that the error is about, if it is about one of several.
    pub fn key(&self) -> Option<&[u8]> {
        self.inner.element.as_ref()?.key.as_deref()
    }

    /// This error with a cause, which `Display` prints after the message.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        self.inner.cause = Some(cause.into());
        self
    }
}

/// For `?` on the caller's own I/O, beside calls of this crate: wraps the error as
/// [`Error::other`] does.
///
/// ```
/// # use nearkin_sketch as nearkin;
/// use nearkin::{ErrorKind, Sketcher, Signature};
///
/// fn sketch_file(sketch: &Sketcher, path: &str) -> nearkin::Result<Signature> {
///     sketch.text(&std::fs::read_to_string(path)?)
/// }
/// # let sketch = Sketcher::new(&nearkin::Params::for_threshold(0.7).build().unwrap());
/// let error = sketch_file(&sketch, "no/such/file").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Other);
/// assert_eq!(error.io_kind(), Some(std::io::ErrorKind::NotFound));
/// ```
// Not for `nearkin` itself, whose errors name the file.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::other(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(element) = self.inner.element.as_ref().filter(|element| element.count > 1) {
            write!(f, "{element}: ")?;
        }
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
    fn an_error_is_one_line_and_its_chain_repeats_nothing() {
        let error =
            Error::new(ErrorKind::Io, "cannot read /x/catalog.redb").caused_by(not_allowed());
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
