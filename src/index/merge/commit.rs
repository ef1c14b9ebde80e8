//! Making changes durable: one thread syncs for all waiting writers. Also checks whether a handle
//! must refuse calls.
//!
//! Decides when to sync, and when changes become visible. The shared state is `state/group.rs`.

use crate::index::state::core::Core;
use crate::index::state::group::{Gathering, Shared, Stopped};
use crate::index::state::options::Durability;
use crate::storage::lock::LockLost;
use crate::sync::atomic::Ordering;
use crate::sync::{MutexGuard, PoisonError};
use crate::{Error, Result};
use std::io;
use std::path::Path;

/// Upper bound of the back-off: the number of syncs that skip the group wait after a timeout.
/// Without a back-off, one steady writer beside three that write every 2 ms gets up to a quarter
/// fewer inserts done.
const SKIPPED_MAX: u32 = 64;

/// Checks that this handle is still the only writer of the index. One system call.
fn check_lock(core: &Core) -> io::Result<()> {
    core.lock().map_or(Ok(()), |lock| lock.check())
}

impl Gathering {
    /// Whether fewer writers have arrived than expected.
    fn lacks_some(&self) -> bool {
        self.arrived < self.expected
    }

    /// Starts a sync for all arrived writers, and returns their number.
    fn begin(&mut self) -> usize {
        if !self.lacks_some() {
            self.skipped_last = 0;
        }
        self.kept = false;
        std::mem::take(&mut self.arrived)
    }

    /// The group wait timed out: the next syncs skip it, each time twice as many as the last time.
    fn give_up(&mut self) {
        self.kept = false;
        self.skipped_last = (2 * self.skipped_last).clamp(1, SKIPPED_MAX);
        self.skipped = self.skipped_last;
    }
}

/// Refuses every write once the lock is lost or a sync has failed.
pub(crate) fn refuse_if_stopped(core: &Core) -> Result<()> {
    if let Err(error) = check_lock(core) {
        match LockLost::from_io_error(&error) {
            Some(lost) => core.group.note_lost(lost),
            None => return Err(crate::io_error("look at the lock of", core.names.root(), error)),
        }
    }
    refuse_if_noted(core)
}

/// Like [`refuse_if_stopped`], for a caller that has just looked at the lock.
pub(crate) fn refuse_if_noted(core: &Core) -> Result<()> {
    match &core.group.lock().stopped {
        None => Ok(()),
        Some(stopped) => Err(stopped.refusal(core.names.root())),
    }
}

/// Refuses calls after a shutdown.
pub(crate) fn refuse_if_shut_down(core: &Core) -> Result<()> {
    if core.shut_down.load(Ordering::Acquire) {
        return Err(crate::closed_error(core.names.root(), LockLost::Released));
    }
    Ok(())
}

/// Refuses calls in a forked child. The child has none of the other threads, so a lock that one
/// of them held at the fork is never released.
pub(crate) fn refuse_in_child(core: &Core) -> Result<()> {
    if core.is_in_child() {
        return Err(in_child(core.names.root()));
    }
    Ok(())
}

/// The error of a call in a forked child.
pub(crate) fn in_child(dir: &Path) -> Error {
    crate::closed_error(dir, LockLost::Forked)
}

/// Returns once `change` is durable. One thread syncs for all waiting writers: it takes the
/// last applied change, syncs, and only then advances the horizon and the visible change.
pub(crate) fn await_durable(core: &Core, change: u64) -> Result<()> {
    await_sync(core, change, false)
}

/// Like [`await_durable`]; `gathers` allows the group wait. (The holder of the write lock
/// must not do that wait, because the other writers need the lock.)
fn await_sync(core: &Core, change: u64, mut gathers: bool) -> Result<()> {
    let group = &core.group;
    let mut shared = group.lock();
    let mut is_counted = false;
    loop {
        if shared.durable_change >= change {
            return Ok(());
        }
        if let Some(stopped) = &shared.stopped {
            return Err(stopped.doubt(core.names.root()));
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
            crate::testing::planted::about_to_wait();
            shared.waiting += 1;
            shared = group.woken.wait(shared).unwrap_or_else(PoisonError::into_inner);
            shared.waiting -= 1;
        } else if std::mem::take(&mut gathers) && shared.gathering.lacks_some() {
            shared = gather(core, shared, change);
        } else {
            shared = lead(core, shared);
        }
    }
}

/// The group wait: waits for the missing writers as long as they keep arriving. Another thread
/// may sync meanwhile, so the caller checks again.
fn gather<'a>(
    core: &'a Core,
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
        (shared, is_late) = core.group.pause(shared, core.options.gather_pause);
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

/// Syncs for all waiting writers.
fn lead<'a>(core: &'a Core, mut shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
    let group = &core.group;
    let (mark, file) = (shared.applied, shared.file.clone());
    shared.led = Some(mark.change);
    let together = shared.gathering.begin();
    drop(shared);
    let synced = file.map_or(Ok(()), |file| file.sync());
    // Check the lock after the sync. If this handle still has it, no other writer can have
    // opened the index before these changes were durable, so no writer has missed them.
    let synced = synced.and_then(|()| check_lock(core));
    shared = group.lock();
    shared.led = None;
    shared.gathering.expected = together + shared.gathering.arrived;
    match synced {
        // Another sync failed meanwhile. This one may have succeeded only because the system
        // had dropped the pages.
        Ok(()) if shared.stopped.is_some() => {}
        Ok(()) => {
            let covered = planted!(HorizonAfterSync, shared.applied, mark);
            shared.durable_change = shared.durable_change.max(covered.change);
            shared.horizon = shared.horizon.max(covered.end);
            shared.synced_at_ms = (core.options.clock)();
            core.view.show(covered);
        }
        Err(error) => group.stop(&mut shared, || Stopped::by(&error)),
    }
    if shared.waiting > 0 {
        // Release the lock first: the woken threads need it.
        drop(shared);
        group.woken.notify_all();
        shared = group.lock();
    }
    shared
}

/// Waits until all that `Ok` of a write promises at this handle's durability is true.
pub(crate) fn settle(core: &Core, change: u64) -> Result<()> {
    match core.options.durability {
        Durability::Sync => await_sync(core, change, true),
        Durability::Interval(_) => sync_if_due(core).map(|_| ()),
        Durability::OsBuffer => Ok(()),
    }
}

/// Under `Interval`, syncs if the interval is over; returns whether it did.
pub(crate) fn sync_if_due(core: &Core) -> Result<bool> {
    let Durability::Interval(interval) = core.options.durability else { return Ok(false) };
    let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let change = {
        let shared = core.group.lock();
        // The clock is read under the lock, so it can be earlier than the last sync only if it
        // was set back. The elapsed time is then unknown: sync.
        let waited = (core.options.clock)().checked_sub(shared.synced_at_ms);
        let over = waited.is_none_or(|waited| waited >= interval_ms);
        if shared.applied.change <= shared.durable_change || !over {
            return Ok(false);
        }
        shared.applied.change
    };
    await_durable(core, change).map(|()| true)
}

/// Makes every write before the call durable; returns the last such change.
pub(crate) fn sync_all(core: &Core) -> Result<u64> {
    let change = core.group.lock().applied.change;
    await_durable(core, change)?;
    Ok(change)
}
