//! The index of a server that only reads: a thread follows the writer of the index, and opens the
//! index that is at the path if another one has taken its place.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use nearkin::{Error, ErrorKind, Params, Reader};
use nearkin_kit::args::machine;
use nearkin_kit::input::opened;
use nearkin_kit::output;

/// Interval between two looks at the index.
const INTERVAL: Duration = Duration::from_millis(500);

/// Age from which a state is stale although the last failure passes by itself.
const STALE_AGE: Duration = Duration::from_secs(10);

/// Age from which a state is stale although no look has failed: the last one has not ended, because
/// the disk hangs. Longer than it takes to open a large index.
const HANGING_AGE: Duration = Duration::from_secs(30);

/// From this number of failures in a row on, the path is opened only after each further such
/// number of them, because opening an index costs more than a look.
const PATIENT: u64 = 16;

/// A reader and the thread that keeps it current.
pub(super) struct Followed {
    state: Arc<State>,
    params: Params,
    /// Ends the thread when dropped.
    _stop: Sender<()>,
}

/// What the thread and the requests share.
struct State {
    /// The path that was given; a link may lead to another index later.
    path: PathBuf,
    reader: RwLock<Arc<Reader>>,
    /// Why the last look failed, if it did.
    failure: Mutex<Option<Failing>>,
}

/// Failures since the last success.
struct Failing {
    count: u64,
    kind: ErrorKind,
    message: String,
}

/// How current the state is that requests see.
pub(super) struct Currency {
    /// Time since the last successful look at the index.
    pub(super) age: Duration,
    /// Why the state cannot be brought up to date.
    pub(super) failure: Option<String>,
    /// Whether the answers can no longer count as those of the index.
    pub(super) is_stale: bool,
}

impl Followed {
    pub(super) fn new(path: &Path, reader: Reader) -> std::io::Result<Self> {
        let params = reader.params().clone();
        let state = Arc::new(State {
            path: path.to_path_buf(),
            reader: RwLock::new(Arc::new(reader)),
            failure: Mutex::new(None),
        });
        let (stop, stopped) = channel();
        let following = Arc::clone(&state);
        let named = std::thread::Builder::new().name("follow".to_owned());
        // Detached: a look at a disk that hangs must not keep the server from stopping.
        named.spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                following.look();
            }
        })?;
        Ok(Self { state, params, _stop: stop })
    }

    pub(super) fn reader(&self) -> Arc<Reader> {
        self.state.reader()
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    pub(super) fn currency(&self) -> Currency {
        let age = self.reader().freshness().age;
        let failing = self.state.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = failing.as_ref().map(|failing| failing.message.clone());
        let (is_stale, failure) = judge(age, failing.as_ref().map(|one| one.kind), failure);
        Currency { age, failure, is_stale }
    }
}

/// Whether a state of this age is stale, and why it cannot be brought up to date.
pub(super) fn judge(
    age: Duration,
    kind: Option<ErrorKind>,
    failure: Option<String>,
) -> (bool, Option<String>) {
    match kind {
        Some(kind) => (!passes_by_itself(kind) || age >= STALE_AGE, failure),
        None if age >= HANGING_AGE => {
            (true, Some(format!("the last look has not ended for {} s", age.as_secs())))
        }
        None => (false, None),
    }
}

/// Whether the next look may well succeed: the writer is busy, or a backup is being made there.
fn passes_by_itself(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unsettled | ErrorKind::Locked)
}

impl State {
    fn reader(&self) -> Arc<Reader> {
        Arc::clone(&self.reader.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Brings the reader up to date, or opens what is at the path now.
    fn look(&self) {
        let reader = self.reader();
        let Err(error) = reader.refresh() else { return self.note(None) };
        let count = {
            let failing = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failing.as_ref().map_or(1, |failing| failing.count + 1)
        };
        if passes_by_itself(error.kind()) || !is_attempt(count) {
            return self.note(Some((count, error)));
        }
        match self.open_again(&reader, error) {
            Ok(opened) => {
                *self.reader.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened);
                self.note(None);
                output::note(format!(
                    "another index is at {} now, and is served from now on",
                    self.path.display()
                ));
            }
            Err(error) => self.note(Some((count, error))),
        }
    }

    /// Opens the index at the path. Clients know the parameters, so an index of others is refused.
    fn open_again(&self, reader: &Reader, error: Error) -> nearkin::Result<Reader> {
        let options = machine::options();
        let open = |options| Reader::open(&self.path, options);
        match opened::mapped_or_not(&self.path, options, open) {
            Ok(opened) if opened.params() == reader.params() => Ok(opened),
            Ok(_) => {
                let what = format!(
                    "an index with other parameters is at {} now; restart the server to serve it",
                    self.path.display()
                );
                Err(Error::new(ErrorKind::Mismatch, what))
            }
            // What is wrong at the path says more than that another index was expected there.
            Err(wrong) if error.kind() == ErrorKind::Mismatch => Err(wrong),
            Err(_) => Err(error),
        }
    }

    /// Notes how a look ended, and reports the first failure in a row.
    fn note(&self, failed: Option<(u64, Error)>) {
        let mut failing = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((count, error)) = failed else {
            *failing = None;
            return;
        };
        match &mut *failing {
            // Looks between two attempts to open the path say less than the attempt did.
            Some(failing) if !is_attempt(count) => failing.count = count,
            _ => {
                let message = error.full_message();
                *failing = Some(Failing { count, kind: error.kind(), message });
            }
        }
        // A pipe that nobody reads must not hold up whoever asks how current the state is.
        drop(failing);
        if count == 1 {
            output::note(format!("the changes of the index cannot be read: {error}"));
        }
    }
}

/// Whether the path is opened again after this number of failures in a row.
fn is_attempt(count: u64) -> bool {
    count.is_power_of_two() || count.is_multiple_of(PATIENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_stale_after_a_failure_that_stays_or_a_look_that_hangs() {
        let is_stale = |seconds, kind: Option<ErrorKind>| {
            let (is_stale, failure) =
                judge(Duration::from_secs(seconds), kind, kind.map(|_| "!".to_owned()));
            assert!(failure.is_some() || !is_stale, "no reason");
            is_stale
        };
        assert!(is_stale(0, Some(ErrorKind::Mismatch)));
        assert!(
            !is_stale(9, Some(ErrorKind::Unsettled)) && is_stale(10, Some(ErrorKind::Unsettled))
        );
        assert!(!is_stale(29, None) && is_stale(30, None));
    }
}
