//! The index of a server that writes, beside other processes that write to it: a thread sees what
//! they have written.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nearkin::{ErrorKind, Index};
use nearkin_kit::input::opened;

use super::followed::{Currency, judge};

/// Interval between two refreshes.
const INTERVAL: Duration = Duration::from_millis(100);

/// An index, and the thread that refreshes it.
pub(super) struct Refreshed {
    index: Arc<Index>,
    last: Arc<Mutex<Last>>,
    /// Ends the thread when dropped.
    _stop: Sender<()>,
}

/// How the last refresh ended.
struct Last {
    /// The time of the last refresh that succeeded.
    succeeded: Instant,
    failure: Option<(ErrorKind, String)>,
}

impl Refreshed {
    pub(super) fn new(index: Index) -> std::io::Result<Self> {
        let index = Arc::new(index);
        let last = Arc::new(Mutex::new(Last { succeeded: Instant::now(), failure: None }));
        let (stop, stopped) = channel();
        let (refreshing, noting) = (Arc::downgrade(&index), Arc::clone(&last));
        // Detached: a refresh from a disk that hangs must not keep the server from stopping.
        std::thread::Builder::new().name("refresh".to_owned()).spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Some(index) = refreshing.upgrade() else { return };
                let refreshed = index.refresh();
                let mut last = noting.lock().unwrap_or_else(PoisonError::into_inner);
                last.failure = refreshed.err().map(|error| (error.kind(), error.full_message()));
                if last.failure.is_none() {
                    last.succeeded = Instant::now();
                }
            }
        })?;
        Ok(Self { index, last, _stop: stop })
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// How current the state is, if the last refresh failed or has not ended for long.
    pub(super) fn currency(&self) -> Option<Currency> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // If the folder was moved, the server still is one of its writers.
        let failure = last.failure.clone().filter(|(kind, _)| *kind != ErrorKind::Mismatch);
        let (kind, message) = failure.unzip();
        let age = last.succeeded.elapsed();
        let (is_stale, failure) = match (kind, &last.failure) {
            (None, Some(_)) => (false, None),
            _ => judge(age, kind, message),
        };
        failure.is_some().then_some(Currency { age, failure, is_stale })
    }

    /// Flushes and closes the index.
    pub(super) fn close(self) -> nearkin::Result<()> {
        let flushed = opened::flush_unless_locked(&self.index);
        self.index.shutdown()?;
        flushed
    }
}
