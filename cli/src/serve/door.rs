//! Connections: how many there may be, and how long one may keep its place without progress.
//!
//! Knows sockets, not HTTP. Against clients that send a byte now and then, for ever.

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

/// Most connections at once; those that come after wait with the operating system.
const CONNECTIONS_MAX: usize = 1024;

/// What a request may take beyond its time, so that it is told that the time is over.
const MARGIN: Duration = Duration::from_secs(5);

/// Where connections come in.
pub(super) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl Door {
    /// `timeout` is what a request may take.
    pub(super) fn new(listener: TcpListener, timeout: Duration) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { listener, places, patience: timeout + MARGIN }
    }
}

impl Listener for Door {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guarded, SocketAddr) {
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
            // Nobody closes it.
            return pending().await;
        };
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // Answers are small and written at once. Without it they only come later.
                    let _ = stream.set_nodelay(true);
                    return (Guarded::new(stream, place, self.patience), peer);
                }
                Err(error) if is_of_one_connection(&error) => {}
                // Most often too many open files: some are closed soon.
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

/// A connection that is broken off if, for too long, no request came, or a request that came
/// has got no answer: because the rest of it is missing, or nobody takes the answer.
pub(super) struct Guarded {
    stream: TcpStream,
    patience: Duration,
    deadline: Instant,
    /// Never later than the deadline: that is moved much more often.
    alarm: Pin<Box<Sleep>>,
    /// Whether something was read since the last write.
    asked: bool,
    _place: OwnedSemaphorePermit,
}

impl Guarded {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit, patience: Duration) -> Self {
        let deadline = Instant::now() + patience;
        let alarm = Box::pin(sleep_until(deadline));
        Self { stream, patience, deadline, alarm, asked: false, _place: place }
    }

    fn renew(&mut self, asked: bool) {
        self.asked = asked;
        self.deadline = Instant::now() + self.patience;
    }

    /// What a read or write that has to wait comes to: an error once the time is over.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            ready!(self.alarm.as_mut().poll(context));
            if Instant::now() >= self.deadline {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(self.deadline);
        }
    }
}

impl AsyncRead for Guarded {
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
                // The first bytes of a request start its clock, later ones do not.
                if !this.asked && buffer.filled().len() > before {
                    this.renew(true);
                }
                read
            }
        }
    }
}

impl AsyncWrite for Guarded {
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
