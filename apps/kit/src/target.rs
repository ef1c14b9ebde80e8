//! An output file that gets its final name only when it is complete.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "writes the user's files, never the index's"
)]

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::scratch;
use nearkin_input::files;
use nearkin_input::on_disk::{self, FileId};

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

/// Whether a file begins with `head`, or is empty, as `mktemp` makes it.
pub fn begins_with(path: &Path, head: &str) -> bool {
    let mut found = Vec::new();
    let length = head.len() as u64;
    let read = File::open(path).and_then(|file| file.take(length).read_to_end(&mut found));
    read.is_ok() && (found.is_empty() || found == head.as_bytes())
}

/// An output file. If it is dropped unfinished, the partial file is deleted.
pub struct Target {
    file: File,
    path: PathBuf,
    /// Path of the partial file. `None` for pipes and devices, which are written directly.
    tmp: Option<PathBuf>,
    /// The identity of the partial file. Another run for the same output makes its own.
    id: Option<FileId>,
}

impl Target {
    /// Creates the partial file.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::writing(path, &error);
        if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, path: path.to_owned(), tmp: None, id: None });
        }
        let tmp = files::unfinished(path);
        let file = scratch::create(&tmp).map_err(failed)?;
        let id = file.metadata().ok().and_then(|metadata| on_disk::id_of_open(&file, &metadata));
        Ok(Self { file, path: path.to_owned(), tmp: Some(tmp), id })
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and gives it its final name.
    pub fn finish(mut self) -> Result<(), Failure> {
        let Some(tmp) = &self.tmp else { return Ok(()) };
        let failed = |error: io::Error| Failure::writing(&self.path, &error);
        self.file.sync_all().map_err(failed)?;
        // Directly before it gets its name.
        if !self.is_mine(tmp) {
            return Err(Failure::new(
                format!("{} is gone, or that of another run: nothing was written", tmp.display()),
                "run the command again when no other one writes this file",
            ));
        }
        scratch::rename(tmp, &self.path).map_err(failed)?;
        self.tmp = None;
        Ok(())
    }

    /// Whether the partial file is still the one that was created here.
    fn is_mine(&self, tmp: &Path) -> bool {
        fs::symlink_metadata(tmp).is_ok_and(|there| on_disk::id(tmp, &there) == self.id)
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
        if let Some(tmp) = self.tmp.as_deref().filter(|tmp| self.is_mine(tmp)) {
            // If deleting fails too, the name of the remaining file shows that it is unfinished.
            let _ = fs::remove_file(tmp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second run removed the partial file of the first one, which gave the empty file of the
    /// second one the final name.
    #[test]
    fn a_run_gives_no_name_to_the_file_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "old").unwrap();
        let mut first = Target::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        let mut second = Target::create(&path).unwrap();
        assert!(first.finish().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        second.write_all(b"second").unwrap();
        second.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
