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

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Maximum number of open connections. Further ones wait in the system's listen backlog.
const CONNECTIONS_MAX: usize = 1024;

/// Time added to the timeout of a request, so that the timeout response can still be sent.
const MARGIN: Duration = Duration::from_secs(5);

/// Accepts connections up to the limit.
pub(super) struct LimitedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl LimitedListener {
    /// `timeout` is the maximum time for processing a request.
    pub(super) fn new(listener: TcpListener, timeout: Duration) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { listener, places, patience: timeout + MARGIN }
    }
}

impl Listener for LimitedListener {
    type Io = DeadlineStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (DeadlineStream, SocketAddr) {
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
                    return (DeadlineStream::new(stream, place, self.patience), peer);
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
pub(super) struct DeadlineStream {
    stream: TcpStream,
    patience: Duration,
    deadline: Instant,
    /// Fires at the deadline or earlier. A request moves `deadline` but does not reset the timer,
    /// which would be more expensive; a timer that fires too early is set again.
    timer: Pin<Box<Sleep>>,
    /// Whether bytes were read since the last write.
    request_began: bool,
    _place: OwnedSemaphorePermit,
}

impl DeadlineStream {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit, patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        let timer = Box::pin(sleep_until(deadline));
        Self { stream, patience, deadline, timer, request_began: false, _place: place }
    }

    fn renew(&mut self, request_began: bool) {
        self.request_began = request_began;
        self.deadline = Instant::now() + self.patience;
    }

    /// Called while a read or write is pending. Fails once the deadline has passed.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            if Instant::now() >= self.deadline {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(self.deadline);
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
