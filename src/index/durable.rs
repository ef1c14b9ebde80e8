//! Group commit: which changes are applied, which are durable, which are visible; and poison.
//!
//! Knows the WAL's file only as something to sync. Lock order: writer, then this, then the view.

use crate::index::core::Core;
use crate::index::event::{Event, Events};
use crate::index::options::Durability;
use crate::storage::File;
use crate::storage::lock::LockLost;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::{Error, ErrorKind, Result};
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
    woken: Condvar,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Shared {
    file: Option<Arc<dyn File>>,
    /// The last change that is appended and applied.
    applied: Mark,
    /// The last change known to be durable.
    durable_change: u64,
    /// The offset of the WAL known to be synced: set only after the sync that covers it.
    horizon: u64,
    /// The largest horizon any record carries.
    horizon_noted: u64,
    synced_at_ms: u64,
    /// Somebody is syncing for all, up to this change.
    led: Option<u64>,
    /// How many wait for that: waking nobody would be a system call, too.
    waiting: usize,
    gathering: Gathering,
    /// Nothing more is written, for ever.
    stopped: Option<Stopped>,
}

/// Why a handle writes nothing more.
#[derive(Debug, Clone)]
enum Stopped {
    /// A sync failed: what it said.
    SyncFailed(String),
    /// The handle is no longer the index's one writer.
    LockLost(LockLost),
}

impl Stopped {
    fn by(error: &io::Error) -> Self {
        match LockLost::of(error) {
            Some(lost) => Self::LockLost(lost),
            None => Self::SyncFailed(error.to_string()),
        }
    }

    /// What a change is told that was not written.
    fn refusal(&self, dir: &Path) -> Error {
        match self {
            Self::SyncFailed(cause) => Error::new(
                ErrorKind::Poisoned,
                format!("nothing more is written since a sync failed ({cause}); reopen the index"),
            ),
            Self::LockLost(lost) => Error::closed(dir, *lost),
        }
    }

    /// What a change is told that was written, and may be gone.
    fn doubt(&self, dir: &Path) -> Error {
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
struct Gathering {
    /// Those who wait for a sync that has not begun.
    arrived: usize,
    /// How many the last sync was for, and came while it ran.
    expected: usize,
    /// Somebody waits for more to come, and begins if they do not.
    kept: bool,
    /// Syncs that are to begin without that, and how many it were the last time.
    skipped: u32,
    skipped_last: u32,
}

impl Gathering {
    /// Whether fewer are here than there were of late.
    fn lacks_some(&self) -> bool {
        self.arrived < self.expected
    }

    /// Takes all who are here for a sync that begins.
    fn begin(&mut self) -> usize {
        if !self.lacks_some() {
            self.skipped_last = 0;
        }
        self.kept = false;
        std::mem::take(&mut self.arrived)
    }

    /// They did not come: the next syncs begin without them, the more the more often it happens.
    fn give_up(&mut self) {
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
    fn stop(&self, shared: &mut Shared, stopped: impl FnOnce() -> Stopped) {
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

    fn lock(&self) -> MutexGuard<'_, Shared> {
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
    fn pause<'a>(
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
    fn pause<'a>(
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

impl Core {
    /// Whether this handle still is the index's one writer. One call of the system.
    fn check_lock(&self) -> io::Result<()> {
        planted!(LockNotChecked => return Ok(()));
        self.lock().map_or(Ok(()), |lock| lock.check())
    }

    /// Refuses every write once the lock is lost or a sync has failed.
    pub(crate) fn refuse_if_stopped(&self) -> Result<()> {
        if let Err(error) = self.check_lock() {
            match LockLost::of(&error) {
                Some(lost) => self.group.note_lost(lost),
                None => return Err(Error::io("look at the lock of", self.names.root(), error)),
            }
        }
        match &self.group.lock().stopped {
            None => Ok(()),
            Some(stopped) => Err(stopped.refusal(self.names.root())),
        }
    }

    /// Refuses what comes after a shutdown.
    pub(crate) fn refuse_if_shut_down(&self) -> Result<()> {
        if self.shut_down.load(Ordering::Acquire) {
            return Err(Error::closed(self.names.root(), LockLost::Released));
        }
        Ok(())
    }

    /// Refuses what would wait for other threads in a forked child, which has none of them: a lock
    /// that one of them held is held for ever.
    pub(crate) fn refuse_in_child(&self) -> Result<()> {
        if self.is_in_child() {
            return Err(Error::closed(self.names.root(), LockLost::Forked));
        }
        Ok(())
    }

    /// Returns once `change` is durable. One syncs for all who wait: it takes what is applied at
    /// that time, syncs, and only then moves the horizon and what is visible.
    pub(crate) fn await_durable(&self, change: u64) -> Result<()> {
        self.await_sync(change, false)
    }

    /// The same; `gathers` is whether it may wait for others to come. (Who holds the write lock
    /// must not: they need it.)
    fn await_sync(&self, change: u64, mut gathers: bool) -> Result<()> {
        let group = &self.group;
        let mut shared = group.lock();
        let mut is_counted = false;
        loop {
            if shared.durable_change >= change {
                return Ok(());
            }
            if let Some(stopped) = &shared.stopped {
                return Err(stopped.doubt(self.names.root()));
            }
            // Writers covered by the running sync do not queue for the next one.
            let awaits_next = shared.led.is_none_or(|until| until < change);
            if awaits_next && !std::mem::replace(&mut is_counted, true) {
                shared.gathering.arrived += 1;
                if !gathers {
                    shared.gathering.expected = 0;
                }
            }
            if shared.led.is_some() || shared.gathering.kept && shared.gathering.lacks_some() {
                #[cfg(test)]
                crate::planted::about_to_wait();
                shared.waiting += 1;
                shared = group.woken.wait(shared).unwrap_or_else(PoisonError::into_inner);
                shared.waiting -= 1;
            } else if std::mem::take(&mut gathers) && shared.gathering.lacks_some() {
                shared = self.gather(shared, change);
            } else {
                shared = self.lead(shared)?;
            }
        }
    }

    /// Waits for those who are lacking, as long as any of them comes. What has become of it the
    /// caller looks at: somebody else may have synced.
    fn gather<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        change: u64,
    ) -> MutexGuard<'a, Shared> {
        if shared.gathering.skipped > 0 {
            shared.gathering.skipped -= 1;
            return shared;
        }
        shared.gathering.kept = true;
        loop {
            let before = shared.gathering.arrived;
            shared.waiting += 1;
            let is_late;
            (shared, is_late) = self.group.pause(shared, self.options.gather_pause);
            shared.waiting -= 1;
            let is_settled = shared.durable_change >= change || shared.stopped.is_some();
            let is_led = shared.led.is_some() || !shared.gathering.kept;
            if is_settled || is_led || !shared.gathering.lacks_some() {
                return shared;
            }
            if is_late && shared.gathering.arrived == before {
                shared.gathering.give_up();
                return shared;
            }
        }
    }

    /// Syncs for all who wait.
    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "a planted bug fails"))]
    fn lead<'a>(&'a self, mut shared: MutexGuard<'a, Shared>) -> Result<MutexGuard<'a, Shared>> {
        let group = &self.group;
        let (mark, file) = (shared.applied, shared.file.clone());
        shared.led = Some(mark.change);
        let together = shared.gathering.begin();
        drop(shared);
        let synced = planted!(WalNotSynced, Ok(()), file.map_or(Ok(()), |file| file.sync()));
        // After the sync: if the lock still is this handle's, no other writer can have opened the
        // index before these changes were durable, so that it has found them.
        let synced = synced.and_then(|()| self.check_lock());
        shared = group.lock();
        shared.led = None;
        shared.gathering.expected = together + shared.gathering.arrived;
        match synced {
            // The log broke meanwhile: another sync failed, and what that one dropped this one may
            // have passed over.
            Ok(()) if shared.stopped.is_some() => {}
            Ok(()) => {
                let covered = planted!(HorizonAfterSync, shared.applied, mark);
                shared.durable_change = shared.durable_change.max(covered.change);
                shared.horizon = shared.horizon.max(covered.end);
                shared.synced_at_ms = (self.options.clock)();
                self.view.show(covered);
            }
            Err(error) => {
                planted!(PoisonForgotten => return Err(Error::new(ErrorKind::Unknown, "")));
                group.stop(&mut shared, || Stopped::by(&error));
            }
        }
        if shared.waiting > 0 {
            // Without the lock, which is the first thing that they want.
            drop(shared);
            group.woken.notify_all();
            shared = group.lock();
        }
        Ok(shared)
    }

    /// What `Ok` of a write waits for, at the durability of this handle.
    pub(crate) fn settle(&self, change: u64) -> Result<()> {
        match self.options.durability {
            Durability::Sync => self.await_sync(change, true),
            Durability::Interval(_) => self.sync_if_due().map(|_| ()),
            Durability::OsBuffer => Ok(()),
        }
    }

    /// Under `Interval`, syncs if the interval is over; says whether it did.
    pub(crate) fn sync_if_due(&self) -> Result<bool> {
        let Durability::Interval(interval) = self.options.durability else { return Ok(false) };
        let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        let change = {
            let shared = self.group.lock();
            // Read under the lock, so that only a clock that was set back is behind: then nobody
            // knows how long it has been.
            let waited = (self.options.clock)().checked_sub(shared.synced_at_ms);
            let over = waited.is_none_or(|waited| waited >= interval_ms);
            if shared.applied.change <= shared.durable_change || !over {
                return Ok(false);
            }
            shared.applied.change
        };
        self.await_durable(change).map(|()| true)
    }

    /// Makes everything durable that was written before the call; returns the last such change.
    pub(crate) fn sync_all(&self) -> Result<u64> {
        let change = self.group.lock().applied.change;
        self.await_durable(change)?;
        Ok(change)
    }
}
