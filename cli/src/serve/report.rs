//! `/report`: the report of the whole index as a page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::IntoResponse;

use super::refused::Refused;
use super::shared::Shared;
use crate::report::{self, Asked, Made};

/// Clusters on the page, the largest ones: a megabyte or two.
const CLUSTERS_MAX: usize = 1_000;

/// The page, made where it may block. It brings its own policy for what may run in it.
pub(super) async fn report(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let made = shared.work(page).await?;
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    ];
    Ok::<_, Refused>((headers, made))
}

/// With texts only where clients may read them.
fn page(shared: &Shared) -> Result<String, Refused> {
    let snapshot = shared.index.snapshot();
    let asked = Asked {
        title: shared.title.clone(),
        threshold: snapshot.params().threshold(),
        clusters_max: CLUSTERS_MAX,
        made: report::now_ms(),
    };
    let Made { html, .. } =
        report::make(&snapshot, &asked, shared.originals.as_ref()).map_err(|failure| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Refused::new(status, "internal", failure.to_string().replacen("error: ", "", 1))
                .advise("`nearkin verify INDEX` lists damage, if there is any")
        })?;
    Ok(html)
}
