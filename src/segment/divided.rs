//! The entries of a segment's tables on the disk, until they are sorted: a temporary file beside
//! the segment that is being written.
//!
//! It is never synced and never published. What was stored is compared with its checksum when it is
//! read again: a table must not be built from other bytes than were written.

use super::tables::{Partitions, Rebuild};
use crate::format::bytes::index;
use crate::storage::{File, OpenMode, Storage, names};
use crate::{Error, ErrorKind, OrIo, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of an entry.
const ENTRY_BYTES: usize = 8;
/// Number of bytes after which the last entries are not stored in the same step.
const STORED_BYTES_MAX: u64 = 4 << 20;

/// The entries of some passes: mostly of all band tables, or of the table of keys.
#[derive(Debug)]
pub(super) struct Divided {
    pub(super) partitions: Partitions,
    /// Whether all documents are divided, and their entries stored.
    pub(super) is_whole: bool,
    file: Arc<dyn File>,
    /// Where the entries of each partition are.
    chunks: Vec<Vec<Chunk>>,
    /// Number of chunks of the current partition that were read.
    read: usize,
    end: u64,
    bytes: Vec<u8>,
    entries: Vec<u64>,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// Whether the file has no name, so that nothing is left of it after a crash.
    is_removed: bool,
}

/// Entries that were stored together.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    offset: u64,
    bytes: u32,
    crc: u32,
}

impl Divided {
    /// Begins to divide entries of a segment that will lie at `path`.
    pub(super) fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        partitions: Partitions,
    ) -> io::Result<Self> {
        let path = names::entries_tmp_of(path);
        let file = storage.open(&path, OpenMode::Create)?;
        let is_removed = storage.remove(&path).is_ok();
        let chunks = vec![Vec::new(); partitions.count()];
        let (storage, bytes, entries) = (Arc::clone(storage), Vec::new(), Vec::new());
        Ok(Self {
            partitions,
            is_whole: false,
            file,
            chunks,
            read: 0,
            end: 0,
            bytes,
            entries,
            storage,
            path,
            is_removed,
        })
    }

    /// Divides the entries of the next signatures of `signature_bytes` each. Returns the number of
    /// stored bytes.
    pub(super) fn signatures(
        &mut self,
        rebuild: &Rebuild,
        signatures: &[u8],
        (signature_bytes, docs): (usize, u32),
    ) -> io::Result<usize> {
        let parts = signatures.chunks(signature_bytes * self.partitions.docs_max());
        let stored = parts.map(|part| {
            rebuild.divide_signatures(part, &mut self.partitions);
            self.store(docs)
        });
        stored.sum()
    }

    /// Divides the entries of the next key hashes. Returns the number of stored bytes.
    pub(super) fn keys(
        &mut self,
        rebuild: &Rebuild,
        hashes: &[u64],
        docs: u32,
    ) -> io::Result<usize> {
        let stored = hashes.chunks(self.partitions.docs_max()).map(|part| {
            rebuild.divide_keys(part, &mut self.partitions);
            self.store(docs)
        });
        stored.sum()
    }

    /// Stores the buffers that are nearly full; once all `docs` are divided, some of all of them,
    /// until there are no more. Returns the number of bytes.
    pub(super) fn store(&mut self, docs: u32) -> io::Result<usize> {
        let (all, begin) = (self.partitions.ordinal() == docs, self.end);
        while let Some((partition, entries)) = self.partitions.full(all) {
            self.bytes.clear();
            self.bytes.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
            self.file.write_at(&self.bytes, self.end)?;
            let bytes = u32::try_from(self.bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
            let crc = crc32fast::hash(&self.bytes);
            self.chunks[partition].push(Chunk { offset: self.end, bytes, crc });
            self.end += u64::from(bytes);
            if all && self.end - begin >= STORED_BYTES_MAX {
                return Ok(usize::try_from(self.end - begin).unwrap_or(usize::MAX));
            }
        }
        if all {
            self.partitions.free();
            self.is_whole = true;
        }
        Ok(usize::try_from(self.end - begin).unwrap_or(usize::MAX))
    }

    /// Feeds the next entries of the pass. Returns the number of bytes.
    pub(super) fn feed(&mut self, rebuild: &mut Rebuild) -> Result<usize> {
        let chunks = &self.chunks[rebuild.partition(&self.partitions)];
        let Some(Chunk { offset, bytes, crc }) = chunks.get(self.read).copied() else {
            self.read = 0;
            rebuild.end_entries();
            return Ok(0);
        };
        self.read += 1;
        self.bytes.resize(index(bytes), 0);
        self.file.read_at(&mut self.bytes, offset).or_io("read back", &self.path)?;
        if crc32fast::hash(&self.bytes) != crc {
            // Not `Corrupt`: the index is as it was.
            let what = format!(
                "cannot sort {}: the disk returned different bytes than were written, at byte \
                 {offset}; check the disk",
                self.path.display()
            );
            return Err(Error::new(ErrorKind::Io, what));
        }
        let (entries, _) = self.bytes.as_chunks::<ENTRY_BYTES>();
        self.entries.clear();
        self.entries.extend(entries.iter().map(|entry| u64::from_le_bytes(*entry)));
        rebuild.entries(&self.entries);
        Ok(self.bytes.len())
    }
}

impl Drop for Divided {
    fn drop(&mut self) {
        if !self.is_removed {
            // If the removal fails again, the next open sweeps the temporary file.
            let _ = self.storage.remove(&self.path);
        }
    }
}
