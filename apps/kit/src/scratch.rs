//! Temporary folders and files of the tool. Those without a name that the user can foresee are
//! private; those beside an output are never opened through a link.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "temporary files of the tool, never the index's"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

use crate::failure::Failure;

/// A temporary folder that only this user may enter; deleted on drop.
///
/// Its name is random and the folder is always new. So neither a folder that another user has put
/// there, nor the remains of a killed run, is ever used.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// A new temporary folder.
    pub fn folder() -> Result<Self, Failure> {
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A temporary file without a name. The system deletes it when it is closed, however the process
/// ends.
pub fn file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Creates a file under a temporary name beside the final one. Anybody can foresee such a name, so
/// whatever has it already is deleted: the remains of a killed run, or a link to another file.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::options().read(true).write(true).create_new(true).open(path),
    }
}

/// Opens a temporary file of an interrupted run. If the path does not lead to a regular file that
/// has no other name, the file is created anew.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    match no_follow(options.read(true).write(true)).open(path) {
        Ok(file) if has_one_name(&file.metadata()?) => Ok(file),
        _ => create(path),
    }
}

/// Renames a file to a name that may be taken: the file of that name is replaced.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    // Windows would only say that the access is denied.
    if cfg!(windows) && to.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    patiently(|| fs::rename(from, to))
}

/// Makes a call. On Windows, another program may look at the file (a virus scanner, an indexer,
/// another run) or be deleting it, and the system refuses for as long: the call is made again for
/// about a second.
pub fn patiently<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    #[cfg(windows)]
    for wait in 0..10 {
        match call() {
            Err(error) if is_in_use(&error) => {
                std::thread::sleep(std::time::Duration::from_millis(1 << wait));
            }
            answer => return answer,
        }
    }
    call()
}

/// Whether Windows refused a call because of another program that has the file open.
#[cfg(windows)]
fn is_in_use(error: &io::Error) -> bool {
    const ERROR_ACCESS_DENIED: i32 = 5;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    matches!(error.raw_os_error(), Some(ERROR_ACCESS_DENIED | ERROR_SHARING_VIOLATION))
}

/// Never opens a link, nor waits for the other end of a pipe.
pub fn no_follow(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        options.custom_flags(flags.bits().cast_signed());
    }
    options
}

fn has_one_name(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let links = std::os::unix::fs::MetadataExt::nlink(metadata);
    #[cfg(not(unix))]
    let links = 1;
    metadata.is_file() && links == 1
}

/// Reads from an offset, with one call of the system.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, buffer, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, buffer, at);
}

/// Reads so many bytes from an offset.
pub fn read_exact_at(file: &File, mut at: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let mut block = vec![0; bytes];
    let mut rest = &mut block[..];
    while !rest.is_empty() {
        match read_at(file, rest, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                at += count as u64;
                rest = &mut rest[count..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(block)
}

/// Reads a file from an offset. Several readers of one file do not disturb each other.
pub(crate) struct ReadAt {
    pub file: std::sync::Arc<File>,
    pub at: u64,
}

impl io::Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = read_at(&self.file, buffer, self.at)?;
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
    fn all_bytes_are_read_or_it_is_an_error() {
        use io::Write as _;
        let mut file = file().unwrap();
        file.write_all(b"0123456789").unwrap();
        assert_eq!(read_exact_at(&file, 2, 8).unwrap(), b"23456789");
        assert!(read_exact_at(&file, 10, 0).unwrap().is_empty());
        let error = read_exact_at(&file, 3, 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Creates a folder with a link, a hard link and a pipe to or beside the file `victim`.
    #[cfg(unix)]
    fn planted() -> (tempfile::TempDir, [std::path::PathBuf; 3]) {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("victim"), "precious").unwrap();
        std::os::unix::fs::symlink(path("victim"), path("link")).unwrap();
        fs::hard_link(path("victim"), path("hard")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        let planted = ["link", "hard", "pipe"].map(path);
        (dir, planted)
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_a_temporary_file_is_not_followed() {
        use io::Write as _;
        for open in [create, open_or_create] {
            let (dir, planted) = planted();
            for path in planted {
                let mut file = open(&path).unwrap();
                assert_eq!(file.metadata().unwrap().len(), 0);
                file.write_all(b"ours").unwrap();
                assert!(fs::symlink_metadata(&path).unwrap().is_file());
                assert_eq!(fs::read(&path).unwrap(), b"ours");
            }
            assert_eq!(fs::read(dir.path().join("victim")).unwrap(), b"precious");
        }
    }

    #[test]
    fn a_temporary_file_of_an_interrupted_run_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "half").unwrap();
        assert_eq!(open_or_create(&path).unwrap().metadata().unwrap().len(), 4);
        assert_eq!(create(&path).unwrap().metadata().unwrap().len(), 0);
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
