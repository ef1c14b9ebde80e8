//! Maintenance: one due step at a time, and the thread that does it.

use crate::format::wal::{RecordBuilder, RecordKind};
use crate::index::core::Core;
use crate::index::event::Event;
use crate::index::group::Mark;
use crate::index::merge::flush::NextWal;
use crate::index::options::{Durability, Maintenance, Options};
#[cfg(not(all(shuttle, test)))]
use crate::index::pool::Seat;
use crate::index::read::Maintained;
use crate::index::warm_up::WarmUp;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, PoisonError, Weak};
use crate::wal::Reserve;
use crate::{Error, Result};
use std::time::{Duration, Instant};

/// How long a maintenance thread pauses so that a waiting writer can take over the compaction.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// With more full tiers of segments than this, writers help with the compaction.
const LAGGING_TIERS: usize = 8;

/// Time since the last write after which an index is idle, and the interval of the check.
#[cfg(not(all(shuttle, test)))]
pub(crate) const IDLE_PAUSE: Duration = Duration::from_millis(50);

/// Maximum sleep of a maintenance thread.
const PATIENCE: Duration = Duration::from_secs(1);

impl Core {
    /// Runs the most urgent due step. Also records the horizon every time: readers in other
    /// processes wait for it, and the other steps may take long or fail. See
    /// [`crate::Index::maintain`].
    pub(crate) fn maintain(&self) -> Result<Maintained> {
        self.maintain_quiet(None)
    }

    /// Like [`Core::maintain`]. If `quiet` is still the last change, the step may be an idle merge.
    pub(crate) fn maintain_quiet(&self, quiet: Option<u64>) -> Result<Maintained> {
        let step = self.advance_merges(quiet);
        let noted = self.note_horizon();
        match step {
            Ok(Maintained::Nothing) if noted? => Ok(Maintained::Noted),
            // If recording the horizon failed, the error is returned by a later call that has no
            // other step to run.
            step => step,
        }
    }

    /// Runs one step that earlier writes made due: a flush, an interval sync, expiry or compaction.
    fn advance_merges(&self, quiet: Option<u64>) -> Result<Maintained> {
        self.refuse_if_stopped()?;
        if self.memtable_is_full() {
            let mut writer = self.writer();
            // Another thread may have flushed the memtable before this one got the lock.
            if self.memtable_is_full() {
                self.flush_locked(
                    &mut writer,
                    NextWal::Ready { record_bytes: 0, reserve: Reserve::Kept },
                )?;
                return Ok(Maintained::Flushed);
            }
        }
        if self.sync_if_due()? {
            return Ok(Maintained::Synced);
        }
        if self.expire_step()? {
            return Ok(Maintained::Expired);
        }
        // If the idle flush fails, the steps that are due still run: on a full disk they free
        // space.
        let idle = self.flush_idle(quiet);
        if matches!(idle, Ok(true)) {
            return Ok(Maintained::Flushed);
        }
        Ok(match self.compact_step(quiet.filter(|_| idle.is_ok()))? {
            Some(true) => Maintained::Compacted,
            Some(false) => Maintained::Compacting,
            None => idle.map(|_| Maintained::Nothing)?,
        })
    }

    /// Runs after a write: does a maintenance step on the writing thread, or wakes the background
    /// thread, or neither. If the step fails, the write is complete all the same; `stats` reports
    /// the failure.
    pub(crate) fn after_write(&self) {
        match self.options.maintenance {
            // The background thread cannot keep up: the writer waits for the running step and does
            // the next one. This bounds the number of segments.
            Maintenance::Shared | Maintenance::Background if self.has_too_many_segments() => {
                let begun = self.events.now();
                let failure = self.compact_step_awaited().err();
                self.events.note_stall(begun);
                self.note_maintenance(failure.as_ref());
            }
            // Wake the thread only for a full memtable. It needs no wakeup for the other steps: a
            // flush wakes it for those that the flush makes due, and the horizon is recorded when
            // its sleep ends.
            Maintenance::Shared | Maintenance::Background if self.memtable_is_full() => {
                self.wakeup.wake();
            }
            Maintenance::Shared | Maintenance::Background => {}
            Maintenance::Inline => {
                let failure = self.advance_merges(None).err();
                self.note_maintenance(failure.as_ref());
            }
        }
    }

    /// Records the result of maintenance for `stats` and listeners.
    pub(crate) fn note_maintenance(&self, failure: Option<&Error>) {
        let is_news = self.wakeup.note_failure(failure.map(|error| format!("{error:?}")));
        if let Some(error) = failure.filter(|_| is_news) {
            let (kind, message) = (error.kind(), error.to_string());
            self.events.note(|| Event::MaintenanceFailed { kind, message });
        }
    }

    pub(crate) fn has_too_many_segments(&self) -> bool {
        self.state().segments.len() > self.options.tier_segments_max.saturating_mul(LAGGING_TIERS)
    }

    /// Writes an empty record with the horizon, unless a record already has it. This way, damage
    /// below the horizon can be told from a torn tail even if nothing more is written. Not synced.
    fn note_horizon(&self) -> Result<bool> {
        if !self.group.horizon_is_news() {
            return Ok(false);
        }
        self.refuse_if_stopped()?;
        let mut writer = self.writer();
        let mut record = RecordBuilder::new();
        let bytes = record.record_bytes();
        let room = writer.wal.as_ref().is_some_and(|wal| wal.has_room(bytes, Reserve::Kept));
        if !room {
            return Ok(false);
        }
        let (change, documents) = (writer.change, writer.documents);
        let horizon = self.group.horizon();
        let end = self.append(&mut writer, &mut record, RecordKind::Idle, change, horizon)?;
        self.group.applied(Mark { end, change, documents }, horizon);
        Ok(true)
    }
}

/// The threads that maintain the index: the shared pool, a thread of its own, or none. On drop, the
/// index leaves the pool, or its thread ends.
#[derive(Debug)]
pub(crate) struct Background {
    core: Weak<Core>,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Writers,
    /// Locked while a caller joins the thread, so that other callers wait for the end of the
    /// thread, too.
    Own(Mutex<Option<JoinHandle<()>>>),
    #[cfg(not(all(shuttle, test)))]
    Pool(Seat),
}

impl Background {
    /// Starts the thread, if the options require one. The thread begins with a warm-up of the
    /// segments, whose duration depends on the size of the index.
    pub(crate) fn start(core: &Arc<Core>) -> std::io::Result<Self> {
        let server = match core.options.maintenance {
            Maintenance::Inline => {
                core.request_directories(|_| true);
                Server::Writers
            }
            #[cfg(not(all(shuttle, test)))]
            Maintenance::Shared => {
                let seat = Seat::take(core)?;
                core.wakeup.wake_at(&seat);
                Server::Pool(seat)
            }
            _ => Server::Own(Mutex::new(Some(Self::spawn(core)?))),
        };
        Ok(Self { core: Arc::downgrade(core), server })
    }

    fn spawn(core: &Arc<Core>) -> std::io::Result<JoinHandle<()>> {
        let patience = patience(&core.options);
        let wakeup = Arc::downgrade(core);
        thread::Builder::new().name("nearkin".to_owned()).spawn(move || run(&wakeup, patience))
    }

    /// Tells the thread to end. Waits for its current step at most.
    pub(crate) fn stop(&self) {
        let core = self.core.upgrade();
        // A forked child has no maintenance threads.
        let is_in_child = core.as_ref().is_some_and(|core| core.is_in_child());
        if let Some(core) = core.filter(|_| !is_in_child) {
            core.wakeup.stop();
        }
        match &self.server {
            Server::Writers => {}
            Server::Own(thread) => {
                let mut ended = thread.lock().unwrap_or_else(PoisonError::into_inner);
                match ended.take() {
                    Some(thread) if is_in_child => std::mem::forget(thread),
                    // A listener drops the last handle on the maintenance thread itself: the thread
                    // ends when the listener returns.
                    Some(thread) if thread.thread().id() == thread::current().id() => {}
                    // Only a bug in this library makes the maintenance thread panic; that must not
                    // cause a second panic here.
                    Some(thread) => drop(thread.join()),
                    None => {}
                }
            }
            #[cfg(not(all(shuttle, test)))]
            Server::Pool(_) if is_in_child => {}
            #[cfg(not(all(shuttle, test)))]
            Server::Pool(seat) => seat.leave(),
        }
    }
}

/// Maximum time between two steps without a wakeup: interval syncs, expiry and the horizon are
/// delayed by at most this.
pub(crate) fn patience(options: &Options) -> Duration {
    match options.durability {
        Durability::Interval(interval) => interval.clamp(Duration::from_millis(1), PATIENCE),
        _ => PATIENCE,
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Detects that an index has not been written to for a while.
#[derive(Debug)]
#[cfg(not(all(shuttle, test)))]
pub(crate) struct Quiet {
    /// The last change seen, and the time when it was first seen.
    change: u64,
    since: Instant,
}

#[cfg(not(all(shuttle, test)))]
impl Quiet {
    /// Starts with the current last change.
    pub(crate) fn begin(core: &Core) -> Self {
        Self { change: core.snapshot().visible, since: Instant::now() }
    }

    /// The last change, if it is old enough for the index to be idle; otherwise the time of the
    /// next check.
    pub(crate) fn look(&mut self, core: &Core) -> std::result::Result<u64, Instant> {
        let (now, change) = (Instant::now(), core.snapshot().visible);
        if change != self.change {
            *self = Self { change, since: now };
        }
        let due = self.since + IDLE_PAUSE;
        if now < due { Err(due) } else { Ok(change) }
    }
}

/// The schedule explorer has no time, so no index is idle.
#[derive(Debug)]
#[cfg(all(shuttle, test))]
pub(crate) struct Quiet;

#[cfg(all(shuttle, test))]
impl Quiet {
    fn begin(_: &Core) -> Self {
        Self
    }

    fn look(&mut self, _: &Core) -> std::result::Result<u64, Instant> {
        Err(Instant::now() + PATIENCE)
    }
}

fn run(core: &Weak<Core>, patience: Duration) {
    let mut ahead = WarmUp::default();
    let mut quiet = None;
    if let Some(core) = core.upgrade() {
        core.request_directories(|_| !core.wakeup.stopping());
    }
    while let Some(core) = core.upgrade() {
        let quiet = quiet.get_or_insert_with(|| Quiet::begin(&core));
        let patience = match quiet.look(&core) {
            Ok(_) => patience,
            Err(due) => patience.min(due.saturating_duration_since(Instant::now())),
        };
        let walked = ahead.go_on(&core, patience);
        if !core.wakeup.wait(if walked { Duration::ZERO } else { patience }) {
            return;
        }
        loop {
            if core.wakeup.stopping() {
                return;
            }
            let step = core.maintain_quiet(quiet.look(&core).ok());
            core.events.tell();
            match step {
                Ok(Maintained::Nothing | Maintained::Noted) => {
                    core.note_maintenance(None);
                    break;
                }
                // Let a waiting writer do the next step.
                Ok(_) if core.has_too_many_segments() => thread::sleep(TURN),
                Ok(_) => {}
                Err(error) => {
                    // Reported by `stats`; retried at the next wakeup, not immediately.
                    core.note_maintenance(Some(&error));
                    core.events.tell();
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::index::options::{Durability, Maintenance};
    use crate::{Index, Maintained, Options, Params, Sketcher};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn tiers_without_a_bound_never_lag() {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::for_threshold(0.7).build().unwrap();
        for maintenance in [Maintenance::Inline, Maintenance::Background] {
            let options = Options::default()
                .durability(Durability::OsBuffer)
                .maintenance(maintenance)
                .merge_when_idle(false)
                .tier_segments_max(usize::MAX);
            let path = folder.path().join(format!("{maintenance:?}"));
            let index = Index::create(path, &params, options).unwrap();
            let signature = Sketcher::new(&params).text("a text").unwrap();
            for key in 0..3_u8 {
                index.insert([key], &signature).unwrap();
                index.flush().unwrap();
            }
            assert_eq!(index.stats().unwrap().segments, 3);
            index.close().unwrap();
        }
    }

    #[test]
    fn readers_need_not_wait_until_nothing_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::for_threshold(0.7).build().unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let of = Arc::clone(&clock);
        let options = Options::default()
            .maintenance(Maintenance::Inline)
            .clock(move || of.load(Ordering::Relaxed))
            .ttl(Duration::from_millis(100));
        let index = Index::create(folder.path().join("i"), &params, options).unwrap();
        let signature = Sketcher::new(&params).text("a text").unwrap();
        index.insert("k", &signature).unwrap();
        clock.fetch_add(200, Ordering::Relaxed);
        assert!(index.core().group.horizon_is_news());
        assert_eq!(index.maintain().unwrap(), Maintained::Expired);
        assert!(!index.core().group.horizon_is_news());
        assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    }
}
