//! An in-memory disk for the tests of the catalog. It can make the k-th change fail, and records
//! what was synced.

use super::slot;
use crate::format::bytes::wide;
use crate::storage::lock::Lock;
use crate::storage::{Counters, DirEntry, File, Map, OpenMode, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// The path of the catalog.
pub(super) const PATH: &str = "catalog.redb";
/// Page size: the unit of writeback.
const PAGE: usize = 4096;

/// How much of the failing operation takes effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Effect {
    Nothing,
    Half,
    Whole,
}

/// Files in memory. The `fail_at`-th change fails; unless `once`, all later changes fail as well.
#[derive(Debug)]
pub(super) struct CatalogMemory {
    files: Mutex<BTreeMap<PathBuf, Arc<CatalogMemoryFile>>>,
    plan: Arc<FaultPlan>,
}

#[derive(Debug)]
struct FaultPlan {
    state: Mutex<FaultState>,
}

#[derive(Debug, Clone)]
struct FaultState {
    changes: u64,
    fail_at: u64,
    once: bool,
    effect: Effect,
    /// The content of the file after every successful sync.
    images: Vec<Vec<u8>>,
    counters: Counters,
}

impl FaultPlan {
    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().expect("no panic while held")
    }

    /// Counts a change. Returns its effect and its result.
    fn next(&self) -> (Effect, io::Result<()>) {
        let mut state = self.state();
        state.changes += 1;
        let failing =
            state.changes == state.fail_at || (state.changes > state.fail_at && !state.once);
        if failing {
            (state.effect, Err(io::Error::other("injected")))
        } else {
            (Effect::Whole, Ok(()))
        }
    }
}

#[derive(Debug)]
pub(super) struct CatalogMemoryFile {
    bytes: Mutex<Vec<u8>>,
    synced: Mutex<Vec<u8>>,
    /// Pages written since the last sync. A failed sync discards them, as on Linux: a later sync
    /// succeeds although they are not durable.
    dirty: Mutex<BTreeSet<usize>>,
    plan: Arc<FaultPlan>,
}

impl CatalogMemoryFile {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().expect("no panic while held")
    }

    fn dirty(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.dirty.lock().expect("no panic while held")
    }

    fn synced(&self) -> MutexGuard<'_, Vec<u8>> {
        self.synced.lock().expect("no panic while held")
    }
}

impl File for CatalogMemoryFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(wide(self.bytes().len()))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.plan.state().counters.bytes_read += wide(buffer.len());
        let bytes = self.bytes();
        let from = slot(offset, buffer.len(), bytes.len())?;
        buffer.copy_from_slice(&bytes[from..from + buffer.len()]);
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let (effect, result) = self.plan.next();
        let count = match effect {
            Effect::Nothing => 0,
            Effect::Half => buffer.len() / 2,
            Effect::Whole => buffer.len(),
        };
        self.plan.state().counters.bytes_written += wide(count);
        let from = usize::try_from(offset).expect("small");
        let mut bytes = self.bytes();
        if bytes.len() < from + count {
            bytes.resize(from + count, 0);
        }
        bytes[from..from + count].copy_from_slice(&buffer[..count]);
        self.dirty().extend(from / PAGE..(from + count).div_ceil(PAGE));
        result
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let (effect, result) = self.plan.next();
        if effect == Effect::Whole {
            self.bytes().resize(usize::try_from(bytes).expect("small"), 0);
        }
        result
    }

    fn sync(&self) -> io::Result<()> {
        let (effect, result) = self.plan.next();
        let dirty = std::mem::take(&mut *self.dirty());
        if effect == Effect::Whole {
            let bytes = self.bytes();
            let mut synced = self.synced();
            synced.resize(bytes.len(), 0);
            for from in dirty.into_iter().map(|page| page * PAGE) {
                let page = from..bytes.len().min(from + PAGE);
                if !page.is_empty() {
                    synced[page.clone()].copy_from_slice(&bytes[page]);
                }
            }
            self.plan.state().images.push(synced.clone());
        }
        self.plan.state().counters.syncs += 1;
        result
    }

    fn map(&self) -> io::Result<Map> {
        Ok(Map::Heap(Arc::new(self.bytes().clone())))
    }
}

impl CatalogMemory {
    pub(super) fn new() -> Arc<Self> {
        let state = FaultState {
            changes: 0,
            fail_at: u64::MAX,
            once: true,
            effect: Effect::Nothing,
            images: Vec::new(),
            counters: Counters::default(),
        };
        let plan = Arc::new(FaultPlan { state: Mutex::new(state) });
        Arc::new(Self { files: Mutex::default(), plan })
    }

    pub(super) fn with(bytes: &[u8]) -> Arc<Self> {
        let memory = Self::new();
        let file = memory.new_file();
        *file.bytes() = bytes.to_vec();
        *file.synced() = bytes.to_vec();
        memory.files().insert(PATH.into(), file);
        memory
    }

    fn new_file(&self) -> Arc<CatalogMemoryFile> {
        let plan = Arc::clone(&self.plan);
        let (bytes, synced, dirty) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(CatalogMemoryFile { bytes, synced, dirty, plan })
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<CatalogMemoryFile>>> {
        self.files.lock().expect("no panic while held")
    }

    fn file(&self) -> Arc<CatalogMemoryFile> {
        Arc::clone(&self.files()[Path::new(PATH)])
    }

    /// Makes the `after`-th change from now fail, and all later changes as well, unless `once`.
    pub(super) fn fail(&self, after: u64, once: bool, effect: Effect) {
        let mut state = self.plan.state();
        state.fail_at = state.changes.saturating_add(after);
        state.once = once;
        state.effect = effect;
    }

    /// The contents of the file that syncs have made durable so far.
    pub(super) fn images(&self) -> Vec<Vec<u8>> {
        self.plan.state().images.clone()
    }

    /// The current content of the catalog file, then its durable content.
    pub(super) fn contents(&self) -> [Vec<u8>; 2] {
        let file = self.file();
        let live = file.bytes().clone();
        let durable = file.synced().clone();
        [live, durable]
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.files().contains_key(path)
    }

    pub(super) fn changes(&self) -> u64 {
        self.plan.state().changes
    }
}

impl Storage for CatalogMemory {
    fn hold(&self, _: &Path) -> io::Result<Arc<dyn Storage>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<DirEntry>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode == OpenMode::Create {
            self.plan.next().1?;
            let file = self.new_file();
            self.files().insert(path.into(), Arc::clone(&file));
            return Ok(file);
        }
        let files = self.files();
        let file = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        let file: Arc<dyn File> = Arc::<CatalogMemoryFile>::clone(file);
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (effect, result) = self.plan.next();
        if effect == Effect::Whole {
            let mut files = self.files();
            let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
            files.insert(to.into(), file);
        }
        result
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.has(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files().remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.plan.next().1
    }

    fn lock(&self, _: &Path) -> io::Result<Lock> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn lock_shared(&self, _: &Path) -> io::Result<Lock> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn hard_link(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn counters(&self) -> Counters {
        self.plan.state().counters
    }
}
