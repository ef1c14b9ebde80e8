//! The catalog's row and its bytes: version, checksum, then bincode of the row.
//!
//! Knows what a row may say. Knows nothing of redb or files; `crate::catalog` stores the bytes.

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::bytes::{Reader, wide};
use crate::Params;

/// The version of the row this code writes, and the only one it reads.
const VERSION: u8 = 1;
/// Before the row: version (1) and CRC (4).
const PREFIX_BYTES: u64 = 5;
/// More bytes than a row ever has (a segment takes at most 90), and the most that decoding may
/// claim memory for.
const ROW_BYTES_MAX: usize = 4 << 20;

/// Everything the catalog says. The order of the fields is the order of the bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Of the index; every file repeats it.
    pub(crate) uuid: [u8; 16],
    pub(crate) params: Params,
    /// The change up to which segments and dead files hold everything.
    pub(crate) floor: u64,
    /// The file that holds the changes above the floor.
    pub(crate) wal: Option<WalEntry>,
    /// The number the next file gets. All numbers below it are used up, listed or not.
    pub(crate) file_next: u64,
    /// In order of age.
    pub(crate) segments: Vec<SegmentEntry>,
}

/// The WAL, as it was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalEntry {
    pub(crate) number: u64,
    pub(crate) salt: u64,
    /// Of the file, in bytes.
    pub(crate) length: u64,
}

/// One segment, and what the policy wants to know without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    /// Of the file, in bytes.
    pub(crate) length: u64,
    pub(crate) tail_hash: u64,
    pub(crate) docs: u32,
    /// How many of `docs` are dead at the floor: as many as `dead_file` says.
    pub(crate) dead: u32,
    pub(crate) time_min: u64,
    pub(crate) time_max: u64,
    pub(crate) dead_file: Option<DeadEntry>,
}

/// The file that says which documents of a segment are dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeadEntry {
    pub(crate) number: u64,
    /// Of the file, in bytes.
    pub(crate) length: u64,
    pub(crate) tail_hash: u64,
}

impl Row {
    /// The bytes of the row. A row that [`Row::decode`] would refuse is our own mistake, and
    /// writing it would lose the index: it stops here.
    pub(crate) fn encode(&self) -> Vec<u8> {
        assert_eq!(self.problem(), None, "a row that could not be read back");
        let config = bincode::config::standard().with_limit::<ROW_BYTES_MAX>();
        let body = bincode::serde::encode_to_vec(self, config).unwrap_or_default();
        // The only error of writing to memory is a type that bincode cannot express.
        assert!(!body.is_empty() && body.len() <= ROW_BYTES_MAX, "a row of {} bytes", body.len());
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Reads and checks a row.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("catalog row is cut short")?;
        let crc = reader.u32("catalog row is cut short")?;
        let body = reader.take(reader.remaining(), "catalog row is cut short")?;
        // Before the version: a checksum that holds tells a newer writer from damage.
        if crc32fast::hash(body) != crc {
            return Err(DecodeError::damaged("checksum of the catalog row does not match", 1));
        }
        if version != VERSION {
            return Err(DecodeError::unsupported("version of the catalog row is unknown", 0));
        }
        let config = bincode::config::standard().with_limit::<ROW_BYTES_MAX>();
        let (row, used): (Self, usize) = bincode::serde::decode_from_slice(body, config)
            .map_err(|_| DecodeError::damaged("catalog row is malformed", PREFIX_BYTES))?;
        if used != body.len() {
            let end = PREFIX_BYTES.saturating_add(wide(used));
            return Err(DecodeError::damaged("bytes after the catalog row", end));
        }
        match row.problem() {
            Some(what) => Err(DecodeError::damaged(what, PREFIX_BYTES)),
            None => Ok(row),
        }
    }

    /// The first thing this row says that cannot be true.
    fn problem(&self) -> Option<&'static str> {
        if self.params.validate().is_err() {
            return Some("parameters of the catalog row are out of range");
        }
        if let Some(what) = self.segments.iter().find_map(SegmentEntry::problem) {
            return Some(what);
        }
        let mut numbers: Vec<u64> = self.numbers().collect();
        if numbers.iter().any(|number| *number >= self.file_next) {
            return Some("a file number in the catalog is not below the next one");
        }
        numbers.sort_unstable();
        let listed = numbers.len();
        numbers.dedup();
        (numbers.len() != listed).then_some("a file number stands in the catalog twice")
    }

    /// The number of every file the row lists.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let segments = self.segments.iter();
        let dead = self.segments.iter().filter_map(|segment| segment.dead_file);
        let wal = self.wal.iter().map(|wal| wal.number);
        wal.chain(segments.map(|segment| segment.number)).chain(dead.map(|dead| dead.number))
    }
}

impl SegmentEntry {
    fn problem(&self) -> Option<&'static str> {
        if self.docs == 0 || self.docs == u32::MAX {
            return Some("document count of a segment is out of range");
        }
        if self.dead > self.docs {
            return Some("more documents of a segment are dead than it has");
        }
        if (self.dead > 0) != self.dead_file.is_some() {
            return Some("dead count and dead file of a segment disagree");
        }
        (self.time_min > self.time_max).then_some("times of a segment are out of order")
    }
}
