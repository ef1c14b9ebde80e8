//! Limits the number of connections, and how long a connection may stay without progress. Protects
//! against clients that send a byte only now and then (slowloris).
//!
//! This module knows sockets, not HTTP.

use std::future::{Future as _, pending};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Maximum number of open connections. Further ones wait in the system's listen backlog.
const CONNECTIONS_MAX: usize = 1_280;

/// Number of connections from which idle ones are closed soon. The connections beyond it are a
/// reserve: a health check is accepted although very many clients keep idle connections.
const CROWD: usize = 1_024;

/// Time after which an idle connection is closed in a crowd.
const CROWD_PATIENCE: Duration = Duration::from_secs(1);

/// Files and connections that the process may have open, if the system allows so many.
#[cfg(unix)]
const FILES_MAX: u64 = 8_192;

/// Time added to the timeout of a request, so that the timeout response can still be sent.
const MARGIN: Duration = Duration::from_secs(5);

/// Raises the number of files that may be open: many systems begin with 1,024, which is less than
/// the connections and the index need.
#[cfg(unix)]
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES_MAX, |most| most.min(FILES_MAX));
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // If this fails, fewer connections are accepted at once.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// The address of a client.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Connected<IncomingStream<'_, LimitedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// Accepts connections up to the limit.
pub(crate) struct LimitedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl LimitedListener {
    /// `timeout` is the maximum time for processing a request.
    pub(crate) fn new(listener: TcpListener, timeout: Duration) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { listener, places, patience: timeout + MARGIN }
    }
}

impl Listener for LimitedListener {
    type Io = DeadlineStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (DeadlineStream, SocketAddr) {
        let places = Arc::clone(&self.places);
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
            // Unreachable: nothing closes the semaphore.
            return pending().await;
        };
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // An answer is small and written at once, so waiting for more data is useless.
                    // If this call fails, answers only arrive later.
                    let _ = stream.set_nodelay(true);
                    return (DeadlineStream::new(stream, (place, places), self.patience), peer);
                }
                Err(error) if is_of_one_connection(&error) => {}
                // Usually there are too many open files: wait until some are closed.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// A connection with a deadline. It is dropped if no request arrives for too long. It is also
/// dropped if a request is not answered in time, because the rest of the request is missing or the
/// client does not read the answer.
pub(crate) struct DeadlineStream {
    stream: TcpStream,
    patience: Duration,
    deadline: Instant,
    /// Fires at the deadline or earlier. A request moves `deadline` but does not reset the timer,
    /// which would be more expensive; a timer that fires too early is set again.
    timer: Pin<Box<Sleep>>,
    /// Whether bytes were read since the last write.
    request_began: bool,
    _place: OwnedSemaphorePermit,
    /// The places of all connections.
    places: Arc<Semaphore>,
}

impl DeadlineStream {
    fn new(
        stream: TcpStream,
        (place, places): (OwnedSemaphorePermit, Arc<Semaphore>),
        patience: Duration,
    ) -> Self {
        let deadline = Instant::now() + patience;
        let timer = Box::pin(sleep_until(deadline.min(Instant::now() + CROWD_PATIENCE)));
        Self { stream, patience, deadline, timer, request_began: false, _place: place, places }
    }

    fn renew(&mut self, request_began: bool) {
        self.request_began = request_began;
        self.deadline = Instant::now() + self.patience;
    }

    /// Whether no request has arrived for some time, and others need the place.
    fn is_idle_in_a_crowd(&self, now: Instant) -> bool {
        let idle = (now + self.patience).saturating_duration_since(self.deadline);
        !self.request_began
            && idle >= CROWD_PATIENCE
            && CONNECTIONS_MAX - self.places.available_permits() > CROWD
    }

    /// Called while a read or write is pending. Fails once the deadline has passed.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            if now >= self.deadline || self.is_idle_in_a_crowd(now) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // While a request is missing, the timer also fires to look for a crowd.
            let next = if self.request_began { self.deadline } else { now + CROWD_PATIENCE };
            self.timer.as_mut().reset(next.min(self.deadline));
        }
    }
}

impl AsyncRead for DeadlineStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Pending => this.wait(context),
            read @ Poll::Ready(_) => {
                // Only the first bytes of a request move the deadline, so a client cannot extend it
                // by sending slowly.
                if !this.request_began && buffer.filled().len() > before {
                    this.renew(true);
                }
                read
            }
        }
    }
}

impl AsyncWrite for DeadlineStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write(context, bytes) {
            Poll::Pending => this.wait(context),
            written @ Poll::Ready(_) => {
                this.renew(false);
                written
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write_vectored(context, parts) {
            Poll::Pending => this.wait(context),
            written @ Poll::Ready(_) => {
                this.renew(false);
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
