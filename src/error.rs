//! Errors about files and locks. Their type is that of `nearkin-sketch`, for whatever goes wrong.

use crate::storage::lock::LockLost;
use crate::{Error, ErrorKind, Result};
use std::io;
use std::path::Path;

fn why_closed(lost: LockLost) -> String {
    let what = match lost {
        LockLost::Forked => "open the index in this process",
        LockLost::Removed | LockLost::Replaced | LockLost::Released => "open the index again",
    };
    let so = if lost == LockLost::Released { "is of no more use" } else { "writes nothing more" };
    format!("this handle {so}: {lost}; {what}")
}

/// An I/O error with the message "cannot `doing` `file`".
pub(crate) fn io_error(doing: &str, file: &Path, source: io::Error) -> Error {
    if let Some(lost) = LockLost::from_io_error(&source) {
        let message = format!("cannot {doing} {}: {}", file.display(), why_closed(lost));
        return Error::new(ErrorKind::Closed, message);
    }
    Error::new(ErrorKind::Io, format!("cannot {doing} {}", file.display())).caused_by(source)
}

/// The error for a handle that is no longer the writer of `dir`.
pub(crate) fn closed_error(dir: &Path, lost: LockLost) -> Error {
    Error::about(ErrorKind::Closed, dir, why_closed(lost))
}

/// Names the file of a failed operation.
pub(crate) trait OrIo<T> {
    /// `doing` completes "cannot DOING FILE".
    fn or_io(self, doing: &str, file: &Path) -> Result<T>;
}

impl<T> OrIo<T> for io::Result<T> {
    fn or_io(self, doing: &str, file: &Path) -> Result<T> {
        self.map_err(|error| io_error(doing, file, error))
    }
}
