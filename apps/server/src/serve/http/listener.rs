//! Limits the number of connections, and how long a connection may stay without progress. Protects
//! against clients that send a byte only now and then (slowloris).
//!
//! This module knows sockets, not HTTP. Whether a request has arrived whole it is told by
//! [`Arrival`].

use std::future::{Future as _, pending};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::bind::Socket;

/// Maximum number of open connections. Further ones wait in the backlog of the socket.
const CONNECTIONS_MAX: usize = 1_280;

/// Number of connections from which idle ones are closed soon. The connections beyond it are a
/// reserve: a health check is accepted although very many clients hold connections.
const CROWD: usize = 1_024;

/// The same for connections with half a request. Less than for idle ones, because clients rarely
/// pause within a request; and the more are closed, the sooner those that wait are accepted.
const CROWD_OF_PARTS: usize = 512;

/// Time after which an idle connection is closed in a crowd, and half a request, too.
const CROWD_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of a request that must arrive in a crowd in each further second.
const CROWD_BYTES: u32 = 64 << 10;

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

/// How far the request of a connection is.
#[derive(Debug, Default)]
pub(crate) struct Arrival(AtomicU8);

impl Arrival {
    /// No byte of a request has arrived since the last answer.
    const IDLE: u8 = 0;
    /// A part of a request has arrived.
    const PART: u8 = 1;
    /// A request has arrived, and its answer is awaited.
    const WHOLE: u8 = 2;

    fn state(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::Relaxed);
    }

    /// The rest of the request is awaited from here on.
    pub(crate) fn await_rest(&self) {
        self.set(Self::PART);
    }

    /// The request is whole: only its answer is awaited.
    pub(crate) fn await_answer(&self) {
        self.set(Self::WHOLE);
    }
}

/// A client: its address, if it has one, and how far its request is.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) arrival: Arc<Arrival>,
}

impl Connected<IncomingStream<'_, LimitedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        Self { address: *stream.remote_addr(), arrival: Arc::clone(&stream.io().arrival) }
    }
}

/// A connection of any kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl Stream for TcpStream {}

#[cfg(unix)]
impl Stream for UnixStream {}

impl Socket {
    async fn accept(&self) -> io::Result<(Box<dyn Stream>, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // An answer is small and written at once, so waiting for more data is useless. If
                // this call fails, answers only arrive later.
                let _ = stream.set_nodelay(true);
                Ok((Box::new(stream), Some(peer)))
            }
            #[cfg(unix)]
            Self::Unix(listener) => Ok((Box::new(listener.accept().await?.0), None)),
        }
    }
}

/// Accepts connections up to the limit.
pub(crate) struct LimitedListener {
    socket: Socket,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl LimitedListener {
    /// `timeout` is the maximum time for processing a request.
    pub(crate) fn new(socket: Socket, timeout: Duration) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { socket, places, patience: timeout + MARGIN }
    }
}

impl Listener for LimitedListener {
    type Io = DeadlineStream;
    type Addr = Option<SocketAddr>;

    async fn accept(&mut self) -> (DeadlineStream, Option<SocketAddr>) {
        let places = Arc::clone(&self.places);
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
            // Unreachable: nothing closes the semaphore.
            return pending().await;
        };
        loop {
            match self.socket.accept().await {
                Ok((stream, peer)) => {
                    return (DeadlineStream::new(stream, (place, places), self.patience), peer);
                }
                Err(error) if is_of_one_connection(&error) => {}
                // Usually there are too many open files: wait until some are closed.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().map(Some),
            #[cfg(unix)]
            Socket::Unix(_) => Ok(None),
        }
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
    stream: Box<dyn Stream>,
    patience: Duration,
    deadline: Instant,
    /// Fires at the deadline or earlier. A request moves `deadline` but does not reset the timer,
    /// which would be more expensive; a timer that fires too early is set again.
    timer: Pin<Box<Sleep>>,
    arrival: Arc<Arrival>,
    /// Bytes of the request that were read.
    bytes: usize,
    _place: OwnedSemaphorePermit,
    /// The places of all connections.
    places: Arc<Semaphore>,
}

impl DeadlineStream {
    fn new(
        stream: Box<dyn Stream>,
        (place, places): (OwnedSemaphorePermit, Arc<Semaphore>),
        patience: Duration,
    ) -> Self {
        let deadline = Instant::now() + patience;
        let timer = Box::pin(sleep_until(deadline.min(Instant::now() + CROWD_PATIENCE)));
        let arrival = Arc::default();
        Self { stream, patience, deadline, timer, arrival, bytes: 0, _place: place, places }
    }

    fn renew(&mut self, state: u8) {
        self.arrival.set(state);
        self.bytes = 0;
        self.deadline = Instant::now() + self.patience;
    }

    /// Whether no request has arrived for some time, or only a part of it, and others need the
    /// place.
    fn is_in_the_way(&self, now: Instant) -> bool {
        let spent = (now + self.patience).saturating_duration_since(self.deadline);
        let seconds = u32::try_from(self.bytes).unwrap_or(u32::MAX) / CROWD_BYTES;
        let (granted, crowd) = match self.arrival.state() {
            Arrival::IDLE => (CROWD_PATIENCE, CROWD),
            Arrival::PART => (CROWD_PATIENCE * (1 + seconds), CROWD_OF_PARTS),
            _ => return false,
        };
        spent >= granted && CONNECTIONS_MAX - self.places.available_permits() > crowd
    }

    /// Called while a read or write is pending. Fails once the deadline has passed.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            if now >= self.deadline || self.is_in_the_way(now) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            // The timer also fires to look for a crowd.
            self.timer.as_mut().reset(self.deadline.min(now + CROWD_PATIENCE));
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
                let bytes = buffer.filled().len() - before;
                if this.arrival.state() == Arrival::IDLE && bytes > 0 {
                    this.renew(Arrival::PART);
                }
                this.bytes = this.bytes.saturating_add(bytes);
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
                this.renew(Arrival::IDLE);
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
                this.renew(Arrival::IDLE);
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
