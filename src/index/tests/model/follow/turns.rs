//! A writer and a reader on one simulated disk, each in a thread of its own; only one runs at a
//! time. At every call of the disk, a seeded random choice decides which of them continues. So any
//! order of calls can occur, and a seed reproduces it.

use super::super::script::Rng;
use crate::storage::lock::{FolderLock, Lock};
use crate::storage::{Counters, DirEntry, File, Map, OpenMode, Storage};
use crate::testing::sim::Sim;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One of the two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Writer,
    Reader,
}

#[derive(Debug)]
struct Baton {
    holder: Who,
    /// Whether the other thread has ended.
    alone: bool,
    rng: Rng,
    /// Probability of a switch per call, in percent.
    changes: usize,
}

/// Decides which thread continues.
#[derive(Debug)]
pub(super) struct BatonTurns {
    baton: Mutex<Baton>,
    passed: Condvar,
}

impl BatonTurns {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        let mut rng = Rng::new(seed);
        let changes = rng.pick(&[50, 20, 6, 2]);
        let baton = Baton { holder: Who::Writer, alone: false, rng, changes };
        Arc::new(Self { baton: Mutex::new(baton), passed: Condvar::new() })
    }

    fn baton(&self) -> MutexGuard<'_, Baton> {
        self.baton.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called before a disk call: switches to the other thread, or not.
    fn meet(&self, who: Who) {
        let mut baton = self.baton();
        let changes = baton.changes;
        if !baton.alone && baton.holder == who && baton.rng.percent(changes) {
            baton.holder = if who == Who::Writer { Who::Reader } else { Who::Writer };
            self.passed.notify_all();
        }
        while !baton.alone && baton.holder != who {
            baton = self.passed.wait(baton).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave(&self) {
        self.baton().alone = true;
        self.passed.notify_all();
    }
}

/// The disk of one thread. When it is dropped, the other thread continues alone.
#[derive(Debug)]
pub(super) struct BatonSeat {
    pub(super) disk: Arc<dyn Storage>,
    turns: Arc<BatonTurns>,
}

impl BatonSeat {
    pub(super) fn new(sim: &Sim, turns: &Arc<BatonTurns>, who: Who) -> Self {
        let met = Arc::clone(turns);
        let disk = met_disk(sim, true, move || met.meet(who));
        Self { disk, turns: Arc::clone(turns) }
    }
}

impl Drop for BatonSeat {
    fn drop(&mut self) {
        self.turns.leave();
    }
}

/// The disk, with a callback before every call, and optionally also before a lock is released.
pub(super) fn met_disk(
    sim: &Sim,
    while_locked: bool,
    meet: impl Fn() + Send + Sync + 'static,
) -> Arc<dyn Storage> {
    Arc::new(BatonDisk {
        sim: sim.clone(),
        shared: SharedBaton { while_locked, meet: Arc::new(meet) },
    })
}

#[derive(Clone)]
struct SharedBaton {
    while_locked: bool,
    meet: Arc<dyn Fn() + Send + Sync>,
}

impl SharedBaton {
    fn meet(&self) {
        (self.meet)();
    }
}

impl fmt::Debug for SharedBaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

#[derive(Debug, Clone)]
struct BatonDisk {
    sim: Sim,
    shared: SharedBaton,
}

impl Storage for BatonDisk {
    /// Folders on this disk are never moved.
    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        Ok(Arc::new(Self { sim: self.sim.ask_early(dir), ..self.clone() }))
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.shared.meet();
        self.sim.list(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.shared.meet();
        let file = self.sim.open(path, mode)?;
        Ok(Arc::new(Opened { file, shared: self.shared.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.shared.meet();
        let lock = self.sim.lock(path)?;
        Ok(Lock::new(BatonLock { lock, shared: self.shared.clone() }))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        self.shared.meet();
        let lock = self.sim.lock_shared(path)?;
        Ok(Lock::new(BatonLock { lock, shared: self.shared.clone() }))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.meet();
        self.sim.hard_link(from, to)
    }

    fn counters(&self) -> Counters {
        self.sim.counters()
    }
}

/// A lock on the disk. With `while_locked`, the other thread may run just before the release, and
/// find the lock held.
struct BatonLock {
    lock: Lock,
    shared: SharedBaton,
}

impl FolderLock for BatonLock {
    fn check(&self) -> io::Result<()> {
        self.lock.check()
    }
}

impl Drop for BatonLock {
    fn drop(&mut self) {
        if self.shared.while_locked {
            self.shared.meet();
        }
    }
}

#[derive(Debug)]
struct Opened {
    file: Arc<dyn File>,
    shared: SharedBaton,
}

impl File for Opened {
    fn bytes(&self) -> io::Result<u64> {
        self.shared.meet();
        self.file.bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        // A long read is not atomic: the other thread may run in the middle of it.
        let half = buffer.len() / 2;
        let (first, second) = buffer.split_at_mut(half);
        self.shared.meet();
        self.file.read_at(first, offset)?;
        self.shared.meet();
        self.file.read_at(second, offset + half as u64)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let half = buffer.len() / 2;
        let (first, second) = buffer.split_at(half);
        self.shared.meet();
        self.file.write_at(first, offset)?;
        self.shared.meet();
        self.file.write_at(second, offset + half as u64)
    }

    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.shared.meet();
        self.file.start_writing(offset, bytes)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.shared.meet();
        self.file.set_bytes(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.shared.meet();
        self.file.sync()
    }

    fn map(&self) -> io::Result<Map> {
        self.shared.meet();
        self.file.map()
    }
}
