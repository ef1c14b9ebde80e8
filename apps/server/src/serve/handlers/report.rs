//! Handler of `/report`: the report about the whole index, as a page.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::IntoResponse;

use crate::report_page::links::Links;
use crate::report_page::settings::PageSettings;
use crate::report_page::{self, Made};
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::shared::Shared;

/// Maximum number of clusters on the page (the largest ones). The page then has one or two
/// megabytes.
const CLUSTERS_MAX: usize = 1_000;

/// Serves the report page, which is built on a thread that may block. The page has its own content
/// security policy.
pub(crate) async fn report(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let made = shared.work(page).await?;
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    ];
    Ok::<_, ErrorResponse>((headers, made))
}

/// Builds the page. It includes texts only if clients may read them.
fn page(shared: &Shared) -> Result<String, ErrorResponse> {
    let snapshot = shared.index.snapshot();
    let settings = PageSettings {
        title: shared.title.clone(),
        threshold: snapshot.params().threshold(),
        clusters_max: CLUSTERS_MAX,
        made: report_page::now_ms(),
        texts: true,
        links: Links::none(),
    };
    let Made { html, .. } = report_page::make(&snapshot, &settings, shared.originals.as_ref())
        .map_err(|failure| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            ErrorResponse::new(status, "internal", failure.to_string().replacen("error: ", "", 1))
                .advise("`nearkin verify INDEX` lists damage, if there is any")
        })?;
    Ok(html)
}
