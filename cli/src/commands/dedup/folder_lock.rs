//! The locks of a run: one for each file that it writes, in a folder beside that file.
//!
//! So no two runs write one file, be it OUT, DROPPED or APART. The folder of OUT has the state of
//! the run, too (`work.rs`).

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "keeps the work folder of a run, never an index"
)]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::packed;
use nearkin_input::on_disk;
use nearkin_kit::failure::Failure;
use nearkin_kit::scratch;

/// The lock file that marks the folder as in use.
const LOCK: &str = "lock";

/// A locked folder. The lock is taken before anything in the folder is read or deleted. When it is
/// dropped, it is released, and the folder is deleted if it holds nothing else.
pub(super) struct FolderLock {
    folder: PathBuf,
    file: Option<File>,
}

impl FolderLock {
    /// Locks the work folder of a file. Fails if another run writes that file.
    pub(super) fn take(path: &Path) -> Result<Self, Failure> {
        let folder = packed::work_folder(path);
        if is_foreign(&folder) {
            return Err(Failure::new(
                format!("{} exists, and no run of this command made it", folder.display()),
                "write to another file, or remove that folder",
            ));
        }
        let Some(file) = lock(&folder).map_err(|error| working(&folder, &error))? else {
            return Err(Failure::new(
                format!("another run is writing {}", path.display()),
                "wait for it, or write to another file",
            ));
        };
        Ok(Self { folder, file: Some(file) })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        let is_alone = fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.nth(1).is_none());
        // The lock is held until its file has been deleted: nobody works in a folder without it.
        if is_alone && fs::remove_file(self.folder.join(LOCK)).is_ok() {
            // On Windows, the name may stay until the file is closed, and so may the folder.
            self.file = None;
            // Another run may have started in the folder already.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Whether there is a folder with content that no run made: every run locks its folder first, and
/// empties the folder before it removes the lock.
fn is_foreign(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|there| there.is_dir());
    let has_content =
        is_folder && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    has_content && !folder.join(LOCK).exists()
}

/// Creates the folder if needed and takes its lock. `None` if another run holds it.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    loop {
        make_folder(folder)?;
        let path = folder.join(LOCK);
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false);
        let options = scratch::no_follow(options);
        let lock = match scratch::patiently(|| options.open(&path)) {
            // The previous run deleted the folder between these two calls: try again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match lock.try_lock() {
            // The locked file must still be the one at this path: the previous run may have deleted
            // it in the meantime.
            Ok(()) if is_at(&lock, &path)? => return Ok(Some(lock)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Creates a folder that only this user can read, unless it exists. Never accepts a link: the
/// folder that it leads to would be emptied.
fn make_folder(folder: &Path) -> io::Result<()> {
    #[cfg_attr(windows, expect(unused_mut, reason = "folders have no mode there"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    match fs::symlink_metadata(folder) {
        Ok(there) if !there.is_dir() => Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            "it is a link or a file, not a folder",
        )),
        // The previous run has just deleted it; the caller tries again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        there => there.map(drop),
    }
}

/// Whether an open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(on_disk::id(path, &there) == on_disk::id_of_open(file, &file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes everything in the folder except the lock.
pub(super) fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The failure of an operation in the folder.
pub(super) fn working(folder: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot work in {}: {error}", folder.display()),
        "fix the cause and run the command again; without that folder it starts from the \
         beginning",
    )
}
