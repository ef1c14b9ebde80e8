//! The life of a handle: where its index lies, and how it ends.

use crate::format::catalog::Row;
use crate::index::core::{Core, Writer};
use crate::index::handle::Index;
use crate::index::merge::flush::NextWal;
use crate::index::options::Options;
use crate::index::state::State;
use crate::memtable::Memtable;
use crate::storage::lock::LockLost;
use crate::storage::names::Ending;
use crate::storage::{Memory, OpenMode};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, PoisonError, thread};
use crate::{Params, Result};
use std::path::Path;

/// A log with room for some fifty documents.
const TINY_LOG_BYTES: u64 = 16 << 10;
/// Size of a catalog with few segments after a commit that left no free pages at its end.
const CATALOG_BYTES: u64 = 44 << 10;

/// What a temporary index is called where others have a path.
pub(crate) const TEMPORARY: &str = "(temporary index)";

impl Index {
    /// An index in memory, for tests and scratch work: created empty, and gone with its last
    /// handle and snapshot. It answers as one on a disk would, and every call works, in the same
    /// way: what it would write to files it keeps in memory, so that it takes what the files would
    /// and the memtable beside.
    ///
    /// Nothing of it survives the process, whatever the durability; a backup of it is an index in
    /// a folder like any other. It has no path: [`Index::path`] is a name for messages. Errors:
    /// `Invalid` (options).
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("kept.nearkin");
    /// use nearkin::{Index, Options, Params};
    ///
    /// let index = Index::temporary(&Params::for_threshold(0.7).build()?, Options::default())?;
    /// let fox = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
    /// index.insert("p1", &fox)?;
    /// assert_eq!(index.query(&fox).run()?.matches[0].key, b"p1");
    /// index.backup(&dir)?;
    /// drop(index);
    /// assert!(Index::open(&dir, Options::default())?.contains("p1")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn temporary(params: &Params, options: Options) -> Result<Self> {
        Self::create_on(Arc::new(Memory::default()), Path::new(TEMPORARY), params, options)
    }

    /// The path by which the index was opened or created. A folder that is moved since is followed,
    /// and this stays what it was.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Index, Options, Params};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// assert_eq!(index.path(), dir);
    /// # Ok(())
    /// # }
    /// ```
    pub fn path(&self) -> &Path {
        self.core.names.root()
    }

    /// Closes the index: flushes, so that reopening replays and writes nothing. A handle that
    /// wrote nothing writes nothing here, and after [`Index::shutdown`] nothing is left to do.
    ///
    /// Errors: as of a flush; the index stays whole, and the WAL keeps what was not flushed.
    pub fn close(self) -> Result<()> {
        self.core.refuse_in_child()?;
        if self.core.shut_down.load(Ordering::Acquire) {
            return Ok(());
        }
        self.background.stop();
        let closed = self.core.close_locked(&mut self.core.writer());
        self.core.events.tell();
        closed
    }

    /// Closes the index as [`Index::close`] does, through a handle that others hold, too (in an
    /// `Arc`, say): a server calls it when it is told to end.
    ///
    /// Calls that are under way are waited for, but for a compaction, which is broken off between
    /// two of its steps. When this returns, lock, folder and memory are released, also after an
    /// error; another process may open the index. Whatever is asked of the handle from then on is
    /// [`Closed`](crate::ErrorKind::Closed), but for what it knows by itself: `path`, `id`,
    /// `params`, `sketcher`, `len`, `durable_change`. Snapshots, queries and readers that were made
    /// before go on. To shut it down once more does nothing.
    ///
    /// Errors: those of [`Index::close`]; the WAL then keeps what was not flushed.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{ErrorKind, Index, Options, Params};
    /// use std::sync::Arc;
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Arc::new(Index::create(&dir, &params, Options::default())?);
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// index.insert("p1", &text)?;
    /// let (worker, before) = (Arc::clone(&index), index.snapshot());
    /// index.shutdown()?;
    /// assert_eq!(worker.insert("p2", &text).unwrap_err().kind(), ErrorKind::Closed);
    /// assert_eq!(worker.get("p1").unwrap_err().kind(), ErrorKind::Closed);
    /// assert!(before.contains("p1")?);
    /// let again = Index::open(&dir, Options::default())?;
    /// assert_eq!(again.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shutdown(&self) -> Result<()> {
        self.core.refuse_in_child()?;
        self.core.shut_down.store(true, Ordering::Release);
        self.background.stop();
        let closed = self.core.shut_down();
        self.core.events.tell();
        closed
    }

    /// What went wrong in the last step of maintenance, or in the listener of events; `None` after
    /// one that went well. It is tried again by itself. Looks at memory only: cheap enough for a
    /// health check.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Index, Options, Params};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// assert_eq!(index.last_maintenance_error(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn last_maintenance_error(&self) -> Option<String> {
        self.core.last_maintenance_error()
    }
}

impl Core {
    /// Closes, and lets go of everything that is not in others' hands.
    fn shut_down(&self) -> Result<()> {
        let mut compaction = self.compaction();
        let _expiry = self.expiry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = self.writer();
        let Some(lock) = self.lock() else { return Ok(()) };
        *compaction = None;
        writer.merging.clear();
        let closed = self.close_locked(&mut writer);
        writer.wal = None;
        self.group.note_lost(LockLost::Released);
        let params = Arc::clone(&self.params);
        let memtable = Memtable::new(params.signature_bytes(), params.bands(), 0, 0);
        let closed_state = State::new(params, Vec::new(), Arc::new(memtable));
        self.view.replace(State { closed: Some(self.names.root().to_path_buf()), ..closed_state });
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let gone = Arc::downgrade(&lock);
        drop(lock);
        // A thread that is removing a file still holds the lock.
        while gone.strong_count() > 0 {
            thread::yield_now();
        }
        self.storage.release();
        closed
    }

    /// Flushes unless there is nothing to write down: then nothing is written.
    pub(crate) fn close_locked(&self, writer: &mut Writer) -> Result<()> {
        self.refuse_if_stopped()?;
        if writer.catalog.row().wal.is_some() {
            self.flush_locked(writer, NextWal::None)?;
        }
        if is_tiny(writer.catalog.row(), &self.options) {
            self.leave_little(writer);
        } else {
            self.shorten_spare(writer, self.options.wal_bytes_min);
        }
        Ok(())
    }

    /// A tiny index keeps no reserve: it would be most of it. What fails here leaves more than need
    /// be, and nothing else.
    fn leave_little(&self, writer: &mut Writer) {
        if !writer.has_logged {
            return;
        }
        // Its name stays: the number tells an older copy of the catalog.
        self.shorten_spare(writer, 0);
        // redb needs room for two states, and every second commit leaves what is free at the end.
        // Whether this one fails or not, and however: it says the same as the last.
        if self.storage.bytes_of(&self.names.catalog()).is_ok_and(|bytes| bytes > CATALOG_BYTES) {
            let row = writer.catalog.row().clone();
            let _ = writer.catalog.commit(row);
            self.publish_copy(writer);
        }
    }

    /// A closed index keeps a reserve, but not as much as the last log had grown to.
    fn shorten_spare(&self, writer: &Writer, bytes_max: u64) {
        let Some(number) = writer.spare else { return };
        let path = self.names.numbered(number, Ending::Free);
        // If this fails it stays as long as it was, which is of no consequence.
        if let Ok(file) = self.storage.open(&path, OpenMode::ReadWrite)
            && file.bytes().is_ok_and(|bytes| bytes > bytes_max)
        {
            let _ = file.set_bytes(bytes_max);
        }
    }
}

/// Whether there is so little that what a larger index keeps beside its documents would be most of
/// it.
fn is_tiny(row: &Row, options: &Options) -> bool {
    row.segments.iter().map(|entry| entry.length).sum::<u64>() <= options.tiny_bytes_max
}

/// The length of the first log of a session; when it is full, the next has the usual one at least.
pub(crate) fn first_log_bytes(row: &Row, options: &Options) -> u64 {
    let is_tiny = options.tiny_bytes_max > 0 && is_tiny(row, options);
    if is_tiny { options.wal_bytes_min.min(TINY_LOG_BYTES) } else { options.wal_bytes_min }
}
