//! A reader beside a writer in another process: it holds no lock, writes nothing, and what
//! vanishes under it makes it look again.
//!
//! Two questions decide everything. *Which files are there?* The catalog says, or a copy of its row
//! that names the hash of the catalog as it is now. *Which records of its log count?* If the lock
//! is free after the row was read, the writer of that log is gone, and all whole records count;
//! else those below the last horizon found, which nothing takes back.

mod publish;

pub(crate) use publish::vouched;

use crate::catalog::{self, Rest};
use crate::format::catalog::{Row, WalEntry};
use crate::index::core::Core;
use crate::index::group::Mark;
use crate::index::open::{self, is_locked};
use crate::index::options::Options;
use crate::index::state::LiveSegment;
use crate::storage::Storage;
use crate::storage::names::{Ending, Names};
use crate::sync::{Arc, thread};
use crate::wal::{Believe, LogReader, Look};
use crate::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::Duration;

/// How often a reader looks again when what it looks at changes under it: for about a second.
const ATTEMPTS: u32 = 40;

/// What those wait who wait for a moment's end. On a simulated disk nothing takes time.
pub(crate) const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 1 });

/// What a reader knows of the files that it follows.
#[derive(Debug)]
pub(crate) struct Follower {
    /// Which catalog its state is of, if that was at rest.
    catalog_hash: Option<u64>,
    /// What was taken from the log was not applied to its end.
    torn: bool,
    /// The log, if there is one and more may come.
    tail: Option<LogReader>,
}

/// What there was when a reader looked.
#[derive(Debug)]
struct Sight {
    row: Row,
    /// None while a commit is under way, of which the row is the one before.
    catalog_hash: Option<u64>,
    /// Somebody may append to the row's log.
    locked: bool,
}

/// Opens an index to read it while another process may write it.
pub(crate) fn open(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    options: &Options,
) -> Result<(Core, Follower)> {
    options.validate()?;
    if !open::exists(&**storage, dir)? {
        return Err(open::missing(dir));
    }
    let names = Names::new(dir);
    let storage = &open::hold(storage, dir)?;
    let mut patience = Patience::new(&names);
    let read_before = storage.counters().bytes_read;
    loop {
        let Some(sight) = look(&**storage, &names)? else {
            patience.wait(None)?;
            continue;
        };
        let hash = sight.catalog_hash;
        match load(Arc::clone(storage), names.clone(), options.clone(), sight, &[]) {
            Ok((mut core, follower)) => {
                core.recovery.bytes_read = storage.counters().bytes_read - read_before;
                return Ok((core, follower));
            }
            Err(error) => patience.look_again(&**storage, hash, error)?,
        }
    }
}

/// Looks which files there are, and whether somebody writes them. `None`: that is just being
/// changed.
fn look(storage: &dyn Storage, names: &Names) -> Result<Option<Sight>> {
    let beside = is_locked(storage, names)?;
    let Some((row, catalog_hash)) = find_row(storage, names, beside)? else { return Ok(None) };
    // Asked after the row was read: a writer of the log that it lists began before that. If the
    // lock is free now, nothing is ever appended to that log.
    let locked = planted!(LockAskedEarly, beside, is_locked(storage, names)?);
    Ok(Some(Sight { row, catalog_hash, locked }))
}

/// The row, and which catalog says it.
fn find_row(
    storage: &dyn Storage,
    names: &Names,
    beside: bool,
) -> Result<Option<(Row, Option<u64>)>> {
    planted!(StaleCopyBelieved => if let Some(copy) = publish::read(storage, names) {
        return Ok(Some((copy.row, catalog::hash(storage, &names.catalog())?)));
    });
    // Without a writer the catalog speaks for itself.
    let copy = if beside { publish::read(storage, names) } else { None };
    let hash = catalog::hash(storage, &names.catalog())?;
    if let Some(copy) = copy.as_ref().filter(|copy| Some(copy.catalog_hash) == hash) {
        return Ok(Some((copy.row.clone(), hash)));
    }
    // In the midst of a commit the catalog may say the next row already, which is not durable yet:
    // the last one that was published is still true then.
    let rest = if beside { Rest::Closed } else { Rest::Any };
    let found = catalog::load_beside(storage, &names.catalog(), rest)?;
    let found = found.map(|(row, hash)| (row, Some(hash)));
    Ok(found.or_else(|| copy.map(|copy| (copy.row, None))))
}

/// Opens what a row lists, and takes from its log what counts. Segments that are open already are
/// taken over.
fn load(
    storage: Arc<dyn Storage>,
    names: Names,
    options: Options,
    sight: Sight,
    known: &[Arc<LiveSegment>],
) -> Result<(Core, Follower)> {
    let Sight { row, catalog_hash, locked } = sight;
    if !locked {
        // A writer makes files before it lists them.
        open::refuse_older(&*storage, &names, &row)?;
    }
    let (wal, floor) = (row.wal, row.floor);
    let mut core = open::assemble(storage, names, None, options, row);
    core.open_segments(known)?;
    core.request_directories(|live| known.iter().all(|known| known.number() != live.number()));
    let tail = wal.map(|entry| core.open_tail(entry, floor)).transpose()?;
    let mut follower = Follower { catalog_hash, torn: false, tail };
    core.restart_group();
    let (changes, bytes_cut) = follower.take(&core, locked, Look::Thorough)?;
    core.recovery.changes_replayed = changes;
    core.recovery.bytes_cut = bytes_cut;
    Ok((core, follower))
}

impl Core {
    fn open_tail(&self, entry: WalEntry, floor: u64) -> Result<LogReader> {
        let path = self.names.numbered(entry.number, Ending::Wal);
        LogReader::open(&*self.storage, &path, &self.wal_identity(entry, floor))
    }

    /// Checks what lies beside the segments as far as a writer leaves it alone: the catalog, and
    /// the log that it lists. An error where that cannot be told, or is not there any more.
    pub(crate) fn verify_beside(&self, problems: &mut Vec<Error>) -> Result<()> {
        let mut patience = Patience::new(&self.names);
        loop {
            let error = match self.try_verify_beside(&mut patience) {
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

    /// False if it changed meanwhile.
    fn try_verify_beside(&self, patience: &mut Patience<'_>) -> Result<bool> {
        let (storage, catalog) = (&*self.storage, self.names.catalog());
        if !open::exists(storage, self.names.root())? {
            return Err(open::missing(self.names.root()));
        }
        // Also one whose writer is within a commit, or died there.
        let Some((row, hash)) = catalog::load_beside(storage, &catalog, Rest::Any)? else {
            return patience.wait(None).map(|()| false);
        };
        if row.uuid != self.shape.uuid {
            return Err(another_index(&self.names));
        }
        let Some(entry) = row.wal else { return Ok(true) };
        let signature_bytes = self.shape.signature_bytes;
        let read = self
            .open_tail(entry, row.floor)
            .and_then(|mut tail| tail.read(Believe::Synced, Look::Thorough, signature_bytes));
        match read {
            Ok(_) => Ok(true),
            Err(error) => patience.look_again(storage, Some(hash), error).map(|()| false),
        }
    }
}

fn another_index(names: &Names) -> Error {
    let message = format!("{}: another index lies here now; open it anew", names.root().display());
    Error::new(ErrorKind::Mismatch, message)
}

impl Follower {
    /// Takes from the log what counts and was not taken before, and shows it: how many changes,
    /// and how many bytes behind them are no record.
    fn take(&mut self, core: &Core, locked: bool, look: Look) -> Result<(u64, u64)> {
        let Some(tail) = &mut self.tail else { return Ok((0, 0)) };
        let signature_bytes = core.shape.signature_bytes;
        // A log that is finished is looked at closely once, and never again.
        let (believe, look) =
            if locked { (Believe::Synced, look) } else { (Believe::Whole, Look::Thorough) };
        let taken = tail.read(believe, look, signature_bytes)?;
        // Until all of it is applied, what was taken and what is shown are not the same.
        self.torn = true;
        let mut writer = core.writer();
        let before = writer.change;
        for (change, operations) in taken.changes(signature_bytes) {
            let operations = operations
                .collect::<std::result::Result<Vec<_>, _>>()
                .map_err(|error| error.in_file(tail.path(), 0))?;
            core.replay_change(&mut writer, change, &operations)?;
        }
        let mark = Mark { end: 0, change: writer.change, documents: writer.documents };
        core.group.restart(None, 0, mark);
        core.view.show(mark);
        self.torn = false;
        if !locked {
            self.tail = None;
        }
        Ok((mark.change - before, taken.bytes_cut))
    }

    /// Goes on to what there is now; never back. After an error the state is the one of before.
    pub(crate) fn refresh(&mut self, core: &mut Arc<Core>) -> Result<()> {
        let (storage, names) = (Arc::clone(&core.storage), core.names.clone());
        let root = names.root();
        // A moved folder is followed, unless another folder has taken its place.
        if !storage.is_at(root).map_err(|error| Error::io("look at", root, error))? {
            return Err(another_index(&names));
        }
        let mut patience = Patience::new(&names);
        loop {
            let mut hash = catalog::hash(&*storage, &names.catalog())?;
            match self.try_refresh(core, &mut hash) {
                Ok(true) => return Ok(()),
                Ok(false) => patience.wait(None)?,
                Err(error) => patience.look_again(&*storage, hash, error)?,
            }
        }
    }

    /// `hash` is that of the catalog, and becomes that of the one that was gone by. False while it
    /// is being changed and nobody says from what.
    fn try_refresh(&mut self, core: &mut Arc<Core>, hash: &mut Option<u64>) -> Result<bool> {
        if hash.is_some() && self.catalog_hash == *hash && !self.torn {
            let locked = is_locked(&*core.storage, &core.names)?;
            return self.take(core, locked, Look::Quick).map(|_| true);
        }
        let Some(sight) = look(&*core.storage, &core.names)? else { return Ok(false) };
        *hash = sight.catalog_hash;
        if sight.row.uuid != core.shape.uuid {
            return Err(another_index(&core.names));
        }
        if !self.torn && sight.row == *core.writer().catalog.row() {
            self.catalog_hash = sight.catalog_hash;
            return self.take(core, sight.locked, Look::Quick).map(|_| true);
        }
        let (storage, names) = (Arc::clone(&core.storage), core.names.clone());
        let known = core.state();
        let loaded = load(storage, names, core.options.clone(), sight, &known.segments);
        let (mut next, follower) = loaded?;
        let goes_back = next.snapshot().change() < core.snapshot().change();
        if planted!(ReaderGoesBack, true, !goes_back) {
            next.recovery = core.recovery;
            *core = Arc::new(next);
            *self = follower;
        }
        Ok(true)
    }
}

/// How long a reader goes on looking.
struct Patience<'a> {
    names: &'a Names,
    attempts: u32,
}

impl<'a> Patience<'a> {
    fn new(names: &'a Names) -> Self {
        Self { names, attempts: 0 }
    }

    /// After a failure to read what a catalog says: if it is another one by now, or was being
    /// changed then, that was of what is gone.
    fn look_again(
        &mut self,
        storage: &dyn Storage,
        hash: Option<u64>,
        failed: Error,
    ) -> Result<()> {
        match catalog::hash(storage, &self.names.catalog()) {
            Ok(now) if hash.is_none() || now != hash => self.wait(Some(failed)),
            _ => Err(failed),
        }
    }

    fn wait(&mut self, failed: Option<Error>) -> Result<()> {
        self.attempts += 1;
        if self.attempts < ATTEMPTS {
            thread::sleep(PAUSE * self.attempts);
            return Ok(());
        }
        let error = unsettled(self.names);
        Err(match failed {
            Some(failed) => error.caused_by(failed),
            None => error,
        })
    }
}

fn unsettled(names: &Names) -> Error {
    let dir = names.root().display();
    let message = format!("{dir}: a writer changes the index faster than it can be read");
    Error::new(ErrorKind::Unsettled, message)
}
