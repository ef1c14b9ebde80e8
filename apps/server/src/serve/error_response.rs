//! Error responses: a status, a kind for programs, and a message with advice for users.

use std::io;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearkin::{Error, ErrorKind};
use serde::Serialize;
#[cfg(test)]
use utoipa::ToSchema;

use nearkin_kit::failure;

/// All kinds of errors.
pub(super) const KINDS: [&str; 28] = [
    "invalid",
    "empty",
    "not_found",
    "no_text",
    "changed",
    "mismatch",
    "locked",
    "unsettled",
    "unsupported",
    "corrupt",
    "disk_full",
    "read_only",
    "io",
    "unknown",
    "poisoned",
    "closed",
    "cancelled",
    "internal",
    "busy",
    "timeout",
    "too_large",
    "content_type",
    "host",
    "origin",
    "token",
    "read_token",
    "no_route",
    "method",
];

/// The error response of a request.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    status: StatusCode,
    kind: &'static str,
    message: String,
    /// What to do; empty if the message is enough.
    advice: &'static str,
}

impl ErrorResponse {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(KINDS.contains(&kind), "{kind} is not described");
        Self { status, kind, message: message.into(), advice: "" }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    pub(super) fn busy(what: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what)
            .advise("try again in a moment; --requests-max sets the maximum of concurrent requests")
    }

    pub(super) fn read_only() -> Self {
        let message = "this server only reads";
        Self::new(StatusCode::FORBIDDEN, "read_only", message)
            .advise("it was started with --read-only, or the index is on a read-only file system")
    }

    pub(super) fn unknown_key(key: &[u8]) -> Self {
        let key = String::from_utf8_lossy(key);
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("no document has the key {key:?}"))
    }

    pub(super) fn advise(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    /// Prefixes the message with the part of the request that the error is about.
    pub(super) fn with_prefix(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// Whether the index will refuse all further writes.
    pub(super) fn is_poison(&self) -> bool {
        ["poisoned", "unknown", "closed"].contains(&self.kind)
    }
}

/// Whether a full disk is the cause.
fn is_full(error: &Error) -> bool {
    let kind = error.io_kind();
    matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

impl From<Error> for ErrorResponse {
    fn from(error: Error) -> Self {
        let (status, kind, advice) = match error.kind() {
            ErrorKind::Invalid => (StatusCode::BAD_REQUEST, "invalid", ""),
            ErrorKind::Empty => (
                StatusCode::BAD_REQUEST,
                "empty",
                "leave the document out of the request; one stored under its key is unchanged, and \
                 DELETE removes it",
            ),
            ErrorKind::NotFound | ErrorKind::NoSuchKey => (StatusCode::NOT_FOUND, "not_found", ""),
            ErrorKind::Mismatch => {
                (StatusCode::CONFLICT, "mismatch", "make it with the parameters in /v1/stats")
            }
            ErrorKind::Locked => (StatusCode::SERVICE_UNAVAILABLE, "locked", "try again"),
            ErrorKind::Unsettled => (StatusCode::SERVICE_UNAVAILABLE, "unsettled", "try again"),
            ErrorKind::Unsupported => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "unsupported",
                "serve the index with a newer nearkin",
            ),
            ErrorKind::Corrupt => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "corrupt",
                "stop the server; `nearkin verify INDEX` lists all damage",
            ),
            ErrorKind::Io if is_full(&error) => (
                StatusCode::INSUFFICIENT_STORAGE,
                "disk_full",
                "nothing was written: free disk space, or remove documents, which still works",
            ),
            ErrorKind::Io => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "io",
                "nothing was written: fix the cause and try again",
            ),
            ErrorKind::Unknown => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "unknown",
                "it may or may not be stored: restart the server, check, and repeat the request",
            ),
            ErrorKind::Poisoned => (
                StatusCode::SERVICE_UNAVAILABLE,
                "poisoned",
                "an earlier sync failed, so all writes are refused: restart the server",
            ),
            ErrorKind::Closed => (
                StatusCode::SERVICE_UNAVAILABLE,
                "closed",
                "the folder of the index or its lock file was removed or replaced, so nothing is \
                 written any more: restart the server",
            ),
            ErrorKind::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "cancelled", "try again"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "see the server's stderr"),
        };
        Self { status, kind, message: failure::with_causes(&error), advice }
    }
}

/// An error response: kind, message and advice.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Error))]
pub(super) struct ErrorObject {
    #[cfg_attr(test, schema(inline))]
    error: Inner,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
struct Inner {
    /// For programs: each kind calls for a different reaction.
    kind: &'static str,
    message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "str::is_empty")]
    advice: &'static str,
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let Self { status, kind, message, advice } = self;
        let mut response =
            (status, Json(ErrorObject { error: Inner { kind, message, advice } })).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            // The body may not have been read, so that no request can follow on this connection.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if status == StatusCode::UNAUTHORIZED {
            // With this header, a browser asks for the password and sends it with every later
            // request.
            let ask = HeaderValue::from_static("Basic realm=\"nearkin\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, ask);
        }
        response
    }
}
