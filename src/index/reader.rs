//! The public handle for reading only.

use crate::Result;
use crate::index::core::Core;
use crate::index::follow::{self, Follower};
use crate::index::options::Options;
use crate::index::read::{Progress, Snapshot, Stats, Verification};
use crate::sketch::Sketcher;
use crate::storage::Storage;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use std::path::Path;
use std::sync::Arc;

/// An index opened for reading only: everything a [`Snapshot`] answers (it derefs to one), and
/// the looks at the whole.
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
    core: Core,
    snapshot: Snapshot,
    follower: Follower,
}

impl Reader {
    /// Opens an index for reading only, whether somebody writes it or not.
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
        let (core, follower) = follow::open(&storage, dir, &options)?;
        let snapshot = core.snapshot();
        Ok(Self { core, snapshot, follower })
    }

    /// Goes on to what is there now; whether that is a later change than before. It never goes
    /// back. Snapshots that were cloned from it stay what they are.
    ///
    /// Costs 50 us where nothing has happened, the replay of new records where there are some,
    /// and where the writer has flushed or compacted the opening of segments that are new, and the
    /// replay of the log. Errors: as [`Reader::open`], and `Mismatch` if another index lies there
    /// now; the reader then stays where it is.
    pub fn refresh(&mut self) -> Result<bool> {
        let before = self.snapshot.change();
        let refreshed = self.follower.refresh(&mut self.core);
        self.snapshot = self.core.snapshot();
        refreshed.map(|()| self.snapshot.change() > before)
    }

    /// What makes signatures for this index.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    /// Makes a copy of the index as this reader sees it, in a new folder, whatever is written
    /// meanwhile. See [`Index::backup_of`](crate::Index::backup_of).
    pub fn backup(&self, dir: impl AsRef<Path>) -> Result<()> {
        self.core.backup_of(&self.snapshot, dir.as_ref())
    }

    /// The state of the index in numbers. See [`Index::stats`](crate::Index::stats).
    pub fn stats(&self) -> Result<Stats> {
        self.core.stats()
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
        self.core.verify(progress)
    }
}

impl Deref for Reader {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reader = f.debug_struct("Reader");
        reader.field("dir", &self.core.names.root()).field("params", &self.core.params);
        reader.field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}
