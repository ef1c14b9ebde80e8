//! Reads the documents of a segment by ordinal. (`look_up.rs` finds ordinals by BandKey.)
//!
//! Does not know which documents are dead: a dead document reads like a live one.

use super::blocks::BlockFile;
use super::writer::header;
use super::{Listed, ReadMode, Shape};
use crate::filter::Columns;
use crate::format::blocks::{
    DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, STARTS_PER_BASE, Section, SegmentLayout, SegmentProperties,
};
use crate::format::bytes::{index, wide};
use crate::format::header::FileKind;
use crate::storage::{File, Storage};
use crate::{Error, Result};
use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Keys are read 64 documents at a time, together with the payloads, if these documents have at
/// most this many bytes in total. Otherwise the keys are read one by one.
const NEAR_BYTES_MAX: usize = small!(reader::NEAR_BYTES_MAX, 64 << 10);

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) blocks: BlockFile,
    pub(super) properties: SegmentProperties,
    pub(super) layout: SegmentLayout,
    pub(super) shape: Shape,
    pub(super) groups: u32,
    /// The columns of the index's filter that hold the BandKeys of this segment, once it is
    /// covered.
    pub(super) columns: OnceLock<Arc<Columns>>,
}

/// The key and payload of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredDocument<'a> {
    pub(crate) key: Cow<'a, [u8]>,
    pub(crate) payload: Cow<'a, [u8]>,
}

impl Segment {
    /// The file, which stays readable after its name is removed.
    pub(crate) fn file(&self) -> &dyn File {
        self.blocks.file()
    }

    /// Opens a published segment. Reads and checks only the header and the tail.
    pub(crate) fn open(
        storage: &dyn Storage,
        path: &Path,
        listed: &Listed,
        shape: &Shape,
        mode: ReadMode,
    ) -> Result<Self> {
        shape.assert_valid();
        let expected = header(FileKind::Segment, listed.number, shape);
        let blocks = BlockFile::open(storage, path, listed, &expected, mode)?;
        let (footer, tail) = (&blocks.footer, &blocks.tail);
        let decode = || {
            let properties = SegmentProperties::decode(&tail.properties)?;
            let layout = SegmentLayout::decode(&properties, &tail.sections, footer.body_bytes)?;
            Ok((properties, layout))
        };
        let (properties, layout) = decode()
            .map_err(|error: crate::format::DecodeError| error.in_file(path, footer.tail_offset))?;
        let agrees = properties.tables == shape.tables()
            && u32::try_from(shape.signature_bytes) == Ok(properties.signature_bytes);
        if !agrees {
            return Err(
                blocks.corrupt(footer.tail_offset, "bands or rows differ from those of the index")
            );
        }
        let (groups, columns) = (properties.groups(), OnceLock::new());
        Ok(Self { groups, shape: *shape, blocks, properties, layout, columns })
    }

    /// Starts reading the directories (4 bytes per table and group), because every query reads them
    /// first. Does not wait, and requests only as much as the system accepts at once. Costs up to
    /// 100 us even if all of them are resident.
    pub(crate) fn request_directories(&self) {
        let [.., directories] = &self.layout.sections;
        self.blocks.request_section(directories);
    }

    /// The first `end` to pass to `warm_up`, which runs from the last block to the first: the
    /// number of blocks, or 0 if the segment is not mapped or all blocks are verified.
    pub(crate) fn warm_up_end(&self) -> usize {
        self.blocks.warm_up_end()
    }

    /// Runs a step of the warm-up: verifies some blocks before block `end` if they are resident.
    /// Returns the `end` of the next step. Takes 15 to 30 us, or about 1 us if the blocks are not
    /// resident.
    pub(crate) fn warm_up(&self, end: usize) -> usize {
        self.blocks.warm_up(end)
    }

    #[cfg(test)]
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.blocks()
    }

    #[cfg(test)]
    pub(crate) fn is_verified(&self, block: usize) -> bool {
        self.blocks.verified.has(block)
    }

    /// Verifies the whole body now, so that queries need not. If `keep` is set, the pages stay
    /// mapped. Does nothing in `ReadMode::Pread`, where every read verifies.
    pub(crate) fn read_back(&self, keep: bool) -> Result<()> {
        self.blocks.read_back(keep)
    }

    /// Number of bytes of the file that are mapped.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        self.blocks.mapped_bytes()
    }

    /// Releases all mapped pages of the body; later reads map them again.
    pub(crate) fn release(&self) {
        self.blocks.release();
    }

    /// Number of documents, including dead ones.
    pub(crate) fn docs(&self) -> u32 {
        self.properties.docs
    }

    /// The least and the greatest time of the documents.
    pub(crate) fn time_range(&self) -> (u64, u64) {
        (self.properties.time_min, self.properties.time_max)
    }

    #[inline]
    pub(crate) fn signature(&self, ordinal: u32) -> Result<Cow<'_, [u8]>> {
        self.signatures(ordinal..ordinal + 1)
    }

    /// The signatures of consecutive documents.
    #[inline]
    pub(crate) fn signatures(&self, ordinals: Range<u32>) -> Result<Cow<'_, [u8]>> {
        assert!(ordinals.start <= ordinals.end && ordinals.end <= self.docs(), "no such ordinal");
        let stride = self.shape.signature_bytes;
        let [signatures, ..] = &self.layout.sections;
        let offset = signatures.offset + wide(index(ordinals.start) * stride);
        self.blocks.read(offset, ordinals.len() * stride)
    }

    pub(crate) fn document(&self, ordinal: u32) -> Result<StoredDocument<'_>> {
        let bytes = self.document_bytes(ordinal)?;
        let key_end = 2 + self.key_bytes(ordinal, &bytes)?;
        Ok(match bytes {
            Cow::Borrowed(bytes) => StoredDocument {
                key: Cow::Borrowed(&bytes[2..key_end]),
                payload: Cow::Borrowed(&bytes[key_end..]),
            },
            Cow::Owned(mut bytes) => {
                let payload = bytes.split_off(key_end);
                bytes.drain(..2);
                StoredDocument { key: Cow::Owned(bytes), payload: Cow::Owned(payload) }
            }
        })
    }

    /// The key of a document. Does not read its payload.
    pub(crate) fn key(&self, ordinal: u32) -> Result<Cow<'_, [u8]>> {
        assert!(ordinal < self.docs(), "no such ordinal");
        let documents = self.documents();
        let begin = self.start(ordinal)?;
        let at = documents.offset.saturating_add(begin);
        let count = usize::from(u16::from_le_bytes(self.blocks.array(at)?));
        let end = begin.saturating_add(2 + wide(count));
        if !(1..=KEY_BYTES_MAX).contains(&count) || end > documents.bytes {
            return Err(self.blocks.corrupt(at, "key has an impossible length"));
        }
        self.blocks.read(at + 2, count)
    }

    /// Calls `visit` with the key of every document whose bit in `dead` is not set, in order, until
    /// it returns `Break`. Short documents are read in groups, including their payloads.
    pub(crate) fn each_key(
        &self,
        dead: &[u64],
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let ordinals = (0..self.docs()).step_by(index(STARTS_PER_BASE));
        for (first, dead) in ordinals.zip(dead) {
            let count = STARTS_PER_BASE.min(self.docs() - first);
            let mut live = !dead & u64::MAX >> (u64::BITS - count);
            if live == 0 {
                continue;
            }
            let read = self.starts_and_documents(first, count)?;
            while live != 0 {
                let at = live.trailing_zeros();
                live &= live - 1;
                let near = read.as_ref().and_then(|(starts, all)| key_of(starts, all, index(at)));
                let flow = match near {
                    Some(key) => visit(key),
                    // Long or damaged documents are read one by one. That read returns the error,
                    // if any.
                    None => visit(&self.key(first + at)?),
                };
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Start offsets and bytes of consecutive documents that share a base. Returns `None` if they
    /// have more than `NEAR_BYTES_MAX` bytes.
    #[expect(clippy::type_complexity, reason = "two pieces of a file")]
    fn starts_and_documents(
        &self,
        first: u32,
        count: u32,
    ) -> Result<Option<(Cow<'_, [u8]>, Cow<'_, [u8]>)>> {
        let (begin, end) = (self.start(first)?, self.start(first + count)?);
        let bytes = end.checked_sub(begin).and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|bytes| *bytes <= NEAR_BYTES_MAX) else { return Ok(None) };
        let [_, documents, _, starts, ..] = &self.layout.sections;
        let starts = self.blocks.read(starts.offset + 4 * u64::from(first), index(4 * count))?;
        let at = documents.offset.saturating_add(begin);
        Ok(Some((starts, self.blocks.read(at, bytes)?)))
    }

    pub(crate) fn time(&self, ordinal: u32) -> Result<u64> {
        assert!(ordinal < self.docs(), "no such ordinal");
        let [_, _, _, _, times, ..] = &self.layout.sections;
        Ok(u64::from_le_bytes(self.blocks.array(times.offset + 8 * u64::from(ordinal))?))
    }

    pub(crate) fn shingle_count(&self, ordinal: u32) -> Result<u32> {
        assert!(ordinal < self.docs(), "no such ordinal");
        let [.., counts, _, _] = &self.layout.sections;
        self.u32_at(counts.offset + 4 * u64::from(ordinal))
    }

    /// Whether the document has this key.
    pub(crate) fn has_key(&self, ordinal: u32, key: &[u8]) -> Result<bool> {
        let bytes = self.document_bytes(ordinal)?;
        let key_bytes = self.key_bytes(ordinal, &bytes)?;
        Ok(bytes[2..2 + key_bytes] == *key)
    }

    /// The length of the key at the start of a document, checked against the document's length.
    fn key_bytes(&self, ordinal: u32, document: &[u8]) -> Result<usize> {
        let count = match document {
            [a, b, ..] => usize::from(u16::from_le_bytes([*a, *b])),
            _ => 0,
        };
        if !(1..=KEY_BYTES_MAX).contains(&count) || document.len() - 2 < count {
            let at = self.documents().offset + self.start(ordinal)?;
            return Err(self.blocks.corrupt(at, "key has an impossible length"));
        }
        Ok(count)
    }

    /// The stored bytes of a document: length of the key, key, payload.
    fn document_bytes(&self, ordinal: u32) -> Result<Cow<'_, [u8]>> {
        assert!(ordinal < self.docs(), "no such ordinal");
        let documents = self.documents();
        let begin = self.start(ordinal)?;
        let end = self.start(ordinal + 1)?;
        let count = end.checked_sub(begin).and_then(|count| usize::try_from(count).ok());
        match count {
            Some(count) if count <= DOCUMENT_BYTES_MAX && end <= documents.bytes => {
                self.blocks.read(documents.offset + begin, count)
            }
            _ => Err(self.start_error(ordinal)),
        }
    }

    #[cold]
    fn start_error(&self, ordinal: u32) -> Error {
        let [_, _, _, starts, ..] = &self.layout.sections;
        let at = starts.offset + 4 * u64::from(ordinal);
        self.blocks.corrupt(at, "document ends before it begins, or is too long")
    }

    /// Start offset of a document in its section. For `docs()`, the end of the last document.
    pub(super) fn start(&self, ordinal: u32) -> Result<u64> {
        if ordinal == self.docs() {
            return Ok(self.documents().bytes);
        }
        let [_, _, bases, starts, ..] = &self.layout.sections;
        let at = bases.offset + 8 * u64::from(ordinal / STARTS_PER_BASE);
        let base = u64::from_le_bytes(self.blocks.array(at)?);
        let start = self.u32_at(starts.offset + 4 * u64::from(ordinal))?;
        base.checked_add(u64::from(start)).ok_or_else(|| self.start_error(ordinal))
    }

    pub(super) fn documents(&self) -> &Section {
        let [_, documents, ..] = &self.layout.sections;
        documents
    }

    fn u32_at(&self, offset: u64) -> Result<u32> {
        Ok(u32::from_le_bytes(self.blocks.array(offset)?))
    }
}

/// The key of document `at`, counted from the first of the documents that `starts` and `documents`
/// hold. `None` if the offsets or the length of the key are invalid.
#[inline]
fn key_of<'d>(starts: &[u8], documents: &'d [u8], at: usize) -> Option<&'d [u8]> {
    let start = u32::from_le_bytes(*starts.as_chunks().0.get(at)?);
    let (length, rest) = documents.get(index(start)..)?.split_first_chunk()?;
    let count = usize::from(u16::from_le_bytes(*length));
    let end = starts
        .as_chunks()
        .0
        .get(at + 1)
        .map_or(documents.len(), |end| index(u32::from_le_bytes(*end)));
    let is_within = (1..=KEY_BYTES_MAX).contains(&count) && index(start) + 2 + count <= end;
    is_within.then(|| rest.get(..count)).flatten()
}
