//! The life of a handle: paths, closing and shutdown.

use crate::format::catalog::Row;
use crate::index::core::{Core, Writer};
use crate::index::handle::Index;
use crate::index::merge::flush::NextWal;
use crate::index::options::{Durability, Options};
use crate::index::state::State;
use crate::memtable::Memtable;
use crate::storage::lock::LockLost;
use crate::storage::names::Ending;
use crate::storage::{Memory, OpenMode, ScratchStorage};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, PoisonError, thread};
use crate::{Error, Params, Result};
use std::path::Path;

/// Length of the log of a tiny index: room for about fifty documents.
const TINY_LOG_BYTES: u64 = 16 << 10;

/// Size of the files of a scratch index above which further ones are on disk.
const SCRATCH_MEMORY_BYTES: u64 = 32 << 20;

/// The name of a temporary index, in place of a path.
pub(crate) const TEMPORARY: &str = "(temporary index)";

impl Index {
    /// Creates an empty index in memory, for tests and scratch work. It is dropped with its last
    /// handle and snapshot. Every call works as for an index on disk, and gives the same answers.
    /// The content of the files is kept in memory, in addition to the memtable.
    ///
    /// The index does not survive the process, whatever the durability. A backup of it is an
    /// ordinary index in a folder. It has no path: [`Index::path`] returns a name for messages.
    ///
    /// # Errors
    ///
    /// `Invalid` (bad options).
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

    /// Creates an empty index for scratch work of any size. It does not outlive its handles and
    /// snapshots, and nothing is ever synced. A small one is in memory, as by
    /// [`Index::temporary`]. As it grows, further files are written to the folder `dir`, which is
    /// created only then; it must be missing or empty. The caller deletes the folder after dropping
    /// the index. The durability in the options is ignored.
    ///
    /// # Errors
    ///
    /// `Invalid` (bad options, or `dir` is not empty), `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// use nearkin::{Index, Options, Params};
    ///
    /// let dir = folder.path().join("scratch");
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::scratch(&dir, &params, Options::default())?;
    /// let fox = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
    /// index.insert("p1", &fox)?;
    /// assert_eq!(index.query(&fox).run()?.matches[0].key, b"p1");
    /// assert!(!dir.exists());
    /// # Ok(())
    /// # }
    /// ```
    pub fn scratch(dir: impl AsRef<Path>, params: &Params, options: Options) -> Result<Self> {
        let dir = dir.as_ref();
        match Core::disk().list(dir) {
            Ok(entries) if entries.is_empty() => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(_) => {
                let message = format!("{}: not empty; name a new folder", dir.display());
                return Err(Error::invalid(message));
            }
            Err(error) => return Err(Error::io("read", dir, error)),
        }
        let storage = ScratchStorage::new(dir, SCRATCH_MEMORY_BYTES);
        let options = options.durability(Durability::OsBuffer);
        Self::create_on(Arc::new(storage), dir, params, options)
    }

    /// The path by which the index was opened or created. If the folder is moved later, the handle
    /// keeps working, and this path does not change.
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

    /// Closes the index: flushes, so that reopening replays and writes nothing. Writes nothing if
    /// the handle wrote nothing; does nothing after [`Index::shutdown`].
    ///
    /// # Errors
    ///
    /// Those of a flush. The index stays intact, and the WAL keeps everything that was not flushed.
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

    /// Closes the index like [`Index::close`], but through a shared handle, for example in an
    /// `Arc`: for servers that receive a signal to end.
    ///
    /// Waits for running calls, except for a compaction, which is cancelled between two of its
    /// steps. On return, even with an error, the lock, the folder and the memory are released, and
    /// another process may open the index. Later calls through the handle return
    /// [`Closed`](crate::ErrorKind::Closed), except `path`, `id`, `params`, `sketcher`, `len` and
    /// `durable_change`. Existing snapshots, queries and readers keep working. A second shutdown
    /// does nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Index::close`]. After an error, the WAL keeps everything that was not flushed.
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

    /// The error of the last step of maintenance, or the panic of the event listener; `None` after
    /// a step that succeeded. Failed steps are retried automatically. Reads only memory: cheap
    /// enough for a health check.
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
    /// Closes the index, and releases everything that no snapshot or query holds.
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
        // A thread that is deleting a file still holds the lock.
        while gone.strong_count() > 0 {
            thread::yield_now();
        }
        self.storage.release();
        closed
    }

    /// Flushes if there is a WAL, and shrinks the files that a closed index does not need at full
    /// length.
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

    /// Shrinks the files of a tiny index. It keeps no reserve, which would make up most of its
    /// size. A failure here only wastes space.
    fn leave_little(&self, writer: &Writer) {
        if !writer.has_logged {
            return;
        }
        // The spare file is truncated, but not deleted: the number in its name reveals a catalog
        // that is an older copy (see `open/litter.rs`).
        self.shorten_spare(writer, 0);
    }

    /// Shortens the spare log. A closed index keeps it as a reserve, but not at the length that the
    /// last log had grown to.
    fn shorten_spare(&self, writer: &Writer, bytes_max: u64) {
        let Some(number) = writer.spare else { return };
        let path = self.names.numbered(number, Ending::Free);
        // If this fails, the file keeps its length, which does no harm.
        if let Ok(file) = self.storage.open(&path, OpenMode::ReadWrite)
            && file.bytes().is_ok_and(|bytes| bytes > bytes_max)
        {
            let _ = file.set_bytes(bytes_max);
        }
    }
}

/// Whether the index is so small that the overhead of a larger one would be most of its size.
fn is_tiny(row: &Row, options: &Options) -> bool {
    // The lengths in the row were not compared with the files yet: in a forged row, their sum could
    // overflow.
    let lengths = row.segments.iter().map(|entry| entry.length);
    lengths.fold(0, u64::saturating_add) <= options.tiny_bytes_max
}

/// The length of the first log of a session. The next log has at least the usual length.
pub(crate) fn first_log_bytes(row: &Row, options: &Options) -> u64 {
    let is_tiny = options.tiny_bytes_max > 0 && is_tiny(row, options);
    if is_tiny { options.wal_bytes_min.min(TINY_LOG_BYTES) } else { options.wal_bytes_min }
}
