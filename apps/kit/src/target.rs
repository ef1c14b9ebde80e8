//! An output file that gets its final name only when it is complete.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "writes the user's files, never the index's"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::scratch;
use nearkin_input::files;

/// Fails if there is a file that this command did not write: it is not replaced.
pub fn keep_foreign(
    path: &Path,
    command: &str,
    option: &str,
    is_own: impl FnOnce() -> bool,
) -> Result<(), Failure> {
    if !path.is_file() || is_own() {
        return Ok(());
    }
    Err(Failure::new(
        format!("{} exists and was not written by `nearkin {command}`", path.display()),
        format!("choose another file for {option}, or remove this one"),
    ))
}

/// An output file. If it is dropped unfinished, the partial file is deleted.
pub struct Target {
    file: File,
    path: PathBuf,
    /// Path of the partial file. `None` for pipes and devices, which are written directly.
    tmp: Option<PathBuf>,
}

impl Target {
    /// Creates the partial file.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::writing(path, &error);
        if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, path: path.to_owned(), tmp: None });
        }
        let tmp = files::unfinished(path);
        let file = scratch::create(&tmp).map_err(failed)?;
        Ok(Self { file, path: path.to_owned(), tmp: Some(tmp) })
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and gives it its final name.
    pub fn finish(mut self) -> Result<(), Failure> {
        let Some(tmp) = &self.tmp else { return Ok(()) };
        let done = self.file.sync_all().and_then(|()| scratch::rename(tmp, &self.path));
        done.map_err(|error| Failure::writing(&self.path, &error))?;
        self.tmp = None;
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(tmp) = &self.tmp {
            // If deleting fails too, the name of the remaining file shows that it is unfinished.
            let _ = fs::remove_file(tmp);
        }
    }
}
