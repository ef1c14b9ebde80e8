//! The turns of a shared handle: opening, beginning a turn, handing it over, and following between
//! turns. The protocol is `docs/reference/PROTOCOL.md`.

use super::folder::{self, another_index, is_sharded};
use super::follow::{self, Beside};
use super::open;
use crate::catalog;
use crate::format::catalog::WalEntry;
use crate::index::merge::commit;
use crate::index::state::core::{Core, Sharing, Writer};
use crate::index::state::options::{Maintenance, Options};
use crate::index::state::turns::{Turns, Wait};
use crate::index::state::versions::State;
use crate::index::write::write_path;
use crate::storage::Storage;
use crate::storage::lock::{Lock, LockLost, LockPlace, ReleaseOnDrop};
use crate::storage::names::{Ending, Names};
use crate::sync::{Arc, PoisonError, thread};
use crate::wal::{LogReader, Wal};
use crate::{Error, ErrorKind, OrIo, Params, Result};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Opens an index that other processes write, too.
pub(crate) fn open_shared(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    options: &Options,
) -> Result<Core> {
    if is_sharded(&**storage, &Names::new(dir))? {
        return Err(open::not_to_be_written(dir));
    }
    let place = Arc::new(LockPlace::default());
    let (mut core, follower) = follow::open(storage, dir, options, Some(&place))?;
    core.released = ReleaseOnDrop(Some(place));
    core.sharing = Some(Sharing { turns: Turns::new(follower), begin, end });
    // Does what a process that was killed has left to do, unless another one is about to.
    begin(&core, Wait::Never)?;
    end_inline(&core);
    Ok(core)
}

/// Opens such an index, and creates it first if there is none.
pub(crate) fn open_or_create_shared(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    params: &Params,
    options: &Options,
) -> Result<Core> {
    let begun = Instant::now();
    let wait = options.patience();
    let core = loop {
        let opened = open_shared(storage, dir, options);
        let kind = |result: &Result<Core>| result.as_ref().err().map(Error::kind);
        let tried = if kind(&opened) == Some(ErrorKind::NotFound) {
            create_shared(storage, dir, params, options)
        } else {
            opened
        };
        // Another process has created it since, or is about to: with a time to wait, the creation
        // has waited already.
        let is_early = match kind(&tried) {
            Some(ErrorKind::Exists) => true,
            Some(ErrorKind::Locked) => options.lock_wait.is_none(),
            _ => false,
        };
        let waited = begun.elapsed();
        if !is_early || waited >= wait || options.gives_up(waited) {
            break tried?;
        }
        thread::sleep(folder::PAUSE);
    };
    open::refuse_others(&core, params)?;
    Ok(core)
}

/// Creates such an index.
pub(crate) fn create_shared(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    params: &Params,
    options: &Options,
) -> Result<Core> {
    if storage.is_temporary() {
        return Err(Error::invalid("an index in memory cannot be shared with other processes"));
    }
    drop(open::create(storage, dir, params, options.clone())?);
    open_shared(storage, dir, options)
}

/// Ends a turn at once if no thread would end it later.
fn end_inline(core: &Core) {
    if core.sharing.is_some()
        && core.options.maintenance == Maintenance::Inline
        && core.lock().is_some()
    {
        end(core, &mut core.writer());
    }
}

/// Begins a turn. Returns false if another process has one and the call does not wait for it.
fn begin(core: &Core, wait: Wait) -> Result<bool> {
    let Some(Sharing { turns, .. }) = &core.sharing else { return Ok(true) };
    commit::refuse_in_child(core)?;
    let begun = Instant::now();
    let _queue = turns.queue.lock().unwrap_or_else(PoisonError::into_inner);
    if core.lock().is_some() {
        return Ok(true);
    }
    commit::refuse_if_stopped(core)?;
    let taken = match wait {
        Wait::Never => folder::try_lock(&*core.storage, &core.names),
        Wait::Patiently => {
            commit::refuse_if_shut_down(core)?;
            // The time behind other threads of this process counts, too.
            let wait = core.options.patience().saturating_sub(begun.elapsed());
            // A handle that is closed waits for its maintenance.
            let ends = |waited| core.wakeup.stopping() || core.options.gives_up(waited);
            folder::take_lock(&*core.storage, &core.names, wait, &ends).map(Some)
        }
    };
    if taken.as_ref().is_err_and(|error| error.io_kind() == Some(io::ErrorKind::NotFound)) {
        core.group.note_lost(LockLost::Removed);
        commit::refuse_if_stopped(core)?;
    }
    let Some(lock) = taken? else { return Ok(false) };
    let mut writer = core.writer();
    begin_with(core, turns, &mut writer, lock)?;
    drop(writer);
    core.wakeup.wake();
    Ok(true)
}

fn begin_with(core: &Core, turns: &Turns, writer: &mut Writer, lock: Lock) -> Result<()> {
    core.lock.set(Some(Arc::new(lock)));
    let entered = enter(core, turns, writer);
    match entered {
        Ok(()) => turns.note_begin(writer.change),
        Err(_) => {
            writer.wal = None;
            core.release_lock();
        }
    }
    entered
}

/// Reads what other processes have written, and makes the log ready to append to.
fn enter(core: &Core, turns: &Turns, writer: &mut Writer) -> Result<()> {
    let mut follower = turns.follower();
    if let Some(next) = follower.refresh(core, writer, Some(Beside::Us))? {
        take_over(core, writer, next);
    }
    let is_marked = follower.tail.as_ref().is_none_or(LogReader::is_marked);
    if !is_marked || follower.bytes_cut > 0 {
        let bytes_cut = std::mem::take(&mut follower.bytes_cut);
        // What is known of the log is obsolete, whether or not this succeeds.
        follower.catalog_hash = 0;
        return open::recover(core, writer, bytes_cut);
    }
    // A process that was killed before it wrote to the log may have left files, too.
    open::look_for_spare(core, writer)?;
    let row = writer.catalog.row();
    let (Some(entry), Some(tail)) = (row.wal, &follower.tail) else { return Ok(()) };
    let (identity, end) = (core.wal_identity(entry, row.floor), tail.offset());
    let wal = Wal::resume(&*core.storage, tail.path(), &identity, end)?;
    core.group.resume(Arc::clone(wal.file()), writer.mark(end), tail.horizon());
    writer.wal = Some(wal);
    Ok(())
}

/// Takes the state of a core that was read from the newest catalog.
fn take_over(core: &Core, writer: &mut Writer, next: Core) {
    let snapshot = next.snapshot();
    let other = next.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
    let change = planted!(ChangeNumberedTwice, writer.change, other.change);
    let is_stale = planted!(StaleRowCommitted, true, false);
    if !is_stale {
        writer.catalog = other.catalog;
    }
    (writer.wal, writer.spare) = (None, None);
    (writer.change, writer.documents) = (change, other.documents);
    writer.file_next = writer.file_next.max(other.file_next);
    let (segments, memtable) =
        (snapshot.state.segments.clone(), Arc::clone(&snapshot.state.memtable));
    let memtable = planted!(StaleMemtableKept, Arc::clone(&core.state().memtable), memtable);
    let state = State::new(Arc::clone(&core.params), segments, memtable);
    core.group.restart(None, writer.mark(0));
    core.view.replace_showing(state, Some((snapshot.visible, snapshot.documents)));
}

/// Ends the turn: everything is synced, the log says so, and the lock is released. If that fails,
/// the next process finds no mark, and recovers.
fn end(core: &Core, writer: &mut Writer) {
    let Some(Sharing { turns, .. }) = &core.sharing else { return };
    let mut follower = turns.follower();
    planted!(HandedOverUnsynced => core.group.skip_sync());
    let synced = commit::refuse_if_stopped(core)
        .and_then(|()| commit::await_durable(core, writer.change))
        .and_then(|()| write_path::note_horizon_in(core, writer));
    let is_marked = synced.is_ok() && !core.group.horizon_is_news();
    follower.catalog_hash = match (is_marked, followed(core, writer, is_marked)) {
        (true, Ok((hash, tail))) => {
            (follower.tail, follower.torn, follower.bytes_cut) = (tail, false, 0);
            hash
        }
        // The files are read anew at the next turn.
        _ => 0,
    };
    follower.checked = None;
    writer.wal = None;
    if synced.is_ok() {
        core.group.restart(None, writer.mark(0));
    }
    turns.note_end(writer.change);
    core.release_lock();
}

/// What is to be followed after a turn: the hash of the catalog, and the log from its end on.
fn followed(core: &Core, writer: &Writer, is_marked: bool) -> Result<(u64, Option<LogReader>)> {
    let hash = catalog::hash(&*core.storage, &core.names.catalog())?;
    let row = writer.catalog.row();
    let open = |entry: WalEntry, wal: &Wal| -> Result<LogReader> {
        let path = core.names.numbered(entry.number, Ending::Wal);
        let identity = core.wal_identity(entry, row.floor);
        let log = LogReader::open(&*core.storage, &path, &identity)?;
        let horizon = core.group.horizon();
        Ok(log.after_writing(wal.end(), writer.change, horizon, is_marked))
    };
    let tail = row.wal.zip(writer.wal.as_ref()).map(|(entry, wal)| open(entry, wal));
    Ok((hash, tail.transpose()?))
}

/// Sees what other processes have written. See [`crate::Index::refresh`].
pub(crate) fn refresh(core: &Core) -> Result<bool> {
    let Some(Sharing { turns, .. }) = &core.sharing else { return Ok(false) };
    let before = core.snapshot().change();
    let mut writer = core.writer();
    if core.lock().is_none() {
        let root = core.names.root();
        if !core.storage.is_at(root).or_io("look at", root)? {
            return Err(another_index(&core.names));
        }
        let next = turns.follower().refresh(core, &mut writer, None)?;
        if let Some(next) = next {
            take_over(core, &mut writer, next);
        }
    }
    Ok(core.snapshot().change() > before)
}

/// Refreshes until a change is visible, for at most `wait`. See [`crate::Index::refresh_until`].
pub(crate) fn refresh_until(core: &Core, change: u64, wait: Duration) -> Result<bool> {
    let begun = Instant::now();
    loop {
        refresh(core)?;
        if core.snapshot().change() >= change {
            return Ok(true);
        }
        if core.sharing.is_none() || begun.elapsed() >= wait {
            return Ok(false);
        }
        thread::sleep(folder::PAUSE);
    }
}
