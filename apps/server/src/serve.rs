//! `nearkin serve`: serves the index over HTTP to other programs and to browsers.
//!
//! This module starts and stops the server. `serve/routes.rs` lists the routes.

mod api;
mod handlers;
mod http;
mod metrics;
mod page;
mod routes;
mod served;
mod shared;

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::serve::Serve;
use http::access::Access;
use http::access_log::AccessLog;
use http::listener::{self, LimitedListener};
use nearkin_input::inside::Inside;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::output::{self, Output, counted, grouped};
use served::Served;
use shared::{Limits, Shared};

/// Time for sending the last answers after all requests have been processed.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum number of threads that process requests; further requests wait for a free thread. More
/// threads would cost memory: the allocator keeps a few pages of each size per thread, and with 64
/// threads, one per admitted request, these pages made up most of the server's memory. 16 writers
/// are also enough to share a sync.
const THREADS_MAX: usize = 16;

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
    let access = Access::new(args)?;
    let index = open(args)?;
    opened::check_of_documents(index.params(), "serve")?;
    let limits = Limits {
        body_bytes_max: args.body_bytes_max,
        requests_max: args.requests_max,
        timeout: Duration::from_secs(args.timeout),
    };
    let title = crate::report_page::name_of(&args.index);
    let originals = originals(args, &index)?;
    let mut shared = Shared::new(index, title, limits, access);
    shared.originals = originals;
    let failed = |error: io::Error| Failure::new(format!("cannot start the server: {error}"), "");
    shared.log = args.log_format().map(AccessLog::start).transpose().map_err(failed)?;
    #[cfg(unix)]
    listener::raise_file_limit();
    let shared = Arc::new(shared);
    // rayon panics if it cannot start a thread; fail with a message instead.
    nearkin_kit::threads::check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(limits.requests_max.min(THREADS_MAX))
        .enable_all()
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(serve(args.listen, &shared, output));
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
fn open(args: &Serve) -> Result<Served, Failure> {
    if args.read_only {
        return Ok(Served::read_only(opened::to_read(&args.index)?));
    }
    match opened::to_serve(&args.index, args.ttl.ttl)? {
        Some(index) => Ok(Served::Writable(index)),
        None => {
            let reader = opened::to_read(&args.index)?;
            output::note("the index is on a read-only file system: only reads are served");
            Ok(Served::read_only(reader))
        }
    }
}

/// Access to the original texts, if clients may read them.
fn originals(args: &Serve, index: &Served) -> Result<Option<Originals>, Failure> {
    if !args.texts {
        return Ok(None);
    }
    let (params, rows) = (index.params(), RowsGiven::default());
    let originals = args.originals().originals(params, index.sketcher(), &rows)?;
    Ok(Some(originals.only_inside(Inside::new(&args.texts_root)?)))
}

/// Serves requests until a signal arrives, then finishes the requests that are running.
async fn serve(
    listen: SocketAddr,
    shared: &Arc<Shared>,
    output: &mut Output,
) -> Result<(), Failure> {
    let refused = |error: io::Error| {
        Failure::new(
            format!("cannot listen on {listen}: {error}"),
            "choose another address or port with --listen; port 0 picks a free one",
        )
    };
    // The signal handlers are installed before the address is printed, so that no signal is missed.
    let mut signals = Signals::new().map_err(refused)?;
    let listener = TcpListener::bind(listen).await.map_err(refused)?;
    let listening = listener.local_addr().map_err(refused)?;
    let patience = shared.limits.timeout;
    let routes = routes::router(shared);
    let routes = routes.into_make_service_with_connect_info::<listener::Peer>();
    let (stop, stopping) = oneshot::channel::<()>();
    let server = axum::serve(LimitedListener::new(listener, patience), routes);
    let server = server.with_graceful_shutdown(async move {
        // Nothing is ever sent through this channel. `drop(stop)` below ends this wait with an
        // error, and then the server shuts down.
        let _ = stopping.await;
    });
    let server = tokio::spawn(async move { server.await });
    let listening = format!("http://{listening}");
    if output.json() {
        output.object(&ListeningObject { listening })?;
    } else {
        output.line(format_args!("listening on {listening} (stop it with Ctrl-C)"))?;
    }
    output.flush()?;
    signals.next().await;
    let stopping = "stopping: finishing running requests (a second signal exits at once)";
    match &shared.log {
        // A pipe that nobody reads must not keep the server from stopping.
        Some(log) => log.say(format!("nearkin: {stopping}")),
        None => output::note(stopping),
    }
    let hurry = tokio::spawn(async move {
        signals.next().await;
        output::note(
            "exited at once: acknowledged writes are safe, the next start replays the log",
        );
        std::process::exit(2)
    });
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

/// SIGINT and SIGTERM; on Windows Ctrl-C, and that the console is closed.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
    #[cfg(windows)]
    terminate: tokio::signal::windows::CtrlClose,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(windows)]
    fn new() -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_c, ctrl_close};
        Ok(Self { interrupt: ctrl_c()?, terminate: ctrl_close()? })
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let came = self.interrupt.poll_recv(context).is_ready();
            if came || self.terminate.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        })
        .await;
    }
}
