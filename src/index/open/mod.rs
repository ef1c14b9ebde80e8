//! Creating and opening: lock, catalog, segments, WAL, and deletion of unlisted files.
//!
//! Nothing is written before everything was read and checked. Replayed changes are made durable
//! (flushed) before anything depends on them.

mod folder;
mod litter;

pub(crate) use folder::{exists, is_locked, refuse_existing, take_lock};
use litter::{Litter, list_if_any};

use crate::catalog::{self, Catalog};
use crate::format::catalog::{DeadEntry, Row, SegmentEntry};
use crate::format::wal::{LoggedOperation, RecordBuilder};
use crate::index::batch::Operation;
use crate::index::core::{Core, Writer};
use crate::index::event::{Event, Events};
use crate::index::group::{Group, Mark};
use crate::index::life::first_log_bytes;
use crate::index::merge::draft::open_dead;
use crate::index::merge::flush::NextWal;
use crate::index::options::Options;
use crate::index::parameters::{shape_of, write_parameters};
use crate::index::plan::{key_hashes, plan};
use crate::index::read::Recovery;
use crate::index::sharded::is_sharded;
use crate::index::state::{HeldDead, LiveSegment, Snapshot, State};
use crate::index::view::View;
use crate::index::wakeup::Wakeup;
use crate::memtable::Memtable;
use crate::segment::{Listed, Segment};
use crate::storage::lock::Lock;
use crate::storage::names::{Ending, Names};
use crate::storage::{Guarded, Storage, create_dirs};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Arc, Mutex};
use crate::wal::LogReader;
use crate::{Error, ErrorKind, Params, Result};
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
    params.validate()?;
    if dir.as_os_str().is_empty() {
        return Err(Error::invalid("the path of the index is empty; name a folder"));
    }
    let names = Names::new(dir);
    // Checked before anything is created, so that a folder with other content stays unchanged.
    refuse_existing(&**storage, dir, None)?;
    let storage = make_folders(storage, &names)?;
    let lock = Arc::new(take_lock(&*storage, &names)?);
    let storage: Arc<dyn Storage> = Arc::new(Guarded::by(&lock, storage));
    refuse_existing(&*storage, dir, Some(&lock))?;
    let row = row_of_new(params, &options);
    write_parameters(&*storage, &names, &row)?;
    catalog::create(&*storage, &names.catalog(), &row)?;
    open_locked(storage, names, lock, options)
}

/// The row of an index without documents, with a new identity.
pub(crate) fn row_of_new(params: &Params, options: &Options) -> Row {
    let mut uuid = [0; 16];
    let (first, second) = uuid.split_at_mut(8);
    first.copy_from_slice(&(options.random)().to_le_bytes());
    second.copy_from_slice(&(options.random)().to_le_bytes());
    Row {
        uuid,
        params: params.clone(),
        unicode: crate::sketch::unicode_versions(),
        floor: 0,
        wal: None,
        file_next: 1,
        segments: Vec::new(),
    }
}

/// Opens an existing index.
pub(crate) fn open(storage: &Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Core> {
    options.validate()?;
    if !exists(&**storage, dir)? {
        return Err(missing(dir));
    }
    let names = Names::new(dir);
    if is_sharded(&**storage, &names)? {
        return Err(Error::invalid(format!(
            "{}: a sharded index cannot be opened for writing; read it, import it into a plain \
             index, or write it with Shards",
            dir.display()
        )));
    }
    let storage = hold(storage, dir)?;
    let lock = Arc::new(take_lock(&*storage, &names)?);
    let storage: Arc<dyn Storage> = Arc::new(Guarded::by(&lock, storage));
    open_locked(storage, names, lock, options)
}

/// Creates the folders of an index, and binds the storage to its root folder, whose name is durable
/// from then on. The names of the other folders become durable with that of the catalog.
pub(crate) fn make_folders(storage: &Arc<dyn Storage>, names: &Names) -> Result<Arc<dyn Storage>> {
    let failed = |folder: &Path, error| Error::io("create", folder, error);
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
    planted!(FolderNotHeld => return Ok(Arc::clone(storage)));
    storage.hold(dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(dir),
        _ => Error::io("open", dir, error),
    })
}

pub(crate) fn missing(dir: &Path) -> Error {
    let message = format!("{}: no index here; create one first", dir.display());
    Error::new(ErrorKind::NotFound, message)
}

/// Opens for writing. Makes the replayed changes durable before anything depends on them, and
/// deletes unlisted files.
fn open_locked(
    storage: Arc<dyn Storage>,
    names: Names,
    lock: Arc<Lock>,
    options: Options,
) -> Result<Core> {
    let (mut core, litter) = load(storage, names, lock, options)?;
    // Everything that the catalog lists was read and is intact, so a missing folder held nothing
    // important.
    for folder in &litter.folders_missing {
        create_dirs(&*core.storage, folder).map_err(|error| Error::io("create", folder, error))?;
    }
    // Unlisted files are deleted before the flush, because the flush needs space.
    core.recovery.files_swept = litter.sweep(&*core.storage)?;
    core.flush_replayed()?;
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
    lock: Arc<Lock>,
    options: Options,
) -> Result<(Core, Litter)> {
    let read_before = storage.counters().bytes_read;
    let row = catalog::load(&*storage, &names.catalog())?;
    let litter = Litter::find(&*storage, &names, &row)?;
    let mut core = assemble(storage, names, Some(lock), options, row);
    {
        let mut writer = core.writer();
        writer.file_next = writer.file_next.max(litter.number_next);
        writer.spare = litter.spare;
    }
    core.open_segments(&[])?;
    core.replay()?;
    core.recovery.bytes_read = core.storage.counters().bytes_read - read_before;
    Ok((core, litter))
}

/// An index as described by its catalog, without open files.
pub(crate) fn assemble(
    storage: Arc<dyn Storage>,
    names: Names,
    lock: Option<Arc<Lock>>,
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
        expiry: Mutex::default(),
        wakeup: Wakeup::default(),
        lock: Mutex::new(lock),
        shut_down: AtomicBool::new(false),
        process: std::process::id(),
        is_sharded: false,
    }
}

impl Core {
    /// Opens the files that the catalog lists. Segments that are open already are reused.
    pub(crate) fn open_segments(&self, known: &[Arc<LiveSegment>]) -> Result<()> {
        let entries = self.writer().catalog.row().segments.clone();
        let segments = entries.iter().map(|entry| {
            match known.iter().find(|live| live.number() == entry.number) {
                Some(live) if live.entry == *entry => Ok(Arc::clone(live)),
                Some(live) => self.with_dead_file(live, entry).map(Arc::new),
                None => self.open_segment(entry).map(Arc::new),
            }
        });
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let (params, memtable) = (Arc::clone(&self.params), Arc::clone(&self.state().memtable));
        self.view.replace(State::new(params, segments, memtable));
        Ok(())
    }

    /// Starts read-ahead of the directories of the `wanted` segments: every query reads them first.
    pub(crate) fn request_directories(&self, wanted: impl Fn(&LiveSegment) -> bool) {
        for live in self.state().segments.iter().filter(|live| wanted(live)) {
            live.segment.request_directories();
        }
    }

    pub(crate) fn open_segment(&self, entry: &SegmentEntry) -> Result<LiveSegment> {
        let listed =
            Listed { number: entry.number, length: entry.length, tail_hash: entry.tail_hash };
        let path = self.names.numbered(entry.number, Ending::Segment);
        let file = self.hold_file(path);
        let segment = Segment::open(
            &*self.storage,
            &file.path,
            &listed,
            &self.shape,
            self.options.read_mode,
        )?;
        if segment.docs() != entry.docs {
            let what = "the number of documents of the segment differs from the catalog";
            return Err(Error::corrupt(&file.path, entry.length, what));
        }
        let live = LiveSegment { segment: Arc::new(segment), file, dead: None, entry: *entry };
        self.with_dead_file(&live, entry)
    }

    /// Opens the dead file that the catalog lists for a segment, and returns the segment with it.
    fn with_dead_file(&self, live: &LiveSegment, entry: &SegmentEntry) -> Result<LiveSegment> {
        let dead_file = entry.dead_file.as_ref();
        let dead = dead_file.map(|listed| self.open_dead_file(entry, listed)).transpose()?;
        Ok(LiveSegment { dead, entry: *entry, ..live.clone() })
    }

    fn open_dead_file(&self, entry: &SegmentEntry, dead_file: &DeadEntry) -> Result<HeldDead> {
        let DeadEntry { number, length, tail_hash } = *dead_file;
        let path = self.names.numbered(number, Ending::Dead);
        let file = self.hold_file(path);
        let dead = open_dead(self, &file, &Listed { number, length, tail_hash }, entry)?;
        if dead.count() != entry.dead {
            let what = "the number of dead documents in the file differs from the catalog";
            return Err(Error::corrupt(&file.path, length, what));
        }
        Ok(HeldDead { dead: Arc::new(dead), file })
    }

    /// Replays the WAL into the memtable.
    fn replay(&mut self) -> Result<()> {
        let Some(entry) = self.writer().catalog.row().wal else {
            self.restart_group();
            return Ok(());
        };
        let floor = self.writer().change;
        let identity = self.wal_identity(entry, floor);
        let path = self.names.numbered(entry.number, Ending::Wal);
        let replay =
            LogReader::replay(&*self.storage, &path, &identity, self.shape.signature_bytes)?;
        self.state().memtable.expect(replay.documents_max(self.shape.signature_bytes));
        let mut writer = self.writer();
        for (change, operations) in replay.changes(self.shape.signature_bytes) {
            let operations = operations
                .collect::<std::result::Result<Vec<_>, _>>()
                .map_err(|error| error.in_file(&path, 0))?;
            self.replay_change(&mut writer, change, &operations)?;
        }
        let mark = Mark { end: 0, change: writer.change, documents: writer.documents };
        // The handle has no log that it could sync for these changes; a flush makes them durable.
        self.group.restart(None, 0, mark);
        self.view.show(mark);
        writer.wal_bytes = entry
            .length
            .clamp(writer.wal_bytes, self.options.wal_bytes_max.max(self.options.wal_bytes_min));
        planted!(AppendAfterTornTail => {
            crate::index::tests::planted::go_on_after_tail(self, &mut writer, &identity, &replay)?;
        });
        drop(writer);
        self.recovery.changes_replayed = replay.change_count();
        self.recovery.bytes_cut = replay.bytes_cut;
        Ok(())
    }

    /// Flushes the replayed changes. They came from the page cache, so they must be made durable
    /// before anything depends on them. A flush also ends the old log: nothing is appended to a log
    /// after a recovery.
    fn flush_replayed(&self) -> Result<()> {
        planted!(TailNotFlushed => return Ok(()));
        planted!(AppendAfterTornTail => return Ok(()));
        let mut writer = self.writer();
        if writer.catalog.row().wal.is_none() {
            return Ok(());
        }
        self.flush_locked(&mut writer, NextWal::None)
    }

    pub(crate) fn replay_change(
        &self,
        writer: &mut Writer,
        change: u64,
        operations: &[LoggedOperation<'_>],
    ) -> Result<()> {
        let before: Snapshot = self.applied(writer);
        let operations: Vec<Operation<'_>> = operations.iter().map(|all| (*all).into()).collect();
        let key_hashes = key_hashes(&self.params, &operations);
        let plan = plan(&before, &operations, &key_hashes)?;
        self.apply(&before, change, &plan);
        writer.change = change;
        writer.documents = plan.documents_after(writer.documents);
        Ok(())
    }

    pub(crate) fn restart_group(&self) {
        let writer = self.writer();
        let mark = Mark { end: 0, change: writer.change, documents: writer.documents };
        self.group.restart(None, 0, mark);
    }
}
