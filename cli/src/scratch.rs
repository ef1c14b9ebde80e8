//! Temporary folders and files of the tool. No other user can read them or guess their names.

#![expect(clippy::disallowed_types, reason = "temporary files of the tool, never the index's")]

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

use crate::failure::Failure;

/// A temporary folder that only this user may enter; deleted on drop.
///
/// Its name is random and the folder is always new. So neither a folder that another user has put
/// there, nor the remains of a killed run, is ever used.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn folder() -> Result<Self, Failure> {
        let mut builder = Builder::new();
        builder.prefix("nearkin-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        builder.tempdir().map(Self).map_err(|error| {
            let base = std::env::temp_dir();
            let message =
                format!("cannot create a temporary folder in {}: {error}", base.display());
            Failure::new(message, "set TMPDIR to a folder that you may write to")
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A temporary file without a name. The system deletes it when it is closed, however the process
/// ends.
pub(crate) fn file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Reads a file from an offset. Several readers of one file do not disturb each other.
pub(crate) struct ReadAt {
    pub(crate) file: std::sync::Arc<File>,
    pub(crate) at: u64,
}

impl io::Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_is_new_private_and_deleted() {
        use std::os::unix::fs::PermissionsExt as _;
        let (one, other) = (Scratch::folder().unwrap(), Scratch::folder().unwrap());
        assert_ne!(one.path(), other.path());
        let mode = std::fs::metadata(one.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[test]
    fn readers_of_one_file_have_their_own_places() {
        use io::{Read as _, Write as _};
        let mut written = file().unwrap();
        written.write_all(b"0123456789").unwrap();
        let file = std::sync::Arc::new(written);
        let mut readers = [3, 5].map(|at| ReadAt { file: file.clone(), at });
        let mut two = [0; 2];
        for expected in ["34", "56", "56", "78"].chunks(2) {
            for (reader, expected) in readers.iter_mut().zip(expected) {
                reader.read_exact(&mut two).unwrap();
                assert_eq!(two, expected.as_bytes());
            }
        }
    }
}
