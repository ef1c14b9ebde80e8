//! The public handle for reading only.

use crate::index::core::Core;
use crate::index::follow::{self, Follower};
use crate::index::key::Key;
use crate::index::options::Options;
use crate::index::read::{Alike, Clusters, Document, Documents, Keys, Pairs, Progress};
use crate::index::read::{Queries, Query, Snapshot, Stats, Verification};
use crate::index::sharded;
use crate::sketch::{Signature, Sketcher};
use crate::storage::Storage;
use crate::storage::names::Names;
use crate::sync::{Arc, Mutex, PoisonError, RwLock};
use crate::{Params, Result};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// An index opened for reading only: everything a [`Snapshot`] answers, and the looks at the whole.
/// Share it by reference or in an `Arc`.
///
/// It writes nothing and needs no permission to write, so that it reads an index on read-only
/// media too. Any number of readers may be open at once, in this process and in others, beside a
/// writer or without one; none of them keeps another or a writer out, nor waits for one.
///
/// What it sees is the state after one change, whose number [`Snapshot::change`] says, and stays
/// that until [`Reader::refresh`]. Beside a writer these are changes that no power cut takes back:
/// those that the log says are synced. It says so with the next change, or, where none comes, when
/// [`Index::maintain`](crate::Index::maintain) notes it (the background thread does, within about a
/// second): so a reader may be behind by the last change, or the last few that were synced
/// together. Without a writer it sees all that is whole. What the log holds is replayed in memory:
/// up to as much as the writer's memtable takes.
pub struct Reader {
    params: Arc<Params>,
    current: RwLock<Current>,
    /// None of a sharded index, of which manifests tell what there is.
    follower: Mutex<Option<Follower>>,
}

/// What a reader sees until it is refreshed.
#[derive(Clone)]
struct Current {
    core: Arc<Core>,
    snapshot: Snapshot,
}

impl Reader {
    /// Opens an index for reading only, whether somebody writes it or not. A sharded one, made by
    /// [`Shards`](crate::shards::Shards), is an index like any other here.
    ///
    /// Costs what opening for writing costs, but that what the WAL holds is replayed into memory
    /// at every opening, not flushed once. Errors: `NotFound`, `Invalid` (options, or a path to
    /// something else), `Locked` (a backup is being made there), `Unsettled` (for a second, all
    /// that it looked at had changed before it was read), `Corrupt`, `Unsupported`, `Io`.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_on(Core::disk(), dir.as_ref(), options)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "called as that of an index, which keeps them"
    )]
    pub(crate) fn open_on(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Self> {
        let (core, follower) = if sharded::is_sharded(&*storage, &Names::new(dir))? {
            (sharded::open(&storage, dir, &options)?, None)
        } else {
            let (core, follower) = follow::open(&storage, dir, &options)?;
            (core, Some(follower))
        };
        let (params, snapshot) = (Arc::clone(&core.params), core.snapshot());
        let current = RwLock::new(Current { core: Arc::new(core), snapshot });
        Ok(Self { params, current, follower: Mutex::new(follower) })
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on to what is there now; whether that is a later change than before. It never goes
    /// back. Snapshots, queries and iterators that were taken before stay what they are.
    ///
    /// Any thread may call it while others ask: they see the state before it or the one after it.
    /// Threads that refresh at once do so one after the other.
    ///
    /// Costs 50 us where nothing has happened, the replay of new records where there are some,
    /// and where the writer has flushed or compacted the opening of segments that are new, and the
    /// replay of the log. Errors: as [`Reader::open`], and `Mismatch` if another index lies there
    /// now; the reader then stays where it is.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("news.nearkin");
    /// use nearkin::{Index, Options, Params, Reader};
    /// use std::sync::Arc;
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let reader = Arc::new(Reader::open(&dir, Options::default())?);
    /// index.insert("n1", &index.sketcher().text("one story, told by many agencies")?)?;
    /// index.flush()?;
    /// let refreshed = std::thread::spawn({
    ///     let reader = Arc::clone(&reader);
    ///     move || reader.refresh()
    /// });
    /// assert!(refreshed.join().unwrap()?);
    /// assert!(reader.contains("n1")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn refresh(&self) -> Result<bool> {
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        let Current { mut core, snapshot } = self.current();
        let refreshed = match &mut *follower {
            Some(follower) => follower.refresh(&mut core),
            None => sharded::refresh(&mut core),
        };
        let next = core.snapshot();
        let is_later = next.change() > snapshot.change();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Current { core, snapshot: next });
        drop(current);
        // What only this reader held of it goes here, not under the lock.
        drop(before);
        refreshed.map(|()| is_later)
    }

    /// The path by which the index was opened. A folder that is moved since is followed, and this
    /// stays what it was.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("news.nearkin");
    /// use nearkin::{Index, Options, Params, Reader};
    ///
    /// Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?.close()?;
    /// assert_eq!(Reader::open(&dir, Options::default())?.path(), dir);
    /// # Ok(())
    /// # }
    /// ```
    pub fn path(&self) -> PathBuf {
        self.current().core.names.root().to_path_buf()
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What the reader sees now, as a value of its own: it stays what it is when the reader goes
    /// on. All that follows is short for asking it.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone()
    }

    /// The number of the last change that it sees.
    pub fn change(&self) -> u64 {
        self.snapshot().change()
    }

    /// How many documents are live. Constant time.
    pub fn len(&self) -> u64 {
        self.snapshot().len()
    }

    /// Whether no document is live.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a document with this key. See [`Snapshot::contains`].
    pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        self.snapshot().contains(key)
    }

    /// The document with this key. See [`Snapshot::get`].
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document>> {
        self.snapshot().get(key)
    }

    /// The documents with these keys, in their order. See [`Snapshot::get_many`].
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = impl Into<Key<'k>>>,
    ) -> Result<Vec<Option<Document>>> {
        self.snapshot().get_many(keys)
    }

    /// The signature of the document with this key. See [`Snapshot::signature`].
    pub fn signature<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Signature>> {
        self.snapshot().signature(key)
    }

    /// What is like this signature? See [`Query`].
    pub fn query<'a>(&self, signature: &'a Signature) -> Query<'a> {
        Query::of_signature(self.snapshot(), signature)
    }

    /// What is like each of these signatures? See [`Queries`].
    pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
        Queries::of(self.snapshot(), signatures)
    }

    /// What is like the document with this key? See [`Snapshot::query_key`].
    pub fn query_key<'a>(&self, key: impl Into<Key<'a>>) -> Query<'a> {
        self.snapshot().query_key(key)
    }

    /// What is like any of the documents with these keys? See [`Snapshot::query_keys`].
    pub fn query_keys<'a>(&self, keys: impl IntoIterator<Item = impl Into<Key<'a>>>) -> Query<'a> {
        self.snapshot().query_keys(keys)
    }

    /// All documents. See [`Snapshot::iter`].
    #[expect(clippy::iter_without_into_iter, reason = "a walk of everything is asked for by name")]
    pub fn iter(&self) -> Documents {
        self.snapshot().iter()
    }

    /// All keys in ascending order. See [`Snapshot::keys`].
    pub fn keys(&self) -> Result<Keys> {
        self.snapshot().keys()
    }

    /// The keys that begin with these bytes. See [`Snapshot::keys_with_prefix`].
    pub fn keys_with_prefix<'k>(&self, prefix: impl Into<Key<'k>>) -> Result<Keys> {
        self.snapshot().keys_with_prefix(prefix)
    }

    /// All pairs of documents that are [`Alike`] enough. See [`Snapshot::pairs`].
    pub fn pairs(&self, alike: impl Into<Alike>) -> Result<Pairs> {
        self.snapshot().pairs(alike)
    }

    /// The clusters of documents connected by such pairs. See
    /// [`Index::clusters_with`](crate::Index::clusters_with).
    pub fn clusters_with(
        &self,
        alike: impl Into<Alike>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Clusters> {
        self.snapshot().clusters_with(alike, progress)
    }

    /// What makes signatures for this index.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    /// Makes a copy of the index as this reader sees it, in a new folder, whatever is written
    /// meanwhile. See [`Index::backup_of`](crate::Index::backup_of).
    pub fn backup(&self, dir: impl AsRef<Path>) -> Result<()> {
        let Current { core, snapshot } = self.current();
        core.backup_of(&snapshot, dir.as_ref())
    }

    /// The state of the index in numbers. See [`Index::stats`](crate::Index::stats).
    pub fn stats(&self) -> Result<Stats> {
        self.current().core.stats()
    }

    /// Checks everything, as [`Index::verify`](crate::Index::verify) does. `Err` only if it could
    /// not be done, whatever was found until then: `NotFound` if there is no index any more,
    /// `Mismatch` if it is another one, `Unsettled` if it changes too fast.
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut |_| ControlFlow::Continue(()))
    }

    /// The same with progress in bytes; breaking off is `Cancelled`. Reads every byte of the index,
    /// most of them twice.
    pub fn verify_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Verification> {
        self.current().core.verify(progress)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reader = f.debug_struct("Reader");
        let Current { core, snapshot } = self.current();
        reader.field("dir", &core.names.root()).field("params", &self.params);
        reader.field("snapshot", &snapshot).finish_non_exhaustive()
    }
}
