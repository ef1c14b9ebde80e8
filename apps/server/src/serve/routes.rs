//! The table of all routes. Tests make the OpenAPI document from it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequest, State};
use axum::handler::Handler;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, delete, get, post, put};

use super::api::bodies::Body;
use super::api::error_response::ErrorResponse;
#[cfg(test)]
use super::api::tests::description::AnswerContent::{Json, Lines, Media, OneOf};
#[cfg(test)]
use super::api::tests::description::{
    ANY, BODY, CHANGED, CONFLICT, INDEX, KEY, RouteDescription, TOKEN, TOO_LARGE, UNKNOWN_KEY,
    WRITE,
};
use super::call::{self, Call};
use super::handlers::{admit, documents, lines, search, state};
use super::http::{base_path, guard};
use super::page;
use super::shared::Shared;

/// Path of a document. The wildcard allows slashes in keys.
const DOCUMENT: &str = "/v1/documents/{*key}";

/// Path of many documents.
const DOCUMENTS: &str = "/v1/documents";

/// Path of a text.
const TEXT: &str = "/v1/texts/{*key}";

/// A route: its path, its handler and, in tests, its description.
pub(super) struct Route {
    path: &'static str,
    answer: MethodRouter<Arc<Shared>>,
    #[cfg(test)]
    pub(super) operation: RouteDescription,
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

/// A handler that uses the index: it runs on a thread that may block.
fn blocking<M: 'static, G, A>(
    run: fn(&Call<'_>, &G) -> Result<A, ErrorResponse>,
) -> impl Handler<(M, State<Arc<Shared>>, G), Arc<Shared>>
where
    G: FromRequest<Arc<Shared>, M> + Send + 'static,
    A: IntoResponse + Send + 'static,
{
    move |State(shared): State<Arc<Shared>>, given: G| {
        call::work(shared, move |call| run(call, &given))
    }
}

/// A handler that reads from the index: it runs at once if that is brief.
fn brief<M: 'static, A: IntoResponse + Send + 'static>(
    run: fn(&Call<'_>, &Body) -> Result<A, ErrorResponse>,
) -> impl Handler<(M, State<Arc<Shared>>, Body), Arc<Shared>>
where
    Body: FromRequest<Arc<Shared>, M>,
{
    move |State(shared): State<Arc<Shared>>, body: Body| call::brief_or_long(shared, body, run)
}

/// Routes of the pages and of the server's state. They only read.
fn pages() -> Vec<Route> {
    vec![
        route!(get "/", page::page, "page", "A page with a search and the live state",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN]),
        route!(get "/status", page::status, "status",
            "The state of the server and of the index as a page",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN]),
        route!(get "/api", page::api, "api", "The description of the API as a page",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN]),
        route!(get "/openapi.json", openapi, "openapi", "This description",
            [(200, "OpenAPI 3.1", Media("application/json"))], [ANY, TOKEN]),
        route!(get "/report", blocking(page::report), "report",
            "The report of the whole index, as a page",
            [(200, "HTML", Media("text/html"))], [ANY, TOKEN, INDEX]),
        route!(get "/health", state::health, "health",
            "Whether the server runs and its answers are current; needs no token",
            [(200, "It does", Json("Health")),
             (503, "A sync failed and writes are refused, the state is stale, or the server stops",
                Json("Health"))], [ANY]),
        route!(get "/metrics", blocking(state::metrics), "metrics",
            "Counts, times and sizes for Prometheus",
            [(200, "Prometheus' text format", Media("text/plain"))], [ANY, TOKEN, INDEX]),
        route!(get "/v1/stats", blocking(state::stats), "stats",
            "The state of the index and of the server in numbers",
            [(200, "The state", Json("Stats"))], [ANY, TOKEN, INDEX]),
    ]
}

/// The API for programs.
fn programs() -> Vec<Route> {
    vec![
        route!(put DOCUMENT, blocking(documents::put), "putDocument",
            "Insert a document, or replace the one with this key; durable when answered",
            [(200, "Replaced, or unchanged: the same signature and payload were there",
                Json("Written")),
             (201, "The key was new", Json("Written"))],
            [ANY, TOKEN, BODY, INDEX, WRITE], "Document"),
        route!(get DOCUMENT, blocking(documents::get), "getDocument",
            "The document with this key, without its text",
            [(200, "The document", Json("Stored"))], [ANY, TOKEN, KEY, UNKNOWN_KEY, INDEX]),
        route!(delete DOCUMENT, blocking(documents::delete), "deleteDocument",
            "Remove a document; durable when answered",
            [(200, "Removed", Json("Written"))], [ANY, TOKEN, KEY, UNKNOWN_KEY, INDEX, WRITE]),
        route!(get TEXT, blocking(documents::text), "getText",
            "The text of a stored document, read again from where it came from; with --texts",
            [(200, "The text, still the one that was added", Json("Text"))],
            [ANY, TOKEN, KEY, UNKNOWN_KEY, CHANGED, TOO_LARGE, INDEX]),
        route!(get DOCUMENTS, blocking(documents::list), "listDocuments",
            "A page of the documents whose keys begin with `prefix`, in the order of their keys",
            [(200, "The page", Json("DocumentList"))], [ANY, TOKEN, KEY, INDEX]),
        route!(delete DOCUMENTS, blocking(documents::delete_listed), "deleteDocuments",
            "Remove all documents whose keys begin with `prefix`, or that are older than \
             `before`; durable when answered",
            [(200, "Removed", Json("PrefixRemoved"))], [ANY, TOKEN, KEY, INDEX, WRITE]),
        route!(get "/v1/pairs", lines::pairs, "pairs",
            "All pairs of similar documents, as lines of JSON, sent while they are found",
            [(200, "A line for each pair, in no particular order", Lines("Pair"))],
            [ANY, TOKEN, KEY, INDEX]),
        route!(get "/v1/clusters", lines::clusters, "clusters",
            "All clusters: documents that pairs connect, as lines of JSON",
            [(200, "A line for each cluster, in the order of their first keys", Lines("Cluster"))],
            [ANY, TOKEN, KEY, INDEX]),
        route!(post "/v1/batch", blocking(documents::batch), "batch",
            "Insert and remove several documents as one change: all of them or none, one sync",
            [(200, "Done", Json("BatchWritten"))], [ANY, TOKEN, BODY, INDEX, WRITE], "Batch"),
        route!(post "/v1/query", brief(search::query), "query",
            "Find documents similar to a text, a set, a signature, or stored documents",
            [(200, "The matches, most similar first, equal ones by key; of `texts`, each its own",
                OneOf(&["Answer", "Answers"]))],
            [ANY, TOKEN, BODY, UNKNOWN_KEY, INDEX], "Query"),
        route!(post "/v1/read", blocking(documents::read_file), "readFile",
            "The text of a file in the body, of any format that the tool reads; nothing is stored",
            [(200, "The text", Json("FileText"))], [ANY, TOKEN, BODY, INDEX], "File"),
        route!(post "/v1/admit", blocking(admit::admit), "admit",
            "Insert a document unless a stored one is too similar: one atomic step",
            [(200, "Decided; a rejection is an answer, not an error", Json("Admission"))],
            [ANY, TOKEN, BODY, CONFLICT, INDEX, WRITE], "Admit"),
    ]
}

pub(super) fn routes() -> Vec<Route> {
    pages().into_iter().chain(programs()).collect()
}

/// The OpenAPI document, as a test wrote it.
pub(super) const OPENAPI: &str = include_str!("api/openapi.json");

async fn openapi() -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// The router of all routes; with a base path, each of them is below it, too.
pub(super) fn router(shared: &Arc<Shared>, base_path: Option<&str>) -> Router {
    let router = plain_router(shared);
    match base_path {
        None => router,
        // Paths are changed before the inner router sees them.
        Some(base) => Router::new()
            .fallback_service(router)
            .layer(axum::middleware::from_fn_with_state(Arc::from(base), base_path::strip)),
    }
}

fn plain_router(shared: &Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, route.answer);
    }
    router
        .fallback(|| async {
            ErrorResponse::new("no_route", "no such path")
                .advise("/openapi.json lists all paths and methods")
        })
        .method_not_allowed_fallback(|| async {
            let message = "this path has no such method";
            ErrorResponse::new("method", message)
                .advise("/openapi.json lists all paths and methods")
        })
        .layer(DefaultBodyLimit::max(shared.limits.body_bytes_max))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(shared), guard::guard))
        .with_state(Arc::clone(shared))
}
