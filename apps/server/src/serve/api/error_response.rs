//! Error responses: a status, a kind for programs, and a message with advice for users.

use std::io;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearkin::{Error, ErrorKind};
use serde::Serialize;
#[cfg(test)]
use utoipa::ToSchema;

/// All kinds of errors, by their status.
pub(crate) const KINDS: [(StatusCode, &[&str]); 12] = [
    (StatusCode::BAD_REQUEST, &["invalid", "empty"]),
    (StatusCode::UNAUTHORIZED, &["token"]),
    (StatusCode::FORBIDDEN, &["host", "origin", "read_token", "read_only"]),
    (StatusCode::NOT_FOUND, &["not_found", "no_text", "no_route"]),
    (StatusCode::METHOD_NOT_ALLOWED, &["method"]),
    (StatusCode::CONFLICT, &["changed", "exists", "mismatch"]),
    (StatusCode::PAYLOAD_TOO_LARGE, &["too_large"]),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, &["content_type"]),
    (StatusCode::INTERNAL_SERVER_ERROR, &["io", "corrupt", "unknown", "unsupported", "internal"]),
    (
        StatusCode::SERVICE_UNAVAILABLE,
        &["busy", "cancelled", "locked", "unsettled", "poisoned", "closed"],
    ),
    (StatusCode::GATEWAY_TIMEOUT, &["timeout"]),
    (StatusCode::INSUFFICIENT_STORAGE, &["disk_full"]),
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
        let is_known = KINDS.iter().any(|(_, kinds)| kinds.contains(&kind));
        debug_assert!(is_known, "{kind} is not described");
        Self { kind, message: message.into(), advice: "" }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    fn status(&self) -> StatusCode {
        let known = KINDS.iter().find(|(_, kinds)| kinds.contains(&self.kind));
        known.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(status, _)| *status)
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

    /// The message, with its advice below it.
    pub(crate) fn told(&self) -> String {
        let Self { message, advice, .. } = self;
        if advice.is_empty() { message.clone() } else { format!("{message}\n{advice}") }
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
        // Until the server is started again, these stay as they are.
        let stays = ["poisoned", "closed"].contains(&kind);
        if status == StatusCode::SERVICE_UNAVAILABLE && !stays {
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
