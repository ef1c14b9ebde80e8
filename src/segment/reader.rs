//! Reads one segment: documents by ordinal, ordinals by the key of a bucket.
//!
//! Knows nothing of deaths: a dead document reads like a live one.

use super::blocks::BlockFile;
use super::tables::{key_hash, split, u16_of, u32_of};
use super::writer::header;
use super::{Listed, ReadMode, Shape};
use crate::format::blocks::{
    DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, STARTS_PER_BASE, Section, SegmentLayout, SegmentProperties,
    groups_of,
};
use crate::format::bytes::{index, wide};
use crate::format::header::FileKind;
use crate::storage::Storage;
use crate::{Error, Result};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// A group longer than this is searched by halves first; up to it, a scan is faster.
const SCAN_ENTRIES: u32 = 128;

/// One open segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) blocks: BlockFile,
    pub(super) properties: SegmentProperties,
    pub(super) layout: SegmentLayout,
    pub(super) shape: Shape,
    groups: u32,
}

/// Key and payload of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document<'a> {
    pub(crate) key: Cow<'a, [u8]>,
    pub(crate) payload: Cow<'a, [u8]>,
}

impl Segment {
    /// Opens a published segment: checks all but the body, of which it reads the header only.
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
        let (footer, tail) = (blocks.footer(), blocks.tail());
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
            return Err(blocks.corrupt(footer.tail_offset, "bands or rows are not the index's"));
        }
        Ok(Self { groups: groups_of(properties.docs), shape: *shape, blocks, properties, layout })
    }

    /// Documents, dead ones included.
    pub(crate) fn docs(&self) -> u32 {
        self.properties.docs
    }

    /// Least and greatest time.
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

    pub(crate) fn document(&self, ordinal: u32) -> Result<Document<'_>> {
        let bytes = self.document_bytes(ordinal)?;
        let key_end = 2 + self.key_bytes(ordinal, &bytes)?;
        Ok(match bytes {
            Cow::Borrowed(bytes) => Document {
                key: Cow::Borrowed(&bytes[2..key_end]),
                payload: Cow::Borrowed(&bytes[key_end..]),
            },
            Cow::Owned(mut bytes) => {
                let payload = bytes.split_off(key_end);
                bytes.drain(..2);
                Document { key: Cow::Owned(bytes), payload: Cow::Owned(payload) }
            }
        })
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

    /// Appends to `out`, ascending, the ordinals in table `table` whose group and fingerprint are
    /// those of `key`. They are candidates: the caller compares the bytes.
    #[inline]
    pub(crate) fn bucket(&self, table: usize, key: u64, out: &mut Vec<u32>) -> Result<()> {
        let table = wide(table);
        assert!(table < u64::from(self.properties.tables), "no such table");
        let (group, fingerprint) = split(key, self.groups);
        let (begin, end) = self.group(table, group)?;
        let [.., tables, _] = &self.layout.sections;
        let fingerprints = tables.offset + table * self.layout.table_stride;
        let matching = self.matching(fingerprints, begin..end, fingerprint)?;
        if matching.is_empty() {
            return Ok(());
        }
        let at = fingerprints + self.layout.table_ordinals + 4 * u64::from(matching.start);
        let bytes = self.blocks.read(at, index(matching.end - matching.start) * 4)?;
        out.reserve(bytes.len() / 4);
        for entry in bytes.chunks_exact(4) {
            let ordinal = u32_of(entry);
            if ordinal >= self.docs() {
                return Err(self.blocks.corrupt(at, "bucket names a document that is not there"));
            }
            out.push(ordinal);
        }
        Ok(())
    }

    /// Appends to `out`, ascending, every document with exactly this key, dead or not.
    pub(crate) fn find_key(&self, key: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let first = out.len();
        self.bucket(self.shape.bands, key_hash(key, self.shape.key_seed), out)?;
        let mut kept = first;
        for candidate in first..out.len() {
            let ordinal = out[candidate];
            if self.has_key(ordinal, key)? {
                out[kept] = ordinal;
                kept += 1;
            }
        }
        out.truncate(kept);
        Ok(())
    }

    /// Full check of the file: see `verify.rs`.
    pub(crate) fn verify(
        &self,
        dead: Option<&super::Dead>,
        watch: &mut super::Watch<'_>,
    ) -> Result<()> {
        super::verify::segment(self, dead, watch)
    }

    /// Where the entries of a group begin and end.
    #[inline]
    fn group(&self, table: u64, group: u32) -> Result<(u32, u32)> {
        let [.., directories] = &self.layout.sections;
        let at = directories.offset + table * self.layout.directory_stride + 4 * u64::from(group);
        let words: [u8; 8] = self.blocks.array(at)?;
        let (begin, end) = (u32_of(&words), u32_of(&words[4..]));
        if begin > end || end > self.docs() {
            return Err(self.blocks.corrupt(at, "group ends before it begins, or after its table"));
        }
        Ok((begin, end))
    }

    /// The entries of a group with this fingerprint. They lie together: a group is in order.
    #[inline]
    fn matching(&self, base: u64, mut group: Range<u32>, wanted: u16) -> Result<Range<u32>> {
        if group.end - group.start > SCAN_ENTRIES {
            let begin = self.search(base, group.clone(), |fingerprint| fingerprint < wanted)?;
            let end = self.search(base, begin..group.end, |fingerprint| fingerprint <= wanted)?;
            return Ok(begin..end);
        }
        let count = index(group.end - group.start);
        let bytes = self.blocks.read(base + 2 * u64::from(group.start), count * 2)?;
        // Counting without a branch: the compiler makes vector instructions of it.
        let (mut less, mut equal) = (0_u16, 0_u16);
        for fingerprint in bytes.chunks_exact(2) {
            let fingerprint = u16_of(fingerprint);
            less += u16::from(fingerprint < wanted);
            equal += u16::from(fingerprint == wanted);
        }
        group.start += u32::from(less);
        // Of a group out of order, which only a forged file has, this still stays within it.
        group.end = group.end.min(group.start + u32::from(equal));
        Ok(group)
    }

    /// The first entry of a range for which `before` is false.
    #[cold]
    fn search(&self, base: u64, range: Range<u32>, before: impl Fn(u16) -> bool) -> Result<u32> {
        let (mut begin, mut end) = (range.start, range.end);
        while begin < end {
            let middle = begin + (end - begin) / 2;
            let at = base + 2 * u64::from(middle);
            if before(u16::from_le_bytes(self.blocks.array(at)?)) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(begin)
    }

    fn has_key(&self, ordinal: u32, key: &[u8]) -> Result<bool> {
        let bytes = self.document_bytes(ordinal)?;
        let key_bytes = self.key_bytes(ordinal, &bytes)?;
        Ok(bytes[2..2 + key_bytes] == *key)
    }

    /// The length of the key that a document begins with; afterwards it is known to be there.
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

    /// The whole entry of a document.
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

    /// Where a document begins in its section; where the last ends for one past it.
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
