//! What a folder contains, and whether a process is using it.
//!
//! This module knows file names and the lock. It reads no file.

use crate::storage::lock::{HeldHere, Lock};
use crate::storage::names::{self, Names, parse_manifest};
use crate::storage::{DirEntry, Storage};
use crate::sync::thread;
use crate::{Error, ErrorKind, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of attempts of a writer to take the lock while readers probe it. A probe takes
/// microseconds.
const ATTEMPTS: u32 = 200;

/// Base of the pause between two retries. Zero in tests, since operations of the simulated disk
/// take no time.
pub(crate) const PAUSE: Duration = Duration::from_millis(small!(follow::PAUSE_MILLIS, 1));

/// Minimum time between two looks of a process that waits for the lock.
const LOOK_MIN: Duration = Duration::from_micros(small!(folder::LOOK_MIN_MICROS, 200));

/// Whether the folder has an index: see [`crate::Index::exists`].
pub(crate) fn exists(storage: &dyn Storage, dir: &Path) -> Result<bool> {
    is_index(storage, dir, None)
}

/// Returns an error if the folder has an index, or part of one. If the caller holds the folder's
/// lock, it passes it as `own`.
pub(crate) fn refuse_existing(storage: &dyn Storage, dir: &Path, own: Option<&Lock>) -> Result<()> {
    if is_index(storage, dir, own)? {
        return Err(Error::about(ErrorKind::Exists, dir, "an index exists already"));
    }
    Ok(())
}

/// Returns an error unless the folder is missing or empty.
pub(crate) fn refuse_filled(storage: &dyn Storage, dir: &Path) -> Result<()> {
    if list_if_any(storage, dir)?.is_some_and(|entries| !entries.is_empty()) {
        let what = "not empty; name a new folder";
        return Err(Error::about(ErrorKind::Invalid, dir, what));
    }
    Ok(())
}

/// Whether the folder has an index. If there are files but no catalog, the index has lost its
/// catalog, or it is being created: then another process holds the lock.
fn is_index(storage: &dyn Storage, dir: &Path, own: Option<&Lock>) -> Result<bool> {
    let names = Names::new(dir);
    if storage.bytes_of(&names.catalog()).is_ok() {
        return Ok(true);
    }
    if newest_generation(storage, &names)?.is_some() {
        return Ok(true);
    }
    let entries = match storage.list(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(Error::invalid(format!("{} is a file, not an index", dir.display())));
        }
        Err(error) => return Err(crate::io_error("read", dir, error)),
    };
    let is = |entry: &DirEntry, path: PathBuf| path.file_name().is_some_and(|n| n == &*entry.name);
    let has = |path: PathBuf| entries.iter().any(|entry| is(entry, path.clone()));
    if has(names.catalog()) {
        return Ok(true);
    }
    // An index was here: other names belong to programs that keep files beside it.
    let was_index = has(names.lock()) && has(names.parameters());
    for entry in entries.iter().filter(|_| !was_index) {
        let ours = is(entry, names.lock())
            || is(entry, names.parameters())
            || names::is_tmp(&entry.name)
            || (entry.is_dir && is(entry, names.wal_dir()))
            || (entry.is_dir && is(entry, names.segments_dir()))
            || (entry.is_dir && is(entry, names.manifest_dir()));
        if !ours {
            let (dir, name) = (dir.display(), &entry.name);
            return Err(Error::invalid(format!(
                "{dir} is a folder but not an index (it holds {name}); name an index or a new \
                 folder"
            )));
        }
    }
    for folder in [names.wal_dir(), names.segments_dir()] {
        let numbered = list_if_any(storage, &folder)?.unwrap_or_default();
        if let Some(entry) = numbered.iter().find(|entry| names::parse(&entry.name).is_some()) {
            if own.is_none() && is_locked(storage, &names)? {
                return Err(busy(storage, &names));
            }
            let what = format_args!(
                "the index has lost its catalog (the catalog should list {}); restore a backup, \
                 or run salvage",
                entry.name
            );
            return Err(Error::about(ErrorKind::Corrupt, dir, what));
        }
    }
    Ok(false)
}

/// Takes the writer's lock, and waits for it at most this long, or until `gives_up`.
///
/// One of the waiting processes at a time looks for the lock. The writer sees by this that it is
/// awaited, and gets no further turn before that one has had its own.
pub(crate) fn take_lock(
    storage: &dyn Storage,
    names: &Names,
    wait: Duration,
    gives_up: &dyn Fn(Duration) -> bool,
) -> Result<Lock> {
    let begun = Instant::now();
    let waiting = names.waiting_lock();
    // A call that does not wait is not in line.
    let (mut next, mut is_in_line) = (None, !wait.is_zero());
    loop {
        if next.is_none() && is_in_line {
            match storage.lock(&waiting) {
                Ok(lock) => next = Some(lock),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The index is being created, or is on a file system without locks.
                Err(_) => is_in_line = false,
            }
        }
        if (next.is_some() || !is_in_line)
            && let Some(lock) = try_lock(storage, names)?
        {
            return Ok(lock);
        }
        let waited = begun.elapsed();
        if waited >= wait || gives_up(waited) {
            break;
        }
        thread::sleep(pause(begun.elapsed(), next.is_some()));
    }
    match storage.lock(&names.lock()) {
        Err(error) if HeldHere::caused(&error) => {
            let what = "this process has the index open already; close that handle, or share it";
            Err(Error::about(ErrorKind::Locked, names.root(), what))
        }
        _ => Err(busy(storage, names)),
    }
}

/// The pause between two looks for a lock. Who waits longer looks more often, and so is likelier to
/// be next; who waits for seconds waits for a process that keeps the lock.
fn pause(waited: Duration, is_next: bool) -> Duration {
    if waited > Duration::from_secs(2) {
        return Duration::from_millis(10);
    }
    let millis = u32::try_from(waited.as_millis()).unwrap_or(u32::MAX);
    let pause = Duration::from_millis(2) / (1 + millis / 4);
    if is_next { LOOK_MIN } else { pause.max(LOOK_MIN) }
}

/// Takes the writer's lock if no other writer holds it. Readers that probe the lock hold it in
/// shared mode for a moment, so the attempt is repeated while only readers hold it.
pub(crate) fn try_lock(storage: &dyn Storage, names: &Names) -> Result<Option<Lock>> {
    let path = names.lock();
    let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    for _ in 0..ATTEMPTS {
        match storage.lock(&path) {
            Ok(lock) => return Ok(Some(lock)),
            Err(error) if HeldHere::caused(&error) => break,
            Err(error) if !is_busy(&error) => return Err(crate::io_error("lock", &path, error)),
            Err(_) => {}
        }
        match storage.lock_shared(&path) {
            Ok(_) => {}
            Err(error) if is_busy(&error) => break,
            Err(error) => return Err(crate::io_error("lock", &path, error)),
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Whether a process writes the index. The probe takes the lock in shared mode for a moment; a
/// writer that opens the index in this moment retries.
pub(crate) fn is_locked(storage: &dyn Storage, names: &Names) -> Result<bool> {
    match storage.lock_shared(&names.lock()) {
        Ok(_) => Ok(false),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock => Ok(true),
            // The index was copied without its lock file, or the file system has no locks: no
            // process can write there through this crate.
            io::ErrorKind::NotFound | io::ErrorKind::Unsupported => Ok(false),
            _ => Err(crate::io_error("lock", &names.lock(), error)),
        },
    }
}

pub(super) fn busy(storage: &dyn Storage, names: &Names) -> Error {
    let holder = storage.lock_holder(&names.lock());
    let holder = holder.map_or_else(String::new, |holder| format!(" ({holder})"));
    let what = match storage.bytes_of(&names.catalog()) {
        Ok(_) => format!(
            "another program{holder} has the index open for writing; wait until it closes the \
             index, or open it for reading"
        ),
        Err(_) => format!(
            "another program{holder} is creating an index or a backup there; wait until it has \
             finished"
        ),
    };
    Error::about(ErrorKind::Locked, names.root(), what)
}

pub(super) fn another_index(names: &Names) -> Error {
    Error::about(ErrorKind::Mismatch, names.root(), "another index is here now; open it again")
}

/// The number of the newest generation; `None` if the folder has no sharded index.
pub(crate) fn newest_generation(storage: &dyn Storage, names: &Names) -> Result<Option<u64>> {
    let folder = names.manifest_dir();
    match storage.list(&folder) {
        Ok(entries) => Ok(entries.iter().filter_map(|entry| parse_manifest(&entry.name)).max()),
        Err(error)
            if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) =>
        {
            Ok(None)
        }
        Err(error) => Err(crate::io_error("read", &folder, error)),
    }
}

/// Whether the folder has a sharded index, and not a plain one.
pub(crate) fn is_sharded(storage: &dyn Storage, names: &Names) -> Result<bool> {
    match storage.bytes_of(&names.catalog()) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(newest_generation(storage, names)?.is_some())
        }
        Err(error) => Err(crate::io_error("look at", &names.catalog(), error)),
    }
}

/// The entries of a folder; `None` if it does not exist.
pub(crate) fn list_if_any(storage: &dyn Storage, dir: &Path) -> Result<Option<Vec<DirEntry>>> {
    match storage.list(dir) {
        Ok(entries) => Ok(Some(entries)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(crate::io_error("read", dir, error)),
    }
}
