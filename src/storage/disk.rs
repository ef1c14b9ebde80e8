//! The real disk: std's files, positioned, counted.
//!
//! The only file that names `std::fs`. Knows nothing of content or of names.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is the place the bans point to"
)]

use super::lock::Lock;
use super::{Counters, Entry, File, Map, OpenMode, Storage};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The operating system's file system.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    tally: Arc<Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    syncs: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(crate::format::bytes::wide(count), Ordering::Relaxed);
}

impl Storage for Disk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            // The folder mostly says so itself.
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                // Removed since the folder was read: by now it is not there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            entries.push(Entry {
                // A name that is not Unicode is none of ours; it must only not look like one.
                name: entry.file_name().to_string_lossy().into_owned(),
                is_dir: kind.is_dir(),
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn bytes_of(&self, path: &Path) -> io::Result<u64> {
        // Without opening it: who knows what it is.
        Ok(fs::symlink_metadata(path)?.len())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::Create => {
                options.write(true).create(true).truncate(true);
            }
        }
        let (file, tally) = (options.open(path)?, Arc::clone(&self.tally));
        Ok(Arc::new(DiskFile { file, at_hand: OnceLock::new(), tally }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.tally.syncs.fetch_add(1, Ordering::Relaxed);
        if cfg!(windows) {
            return Ok(()); // Windows has no such operation; NTFS journals its names
        }
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let file = fs::OpenOptions::new().read(true).append(true).create(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock::new(Held(file))),
            Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        let file = fs::File::open(path)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Lock::new(Held(file))),
            Err(fs::TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn counters(&self) -> Counters {
        Counters {
            bytes_read: self.tally.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.tally.bytes_written.load(Ordering::Relaxed),
            syncs: self.tally.syncs.load(Ordering::Relaxed),
        }
    }
}

/// A locked file. A process that this one has just started shares the open file until its exec,
/// and closing ours alone would leave the lock with it: so it is given up by name.
struct Held(fs::File);

impl Drop for Held {
    fn drop(&mut self) {
        // If it fails, the lock goes with the last handle of the file.
        let _ = self.0.unlock();
    }
}

#[derive(Debug)]
struct DiskFile {
    file: fs::File,
    /// The file once more, to read what of it is in memory: what is not, the system then brings
    /// without what follows it, up to megabytes, as it would by the other handle. None where it
    /// cannot be had.
    at_hand: OnceLock<Option<fs::File>>,
    tally: Arc<Tally>,
}

impl File for DiskFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        add(&self.tally.bytes_read, buffer.len());
        read_exact_at(&self.file, buffer, offset)
    }

    fn read_at_hand(&self, buffer: &mut [u8], offset: u64) -> bool {
        let file = self.at_hand.get_or_init(|| second_handle(&self.file));
        let copied = file.as_ref().map(|file| Map::copy_at_hand(file, buffer, offset));
        let done = matches!(copied, Some(Ok(true)));
        if done {
            add(&self.tally.bytes_read, buffer.len());
        }
        done
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        add(&self.tally.bytes_written, buffer.len());
        write_all_at(&self.file, buffer, offset)
    }

    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        Map::start_writing(&self.file, offset, bytes)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.tally.syncs.fetch_add(1, Ordering::Relaxed);
        // fdatasync: the content and the length, which is what the promise needs.
        self.file.sync_data()
    }

    fn map(&self) -> io::Result<Map> {
        Map::of(&self.file)
    }
}

/// Another handle of an open file, whatever became of its name, that reads nothing ahead and tells
/// what is in memory; none where the system has no such thing.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn second_handle(file: &fs::File) -> Option<fs::File> {
    let number = std::os::fd::AsRawFd::as_raw_fd(file);
    let second = fs::File::open(format!("/proc/thread-self/fd/{number}")).ok()?;
    Map::read_nothing_ahead(&second).ok()?;
    Map::copy_at_hand(&second, &mut [0], 0).ok()?;
    Some(second)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn second_handle(_: &fs::File) -> Option<fs::File> {
    None
}

#[cfg(unix)]
fn read_exact_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_all_at(file: &fs::File, buffer: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &fs::File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                buffer = &mut buffer[count..];
                offset += crate::format::bytes::wide(count);
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &fs::File, mut buffer: &[u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                buffer = &buffer[count..];
                offset += crate::format::bytes::wide(count);
            }
        }
    }
    Ok(())
}
