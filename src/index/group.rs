//! Group commit: which changes are applied, which are durable, which are visible; and poison.
//!
//! Knows the WAL's file only as something to sync, and no index: `commit.rs` syncs. Lock order:
//! writer, then this, then the view.

use crate::index::event::{Event, Events};
use crate::storage::File;
use crate::storage::lock::LockLost;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::{Error, ErrorKind};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Upper bound of the back-off: syncs that skip the group wait after it timed out.
const SKIPPED_MAX: u32 = 64;

/// A place in the stream of changes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    /// The offset of the WAL after the change's record.
    pub(crate) end: u64,
    pub(crate) change: u64,
    /// Live documents after it.
    pub(crate) documents: u64,
}

/// What the writers that wait for a sync share.
#[derive(Debug, Default)]
pub(crate) struct Group {
    state: Mutex<Shared>,
    pub(super) woken: Condvar,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) file: Option<Arc<dyn File>>,
    /// The last change that is appended and applied.
    pub(super) applied: Mark,
    /// The last change known to be durable.
    pub(super) durable_change: u64,
    /// The offset of the WAL known to be synced: set only after the sync that covers it.
    pub(super) horizon: u64,
    /// The largest horizon any record carries.
    pub(super) horizon_noted: u64,
    pub(super) synced_at_ms: u64,
    /// Somebody is syncing for all, up to this change.
    pub(super) led: Option<u64>,
    /// How many wait for that: waking nobody would be a system call, too.
    pub(super) waiting: usize,
    pub(super) gathering: Gathering,
    /// Nothing more is written, for ever.
    pub(super) stopped: Option<Stopped>,
}

/// Why a handle writes nothing more.
#[derive(Debug, Clone)]
pub(super) enum Stopped {
    /// A sync failed: what it said.
    SyncFailed(String),
    /// The handle is no longer the index's one writer.
    LockLost(LockLost),
}

impl Stopped {
    pub(super) fn by(error: &io::Error) -> Self {
        match LockLost::of(error) {
            Some(lost) => Self::LockLost(lost),
            None => Self::SyncFailed(error.to_string()),
        }
    }

    /// What a change is told that was not written.
    pub(super) fn refusal(&self, dir: &Path) -> Error {
        match self {
            Self::SyncFailed(cause) => Error::new(
                ErrorKind::Poisoned,
                format!("nothing more is written since a sync failed ({cause}); reopen the index"),
            ),
            Self::LockLost(lost) => Error::closed(dir, *lost),
        }
    }

    /// What a change is told that was written, and may be gone.
    pub(super) fn doubt(&self, dir: &Path) -> Error {
        let why = match self {
            Self::SyncFailed(cause) => {
                format!("the change may be lost at a power cut: a sync failed ({cause})")
            }
            Self::LockLost(lost) => format!(
                "the change may be lost: while it was written this handle lost the index ({lost}); \
                 reopen it and look"
            ),
        };
        Error::new(ErrorKind::Unknown, format!("{}: {why}", dir.display()))
    }
}

/// Writers that come back together from a sync come together for the next; but the first of them
/// would begin one for itself alone, and all others wait for that, and then for theirs. So it waits
/// a moment until as many are here as there were, and the last to come begins.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Those who wait for a sync that has not begun.
    pub(super) arrived: usize,
    /// How many the last sync was for, and came while it ran.
    pub(super) expected: usize,
    /// Somebody waits for more to come, and begins if they do not.
    pub(super) kept: bool,
    /// Syncs that are to begin without that, and how many it were the last time.
    pub(super) skipped: u32,
    pub(super) skipped_last: u32,
}

impl Gathering {
    /// Whether fewer are here than there were of late.
    pub(super) fn lacks_some(&self) -> bool {
        self.arrived < self.expected
    }

    /// Takes all who are here for a sync that begins.
    pub(super) fn begin(&mut self) -> usize {
        if !self.lacks_some() {
            self.skipped_last = 0;
        }
        self.kept = false;
        std::mem::take(&mut self.arrived)
    }

    /// They did not come: the next syncs begin without them, the more the more often it happens.
    pub(super) fn give_up(&mut self) {
        self.kept = false;
        self.skipped_last = (2 * self.skipped_last).clamp(1, SKIPPED_MAX);
        self.skipped = self.skipped_last;
    }
}

impl Group {
    pub(crate) fn telling(events: &Arc<Events>) -> Self {
        Self { events: Arc::clone(events), ..Self::default() }
    }

    /// Lets nothing more be written, unless nothing is any more.
    pub(super) fn stop(&self, shared: &mut Shared, stopped: impl FnOnce() -> Stopped) {
        if shared.stopped.is_some() {
            return;
        }
        match shared.stopped.insert(stopped()) {
            // The handle was closed by its owner.
            Stopped::LockLost(LockLost::Released) => {}
            Stopped::LockLost(lost) => {
                self.events.note(|| Event::LockLost { message: lost.to_string() });
            }
            Stopped::SyncFailed(cause) => {
                self.events.note(|| Event::Poisoned { message: cause.clone() });
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts of writers that wait for a sync not yet started, and of all that wait for one.
    #[cfg(test)]
    pub(crate) fn arrived_and_waiting(&self) -> (usize, usize) {
        let shared = self.lock();
        (shared.gathering.arrived, shared.waiting)
    }

    /// Syncs that are to begin without waiting for anybody.
    #[cfg(test)]
    pub(crate) fn skipped(&self) -> u32 {
        self.lock().gathering.skipped
    }

    /// Lets the lock go until something is told or the time is over, which is true then.
    #[cfg(not(all(shuttle, test)))]
    pub(super) fn pause<'a>(
        &'a self,
        shared: MutexGuard<'a, Shared>,
        pause: Duration,
    ) -> (MutexGuard<'a, Shared>, bool) {
        let paused = self.woken.wait_timeout(shared, pause);
        let (shared, paused) = paused.unwrap_or_else(PoisonError::into_inner);
        (shared, paused.timed_out())
    }

    /// Time does not pass for the schedule explorer: others may go first, or not.
    #[cfg(all(shuttle, test))]
    pub(super) fn pause<'a>(
        &'a self,
        shared: MutexGuard<'a, Shared>,
        _: Duration,
    ) -> (MutexGuard<'a, Shared>, bool) {
        drop(shared);
        crate::sync::thread::yield_now();
        (self.lock(), true)
    }

    /// Starts over with a WAL that holds no record; everything applied so far is durable.
    pub(crate) fn restart(&self, file: Option<Arc<dyn File>>, begin: u64, mark: Mark) {
        let mut shared = self.lock();
        shared.file = file;
        shared.applied = Mark { end: begin, ..mark };
        shared.durable_change = mark.change;
        shared.horizon = begin;
        shared.horizon_noted = begin;
    }

    /// The horizon that the next record carries.
    pub(crate) fn horizon(&self) -> u64 {
        self.lock().horizon
    }

    /// Notes that a change is appended and applied, or a record without a change appended.
    pub(crate) fn applied(&self, mark: Mark, horizon_carried: u64) {
        let mut shared = self.lock();
        shared.applied = mark;
        shared.horizon_noted = shared.horizon_noted.max(horizon_carried);
    }

    pub(crate) fn durable_change(&self) -> u64 {
        self.lock().durable_change
    }

    /// Whether a horizon is known that no record carries yet.
    pub(crate) fn horizon_is_news(&self) -> bool {
        let shared = self.lock();
        shared.stopped.is_none() && shared.horizon > shared.horizon_noted
    }

    /// The lock is lost, or given up: nothing more is written, for ever.
    pub(crate) fn note_lost(&self, lost: LockLost) {
        self.stop(&mut self.lock(), || Stopped::LockLost(lost));
        self.woken.notify_all();
    }

    /// Does what poisons if it fails. Under the lock, because a sync that ends meanwhile may have
    /// passed over what the failed one dropped.
    pub(crate) fn or_poison(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut shared = self.lock();
        let done = act();
        if let Err(error) = &done {
            self.stop(&mut shared, || Stopped::by(error));
            self.woken.notify_all();
        }
        done
    }

    /// What was written is in doubt: nothing more may build on it.
    pub(crate) fn poison(&self, cause: &dyn std::fmt::Display) {
        self.stop(&mut self.lock(), || Stopped::SyncFailed(cause.to_string()));
        self.woken.notify_all();
    }
}
