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

impl Last {
    fn currency(&self) -> Option<Currency> {
        // If the folder was moved, the server still is one of its writers.
        if matches!(&self.failure, Some((ErrorKind::Mismatch, _))) {
            return None;
        }
        let (kind, message) = self.failure.clone().unzip();
        let age = self.succeeded.elapsed();
        let (is_stale, failure) = judge(age, kind, message);
        failure.is_some().then_some(Currency { age, failure, is_stale })
    }
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
        self.last.lock().unwrap_or_else(PoisonError::into_inner).currency()
    }

    /// Flushes and closes the index.
    pub(super) fn close(self) -> nearkin::Result<()> {
        let flushed = opened::flush_unless_locked(&self.index);
        self.index.shutdown()?;
        flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_that_fails_or_hangs_is_told() {
        let told = |seconds, kind: Option<ErrorKind>| {
            let succeeded = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
            let failure = kind.map(|kind| (kind, "why".to_owned()));
            let currency = Last { succeeded, failure }.currency();
            currency.map(|currency| (currency.is_stale, currency.failure.unwrap()))
        };
        assert_eq!(told(1, None), None);
        let (is_stale, failure) = told(60, None).unwrap();
        assert!(is_stale && failure.contains("60 s"), "{failure}");
        assert_eq!(told(1, Some(ErrorKind::Corrupt)), Some((true, "why".to_owned())));
        assert_eq!(told(1, Some(ErrorKind::Unsettled)), Some((false, "why".to_owned())));
        assert_eq!(told(60, Some(ErrorKind::Mismatch)), None);
    }
}
