//! The public handle for reading only.

use crate::Result;
use crate::index::core::Core;
use crate::index::open;
use crate::index::options::Options;
use crate::index::read::{Progress, Snapshot, Stats, Verification};
use crate::sketch::Sketcher;
use crate::storage::Storage;
use std::ops::{ControlFlow, Deref};
use std::path::Path;
use std::sync::Arc;

/// An index opened for reading only: everything a [`Snapshot`] answers (it derefs to one), and
/// the looks at the whole.
///
/// It writes nothing and needs no permission to write, so that it reads an index on read-only
/// media too. What the WAL holds is replayed in memory. Any number of readers may be open at
/// once; a writer is kept out while one is, and keeps readers out.
#[derive(Debug)]
pub struct Reader {
    core: Core,
    snapshot: Snapshot,
}

impl Reader {
    /// Opens an index for reading only.
    ///
    /// Costs what opening for writing costs, but that what the WAL holds is replayed into memory
    /// at every opening, not flushed once. Errors: `NotFound`, `Locked` (a writer has it open),
    /// `Corrupt`, `Unsupported`, `Io`.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_on(Core::disk(), dir.as_ref(), options)
    }

    pub(crate) fn open_on(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Self> {
        let core = open::open_read_only(storage, dir, options)?;
        let snapshot = core.snapshot();
        Ok(Self { core, snapshot })
    }

    /// What makes signatures for this index.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    /// The state of the index in numbers. See [`Index::stats`](crate::Index::stats).
    pub fn stats(&self) -> Result<Stats> {
        self.core.stats()
    }

    /// Checks everything. See [`Index::verify`](crate::Index::verify).
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut |_| ControlFlow::Continue(()))
    }

    /// Checks everything, with progress. See [`Index::verify_with`](crate::Index::verify_with).
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
