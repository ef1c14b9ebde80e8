//! Permissions: two tokens, and the origins whose pages may send requests.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::bind::Reach;
use super::token::Token;
use crate::args::serve::Serve;
use crate::serve::api::error_response::ErrorResponse;
use nearkin_kit::failure::Failure;

/// Seconds for which a browser remembers the answer to a preflight request.
const PREFLIGHT_SECONDS: &str = "600";

/// What a request must bring.
pub(crate) struct Access {
    /// Allows everything.
    token: Option<Token>,
    /// Allows reading only.
    read_token: Option<Token>,
    /// Whether the server listens only on loopback. Then attackers can reach it only through a
    /// browser on this machine. (A Unix socket they cannot reach.)
    pub(crate) loopback: bool,
    /// Origins whose pages may send requests, besides the server's own.
    origins: Vec<String>,
}

impl Access {
    /// Permissions for a client that has started this process itself.
    pub(crate) fn of_parent() -> Self {
        Self { token: None, read_token: None, loopback: false, origins: Vec::new() }
    }

    /// Reads the tokens, and checks that they protect what other machines can reach.
    pub(crate) fn new(args: &Serve, reach: Reach) -> Result<Self, Failure> {
        let token = Token::given(args.token_file.as_deref(), "NEARKIN_TOKEN")?;
        let read_token = Token::given(args.read_token_file.as_deref(), "NEARKIN_READ_TOKEN")?;
        match (&token, &read_token, reach) {
            (None, None, Reach::Network(address)) => {
                return Err(Failure::new(
                    format!("{address} is reachable from other machines, which requires a token"),
                    "write a token of at least 16 characters to a file that only you can read, and \
                     give it with --token-file; or listen on 127.0.0.1",
                ));
            }
            (None, Some(_), _) => {
                return Err(Failure::new(
                    "there is a token for reading, but none for writing",
                    "give the other one with --token-file",
                ));
            }
            (Some(token), Some(read_token), _) if token.is_equal(read_token) => {
                return Err(Failure::new(
                    "the token for reading is the one for writing",
                    "create another one with `openssl rand -hex 16`",
                ));
            }
            _ => {}
        }
        let loopback = reach == Reach::Loopback;
        Ok(Self { token, read_token, loopback, origins: args.allow_origin.clone() })
    }

    /// Checks the token of a request.
    pub(crate) fn check_token(
        &self,
        headers: &HeaderMap,
        method: &Method,
        path: &str,
    ) -> Result<(), ErrorResponse> {
        let Some(token) = &self.token else { return Ok(()) };
        if token.is_in(headers) {
            return Ok(());
        }
        if !self.read_token.as_ref().is_some_and(|token| token.is_in(headers)) {
            let message = "missing or wrong token";
            return Err(ErrorResponse::new("token", message)
                .advise("send the header `Authorization: Bearer TOKEN`"));
        }
        if only_reads(method, path) {
            return Ok(());
        }
        let message = "this token allows reading only";
        Err(ErrorResponse::new("read_token", message)
            .advise("send the token that the server was given with --token-file"))
    }

    /// The origin of a request, if its pages may send requests and the request names no other.
    pub(crate) fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut given = headers.get_all(header::ORIGIN).iter();
        match (given.next(), given.next()) {
            (Some(origin), None) if self.origins.iter().any(|one| origin == one) => {
                Some(origin.clone())
            }
            _ => None,
        }
    }
}

/// Whether a request cannot change the index. Anything that is not known to read counts as a write.
fn only_reads(method: &Method, path: &str) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
        || (method == Method::POST && ["/v1/query", "/v1/read"].contains(&path))
}

/// Whether a browser asks whether it may send a request of a page of another origin.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight request of an allowed origin. It names methods and headers, whatever
/// the path is: the request itself is checked when it arrives.
pub(crate) fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, x-request-id"),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets pages of this origin read an answer.
pub(crate) fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let exposed = HeaderValue::from_static("retry-after, x-request-id");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_request_counts_as_a_write() {
        for (method, path) in [
            (Method::GET, "/v1/documents/{key}"),
            (Method::HEAD, "/"),
            (Method::POST, "/v1/query"),
            (Method::POST, "/v1/read"),
        ] {
            assert!(only_reads(&method, path), "{method} {path}");
        }
        for (method, path) in [
            (Method::PUT, "/v1/documents/{key}"),
            (Method::DELETE, "/v1/documents"),
            (Method::POST, "/v1/batch"),
            (Method::POST, "/v1/admit"),
            (Method::POST, "other"),
            (Method::PATCH, "/v1/query"),
        ] {
            assert!(!only_reads(&method, path), "{method} {path}");
        }
    }
}
