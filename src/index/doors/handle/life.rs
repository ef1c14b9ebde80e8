//! More of the public handle: temporary indexes, paths, refreshing, closing and shutdown.

use crate::index::Index;
use crate::index::files::{folder, inspect, life, turns};
use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Options};
use crate::storage::{Memory, ScratchStorage};
use crate::sync::Arc;
use crate::{Params, Result};
use std::path::Path;
use std::time::Duration;

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
        folder::refuse_filled(&*Core::disk(), dir)?;
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

    /// Sees what other processes have written since, through a handle with
    /// [`Options::shared`](crate::Options::shared). Returns whether there was anything new; false
    /// for any other handle, which has the index to itself.
    ///
    /// After `Ok`, queries see every change that another process had acknowledged before the call:
    /// under [`Durability::Sync`](crate::Durability::Sync) at once, otherwise as soon as it is
    /// durable. A write through this handle sees all of them in any case. Costs 50 us if nothing
    /// has changed, otherwise as much as [`Reader::refresh`](crate::Reader::refresh).
    ///
    /// # Errors
    ///
    /// Those of [`Reader::refresh`](crate::Reader::refresh); the handle keeps its state.
    pub fn refresh(&self) -> Result<bool> {
        turns::refresh(&*self.here()?)
    }

    /// Refreshes until the change of this number is visible, for at most `wait`; returns whether it
    /// is. A process that was told of a change of another one waits for it by this.
    ///
    /// # Errors
    ///
    /// Those of [`Index::refresh`].
    pub fn refresh_until(&self, change: u64, wait: Duration) -> Result<bool> {
        turns::refresh_until(&*self.here()?, change, wait)
    }

    /// Closes the index: flushes, so that reopening replays and writes nothing. Writes nothing if
    /// the handle wrote nothing; does nothing after [`Index::shutdown`]. With
    /// [`Options::shared`](crate::Options::shared) it does not flush: other processes go on.
    ///
    /// # Errors
    ///
    /// Those of a flush. The index stays intact, and the WAL keeps everything that was not flushed.
    pub fn close(self) -> Result<()> {
        life::close(&self.core, &self.background)
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
    /// `Invalid` within the progress function of a compaction of this index, or within its event
    /// listener, which would wait for themselves: nothing is shut down. Also those of
    /// [`Index::close`]; after one of them, the WAL keeps everything that was not flushed.
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
        life::shut_down(&self.core, &self.background)
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
        inspect::last_maintenance_error(&self.core)
    }
}
