//! Writes a block file under its temporary name, through positioned streams. Computes CRCs on the
//! fly.
//!
//! Independent of the content of sections.

use super::Listed;
use crate::format::blocks::{BLOCK_BYTES, Footer, Geometry, PROPERTY_BYTES, Section, Tail};
use crate::format::bytes::{narrow, wide};
use crate::format::header::{FileHeader, FileKind};
use crate::storage::{File, OpenMode, Storage, names, publish};
use crate::{Error, ErrorKind, OrIo, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Buffer size of a stream. Checksums are computed when the buffer is full.
const BUFFER_BYTES: usize = small!(writer::BUFFER_BYTES, 64 * 1024);
/// Number of written bytes after which the file is synced. Without these syncs, the final sync
/// would write gigabytes, and concurrent syncs of the log would wait for it.
const UNSYNCED_BYTES_MAX: usize = small!(writer::UNSYNCED_BYTES_MAX, 32 << 20);

/// A block file being written through [`Stream`]s. After an error it can only be dropped. Dropping
/// it before it is published removes the temporary file.
#[derive(Debug)]
pub(super) struct Output {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    tmp: PathBuf,
    is_published: bool,
    file: Arc<dyn File>,
    /// CRC of each block, by the number of the block. Set for the blocks that one stream wrote
    /// completely.
    crcs: Vec<u32>,
    /// CRCs of the pieces of blocks that several streams share.
    pieces: Vec<BlockPart>,
    /// Size and alignment of a write.
    write_bytes: usize,
    /// Units that are not fully written yet. There are at most five, for any number of bands. Three
    /// hold the current positions of the fingerprints, the ordinals and the directories. One is
    /// shared by the end of a table's fingerprints and the start of its ordinals, and one by the
    /// end of the tables and the start of the directories.
    units: Vec<Unit>,
    /// Buffers of written units, for reuse.
    spare: Vec<Vec<u8>>,
    /// The end of the last `write_until`: everything before it is written.
    written_until: u64,
    /// Number of bytes written since the last sync.
    unsynced_bytes: usize,
}

/// A piece of a block, written by one stream.
#[derive(Debug, Clone, Copy)]
struct BlockPart {
    offset: u64,
    bytes: u64,
    crc: u32,
}

/// An aligned range of the file, `write_bytes` long, that is written as a whole. Several streams
/// may fill it; each byte is written once.
#[derive(Debug)]
struct Unit {
    number: usize,
    /// Number of bytes at the start of the unit that were written to the file earlier.
    written: usize,
    /// Number of bytes added since then.
    filled: usize,
    bytes: Vec<u8>,
}

/// A stream of consecutive bytes into the file.
#[derive(Debug)]
pub(super) struct Stream {
    /// File offset of the buffer's first byte.
    offset: u64,
    buffer: Vec<u8>,
}

impl Stream {
    pub(super) fn at(offset: u64) -> Self {
        Self { offset, buffer: Vec::new() }
    }

    /// File offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.offset + wide(self.buffer.len())
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], output: &mut Output) -> Result<()> {
        if self.buffer.len() + bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.push_and_write(bytes, output)
    }

    #[inline(never)]
    fn push_and_write(&mut self, bytes: &[u8], output: &mut Output) -> Result<()> {
        for part in bytes.chunks(BUFFER_BYTES) {
            self.buffer.extend_from_slice(part);
            if self.buffer.len() >= BUFFER_BYTES {
                let end = self.position() / wide(BLOCK_BYTES) * wide(BLOCK_BYTES);
                self.write_until(end, output)?;
            }
        }
        Ok(())
    }

    /// Pads with zeros up to `position`.
    pub(super) fn pad_to(&mut self, position: u64, output: &mut Output) -> Result<()> {
        let gap = position.checked_sub(self.position());
        let gap = gap.and_then(|gap| usize::try_from(gap).ok()).filter(|gap| *gap < BLOCK_BYTES);
        let gap = gap.expect("the layout leaves gaps shorter than a block");
        self.push(&[0; BLOCK_BYTES][..gap], output)
    }

    /// Flushes the buffer. The stream stays usable.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        self.write_until(self.position(), output)
    }

    fn write_until(&mut self, end: u64, output: &mut Output) -> Result<()> {
        let count = usize::try_from(end - self.offset).expect("the buffer is in memory");
        output.write(self.offset, &self.buffer[..count])?;
        self.buffer.drain(..count);
        self.offset = end;
        Ok(())
    }
}

impl Output {
    /// Creates the file under its temporary name. `write_bytes` is the size of a write.
    pub(super) fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        write_bytes: usize,
    ) -> Result<Self> {
        let tmp = names::tmp_of(path);
        let file = storage.open(&tmp, OpenMode::Create).or_io("create", &tmp)?;
        Ok(Self {
            storage: Arc::clone(storage),
            path: path.to_path_buf(),
            tmp,
            is_published: false,
            file,
            crcs: Vec::new(),
            pieces: Vec::new(),
            write_bytes,
            units: Vec::new(),
            spare: Vec::new(),
            written_until: 0,
            unsynced_bytes: 0,
        })
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = BLOCK_BYTES - block_and_within(at).1;
            let (piece, later) = rest.split_at(rest.len().min(room));
            let crc = crc32fast::hash(piece);
            if piece.len() == BLOCK_BYTES {
                let block = block_and_within(at).0;
                if self.crcs.len() <= block {
                    self.crcs.resize(block + 1, 0);
                }
                self.crcs[block] = crc;
            } else {
                self.pieces.push(BlockPart { offset: at, bytes: wide(piece.len()), crc });
            }
            at += wide(piece.len());
            rest = later;
        }
        self.collect(offset, bytes)
    }

    /// Copies bytes into their units, and writes units that are full.
    fn collect(&mut self, offset: u64, mut bytes: &[u8]) -> Result<()> {
        let (mut at, unit_bytes) = (addressable(offset), self.write_bytes);
        while !bytes.is_empty() {
            let within = at % unit_bytes;
            let (piece, later) = bytes.split_at(bytes.len().min(unit_bytes - within));
            let nth = self.unit(at / unit_bytes);
            let unit = &mut self.units[nth];
            let end = within + piece.len();
            if unit.bytes.len() < end {
                unit.bytes.resize(end, 0);
            }
            unit.bytes[within..end].copy_from_slice(piece);
            unit.filled += piece.len();
            if unit.written + unit.filled == unit_bytes {
                let unit = self.units.swap_remove(nth);
                self.write_unit(unit)?;
            }
            at += piece.len();
            bytes = later;
        }
        Ok(())
    }

    /// The index in `units` of the unit with this number, which is added if it is missing.
    fn unit(&mut self, number: usize) -> usize {
        if let Some(nth) = self.units.iter().position(|unit| unit.number == number) {
            return nth;
        }
        let written = addressable(self.written_until).saturating_sub(number * self.write_bytes);
        let mut bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.write_bytes));
        bytes.clear();
        self.units.push(Unit { number, written, filled: 0, bytes });
        self.units.len() - 1
    }

    /// Writes all buffered bytes. The streams must have pushed every byte before `end`, and none
    /// after it. So `end` is the end of the sections that will be read back, or of the whole body.
    pub(super) fn write_until(&mut self, end: u64) -> Result<()> {
        for unit in std::mem::take(&mut self.units) {
            let begin = unit.number * self.write_bytes + unit.written;
            assert!(begin + unit.filled == addressable(end), "streams leave no gaps");
            self.write_unit(unit)?;
        }
        self.written_until = end;
        Ok(())
    }

    fn write_unit(&mut self, unit: Unit) -> Result<()> {
        let Unit { number, written, filled, bytes } = unit;
        let offset = wide(number * self.write_bytes + written);
        // Starts writeback of whole units only: the others are mostly the last, which are synced at
        // once.
        let written = self.file.write_at(&bytes[written..written + filled], offset);
        let started = written.and_then(|()| {
            if filled < self.write_bytes {
                return Ok(());
            }
            self.file.start_writing(offset, wide(filled))
        });
        started.or_io("write", &self.tmp)?;
        self.spare.push(bytes);
        self.unsynced_bytes += filled;
        if self.unsynced_bytes >= UNSYNCED_BYTES_MAX {
            self.unsynced_bytes = 0;
            self.file.sync().or_io("sync", &self.tmp)?;
        }
        Ok(())
    }

    /// Reads written bytes back into a buffer and verifies them: if the disk returns other bytes
    /// than were written, no table must be built from them.
    pub(super) fn read_back<'b>(
        &self,
        range: std::ops::Range<u64>,
        out: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        let (block, end) = (wide(BLOCK_BYTES), self.written_until);
        let begin = range.start / block * block;
        let until = range.end.next_multiple_of(block).min(end);
        assert!(range.start <= range.end && range.end <= end, "only what was written is read back");
        let count =
            usize::try_from(until - begin).expect("callers read only ranges that fit in memory");
        // The read overwrites all bytes, so old bytes need not be cleared.
        out.resize(count, 0);
        self.file.read_at(out, begin).or_io("read back", &self.tmp)?;
        for (index, bytes) in out.chunks(BLOCK_BYTES).enumerate() {
            let offset = begin + wide(index * BLOCK_BYTES);
            let expected = if bytes.len() == BLOCK_BYTES && !self.is_shared(offset) {
                self.crcs[block_and_within(offset).0]
            } else {
                self.combined(offset, wide(bytes.len()))
            };
            if crc32fast::hash(bytes) != expected {
                // Not `Corrupt`: only this unfinished file is damaged, not the index.
                let what = format!(
                    "cannot build {}: the disk returned different bytes than were written, at \
                     byte {offset}; check the disk",
                    self.tmp.display()
                );
                return Err(Error::new(ErrorKind::Io, what));
            }
        }
        let skip = usize::try_from(range.start - begin).expect("less than a block");
        let end = usize::try_from(range.end - begin).expect("less than was read");
        Ok(&out[skip..end])
    }

    fn is_shared(&self, block: u64) -> bool {
        let end = block + wide(BLOCK_BYTES);
        self.pieces.iter().any(|piece| piece.offset >= block && piece.offset < end)
    }

    /// The CRC of `bytes` bytes from `offset` on. The pieces must cover them exactly.
    fn combined(&self, offset: u64, bytes: u64) -> u32 {
        let end = offset + bytes;
        let mut pieces: Vec<BlockPart> = self.pieces.clone();
        pieces.retain(|piece| piece.offset >= offset && piece.offset < end);
        pieces.sort_by_key(|piece| piece.offset);
        let mut hasher = crc32fast::Hasher::new();
        let mut at = offset;
        for piece in pieces {
            assert!(piece.offset == at, "streams neither overlap nor leave gaps");
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(piece.crc, piece.bytes));
            at += piece.bytes;
        }
        assert!(at == end, "streams fill their blocks");
        hasher.finalize()
    }

    /// Writes the CRC table and the tail after a body of `body_bytes`, and publishes the file. If
    /// publishing fails, the file may have either name; the next open sweeps what is left of it.
    pub(super) fn publish(
        mut self,
        header: &FileHeader,
        body_bytes: u64,
        sections: &[Section],
        properties: [u8; PROPERTY_BYTES],
    ) -> Result<Listed> {
        self.write_until(body_bytes)?;
        let crcs = self.finish_crcs(body_bytes)?;
        let roots: Vec<u32> = crcs.chunks(BLOCK_BYTES).map(crc32fast::hash).collect();
        let tail = Tail { roots, sections: sections.to_vec(), properties };
        let mut tail_bytes = tail.encode();
        let count = u32::try_from(sections.len()).expect("a block file has few sections");
        let geometry = Geometry::for_body(body_bytes, count).expect("the body was written");
        let footer = Footer {
            file_bytes: geometry.file_bytes,
            body_bytes,
            tail_offset: geometry.tail_offset,
            number: header.number,
            sections: count,
            kind: header.kind,
            tail_crc: crc32fast::hash(&tail_bytes),
        };
        tail_bytes.extend_from_slice(&footer.encode());
        for (bytes, offset) in [(&crcs, body_bytes), (&tail_bytes, geometry.tail_offset)] {
            self.file.write_at(bytes, offset).or_io("write", &self.tmp)?;
        }
        publish(&*self.storage, &*self.file, &self.tmp, &self.path).or_io("publish", &self.path)?;
        self.is_published = true;
        Ok(Listed {
            number: header.number,
            length: geometry.file_bytes,
            tail_hash: xxhash_rust::xxh3::xxh3_64(&tail_bytes),
        })
    }

    /// The CRC table, padded to whole blocks.
    fn finish_crcs(&mut self, body_bytes: u64) -> Result<Vec<u8>> {
        let blocks =
            narrow(body_bytes, "body").map_err(|error| error.in_file(&self.tmp, 0))? / BLOCK_BYTES;
        self.crcs.resize(blocks, 0);
        let mut shared: Vec<usize> =
            self.pieces.iter().map(|piece| block_and_within(piece.offset).0).collect();
        shared.sort_unstable();
        shared.dedup();
        for block in shared {
            self.crcs[block] = self.combined(wide(block * BLOCK_BYTES), wide(BLOCK_BYTES));
        }
        let mut bytes: Vec<u8> = self.crcs.iter().flat_map(|crc| crc.to_le_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        Ok(bytes)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_published {
            // If the removal fails, the next open sweeps the temporary file.
            let _ = self.storage.remove(&self.tmp);
        }
    }
}

fn block_and_within(offset: u64) -> (usize, usize) {
    let offset = addressable(offset);
    (offset / BLOCK_BYTES, offset % BLOCK_BYTES)
}

fn addressable(offset: u64) -> usize {
    usize::try_from(offset).expect("a file being written is addressable")
}

/// The header of a block file of this kind, number and shape.
pub(super) fn header(kind: FileKind, number: u64, shape: &super::Shape) -> FileHeader {
    FileHeader { kind, uuid: shape.uuid, number, params_id: shape.params_id }
}
