//! Block files: footer, tail, and the layout of segments and dead files.
//!
//! Pure: computes and checks offsets, and encodes the tail. This module reads no block and does not
//! know how a bucket table works.

use super::DecodeError;
use super::bytes::{ByteReader, fixed, narrow, wide, with_crc};
use super::header::{FileHeader, FileKind};

/// Block size in bytes. Each CRC covers one block.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Sections start at multiples of this, so that no cache line is shared by two sections.
const ALIGN: u64 = 64;

const CRC_BYTES: u64 = 4;
const END_MAGIC: [u8; 4] = *b"NKNE";

/// Upper bound of the section count. A damaged count above it is refused before it is used.
const SECTIONS_MAX: u32 = 64;

/// Maximum length of a key in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 4096;
/// Maximum length of a payload in bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 65_536;
/// Maximum length of a document in the document section: key length, key and payload.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 2 + KEY_BYTES_MAX + PAYLOAD_BYTES_MAX;

/// The file has one full offset for this many documents. The offset of each document is relative to
/// that one, so that it fits in 32 bits.
pub(crate) const STARTS_PER_BASE: u32 = 64;

/// The footer: the last 64 bytes of a block file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) file_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) tail_offset: u64,
    pub(crate) number: u64,
    pub(crate) sections: u32,
    pub(crate) kind: FileKind,
    pub(crate) tail_crc: u32,
}

impl Footer {
    pub(crate) const BYTES: usize = 64;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        with_crc(&[
            &self.file_bytes.to_le_bytes(),
            &self.body_bytes.to_le_bytes(),
            &self.tail_offset.to_le_bytes(),
            &self.number.to_le_bytes(),
            &self.sections.to_le_bytes(),
            &(self.kind as u32).to_le_bytes(),
            &self.tail_crc.to_le_bytes(),
            &[0; 12],
            &END_MAGIC,
        ])
    }

    /// Decodes the footer of a file of `file_bytes` bytes, and checks that all its lengths are
    /// consistent.
    pub(crate) fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let whole = reader.clone().take(Self::BYTES, "file is shorter than its footer")?;
        let (covered, crc) = whole.split_at(60);
        if !covered.ends_with(&END_MAGIC) {
            return Err(DecodeError::damaged("file does not end as it should (is it cut?)", 56));
        }
        if crc32fast::hash(covered) != ByteReader::new(crc).u32("footer checksum")? {
            return Err(DecodeError::damaged("footer checksum does not match", 60));
        }
        let footer = Self {
            file_bytes: reader.u64("file length")?,
            body_bytes: reader.u64("body length")?,
            tail_offset: reader.u64("tail offset")?,
            number: reader.u64("file number")?,
            sections: reader.u32("section count")?,
            kind: match reader.u32("kind")? {
                2 => FileKind::Segment,
                3 => FileKind::Dead,
                _ => return Err(DecodeError::unsupported("unknown kind of block file", 36)),
            },
            tail_crc: reader.u32("tail checksum")?,
        };
        reader.zeros(12, "reserved bytes of the footer are not zero")?;
        if footer.file_bytes != file_bytes {
            return Err(DecodeError::damaged("file has not the length its footer says", 0));
        }
        if footer.sections > SECTIONS_MAX {
            return Err(DecodeError::damaged("more sections than any block file has", 32));
        }
        if Geometry::for_body(footer.body_bytes, footer.sections) != Some(footer.geometry()) {
            return Err(DecodeError::damaged("lengths in the footer do not agree", 8));
        }
        Ok(footer)
    }

    fn geometry(&self) -> Geometry {
        Geometry { tail_offset: self.tail_offset, file_bytes: self.file_bytes }
    }
}

/// Offsets of the tail and of the end of the file. Both follow from the body length and the number
/// of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) tail_offset: u64,
    pub(crate) file_bytes: u64,
}

impl Geometry {
    /// Returns `None` if the body is not a whole number of blocks, or if the file would be too
    /// long.
    pub(crate) fn for_body(body_bytes: u64, sections: u32) -> Option<Self> {
        let block = wide(BLOCK_BYTES);
        if body_bytes == 0 || body_bytes.checked_rem(block)? != 0 {
            return None;
        }
        let table = body_bytes.checked_div(block)?.checked_mul(CRC_BYTES)?;
        let table = table.checked_next_multiple_of(block)?;
        let tail_offset = body_bytes.checked_add(table)?;
        let roots = table.checked_div(block)?.checked_mul(CRC_BYTES)?;
        let file_bytes = tail_offset
            .checked_add(roots)?
            .checked_add(u64::from(sections).checked_mul(wide(Section::BYTES))?)?
            .checked_add(wide(PROPERTY_BYTES))?
            .checked_add(wide(Footer::BYTES))?;
        Some(Self { tail_offset, file_bytes })
    }
}

/// The kind of content in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Signatures = 1,
    Documents = 2,
    StartBases = 3,
    Starts = 4,
    Times = 5,
    ShingleCounts = 6,
    Tables = 7,
    Directories = 8,
    Dead = 9,
}

/// The average number of entries per group of a bucket table. Each group has one word in the
/// table's directory.
const GROUP_ENTRIES: u32 = 64;

/// Number of groups in each bucket table of a segment of `docs` documents.
pub(crate) fn groups_of(docs: u32) -> u32 {
    docs.div_euclid(GROUP_ENTRIES).max(1)
}

/// The encoding of every section: there is no other one yet.
const CODEC: u32 = 0;

/// An entry of the section table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Section {
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.kind as u32).to_le_bytes());
        out.extend_from_slice(&CODEC.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
    }

    pub(crate) fn decode(reader: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let at = reader.offset();
        let kind = match reader.u32("kind of a section")? {
            1 => SectionKind::Signatures,
            2 => SectionKind::Documents,
            3 => SectionKind::StartBases,
            4 => SectionKind::Starts,
            5 => SectionKind::Times,
            6 => SectionKind::ShingleCounts,
            7 => SectionKind::Tables,
            8 => SectionKind::Directories,
            9 => SectionKind::Dead,
            _ => return Err(DecodeError::unsupported("unknown kind of section", at)),
        };
        if reader.u32("codec of a section")? != CODEC {
            return Err(DecodeError::unsupported("unknown section codec", at));
        }
        let offset = reader.u64("offset of a section")?;
        Ok(Self { kind, offset, bytes: reader.u64("length of a section")? })
    }

    /// End offset of the section.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.bytes)
    }
}

/// Size of the properties, the same for all kinds of block file.
pub(crate) const PROPERTY_BYTES: usize = 32;

/// The tail: properties, section table and root CRCs, between the CRC table and the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The CRC of each block of the CRC table.
    pub(crate) roots: Vec<u32>,
    pub(crate) sections: Vec<Section>,
    pub(crate) properties: [u8; PROPERTY_BYTES],
}

impl Tail {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for root in &self.roots {
            out.extend_from_slice(&root.to_le_bytes());
        }
        for section in &self.sections {
            section.encode(&mut out);
        }
        out.extend_from_slice(&self.properties);
        out
    }

    /// Decodes the bytes between the tail offset and the footer. The caller has checked them
    /// against the CRC in the footer.
    pub(crate) fn decode(bytes: &[u8], footer: &Footer) -> Result<Self, DecodeError> {
        if crc32fast::hash(bytes) != footer.tail_crc {
            return Err(DecodeError::damaged("tail checksum does not match", 0));
        }
        let mut reader = ByteReader::new(bytes);
        let crc_table = footer.tail_offset.saturating_sub(footer.body_bytes);
        let blocks = narrow(crc_table, "CRC table")?.div_ceil(BLOCK_BYTES);
        let mut roots = Vec::new();
        for _ in 0..blocks {
            roots.push(reader.u32("root table")?);
        }
        let mut sections = Vec::new();
        for _ in 0..footer.sections {
            sections.push(Section::decode(&mut reader)?);
        }
        let properties = reader.array("properties")?;
        match reader.remaining() {
            0 => Ok(Self { roots, sections, properties }),
            _ => Err(DecodeError::damaged("bytes between properties and footer", reader.offset())),
        }
    }
}

/// Counts that describe a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentProperties {
    pub(crate) docs: u32,
    /// Number of bucket tables: one per band, and one of keys.
    pub(crate) tables: u32,
    pub(crate) signature_bytes: u32,
    pub(crate) time_min: u64,
    pub(crate) time_max: u64,
}

impl SegmentProperties {
    pub(crate) fn encode(&self) -> [u8; PROPERTY_BYTES] {
        fixed(&[
            &self.docs.to_le_bytes(),
            &self.groups().to_le_bytes(),
            &self.tables.to_le_bytes(),
            &self.signature_bytes.to_le_bytes(),
            &self.time_min.to_le_bytes(),
            &self.time_max.to_le_bytes(),
        ])
    }

    /// Number of groups in each bucket table.
    pub(crate) fn groups(&self) -> u32 {
        groups_of(self.docs)
    }

    /// Decodes the segment's properties from a tail. [`SegmentLayout::decode`] checks the section
    /// offsets.
    pub(crate) fn decode(bytes: &[u8; PROPERTY_BYTES]) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let docs = reader.u32("documents")?;
        let groups = reader.u32("groups")?;
        let properties = Self {
            docs,
            tables: reader.u32("tables")?,
            signature_bytes: reader.u32("signature bytes")?,
            time_min: reader.u64("least time")?,
            time_max: reader.u64("greatest time")?,
        };
        if docs == 0 || docs == u32::MAX {
            return Err(DecodeError::damaged("impossible number of documents", 0));
        }
        if groups != properties.groups() {
            return Err(DecodeError::damaged("number of groups does not fit the documents", 4));
        }
        if properties.time_min > properties.time_max {
            return Err(DecodeError::damaged("minimum time is after the maximum time", 16));
        }
        Ok(properties)
    }
}

/// Offsets of all sections of a segment. They follow from its properties and the length of the
/// document section. The section table must contain the same offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentLayout {
    /// Sections in file order, which is the order of their kinds.
    pub(crate) sections: [Section; 8],
    /// Offset of the ordinals within a bucket table.
    pub(crate) table_ordinals: u64,
    /// Distance in bytes from the start of one bucket table to the start of the next.
    pub(crate) table_stride: u64,
    /// Distance in bytes from the start of one table's directory to the start of the next.
    pub(crate) directory_stride: u64,
    pub(crate) body_bytes: u64,
}

impl SegmentLayout {
    /// Returns `None` if the segment would be too large for a file.
    pub(crate) fn for_segment(
        properties: &SegmentProperties,
        documents_bytes: u64,
    ) -> Option<Self> {
        let docs = u64::from(properties.docs);
        let tables = u64::from(properties.tables);
        let table_ordinals = docs.checked_mul(2)?.checked_next_multiple_of(ALIGN)?;
        let ordinals = docs.checked_mul(4)?.checked_next_multiple_of(ALIGN)?;
        let table_stride = table_ordinals.checked_add(ordinals)?;
        let directory_stride = u64::from(properties.groups()).checked_add(1)?.checked_mul(4)?;
        let lengths = [
            (SectionKind::Signatures, docs.checked_mul(u64::from(properties.signature_bytes))?),
            (SectionKind::Documents, documents_bytes),
            (SectionKind::StartBases, docs.div_ceil(u64::from(STARTS_PER_BASE)).checked_mul(8)?),
            (SectionKind::Starts, docs.checked_mul(4)?),
            (SectionKind::Times, docs.checked_mul(8)?),
            (SectionKind::ShingleCounts, docs.checked_mul(4)?),
            (SectionKind::Tables, tables.checked_mul(table_stride)?),
            (SectionKind::Directories, tables.checked_mul(directory_stride)?),
        ];
        let mut end = wide(FileHeader::BYTES);
        let none = Section { kind: SectionKind::Signatures, offset: 0, bytes: 0 };
        let mut sections = [none; 8];
        for (section, (kind, bytes)) in sections.iter_mut().zip(lengths) {
            let offset = end.checked_next_multiple_of(ALIGN)?;
            *section = Section { kind, offset, bytes };
            end = section.end()?;
        }
        let body_bytes = end.checked_next_multiple_of(wide(BLOCK_BYTES))?;
        Some(Self { sections, table_ordinals, table_stride, directory_stride, body_bytes })
    }

    /// Decodes the layout, and checks that the section table equals the table computed from the
    /// properties.
    pub(crate) fn decode(
        properties: &SegmentProperties,
        sections: &[Section],
        body_bytes: u64,
    ) -> Result<Self, DecodeError> {
        let documents_bytes = sections.get(1).map_or(0, |section| section.bytes);
        match Self::for_segment(properties, documents_bytes) {
            Some(layout) if layout.sections == sections && layout.body_bytes == body_bytes => {
                Ok(layout)
            }
            _ => Err(DecodeError::damaged("sections are at wrong offsets", 0)),
        }
    }
}

/// Counts that describe a dead file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeadProperties {
    /// File number of the segment that the dead documents belong to.
    pub(crate) segment: u64,
    pub(crate) docs: u32,
    pub(crate) dead: u32,
}

impl DeadProperties {
    pub(crate) fn encode(&self) -> [u8; PROPERTY_BYTES] {
        let Self { segment, docs, dead } = self;
        fixed(&[&segment.to_le_bytes(), &docs.to_le_bytes(), &dead.to_le_bytes(), &[0; 16]])
    }

    pub(crate) fn decode(bytes: &[u8; PROPERTY_BYTES]) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let properties = Self {
            segment: reader.u64("segment number")?,
            docs: reader.u32("documents")?,
            dead: reader.u32("dead")?,
        };
        reader.zeros(16, "reserved bytes of the properties are not zero")?;
        if properties.dead > properties.docs {
            return Err(DecodeError::damaged("more dead than documents", 12));
        }
        Ok(properties)
    }

    /// The only section of a dead file, and the length of the body.
    pub(crate) fn layout(&self) -> Option<(Section, u64)> {
        let bytes = u64::from(self.docs).div_ceil(64).checked_mul(8)?;
        let offset = wide(FileHeader::BYTES);
        let section = Section { kind: SectionKind::Dead, offset, bytes };
        Some((section, section.end()?.checked_next_multiple_of(wide(BLOCK_BYTES))?))
    }
}
