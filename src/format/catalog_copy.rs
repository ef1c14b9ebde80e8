//! The copy of the catalog's row for readers beside a writer: header, hash of the catalog file,
//! then the row.
//!
//! Pure: the caller compares the hash with the catalog file before it trusts the copy.

use super::DecodeError;
use super::bytes::{ByteReader, narrow, wide};
use super::catalog::Row;
use super::header::{FileHeader, FileKind};

/// Upper bound of the file length. A longer file is not a copy.
pub(crate) const COPY_BYTES_MAX: u64 = 8 << 20;

/// A row, and the hash of the catalog file that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CatalogCopy {
    /// XXH3 (seed 0) of the whole catalog file.
    pub(crate) catalog_hash: u64,
    pub(crate) row: Row,
}

impl CatalogCopy {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let header = FileHeader {
            kind: FileKind::CatalogCopy,
            uuid: self.row.uuid,
            number: 0,
            params_id: self.row.params.id(),
        };
        let row = self.row.encode();
        // `Row::encode` keeps the row far below 4 GiB.
        let row_bytes = u32::try_from(row.len()).unwrap_or(u32::MAX);
        let mut own = self.catalog_hash.to_le_bytes().to_vec();
        own.extend_from_slice(&row_bytes.to_le_bytes());
        own.extend_from_slice(&crc32fast::hash(&own).to_le_bytes());
        [&header.encode()[..], &own, &row].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let header =
            FileHeader::decode(reader.take(FileHeader::BYTES, "copy is cut short")?, false)?;
        if header.kind != FileKind::CatalogCopy {
            return Err(DecodeError::damaged("not a copy of the catalog", 8));
        }
        let covered = reader.clone().take(12, "copy is cut short")?;
        let catalog_hash = reader.u64("catalog hash")?;
        let row_bytes = narrow(u64::from(reader.u32("row length")?), "row length")?;
        if reader.u32("checksum of the copy")? != crc32fast::hash(covered) {
            return Err(DecodeError::damaged("checksum of the copy does not match", 76));
        }
        let begin = reader.offset();
        let row = reader.take(row_bytes, "row of the copy is cut short")?;
        if reader.remaining() > 0 {
            let end = begin.saturating_add(wide(row_bytes));
            return Err(DecodeError::damaged("bytes after the copy", end));
        }
        let row = Row::decode(row)?;
        if (row.uuid, row.params.id()) != (header.uuid, header.params_id) {
            return Err(DecodeError::damaged("header and row of the copy disagree", 24));
        }
        Ok(Self { catalog_hash, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::example;

    fn copy() -> CatalogCopy {
        let row = Row::decode(&example("catalog row")).expect("decodes");
        CatalogCopy { catalog_hash: 0x1122_3344_5566_7788, row }
    }

    #[test]
    fn the_example_of_a_copy_of_the_catalog() {
        let bytes = copy().encode();
        let own = example("copy of the catalog");
        assert_eq!(bytes[64..80], own, "{:02X?}", &bytes[64..80]);
        assert_eq!(bytes[80..], example("catalog row"));
        assert_eq!(CatalogCopy::decode(&bytes), Ok(copy()));
    }

    #[test]
    fn a_copy_that_is_cut_or_changed_or_longer_is_an_error() {
        let whole = copy().encode();
        for at in 0..whole.len() {
            CatalogCopy::decode(&whole[..at]).expect_err("cut");
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                CatalogCopy::decode(&changed).expect_err("changed");
            }
        }
        CatalogCopy::decode(&[&whole[..], &[0]].concat()).expect_err("longer");
        let mut other = copy();
        other.row.uuid[0] ^= 1;
        let mixed = [&whole[..80], &other.encode()[80..]].concat();
        CatalogCopy::decode(&mixed).expect_err("the row of another index");
    }
}
