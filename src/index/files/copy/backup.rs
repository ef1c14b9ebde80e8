//! The backup: links or copies the files of one state into another folder, and writes the catalog
//! last.

use crate::catalog;
use crate::format::bytes::narrow;
use crate::format::catalog::Row;
use crate::index::files::folder::{refuse_existing, take_lock};
use crate::index::files::follow;
use crate::index::files::open::{self, assemble, make_folders};
use crate::index::merge::flush::{self, NextWal};
use crate::index::merge::parameters::write_parameters;
use crate::index::state::core::{Core, Writer, Writing};
use crate::index::state::options::Options;
use crate::index::state::versions::{LiveSegment, Snapshot, State};
use crate::storage::lock::{Lock, LockPlace};
use crate::storage::names::{Ending, Names, tmp_of};
use crate::storage::{File, Guarded, OpenMode, Storage, publish};
use crate::{Error, ErrorKind, OrIo, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Size of the copy buffer for files that cannot be linked, in bytes.
const CHUNK_BYTES: u64 = small!(backup::CHUNK_BYTES, 1 << 20);

/// See [`crate::Index::backup`].
pub(crate) fn backup(core: &Core, dir: &Path) -> Result<()> {
    let mut turn = turn_of_shared(core)?;
    let target = begin_copy(core, dir)?;
    // The state keeps its files from being deleted while they are linked.
    let (row, state) = match &mut turn {
        Some(writer) => flushed_state(core, writer)?,
        None => flushed_state(core, &mut *core.to_write()?)?,
    };
    target.link_all(&state)?;
    target.finish(&row)
}

/// A shared handle keeps its turn during a backup, because its state does not keep other processes
/// from deleting files. `None` for any other handle.
fn turn_of_shared(core: &Core) -> Result<Option<Writing<'_>>> {
    core.sharing.is_some().then(|| core.to_write()).transpose()
}

/// See [`crate::Index::backup_of`].
pub(crate) fn backup_of(core: &Core, snapshot: &Snapshot, dir: &Path) -> Result<()> {
    if !Arc::ptr_eq(&snapshot.state.params, &core.params) {
        return Err(Error::invalid("the snapshot belongs to another index"));
    }
    let turn = turn_of_shared(core)?;
    let target = begin_copy(core, dir)?;
    target.link_all(&snapshot.state)?;
    let listed = |writer: &Writer| (writer.catalog.row().clone(), writer.file_next);
    let now = turn.as_ref().map_or_else(|| listed(&core.writer()), |turn| listed(turn));
    let row = write_rest(core, snapshot, &target, now)?;
    // Removes obsolete files, such as a segment whose documents have all died since the last
    // flush.
    let listed = row.numbers().collect::<Vec<_>>();
    for (number, ending) in files_of(&snapshot.state) {
        if !listed.contains(&number) {
            let path = target.names.numbered(number, ending);
            target.storage.remove(&path).or_io("remove", &path)?;
        }
    }
    target.finish(&row)
}

/// Writes what only the memtable of a snapshot holds: its documents as a segment, and the
/// deaths in segments as dead files. Returns the row of the complete copy.
fn write_rest(
    core: &Core,
    snapshot: &Snapshot,
    target: &CopyTarget,
    (row, file_next): (Row, u64),
) -> Result<Row> {
    let segments = snapshot.state.segments.iter().map(|live| live.entry).collect();
    let row = Row { floor: snapshot.visible, wal: None, file_next, segments, ..row };
    let (storage, names) = (Arc::clone(&target.storage), target.names.clone());
    let copy = assemble(storage, names, &Arc::default(), core.options.clone(), row);
    open::open_segments(&copy, &[])?;
    let (segments, memtable) =
        (copy.state().segments.clone(), Arc::clone(&snapshot.state.memtable));
    let params = Arc::clone(&copy.params);
    copy.view.replace(State::new(params, segments, memtable));
    let mut writer = copy.writer();
    let before = copy.applied(&writer);
    flush::draft_of(&copy, &mut writer, &before).map(|draft| draft.into_row(&writer))
}

/// Creates the folders of a copy if nothing is there yet, and locks them.
pub(in crate::index) fn begin_copy(core: &Core, dir: &Path) -> Result<CopyTarget> {
    let absolute = |path| std::path::absolute(path).or_io("look for", path);
    let dir = &absolute(dir)?;
    // `Names::root` is the index's own folder, as it was given; a copy must not lie below it.
    let is_temporary = core.storage.is_temporary();
    if !is_temporary && dir.starts_with(absolute(core.names.root())?) {
        let (dir, root) = (dir.display(), core.names.root().display());
        let message = format!("{dir} lies in the index that is backed up ({root})");
        return Err(Error::invalid(message));
    }
    // Checked before anything is created, so that a folder with other content stays unchanged.
    let target = if is_temporary { Core::disk() } else { Arc::clone(&core.storage) };
    refuse_all(&*target, dir, None)?;
    let names = Names::new(dir);
    let mut storage = make_folders(&target, &names)?;
    let wait = core.options.lock_wait.unwrap_or_default();
    let lock = match take_lock(&*storage, &names, wait, &|waited| core.options.gives_up(waited)) {
        // On a file system without locks, the copy can only be read.
        Err(error) if error.io_kind() == Some(io::ErrorKind::Unsupported) => None,
        taken => Some(LockPlace::holding(taken?)),
    };
    if let Some(lock) = &lock {
        storage = Arc::new(Guarded::by(lock, storage));
    }
    let own = lock.as_ref().and_then(|place| place.held());
    refuse_all(&*storage, dir, own.as_deref())?;
    Ok(CopyTarget { storage, links: !is_temporary, names, _lock: lock })
}

/// Flushes, and returns the catalog's row together with the state that it describes. After the
/// flush the WAL is empty, so the row of the copy lists none.
fn flushed_state(core: &Core, writer: &mut Writer) -> Result<(Row, Arc<State>)> {
    flush::flush_locked(core, writer, NextWal::None)?;
    let row = Row { wal: None, ..writer.catalog.row().clone() };
    Ok((row, core.state()))
}

/// Refuses a folder with an index, or part of one.
fn refuse_all(storage: &dyn Storage, dir: &Path, own: Option<&Lock>) -> Result<()> {
    refuse_existing(storage, dir, own).map_err(|error| match error.kind() {
        ErrorKind::Corrupt => {
            let what = "has files of an index but no catalog; after an interrupted backup delete \
                        the folder and back up again; of a damaged index, salvage the documents \
                        first";
            Error::about(ErrorKind::Invalid, dir, what)
        }
        _ => error,
    })
}

/// The folder of a copy that is being made.
pub(in crate::index) struct CopyTarget {
    /// The storage that holds the copy.
    storage: Arc<dyn Storage>,
    /// Whether files of the index can be hard-linked into the copy: not if the index is in memory.
    links: bool,
    names: Names,
    /// While this lock is held, no other process can create an index or a copy in the folder.
    /// `None` if the file system has no locks.
    _lock: Option<Arc<LockPlace>>,
}

impl CopyTarget {
    fn link_all(&self, state: &State) -> Result<()> {
        for live in &state.segments {
            let path = &live.file.path;
            self.link_or_copy(path, live.segment.file(), live.number(), Ending::Segment)?;
            if let (Some(held), Some(entry)) = (&live.dead, &live.entry.dead_file) {
                let (path, file) = (&held.file.path, held.dead.file());
                self.link_or_copy(path, file, entry.number, Ending::Dead)?;
            }
        }
        // The names of the files, and that of their folder.
        let sync = |dir: &Path| self.storage.sync_dir(dir).or_io("sync", dir);
        sync(&self.names.segments_dir())?;
        sync(self.names.root())
    }

    /// Writes the parameters and the catalog, which make the files an index, and opens the copy as
    /// a check.
    fn finish(self, row: &Row) -> Result<()> {
        write_parameters(&*self.storage, &self.names, row)?;
        // The catalog is written last, and renamed only after it is durable: until then the folder
        // is not an index.
        catalog::create(&*self.storage, &self.names.catalog(), row)?;
        // Opens the copy as any reader would, to check that it is whole.
        let dir = self.names.root();
        let (copy, _) = follow::open(&self.storage, dir, &Options::default(), None)?;
        if copy.snapshot().len()
            != row.segments.iter().map(|e| u64::from(e.docs - e.dead)).sum::<u64>()
        {
            return Err(Error::corrupt(dir, 0, "the backup has a different number of documents"));
        }
        Ok(())
    }

    /// Links a published file under a second name, or copies it if a link is impossible.
    fn link_or_copy(
        &self,
        from: &Path,
        source: &dyn File,
        number: u64,
        ending: Ending,
    ) -> Result<()> {
        let to = self.names.numbered(number, ending);
        let linked = self.links.then(|| self.storage.hard_link(from, &to));
        match linked {
            Some(Ok(())) => Ok(()),
            // The target is on another file system, or a writer in another process has deleted the
            // file.
            Some(Err(_)) | None => self.copy(source, &to).or_io("write", &to),
        }
    }

    fn copy(&self, source: &dyn File, to: &Path) -> io::Result<()> {
        let tmp = tmp_of(to);
        let target = self.storage.open(&tmp, OpenMode::Create)?;
        let bytes = source.bytes()?;
        let mut offset = 0;
        while offset < bytes {
            let count = CHUNK_BYTES.min(bytes - offset);
            let mut chunk = vec![0; narrow(count, "").map_err(|_| io::ErrorKind::OutOfMemory)?];
            source.read_at(&mut chunk, offset)?;
            target.write_at(&chunk, offset)?;
            offset += count;
        }
        publish(&*self.storage, &*target, &tmp, to)
    }
}

/// The files of a state's segments.
fn files_of(state: &State) -> impl Iterator<Item = (u64, Ending)> + '_ {
    let dead = |live: &LiveSegment| live.entry.dead_file.map(|dead| (dead.number, Ending::Dead));
    state
        .segments
        .iter()
        .flat_map(move |live| std::iter::once((live.number(), Ending::Segment)).chain(dead(live)))
}
