//! What all handles of one open index share: the locks and what they guard.

use crate::Params;
use crate::catalog::Catalog;
use crate::format::catalog::WalEntry;
use crate::format::wal::RecordBuilder;
use crate::index::event::Events;
use crate::index::expiry_queue::Expiry;
use crate::index::group::Group;
use crate::index::merge::compaction::Compaction;
use crate::index::options::Options;
#[cfg(not(all(shuttle, test)))]
use crate::index::pool::Seat;
use crate::index::read::Recovery;
use crate::index::state::{HeldFile, Snapshot, State};
use crate::index::view::View;
use crate::segment::Shape;
use crate::storage::lock::Lock;
use crate::storage::names::Names;
use crate::storage::{Disk, Storage};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::wal::{Wal, WalIdentity};
use std::ops::Deref;
use std::path::PathBuf;

/// One open index. Lock order: `compaction`, `expiry`, `writer`, `group`, `view`, the
/// memtable's.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) names: Names,
    /// Holds the folder: `names` lead into it wherever it is moved. Of a writer it refuses changes
    /// once the lock is lost.
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) options: Options,
    pub(crate) params: Arc<Params>,
    pub(crate) shape: Shape,
    pub(crate) recovery: Recovery,
    /// The state readers take, and up to which change it is visible.
    pub(crate) view: View,
    /// The write lock, and what only its holder touches.
    pub(crate) writer: Mutex<Writer>,
    pub(crate) group: Group,
    /// What happened and was not told yet.
    pub(crate) events: Arc<Events>,
    /// The compaction under way.
    pub(crate) compaction: Mutex<Option<Compaction>>,
    /// Which documents expire next.
    pub(crate) expiry: Mutex<Expiry>,
    /// Wakes the maintenance thread.
    pub(crate) alarm: Alarm,
    /// Held until the handle is closed; files are removed only under it. None of a reader.
    pub(crate) lock: Mutex<Option<Arc<Lock>>>,
    /// The handle was shut down, or is about to be: what begins now is refused.
    pub(crate) shut_down: AtomicBool,
    /// The process that opened the index.
    pub(crate) process: u32,
    /// A manifest lists its segments, not a catalog.
    pub(crate) is_sharded: bool,
}

/// What the write lock guards.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) catalog: Catalog,
    /// None after a clean close or a recovery: the first write makes one.
    pub(crate) wal: Option<Wal>,
    /// The number of the spare WAL file, if there is one.
    pub(crate) spare: Option<u64>,
    /// The last change appended and applied.
    pub(crate) change: u64,
    /// Live documents after it.
    pub(crate) documents: u64,
    /// The number the next file gets.
    pub(crate) file_next: u64,
    /// Whether this handle has made a log.
    pub(crate) has_logged: bool,
    /// Length of the next WAL; follows use.
    pub(crate) wal_bytes: u64,
    /// The segments that the compaction under way reads: a flush leaves them listed.
    pub(crate) merging: Vec<u64>,
    /// Bytes that idle merging may rewrite.
    pub(crate) idle_bytes: u64,
    /// The last record, for its memory.
    pub(crate) record: RecordBuilder,
}

impl Writer {
    /// A file number nobody had before.
    pub(crate) fn next_number(&mut self) -> u64 {
        planted!(NumberReused => return crate::index::tests::planted::reused_number(self));
        let number = self.file_next;
        self.file_next += 1;
        number
    }
}

impl Core {
    pub(crate) fn disk() -> Arc<dyn Storage> {
        Arc::new(Disk::default())
    }

    // None of the sections under these locks panics half way through a change of what they
    // guard, so a lock that a panic poisoned still guards something whole.
    pub(crate) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current state and what of it is visible, both at once.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.view.snapshot()
    }

    /// What the writer goes by: everything applied, visible or not.
    pub(crate) fn applied(&self, writer: &Writer) -> Snapshot {
        let applied = self.snapshot();
        Snapshot { visible: writer.change, documents: writer.documents, ..applied }
    }

    /// What the file of a listed WAL must say of itself.
    pub(crate) fn wal_identity(&self, entry: WalEntry, floor: u64) -> WalIdentity {
        let WalEntry { number, salt, length } = entry;
        let Shape { uuid, params_id, .. } = self.shape;
        WalIdentity { uuid, params_id, number, salt, length, floor }
    }

    /// Whether this process was forked from the one that opened the index.
    pub(crate) fn is_in_child(&self) -> bool {
        std::process::id() != self.process
    }

    /// The writer's lock, while it is held.
    pub(crate) fn lock(&self) -> Option<Arc<Lock>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A file of the index, to be held by states.
    pub(crate) fn hold_file(&self, path: PathBuf) -> Arc<HeldFile> {
        HeldFile::new(Arc::clone(&self.storage), self.lock().as_ref(), path)
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.view.state()
    }
}

/// An index while a call of a handle is under way: at its end, when all locks are let go, what
/// happened meanwhile is told.
pub(crate) struct Here<'a>(pub(super) &'a Core);

impl Deref for Here<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.0
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.events.tell();
    }
}

/// A bell for one sleeper: what it was rung for, and whether it is time to go.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    state: Mutex<AlarmState>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct AlarmState {
    work: bool,
    stop: bool,
    /// What the last failed maintenance said.
    failure: Option<String>,
    /// The sleeper is a pool of threads.
    #[cfg(not(all(shuttle, test)))]
    seat: Option<Seat>,
}

impl Alarm {
    fn lock(&self) -> MutexGuard<'_, AlarmState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self) {
        let mut state = self.lock();
        #[cfg(not(all(shuttle, test)))]
        let seat = if state.work { None } else { state.seat.clone() };
        state.work = true;
        drop(state);
        self.rung.notify_all();
        #[cfg(not(all(shuttle, test)))]
        if let Some(seat) = seat {
            seat.ring();
        }
    }

    /// From now on rings at a pool, also for what it was rung for already.
    #[cfg(not(all(shuttle, test)))]
    pub(crate) fn ring_at(&self, seat: &Seat) {
        self.lock().seat = Some(seat.clone());
        seat.ring();
    }

    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.rung.notify_all();
    }

    /// Whether there is something to be done.
    pub(crate) fn is_rung(&self) -> bool {
        let state = self.lock();
        state.work || state.stop
    }

    /// Sleeps until rung or for `patience`; false when it is time to go.
    pub(crate) fn wait(&self, patience: std::time::Duration) -> bool {
        let mut state = self.lock();
        if !state.work && !state.stop && !patience.is_zero() {
            let woken = self.rung.wait_timeout(state, patience);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.work = false;
        !state.stop
    }

    /// Whether it was rung since it was last asked; none when it is time to go.
    #[cfg(not(all(shuttle, test)))]
    pub(crate) fn take(&self) -> Option<bool> {
        let mut state = self.lock();
        let was_rung = std::mem::take(&mut state.work);
        (!state.stop).then_some(was_rung)
    }

    pub(crate) fn stopping(&self) -> bool {
        self.lock().stop
    }

    /// Notes how maintenance went; whether it failed otherwise than before.
    pub(crate) fn note_failure(&self, failure: Option<String>) -> bool {
        let mut state = self.lock();
        let is_news = failure.is_some() && state.failure != failure;
        state.failure = failure;
        is_news
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }
}
