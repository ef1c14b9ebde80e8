//! Error responses: a status, a kind for programs, and a message with advice for users.

use std::io;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearkin::{Error, ErrorKind};
use serde::Serialize;
#[cfg(test)]
use utoipa::ToSchema;

/// All kinds of errors, each with its status.
pub(crate) const KINDS: [(&str, StatusCode); 29] = [
    ("invalid", StatusCode::BAD_REQUEST),
    ("empty", StatusCode::BAD_REQUEST),
    ("not_found", StatusCode::NOT_FOUND),
    ("no_text", StatusCode::NOT_FOUND),
    ("changed", StatusCode::CONFLICT),
    ("exists", StatusCode::CONFLICT),
    ("mismatch", StatusCode::CONFLICT),
    ("locked", StatusCode::SERVICE_UNAVAILABLE),
    ("unsettled", StatusCode::SERVICE_UNAVAILABLE),
    ("unsupported", StatusCode::INTERNAL_SERVER_ERROR),
    ("corrupt", StatusCode::INTERNAL_SERVER_ERROR),
    ("disk_full", StatusCode::INSUFFICIENT_STORAGE),
    ("read_only", StatusCode::FORBIDDEN),
    ("io", StatusCode::INTERNAL_SERVER_ERROR),
    ("unknown", StatusCode::INTERNAL_SERVER_ERROR),
    ("poisoned", StatusCode::SERVICE_UNAVAILABLE),
    ("closed", StatusCode::SERVICE_UNAVAILABLE),
    ("cancelled", StatusCode::SERVICE_UNAVAILABLE),
    ("internal", StatusCode::INTERNAL_SERVER_ERROR),
    ("busy", StatusCode::SERVICE_UNAVAILABLE),
    ("timeout", StatusCode::GATEWAY_TIMEOUT),
    ("too_large", StatusCode::PAYLOAD_TOO_LARGE),
    ("content_type", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ("host", StatusCode::FORBIDDEN),
    ("origin", StatusCode::FORBIDDEN),
    ("token", StatusCode::UNAUTHORIZED),
    ("read_token", StatusCode::FORBIDDEN),
    ("no_route", StatusCode::NOT_FOUND),
    ("method", StatusCode::METHOD_NOT_ALLOWED),
];

/// The error response of a request.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    kind: &'static str,
    message: String,
    /// What to do; empty if the message is enough.
    advice: &'static str,
}

impl ErrorResponse {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(KINDS.iter().any(|(name, _)| *name == kind), "{kind} is not described");
        Self { kind, message: message.into(), advice: "" }
    }

    fn status(&self) -> StatusCode {
        let known = KINDS.iter().find(|(name, _)| *name == self.kind);
        known.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid", message)
    }

    pub(crate) fn busy(what: &str) -> Self {
        Self::new("busy", what)
            .advise("try again in a moment; --requests-max sets the maximum of concurrent requests")
    }

    pub(crate) fn read_only() -> Self {
        let message = "this server only reads";
        Self::new("read_only", message)
            .advise("it was started with --read-only, or the index is on a read-only file system")
    }

    pub(crate) fn unknown_key(key: &[u8]) -> Self {
        let key = String::from_utf8_lossy(key);
        Self::new("not_found", format!("no document has the key {key:?}"))
    }

    pub(crate) fn advise(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    /// Prefixes the message with the part of the request that the error is about.
    pub(crate) fn with_prefix(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// Whether the index will refuse all further writes.
    pub(crate) fn is_poison(&self) -> bool {
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
        let same = error.kind().as_str();
        let (kind, advice) = match error.kind() {
            // The messages say what to do.
            ErrorKind::Invalid | ErrorKind::Exists => (same, ""),
            ErrorKind::NotFound | ErrorKind::NoSuchKey => ("not_found", ""),
            ErrorKind::Empty => (
                same,
                "leave the document out of the request; one stored under its key is unchanged, and \
                 DELETE removes it",
            ),
            ErrorKind::Mismatch => (same, "make it with the parameters in /v1/stats"),
            ErrorKind::Cancelled => (same, "give more `deadline_ms`"),
            ErrorKind::Locked | ErrorKind::Unsettled => (same, ErrorKind::Unsettled.advice()),
            ErrorKind::Io if is_full(&error) => (
                "disk_full",
                "nothing was written: free disk space, or remove documents, which still works",
            ),
            ErrorKind::Io => (same, "nothing was written: fix the cause and try again"),
            ErrorKind::Poisoned => {
                (same, "an earlier sync failed, so all writes are refused: restart the server")
            }
            ErrorKind::Closed => (
                same,
                "the folder of the index or its lock file was removed or replaced, so nothing is \
                 written any more: restart the server",
            ),
            ErrorKind::Unsupported => (same, "serve the index with a newer nearkin"),
            ErrorKind::Corrupt => {
                (same, "stop the server; `nearkin verify INDEX` lists all damage")
            }
            ErrorKind::Unknown => (
                same,
                "it may or may not be stored: restart the server, check, and repeat the request",
            ),
            _ => ("internal", "see the server's stderr"),
        };
        Self { kind, message: error.full_message(), advice }
    }
}

/// An error response: kind, message and advice.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Error))]
pub(crate) struct ErrorObject {
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
        let status = self.status();
        let Self { kind, message, advice } = self;
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
