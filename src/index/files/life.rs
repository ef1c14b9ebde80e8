//! The end of a handle: closing and shutdown.

use crate::format::catalog::Row;
use crate::index::maintain::background::Background;
use crate::index::merge::commit;
use crate::index::merge::compaction;
use crate::index::merge::flush::{self, NextWal};
use crate::index::state::core::{Core, Writer};
use crate::index::state::options::Options;
use crate::index::state::running::Compaction;
use crate::index::state::turns::Wait;
use crate::index::state::versions::{Closed, State};
use crate::storage::OpenMode;
use crate::storage::lock::LockLost;
use crate::storage::names::Ending;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, PoisonError};
use crate::{Error, Result};

/// Length of the log of a tiny index: room for about fifty documents.
const TINY_LOG_BYTES: u64 = 16 << 10;

/// Closes the index of a handle that is about to be dropped. See [`crate::Index::close`].
pub(crate) fn close(core: &Core, background: &Background) -> Result<()> {
    commit::refuse_in_child(core)?;
    if core.shut_down.load(Ordering::Acquire) {
        return Ok(());
    }
    background.stop();
    let closed = if core.sharing.is_some() {
        let mut running = compaction::compaction(core);
        begin_turn_for(core, running.as_ref());
        let mut writer = core.writer();
        *running = None;
        end_turn(core, &mut writer)
    } else {
        close_locked(core, &mut core.writer())
    };
    core.events.deliver();
    closed
}

/// Closes the index under its handles. See [`crate::Index::shutdown`].
pub(crate) fn shut_down(core: &Core, background: &Background) -> Result<()> {
    commit::refuse_in_child(core)?;
    // Both would wait for this call: a report of a compaction, and the thread that delivers events.
    if core.is_reporting() || core.events.is_delivered_here() {
        return Err(Error::invalid(
            "shutdown was called by a progress report or an event listener of the same index, and \
             would wait for it: call it after that has returned",
        ));
    }
    core.shut_down.store(true, Ordering::Release);
    background.stop();
    let closed = close_and_release(core);
    core.events.deliver();
    closed
}

/// Closes the index, and releases everything that no snapshot or query holds.
fn close_and_release(core: &Core) -> Result<()> {
    let mut compaction = compaction::compaction(core);
    begin_turn_for(core, compaction.as_ref());
    let _expiry = core.expiry.lock().unwrap_or_else(PoisonError::into_inner);
    let mut writer = core.writer();
    if core.sharing.is_none() && core.lock().is_none() {
        return Ok(());
    }
    *compaction = None;
    writer.merging.clear();
    let closed = if core.sharing.is_some() {
        end_turn(core, &mut writer)
    } else {
        close_locked(core, &mut writer)
    };
    writer.wal = None;
    core.group.note_lost(LockLost::Released);
    let params = Arc::clone(&core.params);
    let why = Closed::ShutDown(core.names.root().to_path_buf());
    core.view.replace(State::closed(params, why));
    core.release_lock();
    core.storage.release();
    closed
}

/// Begins a turn, if it is free, to abandon this compaction: its unfinished file is removed during
/// a turn only. Otherwise a later turn removes the file.
fn begin_turn_for(core: &Core, running: Option<&Compaction>) {
    if let (Some(sharing), Some(_)) = (&core.sharing, running) {
        let _ = (sharing.begin)(core, Wait::Never);
    }
}

/// Ends the turn of a shared handle, if it has one. Does not flush: other processes go on. After a
/// flush the index is left as any other handle leaves it.
fn end_turn(core: &Core, writer: &mut Writer) -> Result<()> {
    let Some(sharing) = core.sharing.as_ref().filter(|_| core.lock().is_some()) else {
        return Ok(());
    };
    let refused = commit::refuse_if_stopped(core);
    if refused.is_ok() && writer.catalog.row().wal.is_none() {
        shorten_spare(core, writer);
    }
    (sharing.end)(core, writer);
    refused.and_then(|()| commit::refuse_if_stopped(core))
}

/// Flushes if there is a WAL, and shrinks the files that a closed index does not need at full
/// length.
pub(crate) fn close_locked(core: &Core, writer: &mut Writer) -> Result<()> {
    commit::refuse_if_stopped(core)?;
    if writer.catalog.row().wal.is_some() {
        flush::flush_locked(core, writer, NextWal::None)?;
    }
    shorten_spare(core, writer);
    Ok(())
}

/// Shortens the spare log. A closed index keeps it as a reserve, but not at the length that the
/// last log had grown to.
fn shorten_spare(core: &Core, writer: &Writer) {
    // The spare of a tiny index would make up most of its size. It is truncated, but not deleted:
    // the number in its name reveals a catalog that is an older copy (see `open/litter.rs`).
    let bytes_max = match is_tiny(writer.catalog.row(), &core.options) {
        true if !writer.has_logged => return,
        true => 0,
        false => core.options.wal_bytes_min,
    };
    let Some(number) = writer.spare else { return };
    let path = core.names.numbered(number, Ending::Free);
    // If this fails, the file keeps its length, which does no harm.
    if let Ok(file) = core.storage.open(&path, OpenMode::ReadWrite)
        && file.bytes().is_ok_and(|bytes| bytes > bytes_max)
    {
        let _ = file.set_bytes(bytes_max);
    }
}

/// Whether the index is so small that the overhead of a larger one would be most of its size.
fn is_tiny(row: &Row, options: &Options) -> bool {
    // The lengths in the row were not compared with the files yet: in a forged row, their sum could
    // overflow.
    let lengths = row.segments.iter().map(|entry| entry.length);
    lengths.fold(0, u64::saturating_add) <= options.tiny_bytes_max
}

/// The length of the first log of a session. The next log has at least the usual length.
pub(crate) fn first_log_bytes(row: &Row, options: &Options) -> u64 {
    let is_tiny = options.tiny_bytes_max > 0 && is_tiny(row, options);
    if is_tiny { options.wal_bytes_min.min(TINY_LOG_BYTES) } else { options.wal_bytes_min }
}
