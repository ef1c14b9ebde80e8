//! Everything the server answers to: one table. `serve/openapi.json` describes the same.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, delete, get, post, put};

use super::paths::DOCUMENT;
use super::refused::Refused;
use super::shared::Shared;
use super::{asking, documents, guard, page, report, state};

/// Method, path, and what answers.
type Route = (&'static str, &'static str, MethodRouter<Arc<Shared>>);

fn routes() -> Vec<Route> {
    vec![
        ("get", "/", get(page::page)),
        ("get", "/openapi.json", get(page::openapi)),
        ("get", "/report", get(report::report)),
        ("get", "/health", get(state::health)),
        ("get", "/metrics", get(state::metrics)),
        ("get", "/v1/stats", get(state::stats)),
        ("put", DOCUMENT, put(documents::put)),
        ("get", DOCUMENT, get(documents::get)),
        ("delete", DOCUMENT, delete(documents::delete)),
        ("post", "/v1/batch", post(documents::batch)),
        ("post", "/v1/query", post(asking::query)),
        ("post", "/v1/admit", post(asking::admit)),
    ]
}

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for (_, path, answer) in routes() {
        router = router.route(path, answer);
    }
    router
        .fallback(|| async {
            Refused::new(StatusCode::NOT_FOUND, "no_route", "there is nothing at this path")
                .advise("/openapi.json lists all there is")
        })
        .method_not_allowed_fallback(|| async {
            let message = "this path does not take this method";
            Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
                .advise("/openapi.json lists all there is")
        })
        .layer(DefaultBodyLimit::max(shared.limits.body_bytes_max))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(shared), guard::guard))
        .with_state(Arc::clone(shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_has_every_route_and_nothing_else() {
        let described: serde_json::Value = serde_json::from_str(page::OPENAPI).unwrap();
        assert_eq!(described["openapi"], "3.1.0");
        assert_eq!(described["info"]["version"], env!("CARGO_PKG_VERSION"));
        let mut found = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                if method == "parameters" {
                    continue;
                }
                assert!(operation["operationId"].is_string(), "{method} {path}");
                assert!(operation["summary"].is_string(), "{method} {path}");
                found.insert((method.clone(), path.clone()));
            }
        }
        let routes = routes().into_iter();
        let expected: BTreeSet<_> = routes
            .map(|(method, path, _)| {
                (method.to_owned(), super::super::paths::described(path).to_owned())
            })
            .collect();
        assert_eq!(found, expected);
    }

    /// Every `$ref` of the description leads somewhere.
    #[test]
    fn no_reference_of_the_description_is_broken() {
        fn walk(value: &serde_json::Value, all: &serde_json::Value, count: &mut usize) {
            if let Some(target) = value.get("$ref").and_then(|target| target.as_str()) {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(all.pointer(pointer).is_some(), "{target}");
                *count += 1;
            }
            let inner: Vec<_> = match value {
                serde_json::Value::Object(object) => object.values().collect(),
                serde_json::Value::Array(array) => array.iter().collect(),
                _ => Vec::new(),
            };
            for value in inner {
                walk(value, all, count);
            }
        }
        let described: serde_json::Value = serde_json::from_str(page::OPENAPI).unwrap();
        let mut count = 0;
        walk(&described, &described, &mut count);
        assert!(count > 20, "{count} references");
    }
}
