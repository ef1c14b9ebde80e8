//! The catalog: one redb file that says which files exist. It is the only commit point.
//!
//! No other module uses redb. It stores encoded rows and does not interpret them.
//!
//! redb works in memory only: a commit builds a database that holds one row, and publishes it like
//! any other file (write, sync, rename over the previous file, sync the folder). The rename is the
//! commit point. So the file never holds an older row that a damaged bit could bring back, and
//! every process that opens the file reads one state.
//!
//! A temporary index is never opened again, so its catalog is the encoded row alone: building a
//! database and reading it take longer than all else in a small one.
//!
//! A rename is visible before it is durable. Meanwhile an empty file, the *commit mark*, lies
//! beside the catalog. [`load`] syncs the folder if it finds the mark: every row that it returns
//! survives a power cut.

#[cfg(test)]
pub(crate) mod tests;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use redb::{Builder, Database, ReadableDatabase, ReadableTableMetadata};
use redb::{StorageBackend, TableDefinition};

use crate::format::bytes::{narrow, wide};
use crate::format::catalog::Row;
use crate::storage::{OpenMode, Storage, names, parent_of, publish_over};
use crate::{Error, ErrorKind, OrIo, Result};

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("nearkin");
const KEY: u64 = 0;
/// Size of redb's page cache. The whole file has only a few pages.
const CACHE_BYTES: usize = 1 << 20;
/// Upper bound of the file length. A longer file is not read into memory.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads and checks the catalog, and makes its row durable if it may not be. `NotFound` if the file
/// does not exist.
pub(crate) fn load(storage: &dyn Storage, path: &Path) -> Result<Row> {
    load_with_hash(storage, path).map(|(row, _)| row)
}

/// Like [`load`]; also returns the [`hash`] of the file.
pub(crate) fn load_with_hash(storage: &dyn Storage, path: &Path) -> Result<(Row, u64)> {
    let bytes = read(storage, path)?;
    let hash = xxh3_64(&bytes);
    let row = if storage.is_temporary() {
        Row::decode(&bytes).map_err(|error| error.in_file(path, 0))?
    } else {
        decode(bytes, path)?
    };
    // Looked for after the file was read: the mark goes only when the file's name is durable.
    match storage.bytes_of(&names::commit_mark_of(path)) {
        Ok(_) => storage.sync_dir(parent_of(path)).or_io("sync", path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(crate::io_error("look beside", path, error)),
    }
    Ok((row, hash))
}

/// XXH3 (seed 0) of the catalog file. Identifies the commit in 20 us, without decoding the file.
pub(crate) fn hash(storage: &dyn Storage, path: &Path) -> Result<u64> {
    read(storage, path).map(|bytes| xxh3_64(&bytes))
}

/// Creates the catalog durably. It must not exist yet.
pub(crate) fn create(storage: &dyn Storage, path: &Path, row: &Row) -> Result<()> {
    match storage.open(path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            replace(storage, path, row).map(|_| ())
        }
        Err(error) => Err(crate::io_error("look for", path, error)),
        Ok(_) => Err(Error::about(ErrorKind::Invalid, path, "there is a catalog already")),
    }
}

/// The writer's handle to the catalog. Creating and dropping a handle write nothing.
#[derive(Debug)]
pub(crate) struct Catalog {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    row: Row,
    /// The [`hash`] of the file that this handle wrote last.
    written: Option<u64>,
    poisoned: bool,
}

impl Catalog {
    /// A handle to the catalog at `path`, which contains `row` (from [`load`] or [`create`]).
    pub(crate) fn new(storage: Arc<dyn Storage>, path: PathBuf, row: Row) -> Self {
        Self { storage, path, row, written: None, poisoned: false }
    }

    /// The last row known to be committed.
    pub(crate) fn row(&self) -> &Row {
        &self.row
    }

    /// Replaces the row. After `Ok` the new row is durable.
    ///
    /// `Io`: nothing has changed, and the handle stays usable. `Unknown`: after a power cut, the
    /// file may contain either row; every later commit returns `Poisoned`. Other errors are those
    /// of [`load`], if the file was damaged or removed meanwhile; then nothing was written.
    pub(crate) fn commit(&mut self, row: Row) -> Result<()> {
        if self.poisoned {
            let what = "an earlier commit failed; reopen the index";
            return Err(Error::about(ErrorKind::Poisoned, &self.path, what));
        }
        self.refuse_if_changed()?;
        match replace(&*self.storage, &self.path, &row) {
            Ok(hash) => (self.row, self.written) = (row, Some(hash)),
            Err(error) => {
                self.poisoned = error.kind() == ErrorKind::Unknown;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns an error if the file is not as this handle knows it: a commit would hide damage, or
    /// another writer's row.
    fn refuse_if_changed(&mut self) -> Result<()> {
        // The hash spares decoding, which costs as much as building the next file.
        let is_own = self.written.is_some_and(|written| {
            hash(&*self.storage, &self.path).is_ok_and(|hash| hash == written)
        });
        if is_own || load(&*self.storage, &self.path)? == self.row {
            return Ok(());
        }
        self.poisoned = true;
        Err(Error::corrupt(&self.path, 0, "another writer changed the catalog"))
    }
}

/// Publishes a catalog with this row, and returns its [`hash`]. `Unknown`: the file has this row or
/// is as before. After other errors it is as before.
fn replace(storage: &dyn Storage, path: &Path, row: &Row) -> Result<u64> {
    let (tmp, mark) = (names::tmp_of(path), names::commit_mark_of(path));
    let image = if storage.is_temporary() {
        row.encode()
    } else {
        image_of(&row.encode()).map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot build {}", path.display())).caused_by(error)
        })?
    };
    let write = || {
        storage.open(&mark, OpenMode::Create)?;
        let file = storage.open(&tmp, OpenMode::Create)?;
        file.write_at(&image, 0).map(|()| file)
    };
    let (error, is_unchanged) = match write() {
        Err(error) => (error, true),
        Ok(file) => match publish_over(storage, &*file, &tmp, path) {
            Ok(()) => {
                // A mark that stays costs the next opening a sync.
                let _ = storage.remove(&mark);
                return Ok(xxh3_64(&image));
            }
            Err(error) => (error, storage.bytes_of(&tmp).is_ok()),
        },
    };
    if is_unchanged {
        // If this fails, too, the next open deletes the files.
        for left in [tmp, mark] {
            let _ = storage.remove(&left);
        }
        return Err(crate::io_error("write", path, error));
    }
    let what = "it is unknown whether the catalog was written; reopen the index";
    Err(Error::about(ErrorKind::Unknown, path, what).caused_by(error))
}

/// The row of the file, without making it durable.
#[cfg(any(test, fuzzing))]
pub(crate) fn peek(storage: &dyn Storage, path: &Path) -> Result<Row> {
    decode(read(storage, path)?, path)
}

/// The bytes of a database with this row.
fn image_of(row: &[u8]) -> std::result::Result<Vec<u8>, redb::Error> {
    let image = Image::default();
    let mut database = builder().create_with_backend(image.clone())?;
    let transaction = database.begin_write()?;
    transaction.open_table(TABLE)?.insert(KEY, row)?;
    transaction.commit()?;
    // A new database has 1 MiB. One step and the trim at the end leave a few pages; further steps
    // take longer, and gain nothing.
    database.compact()?;
    drop(database);
    Ok(std::mem::take(&mut *image.bytes()))
}

fn read(storage: &dyn Storage, path: &Path) -> Result<Vec<u8>> {
    let file = storage.open(path, OpenMode::Read).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::about(ErrorKind::NotFound, path, "catalog file not found").caused_by(error)
        }
        _ => crate::io_error("open", path, error),
    })?;
    let refused = |error| crate::io_error("read", path, error);
    let length = file.bytes().map_err(refused)?;
    if length == 0 || length > FILE_BYTES_MAX {
        return Err(damaged(path).caused_by(format!("it has {length} bytes")));
    }
    let length = narrow(length, "catalog is too large").map_err(|e| e.in_file(path, 0))?;
    let mut bytes = vec![0; length];
    file.read_at(&mut bytes, 0).map_err(refused)?;
    Ok(bytes)
}

/// The row in a file with these bytes, if the file passes redb's integrity check.
fn decode(bytes: Vec<u8>, path: &Path) -> Result<Row> {
    // redb uses assertions on damaged data, so it can panic. The panic hook of the process still
    // prints the message: replacing the hook would affect all threads. With `panic = "abort"`, a
    // damaged catalog ends the process here.
    let image = Image(Arc::new(Mutex::new(bytes)));
    let row = match catch_unwind(AssertUnwindSafe(|| read_row(image))) {
        Ok(Ok(row)) => row,
        Ok(Err(error)) => return Err(damaged(path).caused_by(error)),
        Err(_) => return Err(damaged(path).caused_by("redb panicked")),
    };
    Row::decode(&row).map_err(|error| error.in_file(path, 0))
}

fn read_row(image: Image) -> std::result::Result<Vec<u8>, redb::Error> {
    let mut database = builder().create_with_backend(image)?;
    if !database.check_integrity()? {
        return Err(redb::Error::Corrupted("the integrity check failed".to_owned()));
    }
    let table = database.begin_read()?.open_table(TABLE)?;
    match (table.get(KEY)?, table.len()?) {
        (Some(bytes), 1) => Ok(bytes.value().to_vec()),
        _ => Err(redb::Error::Corrupted("it does not hold one row".to_owned())),
    }
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn damaged(path: &Path) -> Error {
    Error::corrupt(path, 0, "the catalog is damaged")
}

/// A database in memory.
#[derive(Debug, Clone, Default)]
struct Image(Arc<Mutex<Vec<u8>>>);

impl Image {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        // Poisoning is ignored: no code can panic while it changes the bytes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StorageBackend for Image {
    fn len(&self) -> io::Result<u64> {
        Ok(wide(self.bytes().len()))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes();
        let from = slot(offset, out.len(), bytes.len())?;
        out.copy_from_slice(&bytes[from..from + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // A length read from a damaged file must not cause a huge allocation.
        if len > 2 * FILE_BYTES_MAX {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut bytes = self.bytes();
        // Zeroed by the allocator: a new database begins with 1 MiB, and most of it is never used.
        let mut resized = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        let kept = bytes.len().min(resized.len());
        resized[..kept].copy_from_slice(&bytes[..kept]);
        *bytes = resized;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes();
        let from = slot(offset, data.len(), bytes.len())?;
        bytes[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
}

/// Checks that `count` bytes at `offset` lie within `length`, and returns the offset.
fn slot(offset: u64, count: usize, length: usize) -> io::Result<usize> {
    usize::try_from(offset)
        .ok()
        .filter(|from| from.checked_add(count).is_some_and(|end| end <= length))
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
