//! Creating and opening: lock, catalog, segments, WAL, and sweeping what nobody lists.
//!
//! Nothing is written before everything was read and found whole; and what replay found is made
//! durable (flushed) before anything is built on it.

use crate::catalog::{self, Catalog};
use crate::format::catalog::{DeadEntry, Row, SegmentEntry};
use crate::format::wal::LoggedOperation;
use crate::index::core::{Alarm, Core, Writer};
use crate::index::durable::{Group, Mark};
use crate::index::merge::flush::NextWal;
use crate::index::merge::open_dead;
use crate::index::options::Options;
use crate::index::read::Recovery;
use crate::index::read::state::{HeldDead, HeldFile, LiveSegment, Snapshot, State, View};
use crate::index::write::plan;
use crate::memtable::Memtable;
use crate::segment::{Listed, Segment, Shape};
use crate::storage::lock::Lock;
use crate::storage::names::{self, Ending, Names};
use crate::storage::{Entry, OpenMode, Storage, create_dirs};
use crate::wal::{Replay, WalIdentity, holds_a_record};
use crate::{Error, ErrorKind, Params, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

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
        let numbered = list_if_any(storage, &folder)?;
        if let Some(entry) = numbered.iter().find(|entry| names::parse(&entry.name).is_some()) {
            let message = format!(
                "{}: the index has lost its catalog ({} has none to list it); restore a backup",
                dir.display(),
                entry.name
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
    }
    Ok(false)
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
    catalog::create(&storage, &names.catalog(), &row)?;
    open_locked(storage, names, lock, options)
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
        let message = format!("{}: there is no index; create one first", dir.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let names = Names::new(dir);
    let lock = take_lock(&*storage, &names)?;
    open_locked(storage, names, lock, options)
}

fn take_lock(storage: &dyn Storage, names: &Names) -> Result<Lock> {
    let path = names.lock();
    storage.lock(&path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Error::new(
            ErrorKind::Locked,
            format!(
                "{}: the index is open for writing elsewhere; wait for that program or close it",
                names.root().display()
            ),
        ),
        _ => Error::io("lock", &path, error),
    })
}

fn open_locked(
    storage: Arc<dyn Storage>,
    names: Names,
    lock: Lock,
    options: Options,
) -> Result<Core> {
    let read_before = storage.counters().bytes_read;
    let row = catalog::load(&*storage, &names.catalog())?;
    sync_catalog(&*storage, &names)?;
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
    let memtable = Arc::new(Memtable::new(params.signature_bytes(), params.bands()));
    let documents = row.segments.iter().map(|entry| u64::from(entry.docs - entry.dead)).sum();
    let view = View {
        state: Arc::new(State { segments: Vec::new(), memtable }),
        visible: row.floor,
        documents,
        past: Vec::new(),
    };
    let file_next = row.file_next.max(litter.number_next);
    let writer = Writer {
        wal: None,
        spare: litter.spare,
        change: row.floor,
        documents,
        file_next,
        wal_bytes: options.wal_bytes_min,
        merging: Vec::new(),
        catalog: Catalog::new(Arc::clone(&storage), names.catalog(), row),
    };
    let mut core = Core {
        names,
        storage,
        options,
        params,
        shape,
        recovery: Recovery::default(),
        view: RwLock::new(view),
        writer: Mutex::new(writer),
        group: Group::default(),
        compaction: Mutex::new(None),
        alarm: Alarm::default(),
        _lock: lock,
    };
    core.open_segments()?;
    core.recover(litter)?;
    core.recovery.bytes_read = core.storage.counters().bytes_read - read_before;
    Ok(core)
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
        let mut view = self.view_mut();
        let memtable = Arc::clone(&view.state.memtable);
        view.state = Arc::new(State { segments, memtable });
        Ok(())
    }

    fn open_segment(&self, entry: &SegmentEntry) -> Result<LiveSegment> {
        let listed =
            Listed { number: entry.number, length: entry.length, tail_hash: entry.tail_hash };
        let path = self.names.numbered(entry.number, Ending::Segment);
        let file = HeldFile::new(&self.storage, path);
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
        let file = HeldFile::new(&self.storage, path);
        let dead = open_dead(self, &file, &Listed { number, length, tail_hash }, entry)?;
        if dead.count() != entry.dead {
            let what = "the dead file has another count than the catalog says";
            return Err(Error::corrupt(&file.path, length, what));
        }
        Ok(HeldDead { dead: Arc::new(dead), file })
    }

    /// Replays the WAL into the memtable and flushes it: what came from the page cache must be
    /// durable before anything is built on it, and no log is appended to after a recovery.
    fn recover(&mut self, litter: Litter) -> Result<()> {
        let Some(entry) = self.writer().catalog.row().wal else {
            self.restart_group();
            self.recovery.files_swept = litter.sweep(&*self.storage)?;
            return Ok(());
        };
        let floor = self.writer().change;
        let identity = WalIdentity {
            uuid: self.shape.uuid,
            params_id: self.shape.params_id,
            number: entry.number,
            salt: entry.salt,
            length: entry.length,
            floor,
        };
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
        // Not in any log this handle could sync: the flush makes it durable.
        self.group.restart(None, 0, mark);
        self.show(mark);
        writer.wal_bytes = entry.length.clamp(
            self.options.wal_bytes_min,
            self.options.wal_bytes_max.max(self.options.wal_bytes_min),
        );
        // Everything was read and is whole. Before the flush, because that needs space.
        let swept = litter.sweep(&*self.storage)?;
        planted!(TailNotFlushed => return Ok(()));
        planted!(AppendAfterTornTail => {
            return crate::index::tests::planted::go_on_after_tail(self, &mut writer, &identity, &replay)
        });
        self.flush_locked(&mut writer, NextWal::None)?;
        drop(writer);
        self.recovery.files_swept = swept;
        self.recovery.changes_replayed = replay.change_count();
        self.recovery.bytes_cut = replay.bytes_cut;
        Ok(())
    }

    fn replay_change(
        &self,
        writer: &mut Writer,
        change: u64,
        operations: &[LoggedOperation<'_>],
    ) -> Result<()> {
        let before: Snapshot = self.applied(writer);
        let plan = plan(&before, operations)?;
        self.apply(&before, change, operations, &plan);
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

/// The names of a folder; none if there is no such folder.
fn list_if_any(storage: &dyn Storage, dir: &Path) -> Result<Vec<Entry>> {
    match storage.list(dir) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io("read", dir, error)),
    }
}

/// What lies in the directory without being listed.
#[derive(Debug)]
struct Litter {
    paths: Vec<PathBuf>,
    /// The spare WAL, kept.
    spare: Option<u64>,
    /// Above every number seen: none is ever used twice.
    number_next: u64,
}

impl Litter {
    fn find(storage: &dyn Storage, names: &Names, row: &Row) -> Result<Self> {
        let mut litter = Self { paths: Vec::new(), spare: None, number_next: 0 };
        for folder in [names.root().to_path_buf(), names.wal_dir(), names.segments_dir()] {
            for entry in list_if_any(storage, &folder)? {
                let path = folder.join(&entry.name);
                if entry.is_dir {
                    continue;
                }
                if names::is_tmp(&entry.name) {
                    litter.paths.push(path);
                } else if let Some((number, ending)) = names::parse(&entry.name)
                    && names.numbered(number, ending) == path
                {
                    litter.judge(storage, row, number, ending, path)?;
                }
            }
        }
        Ok(litter)
    }

    fn judge(
        &mut self,
        storage: &dyn Storage,
        row: &Row,
        number: u64,
        ending: Ending,
        path: PathBuf,
    ) -> Result<()> {
        self.number_next = self.number_next.max(number.saturating_add(1));
        let listed = match ending {
            Ending::Wal => row.wal.is_some_and(|wal| wal.number == number),
            Ending::Free => {
                let first = self.spare.is_none();
                self.spare = self.spare.or(Some(number));
                first
            }
            Ending::Segment => row.segments.iter().any(|entry| entry.number == number),
            Ending::Dead => row
                .segments
                .iter()
                .any(|entry| entry.dead_file.is_some_and(|dead| dead.number == number)),
        };
        if listed {
            return Ok(());
        }
        if ending == Ending::Wal && number >= row.file_next && holds_a_record(storage, &path)? {
            return Err(Error::corrupt(
                &path,
                0,
                "a WAL newer than the catalog holds changes: the catalog is an older copy",
            ));
        }
        self.paths.push(path);
        Ok(())
    }

    /// Removes it; returns how many files.
    fn sweep(self, storage: &dyn Storage) -> Result<u64> {
        let mut swept = 0;
        for path in &self.paths {
            match storage.remove(path) {
                Ok(()) => swept += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("remove", path, error)),
            }
        }
        Ok(swept)
    }
}
