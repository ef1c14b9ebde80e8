//! The public handle. Every method only delegates to the layers below.

use crate::index::files::copy::backup;
use crate::index::files::{folder, inspect, open, turns};
use crate::index::maintain::background::Background;
use crate::index::maintain::steps;
use crate::index::merge::commit;
use crate::index::merge::compaction;
use crate::index::merge::flush::{self, NextWal};
use crate::index::read::{Maintained, Progress, Stats, Verification};
use crate::index::state::core::{Core, Here};
use crate::index::state::key::Key;
use crate::index::state::options::Options;
use crate::index::state::versions::Snapshot;
use crate::index::write::admit::{self, Admission, Admit, Newcomer};
use crate::index::write::batch::{Batch, Outcome, Written};
use crate::index::write::write_path;
use crate::storage::Storage;
use crate::{Error, ErrorKind, Params, Result, Signature, Sketcher};
use std::borrow::Borrow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

mod copies;
pub(in crate::index) mod life;
mod payloads;

/// An open index: the one read-write handle on a directory. Share it by reference or in an `Arc`:
/// any number of threads may read and write through it.
///
/// Dropping the handle loses no acknowledged write, but the next open must replay the WAL. After
/// [`Index::close`] there is nothing to replay.
pub struct Index {
    // The first field, so that it is dropped first: the thread has then ended before the core is
    // dropped.
    pub(in crate::index) background: Background,
    pub(in crate::index) core: Arc<Core>,
}

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Index {
    /// Whether there is an index in `dir`: `false` if `dir` does not exist, or is an empty folder.
    ///
    /// Only lists names; reads no file.
    ///
    /// # Errors
    ///
    /// `Invalid` (a file, or a folder with other content), `Corrupt` (an index that has lost its
    /// catalog), `Locked` (a backup is being made there), `Io`.
    pub fn exists(dir: impl AsRef<Path>) -> Result<bool> {
        folder::exists(&*Core::disk(), dir.as_ref())
    }

    /// Creates an empty index and opens it. The parameters can never be changed. Missing parent
    /// folders are created; everything is durable on return.
    ///
    /// # Errors
    ///
    /// `Exists` (there is an index already), `Invalid` (bad options, or `dir` has other content),
    /// `Corrupt` (an index that has lost its catalog), `Locked`, `Io`.
    pub fn create(dir: impl AsRef<Path>, params: &Params, options: Options) -> Result<Self> {
        Self::create_on(Core::disk(), dir.as_ref(), params, options)
    }

    /// Opens an index for reading and writing. Its parameters come from the index itself.
    ///
    /// After a clean close this reads a few KiB per segment and writes nothing; after a crash it
    /// replays the WAL and flushes.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Invalid` (bad options, or `dir` is not an index), `Locked`, `Corrupt`,
    /// `Unsupported`, `Io`.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{ErrorKind, Index, Options, Params};
    ///
    /// let missing = Index::open(&dir, Options::default()).unwrap_err();
    /// assert_eq!(missing.kind(), ErrorKind::NotFound);
    /// Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?.close()?;
    /// assert!(Index::open(&dir, Options::default())?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_on(Core::disk(), dir.as_ref(), options)
    }

    /// Opens an index, or creates it if there is none yet. If several callers do so at once, only
    /// one of them creates the index; the others can open it after that one has closed it.
    ///
    /// # Errors
    ///
    /// Those of [`Index::create`] and [`Index::open`] (`Locked` while another handle is open), and
    /// `Mismatch` if the index has other parameters; the message names the difference.
    pub fn open_or_create(
        dir: impl AsRef<Path>,
        params: &Params,
        options: Options,
    ) -> Result<Self> {
        Self::open_or_create_on(Core::disk(), dir.as_ref(), params, options)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a disk is made for the call")]
    pub(crate) fn create_on(
        storage: Arc<dyn Storage>,
        dir: &Path,
        params: &Params,
        options: Options,
    ) -> Result<Self> {
        Self::start(if options.shared {
            turns::create_shared(&storage, dir, params, &options)?
        } else {
            open::create(&storage, dir, params, options)?
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a disk is made for the call")]
    pub(crate) fn open_or_create_on(
        storage: Arc<dyn Storage>,
        dir: &Path,
        params: &Params,
        options: Options,
    ) -> Result<Self> {
        Self::start(if options.shared {
            turns::open_or_create_shared(&storage, dir, params, &options)?
        } else {
            open::open_or_create(&storage, dir, params, options)?
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a disk is made for the call")]
    pub(crate) fn open_on(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Self> {
        Self::start(if options.shared {
            turns::open_shared(&storage, dir, &options)?
        } else {
            open::open(&storage, dir, options)?
        })
    }

    /// The core, for modules of this crate that write through it.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    fn start(core: Core) -> Result<Self> {
        let core = Arc::new(core);
        let background = Background::start(&core).map_err(|error| {
            Error::new(ErrorKind::Io, "cannot start a maintenance thread").caused_by(error)
        })?;
        core.events.deliver();
        Ok(Self { background, core })
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.core.params
    }

    /// The identity of the index: 16 random bytes, drawn when it was created. It stays the same
    /// when the folder is moved or renamed, and is the same in copies and backups.
    pub fn id(&self) -> [u8; 16] {
        self.core.shape.uuid
    }

    /// The sketcher that makes signatures for this index. It has no mutable state; share it between
    /// threads.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(&self.core.params)
    }

    /// Inserts a document, or replaces the one with this key (1 to 4,096 bytes). A stored payload
    /// is kept: only [`Index::insert_with_payload`] and [`Index::set_payload`] change it. Inserting
    /// the same signature again writes nothing.
    ///
    /// `Ok` promises what [`Durability`](crate::Durability) says, and that queries see the change.
    /// Costs a look-up of the key and one append; under `Sync` one sync, shared with other threads.
    ///
    /// # Errors
    ///
    /// `Invalid`, `Mismatch` (a signature with other parameters), `Io` (not written), `Corrupt`
    /// (not written: the look-up of the key met a damaged block), `Unknown`, `Poisoned`.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::temporary(&params, Options::default())?;
    /// use nearkin::Outcome;
    ///
    /// let text = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
    /// assert_eq!(index.insert("p1", &text)?, Outcome::Inserted);
    /// assert_eq!(index.insert("p1", &text)?, Outcome::Unchanged);
    /// assert_eq!(index.remove("p1")?, Outcome::Removed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert<'k>(&self, key: impl Into<Key<'k>>, signature: &Signature) -> Result<Outcome> {
        self.write(Batch::new().insert(key, signature)).map(|written| written.outcomes[0])
    }

    /// Removes the document with this key. `Ok` promises the same as for [`Index::insert`].
    /// Compaction frees the space.
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`].
    pub fn remove<'k>(&self, key: impl Into<Key<'k>>) -> Result<Outcome> {
        self.write(Batch::new().remove(key)).map(|written| written.outcomes[0])
    }

    /// Removes every document whose time (in milliseconds since the Unix epoch) is below `time`;
    /// returns the number of removed documents.
    ///
    /// The removes are written in batches of up to 1,000. Each batch is one change: after a crash
    /// or an error, some batches may be written and the others not. All documents written before
    /// the call are covered. `Ok` promises the same as for [`Index::insert`]. In every segment that
    /// has a document below `time`, the time of each document is read, 8 bytes each.
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`].
    pub fn remove_before(&self, time: u64) -> Result<u64> {
        self.remove_before_with(time, &mut go_on)
    }

    /// Writes a batch as one change: atomic, with one append and one sync. `Ok` promises the same
    /// as for [`Index::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`]; `Invalid` also if the batch is longer than
    /// [`Options::batch_bytes_max`], or if the stored payloads that it keeps take more than 256
    /// MiB.
    pub fn write(&self, batch: impl Borrow<Batch>) -> Result<Written> {
        write_path::refuse_passages(&self.core)?;
        self.write_to_any(batch.borrow())
    }

    /// Writes a batch to an index of documents or of passages.
    pub(crate) fn write_to_any(&self, batch: &Batch) -> Result<Written> {
        self.writing(|core| write_path::write(core, batch))
    }

    /// Inserts a document unless a stored document is too similar. Search and insert are one atomic
    /// step: if two threads admit copies of the same document at once, only one copy is admitted.
    ///
    /// The search works like a query at the thresholds of [`Admit`], on the state after all earlier
    /// writes. It ignores the document stored under the newcomer's own key. If that document is
    /// replaced, its payload is kept; to give another payload, use [`Index::admit_one`].
    ///
    /// For an admitted document, `Ok` promises the same as [`Index::insert`]. A rejection writes
    /// nothing; the stored documents that caused it are as durable as if the caller had written
    /// them. Costs a query and, if admitted, an insert.
    ///
    /// # Errors
    ///
    /// Those of an insert; `Invalid` also unless 0 <= relate <= reject <= 1, or if the documents to
    /// replace do not fit into a batch of [`Options::batch_bytes_max`].
    pub fn admit<'k>(
        &self,
        key: impl Into<Key<'k>>,
        signature: &Signature,
        admit: &Admit<'_>,
    ) -> Result<Admission> {
        let key = key.into();
        self.admit_one(&Newcomer::new(&key, signature), admit)
    }

    /// Admits newcomers one after the other, in order. Each is also compared with the newcomers
    /// before it, and is a change of its own. One sync covers all of them.
    ///
    /// `Ok` promises the same as for [`Index::admit`]. Arguments are checked before anything is
    /// written. After any other error, the newcomers before the failed one may be stored. It is
    /// safe to retry the whole call: newcomers that are already stored are `Unchanged`.
    ///
    /// # Errors
    ///
    /// Those of [`Index::admit`].
    pub fn admit_all(
        &self,
        newcomers: &[Newcomer<'_>],
        admit: &Admit<'_>,
    ) -> Result<Vec<Admission>> {
        write_path::refuse_passages(&self.core)?;
        self.writing(|core| admit::admit_all(core, newcomers, admit))
    }

    /// Writes, and then does the maintenance that the write made due.
    fn writing<T>(&self, write: impl FnOnce(&Core) -> Result<T>) -> Result<T> {
        let core = self.here()?;
        let written = write(&core)?;
        steps::after_write(&core);
        Ok(written)
    }

    /// Gives access to the core during a call. Returns an error after a shutdown, and in a forked
    /// child, which does not have the threads of the handle.
    pub(in crate::index) fn here(&self) -> Result<Here<'_>> {
        commit::refuse_in_child(&self.core)?;
        commit::refuse_if_shut_down(&self.core)?;
        Ok(Here(&self.core))
    }

    /// Refuses calls in a forked child, before a caller of the handle waits for a lock of its own.
    pub(crate) fn refuse_in_child(&self) -> Result<()> {
        commit::refuse_in_child(&self.core)
    }

    /// Makes every write before the call durable, whatever the durability of the handle; returns
    /// the number of the last durable change. A [`Reader`](crate::Reader) of the same machine sees
    /// these writes at its next refresh (unless the log is full).
    ///
    /// # Errors
    ///
    /// `Unknown` (a sync failed, and the handle is poisoned); `Closed`, `Poisoned`, `Io` (the
    /// writes are durable, but the note for readers was not written).
    pub fn sync(&self) -> Result<u64> {
        steps::sync(&*self.here()?)
    }

    /// The number of the last change that survives power loss. In a forked child, 0 if that cannot
    /// be known.
    pub fn durable_change(&self) -> u64 {
        if self.core.is_in_child() {
            return self.core.group.durable_change_in_child();
        }
        self.core.group.durable_change()
    }

    /// Writes the memtable to a segment now. Blocks writers but not readers.
    ///
    /// # Errors
    ///
    /// `Io` (nothing has changed), `Corrupt`, `Unknown`, `Poisoned`.
    pub fn flush(&self) -> Result<()> {
        let core = self.here()?;
        flush::flush_locked(&core, &mut *core.to_write()?, NextWal::None)
    }

    /// Merges everything into one segment without dead documents. Blocks neither readers nor
    /// writers. Needs disk space for the result in addition to the existing files. Also rewrites
    /// the copy of the parameters if it is damaged or missing.
    ///
    /// # Errors
    ///
    /// Those of [`Index::flush`]. `Locked`: the handle is shared, and another process still
    /// compacts after [`Options::lock_wait`](crate::Options::lock_wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::temporary(&params, Options::default())?;
    /// # let sketch = index.sketcher();
    /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
    /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog!")?)?;
    /// index.remove("p2")?;
    /// index.compact()?;
    /// let stats = index.stats()?;
    /// assert_eq!((stats.documents, stats.dead, stats.segments), (1, 0, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact(&self) -> Result<()> {
        self.compact_with(&mut go_on)
    }

    /// Compacts, and reports progress in documents. Cancelling returns `Cancelled` and changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` returns `Break`. Also the errors of [`Index::compact`].
    pub fn compact_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        compaction::compact_all(&*self.here()?, progress)
    }

    /// Runs one maintenance step that is due, and returns its kind: for example a flush of a full
    /// memtable, or about 16 MiB of a compaction. Only useful with
    /// [`Maintenance`](crate::Maintenance)`::Inline`. Also appends a record to the log, for readers
    /// in other processes, that says how far the log is synced. That record itself is not synced.
    ///
    /// # Errors
    ///
    /// Those of [`Index::flush`].
    pub fn maintain(&self) -> Result<Maintained> {
        steps::maintain(&*self.here()?)
    }

    /// Verifies everything: every checksum, every bucket table against the signatures, that each
    /// key has only one live document, the catalog, the copy of the parameters, and the WAL.
    /// Reports all damage it finds.
    ///
    /// # Errors
    ///
    /// Only if the verification could not be completed, for example after [`Index::shutdown`]
    /// (`Closed`). Damage is not an error: it is listed in the report.
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut go_on)
    }

    /// Verifies, and reports progress in bytes. Cancelling returns `Cancelled`. Reads every byte of
    /// the index, and most of them twice. `Err` only if the verification could not be completed.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` returns `Break`. Also the errors of [`Index::verify`].
    pub fn verify_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Verification> {
        inspect::verify(&*self.here()?, progress)
    }

    /// Makes a copy of the index in a new folder, without blocking readers or writers. The copy has
    /// everything written before the call.
    ///
    /// First flushes. Then hard-links segments and dead files, which never change, into the folder,
    /// or copies them if it is on another file system. A new catalog is written last, so that an
    /// interrupted backup is not an index. The copy is opened before the call returns, and its lock
    /// is held until then (if the file system supports locks). Hard links share their bytes: later
    /// damage to one is damage to both, so copy a backup to another disk.
    ///
    /// # Errors
    ///
    /// `Invalid` (there is already something in the folder), `Locked` (another process is making an
    /// index or a backup there), `Io`, and those of a flush.
    pub fn backup(&self, dir: impl AsRef<Path>) -> Result<()> {
        backup::backup(&*self.here()?, dir.as_ref())
    }

    /// Makes a copy of the index as of a snapshot, in a new folder, without blocking readers or
    /// writers. The index itself is not changed: the documents of the memtable are written to a
    /// segment of the copy. Everything else is as in [`Index::backup`].
    ///
    /// # Errors
    ///
    /// The errors of [`Index::backup`]. Also `Invalid` if the snapshot belongs to another handle.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path();
    /// use nearkin::{Index, Options, Params, Reader};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::create(dir.join("papers"), &params, Options::default())?;
    /// let sketch = index.sketcher();
    /// index.insert("p1", &sketch.text("as it was in the morning")?)?;
    /// let morning = index.snapshot();
    /// index.remove("p1")?;
    /// index.backup_of(&morning, dir.join("morning"))?;
    /// assert!(Reader::open(dir.join("morning"), Options::default())?.contains("p1")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup_of(&self, snapshot: &Snapshot, dir: impl AsRef<Path>) -> Result<()> {
        backup::backup_of(&*self.here()?, snapshot, dir.as_ref())
    }

    /// Statistics of the index. Lists the folders; if a folder was removed while the handle is
    /// open, its size is reported as 0 bytes, and everything else as usual.
    ///
    /// # Errors
    ///
    /// `Io`, `Closed`.
    pub fn stats(&self) -> Result<Stats> {
        inspect::stats(&*self.here()?)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut index = f.debug_struct("Index");
        index.field("dir", &self.core.names.root()).field("params", &self.core.params);
        index.field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}
