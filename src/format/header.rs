//! The 64-byte header of every file except redb's.
//!
//! Pure. Handles the header only: `wal.rs` and `blocks.rs` define what follows it.

use super::bytes::{ByteReader, with_crc};
use super::{DecodeError, FORMAT_VERSION};

/// The first eight bytes of every file, similar to PNG: a byte that no text file starts with, the
/// name, and line ends that a transfer in text mode would change.
pub(crate) const MAGIC: [u8; 8] = *b"\x89NKN\r\n\x1a\n";

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Wal = 1,
    Segment = 2,
    Dead = 3,
    /// A copy of the parameters, for salvage. `verify` checks it.
    Parameters = 4,
    /// The list of segments of one generation of a sharded index.
    Manifest = 5,
}

/// The header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) kind: FileKind,
    /// The index that the file belongs to.
    pub(crate) uuid: [u8; 16],
    pub(crate) number: u64,
    /// `Params::id` of the index.
    pub(crate) params_id: u64,
}

impl FileHeader {
    pub(crate) const BYTES: usize = 64;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        with_crc(&[
            &MAGIC,
            &(self.kind as u16).to_le_bytes(),
            &FORMAT_VERSION.to_le_bytes(),
            &[0; 12], // the three words of feature flags: none defined yet
            &self.uuid,
            &self.number.to_le_bytes(),
            &self.params_id.to_le_bytes(),
            &[0; 4],
        ])
    }

    /// Decodes and checks a header. If `writing` is set, also refuses unknown feature flags that
    /// forbid only writing.
    pub(crate) fn decode(bytes: &[u8], writing: bool) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let whole = reader.clone().take(Self::BYTES, "file is shorter than its header")?;
        if reader.array::<8>("magic")? != MAGIC {
            return Err(DecodeError::damaged("not a nearkin file (magic does not match)", 0));
        }
        let (covered, crc) = whole.split_at(60);
        if crc32fast::hash(covered) != ByteReader::new(crc).u32("header checksum")? {
            return Err(DecodeError::damaged("header checksum does not match", 60));
        }
        let kind = match reader.u16("kind")? {
            1 => FileKind::Wal,
            2 => FileKind::Segment,
            3 => FileKind::Dead,
            4 => FileKind::Parameters,
            5 => FileKind::Manifest,
            _ => return Err(DecodeError::unsupported("unknown kind of file", 8)),
        };
        if reader.u16("format version")? != FORMAT_VERSION {
            return Err(DecodeError::unsupported("unknown format version", 10));
        }
        let _compatible = reader.u32("compatible flags")?;
        let read_only_compatible = reader.u32("read-only compatible flags")?;
        let incompatible = reader.u32("incompatible flags")?;
        if incompatible != 0 {
            return Err(DecodeError::unsupported("unknown incompatible feature", 20));
        }
        if writing && read_only_compatible != 0 {
            return Err(DecodeError::unsupported("unknown feature that forbids writing", 16));
        }
        let header = Self {
            kind,
            uuid: reader.array("uuid")?,
            number: reader.u64("file number")?,
            params_id: reader.u64("parameters' id")?,
        };
        reader.zeros(4, "reserved bytes of the header are not zero")?;
        Ok(header)
    }
}
