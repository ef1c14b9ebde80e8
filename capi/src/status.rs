//! The outcome of a call: a status for the caller's code, a message and advice for people.

use engine::ErrorKind;
use std::ffi::{CStr, CString, c_char};
use std::sync::LazyLock;

/// The outcome of a call. The numbers never change.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_status {
    /// The call succeeded.
    NK_OK = 0,
    /// An argument is out of range, null, or not UTF-8. Nothing was written.
    NK_INVALID = 1,
    /// The text is blank, or the set has no items: there is nothing to compare.
    NK_EMPTY = 2,
    /// There is no index at this path.
    NK_NOT_FOUND = 3,
    /// No document has this key.
    NK_NO_SUCH_KEY = 4,
    /// There is already an index at this path; or, in an admission with conditions, the newcomer's
    /// key belongs to a document that does not count.
    NK_EXISTS = 5,
    /// The parameters of the index differ from the given ones, or from those of a signature.
    NK_MISMATCH = 6,
    /// Another handle or process is writing to this index.
    NK_LOCKED = 7,
    /// The index changed repeatedly during the call.
    NK_UNSETTLED = 8,
    /// A newer version wrote the files, or the file system has no memory maps.
    NK_UNSUPPORTED = 9,
    /// Stored data are damaged.
    NK_CORRUPT = 10,
    /// The operating system reported an error. Nothing was written.
    NK_IO = 11,
    /// A sync failed: after a power cut, the index may or may not contain the change.
    NK_UNKNOWN = 12,
    /// An earlier sync failed: the handle refuses all writes.
    NK_POISONED = 13,
    /// The index was closed, its folder was replaced, or the process was forked.
    NK_CLOSED = 14,
    /// A deadline or a callback ended the call, which changed nothing.
    NK_CANCELLED = 15,
    /// Another error of the engine: see the message.
    NK_OTHER = 16,
    /// A handle is null, was freed, or is of another kind.
    NK_BAD_HANDLE = 17,
    /// A defect of Nearkin, caught at the boundary. Please report the message.
    NK_BUG = 18,
}

/// The error of a call. A box, so that every `Result` stays small.
pub(crate) struct Failure(Box<Reported>);

struct Reported {
    status: nk_status,
    message: CString,
}

impl Failure {
    pub(crate) fn new(status: nk_status, message: impl Into<String>) -> Self {
        Self(Box::new(Reported { status, message: c_text(message) }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(nk_status::NK_INVALID, message)
    }

    pub(crate) fn status(&self) -> nk_status {
        self.0.status
    }

    /// Ends with a zero byte, and lives as long as the failure.
    pub(crate) fn message(&self) -> &CStr {
        &self.0.message
    }
}

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        let status = KINDS.iter().find(|(_, kind)| *kind == error.kind());
        let status = status.map_or(nk_status::NK_OTHER, |(status, _)| *status);
        Self::new(status, error.full_message())
    }
}

/// A text for C. A zero byte would end the text, and is replaced.
pub(crate) fn c_text(text: impl Into<String>) -> CString {
    CString::new(text.into().replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// The statuses of the engine's kinds of errors, which give them their names and advice.
const KINDS: [(nk_status, ErrorKind); 16] = [
    (nk_status::NK_INVALID, ErrorKind::Invalid),
    (nk_status::NK_EMPTY, ErrorKind::Empty),
    (nk_status::NK_NOT_FOUND, ErrorKind::NotFound),
    (nk_status::NK_NO_SUCH_KEY, ErrorKind::NoSuchKey),
    (nk_status::NK_EXISTS, ErrorKind::Exists),
    (nk_status::NK_MISMATCH, ErrorKind::Mismatch),
    (nk_status::NK_LOCKED, ErrorKind::Locked),
    (nk_status::NK_UNSETTLED, ErrorKind::Unsettled),
    (nk_status::NK_UNSUPPORTED, ErrorKind::Unsupported),
    (nk_status::NK_CORRUPT, ErrorKind::Corrupt),
    (nk_status::NK_IO, ErrorKind::Io),
    (nk_status::NK_UNKNOWN, ErrorKind::Unknown),
    (nk_status::NK_POISONED, ErrorKind::Poisoned),
    (nk_status::NK_CLOSED, ErrorKind::Closed),
    (nk_status::NK_CANCELLED, ErrorKind::Cancelled),
    (nk_status::NK_OTHER, ErrorKind::Other),
];

/// The other statuses, each with its name and advice.
const OWN: [(nk_status, &str, &str); 3] = [
    (nk_status::NK_OK, "ok", "nothing to do"),
    (nk_status::NK_BAD_HANDLE, "bad_handle", "pass a live handle of the right kind"),
    (nk_status::NK_BUG, "bug", "report the message as a bug of nearkin"),
];

/// Number, name and advice of each status, for C.
static TEXTS: LazyLock<Vec<(i32, CString, CString)>> = LazyLock::new(|| {
    let kinds = KINDS.map(|(status, kind)| (status, kind.as_str(), kind.advice()));
    let all = kinds.into_iter().chain(OWN);
    all.map(|(status, name, advice)| (status as i32, c_text(name), c_text(advice))).collect()
});

fn of_status(status: i32) -> (&'static CStr, &'static CStr) {
    let found = TEXTS.iter().find(|(known, ..)| *known == status);
    let unknown = (c"unknown_status", c"no status of this library");
    found.map_or(unknown, |(_, name, advice)| (name.as_c_str(), advice.as_c_str()))
}

/// The name of a status, such as "no_such_key". Static, never null; "unknown_status" for a number
/// that is no status.
#[unsafe(no_mangle)]
pub extern "C" fn nk_status_name(status: i32) -> *const c_char {
    of_status(status).0.as_ptr()
}

/// What to do about errors of this status, in one line. Static, never null; for a number that is no
/// status, the line says so.
#[unsafe(no_mangle)]
pub extern "C" fn nk_status_advice(status: i32) -> *const c_char {
    of_status(status).1.as_ptr()
}

#[cfg(test)]
mod tests;
