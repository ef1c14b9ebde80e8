//! Creating and opening: lock, catalog, segments, WAL, and sweeping what nobody lists.
//!
//! Nothing is written before everything was read and found whole; and what replay found is made
//! durable (flushed) before anything is built on it.

mod litter;

use litter::{Litter, list_if_any};

use crate::catalog::{self, Catalog};
use crate::format::catalog::{DeadEntry, Row, SegmentEntry};
use crate::format::header::{FileHeader, FileKind};
use crate::format::wal::{LoggedOperation, RecordBuilder};
use crate::index::core::{Alarm, Core, Writer};
use crate::index::durable::{Group, Mark};
use crate::index::merge::flush::NextWal;
use crate::index::merge::open_dead;
use crate::index::options::Options;
use crate::index::plan::{key_hashes, plan};
use crate::index::read::Recovery;
use crate::index::read::state::{HeldDead, HeldFile, LiveSegment, Snapshot, State};
use crate::index::view::View;
use crate::memtable::Memtable;
use crate::segment::{Listed, Segment, Shape};
use crate::storage::lock::Lock;
use crate::storage::names::{self, Ending, Names};
use crate::storage::{Entry, OpenMode, Storage, create_dirs, publish};
use crate::sync::{Arc, Mutex};
use crate::wal::Replay;
use crate::{Error, ErrorKind, Params, Result};
use std::io;
use std::path::{Path, PathBuf};

/// Whether there is an index: see [`crate::Index::exists`].
pub(crate) fn exists(storage: &dyn Storage, dir: &Path) -> Result<bool> {
    let names = Names::new(dir);
    let entries = match storage.list(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(Error::invalid(format!("{} is a file, not an index", dir.display())));
        }
        Err(error) => return Err(Error::io("read", dir, error)),
    };
    let is = |entry: &Entry, path: PathBuf| path.file_name().is_some_and(|n| n == &*entry.name);
    if entries.iter().any(|entry| is(entry, names.catalog())) {
        return Ok(true);
    }
    for entry in &entries {
        let ours = is(entry, names.lock())
            || is(entry, names.parameters())
            || names::is_tmp(&entry.name)
            || (entry.is_dir && is(entry, names.wal_dir()))
            || (entry.is_dir && is(entry, names.segments_dir()));
        if !ours {
            let (dir, name) = (dir.display(), &entry.name);
            return Err(Error::invalid(format!(
                "{dir} is a folder but not an index (it holds {name}); name an index or a new \
                 folder"
            )));
        }
    }
    planted!(SweepWithoutCatalog => return Ok(false));
    for folder in [names.wal_dir(), names.segments_dir()] {
        let numbered = list_if_any(storage, &folder)?.unwrap_or_default();
        if let Some(entry) = numbered.iter().find(|entry| names::parse(&entry.name).is_some()) {
            let message = format!(
                "{}: the index has lost its catalog ({} has none to list it); restore a backup or \
                 salvage",
                dir.display(),
                entry.name
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
    }
    Ok(false)
}

/// Refuses a catalog that files in the folder prove to be an older copy.
pub(crate) fn refuse_older(storage: &dyn Storage, names: &Names, row: &Row) -> Result<()> {
    Litter::find(storage, names, row).map(|_| ())
}

/// Makes an index that holds nothing, durably, and opens it.
pub(crate) fn create(
    storage: Arc<dyn Storage>,
    dir: &Path,
    params: &Params,
    options: Options,
) -> Result<Core> {
    options.validate()?;
    params.validate()?;
    let names = Names::new(dir);
    // Before anything is made: a folder that is something else stays as it is.
    refuse_existing(&*storage, dir)?;
    for folder in [names.root().to_path_buf(), names.wal_dir(), names.segments_dir()] {
        create_dirs(&*storage, &folder).map_err(|error| Error::io("create", &folder, error))?;
    }
    let lock = take_lock(&*storage, &names)?;
    refuse_existing(&*storage, dir)?;
    let mut uuid = [0; 16];
    let (first, second) = uuid.split_at_mut(8);
    first.copy_from_slice(&(options.random)().to_le_bytes());
    second.copy_from_slice(&(options.random)().to_le_bytes());
    let row = Row {
        uuid,
        params: params.clone(),
        unicode: crate::sketch::unicode_versions(),
        floor: 0,
        wal: None,
        file_next: 1,
        segments: Vec::new(),
    };
    write_parameters(&*storage, &names, &row)?;
    catalog::create(&storage, &names.catalog(), &row)?;
    open_locked(storage, names, lock, options)
}

/// Writes the parameters once more, where the loss of the catalog does not lose them.
pub(crate) fn write_parameters(storage: &dyn Storage, names: &Names, row: &Row) -> Result<()> {
    let path = names.parameters();
    let tmp = names::tmp_of(&path);
    let first = Row { floor: 0, wal: None, file_next: 1, segments: Vec::new(), ..row.clone() };
    let header = FileHeader {
        kind: FileKind::Parameters,
        uuid: row.uuid,
        number: 0,
        params_id: row.params.id(),
    };
    let bytes = [&header.encode()[..], &first.encode()].concat();
    storage
        .open(&tmp, OpenMode::Create)
        .and_then(|file| {
            file.write_at(&bytes, 0)?;
            publish(storage, &*file, &tmp, &path)
        })
        .map_err(|error| Error::io("write", &path, error))
}

fn refuse_existing(storage: &dyn Storage, dir: &Path) -> Result<()> {
    if exists(storage, dir)? {
        return Err(Error::invalid(format!("{}: there is an index already", dir.display())));
    }
    Ok(())
}

/// Opens an existing index.
pub(crate) fn open(storage: Arc<dyn Storage>, dir: &Path, options: Options) -> Result<Core> {
    options.validate()?;
    if !exists(&*storage, dir)? {
        return Err(missing(dir));
    }
    let names = Names::new(dir);
    let lock = take_lock(&*storage, &names)?;
    open_locked(storage, names, lock, options)
}

fn missing(dir: &Path) -> Error {
    let message = format!("{}: there is no index; create one first", dir.display());
    Error::new(ErrorKind::NotFound, message)
}

fn take_lock(storage: &dyn Storage, names: &Names) -> Result<Lock> {
    storage.lock(&names.lock()).map_err(|error| locked(names, error))
}

fn locked(names: &Names, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::new(
            ErrorKind::Locked,
            format!(
                "{}: the index is open elsewhere; wait for that program or close it",
                names.root().display()
            ),
        ),
        _ => Error::io("lock", &names.lock(), error),
    }
}

/// Opens for writing: what is found is made durable before anything is built on it, and what
/// nobody lists goes.
fn open_locked(
    storage: Arc<dyn Storage>,
    names: Names,
    lock: Lock,
    options: Options,
) -> Result<Core> {
    let (mut core, litter) = load(storage, names, Some(lock), options, Access::Write)?;
    // Everything was read and is whole, so a folder that is missing held nothing that matters.
    for folder in &litter.folders_missing {
        create_dirs(&*core.storage, folder).map_err(|error| Error::io("create", folder, error))?;
    }
    // Swept before the flush, because that needs space.
    core.recovery.files_swept = litter.sweep(&*core.storage)?;
    core.flush_replayed()?;
    Ok(core)
}

/// Opens for reading: writes nothing, needs no permission to write, and keeps writers out while
/// it is open. What the WAL holds is replayed in memory.
pub(crate) fn open_read_only(
    storage: Arc<dyn Storage>,
    dir: &Path,
    options: Options,
) -> Result<Core> {
    options.validate()?;
    if !exists(&*storage, dir)? {
        return Err(missing(dir));
    }
    let names = Names::new(dir);
    let lock = match storage.lock_shared(&names.lock()) {
        Ok(lock) => Some(lock),
        // A copy made without it: then nobody writes here through this crate.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(locked(&names, error)),
    };
    load(storage, names, lock, options, Access::Read).map(|(core, _)| core)
}

/// What an opening may do to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Reads everything there is to know, and checks it. Writes nothing; under `Access::Write` it
/// syncs the catalog.
fn load(
    storage: Arc<dyn Storage>,
    names: Names,
    lock: Option<Lock>,
    options: Options,
    access: Access,
) -> Result<(Core, Litter)> {
    let read_before = storage.counters().bytes_read;
    let row = catalog::load(&*storage, &names.catalog())?;
    if access == Access::Write {
        sync_catalog(&*storage, &names)?;
    }
    let litter = Litter::find(&*storage, &names, &row)?;
    let params = Arc::new(row.params.clone());
    let shape = Shape {
        signature_bytes: params.signature_bytes(),
        band_bytes: params.band_bytes(),
        bands: params.bands(),
        key_seed: params.seed(),
        uuid: row.uuid,
        params_id: params.id(),
    };
    let memtable = (params.signature_bytes(), params.bands(), (options.random)());
    let memtable = Arc::new(Memtable::new(memtable.0, memtable.1, memtable.2, 0));
    let documents = row.segments.iter().map(|entry| u64::from(entry.docs - entry.dead)).sum();
    let state = State { params: Arc::clone(&params), segments: Vec::new(), memtable };
    let view = View::new(state, row.floor, documents);
    let file_next = row.file_next.max(litter.number_next);
    let writer = Writer {
        wal: None,
        spare: litter.spare,
        change: row.floor,
        documents,
        file_next,
        wal_bytes: options.wal_bytes_min,
        merging: Vec::new(),
        record: RecordBuilder::default(),
        catalog: Catalog::new(Arc::clone(&storage), names.catalog(), row),
    };
    let mut core = Core {
        names,
        storage,
        options,
        params,
        shape,
        recovery: Recovery::default(),
        view,
        writer: Mutex::new(writer),
        group: Group::default(),
        compaction: Mutex::new(None),
        expiry: Mutex::default(),
        alarm: Alarm::default(),
        lock: lock.map(Arc::new),
    };
    core.open_segments()?;
    core.replay()?;
    core.recovery.bytes_read = core.storage.counters().bytes_read - read_before;
    Ok((core, litter))
}

/// Makes durable what the catalog says. A process that was killed in the midst of a commit may
/// have left a row that is read but would not outlast a power cut; nothing it does not list may
/// be removed before, nor anything be answered from it.
fn sync_catalog(storage: &dyn Storage, names: &Names) -> Result<()> {
    planted!(CatalogNotSyncedAtOpen => return Ok(()));
    let path = names.catalog();
    storage
        .open(&path, OpenMode::ReadWrite)
        .and_then(|file| file.sync())
        .and_then(|()| storage.sync_dir(names.root()))
        .map_err(|error| Error::io("sync", &path, error))
}

impl Core {
    /// Opens what the catalog lists.
    fn open_segments(&self) -> Result<()> {
        let entries = self.writer().catalog.row().segments.clone();
        let segments = entries.iter().map(|entry| self.open_segment(entry).map(Arc::new));
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let (params, memtable) = (Arc::clone(&self.params), Arc::clone(&self.state().memtable));
        self.view.replace(State { params, segments, memtable });
        Ok(())
    }

    fn open_segment(&self, entry: &SegmentEntry) -> Result<LiveSegment> {
        let listed =
            Listed { number: entry.number, length: entry.length, tail_hash: entry.tail_hash };
        let path = self.names.numbered(entry.number, Ending::Segment);
        let file = HeldFile::new(self, path);
        let segment = Segment::open(
            &*self.storage,
            &file.path,
            &listed,
            &self.shape,
            self.options.read_mode,
        )?;
        if segment.docs() != entry.docs {
            let what = "the segment has another number of documents than the catalog says";
            return Err(Error::corrupt(&file.path, entry.length, what));
        }
        let dead = match &entry.dead_file {
            Some(dead_file) => Some(self.open_dead_file(entry, dead_file)?),
            None => None,
        };
        Ok(LiveSegment { segment: Arc::new(segment), file, dead, entry: *entry })
    }

    fn open_dead_file(&self, entry: &SegmentEntry, dead_file: &DeadEntry) -> Result<HeldDead> {
        let DeadEntry { number, length, tail_hash } = *dead_file;
        let path = self.names.numbered(number, Ending::Dead);
        let file = HeldFile::new(self, path);
        let dead = open_dead(self, &file, &Listed { number, length, tail_hash }, entry)?;
        if dead.count() != entry.dead {
            let what = "the dead file has another count than the catalog says";
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
        let replay = Replay::read(&*self.storage, &path, &identity, self.shape.signature_bytes)?;
        let mut writer = self.writer();
        for (change, operations) in replay.changes(self.shape.signature_bytes) {
            let operations = operations
                .collect::<std::result::Result<Vec<_>, _>>()
                .map_err(|error| error.in_file(&path, 0))?;
            self.replay_change(&mut writer, change, &operations)?;
        }
        let mark = Mark { end: 0, change: writer.change, documents: writer.documents };
        // Not in any log this handle could sync: a flush makes it durable.
        self.group.restart(None, 0, mark);
        self.view.show(mark);
        writer.wal_bytes = entry.length.clamp(
            self.options.wal_bytes_min,
            self.options.wal_bytes_max.max(self.options.wal_bytes_min),
        );
        planted!(AppendAfterTornTail => {
            crate::index::tests::planted::go_on_after_tail(self, &mut writer, &identity, &replay)?;
        });
        drop(writer);
        self.recovery.changes_replayed = replay.change_count();
        self.recovery.bytes_cut = replay.bytes_cut;
        Ok(())
    }

    /// Flushes what was replayed: it came from the page cache and must be durable before anything
    /// is built on it, and no log is appended to after a recovery.
    fn flush_replayed(&self) -> Result<()> {
        planted!(TailNotFlushed => return Ok(()));
        planted!(AppendAfterTornTail => return Ok(()));
        let mut writer = self.writer();
        if writer.catalog.row().wal.is_none() {
            return Ok(());
        }
        self.flush_locked(&mut writer, NextWal::None)
    }

    fn replay_change(
        &self,
        writer: &mut Writer,
        change: u64,
        operations: &[LoggedOperation<'_>],
    ) -> Result<()> {
        let before: Snapshot = self.applied(writer);
        let key_hashes = key_hashes(&self.params, operations);
        let plan = plan(&before, operations, &key_hashes)?;
        self.apply(&before, change, &plan.effects(operations, &key_hashes));
        writer.change = change;
        writer.documents = plan.documents_after(writer.documents);
        Ok(())
    }

    fn restart_group(&self) {
        let writer = self.writer();
        let mark = Mark { end: 0, change: writer.change, documents: writer.documents };
        self.group.restart(None, 0, mark);
    }
}
