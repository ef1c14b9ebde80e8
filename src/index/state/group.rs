//! Group commit: which changes are applied, durable and visible; and poisoning.
//!
//! Holds the WAL's file only to sync it, and knows nothing else of the index; `merge/commit.rs`
//! decides when to sync. Lock order: writer, then this lock, then the view.

use super::event::{Event, Events};
use crate::storage::File;
use crate::storage::lock::LockLost;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::{Error, ErrorKind};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A place in the stream of changes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    /// The offset of the WAL after the change's record.
    pub(crate) end: u64,
    pub(crate) change: u64,
    /// The number of live documents after the change.
    pub(crate) documents: u64,
}

/// The shared state of writers that wait for a sync.
#[derive(Debug, Default)]
pub(crate) struct Group {
    state: Mutex<Shared>,
    pub(in crate::index) woken: Condvar,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
pub(in crate::index) struct Shared {
    pub(in crate::index) file: Option<Arc<dyn File>>,
    /// The last change that is appended and applied.
    pub(in crate::index) applied: Mark,
    /// The last change known to be durable.
    pub(in crate::index) durable_change: u64,
    /// The offset up to which the WAL is known to be synced. It advances only after the sync that
    /// covers it.
    pub(in crate::index) horizon: u64,
    /// The largest horizon that any record carries.
    pub(in crate::index) horizon_noted: u64,
    pub(in crate::index) synced_at_ms: u64,
    /// While a thread is syncing for all: the change up to which it syncs.
    pub(in crate::index) led: Option<u64>,
    /// The number of waiting threads. If it is zero, no wakeup is needed: even that would cost a
    /// system call.
    pub(in crate::index) waiting: usize,
    pub(in crate::index) gathering: Gathering,
    /// Set once: all further writes are refused.
    pub(in crate::index) stopped: Option<Stopped>,
}

/// Why a handle refuses writes.
#[derive(Debug, Clone)]
pub(in crate::index) enum Stopped {
    /// A sync failed, with this message.
    SyncFailed(String),
    /// The handle is no longer the only writer of the index.
    LockLost(LockLost),
}

impl Stopped {
    pub(in crate::index) fn by(error: &io::Error) -> Self {
        match LockLost::from_io_error(error) {
            Some(lost) => Self::LockLost(lost),
            None => Self::SyncFailed(error.to_string()),
        }
    }

    /// The error for a change that was not written.
    pub(in crate::index) fn refusal(&self, dir: &Path) -> Error {
        match self {
            Self::SyncFailed(cause) => Error::new(
                ErrorKind::Poisoned,
                format!(
                    "the handle refuses writes, because a sync failed ({cause}); reopen the index"
                ),
            ),
            Self::LockLost(lost) => crate::closed_error(dir, *lost),
        }
    }

    /// The error for a change that was written, but may be lost.
    pub(in crate::index) fn doubt(&self, dir: &Path) -> Error {
        let why = match self {
            Self::SyncFailed(cause) => {
                format!("a power cut may lose the change: a sync failed ({cause})")
            }
            Self::LockLost(lost) => format!(
                "the change may be lost: the handle lost the index during the write ({lost}); \
                 reopen the index to check"
            ),
        };
        Error::about(ErrorKind::Unknown, dir, why)
    }
}

/// The group wait. Writers that shared a sync usually write again at about the same time. Without a
/// wait, the first of them would sync alone, and all others would wait for that sync and then for
/// their own. So the first waits until as many have arrived as shared the last sync; the last to
/// arrive starts the sync.
#[derive(Debug, Default)]
pub(in crate::index) struct Gathering {
    /// Number of writers that wait for a sync that has not started.
    pub(in crate::index) arrived: usize,
    /// Number of writers of the last sync, plus those that arrived while it ran.
    pub(in crate::index) expected: usize,
    /// Whether a writer is in the group wait: after the timeout, it starts the sync.
    pub(in crate::index) kept: bool,
    /// The back-off: syncs left that skip the group wait, and the length of the last back-off.
    pub(in crate::index) skipped: u32,
    pub(in crate::index) skipped_last: u32,
}

impl Group {
    pub(crate) fn telling(events: &Arc<Events>) -> Self {
        Self { events: Arc::clone(events), ..Self::default() }
    }

    /// Refuses all further writes. The first reason counts.
    pub(in crate::index) fn stop(&self, shared: &mut Shared, stopped: impl FnOnce() -> Stopped) {
        if shared.stopped.is_some() {
            return;
        }
        match shared.stopped.insert(stopped()) {
            // No event: the owner itself closed the handle.
            Stopped::LockLost(LockLost::Released) => {}
            Stopped::LockLost(lost) => {
                self.events.note(|| Event::LockLost { message: lost.to_string() });
            }
            Stopped::SyncFailed(cause) => {
                self.events.note(|| Event::Poisoned { message: cause.clone() });
            }
        }
    }

    pub(in crate::index) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of writers that wait for a sync that has not started, and of those that wait for
    /// any sync.
    #[cfg(test)]
    pub(crate) fn arrived_and_waiting(&self) -> (usize, usize) {
        let shared = self.lock();
        (shared.gathering.arrived, shared.waiting)
    }

    /// The number of upcoming syncs that skip the group wait (the back-off).
    #[cfg(test)]
    pub(crate) fn skipped(&self) -> u32 {
        self.lock().gathering.skipped
    }

    /// Releases the lock until a notification or the timeout. Returns true after the timeout.
    #[cfg(not(all(shuttle, test)))]
    pub(in crate::index) fn pause<'a>(
        &'a self,
        shared: MutexGuard<'a, Shared>,
        pause: Duration,
    ) -> (MutexGuard<'a, Shared>, bool) {
        let paused = self.woken.wait_timeout(shared, pause);
        let (shared, paused) = paused.unwrap_or_else(PoisonError::into_inner);
        (shared, paused.timed_out())
    }

    /// The schedule explorer has no time: yields, so that other threads may run first, and times
    /// out.
    #[cfg(all(shuttle, test))]
    pub(in crate::index) fn pause<'a>(
        &'a self,
        shared: MutexGuard<'a, Shared>,
        _: Duration,
    ) -> (MutexGuard<'a, Shared>, bool) {
        drop(shared);
        crate::sync::thread::yield_now();
        (self.lock(), true)
    }

    /// Starts over with an empty WAL; everything applied so far is durable.
    pub(crate) fn restart(&self, file: Option<Arc<dyn File>>, mark: Mark) {
        let mut shared = self.lock();
        shared.file = file;
        shared.applied = mark;
        shared.durable_change = mark.change;
        (shared.horizon, shared.horizon_noted) = (mark.end, mark.end);
    }

    /// Goes on with a WAL of another process, whose records end at `mark` and are synced up to
    /// `horizon`; only an idle record follows.
    pub(crate) fn resume(&self, file: Arc<dyn File>, mark: Mark, horizon: u64) {
        self.restart(Some(file), mark);
        let mut shared = self.lock();
        (shared.horizon, shared.horizon_noted) = (horizon, horizon);
    }

    /// The horizon for the next record.
    pub(crate) fn horizon(&self) -> u64 {
        self.lock().horizon
    }

    /// Records that a change was appended and applied, or that a record without a change was
    /// appended.
    pub(crate) fn applied(&self, mark: Mark, horizon_carried: u64) {
        let mut shared = self.lock();
        shared.applied = mark;
        shared.horizon_noted = shared.horizon_noted.max(horizon_carried);
    }

    pub(crate) fn durable_change(&self) -> u64 {
        self.lock().durable_change
    }

    /// Same, in a forked child: 0 if a thread of the parent held the lock at the fork.
    pub(crate) fn durable_change_in_child(&self) -> u64 {
        self.state.try_lock().map_or(0, |shared| shared.durable_change)
    }

    /// Whether the horizon is larger than in any record, and writes are not refused.
    pub(crate) fn horizon_is_news(&self) -> bool {
        let shared = self.lock();
        shared.stopped.is_none() && shared.horizon > shared.horizon_noted
    }

    /// A planted bug: what was written counts as synced.
    #[cfg(test)]
    pub(crate) fn skip_sync(&self) {
        let mut shared = self.lock();
        (shared.durable_change, shared.horizon) = (shared.applied.change, shared.applied.end);
    }

    /// Notes that the lock is lost or released: all further writes are refused.
    pub(crate) fn note_lost(&self, lost: LockLost) {
        self.stop(&mut self.lock(), || Stopped::LockLost(lost));
        self.woken.notify_all();
    }

    /// Runs an action whose failure poisons the handle. Holds the lock meanwhile, so that a
    /// concurrent sync is not counted as a success before the handle is poisoned: if the action
    /// fails, the system may have dropped pages, and that sync may have succeeded without them.
    pub(crate) fn or_poison(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut shared = self.lock();
        let done = act();
        if let Err(error) = &done {
            self.stop(&mut shared, || Stopped::by(error));
            self.woken.notify_all();
        }
        done
    }

    /// Poisons the handle: written data may be lost, so no further change may be based on it.
    pub(crate) fn poison(&self, cause: &dyn std::fmt::Display) {
        self.stop(&mut self.lock(), || Stopped::SyncFailed(cause.to_string()));
        self.woken.notify_all();
    }
}
