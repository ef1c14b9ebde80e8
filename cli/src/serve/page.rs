//! The page at `/`, and the description of everything else.

use std::hash::{BuildHasher as _, RandomState};

use axum::http::{HeaderName, header};
use axum::response::IntoResponse;

const PAGE: &str = include_str!("page.html");

/// Every route and what it takes and gives, as OpenAPI 3.1.
pub(super) const OPENAPI: &str = include_str!("openapi.json");

/// The page. Its own script and style run, and nothing else: they carry a word that nobody could
/// know before.
pub(super) async fn page() -> impl IntoResponse {
    // axum calls only what is async.
    std::future::ready(()).await;
    let nonce = format!("{:016x}{:016x}", random(), random());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    let headers: [(HeaderName, String); 2] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, PAGE.replace("NONCE", &nonce))
}

/// 64 bits with keys from the operating system's generator.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

pub(super) async fn openapi() -> impl IntoResponse {
    // axum calls only what is async.
    std::future::ready(()).await;
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}
