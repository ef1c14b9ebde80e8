//! A published block file. Opening reads only its ends; each block is verified before its bytes are
//! used.
//!
//! Independent of the content of sections. The file is read in one of two ways. Once every block of
//! the map was verified, the map is plain memory: [`VerifiedBody`]. Before that, and without a map,
//! a read verifies the bytes that it returns, and can fail.

use super::Listed;
use super::header_footer::read_header_and_footer;
use super::read_mode::ReadMode;
use super::verified_blocks::{BlockFetch, VerifiedBlocks};
use crate::format::blocks::{BLOCK_BYTES, Footer, Section, Tail};
use crate::format::bytes::{narrow, wide};
use crate::format::header::FileHeader;
use crate::storage::map::is_without_maps;
use crate::storage::{File, Map, OpenMode, Storage, prefetch};
use crate::{Error, ErrorKind, OrIo, Result};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub(super) type Block = [u8; BLOCK_BYTES];

/// Reads longer than this come from sequential scans and merges. Their pages are requested all at
/// once, because the map has no read-ahead.
const LONG_READ_BYTES: usize = 2 * BLOCK_BYTES;

/// Number of blocks that are verified before their pages are released.
const BLOCKS_PER_RELEASE: usize = small!(blocks::BLOCKS_PER_RELEASE, 1024);

/// An open block file.
pub(super) struct BlockFile {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    listed: Listed,
    header: FileHeader,
    pub(super) footer: Footer,
    /// The length of the body as `usize`.
    pub(super) body_bytes: usize,
    pub(super) tail: Tail,
    /// `None` in `ReadMode::Pread`.
    pub(super) map: Option<Map>,
    pub(super) verified: VerifiedBlocks,
    /// Copies of the verified blocks of the CRC table.
    pub(super) crc_table: Vec<OnceLock<Box<Block>>>,
}

/// The mapped body of a file, once all its blocks were verified since opening: plain memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct VerifiedBody<'a>(&'a [u8]);

impl<'a> VerifiedBody<'a> {
    #[inline]
    pub(super) fn array<const N: usize>(self, offset: u64) -> Option<&'a [u8; N]> {
        self.0.get(usize::try_from(offset).ok()?..)?.first_chunk()
    }

    #[inline]
    fn slice(self, offset: u64, count: usize) -> Option<&'a [u8]> {
        self.0.get(usize::try_from(offset).ok()?..)?.get(..count)
    }

    /// Prefetches the cache line that contains this byte, if the byte exists.
    #[inline]
    pub(super) fn prefetch(self, offset: u64) {
        if let Some(byte) = self.0.get(usize::try_from(offset).unwrap_or(usize::MAX)) {
            prefetch(byte);
        }
    }
}

/// The error if a file cannot be mapped.
pub(crate) fn not_mapped(path: &Path, error: std::io::Error) -> Error {
    if !is_without_maps(&error) {
        return crate::io_error("map", path, error);
    }
    let message = format!(
        "cannot map {}: its file system does not support memory maps ({error}); open the index \
         with ReadMode::Pread, or mount the file system without direct I/O",
        path.display()
    );
    Error::new(ErrorKind::Unsupported, message)
}

impl BlockFile {
    /// Opens the file. Reads and checks only the header and the tail.
    pub(super) fn open(
        storage: &dyn Storage,
        path: &Path,
        listed: &Listed,
        header: &FileHeader,
        mode: ReadMode,
    ) -> Result<Self> {
        let file = match storage.open(path, OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::corrupt(path, 0, "a file of the index is missing"));
            }
            other => other.or_io("open", path)?,
        };
        let (footer, tail) = read_header_and_footer(&*file, path, listed, header)?;
        let map = match mode {
            ReadMode::Pread => None,
            ReadMode::Mmap => Some(file.map().map_err(|error| not_mapped(path, error))?),
        };
        if map.as_ref().is_some_and(|map| wide(map.bytes().len()) != listed.length) {
            return Err(Error::corrupt(path, 0, "file changed its length while it was opened"));
        }
        let body_bytes =
            narrow(footer.body_bytes, "body").map_err(|error| error.in_file(path, 0))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            listed: *listed,
            header: *header,
            footer,
            body_bytes,
            map,
            verified: VerifiedBlocks::new(body_bytes / BLOCK_BYTES),
            crc_table: tail.roots.iter().map(|_| OnceLock::new()).collect(),
            tail,
        })
    }

    /// The file, which stays readable after its name is removed.
    pub(crate) fn file(&self) -> &dyn File {
        &*self.file
    }

    /// A `Corrupt` error that names this file.
    #[cold]
    pub(super) fn corrupt(&self, offset: u64, what: impl fmt::Display) -> Error {
        Error::corrupt(&self.path, offset, what)
    }

    pub(super) fn mapped_bytes(&self) -> u64 {
        self.map.as_ref().map_or(0, |map| wide(map.bytes().len()))
    }

    pub(super) fn blocks(&self) -> usize {
        self.body_bytes / BLOCK_BYTES
    }

    /// The body as plain memory; `None` until every block of the map was verified.
    #[inline]
    pub(super) fn verified(&self) -> Option<VerifiedBody<'_>> {
        let map = self.map.as_ref().filter(|_| !self.verified.any_missing())?;
        map.bytes().get(..self.body_bytes).map(VerifiedBody)
    }

    /// `count` verified bytes of the body. With a map they are a slice of the map, otherwise a
    /// copy.
    #[inline]
    pub(super) fn read(&self, offset: u64, count: usize) -> Result<Cow<'_, [u8]>> {
        if count <= LONG_READ_BYTES
            && let Some(bytes) = self.verified().and_then(|body| body.slice(offset, count))
        {
            return Ok(Cow::Borrowed(bytes));
        }
        self.read_otherwise(offset, count)
    }

    /// Like `read`, for an unverified body, a long read, or a range outside the body.
    #[inline(never)]
    fn read_otherwise(&self, offset: u64, count: usize) -> Result<Cow<'_, [u8]>> {
        let begin = self.range(offset, count)?;
        let Some(map) = &self.map else {
            let mut copy = vec![0; count];
            self.copy_blocks(begin, &mut copy)?;
            return Ok(Cow::Owned(copy));
        };
        if self.verified.any_missing() {
            self.check_range(begin, count)?;
        } else if count > LONG_READ_BYTES {
            // Under memory pressure, pages may have been evicted: request all pages of the read at
            // once.
            map.will_need(begin / BLOCK_BYTES * BLOCK_BYTES, begin % BLOCK_BYTES + count);
        }
        // Cannot panic: the map is as long as the file, and `range` has checked the bounds.
        Ok(Cow::Borrowed(&map.bytes()[begin..begin + count]))
    }

    /// Reads a few verified bytes of the body, without allocation in any mode.
    #[inline]
    pub(super) fn array<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        if let Some(array) = self.verified().and_then(|body| body.array(offset)) {
            return Ok(*array);
        }
        self.array_unverified(offset)
    }

    #[inline(never)]
    fn array_unverified<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let begin = self.range(offset, N)?;
        let mut array = [0; N];
        match &self.map {
            Some(map) => {
                self.check_range(begin, N)?;
                array.copy_from_slice(&map.bytes()[begin..begin + N]);
            }
            None => self.copy_blocks(begin, &mut array)?,
        }
        Ok(array)
    }

    /// Prefetches bytes that will be read soon. In verified memory, prefetches their first and last
    /// cache line; for unverified blocks, starts the disk read. If the offset is wrong, the later
    /// read returns the error.
    #[inline]
    pub(super) fn prefetch(&self, offset: u64, count: usize) {
        match self.verified() {
            Some(body) => {
                body.prefetch(offset);
                body.prefetch(offset.saturating_add(wide(count.saturating_sub(1))));
            }
            None => self.request(std::iter::once((offset, count))),
        }
    }

    /// Starts reading a section and all checksums of the body. The first queries need both.
    pub(super) fn request_section(&self, section: &Section) {
        let (Some(map), Ok(begin), Ok(count)) =
            (&self.map, usize::try_from(section.offset), usize::try_from(section.bytes))
        else {
            return;
        };
        map.will_need(begin / BLOCK_BYTES * BLOCK_BYTES, begin % BLOCK_BYTES + count);
        map.will_need(self.body_bytes, self.crc_table.len() * BLOCK_BYTES);
    }

    /// Verifies every block of the map now, which also maps its pages. If `keep` is set, they stay
    /// mapped.
    pub(super) fn read_back(&self, keep: bool) -> Result<()> {
        let Some(map) = &self.map else { return Ok(()) };
        for begin in (0..self.blocks()).step_by(BLOCKS_PER_RELEASE) {
            let end = self.blocks().min(begin + BLOCKS_PER_RELEASE);
            self.check(begin..end, BlockFetch::Wait)?;
            if !keep {
                map.release(begin * BLOCK_BYTES, (end - begin) * BLOCK_BYTES);
            }
        }
        Ok(())
    }

    /// Releases all mapped pages of the body; later reads map them again.
    pub(super) fn release(&self) {
        if let Some(map) = &self.map {
            map.release(0, self.body_bytes);
        }
    }

    /// Fills `out` from the disk and verifies every block again.
    pub(super) fn read_fresh(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let begin = self.range(offset, out.len())?;
        self.copy_blocks(begin, out)
    }

    /// Reads header and tail from the disk and verifies them again.
    pub(super) fn verify_ends(&self) -> Result<()> {
        read_header_and_footer(&*self.file, &self.path, &self.listed, &self.header).map(|_| ())
    }

    /// Checks that the body has `count` bytes from `offset` on, and converts `offset` to an index.
    #[inline]
    fn range(&self, offset: u64, count: usize) -> Result<usize> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        match begin.checked_add(count) {
            Some(end) if end <= self.body_bytes => Ok(begin),
            _ => Err(self.corrupt(offset, "a reference points outside the file")),
        }
    }

    /// Copies a range of the body from newly read and verified blocks. Whole blocks are read in one
    /// piece.
    fn copy_blocks(&self, mut begin: usize, mut out: &mut [u8]) -> Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        while !out.is_empty() {
            let (block, within) = (begin / BLOCK_BYTES, begin % BLOCK_BYTES);
            let whole = if within == 0 { out.len() / BLOCK_BYTES * BLOCK_BYTES } else { 0 };
            let count = if whole > 0 { whole } else { out.len().min(BLOCK_BYTES - within) };
            let (now, later) = out.split_at_mut(count);
            if whole > 0 {
                self.fetch(block, now)?;
            } else {
                self.fetch(block, &mut bytes)?;
                now.copy_from_slice(&bytes[within..within + count]);
            }
            out = later;
            begin += count;
        }
        Ok(())
    }

    pub(super) fn read_disk(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_at(bytes, offset).or_io("read", &self.path)
    }
}

impl fmt::Debug for BlockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockFile({})", self.path.display())
    }
}
