//! Creating and opening: lock, catalog, segments, WAL, and deletion of unlisted files.
//!
//! Nothing is written before everything was read and checked. Replayed changes are made durable
//! (flushed) before anything depends on them.

mod litter;

use crate::index::merge::compaction;
use crate::index::merge::draft::{open_dead, open_live};
use crate::index::merge::flush::{self, NextWal};
use crate::index::merge::parameters::{shape_of, write_parameters};
use crate::index::state::core::{Core, Writer};
use crate::index::state::event::{Event, Events};
use crate::index::state::group::Group;
use crate::index::state::options::Options;
use crate::index::state::recovery::Recovery;
use crate::index::state::versions::{HeldDead, LiveSegment, State};
use crate::index::state::view::View;
use crate::index::state::wakeup::Wakeup;
use crate::index::write::operation::Operation;
use crate::index::write::plan::{key_hashes, plan};
use crate::index::write::write_path;
use litter::Litter;
use nearkin_sketch::engine::validate;

use super::folder::{exists, is_sharded, refuse_existing, take_lock};
use super::life::first_log_bytes;
use crate::catalog::{self, Catalog};
use crate::format::catalog::{Listed, Row, SegmentEntry};
use crate::format::wal::RecordBuilder;
use crate::memtable::Memtable;
use crate::segment::{ReadMode, not_mapped};
use crate::storage::lock::{LockPlace, ReleaseOnDrop};
use crate::storage::names::{Ending, Names};
use crate::storage::{Guarded, Storage, create_dirs};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Mutex};
use crate::wal::{LogReader, Records};
use crate::{Error, ErrorKind, OrIo, Params, Result};
use std::io;
use std::path::Path;

/// Returns an error if files in the folder prove that the catalog is an older copy.
pub(crate) fn refuse_older(storage: &dyn Storage, names: &Names, row: &Row) -> Result<()> {
    Litter::find(storage, names, row).map(|_| ())
}

/// Creates an empty index durably, and opens it.
pub(crate) fn create(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    params: &Params,
    options: Options,
) -> Result<Core> {
    options.validate()?;
    validate(params)?;
    if dir.as_os_str().is_empty() {
        return Err(Error::invalid("the path of the index is empty; name a folder"));
    }
    let names = Names::new(dir);
    // Checked before anything is created, so that a folder with other content stays unchanged.
    refuse_existing(&**storage, dir, None)?;
    let storage = make_folders(storage, &names)?;
    let wait = options.lock_wait.unwrap_or_default();
    let place =
        LockPlace::holding(take_lock(&*storage, &names, wait, &|waited| options.gives_up(waited))?);
    let storage: Arc<dyn Storage> = Arc::new(Guarded::by(&place, storage));
    refuse_existing(&*storage, dir, place.held().as_deref())?;
    let row = row_of_new(params, &options);
    write_parameters(&*storage, &names, &row)?;
    // Checked before the index exists. Otherwise its log would take documents, but no flush could
    // succeed.
    check_map(&*storage, &names, &options)?;
    catalog::create(&*storage, &names.catalog(), &row)?;
    open_locked(storage, names, &place, options)
}

/// The row of an index without documents, with a new identity.
pub(crate) fn row_of_new(params: &Params, options: &Options) -> Row {
    let mut uuid = [0; 16];
    let (first, second) = uuid.split_at_mut(8);
    first.copy_from_slice(&(options.random)().to_le_bytes());
    second.copy_from_slice(&(options.random)().to_le_bytes());
    Row::new(uuid, params.clone(), nearkin_sketch::engine::unicode_versions())
}

/// Opens an existing index.
pub(crate) fn open(storage: &Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Core> {
    options.validate()?;
    if !exists(&**storage, dir)? {
        return Err(missing(dir));
    }
    let names = Names::new(dir);
    if is_sharded(&**storage, &names)? {
        return Err(not_to_be_written(dir));
    }
    let storage = hold(storage, dir)?;
    let wait = options.lock_wait.unwrap_or_default();
    let place =
        LockPlace::holding(take_lock(&*storage, &names, wait, &|waited| options.gives_up(waited))?);
    let storage: Arc<dyn Storage> = Arc::new(Guarded::by(&place, storage));
    check_map(&*storage, &names, &options)?;
    open_locked(storage, names, &place, options)
}

/// The error of opening a sharded index for writing.
pub(crate) fn not_to_be_written(dir: &Path) -> Error {
    let what = "a sharded index cannot be opened for writing; read it, import it into a plain \
                index, or write it with Shards";
    Error::about(ErrorKind::Invalid, dir, what)
}

/// Opens an index, and creates it first if there is none. `Mismatch` if it has other parameters.
pub(crate) fn open_or_create(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    params: &Params,
    options: Options,
) -> Result<Core> {
    let is = |opened: &Result<Core>, kind| opened.as_ref().is_err_and(|e| e.kind() == kind);
    let mut opened = open(storage, dir, options.clone());
    if is(&opened, ErrorKind::NotFound) {
        let created = create(storage, dir, params, options.clone());
        if !is(&created, ErrorKind::Exists) {
            return created;
        }
        // Another caller has created the index since the check.
        opened = open(storage, dir, options);
    }
    let core = opened?;
    refuse_others(&core, params)?;
    Ok(core)
}

/// Returns an error if an index that was opened has other parameters than these.
pub(crate) fn refuse_others(core: &Core, params: &Params) -> Result<()> {
    let differences = core.params.differences(params);
    if differences.is_empty() {
        return Ok(());
    }
    core.events.deliver();
    let what = format!("the index has other parameters: {}", differences.join("; "));
    Err(Error::about(ErrorKind::Mismatch, core.names.root(), what))
}

/// Returns an error if the index is to be mapped but its file system does not support maps.
pub(crate) fn check_map(storage: &dyn Storage, names: &Names, options: &Options) -> Result<()> {
    if options.read_mode != ReadMode::Mmap {
        return Ok(());
    }
    let path = names.parameters();
    match storage.check_map(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(not_mapped(&path, error)),
        // Without this file nothing is known; then opening a segment reports the error.
        _ => Ok(()),
    }
}

/// Creates the folders of an index, and binds the storage to its root folder, whose name is durable
/// from then on. The names of the other folders become durable with that of the catalog.
pub(crate) fn make_folders(storage: &Arc<dyn Storage>, names: &Names) -> Result<Arc<dyn Storage>> {
    let failed = |folder: &Path, error| crate::io_error("create", folder, error);
    create_dirs(&**storage, names.root()).map_err(|error| failed(names.root(), error))?;
    let storage = hold(storage, names.root())?;
    for folder in [names.wal_dir(), names.segments_dir()] {
        match storage.create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&folder, error));
            }
            _ => {}
        }
    }
    Ok(storage)
}

/// Binds the storage to the folder that has this path now.
pub(crate) fn hold(storage: &Arc<dyn Storage>, dir: &Path) -> Result<Arc<dyn Storage>> {
    storage.hold(dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(dir),
        _ => crate::io_error("open", dir, error),
    })
}

pub(crate) fn missing(dir: &Path) -> Error {
    Error::about(ErrorKind::NotFound, dir, "no index here; create one first")
}

/// Opens for writing. Makes the replayed changes durable before anything depends on them, and
/// deletes unlisted files.
fn open_locked(
    storage: Arc<dyn Storage>,
    names: Names,
    place: &Arc<LockPlace>,
    options: Options,
) -> Result<Core> {
    let (mut core, litter) = load(storage, names, place, options)?;
    // Everything that the catalog lists was read and is intact, so a missing folder held nothing
    // important.
    for folder in &litter.folders_missing {
        create_dirs(&*core.storage, folder).or_io("create", folder)?;
    }
    // Unlisted files are deleted before the flush, because the flush needs space.
    core.recovery.files_swept = litter.sweep(&*core.storage)?;
    flush_replayed(&core, &mut core.writer())?;
    let Recovery { changes_replayed: changes, bytes_cut, files_swept, .. } = core.recovery;
    if changes + bytes_cut + files_swept > 0 {
        core.events.note(|| Event::Recovered { changes, bytes_cut, files_swept });
    }
    Ok(core)
}

/// Reads and checks everything. Writes nothing.
fn load(
    storage: Arc<dyn Storage>,
    names: Names,
    place: &Arc<LockPlace>,
    options: Options,
) -> Result<(Core, Litter)> {
    let read_before = storage.counters().bytes_read;
    let row = catalog::load(&*storage, &names.catalog())?;
    let litter = Litter::find(&*storage, &names, &row)?;
    let mut core = assemble(storage, names, place, options, row);
    core.released = ReleaseOnDrop(Some(Arc::clone(place)));
    {
        let mut writer = core.writer();
        writer.file_next = writer.file_next.max(litter.number_next);
        writer.spare = litter.spare;
    }
    open_segments(&core, &[])?;
    replay(&mut core)?;
    core.recovery.bytes_read = core.storage.counters().bytes_read - read_before;
    Ok((core, litter))
}

/// An index as described by its catalog, without open files.
pub(crate) fn assemble(
    storage: Arc<dyn Storage>,
    names: Names,
    place: &Arc<LockPlace>,
    options: Options,
    row: Row,
) -> Core {
    let params = Arc::new(row.params.clone());
    let shape = shape_of(&params, row.uuid);
    let memtable = (params.signature_bytes(), params.bands(), (options.random)());
    let memtable = Arc::new(Memtable::new(memtable.0, memtable.1, memtable.2, 0));
    let documents = row.segments.iter().map(|entry| u64::from(entry.docs - entry.dead)).sum();
    let state = State::new(Arc::clone(&params), Vec::new(), memtable);
    let view = View::new(state, row.floor, documents);
    let writer = Writer {
        wal: None,
        spare: None,
        change: row.floor,
        documents,
        file_next: row.file_next,
        has_logged: false,
        wal_bytes: first_log_bytes(&row, &options),
        merging: Vec::new(),
        // Nothing was added and nothing died through this handle yet, so idle merging may not
        // rewrite anything.
        idle_bytes: 0,
        record: RecordBuilder::default(),
        catalog: Catalog::new(Arc::clone(&storage), names.catalog(), row),
    };
    let events = Arc::new(Events::to(options.on_event.clone()));
    Core {
        names,
        storage,
        options,
        params,
        shape,
        recovery: Recovery::default(),
        view,
        writer: Mutex::new(writer),
        group: Group::telling(&events),
        events,
        compaction: Mutex::new(None),
        reporting: Mutex::new(None),
        filter: Mutex::default(),
        expiry: Mutex::default(),
        wakeup: Wakeup::default(),
        lock: Arc::clone(place),
        released: ReleaseOnDrop::default(),
        sharing: None,
        shut_down: AtomicBool::new(false),
        process: std::process::id(),
        is_sharded: false,
    }
}

/// Opens the files that the catalog lists. Segments that are open already are reused.
pub(crate) fn open_segments(core: &Core, known: &[Arc<LiveSegment>]) -> Result<()> {
    let entries = core.writer().catalog.row().segments.clone();
    let segments =
        entries.iter().map(|entry| match known.iter().find(|live| live.number() == entry.number) {
            Some(live) if live.entry == *entry => Ok(Arc::clone(live)),
            Some(live) => with_dead_file(core, live, entry).map(Arc::new),
            None => open_segment(core, entry).map(Arc::new),
        });
    let segments = segments.collect::<Result<Vec<_>>>()?;
    let (params, memtable) = (Arc::clone(&core.params), Arc::clone(&core.state().memtable));
    core.view.replace(State::new(params, segments, memtable));
    Ok(())
}

pub(crate) fn open_segment(core: &Core, entry: &SegmentEntry) -> Result<LiveSegment> {
    let file = core.hold_file(core.names.numbered(entry.number, Ending::Segment));
    let live = open_live(core, file, entry)?;
    if live.segment.docs() != entry.docs {
        let what = "the number of documents of the segment differs from the catalog";
        return Err(Error::corrupt(&live.file.path, entry.length, what));
    }
    with_dead_file(core, &live, entry)
}

/// Opens the dead file that the catalog lists for a segment, and returns the segment with it.
fn with_dead_file(core: &Core, live: &LiveSegment, entry: &SegmentEntry) -> Result<LiveSegment> {
    let dead_file = entry.dead_file.as_ref();
    let dead = dead_file.map(|listed| open_dead_file(core, entry, listed)).transpose()?;
    Ok(LiveSegment { dead, entry: *entry, ..live.clone() })
}

fn open_dead_file(core: &Core, entry: &SegmentEntry, dead_file: &Listed) -> Result<HeldDead> {
    let file = core.hold_file(core.names.numbered(dead_file.number, Ending::Dead));
    let held = open_dead(core, file, dead_file, entry)?;
    if held.dead.count() != entry.dead {
        let what = "the number of dead documents in the file differs from the catalog";
        return Err(Error::corrupt(&held.file.path, dead_file.length, what));
    }
    Ok(held)
}

/// Replays the WAL into the memtable.
fn replay(core: &mut Core) -> Result<()> {
    let Some(entry) = core.writer().catalog.row().wal else {
        restart_group(core, &core.writer());
        return Ok(());
    };
    let floor = core.writer().change;
    let identity = core.wal_identity(entry, floor);
    let path = core.names.numbered(entry.number, Ending::Wal);
    let replay = LogReader::replay(&*core.storage, &path, &identity, core.shape.signature_bytes)?;
    core.state().memtable.expect(replay.documents_max(core.shape.signature_bytes));
    let mut writer = core.writer();
    replay_records(core, &mut writer, &replay, &path)?;
    writer.wal_bytes = entry
        .length
        .clamp(writer.wal_bytes, core.options.wal_bytes_max.max(core.options.wal_bytes_min));
    drop(writer);
    core.recovery.changes_replayed = replay.change_count();
    core.recovery.bytes_cut = replay.bytes_cut;
    Ok(())
}

/// Flushes the replayed changes. They came from the page cache, so they must be made durable
/// before anything depends on them. A flush also ends the old log: nothing is appended to a log
/// after a recovery.
fn flush_replayed(core: &Core, writer: &mut Writer) -> Result<()> {
    if writer.catalog.row().wal.is_none() {
        return Ok(());
    }
    flush::flush_locked(core, writer, NextWal::None)
}

/// Sweeps and flushes after the end of a process that wrote, once all that counts of its log was
/// replayed.
pub(crate) fn recover(core: &Core, writer: &mut Writer, bytes_cut: u64) -> Result<()> {
    let litter = look(core, writer)?;
    let changes = writer.change - writer.catalog.row().floor;
    let files_swept = litter.sweep(&*core.storage)?;
    flush_replayed(core, writer)?;
    core.events.note(|| Event::Recovered { changes, bytes_cut, files_swept });
    Ok(())
}

/// Looks for files that the catalog does not list, and creates folders that are missing.
fn look(core: &Core, writer: &mut Writer) -> Result<Litter> {
    let litter = Litter::find(&*core.storage, &core.names, writer.catalog.row())?;
    writer.file_next = writer.file_next.max(litter.number_next);
    writer.spare = litter.spare;
    for folder in &litter.folders_missing {
        create_dirs(&*core.storage, folder).or_io("create", folder)?;
    }
    Ok(litter)
}

/// Finds the spare log, the next file number, and files that other processes have left. Deletes
/// these, unless a compaction is running, whose output is not listed yet.
pub(crate) fn look_for_spare(core: &Core, writer: &mut Writer) -> Result<()> {
    let litter = look(core, writer)?;
    if !litter.is_empty()
        && let Some(_claim) = compaction::claim(core)?
    {
        litter.sweep(&*core.storage)?;
    }
    Ok(())
}

/// Applies the changes that were read from the log at `path`, and makes them visible.
pub(crate) fn replay_records(
    core: &Core,
    writer: &mut Writer,
    records: &Records,
    path: &Path,
) -> Result<()> {
    for (change, operations) in records.changes(core.shape.signature_bytes) {
        let operations = operations.map(|logged| logged.map(Operation::from));
        let operations: std::result::Result<Vec<_>, _> = operations.collect();
        let operations = operations.map_err(|error| error.in_file(path, 0))?;
        let before = core.applied(writer);
        let key_hashes = key_hashes(&core.params, &operations);
        let plan = plan(&before, &operations, &key_hashes)?;
        write_path::apply(core, &before, change, &plan);
        writer.change = change;
        writer.documents = plan.documents_after(writer.documents);
    }
    restart_group(core, writer);
    Ok(())
}

/// Makes all that was applied visible. The handle has no log that it could sync for these changes:
/// a flush makes them durable.
pub(crate) fn restart_group(core: &Core, writer: &Writer) {
    core.group.restart(None, writer.mark(0));
    core.view.show(writer.mark(0));
}
