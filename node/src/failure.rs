//! One error type for JavaScript: errors of the library, panics and refused arguments.

use std::any::Any;

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use nearkin::{Error, ErrorKind};

/// Why a call failed. JavaScript throws it as a `NearkinError`.
#[napi]
#[derive(Debug, Clone)]
pub struct Failure {
    /// The kind of the error, such as `not_found`.
    pub kind: String,
    /// What happened, where, and what to do.
    pub message: String,
    /// What to do about an error of this kind.
    pub advice: String,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let advice = kind.advice().to_owned();
        Self { kind: kind.as_str().to_owned(), message: message.into(), advice }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The call was aborted: it has changed nothing.
    pub(crate) fn aborted() -> Self {
        Self::new(ErrorKind::Cancelled, "the call was aborted")
    }

    /// A panic is a bug of the library: it must not end the process.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no message".to_owned());
        let report = "this is a bug in nearkin: please report it with this message";
        let message = format!("{text}; {report}");
        Self { kind: "bug".to_owned(), ..Self::new(ErrorKind::Other, message) }
    }

    /// Names the document that failed, if there are several.
    pub(crate) fn of_document(mut self, number: usize) -> Self {
        self.message = format!("document {number} (counted from 0): {}", self.message);
        self
    }
}

/// A result as JavaScript gets it: the value, or the failure.
pub(crate) fn value_or_failure<T>(value: Result<T, Failure>) -> Either<T, Failure> {
    value.map_or_else(Either::B, Either::A)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error.full_message())
    }
}

/// The JavaScript engine cannot make a value: it is out of memory, or is shutting down.
impl From<napi::Error> for Failure {
    fn from(error: napi::Error) -> Self {
        Self::new(ErrorKind::Other, error.reason.clone())
    }
}
