//! The table of all routes. Tests make the OpenAPI document from it.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, delete, get, post, put};

#[cfg(test)]
use super::api::description::AnswerContent::{Json, Lines, Media, OneOf};
#[cfg(test)]
use super::api::description::{
    ANY, BODY, CHANGED, CONFLICT, INDEX, KEY, RouteDescription, TOKEN, TOO_LARGE, UNKNOWN_KEY,
    WRITE,
};
use super::api::error_response::ErrorResponse;
use super::handlers::admit;
use super::handlers::documents;
use super::handlers::lines;
use super::handlers::listing;
use super::handlers::report;
use super::handlers::search;
use super::handlers::state;
use super::handlers::texts;
use super::http::guard;
use super::http::paths::{DOCUMENT, DOCUMENTS, TEXT};
use super::page;
use super::shared::Shared;

/// A route: its path, its handler and, in tests, its description.
struct Route {
    path: &'static str,
    answer: MethodRouter<Arc<Shared>>,
    #[cfg(test)]
    operation: RouteDescription,
}

/// Builds a route from its method, path and handler, and for the description from its id, summary,
/// answers, errors and type of the body.
macro_rules! route {
    ($method:ident $path:expr, $answer:expr, $id:literal, $summary:literal, [$($given:expr),*],
     [$($errors:expr),*] $(, $body:literal)?) => {
        Route {
            path: $path,
            answer: $method($answer),
            #[cfg(test)]
            operation: RouteDescription {
                method: stringify!($method),
                path: $path,
                id: $id,
                summary: $summary,
                body: None$(.or(Some($body)))?,
                answers: &[$($given),*],
                errors: &[$($errors),*],
            },
        }
    };
}

/// Routes of the pages and of the server's state. They only read.
fn pages() -> Vec<Route> {
    vec![
        route!(get "/", page::page, "page", "A page with a search and the live state",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN]),
        route!(get "/api", page::api, "api", "The description of the API as a page",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN]),
        route!(get "/openapi.json", openapi, "openapi", "This description",
            [(200, "OpenAPI 3.1", Media("application/json"))], [ANY, TOKEN]),
        route!(get "/report", report::report, "report", "The report of the whole index, as a page",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN, INDEX]),
        route!(get "/health", state::health, "health",
            "Whether the server runs and can write; needs no token",
            [(200, "It does", Json("Health")),
             (503, "A sync failed: queries work, writes are refused", Json("Health"))], [ANY]),
        route!(get "/metrics", state::metrics, "metrics",
            "Counts, times and sizes for Prometheus",
            [(200, "Prometheus' text format", Media("text/plain"))], [ANY, TOKEN, INDEX]),
        route!(get "/v1/stats", state::stats, "stats",
            "The state of the index and of the server in numbers",
            [(200, "The state", Json("Stats"))], [ANY, TOKEN, INDEX]),
    ]
}

/// The API for programs.
fn programs() -> Vec<Route> {
    vec![
        route!(put DOCUMENT, documents::put, "putDocument",
            "Insert a document, or replace the one with this key; durable when answered",
            [(200, "Replaced, or unchanged: the same signature and payload were there",
                Json("Written")),
             (201, "The key was new", Json("Written"))],
            [ANY, TOKEN, BODY, INDEX, WRITE], "Document"),
        route!(get DOCUMENT, documents::get, "getDocument",
            "The document with this key, without its text",
            [(200, "The document", Json("Stored"))], [ANY, TOKEN, KEY, UNKNOWN_KEY, INDEX]),
        route!(delete DOCUMENT, documents::delete, "deleteDocument",
            "Remove a document; durable when answered",
            [(200, "Removed", Json("Written"))], [ANY, TOKEN, KEY, UNKNOWN_KEY, INDEX, WRITE]),
        route!(get TEXT, texts::get, "getText",
            "The text of a stored document, read again from where it came from; with --texts",
            [(200, "The text, still the one that was added", Json("Text"))],
            [ANY, TOKEN, KEY, UNKNOWN_KEY, CHANGED, TOO_LARGE, INDEX]),
        route!(get DOCUMENTS, listing::list, "listDocuments",
            "A page of the documents whose keys begin with `prefix`, in the order of their keys",
            [(200, "The page", Json("DocumentList"))], [ANY, TOKEN, KEY, INDEX]),
        route!(delete DOCUMENTS, listing::delete, "deleteDocuments",
            "Remove all documents whose keys begin with `prefix`; durable when answered",
            [(200, "Removed", Json("PrefixRemoved"))], [ANY, TOKEN, KEY, INDEX, WRITE]),
        route!(get "/v1/pairs", lines::pairs, "pairs",
            "All pairs of similar documents, as lines of JSON, sent while they are found",
            [(200, "A line for each pair, in no particular order", Lines("Pair"))],
            [ANY, TOKEN, KEY, INDEX]),
        route!(get "/v1/clusters", lines::clusters, "clusters",
            "All clusters: documents that pairs connect, as lines of JSON",
            [(200, "A line for each cluster, in the order of their first keys", Lines("Cluster"))],
            [ANY, TOKEN, KEY, INDEX]),
        route!(post "/v1/batch", documents::batch, "batch",
            "Insert and remove several documents as one change: all of them or none, one sync",
            [(200, "Done", Json("BatchWritten"))], [ANY, TOKEN, BODY, INDEX, WRITE], "Batch"),
        route!(post "/v1/query", search::query, "query",
            "Find documents similar to a text, a set, a signature, or stored documents",
            [(200, "The matches, most similar first, equal ones by key; of `texts`, each its own",
                OneOf(&["Answer", "Answers"]))],
            [ANY, TOKEN, BODY, UNKNOWN_KEY, INDEX], "Query"),
        route!(post "/v1/admit", admit::admit, "admit",
            "Insert a document unless a stored one is too similar: one atomic step",
            [(200, "Decided; a rejection is an answer, not an error", Json("Admission"))],
            [ANY, TOKEN, BODY, CONFLICT, INDEX, WRITE], "Admit"),
    ]
}

fn routes() -> Vec<Route> {
    pages().into_iter().chain(programs()).collect()
}

/// The OpenAPI document, as a test wrote it.
const OPENAPI: &str = include_str!("api/openapi.json");

async fn openapi() -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, route.answer);
    }
    router
        .fallback(|| async {
            ErrorResponse::new(StatusCode::NOT_FOUND, "no_route", "no such path")
                .advise("/openapi.json lists all paths and methods")
        })
        .method_not_allowed_fallback(|| async {
            let message = "this path has no such method";
            ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
                .advise("/openapi.json lists all paths and methods")
        })
        .layer(DefaultBodyLimit::max(shared.limits.body_bytes_max))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(shared), guard::guard))
        .with_state(Arc::clone(shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::api::description;
    use crate::serve::http::paths;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn operations() -> Vec<RouteDescription> {
        routes().into_iter().map(|route| route.operation).collect()
    }

    /// What is served is what the route table and the types describe.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes a source file of this repository")]
    fn the_served_description_is_current() {
        let described = description::document(&operations()).unwrap();
        let mut text = serde_json::to_string_pretty(&described).unwrap();
        text.push('\n');
        if std::env::var_os("NEARKIN_WRITE_OPENAPI").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/api/openapi.json");
            std::fs::write(path, &text).unwrap();
        }
        assert!(
            text == OPENAPI,
            "openapi.json is stale: run `NEARKIN_WRITE_OPENAPI=1 cargo test -p nearkin-server \
             --all-features served_description`, then build again"
        );
    }

    #[test]
    fn the_description_has_every_route_and_nothing_else() {
        let described = description::document(&operations()).unwrap();
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
        let expected: BTreeSet<_> = operations()
            .iter()
            .map(|route| (route.method.to_owned(), paths::described(route.path).to_owned()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(found.len(), 18);
    }

    /// Checks that every `$ref` of the description can be resolved.
    #[test]
    fn no_reference_of_the_description_is_broken() {
        fn walk(value: &Value, all: &Value, count: &mut usize) {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(all.pointer(pointer).is_some(), "{target}");
                *count += 1;
            }
            let inner: Vec<_> = match value {
                Value::Object(object) => object.values().collect(),
                Value::Array(array) => array.iter().collect(),
                _ => Vec::new(),
            };
            for value in inner {
                walk(value, all, count);
            }
        }
        let described = description::document(&operations()).unwrap();
        let mut count = 0;
        walk(&described, &described, &mut count);
        assert!(count > 20, "{count} references");
    }
}
