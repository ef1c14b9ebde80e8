//! An upload service that rejects near-copies and recommends similar documents.
//!
//! `cargo run --release --manifest-path examples/service/Cargo.toml -- INDEX [ADDRESS]`.
//!
//! - `POST /documents` with `{"tenant": "...", "id": "...", "text": "..."}`: 201 with the related
//!   documents, or 409 with the documents of which it is a copy. Check and insert are one step: if
//!   two copies arrive at once, only one is stored. A document that was answered with 201 survives
//!   power loss.
//! - `GET /similar?tenant=...&id=...`: the documents most similar to a stored one.
//!
//! No tenant is answered, rejected or shown anything because of a document of another one. (A real
//! service takes the tenant from the login, not from the request.)
//!
//! A call to the index blocks its thread (it reads mapped files and waits for syncs), so calls run
//! on blocking threads, by `spawn_blocking`. A semaphore limits the number of concurrent calls;
//! further requests are told to try again later. Ctrl-C and SIGTERM let running requests finish,
//! then close the index.

use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use nearkin::{Admit, Decision, ErrorKind, Index, Match, Options, Params};
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// A new document with at least this similarity to a stored one is a copy.
const COPY: f64 = 0.9;

/// Documents with at least this similarity are recommended. The bands of the index are chosen for
/// this similarity.
const RELATED: f64 = 0.4;

/// Maximum number of recommendations in an answer.
const LIMIT: usize = 10;

/// Maximum number of candidates per query. Limits the time of a query if many near-duplicates are
/// stored.
const CANDIDATES_MAX: usize = 10_000;

/// Maximum bytes of a request body.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Maximum number of index calls that run or wait. Many may wait at once, because writers that wait
/// together share a sync.
const CALLS_MAX: u32 = 64;

#[derive(Clone)]
struct Service {
    index: Arc<Index>,
    calls: Arc<Semaphore>,
}

#[derive(Deserialize)]
struct Upload {
    tenant: String,
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Similar {
    tenant: String,
    id: String,
}

/// What the keys of a tenant's documents begin with. No name of a tenant has a slash.
#[expect(clippy::result_large_err, reason = "it is the answer")]
fn prefix_of(tenant: &str) -> Result<String, Response> {
    if tenant.is_empty() || tenant.contains('/') {
        let message = "the name of a tenant is not empty, and has no slash";
        return Err(failure(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    Ok(format!("{tenant}/"))
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("usage: service INDEX [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());

    let params = Params::for_threshold(RELATED).build()?;
    let index = Arc::new(Index::open_or_create(dir, &params, Options::default())?);
    let calls = Arc::new(Semaphore::new(CALLS_MAX as usize));
    let service = Service { index: Arc::clone(&index), calls: Arc::clone(&calls) };
    let routes = Router::new()
        .route("/documents", post(upload))
        .route("/similar", get(similar))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(service);

    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes).with_graceful_shutdown(signal()).await?;

    // Take all permits, which waits until no call runs: a call keeps running even if its client
    // hung up.
    let _all = calls.acquire_many(CALLS_MAX).await?;
    // Connections that are ending may still share the handle.
    index.shutdown()?;
    println!("closed");
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
async fn signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            // If no handler can be installed, SIGTERM ends the process immediately, which does not
            // damage the index. So wait for Ctrl-C only.
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<Option<()>>();
    tokio::select! {
        _ = interrupt => {}
        _ = terminate => {}
    }
    // A second Ctrl-C ends the process without waiting for slow clients. The index survives that,
    // too.
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
}

/// Stores a document, unless it is a copy.
async fn upload(State(service): State<Service>, Json(upload): Json<Upload>) -> Response {
    let prefix = match prefix_of(&upload.tenant) {
        Ok(prefix) => prefix,
        Err(refused) => return refused,
    };
    let call = move |index: &Index| {
        let signature = index.sketcher().text(&upload.text)?;
        let terms = Admit::at(COPY).relate(RELATED).limit(LIMIT).prefix(&prefix);
        Ok(index.admit(format!("{prefix}{}", upload.id), &signature, &terms)?.decision)
    };
    match service.call(call).await {
        Ok(Decision::Admitted { related, .. }) => {
            (StatusCode::CREATED, Json(json!({ "related": list(&related) }))).into_response()
        }
        Ok(Decision::Rejected { duplicates, .. }) => {
            (StatusCode::CONFLICT, Json(json!({ "copy_of": list(&duplicates) }))).into_response()
        }
        Err(refused) => refused,
    }
}

/// Recommends the documents most similar to a stored one.
async fn similar(State(service): State<Service>, Query(similar): Query<Similar>) -> Response {
    let prefix = match prefix_of(&similar.tenant) {
        Ok(prefix) => prefix,
        Err(refused) => return refused,
    };
    let call = move |index: &Index| {
        let query = index.query_key(format!("{prefix}{}", similar.id));
        let query = query.threshold(RELATED).limit(LIMIT).max_candidates(CANDIDATES_MAX);
        query.filter(|key, _| key.starts_with(prefix.as_bytes())).run()
    };
    match service.call(call).await {
        // `complete` is false if `CANDIDATES_MAX` was reached: other documents may then be more
        // similar.
        Ok(found) => {
            let similar = list(&found.matches);
            Json(json!({ "similar": similar, "complete": found.complete })).into_response()
        }
        Err(refused) => refused,
    }
}

impl Service {
    /// Runs a call of the index on a thread that may block. If there are too many calls, returns
    /// the response that says so.
    async fn call<T: Send + 'static>(
        self,
        call: impl FnOnce(&Index) -> nearkin::Result<T> + Send + 'static,
    ) -> Result<T, Response> {
        let Ok(permit) = self.calls.try_acquire_owned() else {
            let wait = [(header::RETRY_AFTER, "1")];
            let error = Json(json!({ "error": "too many requests at once" }));
            return Err((StatusCode::SERVICE_UNAVAILABLE, wait, error).into_response());
        };
        let index = self.index;
        let done = tokio::task::spawn_blocking(move || {
            let result = call(&index);
            // The permit ends with the call: then the index may be closed.
            drop(permit);
            result
        });
        match done.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(panic) => {
                eprintln!("a call did not end: {panic}");
                Err(failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"))
            }
        }
    }
}

/// The response for an error. A client gets the message about its own mistake; the message of any
/// other error goes only to the log.
fn refusal(error: &nearkin::Error) -> Response {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::Empty => {
            failure(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string())
        }
        ErrorKind::NoSuchKey => failure(StatusCode::NOT_FOUND, &error.to_string()),
        // The cause is often a full disk. Nothing was written, and the index stays usable.
        ErrorKind::Io => {
            eprintln!("{error:?}");
            failure(StatusCode::INSUFFICIENT_STORAGE, "the storage failed; try again later")
        }
        _ => {
            eprintln!("{error:?}");
            failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
        }
    }
}

fn failure(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

fn list(matches: &[Match]) -> Vec<Value> {
    let mut list = Vec::with_capacity(matches.len());
    for found in matches {
        let key = String::from_utf8_lossy(&found.key);
        let id = key.split_once('/').map_or(&*key, |(_, id)| id);
        list.push(json!({ "id": id, "similarity": found.similarity }));
    }
    list
}
