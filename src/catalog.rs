//! The catalog: one redb file that says which files exist. It is the only commit point.
//!
//! No other module uses redb. It stores encoded rows and does not interpret them.
//!
//! The database on disk is open only during [`Catalog::commit`]. When redb closes a database, it
//! also writes the row to the second commit slot of the file and marks the file clean. So between
//! two commits no damaged bit can make redb fall back to the previous row, a kill at any other
//! moment leaves nothing to repair, and dropping a handle writes nothing. The price: five more
//! syncs per flush or compaction than with a database that stays open.

#[cfg(test)]
mod memory;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use redb::{Builder, Durability, ReadableDatabase, ReadableTableMetadata};
use redb::{Database, StorageBackend, TableDefinition};

use crate::format::bytes::{narrow, wide};
use crate::format::catalog::Row;
use crate::storage::{File, OpenMode, Storage, names, publish};
use crate::{Error, ErrorKind, Result};

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("nearkin");
const KEY: u64 = 0;
/// Size of redb's page cache. The whole file has only a few pages.
const CACHE_BYTES: usize = 1 << 20;
/// Upper bound of the file length. A longer file is not read into memory.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads and checks the catalog without writing: redb and its integrity check run on a copy in
/// memory. `NotFound` if the file does not exist.
pub(crate) fn load(storage: &dyn Storage, path: &Path) -> Result<Row> {
    load_copy(Copy::of(storage, path)?, path)
}

fn load_copy(copy: Copy, path: &Path) -> Result<Row> {
    // redb uses assertions on damaged data, so it can panic. The panic hook of the process still
    // prints the message: replacing the hook would affect all threads. With `panic = "abort"`, a
    // damaged catalog ends the process here.
    let read = catch_unwind(AssertUnwindSafe(|| read_checked(copy)));
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(damaged(path).caused_by(error)),
        Err(_) => return Err(damaged(path).caused_by("redb panicked")),
    };
    Row::decode(&bytes).map_err(|error| error.in_file(path, 0))
}

/// The state that the catalog must be in for a reader to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredState {
    /// redb has closed the file. (While a commit has the file open, the file may already contain
    /// the next row, which may not be durable yet.)
    Closed,
    /// Any state, including the one that a writer leaves if it dies during a commit.
    Any,
}

/// Reads and checks the catalog while another process may be writing it. Returns the row and the
/// hash of the file. `None` if the file changed meanwhile, or is not in the state `required`: try
/// again.
pub(crate) fn load_beside(
    storage: &dyn Storage,
    path: &Path,
    required: RequiredState,
) -> Result<Option<(Row, u64)>> {
    let Some(hash) = hash(storage, path)? else { return Ok(None) };
    let Some(copy) = Copy::beside(storage, path)? else { return Ok(None) };
    // Checked before redb reads the copy, which may be a mixture of two states.
    if xxh3_64(&copy.bytes()) != hash || required == RequiredState::Closed && !copy.is_closed() {
        return Ok(None);
    }
    match load_copy(copy, path) {
        Ok(row) => Ok(Some((row, hash))),
        Err(_) if self::hash(storage, path)? != Some(hash) => Ok(None),
        Err(error) => Err(error),
    }
}

/// XXH3 (seed 0) of the catalog file. Identifies the commit in 20 us, without decoding it. `None`
/// if another process truncated the file during the read.
pub(crate) fn hash(storage: &dyn Storage, path: &Path) -> Result<Option<u64>> {
    Ok(Copy::beside(storage, path)?.map(|copy| xxh3_64(&copy.bytes())))
}

/// Creates the catalog durably: writes it under a temporary name, then publishes it. The catalog
/// must not exist yet.
pub(crate) fn create(storage: &Arc<dyn Storage>, path: &Path, row: &Row) -> Result<()> {
    match storage.open(path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("look for", path, error)),
        Ok(_) => {
            let message = format!("{}: there is a catalog already", path.display());
            return Err(Error::invalid(message));
        }
    }
    let tmp = names::tmp_of(path);
    let created = create_as(&**storage, &tmp, path, row);
    if created.is_err() {
        // If this fails, too, the next open deletes the file.
        let _ = storage.remove(&tmp);
    }
    created
}

fn create_as(storage: &dyn Storage, tmp: &Path, path: &Path, row: &Row) -> Result<()> {
    let refused = |error| Error::io("write", tmp, error);
    let image = image_of(&row.encode()).map_err(|failure| failure.error(ErrorKind::Io, tmp))?;
    let file = storage.open(tmp, OpenMode::Create).map_err(refused)?;
    file.write_at(&image, 0).map_err(refused)?;
    publish(storage, &*file, tmp, path).map_err(|error| {
        match storage.open(path, OpenMode::Read) {
            Err(look) if look.kind() == io::ErrorKind::NotFound => Error::io("create", path, error),
            // The file may have been renamed, but the new name may not survive a power cut.
            _ => Failure::Storage(error).error(ErrorKind::Unknown, path),
        }
    })
}

/// The bytes of a new database with this row. It is built in memory because redb starts with 1 MiB
/// and needs several commits and syncs to shrink to a few pages.
fn image_of(row: &[u8]) -> std::result::Result<Vec<u8>, Failure> {
    let image = Image::default();
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut database = builder().create_with_backend(image.clone())?;
        insert_row(&database, row)?;
        while database.compact()? {}
        Ok(())
    }));
    match made {
        Ok(result) => result.map_err(Failure::Redb)?,
        Err(_) => return Err(Failure::Panic),
    }
    let bytes = std::mem::take(&mut *image.0.bytes());
    Ok(bytes)
}

/// The writer's handle to the catalog. The file is open only during a commit, so creating and
/// dropping a handle write nothing.
#[derive(Debug)]
pub(crate) struct Catalog {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    row: Row,
    poisoned: bool,
}

impl Catalog {
    /// A handle to the catalog at `path`, which contains `row` (from [`load`] or [`create`]).
    pub(crate) fn new(storage: Arc<dyn Storage>, path: PathBuf, row: Row) -> Self {
        Self { storage, path, row, poisoned: false }
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
            return Err(Error::new(
                ErrorKind::Poisoned,
                format!("{}: an earlier commit failed; reopen the index", self.path.display()),
            ));
        }
        // Check the file first, which takes 0.3 ms: redb itself would commit on top of a damaged
        // file or of another writer's row.
        if load(&*self.storage, &self.path)? != self.row {
            self.poisoned = true;
            return Err(Error::corrupt(&self.path, 0, "another writer changed the catalog"));
        }
        let file = self
            .storage
            .open(&self.path, OpenMode::ReadWrite)
            .map_err(|error| Error::io("write", &self.path, error))?;
        let trace = Arc::new(Trace::default());
        let written = write_row(&file, &trace, &row.encode());
        // After a failed sync, the system may still show pages that never reached the disk, so no
        // later commit may build on the file. (This commit is durable if redb confirmed it before
        // the close.)
        self.poisoned = trace.sync_failed();
        match written {
            Ok(()) => {
                self.row = row;
                Ok(())
            }
            Err(failure) => self.settle(row, &*file, &trace, failure),
        }
    }

    /// Finds out which row the file contains after a failed commit.
    fn settle(&mut self, row: Row, file: &dyn File, trace: &Trace, failure: Failure) -> Result<()> {
        if !trace.touched() {
            return Err(failure.error(ErrorKind::Io, &self.path));
        }
        if !self.poisoned {
            match load(&*self.storage, &self.path) {
                // redb's last write may not have been synced.
                Ok(found) if found == row && file.sync().is_ok() => {
                    self.row = row;
                    return Ok(());
                }
                Ok(found) if found == self.row => {
                    return Err(failure.error(ErrorKind::Io, &self.path));
                }
                _ => self.poisoned = true,
            }
        }
        Err(failure.error(ErrorKind::Unknown, &self.path))
    }
}

/// Opens the database in `file` (or creates it if the file is empty), commits the row and closes
/// the database.
fn write_row(
    file: &Arc<dyn File>,
    trace: &Arc<Trace>,
    bytes: &[u8],
) -> std::result::Result<(), Failure> {
    let backend = Backend { file: Arc::clone(file), trace: Arc::clone(trace) };
    // The file was checked just before. If redb panics nevertheless, `settle` finds out which row
    // the file contains.
    let committed = catch_unwind(AssertUnwindSafe(|| {
        insert_row(&builder().create_with_backend(backend)?, bytes)
    }));
    match committed {
        Ok(result) => result.map_err(Failure::Redb),
        Err(_) => Err(Failure::Panic),
    }
}

fn insert_row(database: &Database, bytes: &[u8]) -> std::result::Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    // Quick repair stays off. It would save a scan after a crash, which is slow only in large
    // databases, but add 16 KiB to the file.
    transaction.set_two_phase_commit(true);
    transaction.open_table(TABLE)?.insert(KEY, bytes)?;
    transaction.commit()?;
    Ok(())
}

/// The encoded row in a copy of the file, if the copy passes redb's integrity check.
fn read_checked(copy: Copy) -> std::result::Result<Vec<u8>, redb::Error> {
    let mut database = builder().create_with_backend(copy)?;
    if !database.check_integrity()? {
        return Err(redb::Error::Corrupted("the integrity check failed".to_owned()));
    }
    read_row(&database)
}

fn read_row(database: &Database) -> std::result::Result<Vec<u8>, redb::Error> {
    let table = database.begin_read()?.open_table(TABLE)?;
    match (table.get(KEY)?, table.len()?) {
        (Some(bytes), 1) => Ok(bytes.value().to_vec()),
        _ => Err(redb::Error::Corrupted("it does not hold one row".to_owned())),
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn damaged(path: &Path) -> Error {
    Error::corrupt(path, 0, "the catalog is damaged")
}

/// Why a commit failed.
#[derive(Debug)]
enum Failure {
    Redb(redb::Error),
    Storage(io::Error),
    Panic,
}

impl Failure {
    fn error(self, kind: ErrorKind, path: &Path) -> Error {
        let what = match kind {
            ErrorKind::Unknown => "it is unknown whether the catalog was written; reopen the index",
            _ => "cannot write the catalog",
        };
        let error = Error::new(kind, format!("{}: {what}", path.display()));
        match self {
            Self::Redb(cause) => error.caused_by(cause),
            Self::Storage(cause) => error.caused_by(cause),
            Self::Panic => error.caused_by("redb panicked"),
        }
    }
}

/// Records whether redb changed the file, and whether a sync failed. Needed because redb does not
/// report errors that occur while it closes the database.
#[derive(Debug, Default)]
struct Trace {
    touched: AtomicBool,
    sync_failed: AtomicBool,
}

impl Trace {
    fn touched(&self) -> bool {
        self.touched.load(Ordering::Acquire)
    }

    fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }

    fn change(&self, result: io::Result<()>) -> io::Result<()> {
        self.touched.store(true, Ordering::Release);
        result
    }

    fn sync(&self, result: io::Result<()>) -> io::Result<()> {
        if result.is_err() {
            self.sync_failed.store(true, Ordering::Release);
        }
        self.change(result)
    }
}

/// A redb storage backend that uses one of our files. redb's own locks are not used: the index has
/// a lock file.
#[derive(Debug)]
struct Backend {
    file: Arc<dyn File>,
    trace: Arc<Trace>,
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.trace.change(self.file.set_bytes(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.trace.sync(self.file.sync())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.trace.change(self.file.write_at(data, offset))
    }
}

/// A copy of the file in memory. redb may repair the copy; it is never written back.
struct Copy {
    bytes: Mutex<Vec<u8>>,
}

impl Copy {
    /// Copies the file. `None` if another process truncated it meanwhile.
    fn beside(storage: &dyn Storage, path: &Path) -> Result<Option<Self>> {
        let copied = Self::of(storage, path);
        let kind = copied.as_ref().err().and_then(Error::io_kind);
        if kind == Some(io::ErrorKind::UnexpectedEof) { Ok(None) } else { copied.map(Some) }
    }

    fn of(storage: &dyn Storage, path: &Path) -> Result<Self> {
        let file = storage.open(path, OpenMode::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::new(
                ErrorKind::NotFound,
                format!("{}: catalog file not found", path.display()),
            )
            .caused_by(error),
            _ => Error::io("open", path, error),
        })?;
        let refused = |error| Error::io("read", path, error);
        let length = file.bytes().map_err(refused)?;
        if length == 0 || length > FILE_BYTES_MAX {
            return Err(damaged(path).caused_by(format!("it has {length} bytes")));
        }
        let length = narrow(length, "catalog is too large").map_err(|e| e.in_file(path, 0))?;
        let mut bytes = vec![0; length];
        file.read_at(&mut bytes, 0).map_err(refused)?;
        Ok(Self { bytes: Mutex::new(bytes) })
    }

    /// Whether redb has marked the file as closed. The second bit of the tenth header byte says
    /// whether recovery is needed.
    fn is_closed(&self) -> bool {
        self.bytes().get(9).is_some_and(|byte| byte & 2 == 0)
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        // Poisoning is ignored: no code can panic while it changes the bytes.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A database in memory. Its bytes are read after redb has closed it.
#[derive(Debug, Clone)]
struct Image(Arc<Copy>);

impl Default for Image {
    fn default() -> Self {
        Self(Arc::new(Copy { bytes: Mutex::default() }))
    }
}

impl StorageBackend for Image {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

impl fmt::Debug for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copy").field("len", &self.bytes().len()).finish()
    }
}

impl StorageBackend for Copy {
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
        let len = usize::try_from(len).map_err(io::Error::other)?;
        self.bytes().resize(len, 0);
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
