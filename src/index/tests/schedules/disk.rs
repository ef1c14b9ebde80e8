//! The simulated disk, with a scheduling point before each operation whose order relative to other
//! threads matters. Also checks every removal of a file.
//!
//! The disk is locked with `std::sync::Mutex`, not with the explorer's mutex. That is sufficient
//! because no thread holds this lock at a scheduling point. A read of an immutable file is a single
//! step.

use super::world::Problems;
use crate::catalog;
use crate::storage::lock::Lock;
use crate::storage::names::Names;
use crate::storage::{Counters, DirEntry, File, Map, OpenMode, Storage};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::testing::sim::Sim;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The files that snapshots hold, each once per snapshot.
pub(super) type HeldFiles = Arc<Mutex<Vec<PathBuf>>>;

/// Number of scheduling points between the end of a sync and its return.
const SYNC_TURNS: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct Turns(Arc<AtomicU64>);

impl Turns {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    /// Lets the explorer choose the next thread.
    pub(super) fn take(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone)]
pub(super) struct TurnDisk {
    pub(super) sim: Sim,
    pub(super) names: Names,
    pub(super) turns: Turns,
    pub(super) held: HeldFiles,
    pub(super) problems: Problems,
}

#[derive(Debug)]
struct TurnFile {
    file: Arc<dyn File>,
    turns: Turns,
    is_log: bool,
}

/// The files of the segments that the catalog lists.
pub(super) fn listed(sim: &Sim, names: &Names) -> crate::Result<BTreeSet<PathBuf>> {
    use crate::storage::names::Ending;
    let row = catalog::peek(sim, &names.catalog())?;
    let segments = row.segments.iter().map(|entry| names.numbered(entry.number, Ending::Segment));
    let dead = row.segments.iter().filter_map(|entry| entry.dead_file);
    let dead = dead.map(|entry| names.numbered(entry.number, Ending::Dead));
    Ok(segments.chain(dead).collect())
}

impl TurnDisk {
    /// Checks that a segment's file is removed only if neither the catalog nor a snapshot needs it.
    fn look_at_remove(&self, path: &Path) {
        if path.parent() != Some(&self.names.segments_dir()) {
            return;
        }
        match listed(&self.sim, &self.names) {
            Ok(listed) if !listed.contains(path) => {}
            Ok(_) => self.problems.say(format!("{} goes and is listed", path.display())),
            Err(error) => self.problems.say(format!("the catalog: {error:?}")),
        }
        if self.held.lock().expect("nobody panicked").iter().any(|held| held == path) {
            self.problems.say(format!("{} goes and a snapshot holds it", path.display()));
        }
    }
}

impl Storage for TurnDisk {
    /// Folders on this disk are never moved.
    fn hold(&self, _: &Path) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.clone()))
    }
    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.sim.create_dir(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.sim.list(dir)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if path == self.names.catalog() {
            return self.sim.open(path, mode);
        }
        self.turns.take();
        let file = self.sim.open(path, mode)?;
        let is_log = path.parent() == Some(&self.names.wal_dir());
        Ok(Arc::new(TurnFile { file, turns: self.turns.clone(), is_log }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.turns.take();
        self.sim.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.turns.take();
        self.sim.rename_new(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.turns.take();
        self.look_at_remove(path);
        self.sim.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.turns.take();
        self.sim.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.turns.take();
        self.sim.lock(path)
    }
    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.turns.take();
        self.sim.lock_shared(path)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.turns.take();
        self.sim.hard_link(from, to)
    }
    fn counters(&self) -> Counters {
        self.sim.counters()
    }
}

impl File for TurnFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        if self.is_log {
            self.turns.take();
        }
        self.file.write_at(buffer, offset)
    }
    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.turns.take();
        self.file.start_writing(offset, bytes)
    }
    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file.set_bytes(bytes)
    }
    fn sync(&self) -> io::Result<()> {
        self.turns.take();
        let synced = self.file.sync();
        // Other threads may run between the end of a sync and the return of the call.
        (0..SYNC_TURNS).for_each(|_| self.turns.take());
        synced
    }
    fn map(&self) -> io::Result<Map> {
        self.file.map()
    }
}
