//! A reader in one process beside a writer in another. The reader holds no lock, writes nothing,
//! and reads again if a file disappears.
//!
//! Two questions matter. *Which files exist?* The catalog lists them. *Which records of the log
//! count?* If nobody else can append to it, all whole records count. Otherwise only the records
//! below the last horizon in the log count: those cannot be taken back.
//!
//! A shared handle follows in the same way between its turns, and at the begin of a turn.

mod freshness;

pub use freshness::Freshness;
pub(crate) use freshness::LastLook;

use crate::catalog;
use crate::index::maintain::warm_up;
use crate::index::state::core::{Core, Writer};
pub(crate) use crate::index::state::follower::Follower;
use crate::index::state::options::Options;
use crate::index::state::versions::LiveSegment;

use super::folder::{self, PAUSE, another_index, is_locked};
use super::{open, sharded};
use crate::format::catalog::{Row, WalEntry};
use crate::storage::lock::LockPlace;
use crate::storage::names::{Ending, Names};
use crate::storage::{Guarded, Storage};
use crate::sync::{Arc, thread};
use crate::wal::{Believe, LogReader, Look};
use crate::{Error, ErrorKind, OrIo, Result};
use std::path::Path;

/// Number of retries if files change while they are read. With the pauses, this takes about a
/// second.
const ATTEMPTS: u32 = 40;

/// The process that may append to the log while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A process that holds the lock.
    Writer,
    /// No process held the lock a moment ago.
    Nobody,
    /// Nobody: this handle holds the lock.
    Us,
}

/// One observation of the folder.
#[derive(Debug)]
struct Sight {
    row: Row,
    catalog_hash: u64,
    beside: Beside,
}

/// Opens an index for reading while another process may write it.
///
/// `place` is where the lock of a shared handle is while it has a turn.
pub(crate) fn open(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    options: &Options,
    place: Option<&Arc<LockPlace>>,
) -> Result<(Core, Follower)> {
    options.validate()?;
    if !folder::exists(&**storage, dir)? {
        return Err(open::missing(dir));
    }
    let names = Names::new(dir);
    let mut storage = open::hold(storage, dir)?;
    if let Some(place) = place {
        storage = Arc::new(Guarded::by(place, storage));
    }
    let (storage, place) = (&storage, place.cloned().unwrap_or_default());
    open::check_map(&**storage, &names, options)?;
    let mut patience = Patience::new(&names);
    let read_before = storage.counters().bytes_read;
    loop {
        let sight = look(&**storage, &names, None)?;
        let hash = sight.catalog_hash;
        match load(Arc::clone(storage), names.clone(), &place, options.clone(), sight, &[]) {
            Ok((mut core, follower)) => {
                core.recovery.bytes_read = storage.counters().bytes_read - read_before;
                return Ok((core, follower));
            }
            Err(error) => patience.look_again(&**storage, hash, error)?,
        }
    }
}

/// Opens an index of either kind for reading. A sharded index has no follower.
pub(crate) fn open_any(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    options: &Options,
) -> Result<(Core, Option<Follower>)> {
    if folder::is_sharded(&**storage, &Names::new(dir))? {
        return Ok((sharded::open(storage, dir, options)?, None));
    }
    open(storage, dir, options, None).map(|(core, follower)| (core, Some(follower)))
}

/// Replaces `core` by the newest state of its index.
pub(crate) fn refresh_any(follower: &mut Option<Follower>, core: &mut Arc<Core>) -> Result<()> {
    let root = core.names.root();
    // If the folder was moved, the reader follows it, unless another folder has taken its path.
    if !core.storage.is_at(root).or_io("look at", root)? {
        return Err(another_index(&core.names));
    }
    match follower {
        Some(follower) => {
            let next = follower.refresh(core, &mut core.writer(), None)?;
            if let Some(next) = next {
                *core = Arc::new(next);
            }
            Ok(())
        }
        None => sharded::refresh(core),
    }
}

/// Reads which files exist, and whether a process writes them.
fn look(storage: &dyn Storage, names: &Names, beside: Option<Beside>) -> Result<Sight> {
    let (row, catalog_hash) = catalog::load_with_hash(storage, &names.catalog())?;
    let beside = beside.map_or_else(|| who(storage, names), Ok)?;
    Ok(Sight { row, catalog_hash, beside })
}

fn who(storage: &dyn Storage, names: &Names) -> Result<Beside> {
    Ok(if is_locked(storage, names)? { Beside::Writer } else { Beside::Nobody })
}

/// Opens the listed files, and reads the log's records that count. Segments that are already open
/// are reused.
fn load(
    storage: Arc<dyn Storage>,
    names: Names,
    place: &Arc<LockPlace>,
    options: Options,
    sight: Sight,
    known: &[Arc<LiveSegment>],
) -> Result<(Core, Follower)> {
    let Sight { row, catalog_hash, beside } = sight;
    if beside != Beside::Writer {
        // Without a writer, an unlisted file that is newer than the catalog proves that the catalog
        // is an older copy. (A writer creates files before it lists them.)
        open::refuse_older(&*storage, &names, &row)?;
    }
    let (wal, floor) = (row.wal, row.floor);
    let mut core = open::assemble(storage, names, place, options, row);
    open::open_segments(&core, known)?;
    warm_up::request_directories(&core, |live| {
        known.iter().all(|known| known.number() != live.number())
    });
    let tail = wal.map(|entry| open_tail(&core, entry, floor)).transpose()?;
    let mut follower = Follower { catalog_hash, torn: false, tail, bytes_cut: 0, checked: None };
    open::restart_group(&core, &core.writer());
    let (changes, bytes_cut) = follower.take(&core, &mut core.writer(), beside, Look::Thorough)?;
    core.recovery.changes_replayed = changes;
    core.recovery.bytes_cut = bytes_cut;
    Ok((core, follower))
}

fn open_tail(core: &Core, entry: WalEntry, floor: u64) -> Result<LogReader> {
    let path = core.names.numbered(entry.number, Ending::Wal);
    LogReader::open(&*core.storage, &path, &core.wal_identity(entry, floor))
}

/// Checks the files other than segments, while a writer may be changing them: the catalog, and
/// the log that it lists. Adds an error to `problems` if one of them cannot be read or has
/// disappeared.
pub(crate) fn verify_beside(core: &Core, problems: &mut Vec<Error>) -> Result<()> {
    let mut patience = Patience::new(&core.names);
    loop {
        let error = match try_verify_beside(core, &mut patience) {
            Ok(true) => return Ok(()),
            Ok(false) => continue,
            Err(error) => error,
        };
        let kind = error.kind();
        if matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Io) {
            problems.push(error);
            return Ok(());
        }
        return Err(error);
    }
}

/// One attempt of [`verify_beside`]. Returns false if the files changed during the check.
fn try_verify_beside(core: &Core, patience: &mut Patience<'_>) -> Result<bool> {
    let storage = &*core.storage;
    if !folder::exists(storage, core.names.root())? {
        return Err(open::missing(core.names.root()));
    }
    let (row, hash) = catalog::load_with_hash(storage, &core.names.catalog())?;
    if row.uuid != core.shape.uuid {
        return Err(another_index(&core.names));
    }
    let Some(entry) = row.wal else { return Ok(true) };
    let signature_bytes = core.shape.signature_bytes;
    let read = open_tail(core, entry, row.floor)
        .and_then(|mut tail| tail.read(Believe::Synced, Look::Thorough, signature_bytes));
    match read {
        Ok(_) => Ok(true),
        Err(error) => patience.look_again(storage, hash, error).map(|()| false),
    }
}

impl Follower {
    /// Reads the records that count and are new, and makes them visible. Returns the number of
    /// changes, and the number of bytes after them that are not a valid record.
    fn take(
        &mut self,
        core: &Core,
        writer: &mut Writer,
        beside: Beside,
        look: Look,
    ) -> Result<(u64, u64)> {
        let Some(tail) = &mut self.tail else { return Ok((0, 0)) };
        let bytes = core.shape.signature_bytes;
        let taken = match beside {
            Beside::Writer => tail.read(Believe::Synced, look, bytes)?,
            Beside::Us => tail.read(Believe::Whole, look, bytes)?,
            Beside::Nobody => {
                // Without a writer, the log is checked thoroughly once.
                let is_checked = self.checked == Some(tail.offset());
                let look = if is_checked { Look::Quick } else { Look::Thorough };
                let mut whole = tail.clone();
                let taken = whole.read(Believe::Whole, look, bytes)?;
                // A writer that came meanwhile may have appended what is not synced.
                if is_locked(&*core.storage, &core.names)? {
                    tail.read(Believe::Synced, look, bytes)?
                } else {
                    self.checked = Some(whole.offset());
                    *tail = whole;
                    taken
                }
            }
        };
        // True until all records that were read have been applied and are visible.
        self.torn = true;
        open::replay_records(core, writer, &taken, tail.path())?;
        self.torn = false;
        self.bytes_cut = taken.bytes_cut;
        Ok((taken.change_count(), taken.bytes_cut))
    }

    /// Moves on to the current state, and never to an older one. Returns a new core if other files
    /// are listed now; otherwise the new records are in `core`, whose write lock the caller holds.
    /// After an error the state is unchanged. `beside` is `None` if the caller does not know who
    /// writes.
    pub(crate) fn refresh(
        &mut self,
        core: &Core,
        writer: &mut Writer,
        beside: Option<Beside>,
    ) -> Result<Option<Core>> {
        let (storage, names) = (&*core.storage, &core.names);
        let mut patience = Patience::new(names);
        loop {
            let mut hash = catalog::hash(storage, &names.catalog())?;
            match self.try_refresh(core, writer, beside, &mut hash) {
                Ok(next) => return Ok(next),
                Err(error) => patience.look_again(storage, hash, error)?,
            }
        }
    }

    /// One attempt of [`Follower::refresh`]. `hash` is the hash of the catalog when it was last
    /// read; it is updated if this attempt reads the catalog again.
    fn try_refresh(
        &mut self,
        core: &Core,
        writer: &mut Writer,
        beside: Option<Beside>,
        hash: &mut u64,
    ) -> Result<Option<Core>> {
        let (storage, names) = (&*core.storage, &core.names);
        if self.catalog_hash == *hash && !self.torn {
            let beside = beside.map_or_else(|| who(storage, names), Ok)?;
            return self.take(core, writer, beside, Look::Quick).map(|_| None);
        }
        let sight = look(storage, names, beside)?;
        *hash = sight.catalog_hash;
        if sight.row.uuid != core.shape.uuid {
            return Err(another_index(&core.names));
        }
        let (beside, floor) = (sight.beside, sight.row.floor);
        let known = core.state();
        let (storage, names) = (Arc::clone(&core.storage), core.names.clone());
        let options = core.options.clone();
        let loaded = load(storage, names, &core.lock, options, sight, &known.segments);
        let (mut next, follower) = loaded?;
        if next.snapshot().change() >= core.snapshot().change() {
            next.recovery = core.recovery;
            *self = follower;
            return Ok(Some(next));
        }
        if beside != Beside::Writer || floor < writer.catalog.row().floor {
            // Beside a writer, changes that are not known to be synced may be missing for a moment.
            // Nothing else takes an index back.
            let what = "an older copy of the index is here now; open it again";
            return Err(Error::about(ErrorKind::Mismatch, core.names.root(), what));
        }
        Ok(None)
    }
}

/// Counts the retries of a reader, and ends them.
struct Patience<'a> {
    names: &'a Names,
    attempts: u32,
}

impl<'a> Patience<'a> {
    fn new(names: &'a Names) -> Self {
        Self { names, attempts: 0 }
    }

    /// Called after a failure to read listed files. If the catalog has changed since, the files
    /// were obsolete: the reader retries. Otherwise returns the failure.
    fn look_again(&mut self, storage: &dyn Storage, hash: u64, failed: Error) -> Result<()> {
        if !catalog::hash(storage, &self.names.catalog()).is_ok_and(|now| now != hash) {
            return Err(failed);
        }
        self.attempts += 1;
        if self.attempts < ATTEMPTS {
            thread::sleep(PAUSE * self.attempts);
            return Ok(());
        }
        let what = "a writer changes the index faster than it can be read";
        Err(Error::about(ErrorKind::Unsettled, self.names.root(), what).caused_by(failed))
    }
}
