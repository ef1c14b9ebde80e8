//! Handlers for pairs and clusters of the whole index, as lines of JSON that are sent while they
//! are found.
//!
//! An answer that could not be completed ends without the last chunk of its encoding, so that
//! clients report an error.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use nearkin::{Cluster, Conditions, ErrorKind, Snapshot};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::serve::api::answers::{ClusterLine, PairLine};
use crate::serve::api::blob::Blob;
use crate::serve::api::conditions::settings;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::http::url::Parameters;
use crate::serve::shared::Shared;
use nearkin_kit::output;

/// Size from which found lines are sent.
const CHUNK_BYTES: usize = 32 << 10;

/// Time after which found lines are sent, however few they are.
const CHUNK_TIME: Duration = Duration::from_millis(200);

/// Chunks that wait for the connection.
const CHUNKS_MAX: usize = 4;

/// A blank is sent if nothing was found for this long, because a silent connection is closed: in a
/// crowd of connections after a second.
const SILENCE: Duration = Duration::from_millis(500);

/// Interval between two looks at whether the server stops, while the client reads nothing.
const LOOK: Duration = Duration::from_millis(100);

/// The settings that these searches do not take: they compare all candidates, and end when the
/// client disconnects.
pub(crate) const WITHOUT: &[&str] = &["max_candidates", "deadline_ms"];

pub(crate) async fn pairs(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let found = |snapshot: &Snapshot, conditions| snapshot.pairs(conditions);
    answer(shared, &uri, found, |pair| PairLine {
        a: Blob(pair.a),
        b: Blob(pair.b),
        similarity: pair.similarity,
        equal_rows: pair.equal_rows,
        contained: pair.containment.map(|containment| containment.estimate),
    })
}

pub(crate) async fn clusters(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let found = |snapshot: &Snapshot, conditions| snapshot.clusters(conditions);
    answer(shared, &uri, found, |Cluster { keys, .. }| ClusterLine {
        size: keys.len() as u64,
        keys: keys.into_iter().map(Blob).collect(),
    })
}

/// The conditions that the parameters name, checked before the answer begins.
fn checked(shared: &Shared, uri: &Uri) -> Result<(Snapshot, Conditions<'static>), ErrorResponse> {
    let known: Vec<_> = settings(WITHOUT).map(|setting| setting.name).collect();
    let conditions = Parameters::parse(uri, &known)?.conditions()?;
    let snapshot = shared.index.snapshot();
    // Conditions are checked first; a search that is cancelled at once reads nothing.
    match snapshot.pairs(conditions.clone().cancel_if(|| true)) {
        Err(error) if error.kind() != ErrorKind::Cancelled => Err(error.into()),
        _ => Ok((snapshot, conditions)),
    }
}

/// Starts an answer, and finds its lines on another thread.
fn answer<T, L: Serialize, I: IntoIterator<Item = nearkin::Result<T>>>(
    shared: Arc<Shared>,
    uri: &Uri,
    find: impl FnOnce(&Snapshot, Conditions<'static>) -> nearkin::Result<I> + Send + 'static,
    line: impl Fn(T) -> L + Send + 'static,
) -> Result<Response, ErrorResponse> {
    let (snapshot, conditions) = checked(&shared, uri)?;
    let (sender, receiver) = channel(CHUNKS_MAX);
    let whole = Arc::new(AtomicBool::new(false));
    let is_whole = Arc::clone(&whole);
    shared.stream(move |shared| {
        let sent = Instant::now();
        let end = EarlyEnd { sender: sender.clone(), is_stopping: shared.stopping() };
        let mut lines = FoundLines { sender, end: end.clone(), bytes: Vec::new(), sent };
        let found = find(&snapshot, conditions.cancel_if(move || end.is_due()));
        match found.and_then(|found| lines.push_all(found, line)) {
            Ok(all) => is_whole.store(all, Ordering::Release),
            Err(_) if lines.end.is_due() => {}
            Err(error) => output::note(format!("an answer was cut off: {error}")),
        }
    })?;
    let mut silence = interval(SILENCE);
    silence.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let body = Body::from_stream(LinesBody { receiver, silence, whole, has_ended: false });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// Tells a search that nobody wants its results any more.
#[derive(Clone)]
struct EarlyEnd {
    sender: Sender<Bytes>,
    is_stopping: Arc<AtomicBool>,
}

impl EarlyEnd {
    /// Whether the client has disconnected or the server stops.
    fn is_due(&self) -> bool {
        self.sender.is_closed() || self.is_stopping.load(Ordering::Relaxed)
    }
}

/// The lines that were found and not yet sent.
struct FoundLines {
    sender: Sender<Bytes>,
    end: EarlyEnd,
    bytes: Vec<u8>,
    sent: Instant,
}

impl FoundLines {
    /// Adds all lines and sends them. Returns whether it did.
    fn push_all<T, L: Serialize>(
        &mut self,
        found: impl IntoIterator<Item = nearkin::Result<T>>,
        line: impl Fn(T) -> L,
    ) -> nearkin::Result<bool> {
        for one in found {
            if !self.push(&line(one?)) {
                return Ok(false);
            }
        }
        Ok(self.send())
    }

    /// Adds a line. Returns whether more lines are wanted.
    fn push(&mut self, line: &impl Serialize) -> bool {
        if serde_json::to_writer(&mut self.bytes, line).is_err() {
            return false;
        }
        self.bytes.push(b'\n');
        if self.bytes.len() >= CHUNK_BYTES || self.sent.elapsed() >= CHUNK_TIME {
            return self.send();
        }
        !self.end.is_due()
    }

    /// Hands the lines to the connection, as soon as it takes them. Returns whether it did.
    fn send(&mut self) -> bool {
        self.sent = Instant::now();
        let handle = Handle::current();
        while !self.end.is_due() {
            let place = handle.block_on(async { timeout(LOOK, self.sender.reserve()).await });
            if let Ok(place) = place {
                return place
                    .map(|place| place.send(std::mem::take(&mut self.bytes).into()))
                    .is_ok();
            }
        }
        false
    }
}

/// The body of an answer: chunks of whole lines.
struct LinesBody {
    receiver: Receiver<Bytes>,
    silence: Interval,
    /// Whether all lines were found and sent.
    whole: Arc<AtomicBool>,
    has_ended: bool,
}

impl Stream for LinesBody {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let chunk = match self.receiver.poll_recv(context) {
            Poll::Ready(chunk) => chunk,
            Poll::Pending => {
                ready!(self.silence.poll_tick(context));
                // Blanks before a line of JSON do not change it.
                return Poll::Ready(Some(Ok(Bytes::from_static(b" "))));
            }
        };
        self.silence.reset();
        if chunk.is_some() || self.has_ended || self.whole.load(Ordering::Acquire) {
            return Poll::Ready(chunk.map(Ok));
        }
        self.has_ended = true;
        Poll::Ready(Some(Err(io::ErrorKind::Interrupted.into())))
    }
}
