//! The public handle for reading only.

use crate::index::files::copy::backup;
use crate::index::files::follow::{self, Follower, Freshness, LastLook};
use crate::index::files::inspect;
use crate::index::merge::commit;
use crate::index::read::{Progress, Snapshot, Stats, Verification};
use crate::index::state::core::Core;
use crate::index::state::options::Options;
use crate::storage::{Storage, forks};
use crate::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use crate::{Params, Result, Sketcher};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// An index opened for reading only: the queries of a [`Snapshot`], and statistics, verification
/// and backup of the whole index. Share it by reference or in an `Arc`.
///
/// A reader writes nothing and needs no write permission, so it can also read an index on read-only
/// media. Any number of readers may be open at once, in this process and in others, with or without
/// a writer. A reader never blocks another reader or a writer, and never waits for one.
///
/// A reader sees the state after one change ([`Snapshot::change`] is its number) until the next
/// [`Reader::refresh`]. While a writer has the index open, a reader sees only changes that survive
/// power loss, namely those that the log records as synced. Each record says how far the log was
/// synced before it, so a change is seen once the next change is written. If there is no next
/// change, [`Index::maintain`](crate::Index::maintain) appends a record that says the same (the
/// background thread does so within about a second). So a reader may lag by the last change, or by
/// the last few changes that were synced together. [`Index::sync`](crate::Index::sync) appends that
/// record, too: what was written before it is seen by the next refresh.
///
/// Without a writer, a reader sees all complete changes. The log is replayed into memory, which
/// takes up to as much memory as the writer's memtable.
///
/// A forked child can query through the reader of its parent, unless another thread was refreshing
/// it at the moment of the fork: then every query is `Closed`. Refreshes, statistics, verification
/// and backups are `Closed` in a child; open a reader there.
pub struct Reader {
    params: Arc<Params>,
    id: [u8; 16],
    /// The path by which the index was opened.
    root: PathBuf,
    /// The number of forks when it was opened.
    forks: u32,
    current: RwLock<CurrentCore>,
    /// `None` for a sharded index, whose segments are listed by manifests.
    follower: Mutex<Option<Follower>>,
    last_look: LastLook,
}

/// The state that a reader sees until its next refresh.
#[derive(Clone)]
struct CurrentCore {
    core: Arc<Core>,
    snapshot: Snapshot,
}

impl Reader {
    /// Opens an index for reading only, whether or not a writer has it open. Also opens a sharded
    /// index, made by [`Shards`](crate::shards::Shards).
    ///
    /// Costs the same as opening for writing, except for the WAL: a reader replays it into memory
    /// at every opening, while a writer flushes it once.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Invalid` (bad options, or `dir` is not an index), `Locked` (a backup is being
    /// made there), `Unsettled` (the index kept changing while it was read, for a second),
    /// `Corrupt`, `Unsupported`, `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Index, Options, Params, Reader};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// index.flush()?;
    ///
    /// // Usually in another process, while the writer is open.
    /// let reader = Reader::open(&dir, Options::default())?;
    /// assert!(reader.contains("p1")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_on(Core::disk(), dir.as_ref(), options)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "called as that of an index, which keeps them"
    )]
    pub(crate) fn open_on(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Self> {
        let began = Instant::now();
        let (core, follower) = follow::open_any(&storage, dir, &options)?;
        let (params, id, snapshot) = (Arc::clone(&core.params), core.shape.uuid, core.snapshot());
        let (root, forks) = (core.names.root().to_path_buf(), forks());
        let current = RwLock::new(CurrentCore { core: Arc::new(core), snapshot });
        let (follower, last_look) = (Mutex::new(follower), LastLook::at(began));
        Ok(Self { params, id, root, forks, current, follower, last_look })
    }

    /// The current state. Refused in a forked child: another thread of the parent may have held
    /// any of its locks at the fork, and none of those is ever released.
    fn current(&self) -> Result<CurrentCore> {
        if self.is_in_child() {
            return Err(commit::in_child(&self.root));
        }
        Ok(self.current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn is_in_child(&self) -> bool {
        self.forks != forks()
    }

    /// Advances to the current state, and returns whether its change is later than before. Never
    /// goes back. Existing snapshots, queries and iterators do not change.
    ///
    /// Any thread may refresh while others query: a query sees the state either before or after the
    /// refresh. Concurrent refreshes run one after the other.
    ///
    /// Costs 50 us if nothing has changed. Otherwise, replays the new records; after a flush or
    /// compaction of the writer, opens the new segments and replays the log.
    ///
    /// # Errors
    ///
    /// Those of [`Reader::open`], `Mismatch` if another index is at the path now, and `Closed` in a
    /// forked child. After an error the reader keeps its state; [`Reader::freshness`] tells how old
    /// it is.
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
        if self.is_in_child() {
            return Err(commit::in_child(&self.root));
        }
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        let CurrentCore { mut core, snapshot } = self.current()?;
        let began = Instant::now();
        let refreshed = follow::refresh_any(&mut follower, &mut core);
        self.last_look.note(began, &refreshed);
        let next = core.snapshot();
        let is_later = next.change() > snapshot.change();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, CurrentCore { core, snapshot: next });
        drop(current);
        // Drop the old state outside the lock.
        drop(before);
        refreshed.map(|()| is_later)
    }

    /// How current this reader is: how long ago it last looked at the index with success, and the
    /// error of the last [`Reader::refresh`], if it failed. Does not look itself, and never waits
    /// for a refresh.
    ///
    /// A program that refreshes now and then, and goes on with the old state after an error, tells
    /// by this whether its answers are still those of the index. If the failure is a `Mismatch`
    /// (the folder was replaced, or a link to it leads elsewhere), open the path again.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("news.nearkin");
    /// use nearkin::{Index, Options, Params, Reader};
    ///
    /// Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?.close()?;
    /// let reader = Reader::open(&dir, Options::default())?;
    /// assert!(reader.freshness().failure.is_none());
    /// std::fs::remove_dir_all(&dir).unwrap();
    /// assert!(reader.refresh().is_err());
    /// assert!(reader.freshness().failure.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn freshness(&self) -> Freshness {
        self.last_look.freshness()
    }

    /// The path by which the index was opened. If the folder is moved later, the reader keeps
    /// working, and this path does not change.
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
        self.root.clone()
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The identity of the index, as [`Index::id`](crate::Index::id): an index that was made anew
    /// in the same folder has another one.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// A snapshot of the current view, which a refresh does not change. The methods below are
    /// shorthands for those of the snapshot.
    pub fn snapshot(&self) -> Snapshot {
        if self.is_in_child() {
            return match self.current.try_read() {
                Ok(current) => current.snapshot.clone(),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().snapshot.clone(),
                Err(TryLockError::WouldBlock) => Snapshot::cut_off(&self.params),
            };
        }
        self.current.read().unwrap_or_else(PoisonError::into_inner).snapshot.clone()
    }

    /// The number of the last change that this reader sees.
    pub fn change(&self) -> u64 {
        self.snapshot().change()
    }

    /// The sketcher that makes signatures for this index.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    /// Makes a copy of the index as this reader sees it, in a new folder. Concurrent writes are not
    /// in it. See [`Index::backup_of`](crate::Index::backup_of).
    ///
    /// # Errors
    ///
    /// Those of [`Index::backup_of`](crate::Index::backup_of).
    pub fn backup(&self, dir: impl AsRef<Path>) -> Result<()> {
        let CurrentCore { core, snapshot } = self.current()?;
        backup::backup_of(&core, &snapshot, dir.as_ref())
    }

    /// Statistics of the index. See [`Index::stats`](crate::Index::stats).
    ///
    /// # Errors
    ///
    /// Those of [`Index::stats`](crate::Index::stats).
    pub fn stats(&self) -> Result<Stats> {
        inspect::stats(&self.current()?.core)
    }

    /// Verifies everything, as [`Index::verify`](crate::Index::verify) does.
    ///
    /// # Errors
    ///
    /// `Err` only if the verification could not be completed, even if it had already found damage:
    /// `NotFound` if the index no longer exists, `Mismatch` if another index is in the folder now,
    /// `Unsettled` if the index changes too fast.
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Reader::verify`], and reports progress in bytes. Cancelling returns `Cancelled`.
    /// Reads every byte of the index, and most of them twice.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` returns `Break`. Also the errors of [`Reader::verify`].
    pub fn verify_with(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Verification> {
        inspect::verify(&self.current()?.core, progress)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reader = f.debug_struct("Reader");
        reader.field("dir", &self.root).field("params", &self.params);
        reader.field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}
