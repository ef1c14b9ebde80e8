//! The flush: writes the memtable to a segment and dead files, moves the floor, and starts a new
//! WAL. The whole flush runs under the write lock; readers are not blocked.

use super::{cover, policy};
use crate::format::bytes::wide;
use crate::format::catalog::WalEntry;
use crate::format::wal::RECORDS_BEGIN;
use crate::index::merge::commit;
use crate::index::merge::draft::{Draft, begin_merge, open_built};
use crate::index::merge::parallel_tables::Births;
use crate::index::state::core::{Core, Writer};
use crate::index::state::event::Event;
use crate::index::state::running::Input;
use crate::index::state::versions::Snapshot;
use crate::memtable::Memtable;
use crate::segment::Bits;
use crate::storage::names::Ending;
use crate::wal::{Reserve, Wal};
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Whether a flush creates the next WAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextWal {
    /// Create a WAL with room for a record of this many bytes. `reserve` tells whether the reserve
    /// for a full disk may be used.
    Ready { record_bytes: u64, reserve: Reserve },
    /// Create no WAL: the next write creates one, and a reopening has nothing to replay.
    None,
}

impl NextWal {
    /// Whether this flush may use the reserve for a full disk. An insert may not, nor may a flush
    /// that makes room for one.
    fn may_use_reserve(self) -> bool {
        !matches!(self, Self::Ready { reserve: Reserve::Kept, .. })
    }
}

/// Maximum growth factor: the log after a full one is at most this many times as long. The factor
/// is large because each flush before the final length costs some ten syncs, and leaves a segment
/// to be merged.
const LOG_GROWTH: u64 = 4;
/// An idle index flushes its memtable only if the memtable has at least 1 / `IDLE_FLUSH_INVERSE` of
/// its maximum size.
const IDLE_FLUSH_INVERSE: usize = 16;
/// Estimated log lengths are rounded up to multiples of this.
const LOG_UNIT_BYTES: u64 = 4096;

/// Whether a flush is due. An empty memtable is never full, even if the limit is tiny.
pub(crate) fn memtable_is_full(core: &Core) -> bool {
    let memtable = &core.state().memtable;
    memtable.bytes() >= core.options.memtable_bytes_max.max(1) || memtable.is_mostly_dead()
}

/// Flushes the memtable of an idle index if it is large enough to slow queries down. Does
/// nothing if `quiet`, the last change seen when the index became idle, is not the last change
/// any more. Returns whether it flushed.
///
/// The next write creates a log. Until then, the disk space of the log and the memory of the
/// memtable are free.
pub(crate) fn flush_idle(core: &Core, quiet: Option<u64>) -> Result<bool> {
    let bytes_min = (core.options.memtable_bytes_max / IDLE_FLUSH_INVERSE).max(1);
    let is_slow = || core.state().memtable.bytes() >= bytes_min;
    if quiet.is_none() || !core.options.merge_when_idle || !is_slow() {
        return Ok(false);
    }
    let mut writer = core.to_write()?;
    let has_log = writer.catalog.row().wal.is_some();
    if quiet != Some(writer.change) || !is_slow() || !has_log {
        return Ok(false);
    }
    // Not `flush_locked`: that could use up the reserve for a full disk, and an idle flush is
    // optional.
    try_flush(core, &mut writer, NextWal::None).map(|()| true)
}

/// Makes room for a record in the WAL and for its documents in the memtable. Returns true if
/// this took a flush, which moves documents.
pub(crate) fn make_room(
    core: &Core,
    writer: &mut Writer,
    record_bytes: u64,
    reserve: Reserve,
) -> Result<bool> {
    let Some(wal) = &writer.wal else {
        return begin_wal(core, writer, record_bytes, reserve).map(|()| false);
    };
    let fits = wal.has_room(record_bytes, Reserve::Kept);
    if fits && !memtable_is_full(core) {
        return Ok(false);
    }
    let fits_reserve = reserve == Reserve::Used && wal.has_room(record_bytes, reserve);
    // Chooses the length of the next log by how much of this one was used.
    let (length, used) = (wal.length(), wal.end());
    let wanted = if !fits {
        let enough = log_bytes_of_a_memtable(core, used, record_bytes);
        enough.clamp(length, length.saturating_mul(LOG_GROWTH))
    } else if used < length / 4 {
        length / 2
    } else {
        length
    };
    if reserve == Reserve::Kept {
        writer.wal_bytes = wanted.clamp(core.options.wal_bytes_min, core.options.wal_bytes_max);
    }
    match flush_locked(core, writer, NextWal::Ready { record_bytes, reserve }) {
        // Removes must succeed on a full disk, since they free its space.
        Err(error) if error.kind() == ErrorKind::Io && fits_reserve => Ok(false),
        flushed => flushed.map(|()| true),
    }
}

/// Estimates how long a log must be so that the memtable fills up before the log does. The
/// estimate is based on how much of both is used so far, and on this record. A longer log would
/// waste disk space and page cache on zeros.
fn log_bytes_of_a_memtable(core: &Core, used: u64, record_bytes: u64) -> u64 {
    let (most, held) = (core.options.memtable_bytes_max, core.state().memtable.bytes());
    // This record is added to the estimate: it fills the memtable, and may be far larger than
    // the memtable's limit.
    let used_then =
        u128::from(used) * most as u128 / held.max(1) as u128 + u128::from(record_bytes);
    // A quarter more, because an eighth of the log is the reserve, and because memtables differ
    // in how much log they need.
    let bytes = u64::try_from(used_then + used_then / 4).unwrap_or(u64::MAX);
    bytes.checked_next_multiple_of(LOG_UNIT_BYTES).unwrap_or(u64::MAX)
}

/// Creates the first WAL and commits it to the catalog. Changes nothing else.
fn begin_wal(core: &Core, writer: &mut Writer, record_bytes: u64, reserve: Reserve) -> Result<()> {
    let mut draft = Draft::new(core, writer);
    let (wal, entry) = create_wal(core, writer, record_bytes, reserve, draft.floor)?;
    draft.wal = Some(entry);
    cover::cover_memtable(core, &draft.memtable, &draft.segments);
    commit_with_wal(core, writer, draft, Some(wal))
}

/// Flushes the memtable. After `Ok`, catalog and segments hold every change.
pub(crate) fn flush_locked(core: &Core, writer: &mut Writer, next: NextWal) -> Result<()> {
    match try_flush(core, writer, next) {
        Err(error) if next.may_use_reserve() && gave_up_spare(core, writer, &error) => {
            try_flush(core, writer, next)
        }
        flushed => flushed,
    }
}

/// If a full disk may have caused this failure, deletes the spare WAL, whose blocks are the
/// reserve. Returns true if there was a spare, so that a retry may succeed.
pub(crate) fn gave_up_spare(core: &Core, writer: &mut Writer, error: &Error) -> bool {
    if error.kind() != ErrorKind::Io {
        return false;
    }
    let Some(number) = writer.spare.take() else { return false };
    // The next WAL must not take the space that was freed, so it is made as small as possible.
    writer.wal_bytes = 0;
    core.storage.remove(&core.names.numbered(number, Ending::Free)).is_ok()
}

fn try_flush(core: &Core, writer: &mut Writer, next: NextWal) -> Result<()> {
    commit::refuse_if_stopped(core)?;
    if next == NextWal::None && writer.catalog.row().wal.is_none() {
        return Ok(()); // no WAL, so no change since the floor
    }
    // Wait until the log is synced: the catalog must not make a change durable while its writer
    // still waits for the sync.
    commit::await_durable(core, writer.change)?;
    let begun = core.events.now();
    let before = core.applied(writer);
    let mut draft = draft_of(core, writer, &before)?;
    draft.memtable = Arc::new(next_memtable(core, writer, &before));
    draft.floor = writer.change;
    if next != NextWal::None {
        cover::cover_memtable(core, &draft.memtable, &draft.segments);
    }
    let wal = match next {
        NextWal::Ready { record_bytes, reserve } => {
            let (wal, entry) = create_wal(core, writer, record_bytes, reserve, draft.floor)?;
            draft.wal = Some(entry);
            Some(wal)
        }
        NextWal::None => {
            draft.wal = None;
            None
        }
    };
    let made = draft.last_made();
    commit_with_wal(core, writer, draft, wal)?;
    let (documents, bytes) = made.unwrap_or_default();
    let duration = begun.map(|begun| begun.elapsed()).unwrap_or_default();
    core.events.note(|| Event::Flushed { documents, bytes, duration });
    if next != NextWal::None {
        let old = Arc::clone(&before.state.memtable);
        drop(before);
        core.state().memtable.reuse(old);
    }
    // With one more segment, a compaction may be due.
    core.wakeup.wake();
    Ok(())
}

/// An empty memtable with the capacity of the last one, scaled up if the next log is longer, up
/// to the limit.
fn next_memtable(core: &Core, writer: &Writer, before: &Snapshot) -> Memtable {
    let documents = u64::from(before.state.memtable.read().document_count());
    let bytes_each = wide(before.state.memtable.bytes()) / documents.max(1);
    let most = wide(core.options.memtable_bytes_max) / bytes_each.max(1);
    let length = writer.wal.as_ref().map_or(writer.wal_bytes, Wal::length);
    let times = writer.wal_bytes.div_ceil(length.max(1)).clamp(1, LOG_GROWTH);
    Memtable::new(
        core.params.signature_bytes(),
        core.params.bands(),
        (core.options.random)(),
        u32::try_from((documents * times).min(most)).unwrap_or(u32::MAX),
    )
}

/// A draft in which segments and dead files hold everything that a snapshot sees.
pub(crate) fn draft_of(core: &Core, writer: &mut Writer, before: &Snapshot) -> Result<Draft> {
    let mut draft = Draft::new(core, writer);
    draft_deaths(core, writer, before, &mut draft)?;
    draft_births(core, writer, before, &mut draft)?;
    Ok(draft)
}

/// Drafts new dead files for the segments that lost documents. Drops segments without live
/// documents.
fn draft_deaths(
    core: &Core,
    writer: &mut Writer,
    before: &Snapshot,
    draft: &mut Draft,
) -> Result<()> {
    let mut dying: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (segment, ordinal, change) in before.state.memtable.read().segment_deaths() {
        // During a backup the memtable also holds deaths after the snapshot.
        if change <= before.visible {
            dying.entry(segment).or_default().push(ordinal);
        }
    }
    draft_dying(core, writer, draft, &dying)
}

/// Like `draft_deaths`, for the given documents, grouped by segment number.
pub(crate) fn draft_dying(
    core: &Core,
    writer: &mut Writer,
    draft: &mut Draft,
    dying: &BTreeMap<u64, Vec<u32>>,
) -> Result<()> {
    for at in (0..draft.segments.len()).rev() {
        let live = Arc::clone(&draft.segments[at]);
        let Some(ordinals) = dying.get(&live.number()) else { continue };
        let mut bits = Bits::from_words(live.dead_bits()?);
        for ordinal in ordinals {
            bits.set(*ordinal);
        }
        if bits.count() == live.entry.docs && !writer.merging.contains(&live.number()) {
            draft.drop_segment(live.number());
        } else {
            draft.segments[at] = Arc::new(draft.with_dead(core, writer, &live, &bits)?);
        }
    }
    Ok(())
}

/// Adds a new segment with the memtable's live documents, if there are any.
fn draft_births(
    core: &Core,
    writer: &mut Writer,
    before: &Snapshot,
    draft: &mut Draft,
) -> Result<()> {
    let memtable = Arc::clone(&before.state.memtable);
    let live: Arc<[u32]> = {
        let content = memtable.read();
        let all = 0..content.document_count();
        all.filter(|ordinal| content.is_live(*ordinal, before.visible)).collect()
    };
    if live.is_empty() {
        return Ok(());
    }
    let number = writer.next_number();
    let input = Input::Memtable { memtable: Arc::clone(&memtable), live: Arc::clone(&live) };
    let merge = begin_merge(core, number, vec![input])?;
    let memory_bytes = core.options.merge_bytes_max;
    let births = Births { memtable: &memtable, live: &live, shape: &core.shape, memory_bytes };
    let built = open_built(core, &merge.flush(births)?)?;
    if let Some(columns) = memtable.columns() {
        built.segment.cover_by(Arc::clone(columns));
    }
    draft.adopt(&built);
    draft.segments.push(Arc::new(built));
    Ok(())
}

/// Creates and publishes the next WAL, which is not listed yet. If the disk is full, the WAL is
/// made small.
fn create_wal(
    core: &Core,
    writer: &mut Writer,
    record_bytes: u64,
    reserve: Reserve,
    floor: u64,
) -> Result<(Wal, WalEntry)> {
    let needed = Wal::length_for(record_bytes);
    let wanted = writer.wal_bytes.max(needed);
    let least = match reserve {
        Reserve::Used => needed,
        // An insert must not use the reserve, but it also must not fail just because the log
        // has grown.
        Reserve::Kept => needed.max(core.options.wal_bytes_min),
    };
    match create_wal_of(core, writer, wanted, floor) {
        Err(error) if error.kind() == ErrorKind::Io && least < wanted => {
            writer.wal_bytes = writer.wal_bytes.min(least);
            create_wal_of(core, writer, least, floor)
        }
        created => created,
    }
}

fn create_wal_of(
    core: &Core,
    writer: &mut Writer,
    length: u64,
    floor: u64,
) -> Result<(Wal, WalEntry)> {
    writer.has_logged = true;
    let (number, salt) = (writer.next_number(), (core.options.random)());
    let entry = WalEntry { number, salt, length };
    let identity = core.wal_identity(entry, floor);
    let spare = writer.spare.take().map(|spare| core.names.numbered(spare, Ending::Free));
    let path = core.names.numbered(number, Ending::Wal);
    let wal = Wal::create(&*core.storage, &path, spare.as_deref(), &identity)?;
    Ok((wal, entry))
}

/// Commits a draft that changes the WAL. The old WAL becomes the spare, or is deleted.
pub(crate) fn commit_with_wal(
    core: &Core,
    writer: &mut Writer,
    draft: Draft,
    wal: Option<Wal>,
) -> Result<()> {
    let old_number = writer.catalog.row().wal.map(|entry| entry.number);
    let segments = writer.catalog.row().segments.clone();
    if let Err(error) = draft.commit(core, writer) {
        if error.kind() == ErrorKind::Io
            && let Some(wal) = &wal
        {
            // The new WAL is empty and certainly not listed. If it cannot be deleted, the next
            // open sweeps it.
            let _ = core.storage.remove(wal.path());
        }
        return Err(error);
    }
    let came = policy::idle_bytes(&segments, &writer.catalog.row().segments);
    writer.idle_bytes = writer.idle_bytes.saturating_add(came);
    let old = std::mem::replace(&mut writer.wal, wal);
    let file = writer.wal.as_ref().map(|wal| Arc::clone(wal.file()));
    let mark = writer.mark(RECORDS_BEGIN);
    core.group.restart(file, mark);
    core.view.show(mark);
    drop(old);
    if let Some(number) = old_number {
        retire_wal(core, writer, number);
    }
    Ok(())
}

/// Turns a WAL that is no longer listed into the spare, or deletes it. If that fails, the file
/// is an orphan whose number is below the next file number: the next open sweeps it.
fn retire_wal(core: &Core, writer: &mut Writer, number: u64) {
    let path = core.names.numbered(number, Ending::Wal);
    let free = |number| core.names.numbered(number, Ending::Free);
    // Whether the file is a spare from the time when the index was tiny, and so too short as a
    // reserve for the grown index.
    let is_short = |path: &Path| {
        let bytes = core.storage.bytes_of(path);
        bytes.is_ok_and(|bytes| bytes < core.options.wal_bytes_min)
    };
    if writer.spare.is_some_and(|spare| !is_short(&free(spare))) {
        let _ = core.storage.remove(&path);
    } else if core.storage.rename_new(&path, &free(number)).is_ok()
        && let Some(short) = writer.spare.replace(number)
    {
        let _ = core.storage.remove(&free(short));
    }
}

#[cfg(test)]
mod tests {
    use crate::index::state::options::{Durability, Maintenance};
    use crate::{Batch, Index, Options, Params, Sketcher};

    /// Writes batches of documents to a new index. Returns for each of its logs: the length, the
    /// bytes used at its end, and the bytes of its last record.
    fn logs(options: Options, batches: u32, documents: u32) -> Vec<(u64, u64, u64)> {
        let options = Options {
            durability: Durability::OsBuffer,
            maintenance: Maintenance::Inline,
            wal_bytes_min: 8 << 10,
            ..options
        };
        let folder = tempfile::tempdir().unwrap();
        let params = Params::for_threshold(0.7).build().unwrap();
        let index = Index::create(folder.path().join("an index"), &params, options).unwrap();
        let signature = Sketcher::new(&params).text("a text").unwrap();
        let mut logs: Vec<(u64, u64, u64)> = Vec::new();
        let mut last = None;
        for batch in 0..batches {
            let keys = batch * documents..(batch + 1) * documents;
            let add = |batch: Batch, key: u32| batch.insert(key.to_le_bytes(), &signature);
            index.write(keys.fold(Batch::new(), add)).unwrap();
            let writer = index.core().writer();
            let wal = writer.wal.as_ref().unwrap();
            if last.replace(wal.path().to_path_buf()) != Some(wal.path().to_path_buf()) {
                logs.push((0, 0, 0));
            }
            let log = logs.last_mut().unwrap();
            *log = (wal.length(), wal.end(), wal.end() - log.1);
        }
        index.close().unwrap();
        logs
    }

    #[test]
    fn a_log_that_is_full_is_followed_by_one_four_times_as_long() {
        let logs = logs(Options { wal_bytes_max: 64 << 10, ..Options::default() }, 600, 1);
        let mut lengths: Vec<u64> = logs.iter().map(|log| log.0).collect();
        lengths.dedup();
        assert_eq!(lengths, [8 << 10, 32 << 10, 64 << 10]);
    }

    #[test]
    fn no_log_is_much_longer_than_a_full_memtable_uses() {
        for memtable_bytes_max in [250_000, 400_000, 700_000] {
            let options =
                Options { memtable_bytes_max, wal_bytes_max: 1 << 20, ..Options::default() };
            let logs = logs(options, 10_000, 1);
            assert!(logs.len() > 5, "{logs:?}");
            let length = logs.last().unwrap().0;
            // Every log but the last was used until a flush was due.
            let settled = logs.iter().rev().skip(1).take_while(|log| log.0 == length);
            let used: Vec<u64> = settled.map(|log| log.1).collect();
            assert!(used.len() > 1, "{logs:?}");
            assert!(used.iter().all(|used| length * 11 / 20 < *used), "{logs:?}");
            assert!(used.iter().all(|used| *used < length * 7 / 8 - 1_000), "{logs:?}");
        }
    }

    #[test]
    fn large_batches_do_not_fill_the_log_before_the_memtable() {
        for documents in [100, 300, 500, 700, 900] {
            let options = Options {
                memtable_bytes_max: 400_000,
                wal_bytes_max: 1 << 20,
                ..Options::default()
            };
            let logs = logs(options, 30_000 / documents, documents);
            let mut settled = logs[..logs.len() - 1].iter().skip(4);
            assert!(settled.len() > 3, "{logs:?}");
            // One more record would have fitted, so the memtable was full and not the log.
            let fitted = |log: &(u64, u64, u64)| log.1 + log.2 <= log.0 * 7 / 8;
            assert!(settled.all(fitted), "{documents} at once: {logs:?}");
        }
    }
}
