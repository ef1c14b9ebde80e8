//! `/report`: the report of the whole index as a page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::refused::Refused;
use super::shared::Shared;

/// The page, made where it may block.
pub(super) async fn report(State(shared): State<Arc<Shared>>) -> Response {
    shared.work(|shared| page(&shared.index)).await.into_response()
}

/// The one place to make it.
fn page(_: &nearkin::Index) -> Result<String, Refused> {
    Err(Refused::new(
        StatusCode::NOT_IMPLEMENTED,
        "not_implemented",
        "this server does not make the report yet",
    ))
}
