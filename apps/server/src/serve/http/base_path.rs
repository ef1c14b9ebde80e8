//! The path below which a proxy shows the server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// Takes the base path off the path of a request. The links of the pages are relative, so the path
/// of the first page must end with a slash.
pub(crate) async fn strip(
    State(base): State<Arc<str>>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.uri().path() == &*base
        && let Ok(place) = HeaderValue::from_str(&format!("{base}/"))
    {
        return (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, place)]).into_response();
    }
    if let Some(uri) = without(request.uri(), &base) {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

/// The same URI without the base path, if it has it.
fn without(uri: &Uri, base: &str) -> Option<Uri> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(base)?;
    let path = rest.starts_with('/').then(|| PathAndQuery::try_from(rest).ok())??;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_parts_of_a_path_are_taken_off() {
        let stripped = |uri: &str| {
            let uri = without(&uri.parse().unwrap(), "/search");
            uri.map(|uri| uri.to_string())
        };
        assert_eq!(stripped("/search/"), Some("/".to_owned()));
        assert_eq!(stripped("/search/v1/a?b=/search/"), Some("/v1/a?b=/search/".to_owned()));
        assert_eq!(stripped("http://a/search/%2F"), Some("http://a/%2F".to_owned()));
        for other in ["/", "/search", "/searches/v1", "/v1/search/", "/Search/"] {
            assert_eq!(stripped(other), None, "{other}");
        }
    }
}
