//! Estimates the memory that the metadata of a Parquet file takes, before the metadata is decoded.
//!
//! Reads the structure of Thrift's compact encoding, and none of its values.

use std::io::{self, BufRead, Read};

/// Memory of a column in the schema, and of a column of a row group. (3,000,000 columns without a
/// row group take 1.3 GiB.)
const COLUMN_BYTES: u64 = 640;

/// Memory of an element of any other list: statistics of pages, encodings, counts.
const ELEMENT_BYTES: u64 = 32;

/// Each byte is in memory as it stands in the file, and once more in what is decoded.
const COPIES: u64 = 2;

/// Structures are nested at most this deep; the format nests them six deep.
const DEPTH_MAX: usize = 16;

/// Lists of structures are nested this deep where the elements are columns: the schema, and the
/// columns of each row group.
const COLUMNS_DEPTH: usize = 2;

// Types of fields in Thrift's compact encoding.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Estimates the memory that the metadata takes once it is decoded. Stops as soon as the estimate
/// exceeds `bytes_max`.
///
/// # Errors
///
/// `InvalidData` if it is no metadata, and errors of reading.
pub(super) fn memory(metadata: impl BufRead, bytes_max: u64) -> io::Result<u64> {
    let mut scan = Scan { metadata, memory: 0, bytes_max };
    match scan.structure(0, 0) {
        // The estimate is complete as far as it matters.
        Err(_) if scan.memory > bytes_max => Ok(scan.memory),
        ended => ended.map(|()| scan.memory),
    }
}

struct Scan<R> {
    metadata: R,
    memory: u64,
    bytes_max: u64,
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its metadata is damaged")
}

impl<R: BufRead> Scan<R> {
    /// Reads a structure that lies in `lists` lists and `depth` structures or lists.
    fn structure(&mut self, depth: usize, lists: usize) -> io::Result<()> {
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(());
            }
            // Fields are numbered by difference, or if it is 0 by a number that follows.
            if header >> 4 == 0 {
                self.number()?;
            }
            // A truth value stands in the header.
            if !matches!(header & 0xf, TRUE | FALSE) {
                self.value(header & 0xf, depth + 1, lists)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize, lists: usize) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(damaged());
        }
        match kind {
            TRUE | FALSE | BYTE => self.skip(1),
            I16..=I64 => self.number().map(drop),
            DOUBLE => self.skip(8),
            UUID => self.skip(16),
            BINARY => {
                let bytes = self.number()?;
                self.skip(bytes)
            }
            LIST | SET => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.number()?,
                    count => u64::from(count),
                };
                self.elements(header & 0xf, count, depth, lists)
            }
            MAP => match self.number()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.add(ELEMENT_BYTES)?;
                        self.value(kinds >> 4, depth + 1, lists)?;
                        self.value(kinds & 0xf, depth + 1, lists)?;
                    }
                    Ok(())
                }
            },
            STRUCT => self.structure(depth, lists),
            _ => Err(damaged()),
        }
    }

    fn elements(&mut self, kind: u8, count: u64, depth: usize, lists: usize) -> io::Result<()> {
        let lists = lists + 1;
        let is_column = kind == STRUCT && lists <= COLUMNS_DEPTH;
        for _ in 0..count {
            self.add(if is_column { COLUMN_BYTES } else { ELEMENT_BYTES })?;
            self.value(kind, depth + 1, lists)?;
        }
        Ok(())
    }

    /// Adds to the estimate. Fails once it is too large.
    fn add(&mut self, bytes: u64) -> io::Result<()> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.bytes_max { Err(damaged()) } else { Ok(()) }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let byte = self.metadata.fill_buf()?.first().copied().ok_or_else(damaged)?;
        self.metadata.consume(1);
        self.add(COPIES)?;
        Ok(byte)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.add(bytes.saturating_mul(COPIES))?;
        let skipped = io::copy(&mut (&mut self.metadata).take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metadata of `columns` columns and `groups` row groups; other fields are left out.
    fn metadata(columns: u8, groups: u8) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc, columns];
        for _ in 0..columns {
            // Field 4, a name.
            bytes.extend([0x48, 1, b'c', 0]);
        }
        // Field 3, the number of rows; field 4, the row groups.
        bytes.extend([0x16, 8, 0x19, 0xfc, groups]);
        for _ in 0..groups {
            // Field 1, the columns, each with field 3, a structure with a list of two encodings.
            bytes.extend([0x19, 0xfc, columns]);
            for _ in 0..columns {
                bytes.extend([0x3c, 0x29, 0x25, 0, 6, 0, 0]);
            }
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn columns_of_the_schema_and_of_each_row_group_count() {
        for (columns, groups) in [(0, 0), (20, 0), (1, 1), (7, 30)] {
            let bytes = metadata(columns, groups);
            let [columns, groups] = [columns, groups].map(u64::from);
            let expected = COPIES * bytes.len() as u64
                + COLUMN_BYTES * (columns + groups * (columns + 1))
                + ELEMENT_BYTES * 2 * columns * groups;
            assert_eq!(memory(&*bytes, u64::MAX).unwrap(), expected);
            assert_eq!(memory(&*bytes, expected).unwrap(), expected);
            // Metadata that is too large is not read to its end.
            let mut rest = &*bytes;
            assert!(memory(&mut rest, expected / 2).unwrap() > expected / 2);
            assert!(!rest.is_empty());
        }
    }

    #[test]
    fn damaged_metadata_is_an_error() {
        let bytes = metadata(3, 2);
        for end in 0..bytes.len() {
            assert!(memory(&bytes[..end], u64::MAX).is_err(), "{end}");
        }
        // Structures within structures, an unknown type, a number without an end.
        for bytes in [vec![0x1c; 100], vec![0x1e, 0, 0], [&[0x16][..], &[0x80; 20]].concat()] {
            assert!(memory(&*bytes, u64::MAX).is_err(), "{bytes:?}");
        }
        // A length beyond the end takes no memory.
        assert!(memory(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, 1][..], u64::MAX).is_err());
    }
}
