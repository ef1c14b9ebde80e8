//! The shared state of an open index: the locks and the data they guard.

use super::event::Events;
use super::expiry_queue::Expiry;
use super::group::{Group, Mark};
use super::options::{Maintenance, Options};
use super::running::Compaction;
use super::turns::{TurnEnds, Turns, Wait};
use super::versions::{HeldFile, Snapshot, State};
use super::view::View;
use super::wakeup::Wakeup;
use crate::catalog::Catalog;
use crate::filter::BandFilter;
use crate::format::catalog::WalEntry;
use crate::format::wal::RecordBuilder;
use crate::index::state::recovery::Recovery;
use crate::segment::Shape;
use crate::storage::lock::{Lock, LockPlace, ReleaseOnDrop};
use crate::storage::names::Names;
use crate::storage::{Disk, Storage};
use crate::sync::atomic::AtomicBool;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use crate::wal::{Wal, WalIdentity};
use crate::{Params, Result};
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::time::Instant;

/// An open index. Lock order: `compaction`, `expiry`, the queue for a turn, `writer`, the follower,
/// `group`, `view`, then the lock of the memtable.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) names: Names,
    /// Holds the folder open: `names` stay valid if the folder is moved. For a writer, refuses
    /// changes once the lock is lost.
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) options: Options,
    pub(crate) params: Arc<Params>,
    pub(crate) shape: Shape,
    pub(crate) recovery: Recovery,
    /// The current state, and the last change in it that readers may see.
    pub(crate) view: View,
    /// The write lock, and the data that only its holder accesses.
    pub(crate) writer: Mutex<Writer>,
    pub(crate) group: Group,
    /// Events not delivered yet.
    pub(crate) events: Arc<Events>,
    /// The running compaction.
    pub(crate) compaction: Mutex<Option<Compaction>>,
    /// The thread that holds `compaction` and runs code of the caller. A leaf of the lock order.
    pub(crate) reporting: Mutex<Option<ThreadId>>,
    /// The filter over the memtable and small segments. They own it: it is gone when none of them
    /// is covered any more. A leaf of the lock order.
    pub(crate) filter: Mutex<Weak<BandFilter>>,
    /// The queues of documents that expire next.
    pub(crate) expiry: Mutex<Expiry>,
    /// Wakes the maintenance thread.
    pub(crate) wakeup: Wakeup,
    /// The place of the lock of the index's folder. The lock is held until the handle is closed, by
    /// a shared handle during its turns, and by a reader never. Files are deleted only while it is
    /// held.
    pub(crate) lock: Arc<LockPlace>,
    pub(crate) released: ReleaseOnDrop,
    /// How a shared handle gets the lock; `None` for any other.
    pub(crate) sharing: Option<Sharing>,
    /// Whether the handle was shut down, or is about to be: new calls are refused.
    pub(crate) shut_down: AtomicBool,
    /// The process that opened the index.
    pub(crate) process: u32,
    /// Whether the segments are listed by a manifest instead of a catalog.
    pub(crate) is_sharded: bool,
}

/// The data guarded by the write lock.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) catalog: Catalog,
    /// `None` after a clean close or a recovery: the first write starts a log.
    pub(crate) wal: Option<Wal>,
    /// The number of the spare WAL file, if there is one.
    pub(crate) spare: Option<u64>,
    /// The last change appended and applied.
    pub(crate) change: u64,
    /// The number of live documents after `change`.
    pub(crate) documents: u64,
    /// The number of the next file.
    pub(crate) file_next: u64,
    /// Whether this handle has started a log.
    pub(crate) has_logged: bool,
    /// Length of the next WAL. It adapts to how much of the last one was used.
    pub(crate) wal_bytes: u64,
    /// The numbers of the segments that the running compaction merges. A flush keeps them listed in
    /// the catalog, even if all their documents are dead.
    pub(crate) merging: Vec<u64>,
    /// The number of bytes that idle merging may still rewrite. Grows with the bytes that are added
    /// or die.
    pub(crate) idle_bytes: u64,
    /// A buffer for records, which is reused.
    pub(crate) record: RecordBuilder,
}

impl Writer {
    /// Returns a file number that was never used before.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.file_next;
        self.file_next += 1;
        number
    }

    /// The last change that was applied, whose log ends at `end`.
    pub(crate) fn mark(&self, end: u64) -> Mark {
        Mark { end, change: self.change, documents: self.documents }
    }
}

impl Core {
    pub(crate) fn disk() -> Arc<dyn Storage> {
        Arc::new(Disk::default())
    }

    // No critical section panics in the middle of a change, so data under a poisoned lock is still
    // consistent.
    pub(crate) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The write lock, for changes of the index. A shared handle takes a turn first, if it is not
    /// having one, and may end it when the result is dropped.
    pub(crate) fn to_write(&self) -> Result<Writing<'_>> {
        Writing::begin(self)
    }

    /// The current state together with the last visible change.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.view.snapshot()
    }

    /// The state on which the writer decides. It has all applied changes, visible or not.
    pub(crate) fn applied(&self, writer: &Writer) -> Snapshot {
        let applied = self.snapshot();
        Snapshot { visible: writer.change, documents: writer.documents, ..applied }
    }

    /// A snapshot of all applied changes, including those not visible yet.
    pub(crate) fn all_applied(&self) -> Snapshot {
        Snapshot { visible: u64::MAX - 1, ..self.snapshot() }
    }

    /// The identity that the file of a listed WAL must have.
    pub(crate) fn wal_identity(&self, entry: WalEntry, floor: u64) -> WalIdentity {
        let WalEntry { number, salt, length } = entry;
        let Shape { uuid, params_id, .. } = self.shape;
        WalIdentity { uuid, params_id, number, salt, length, floor }
    }

    /// Whether this process was forked from the one that opened the index.
    pub(crate) fn is_in_child(&self) -> bool {
        std::process::id() != self.process
    }

    /// The lock of the index's folder, while this handle holds it. (Not the write lock: that is
    /// `Core::writer`.)
    pub(crate) fn lock(&self) -> Option<Arc<Lock>> {
        self.lock.held()
    }

    /// Releases that lock, once no thread deletes a file under it.
    pub(crate) fn release_lock(&self) {
        let Some(lock) = self.lock.set(None) else { return };
        let gone = Arc::downgrade(&lock);
        drop(lock);
        while gone.strong_count() > 0 {
            thread::yield_now();
        }
    }

    /// A handle on a file of the index, to be held by states.
    pub(crate) fn hold_file(&self, path: PathBuf) -> Arc<HeldFile> {
        HeldFile::new(Arc::clone(&self.storage), &self.lock, path)
    }

    /// Runs code of the caller, such as a progress report, while `compaction` is held.
    pub(crate) fn report<R>(&self, code: impl FnOnce() -> R) -> R {
        let _reporting = Reporting::new(&self.reporting);
        code()
    }

    /// Whether this thread runs a report of a compaction, which is held meanwhile.
    pub(crate) fn is_reporting(&self) -> bool {
        let reporting = *self.reporting.lock().unwrap_or_else(PoisonError::into_inner);
        reporting == Some(thread::current().id())
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.view.state()
    }
}

/// The turns of a shared handle, and the functions that begin and end one. (They stand above, where
/// the files are read.)
pub(crate) struct Sharing {
    pub(in crate::index) turns: Turns,
    /// Begins a turn. Returns false if another process has one and the call does not wait for it.
    pub(in crate::index) begin: fn(&Core, Wait) -> Result<bool>,
    pub(in crate::index) end: fn(&Core, &mut Writer),
}

impl Sharing {
    /// Ends a turn in which nothing is written. Returns the time of the next look, while there is a
    /// turn.
    pub(in crate::index) fn end_if_idle(&self, core: &Core) -> Option<Instant> {
        core.lock()?;
        match self.turns.ends() {
            TurnEnds::At(due) => return Some(due),
            TurnEnds::IfAwaited if !is_awaited(core) => return Some(Turns::next_look()),
            TurnEnds::IfAwaited | TurnEnds::Now => {}
        }
        let mut writer = core.writer();
        if core.lock().is_some() {
            (self.end)(core, &mut writer);
        }
        None
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").field("turns", &self.turns).finish_non_exhaustive()
    }
}

/// Whether another process waits for its turn. If that cannot be found out, it does.
fn is_awaited(core: &Core) -> bool {
    match core.storage.lock_shared(&core.names.waiting_lock()) {
        Ok(_) => false,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The write lock of a handle that may write. A turn that is over ends when this is dropped.
pub(crate) struct Writing<'a> {
    core: &'a Core,
    writer: MutexGuard<'a, Writer>,
}

impl<'a> Writing<'a> {
    fn begin(core: &'a Core) -> Result<Self> {
        loop {
            let writer = core.writer();
            match &core.sharing {
                // A turn may have ended between the call and the lock.
                Some(sharing) if core.lock().is_none() => {
                    drop(writer);
                    (sharing.begin)(core, Wait::Patiently)?;
                }
                _ => return Ok(Self { core, writer }),
            }
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let core = self.core;
        let Some(sharing) = &core.sharing else { return };
        if core.lock().is_none() {
            return;
        }
        planted!(NeverHandedOver => return);
        let is_inline = core.options.maintenance == Maintenance::Inline;
        if is_inline || sharing.turns.note_use() && is_awaited(core) {
            (sharing.end)(core, &mut self.writer);
        }
    }
}

impl Deref for Writing<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

/// While it lives, this thread runs code of the caller.
struct Reporting<'a>(&'a Mutex<Option<ThreadId>>);

impl<'a> Reporting<'a> {
    fn new(thread: &'a Mutex<Option<ThreadId>>) -> Self {
        *thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        Self(thread)
    }
}

impl Drop for Reporting<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Gives access to the index during one call of a handle. At the end of the call, after all locks
/// are released, the queued events are delivered.
pub(crate) struct Here<'a>(pub(in crate::index) &'a Core);

impl Deref for Here<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.0
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.events.deliver();
    }
}
