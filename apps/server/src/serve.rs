//! `nearkin serve`: serves the index over HTTP to other programs and to browsers.
//!
//! This module starts and stops the server. `serve/routes.rs` lists the routes.

mod api;
mod call;
mod followed;
mod hand_over;
mod handlers;
mod http;
pub mod mcp;
mod metrics;
mod page;
mod refreshed;
mod routes;
mod served;
mod shared;
mod signals;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::serve::Serve;
use crate::args::texts::TextsGiven;
use followed::Followed;
use http::access::Access;
use http::access_log::AccessLog;
use http::bind::{Bound, bind};
use http::listener::{self, LimitedListener};
use nearkin_input::inside::Inside;
use nearkin_kit::args::machine;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::output::{self, Output, counted, grouped};
use refreshed::Refreshed;
use served::Served;
use shared::{Limits, Shared};
use signals::Signals;

/// Time for sending the last answers after all requests have been processed.
const GRACE: Duration = Duration::from_secs(1);

/// Polling interval while waiting for the last requests.
const TICK: Duration = Duration::from_millis(20);

/// The task that runs the server.
type Server = JoinHandle<io::Result<()>>;

#[derive(Serialize)]
struct ListeningObject {
    listening: String,
}

#[derive(Serialize)]
struct StoppedObject {
    requests: u64,
    documents: u64,
    change: u64,
}

/// Runs the command.
pub fn run(args: &Serve, output: &mut Output) -> Result<Ended, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot start the server: {error}"), "");
    // rayon panics if it cannot start a thread; fail with a message instead.
    nearkin_kit::threads::check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(shared::threads(args.requests_max))
        .enable_all()
        .build()
        .map_err(failed)?;
    // Bound before any file of the index is created: see `bind`.
    let bound = runtime.block_on(async { bind(&args.listen) })?;
    let access = Access::new(args, bound.reach)?;
    let index = open(&args.index, args.read_only, args.ttl.ttl)?;
    opened::check_of_documents(index.params(), "serve")?;
    let limits = Limits {
        body_bytes_max: machine::memory_part(16, args.body_bytes_max),
        requests_max: args.requests_max,
        timeout: Duration::from_secs(args.timeout),
    };
    let title = crate::report_page::name_of(&args.index);
    let originals = originals(&args.texts, &index)?;
    let mut shared = Shared::new(index, title, limits, access);
    shared.originals = originals;
    shared.log = args.log_format().map(AccessLog::start).transpose().map_err(failed)?;
    #[cfg(unix)]
    listener::raise_file_limit();
    let shared = Arc::new(shared);
    let served = runtime.block_on(serve(bound, args, &shared, output));
    runtime.shutdown_timeout(GRACE);
    let requests = shared.metrics.requests();
    let Some(shared) = Arc::into_inner(shared) else {
        return Err(Failure::new(
            "a request exceeded its time, so the index was not closed",
            "acknowledged writes are safe: the next start replays the log",
        ));
    };
    if let Some(log) = shared.log {
        log.finish();
    }
    let index = shared.index;
    let (documents, change) = (index.snapshot().len(), index.snapshot().change());
    let closed = index.close();
    served?;
    let stopped = format!(
        "{} answered, {} at change {}",
        counted(requests, "request"),
        counted(documents, "document"),
        grouped(change)
    );
    closed.map_err(|error| Failure::from(error).after(&stopped))?;
    if output.json() {
        output.object(&StoppedObject { requests, documents, change })?;
    } else {
        output.line(format_args!("stopped: {stopped}"))?;
    }
    Ok(Ended::Well)
}

/// Opens the index; on a read-only file system, for reading.
fn open(index: &Path, reads_only: bool, ttl: Option<Duration>) -> Result<Served, Failure> {
    if reads_only {
        return read_only(index);
    }
    match opened::to_serve(index, ttl)? {
        Some(index) => {
            Ok(Served::Writable(Refreshed::new(index).map_err(|error| not_followed(&error))?))
        }
        None => {
            output::note("the index is on a read-only file system: only reads are served");
            read_only(index)
        }
    }
}

/// Opens the index for reading, and follows it.
fn read_only(index: &Path) -> Result<Served, Failure> {
    let reader = opened::to_read(index)?;
    Ok(Served::ReadOnly(Followed::new(index, reader).map_err(|error| not_followed(&error))?))
}

fn not_followed(error: &io::Error) -> Failure {
    Failure::new(format!("cannot start the thread that follows the index: {error}"), "")
}

/// Access to the original texts, if clients may read them.
fn originals(given: &TextsGiven, index: &Served) -> Result<Option<Originals>, Failure> {
    if !given.texts {
        return Ok(None);
    }
    let (params, rows) = (index.params(), RowsGiven::default());
    let originals = given.originals().originals(params, index.sketcher(), &rows)?;
    Ok(Some(originals.only_inside(Inside::new(&given.texts_root)?)))
}

/// Serves requests until a signal arrives, then finishes the requests that are running.
async fn serve(
    bound: Bound,
    args: &Serve,
    shared: &Arc<Shared>,
    output: &mut Output,
) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::new(format!("cannot await signals: {error}"), "");
    // The signal handlers are installed before the address is printed, so that no signal is missed.
    let mut signals = Signals::new().map_err(refused)?;
    let listening = bound.name;
    #[cfg(unix)]
    let _removed_at_the_end = bound.file;
    let patience = shared.limits.timeout;
    let routes = routes::router(shared, args.base_path.as_deref());
    let routes = routes.into_make_service_with_connect_info::<listener::Peer>();
    let (stop, stopping) = oneshot::channel::<()>();
    let server = axum::serve(LimitedListener::new(bound.socket, patience), routes);
    let server = server.with_graceful_shutdown(async move {
        // Nothing is ever sent through this channel. `drop(stop)` below ends this wait with an
        // error, and then the server shuts down.
        let _ = stopping.await;
    });
    let server = tokio::spawn(async move { server.await });
    if output.json() {
        output.object(&ListeningObject { listening })?;
    } else {
        output.line(format_args!("listening on {listening} (stop it with Ctrl-C)"))?;
    }
    output.flush()?;
    signals.next().await;
    shared.drain();
    let drain = match args.drain {
        0 => String::new(),
        seconds => format!("serving for {seconds} s more, then "),
    };
    let stopping =
        format!("stopping: {drain}finishing running requests (a second signal exits at once)");
    match &shared.log {
        // A pipe that nobody reads must not keep the server from stopping.
        Some(log) => log.say(&format!("nearkin: {stopping}")),
        None => output::note(stopping),
    }
    let hurry = tokio::spawn(async move {
        signals.next().await;
        output::note(
            "exited at once: acknowledged writes are safe, the next start replays the log",
        );
        std::process::exit(2)
    });
    tokio::time::sleep(Duration::from_secs(args.drain)).await;
    shared.stop();
    drop(stop);
    let ended = finished(shared, server).await;
    hurry.abort();
    ended
}

/// Waits until the server has ended, but no longer than the maximum time of a request. Returns
/// earlier if no request has been running for [`GRACE`]: connections that are idle, or whose
/// request has not arrived yet, are not waited for.
async fn finished(shared: &Shared, server: Server) -> Result<(), Failure> {
    let end = Instant::now() + shared.limits.timeout + GRACE;
    let mut busy = Instant::now();
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        let working = shared.is_working();
        if server.is_finished() && !working {
            let failed =
                |error: &dyn Display| Failure::new(format!("the server failed: {error}"), "");
            return match server.await {
                Ok(ended) => ended.map_err(|error| failed(&error)),
                Err(error) => Err(failed(&error)),
            };
        }
        if working || shared.metrics.running() > 0 {
            busy = now;
        }
        // After the last request, waits for `GRACE`, because its answer may still have to be sent.
        if now >= end || now - busy >= GRACE {
            return Ok(());
        }
    }
}
