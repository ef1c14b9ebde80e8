//! An output file of independently compressed blocks. It can be truncated after a block and
//! continued; the result is byte for byte the same as without the interruption.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "writes the user's files, never the index's"
)]

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use nearkin_input::files;
use nearkin_input::on_disk;
use nearkin_kit::checkpoint;
use nearkin_kit::failure::Failure;
use nearkin_kit::scratch;

/// A block ends after the line with which it reaches this size. This is large enough for good
/// compression.
const BLOCK_BYTES: usize = 1 << 20;

/// Number of blocks that are compressed in parallel.
const BLOCKS: usize = 8;

/// A file that gets its final name when it is complete.
pub(super) struct Packed {
    file: File,
    path: PathBuf,
    packing: OutputPacking,
    /// Blocks that are not written yet. All but the last are full.
    blocks: Vec<Vec<u8>>,
    /// Buffers of written blocks, to be reused for the next ones.
    spare: Vec<Vec<u8>>,
    /// Bytes of the file on disk.
    pub(super) bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputPacking {
    None,
    Gzip,
    Zstandard,
}

impl OutputPacking {
    fn pack(self, block: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(block),
            Self::Gzip => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(&block)?;
                encoder.finish()
            }
            Self::Zstandard => zstd::bulk::compress(&block, 3),
        }
    }
}

/// The work folder of a run that writes this file.
pub(super) fn work_folder(out: &Path) -> PathBuf {
    let mut folder = out.as_os_str().to_owned();
    folder.push(".nearkin-work");
    PathBuf::from(folder)
}

fn writing(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot write {}: {error}", path.display()),
        "fix the cause and run the command again: it continues where it stopped",
    )
}

impl Packed {
    /// Opens a partial file and truncates it to `bytes`. Returns `None` if it is shorter than that.
    pub(super) fn open(path: &Path, bytes: u64) -> Result<Option<Self>, Failure> {
        let failed = |error: io::Error| writing(path, &error);
        let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        let packing = match ending.as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("gz") => OutputPacking::Gzip,
            Some("zst" | "zstd") => OutputPacking::Zstandard,
            _ => OutputPacking::None,
        };
        let mut file = scratch::open_or_create(&files::unfinished(path)).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < bytes {
            return Ok(None);
        }
        file.set_len(bytes).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let (path, blocks, spare) = (path.to_owned(), Vec::new(), Vec::new());
        Ok(Some(Self { file, path, packing, blocks, spare, bytes }))
    }

    /// Appends a line and its end.
    pub(super) fn line(&mut self, line: &[u8], line_end: &[u8]) -> Result<(), Failure> {
        let Some(block) = self.blocks.last_mut().filter(|block| block.len() < BLOCK_BYTES) else {
            if self.blocks.len() == BLOCKS {
                self.end_block()?;
            }
            let new = || Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 8);
            self.blocks.push(self.spare.pop().unwrap_or_else(new));
            return self.line(line, line_end);
        };
        block.extend_from_slice(line);
        block.extend_from_slice(line_end);
        // A few long lines can make a block as large as `BLOCKS` normal blocks. Write such a block
        // now, so that long lines take no more memory than short ones.
        if block.len() < BLOCKS * BLOCK_BYTES { Ok(()) } else { self.end_block() }
    }

    /// Compresses and writes all blocks, also the last one if it is not full. Lines added later go
    /// into a new block, so the file can be truncated here and continued.
    pub(super) fn end_block(&mut self) -> Result<(), Failure> {
        let blocks = std::mem::take(&mut self.blocks);
        let packing = self.packing;
        let packed: Vec<_> = match packing {
            OutputPacking::None => blocks.into_iter().map(Ok).collect(),
            _ => blocks.into_par_iter().map(|block| packing.pack(block)).collect(),
        };
        let write = || {
            for block in packed {
                let mut block = block?;
                self.file.write_all(&block)?;
                self.bytes += block.len() as u64;
                // The buffer of an unusually long line is not kept.
                if packing == OutputPacking::None && block.len() < 2 * BLOCK_BYTES {
                    block.clear();
                    self.spare.push(block);
                }
            }
            Ok(())
        };
        write().map_err(|error| writing(&self.path, &error))
    }

    /// Makes everything written durable.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.file.sync_data().map_err(|error| writing(&self.path, &error))
    }

    /// Completes the file. If a compressed file has no content, it gets one empty block, because an
    /// empty file is not valid gzip or Zstandard.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.bytes == 0 && self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        self.end_block()?;
        self.file.sync_all().map_err(|error| writing(&self.path, &error))
    }
}

/// What tells a file from every other one at its path. (The number of its file system may be
/// another one after a restart.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutputFile {
    bytes: u64,
    /// The number of the file in its file system, which a later file may get.
    inode: u64,
    /// Nanoseconds since 1970, where the system reports them.
    created: Option<u64>,
}

impl OutputFile {
    /// The file at this path; `None` if there is none, or if the system does not report its number.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        let created = data.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let created = created.and_then(|time| u64::try_from(time.as_nanos()).ok());
        Some(Self { bytes: data.len(), inode: on_disk::id(path, &data)?.inode, created })
    }

    /// The file at this path before it gets its name.
    pub(super) fn unfinished(path: &Path) -> Option<Self> {
        Self::at(&files::unfinished(path))
    }

    /// The same while it is written, whatever its length.
    pub(super) fn growing(path: &Path) -> Option<Self> {
        Self::unfinished(path).map(|file| Self { bytes: 0, ..file })
    }
}

/// Where a finished file is: it has its final name if the run gave it that before an interruption.
/// `None` if there is another file, or none.
pub(super) fn finished(path: &Path, file: Option<OutputFile>) -> Option<PathBuf> {
    let tmp = files::unfinished(path);
    match file {
        None => tmp.exists().then_some(tmp),
        Some(_) => [tmp, path.to_owned()].into_iter().find(|path| OutputFile::at(path) == file),
    }
}

/// Renames a finished file to its final name, unless that has already been done.
pub(super) fn publish(path: &Path, finished: &Path) -> Result<(), Failure> {
    let renamed = if finished == path { Ok(()) } else { scratch::rename(finished, path) };
    renamed.and_then(|()| checkpoint::sync_folder(path)).map_err(|error| writing(path, &error))
}

/// Deletes a partial file that will not be continued.
pub(super) fn discard(path: &Path) {
    // If the file cannot be deleted, [`Packed::open`] truncates it.
    let _ = fs::remove_file(files::unfinished(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_and_lines_are_as_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        let mut out = Packed::open(&path, 0).unwrap().unwrap();
        let line = |at: usize| vec![b'a' + u8::try_from(at % 26).unwrap(); 100_000 + at];
        let mut expected = Vec::new();
        for at in 0..300 {
            out.line(&line(at), b"\n").unwrap();
            expected.extend(line(at));
            expected.push(b'\n');
        }
        // This line is as large as all blocks together, so the block that contains it is written at
        // once, and its buffer is not reused.
        let long = vec![b'z'; BLOCKS * BLOCK_BYTES];
        out.line(&long, b"\n").unwrap();
        expected.extend(long);
        expected.push(b'\n');
        assert!((1..=BLOCKS).contains(&out.spare.len()), "{}", out.spare.len());
        assert!(out.spare.iter().all(|block| block.capacity() <= 2 * BLOCK_BYTES));
        assert_eq!(out.bytes, expected.len() as u64);
        out.finish().unwrap();
        publish(&path, &finished(&path, None).unwrap()).unwrap();
        assert!(fs::read(&path).unwrap() == expected);
    }

    #[test]
    fn a_file_that_another_one_replaced_is_not_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        Packed::open(&path, 0).unwrap().unwrap().finish().unwrap();
        let before = OutputFile::growing(&path);
        fs::write(files::unfinished(&path), "more").unwrap();
        assert!(before.is_some() && OutputFile::growing(&path) == before);
        if before.and_then(|file| file.created).is_none() {
            println!("SKIPPED: the system does not report when a file was created");
            return;
        }
        // The next file may get the same number.
        discard(&path);
        std::thread::sleep(std::time::Duration::from_millis(50));
        Packed::open(&path, 0).unwrap().unwrap().finish().unwrap();
        assert_ne!(OutputFile::growing(&path), before);
    }

    #[test]
    fn only_the_file_of_the_run_counts_as_published() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        Packed::open(&path, 0).unwrap().unwrap().finish().unwrap();
        let tmp = files::unfinished(&path);
        let file = OutputFile::unfinished(&path);
        // A copy stands for another run's file, and the file itself for one of this run.
        let own = dir.path().join("own");
        fs::rename(&tmp, &own).unwrap();
        fs::copy(&own, &tmp).unwrap();
        assert_eq!(finished(&path, file), None);
        fs::rename(&own, &tmp).unwrap();
        assert_eq!(finished(&path, file), Some(tmp.clone()));
        publish(&path, &tmp).unwrap();
        assert_eq!(finished(&path, file), Some(path.clone()));
        let others = dir.path().join("others");
        fs::write(&others, "of another").unwrap();
        fs::rename(&others, &path).unwrap();
        assert_eq!((finished(&path, file), finished(&path, None)), (None, None));
    }
}
