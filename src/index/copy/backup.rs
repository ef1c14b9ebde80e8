//! The backup: the files of one state under a second name, and a catalog that lists them, last.

use crate::catalog;
use crate::format::bytes::narrow;
use crate::format::catalog::Row;
use crate::index::Reader;
use crate::index::core::Core;
use crate::index::merge::flush::NextWal;
use crate::index::open::{exists, write_parameters};
use crate::index::options::Options;
use crate::index::read::state::State;
use crate::storage::names::{Ending, Names, tmp_of};
use crate::storage::{OpenMode, create_dirs, publish};
use crate::{Error, ErrorKind, Result};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Bytes copied at once where a file cannot be linked.
const CHUNK_BYTES: u64 = 1 << 20;

impl Core {
    /// See [`crate::Index::backup`].
    pub(crate) fn backup(&self, dir: &Path) -> Result<()> {
        match exists(&*self.storage, dir) {
            Ok(false) => {}
            Ok(true) => {
                let message = format!("{}: there is an index already", dir.display());
                return Err(Error::invalid(message));
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                return Err(Error::invalid(format!(
                    "{}: holds files of an index but no catalog, as a backup does that was cut \
                     short; remove the folder to back up there",
                    dir.display()
                )));
            }
            Err(error) => return Err(error),
        }
        let names = Names::new(dir);
        for folder in [names.root().to_path_buf(), names.wal_dir(), names.segments_dir()] {
            create_dirs(&*self.storage, &folder)
                .map_err(|error| Error::io("create", &folder, error))?;
        }
        // The state is held, so that its files stay while they are linked.
        let (row, state) = self.flushed_state()?;
        for live in &state.segments {
            self.link_or_copy(&live.file.path, &names, live.number(), Ending::Segment)?;
            if let (Some(held), Some(entry)) = (&live.dead, &live.entry.dead_file) {
                self.link_or_copy(&held.file.path, &names, entry.number, Ending::Dead)?;
            }
        }
        let folder = names.segments_dir();
        self.storage.sync_dir(&folder).map_err(|error| Error::io("sync", &folder, error))?;
        write_parameters(&*self.storage, &names, &row)?;
        // Last, and under its name only when it is durable: before, there is no index.
        catalog::create(&self.storage, &names.catalog(), &row)?;
        // What a crash would have to find is there: open it as a stranger would.
        let copy = Reader::open_on(Arc::clone(&self.storage), dir, Options::default())?;
        if copy.len() != row.segments.iter().map(|e| u64::from(e.docs - e.dead)).sum::<u64>() {
            return Err(Error::corrupt(dir, 0, "the backup has another number of documents"));
        }
        Ok(())
    }

    /// Flushes, and takes the catalog's row with the state it describes. A WAL that is listed is
    /// empty then, and the copy needs none.
    fn flushed_state(&self) -> Result<(Row, Arc<State>)> {
        let mut writer = self.writer();
        self.flush_locked(&mut writer, NextWal::None)?;
        let row = Row { wal: None, ..writer.catalog.row().clone() };
        Ok((row, self.state()))
    }

    /// A second name for a published file; where that cannot be, a copy of it.
    fn link_or_copy(&self, from: &Path, names: &Names, number: u64, ending: Ending) -> Result<()> {
        let to = names.numbered(number, ending);
        match self.storage.hard_link(from, &to) {
            Ok(()) => Ok(()),
            Err(_) => self.copy(from, &to).map_err(|error| Error::io("write", &to, error)),
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let tmp = tmp_of(to);
        let source = self.storage.open(from, OpenMode::Read)?;
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
