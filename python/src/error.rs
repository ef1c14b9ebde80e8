//! Converts the library's errors, and panics, to Python exceptions.
//!
//! The exception classes are defined in Python (`nearkin/_errors.py`) and found here by name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearkin::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::{events, interrupt};

pyo3::import_exception!(nearkin._errors, InvalidError);

/// The exception classes in `nearkin._errors` for kinds of errors.
const CLASSES: [(ErrorKind, &str); 16] = [
    (ErrorKind::Invalid, "InvalidError"),
    (ErrorKind::Empty, "EmptyError"),
    (ErrorKind::NotFound, "NotFoundError"),
    (ErrorKind::NoSuchKey, "MissingKeyError"),
    (ErrorKind::Exists, "ExistsError"),
    (ErrorKind::Closed, "ClosedError"),
    (ErrorKind::Mismatch, "MismatchError"),
    (ErrorKind::Locked, "LockedError"),
    (ErrorKind::Unsettled, "UnsettledError"),
    (ErrorKind::Unsupported, "UnsupportedError"),
    (ErrorKind::Corrupt, "CorruptError"),
    (ErrorKind::Io, "StorageError"),
    (ErrorKind::Unknown, "UnknownOutcomeError"),
    (ErrorKind::Poisoned, "PoisonedError"),
    (ErrorKind::Cancelled, "CancelledError"),
    (ErrorKind::Other, "Error"),
];

/// The exception class for a kind of error.
fn class_of(kind: ErrorKind) -> &'static str {
    CLASSES.iter().find(|(known, _)| *known == kind).map_or("Error", |(_, class)| class)
}

/// By the name of each exception class: what to do about it.
#[pyfunction]
pub(crate) fn _advice() -> Vec<(&'static str, &'static str)> {
    CLASSES.iter().map(|(kind, class)| (*class, kind.advice())).collect()
}

/// An exception of `nearkin._errors`, by name.
pub(crate) fn raise(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import("nearkin._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((message,)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// Converts an error of the library; appends the system's message.
pub(crate) fn from_engine(py: Python<'_>, error: &Error) -> PyErr {
    let mut message = message_of(error);
    if error.kind() == ErrorKind::Locked && message.contains("this process") {
        // A cell of a notebook that was run twice.
        message += ": `ix.close()`, or open it by `with nk.Index(...) as ix:`";
    }
    raise(py, class_of(error.kind()), &message)
}

/// An error of a call that got the documents of these rows, as one about a row of the caller's
/// column of `count` rows.
pub(crate) fn at_row(error: Error, rows: &[usize], count: usize) -> Error {
    match error.position().and_then(|at| rows.get(at)?.checked_sub(at)) {
        Some(before) => error.in_part(before, count),
        None => error,
    }
}

/// The message of an error, followed by those of its causes.
pub(crate) fn message_of(error: &Error) -> String {
    error.full_message()
}

/// Like [`from_engine`], but "not found" means a missing key, not a missing path: a `KeyError`.
pub(crate) fn from_engine_by_key(py: Python<'_>, error: &Error) -> PyErr {
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NoSuchKey) {
        return raise(py, "MissingKeyError", &error.to_string());
    }
    from_engine(py, error)
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "no message".to_owned())
}

/// Converts a panic to a `BugError`; if a function of the caller raised it, to its exception.
pub(crate) fn from_panic(py: Python<'_>, panic: Box<dyn std::any::Any + Send>) -> PyErr {
    match panic.downcast::<PyErr>() {
        Ok(raised) => *raised,
        Err(panic) => {
            let text = panic_text(&*panic);
            let report = "this is a bug in nearkin: please report it with this message";
            raise(py, "BugError", &format!("{text}; {report}"))
        }
    }
}

/// Runs `work` without the interpreter lock. A panic becomes a `BugError`; if a function of the
/// caller ended it by an exception, that is raised. So is the exception of a signal handler, at
/// which `work` ends early: see `interrupt`.
pub(crate) fn unlocked<R, F>(py: Python<'_>, work: F) -> PyResult<R>
where
    F: Send + FnOnce() -> R,
    R: Send,
{
    // This is unwind safe: after a panic, only the library's own state can be inconsistent, and the
    // library checks that itself.
    let outer = interrupt::begin();
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let interrupted = interrupt::end(outer);
    events::log(py);
    match (done, interrupted) {
        (Err(panic), _) => Err(from_panic(py, panic)),
        (Ok(_), Some(raised)) => Err(raised),
        (Ok(done), None) => Ok(done),
    }
}

/// Like [`unlocked`], for work that may return an error of the library.
pub(crate) fn engine<R, F>(py: Python<'_>, work: F) -> PyResult<R>
where
    F: Send + FnOnce() -> Result<R, Error>,
    R: Send,
{
    unlocked(py, work)?.map_err(|error| from_engine(py, &error))
}
