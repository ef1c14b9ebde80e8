//! Inspecting the whole index: statistics, and the full verification of everything on disk.

use crate::format::bytes::{index, wide};
use crate::index::files::folder::list_if_any;
use crate::index::files::{follow, sharded};
use crate::index::merge::commit;
use crate::index::merge::parameters;
use crate::index::read::locate::locate_all;
use crate::index::read::{Progress, ProgressReport, Stats, Verification};
use crate::index::state::core::Core;
use crate::index::state::versions::{Place, Snapshot};
use crate::segment::Watch;
use crate::storage::names::Ending;
use crate::sync::PoisonError;
use crate::wal::LogReader;
use crate::{Error, ErrorKind, Result, catalog};
use nearkin_sketch::engine::key_hash;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Number of keys that are looked up together.
const KEYS_TOGETHER: u32 = small!(inspect::KEYS_TOGETHER, 1024);

/// See [`crate::Index::stats`].
pub(crate) fn stats(core: &Core) -> Result<Stats> {
    let snapshot = core.snapshot();
    let pinned = wide(core.view.pinned());
    let (floor, unicode_created) = {
        let writer = core.writer();
        let row = writer.catalog.row();
        (row.floor, row.unicode.clone())
    };
    let mut bytes_on_disk = 0;
    for folder in [core.names.root().to_path_buf(), core.names.wal_dir(), core.names.segments_dir()]
    {
        bytes_on_disk += bytes_of_files(core, &folder)?;
    }
    let counters = core.storage.counters();
    // Each read lock is released before the next: nested read locks of the memtable deadlock
    // with a queued writer.
    let memtable = &snapshot.state.memtable;
    let memtable_documents = u64::from(memtable.read().document_count());
    let memtable_bytes = wide(memtable.bytes());
    let filter = core.filter.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    let own_bytes = memtable_bytes + filter.map_or(0, |filter| wide(filter.bytes()));
    let segments = &snapshot.state.segments;
    let mapped_bytes = segments.iter().map(|live| live.segment.mapped_bytes()).sum();
    Ok(Stats {
        documents: snapshot.len(),
        dead: snapshot.place_count().saturating_sub(snapshot.len()),
        segments: crate::format::bytes::wide(snapshot.state.segments.len()),
        memtable_documents,
        memtable_bytes,
        own_bytes,
        mapped_bytes,
        bytes_on_disk,
        change: snapshot.change(),
        durable_change: core.group.durable_change(),
        floor,
        bytes_read: counters.bytes_read,
        bytes_written: counters.bytes_written,
        syncs: counters.syncs,
        snapshots_pinning: pinned,
        unicode_created,
        unicode: nearkin_sketch::engine::unicode_versions(),
        recovery: core.recovery,
        maintenance_failure: last_maintenance_error(core),
    })
}

/// See [`crate::Index::last_maintenance_error`].
pub(crate) fn last_maintenance_error(core: &Core) -> Option<String> {
    core.wakeup.failure().or_else(|| core.events.panic())
}

fn bytes_of_files(core: &Core, folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    // There is no folder if the index was deleted while this handle was open.
    let entries = list_if_any(&*core.storage, folder)?.unwrap_or_default();
    for entry in entries.iter().filter(|entry| !entry.is_dir) {
        match core.storage.bytes_of(&folder.join(&entry.name)) {
            Ok(length) => bytes += length,
            // Deleted since the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(crate::io_error("read", folder, error)),
        }
    }
    Ok(bytes)
}

/// See [`crate::Index::verify_with`].
pub(crate) fn verify(core: &Core, report: ProgressReport<'_>) -> Result<Verification> {
    let snapshot = core.snapshot();
    let mut problems = Vec::new();
    let keys = snapshot.place_count();
    // A segment is read twice: for its checksums, and then for its content. A key counts as 64
    // bytes. `total` is approximate, so `advance` limits `done` to it.
    let files = snapshot
        .state
        .segments
        .iter()
        .map(|live| 2 * live.entry.length + live.entry.dead_file.map_or(0, |dead| dead.length));
    let mut progress = Progress { done: 0, total: files.sum::<u64>() + keys * 64 };
    for live in &snapshot.state.segments {
        let mut watch = Watch {
            problem: &mut |error| problems.push(error),
            progress: &mut |bytes| advance(&mut progress, bytes, report),
        };
        let dead = live.dead.as_ref().map(|held| &*held.dead);
        live.segment.verify(dead, &mut watch)?;
    }
    if problems.is_empty() {
        verify_keys(&snapshot, &mut problems, &mut progress, report)?;
    }
    problems.extend(parameters::check_parameters(core).err());
    if core.lock().is_some() {
        verify_catalog_and_wal(core, &mut problems);
    } else if core.is_sharded {
        sharded::verify_manifest(core, &mut problems)?;
    } else {
        // Last, because it returns an error if the folder no longer holds this index.
        follow::verify_beside(core, &mut problems)?;
    }
    // Files that are missing because of a shutdown are not damage.
    commit::refuse_if_shut_down(core)?;
    Ok(Verification { documents: snapshot.len(), problems })
}

/// Checks that each key has only one live document, and that the number of live documents
/// equals the count that the snapshot carries.
fn verify_keys(
    snapshot: &Snapshot,
    problems: &mut Vec<Error>,
    progress: &mut Progress,
    report: ProgressReport<'_>,
) -> Result<()> {
    let mut live_count = 0;
    let seed = snapshot.params().seed();
    for source in 0..=snapshot.state.segments.len() {
        let count = snapshot.document_count(source);
        for first in (0..count).step_by(index(KEYS_TOGETHER)) {
            let (mut places, mut keys) = (Vec::new(), Vec::new());
            for ordinal in first..count.min(first.saturating_add(KEYS_TOGETHER)) {
                let place = Place { source, ordinal };
                if snapshot.is_live(place)? {
                    places.push(place);
                    keys.push(snapshot.key(place)?);
                }
            }
            live_count += wide(keys.len());
            let hashes: Vec<u64> = keys.iter().map(|key| key_hash(key, seed)).collect();
            let all = (0..keys.len()).collect();
            let found = locate_all(snapshot, |at| &keys[at], &hashes, all)?;
            for ((key, place), found) in keys.iter().zip(places).zip(found) {
                if found != Some(place) {
                    let key = String::from_utf8_lossy(key).into_owned();
                    let what = format!("the key {key:?} is live twice, or missing in its table");
                    problems.push(Error::new(ErrorKind::Corrupt, what));
                }
            }
            if advance(progress, 64 * u64::from(KEYS_TOGETHER), report).is_break() {
                return Err(Error::new(ErrorKind::Cancelled, "verification was cancelled"));
            }
        }
    }
    if live_count != snapshot.len() {
        problems.push(Error::new(
            ErrorKind::Corrupt,
            format!("{live_count} documents are live, but the count is {}", snapshot.len()),
        ));
    }
    Ok(())
}

/// Checks that the catalog on disk agrees with this handle, and that the WAL replays.
fn verify_catalog_and_wal(core: &Core, problems: &mut Vec<Error>) {
    // Under the write lock, so that neither the catalog nor the WAL changes meanwhile.
    let writer = core.writer();
    match catalog::load(&*core.storage, &core.names.catalog()) {
        Ok(row) if row == *writer.catalog.row() => {}
        Ok(_) => {
            let what = "the file on disk differs from the catalog in memory";
            problems.push(Error::about(ErrorKind::Corrupt, &core.names.catalog(), what));
        }
        Err(error) => problems.push(error),
    }
    let row = writer.catalog.row();
    let Some(entry) = row.wal else { return };
    let identity = core.wal_identity(entry, row.floor);
    let path = core.names.numbered(entry.number, Ending::Wal);
    match LogReader::replay(&*core.storage, &path, &identity, core.shape.signature_bytes) {
        Ok(replay) if row.floor + replay.change_count() == writer.change => {}
        Ok(replay) => {
            let (found, expected) = (replay.change_count(), writer.change - row.floor);
            problems.push(Error::corrupt(
                &path,
                0,
                format_args!("the log holds {found} changes, but {expected} were written"),
            ));
        }
        Err(error) => problems.push(error),
    }
}

fn advance(progress: &mut Progress, bytes: u64, report: ProgressReport<'_>) -> ControlFlow<()> {
    progress.done = progress.total.min(progress.done + bytes);
    report(*progress)
}
