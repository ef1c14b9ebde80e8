//! The public handle. Each method is a line or two that calls down.

use crate::index::admit::{Admission, Admit, Newcomer};
use crate::index::batch::{Batch, Outcome, Written};
use crate::index::copy::{Salvaged, salvage};
use crate::index::core::Core;
use crate::index::core::Here;
use crate::index::key::Key;
use crate::index::maintain::Background;
use crate::index::merge::flush::NextWal;
use crate::index::open;
use crate::index::options::Options;
use crate::index::read::{Alike, Clusters, Pairs};
use crate::index::read::{Document, Maintained, Progress, Stats, Verification};
use crate::index::read::{Queries, Query};
use crate::index::state::Snapshot;
use crate::sketch::{Signature, Sketcher};
use crate::storage::Storage;
use crate::{Error, ErrorKind, Params, Result};
use std::borrow::Borrow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

mod payloads;

/// An open index: one writer's handle on a directory. Share it by reference or in an `Arc`; any
/// number of threads may read and write through it.
///
/// Dropping it loses nothing that was acknowledged, but leaves the WAL to be replayed; only
/// [`Index::close`] makes reopening free of work.
pub struct Index {
    // First, so that the thread has ended when the core goes.
    pub(super) background: Background,
    pub(super) core: Arc<Core>,
}

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Index {
    /// Copies everything that can still be read of a damaged index into a new one at `out`: a
    /// lost catalog, damaged segments and logs included. The damaged index is not changed.
    ///
    /// `params` are needed only if both the catalog and the copy of the parameters are lost.
    /// What can be read is inserted with its old time; where removals were lost, documents may
    /// return; the report says what was lost and what is in doubt. Errors: `Invalid` (parameters
    /// needed, or `out` exists), `Locked` (open for writing), `Corrupt` (nothing to go by), `Io`.
    pub fn salvage(
        dir: impl AsRef<Path>,
        out: impl AsRef<Path>,
        params: Option<&Params>,
        options: Options,
    ) -> Result<Salvaged> {
        salvage(&Core::disk(), dir.as_ref(), out.as_ref(), params, options)
    }

    /// Whether there is an index in `dir`: `false` if there is nothing at all, or an empty
    /// folder.
    ///
    /// Errors: `Invalid` (a file, or a folder of other things), `Corrupt` (an index that has lost
    /// its catalog), `Locked` (a backup is being made there), `Io`. Looks at names, reads no file.
    pub fn exists(dir: impl AsRef<Path>) -> Result<bool> {
        open::exists(&*Core::disk(), dir.as_ref())
    }

    /// Creates an empty index with these parameters, which it keeps for ever, and opens it. The
    /// folders above it are made as needed; all of it is durable on return.
    ///
    /// Errors: `Invalid` (options, there is one, or something else), `Corrupt` (one that has lost
    /// its catalog), `Locked`, `Io`.
    pub fn create(dir: impl AsRef<Path>, params: &Params, options: Options) -> Result<Self> {
        Self::create_on(Core::disk(), dir.as_ref(), params, options)
    }

    /// Opens an index for reading and writing. Its parameters come from the index itself.
    ///
    /// After a clean close this reads a few KiB per segment and writes nothing; after a crash
    /// it replays the WAL and flushes. Errors: `NotFound`, `Invalid` (options, or a path to
    /// something else), `Locked`, `Corrupt`, `Unsupported`, `Io`.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_on(Core::disk(), dir.as_ref(), options)
    }

    /// Opens an index, or creates it if there is nothing yet; of several that do so at once, one
    /// creates it, and the others open it once that one has closed it.
    ///
    /// Errors: those of both (`Locked` while another has it open), and `Mismatch` if there is one
    /// with other parameters; the message says which differ.
    pub fn open_or_create(
        dir: impl AsRef<Path>,
        params: &Params,
        options: Options,
    ) -> Result<Self> {
        let index = match Self::open(&dir, options.clone()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match Self::create(&dir, params, options.clone()) {
                    // Somebody else has created it since it was looked for.
                    Err(error) if error.kind() == ErrorKind::Exists => Self::open(&dir, options)?,
                    created => return created,
                }
            }
            opened => opened?,
        };
        let differences = index.params().differences(params);
        if differences.is_empty() {
            return Ok(index);
        }
        Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "{}: the index has other parameters: {}",
                dir.as_ref().display(),
                differences.join("; ")
            ),
        ))
    }

    #[expect(clippy::needless_pass_by_value, reason = "a disk is made for the call")]
    pub(crate) fn create_on(
        storage: Arc<dyn Storage>,
        dir: &Path,
        params: &Params,
        options: Options,
    ) -> Result<Self> {
        Self::start(open::create(&storage, dir, params, options)?)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a disk is made for the call")]
    pub(crate) fn open_on(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Self> {
        Self::start(open::open(&storage, dir, options)?)
    }

    /// What the engine's own copies write through.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    fn start(core: Core) -> Result<Self> {
        let core = Arc::new(core);
        let background = Background::start(&core).map_err(|error| {
            Error::new(ErrorKind::Io, "cannot start a maintenance thread").caused_by(error)
        })?;
        core.events.tell();
        Ok(Self { background, core })
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.core.params
    }

    /// The identity of the index: 16 random bytes, drawn when it was created. They stay the same
    /// wherever its folder is moved; a copy and a backup have them, too.
    pub fn id(&self) -> [u8; 16] {
        self.core.shape.uuid
    }

    /// What makes signatures for this index: pure, to be shared between threads.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(&self.core.params)
    }

    /// Inserts a document, or replaces the one with this key (1 to 4,096 bytes), whose payload
    /// stays: it is the caller's, and only a caller who gives one changes it
    /// ([`Index::insert_with_payload`], [`Index::set_payload`]). The same signature again writes
    /// nothing.
    ///
    /// `Ok` promises what [`Durability`](crate::Durability) says, and that queries see it.
    /// Errors: `Invalid`, `Mismatch` (a signature of other parameters), `Io` (not written),
    /// `Corrupt` (not written: a damaged block where the key is looked up), `Unknown`, `Poisoned`.
    /// Costs a look-up of the key and one append; under `Sync` one sync, shared with other threads.
    pub fn insert<'k>(&self, key: impl Into<Key<'k>>, signature: &Signature) -> Result<Outcome> {
        self.write(Batch::new().insert(key, signature)).map(|written| written.outcomes[0])
    }

    /// Removes the document with this key. Promises and errors as [`Index::insert`]. Its space
    /// is freed by compaction.
    pub fn remove<'k>(&self, key: impl Into<Key<'k>>) -> Result<Outcome> {
        self.write(Batch::new().remove(key)).map(|written| written.outcomes[0])
    }

    /// Removes every document whose time is below `time` (milliseconds UTC); returns how many.
    ///
    /// In batches of up to 1,000 removes, each one change: after a crash or an error those that
    /// were written are there and the others are not. Covers what was written before the call.
    /// Promises and errors as [`Index::insert`]. Costs a look at the time of every document of
    /// the segments that hold one below `time`, 8 bytes each.
    pub fn remove_before(&self, time: u64) -> Result<u64> {
        self.check_of_documents()?;
        self.here()?.remove_before(time)
    }

    /// Writes a batch as one change: atomic, one append, one sync. Promises and errors as
    /// [`Index::insert`]; `Invalid` also if it is longer than
    /// [`Options::batch_bytes_max`], or if the stored payloads that it keeps take more than 256
    /// MiB.
    pub fn write(&self, batch: impl Borrow<Batch>) -> Result<Written> {
        self.check_of_documents()?;
        self.here()?.write(batch.borrow())
    }

    /// Inserts a document unless a stored one is too much like it: looked for and decided in one
    /// step, so that of two copies that come at once one is admitted. What [`Admit`] says is
    /// compared as a query would, on the state after all writes before this one; the document of
    /// the newcomer's own key is left out. If it replaces that one, the payload stays; another one
    /// comes with [`Index::admit_one`].
    ///
    /// `Ok` promises of an admitted document what [`Index::insert`] does. A rejection writes
    /// nothing, and what it rests on is as durable as if the caller had written it. Errors: those
    /// of an insert; `Invalid` also unless 0 <= relate <= reject <= 1, or if what would be
    /// replaced does not fit into a batch of [`Options::batch_bytes_max`]. Costs a query and, if
    /// admitted, an insert.
    pub fn admit<'k>(
        &self,
        key: impl Into<Key<'k>>,
        signature: &Signature,
        admit: &Admit,
    ) -> Result<Admission> {
        let key = key.into();
        self.admit_one(&Newcomer::new(&key, signature), admit)
    }

    /// Admits newcomers one after the other, in order: each sees those before it, and is a change
    /// of its own. One sync for all of them.
    ///
    /// Promises and errors as [`Index::admit`]. Arguments are checked before anything is written;
    /// after another error those before the one that failed may be stored. To ask for all of
    /// them again is then safe: what is stored already is `Unchanged`.
    pub fn admit_all(&self, newcomers: &[Newcomer<'_>], admit: &Admit) -> Result<Vec<Admission>> {
        self.check_of_documents()?;
        self.here()?.admit_all(newcomers, admit)
    }

    /// What is shared with the handle's other threads: not in a forked child, which has none, nor
    /// after a shutdown.
    pub(super) fn here(&self) -> Result<Here<'_>> {
        self.core.refuse_in_child()?;
        self.core.refuse_if_shut_down()?;
        Ok(Here(&self.core))
    }

    /// Refuses to write one document of an index of passages, where a text is several.
    fn check_of_documents(&self) -> Result<()> {
        match self.core.params.passages() {
            None => Ok(()),
            Some(windows) => Err(Error::invalid(format!(
                "the index is of passages ({windows}): write to it through PassageIndex"
            ))),
        }
    }

    /// A frozen view: it answers as if nothing were written after. Cheap.
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }

    /// How many documents are live. Constant time.
    pub fn len(&self) -> u64 {
        self.snapshot().len()
    }

    /// Whether no document is live.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a document with this key. Errors and costs as [`Index::get`].
    pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        self.snapshot().contains(key)
    }

    /// The document with this key. Costs a probe per segment, and its block. Errors: `Corrupt`,
    /// `Io`.
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document>> {
        self.snapshot().get(key)
    }

    /// The documents with these keys, in their order: see [`Snapshot::get_many`].
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = impl Into<Key<'k>>>,
    ) -> Result<Vec<Option<Document>>> {
        self.snapshot().get_many(keys)
    }

    /// The signature of the document with this key. Errors and costs as [`Index::get`].
    pub fn signature<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Signature>> {
        self.snapshot().signature(key)
    }

    /// What is like this signature? See [`Query`] for threshold and limit.
    pub fn query<'a>(&self, signature: &'a Signature) -> Query<'a> {
        Query::of_signature(self.snapshot(), signature)
    }

    /// What is like each of these signatures? Asked together, they cost less: see [`Queries`].
    pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
        Queries::of(self.snapshot(), signatures)
    }

    /// What is like the document with this key? It never finds itself; a key that nobody has is
    /// `NoSuchKey`.
    pub fn query_key<'a>(&self, key: impl Into<Key<'a>>) -> Query<'a> {
        self.snapshot().query_key(key)
    }

    /// What is like any of the documents with these keys? See [`Snapshot::query_keys`].
    pub fn query_keys<'a>(&self, keys: impl IntoIterator<Item = impl Into<Key<'a>>>) -> Query<'a> {
        self.snapshot().query_keys(keys)
    }

    /// All pairs of documents that are [`Alike`] enough. See [`Snapshot::pairs`].
    pub fn pairs(&self, alike: impl Into<Alike>) -> Result<Pairs> {
        self.snapshot().pairs(alike)
    }

    /// The clusters of documents connected by pairs that are [`Alike`] enough. Errors: `Invalid`
    /// (the threshold), `Corrupt`, `Io`. See [`Index::clusters_with`].
    pub fn clusters(&self, alike: impl Into<Alike>) -> Result<Clusters> {
        self.clusters_with(alike, &mut go_on)
    }

    /// The clusters, with progress in documents; breaking off is `Cancelled`.
    ///
    /// The work is that of [`Index::pairs`]; memory is 4 bytes a document and 16 bytes a member.
    pub fn clusters_with(
        &self,
        alike: impl Into<Alike>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Clusters> {
        self.snapshot().clusters_with(alike, progress)
    }

    /// Makes everything durable that was written before the call, whatever the durability of the
    /// handle; returns the number of the last such change. Errors: `Unknown` (a sync failed, and
    /// the handle is poisoned).
    pub fn sync(&self) -> Result<u64> {
        self.here()?.sync_all()
    }

    /// The last change that survives power loss.
    pub fn durable_change(&self) -> u64 {
        self.core.group.durable_change()
    }

    /// Turns the memtable into a segment now. Writers wait, readers do not. Errors: `Io` (nothing
    /// has changed), `Corrupt`, `Unknown`, `Poisoned`.
    pub fn flush(&self) -> Result<()> {
        let core = self.here()?;
        core.flush_locked(&mut core.writer(), NextWal::None)
    }

    /// Merges everything into one segment without dead documents. Reading and writing go on.
    /// Needs disk space for the result beside what is there. Also writes the copy of the parameters
    /// anew, if verifying would find that it is damaged, or there is none. Errors as
    /// [`Index::flush`].
    pub fn compact(&self) -> Result<()> {
        self.compact_with(&mut go_on)
    }

    /// Compacts, with progress in documents; breaking off is `Cancelled` and changes nothing.
    pub fn compact_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        self.here()?.compact_all(progress)
    }

    /// Does one due step of maintenance and says which: a flush of a full memtable, or about 16 MiB
    /// of a compaction. Only with
    /// [`Maintenance`](crate::Maintenance)`::Inline` is it of use to call it. Errors as
    /// [`Index::flush`]. Also notes in the log, unsynced, how far it is synced: readers beside go
    /// by it.
    pub fn maintain(&self) -> Result<Maintained> {
        self.here()?.maintain()
    }

    /// Checks everything: every checksum, every bucket table against the signatures, that every
    /// key lives once, the catalog, the copy of the parameters, the WAL. Names all damage it finds.
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut go_on)
    }

    /// Verifies, with progress in bytes; breaking off is `Cancelled`. Reads every byte of the
    /// index, most of them twice. `Err` only if it could not be done.
    pub fn verify_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Verification> {
        self.here()?.verify(progress)
    }

    /// Makes a copy of the index in a new folder, while reading and writing go on: everything
    /// written before the call is in it.
    ///
    /// Flushes; then gives segments and dead files, which never change, a second name there (or
    /// copies them, to another file system), and writes a fresh catalog last, so that a backup
    /// that was cut short is not an index. The copy is opened before this returns, and until then
    /// its lock is held (where the file system has locks). Hard links share their bytes: later
    /// damage to one is damage to both, so copy a backup elsewhere.
    ///
    /// Errors: `Invalid` (there is something already), `Locked` (somebody is making an index or a
    /// backup there), `Io`, and those of a flush.
    pub fn backup(&self, dir: impl AsRef<Path>) -> Result<()> {
        self.here()?.backup(dir.as_ref())
    }

    /// Makes a copy of the index as a snapshot of it sees it, in a new folder, while reading and
    /// writing go on; nothing of the index itself is written. What only the memtable holds is
    /// written there as a segment. All else as of [`Index::backup`].
    ///
    /// Errors: `Invalid` also for a snapshot of another handle.
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
        self.here()?.backup_of(snapshot, dir.as_ref())
    }

    /// The state of the index in numbers. Lists the folders; of a folder that was removed under
    /// this handle it says 0 bytes, and all else as ever. Errors: `Io`, `Closed`.
    pub fn stats(&self) -> Result<Stats> {
        self.here()?.stats()
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut index = f.debug_struct("Index");
        index.field("dir", &self.core.names.root()).field("params", &self.core.params);
        index.field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}
