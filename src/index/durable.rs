//! Group commit: which changes are applied, which are durable, which are visible; and poison.
//!
//! Knows the WAL's file only as something to sync. Lock order: writer, then this, then the view.

use crate::index::core::Core;
use crate::index::options::Durability;
use crate::storage::File;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, thread};
use crate::{Error, ErrorKind, Result};
use std::io;

/// How often who syncs for all lets others go first, without any of them coming to wait, before it
/// goes on: some 20 microseconds. (The schedule explorer has others go first in every way anyway.)
const PATIENCE: u32 = if cfg!(shuttle) { 1 } else { 64 };

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
    /// Somebody is syncing for all.
    led: bool,
    /// How many wait for that: waking nobody would be a system call, too.
    waiting: usize,
    /// How many writers were waiting, or being synced for, when the last sync ended.
    expected: u64,
    /// A sync failed: what it said. For ever.
    poisoned: Option<String>,
}

impl Shared {
    /// Changes that are applied and not durable yet.
    fn pending(&self) -> u64 {
        self.applied.change.saturating_sub(self.durable_change)
    }
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a little for those who waited for the last sync, too, and have just been told: the
    /// first of them to be back would else have a sync for itself alone, and all others wait for
    /// that, and then for the next.
    fn gather<'a>(&'a self, mut shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
        let mut patience = PATIENCE;
        while shared.pending() < shared.expected && patience > 0 && shared.poisoned.is_none() {
            let before = shared.applied.change;
            drop(shared);
            thread::yield_now();
            shared = self.lock();
            patience = if shared.applied.change > before { PATIENCE } else { patience - 1 };
        }
        shared
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
        shared.poisoned.is_none() && shared.horizon > shared.horizon_noted
    }

    /// Refuses every write after a failed sync.
    pub(crate) fn refuse_if_poisoned(&self) -> Result<()> {
        match &self.lock().poisoned {
            None => Ok(()),
            Some(cause) => Err(Error::new(
                ErrorKind::Poisoned,
                format!("nothing more is written since a sync failed ({cause}); reopen the index"),
            )),
        }
    }

    /// Does what poisons if it fails. Under the lock, because a sync that ends meanwhile may have
    /// passed over what the failed one dropped.
    pub(crate) fn or_poison(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut shared = self.lock();
        let done = act();
        if let Err(error) = &done {
            shared.poisoned.get_or_insert(error.to_string());
            self.woken.notify_all();
        }
        done
    }

    /// What was written is in doubt: nothing more may build on it.
    pub(crate) fn poison(&self, cause: &dyn std::fmt::Display) {
        self.lock().poisoned.get_or_insert_with(|| cause.to_string());
        self.woken.notify_all();
    }
}

impl Core {
    /// Returns once `change` is durable. The first to come syncs for all who wait: it takes what
    /// is applied at that time, syncs, and only then moves the horizon and what is visible.
    pub(crate) fn await_durable(&self, change: u64) -> Result<()> {
        let group = &self.group;
        let mut shared = group.lock();
        loop {
            if shared.durable_change >= change {
                return Ok(());
            }
            if let Some(cause) = &shared.poisoned {
                return Err(Error::new(
                    ErrorKind::Unknown,
                    format!(
                        "{}: the change may be lost at a power cut: a sync failed ({cause})",
                        self.names.root().display()
                    ),
                ));
            }
            if shared.led {
                #[cfg(test)]
                crate::planted::about_to_wait();
                shared.waiting += 1;
                shared = group.woken.wait(shared).unwrap_or_else(PoisonError::into_inner);
                shared.waiting -= 1;
                continue;
            }
            shared.led = true;
            shared = group.gather(shared);
            let (mark, file) = (shared.applied, shared.file.clone());
            drop(shared);
            let synced = planted!(WalNotSynced, Ok(()), file.map_or(Ok(()), |file| file.sync()));
            shared = group.lock();
            shared.led = false;
            match synced {
                // The log broke meanwhile: another sync failed, and what that one dropped this
                // one may have passed over.
                Ok(()) if shared.poisoned.is_some() => {}
                Ok(()) => {
                    let covered = planted!(HorizonAfterSync, shared.applied, mark);
                    let waiting = u64::try_from(shared.waiting).unwrap_or(u64::MAX);
                    shared.expected = shared.pending().min(waiting + 1);
                    shared.durable_change = shared.durable_change.max(covered.change);
                    shared.horizon = shared.horizon.max(covered.end);
                    shared.synced_at_ms = (self.options.clock)();
                    self.view.show(covered);
                }
                Err(error) => {
                    planted!(PoisonForgotten => return Err(Error::new(ErrorKind::Unknown, "")));
                    shared.poisoned.get_or_insert(error.to_string());
                }
            }
            if shared.waiting > 0 {
                // Without the lock, which is the first thing that they want.
                drop(shared);
                group.woken.notify_all();
                shared = group.lock();
            }
        }
    }

    /// What `Ok` of a write waits for, at the durability of this handle.
    pub(crate) fn settle(&self, change: u64) -> Result<()> {
        match self.options.durability {
            Durability::Sync => self.await_durable(change),
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

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn group(applied: u64, durable_change: u64, expected: u64) -> Group {
        let applied = Mark { change: applied, ..Mark::default() };
        let shared = Shared { applied, durable_change, expected, ..Shared::default() };
        Group { state: Mutex::new(shared), woken: Condvar::new() }
    }

    #[test]
    fn who_syncs_waits_for_no_more_than_were_there_before_and_not_for_long() {
        // Nobody else was there; all are back; nobody comes.
        for (applied, durable, expected) in [(5, 4, 0), (5, 4, 1), (9, 4, 5), (5, 4, 3)] {
            let group = group(applied, durable, expected);
            assert_eq!(group.gather(group.lock()).applied.change, applied);
        }
        // A log that broke is synced no more.
        let group = group(5, 4, 3);
        group.poison(&"the disk is gone");
        assert_eq!(group.gather(group.lock()).pending(), 1);
    }
}
