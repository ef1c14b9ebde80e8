//! A published block file: opened by its tail, each block checked before its bytes are believed.
//!
//! Knows blocks and bytes; not what any section holds.

use super::checked::{Bits, Checked, is_set, words};
use super::ends::read_ends;
use super::first_touch::FirstTouch;
use super::read_mode::ReadMode;
use crate::format::blocks::{BLOCK_BYTES, Footer, Section, Tail};
use crate::format::bytes::{narrow, wide};
use crate::format::header::FileHeader;
use crate::storage::{File, Map, OpenMode, Storage};
use crate::{Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the catalog says of a block file, and `open` must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) number: u64,
    pub(crate) length: u64,
    pub(crate) tail_hash: u64,
}

type Block = [u8; BLOCK_BYTES];

/// Reads longer than this are of walks and merges, which read in order.
const LONG_READ_BYTES: usize = 2 * BLOCK_BYTES;

/// Blocks of the body that one block of the CRC table covers.
const CRCS_PER_BLOCK: usize = BLOCK_BYTES / 4;

/// One open block file.
pub(super) struct BlockFile {
    path: PathBuf,
    file: Arc<dyn File>,
    listed: Listed,
    header: FileHeader,
    footer: Footer,
    /// The body's length once more, as an index.
    body_bytes: usize,
    tail: Tail,
    /// `None` in `ReadMode::Pread`.
    map: Option<Map>,
    /// Blocks of the body whose checksum was found right since opening.
    checked: Bits,
    /// Blocks that a look-up has requested from the disk. A request is a system call, and a
    /// batch requests the same block many times before it reads any. Allocated on first use.
    asked: OnceLock<Vec<AtomicU64>>,
    /// The blocks of the CRC table, copied once checked.
    crc_table: Vec<OnceLock<Box<Block>>>,
}

impl BlockFile {
    /// Opens and checks everything but the body. Reads the header and the tail only.
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
            other => other.map_err(|error| Error::io("open", path, error))?,
        };
        let (footer, tail) = read_ends(&*file, path, listed, header)?;
        let map = match mode {
            ReadMode::Pread => None,
            ReadMode::Mmap => Some(file.map().map_err(|error| Error::io("map", path, error))?),
        };
        if map.as_ref().is_some_and(|map| wide(map.bytes().len()) != listed.length) {
            return Err(Error::corrupt(path, 0, "file changed its length while it was opened"));
        }
        let body_bytes =
            narrow(footer.body_bytes, "body").map_err(|error| error.in_file(path, 0))?;
        let blocks = body_bytes / BLOCK_BYTES;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            listed: *listed,
            header: *header,
            footer,
            body_bytes,
            map,
            checked: Bits::new(blocks),
            asked: OnceLock::new(),
            crc_table: tail.roots.iter().map(|_| OnceLock::new()).collect(),
            tail,
        })
    }

    pub(super) fn footer(&self) -> &Footer {
        &self.footer
    }

    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The file itself, which outlives its name.
    pub(crate) fn file(&self) -> &dyn File {
        &*self.file
    }

    /// An error of kind `Corrupt` that names this file.
    #[cold]
    pub(super) fn corrupt(&self, offset: u64, what: impl fmt::Display) -> Error {
        Error::corrupt(&self.path, offset, what)
    }

    /// What of the body was checked before.
    #[inline]
    pub(super) fn checked(&self) -> Checked<'_> {
        let body = self.map.as_ref().and_then(|map| map.bytes().get(..self.body_bytes));
        Checked::new(body.unwrap_or_default(), &self.checked)
    }

    /// `count` checked bytes of the body: of the map, or a copy where there is none.
    #[inline]
    pub(super) fn read(&self, offset: u64, count: usize) -> Result<Cow<'_, [u8]>> {
        match self.checked().bytes(offset, count) {
            Some(bytes) => {
                // Short of memory, some may have been evicted: the map has no read-ahead.
                if count > LONG_READ_BYTES
                    && let Some(map) = &self.map
                {
                    self.ask_disk(map, offset, count);
                }
                Ok(Cow::Borrowed(bytes))
            }
            None => self.read_first(offset, count),
        }
    }

    #[inline(never)]
    fn read_first(&self, offset: u64, count: usize) -> Result<Cow<'_, [u8]>> {
        let begin = self.range(offset, count)?;
        if let Some(map) = &self.map {
            self.check(begin, count)?;
            // The map is as long as the file, and `range` keeps within the body.
            return Ok(Cow::Borrowed(&map.bytes()[begin..begin + count]));
        }
        let mut copy = vec![0; count];
        self.copy_blocks(begin, &mut copy)?;
        Ok(Cow::Owned(copy))
    }

    /// Asks for bytes of the body that will be read soon: the memory; blocks not yet touched are
    /// read and checked if the system has them, else the disk is asked. Believes nothing: a wrong
    /// place is found when it is read.
    #[inline]
    pub(super) fn ask_for(&self, offset: u64, count: usize) {
        self.ask_of(self.checked(), offset, count, &mut FirstTouch::Take);
    }

    /// As `ask_for`, of many look-ups.
    #[inline]
    pub(super) fn ask_for_of_many(&self, offset: u64, count: usize, touch: &mut FirstTouch) {
        self.ask_of(self.checked(), offset, count, touch);
    }

    /// As `ask_for`, for who has asked what was checked.
    #[inline]
    pub(super) fn ask_of(
        &self,
        checked: Checked<'_>,
        offset: u64,
        count: usize,
        touch: &mut FirstTouch,
    ) {
        match checked.bytes(offset, count) {
            // Two lines: who wants more has it brought by the first reads.
            Some([first, .., last]) => {
                Map::prefetch(first);
                Map::prefetch(last);
            }
            Some(_) => {}
            None => self.ask_first(offset, count, touch),
        }
    }

    /// Asks for what is not at hand: not checked, or in two blocks while not all are.
    #[inline(never)]
    pub(super) fn ask_first(&self, offset: u64, count: usize, touch: &mut FirstTouch) {
        let Some(map) = &self.map else { return };
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let last = begin.saturating_add(count.saturating_sub(1)) / BLOCK_BYTES;
        let mut unchecked =
            (begin / BLOCK_BYTES..=last).filter(|block| !self.checked.has(*block)).peekable();
        if unchecked.peek().is_none() {
            let bytes = map.bytes();
            for place in [begin, begin.wrapping_add(count).wrapping_sub(1)] {
                if let Some(byte) = bytes.get(place) {
                    Map::prefetch(byte);
                }
            }
        } else if let FirstTouch::Note(noted) = touch {
            noted.blocks.extend(unchecked.filter(|block| self.is_news(*block)));
        } else if let Some(block) = unchecked.find(|block| !self.was_asked(*block))
            && !self.take_at_hand(begin, count, touch)
            && self.is_news(block)
        {
            self.ask_disk(map, offset, count);
        }
    }

    /// Whether a range is checked, or the disk was asked for it: under one of its blocks.
    #[cfg(test)]
    pub(super) fn is_known_or_asked(&self, offset: u64, count: usize) -> bool {
        let begin = usize::try_from(offset).expect("in the map");
        let mut blocks = begin / BLOCK_BYTES..=(begin + count - 1) / BLOCK_BYTES;
        blocks.clone().all(|block| self.is_checked(block)) || blocks.any(|at| self.was_asked(at))
    }

    fn was_asked(&self, block: usize) -> bool {
        self.asked.get().is_some_and(|asked| is_set(asked, block))
    }

    /// Whether a block was never asked for: it is now.
    fn is_news(&self, block: usize) -> bool {
        let bit = 1 << (block % 64);
        let is_new = |word: &AtomicU64| word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        self.asked.get_or_init(|| words(self.blocks())).get(block / 64).is_some_and(is_new)
    }

    /// Asks the disk for all from the first of these blocks to the last.
    pub(super) fn ask_disk_for(&self, run: &[usize]) {
        if let (Some(map), [first, ..], [.., last]) = (&self.map, run, run) {
            map.will_need(first * BLOCK_BYTES, (last + 1 - first) * BLOCK_BYTES);
        }
    }

    /// All from the first of these blocks on as they are on the disk, not checked, if the map can
    /// bring them.
    pub(super) fn bring(&self, run: &[usize]) -> Option<&[u8]> {
        let (Some(map), [first, ..], [.., last]) = (&self.map, run, run) else { return None };
        let (begin, end) = (first * BLOCK_BYTES, (last + 1) * BLOCK_BYTES);
        if map.bring(begin, end - begin) { map.bytes().get(begin..end) } else { None }
    }

    /// Asks the disk for a part of the body and for the checksums of all of it: what the first
    /// queries will read.
    pub(super) fn ask_for_part(&self, section: &Section) {
        let (Some(map), Ok(count)) = (&self.map, usize::try_from(section.bytes)) else { return };
        self.ask_disk(map, section.offset, count);
        map.will_need(self.body_bytes, self.crc_table.len() * BLOCK_BYTES);
    }

    #[cold]
    fn ask_disk(&self, map: &Map, offset: u64, count: usize) {
        let Ok(begin) = self.range(offset, count.max(1)) else { return };
        let count = count.max(1);
        let first = begin / BLOCK_BYTES;
        let last = (begin + count - 1) / BLOCK_BYTES;
        map.will_need(first * BLOCK_BYTES, (last + 1 - first) * BLOCK_BYTES);
        let crcs = first / CRCS_PER_BLOCK;
        if self.crc_table[crcs].get().is_none() {
            map.will_need(self.body_bytes + crcs * BLOCK_BYTES, BLOCK_BYTES);
        }
    }

    /// A few checked bytes of the body, without allocating in any mode.
    #[inline]
    pub(super) fn array<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        match self.checked().array(offset) {
            Some(array) => Ok(*array),
            None => self.array_first(offset),
        }
    }

    #[inline(never)]
    fn array_first<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let begin = self.range(offset, N)?;
        let mut array = [0; N];
        match &self.map {
            Some(map) => {
                self.check(begin, N)?;
                array.copy_from_slice(&map.bytes()[begin..begin + N]);
            }
            None => self.copy_blocks(begin, &mut array)?,
        }
        Ok(array)
    }

    /// Fills `out` from the disk, every block checked, whatever was checked before.
    pub(super) fn read_fresh(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let begin = self.range(offset, out.len())?;
        self.copy_blocks(begin, out)
    }

    /// Reads one block from the disk and checks it, and its block of the CRC table, afresh.
    pub(super) fn verify_block(&self, block: usize) -> Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        self.fetch(block, &mut bytes)
    }

    /// Reads one block of the CRC table from the disk and checks it afresh.
    pub(super) fn verify_crc_block(&self, index: usize) -> Result<()> {
        self.fetch_crcs(index).map(|_| ())
    }

    /// Reads header and tail from the disk and checks them afresh.
    pub(super) fn verify_ends(&self) -> Result<()> {
        read_ends(&*self.file, &self.path, &self.listed, &self.header).map(|_| ())
    }

    pub(super) fn blocks(&self) -> usize {
        self.body_bytes / BLOCK_BYTES
    }

    /// `offset` as an index, if `count` bytes of the body follow it.
    #[inline]
    fn range(&self, offset: u64, count: usize) -> Result<usize> {
        let end = offset.checked_add(wide(count));
        match (usize::try_from(offset), end) {
            (Ok(begin), Some(end)) if end <= self.footer.body_bytes => Ok(begin),
            _ => Err(self.corrupt(offset, "a reference leads out of the file")),
        }
    }

    /// Checks the blocks under a range that are not checked yet.
    #[inline]
    fn check(&self, begin: usize, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let first = begin / BLOCK_BYTES;
        let last = (begin + count - 1) / BLOCK_BYTES;
        for block in first..=last {
            if !self.checked.has(block) {
                self.first_touch(block)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn first_touch(&self, block: usize) -> Result<()> {
        // By read and not through the map: a disk that fails is then an error and no signal.
        let mut bytes = [0; BLOCK_BYTES];
        self.fetch(block, &mut bytes)?;
        self.set_checked(block);
        Ok(())
    }

    /// Whether there are blocks to be checked before they are read.
    pub(super) fn may_be_ahead(&self) -> bool {
        self.map.is_some() && self.checked.any_missing()
    }

    /// Whether the system has a part of the body in memory, as far as the map tells.
    pub(super) fn is_at_hand(&self, offset: usize, count: usize) -> bool {
        self.map.as_ref().is_some_and(|map| map.is_at_hand(offset, count))
    }

    /// Whether a block was read and its checksum was right.
    pub(super) fn is_checked(&self, block: usize) -> bool {
        self.checked.has(block)
    }

    /// Notes that one was.
    pub(super) fn set_checked(&self, block: usize) {
        self.set_all_checked(std::iter::once(block));
    }

    /// Notes that these were.
    pub(super) fn set_all_checked(&self, blocks: impl Iterator<Item = usize>) {
        self.checked.set(blocks);
    }

    /// Checks every block of the body as its first touch would, many at once, and has the pages of
    /// the map at hand: in the map, once the system has brought them; where it refuses, by read.
    pub(super) fn read_back(&self) -> Result<()> {
        const TOGETHER: usize = if cfg!(test) { 5 } else { 64 };
        if self.map.is_none() {
            return Ok(());
        }
        let mut read = Vec::new();
        for begin in (0..self.blocks()).step_by(TOGETHER) {
            let blocks = begin..self.blocks().min(begin + TOGETHER);
            let bytes = match self.bring(&[blocks.start, blocks.end - 1]) {
                Some(bytes) => bytes,
                None => {
                    read.resize(blocks.len() * BLOCK_BYTES, 0);
                    self.read_disk(&mut read, wide(blocks.start * BLOCK_BYTES))?;
                    &read
                }
            };
            for (block, bytes) in blocks.zip(bytes.chunks_exact(BLOCK_BYTES)) {
                self.check_block(block, bytes)?;
                self.set_checked(block);
            }
        }
        Ok(())
    }

    /// Copies a range of the body out of freshly read and checked blocks.
    fn copy_blocks(&self, mut begin: usize, mut out: &mut [u8]) -> Result<()> {
        let mut bytes = [0; BLOCK_BYTES];
        while !out.is_empty() {
            self.fetch(begin / BLOCK_BYTES, &mut bytes)?;
            let within = begin % BLOCK_BYTES;
            let count = out.len().min(BLOCK_BYTES - within);
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(&bytes[within..within + count]);
            out = later;
            begin += count;
        }
        Ok(())
    }

    fn fetch(&self, block: usize, bytes: &mut Block) -> Result<()> {
        self.read_disk(bytes, wide(block * BLOCK_BYTES))?;
        self.check_block(block, bytes)
    }

    /// Holds the bytes of a block against its checksum.
    pub(super) fn check_block(&self, block: usize, bytes: &[u8]) -> Result<()> {
        let index = block / CRCS_PER_BLOCK;
        let crcs = if let Some(crcs) = self.crc_table[index].get() {
            crcs
        } else {
            let fetched = self.fetch_crcs(index)?;
            self.crc_table[index].get_or_init(|| fetched)
        };
        let at = block % CRCS_PER_BLOCK * 4;
        if crcs[at..at + 4] != crc32fast::hash(bytes).to_le_bytes() {
            return Err(self.corrupt(wide(block * BLOCK_BYTES), "block checksum does not match"));
        }
        Ok(())
    }

    fn fetch_crcs(&self, index: usize) -> Result<Box<Block>> {
        let mut bytes = Box::new([0; BLOCK_BYTES]);
        let offset = self.footer.body_bytes + wide(index * BLOCK_BYTES);
        self.read_disk(&mut *bytes, offset)?;
        if crc32fast::hash(&*bytes) != self.tail.roots[index] {
            return Err(self.corrupt(offset, "checksum of a block of checksums does not match"));
        }
        Ok(bytes)
    }

    /// Whether a block, and what checks it, could be had without waiting, and is right: then it is
    /// checked.
    pub(super) fn take_block(&self, block: usize) -> bool {
        let mut bytes = [0; BLOCK_BYTES];
        let taken = self.crcs_at_hand(block)
            && self.file.read_at_hand(&mut bytes, wide(block * BLOCK_BYTES))
            && self.check_block(block, &bytes).is_ok();
        if taken {
            self.set_checked(block);
        }
        taken
    }

    /// As `crcs_at_hand`, without making the system bring them.
    pub(super) fn has_crcs_at_hand(&self, block: usize) -> bool {
        let index = block / CRCS_PER_BLOCK;
        let is_here = self.crc_table.get(index).is_some_and(|crcs| crcs.get().is_some());
        let offset = self.body_bytes + index * BLOCK_BYTES;
        is_here || self.is_at_hand(offset, BLOCK_BYTES) && self.crcs_at_hand(block)
    }

    /// Whether what checks a block is here, or could be had without waiting, and is right.
    pub(super) fn crcs_at_hand(&self, block: usize) -> bool {
        let index = block / CRCS_PER_BLOCK;
        let Some(crcs) = self.crc_table.get(index) else { return false };
        if crcs.get().is_none() {
            let mut bytes = Box::new([0; BLOCK_BYTES]);
            let offset = self.footer.body_bytes + wide(index * BLOCK_BYTES);
            if !self.file.read_at_hand(&mut *bytes, offset)
                || crc32fast::hash(&*bytes) != self.tail.roots[index]
            {
                return false;
            }
            crcs.get_or_init(|| bytes);
        }
        true
    }

    pub(super) fn read_disk(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_at(bytes, offset).map_err(|error| Error::io("read", &self.path, error))
    }
}

impl fmt::Debug for BlockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockFile({})", self.path.display())
    }
}
