//! Reads the log: completely after a crash, or incrementally in another process while a writer
//! appends.
//!
//! The writer may append concurrently. Synced records never change, so the reader gets all records
//! below the last horizon that it has found. At any time, the file may also be reused for another
//! log, so the identity in its header is read once more after all other reads.

use super::{
    WalIdentity, change_after, check_operations, decode_identity, headers_behind, record_in,
};
use crate::format::bytes::{narrow, wide};
use crate::format::header::FileHeader;
use crate::format::wal::{Operations, RECORDS_BEGIN, RecordHeader, RecordKind, WalHeader};
use crate::storage::{File, OpenMode, Storage};
use crate::{Error, OrIo, Result};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which records of a log count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Believe {
    /// Records below the last horizon. For a log to which a writer may be appending.
    Synced,
    /// All records up to the first incomplete one. For a log to which no writer appends any more.
    Whole,
}

/// How thoroughly a log is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The whole log is read: the bytes after the last record distinguish damage from a normal end.
    Thorough,
    /// Only the records are read. If the place of the next header is not zero, a record was started
    /// there, and the whole log is read.
    Quick,
}

/// A log that this process does not append to, with a read position.
#[derive(Debug, Clone)]
pub(crate) struct LogReader {
    file: Arc<dyn File>,
    path: PathBuf,
    identity: WalIdentity,
    /// The offset after the last record that was taken.
    offset: u64,
    /// The last change that was taken.
    change: u64,
    horizon: u64,
    /// Whether everything before the position is known to be synced: no record was taken yet, or
    /// the last one says so.
    is_marked: bool,
}

/// New records since the last read, in order.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The bytes of the log from the first new record on.
    pub(super) bytes: Vec<u8>,
    taken: Vec<Record>,
    /// Number of bytes in incomplete records after the last record. Remains of an older log may
    /// follow them.
    pub(crate) bytes_cut: u64,
}

#[derive(Debug)]
struct Record {
    header: RecordHeader,
    body: Range<usize>,
    /// The offset in the file after the record.
    end: u64,
}

impl Records {
    fn of_changes(&self) -> impl Iterator<Item = &Record> {
        self.taken.iter().filter(|record| record.header.kind == RecordKind::Change)
    }

    /// The changes: their number and operations.
    pub(crate) fn changes(
        &self,
        signature_bytes: usize,
    ) -> impl Iterator<Item = (u64, Operations<'_>)> {
        self.of_changes().map(move |record| {
            let body = &self.bytes[record.body.clone()];
            (record.header.change, Operations::new(body, signature_bytes))
        })
    }

    pub(crate) fn change_count(&self) -> u64 {
        wide(self.of_changes().count())
    }

    /// Upper bound of the number of documents in the changes, assuming minimal keys and payloads.
    pub(crate) fn documents_max(&self, signature_bytes: usize) -> u32 {
        let bodies = self.of_changes().map(|record| record.body.len());
        let documents = bodies.sum::<usize>() / signature_bytes.max(1);
        u32::try_from(documents).unwrap_or(u32::MAX)
    }
}

impl LogReader {
    /// Opens a log at its first record.
    pub(crate) fn open(storage: &dyn Storage, path: &Path, identity: &WalIdentity) -> Result<Self> {
        let file = storage.open(path, OpenMode::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::corrupt(path, 0, "the WAL that the catalog lists is missing")
            }
            _ => crate::io_error("read", path, error),
        })?;
        let reader = Self {
            file,
            path: path.to_path_buf(),
            identity: *identity,
            offset: RECORDS_BEGIN,
            change: identity.floor,
            horizon: RECORDS_BEGIN,
            is_marked: true,
        };
        reader.check_identity()?;
        Ok(reader)
    }

    /// The log after this process has written to it, up to `end` and `change`, and synced it up to
    /// `horizon`.
    pub(crate) fn after_writing(
        self,
        end: u64,
        change: u64,
        horizon: u64,
        is_marked: bool,
    ) -> Self {
        Self { offset: end, change, horizon, is_marked, ..self }
    }

    /// Reads all of a log that has no writer, and decides which of its records count.
    pub(crate) fn replay(
        storage: &dyn Storage,
        path: &Path,
        identity: &WalIdentity,
        signature_bytes: usize,
    ) -> Result<Records> {
        let mut reader = Self::open(storage, path, identity)?;
        reader.read(Believe::Whole, Look::Thorough, signature_bytes)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The offset after the last record that was taken.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset up to which the records that were taken say that the log is synced.
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Whether everything before that offset is known to be synced.
    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// Checks that the file is still the log that was opened, in its full length. If this succeeds
    /// after a read, the bytes that were read belong to this log: another log would have written
    /// its headers before its first record.
    fn check_identity(&self) -> Result<()> {
        let length = self.file.bytes().or_io("read", &self.path)?;
        if length != self.identity.length || length < RECORDS_BEGIN {
            return Err(Error::corrupt(
                &self.path,
                length,
                format_args!(
                    "the WAL has {length} bytes, but the catalog says {}",
                    self.identity.length
                ),
            ));
        }
        let mut bytes = [0; FileHeader::BYTES + WalHeader::BYTES];
        self.file.read_at(&mut bytes, 0).or_io("read", &self.path)?;
        let found = decode_identity(&bytes).map_err(|e| e.in_file(&self.path, 0))?;
        if found != self.identity {
            return Err(Error::corrupt(
                &self.path,
                0,
                "the WAL is not the one that the catalog lists",
            ));
        }
        Ok(())
    }

    /// Takes the new records. After an error, none are taken: the log is damaged, or was replaced
    /// meanwhile. The catalog shows which.
    pub(crate) fn read(
        &mut self,
        believe: Believe,
        look: Look,
        signature_bytes: usize,
    ) -> Result<Records> {
        let mut window = LogWindow { reader: self, bytes: Vec::new() };
        let mut records: Vec<Record> = Vec::new();
        let (mut stop, mut horizon) = (self.offset, self.horizon);
        let mut stopped_before = None;
        if look == Look::Thorough {
            window.reach(self.identity.length)?;
        }
        let bytes_cut = loop {
            stop = window.collect(stop, &mut records, signature_bytes)?;
            let carried = records.iter().map(|record| record.header.horizon);
            horizon = carried.fold(horizon, u64::max);
            if look == Look::Quick && !window.is_begun(stop)? {
                break 0;
            }
            let last = records.last().map_or(self.change, |record| record.header.change);
            let (behind, bytes_cut) = window.look_behind(stop, last)?;
            horizon = horizon.max(behind);
            if behind <= stop {
                break bytes_cut;
            }
            // The second read stopped at the same place, although a horizon that was read before
            // says that the record there was synced. So the log is damaged.
            if stopped_before.replace(stop) == Some(stop) {
                let what = format_args!(
                    "a record is damaged although everything below {behind} was synced"
                );
                return Err(Error::corrupt(&self.path, stop, what));
            }
            // Read again from there on.
            window.bytes.truncate(window.at(stop)?);
        };
        let bytes = window.bytes;
        self.check_identity()?;
        if believe == Believe::Synced {
            records.retain(|record| record.end <= horizon);
        }
        if let Some(last) = records.last() {
            (self.offset, self.change) = (last.end, last.header.change);
            let begin = last.end.saturating_sub(last.header.record_bytes());
            self.is_marked = last.header.kind == RecordKind::Idle && last.header.horizon == begin;
        }
        self.horizon = horizon;
        Ok(Records { bytes, taken: records, bytes_cut })
    }
}

/// Bounds of the bytes per read: reads start small, and grow with the amount of data already read.
const CHUNK_BYTES_MIN: u64 = small!(reader::CHUNK_BYTES_MIN, 4 << 10);
const CHUNK_BYTES_MAX: u64 = small!(reader::CHUNK_BYTES_MAX, 1 << 20);

/// The part of a log read so far, from the first new record.
struct LogWindow<'a> {
    reader: &'a LogReader,
    bytes: Vec<u8>,
}

impl LogWindow<'_> {
    /// The index in `bytes` of an offset in the file.
    fn at(&self, offset: u64) -> Result<usize> {
        let within = offset.saturating_sub(self.reader.offset);
        narrow(within, "offset").map_err(|error| error.in_file(&self.reader.path, 0))
    }

    /// Reads at least up to the offset `end`, but not beyond the end of the log.
    fn reach(&mut self, end: u64) -> Result<()> {
        let have = wide(self.bytes.len());
        let begin = self.reader.offset.saturating_add(have);
        let end = end.min(self.reader.identity.length);
        if end <= begin {
            return Ok(());
        }
        let chunk = have.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        let end = end.max(begin.saturating_add(chunk)).min(self.reader.identity.length);
        let length = self.at(end)?;
        let old = self.bytes.len();
        self.bytes.resize(length, 0);
        self.reader.file.read_at(&mut self.bytes[old..], begin).or_io("read", &self.reader.path)
    }

    /// Takes records for as long as they are valid. Returns the end of the last one.
    fn collect(
        &mut self,
        mut offset: u64,
        records: &mut Vec<Record>,
        signature_bytes: usize,
    ) -> Result<u64> {
        let mut change = records.last().map_or(self.reader.change, |record| record.header.change);
        while let Some((header, body)) = self.record_at(offset)? {
            let Some(after) = change_after(&header, offset, change) else { break };
            if header.kind == RecordKind::Change {
                let body = &self.bytes[body.clone()];
                check_operations(body, &self.reader.path, offset, signature_bytes)?;
            }
            change = after;
            offset = offset.saturating_add(header.record_bytes());
            records.push(Record { header, body, end: offset });
        }
        Ok(offset.min(self.reader.identity.length))
    }

    /// The record at `offset`, if it is complete: its header, and the range of its body in `bytes`.
    fn record_at(&mut self, offset: u64) -> Result<Option<(RecordHeader, Range<usize>)>> {
        let identity = &self.reader.identity;
        let body = offset.saturating_add(wide(RecordHeader::BYTES));
        self.reach(body)?;
        let (at, begin) = (self.at(offset)?, self.at(body)?);
        let rest = self.bytes.get(at..).unwrap_or_default();
        let header = RecordHeader::decode(rest, identity.salt, offset);
        if let Some(header) = header.map_err(|error| error.in_file(&self.reader.path, 0))? {
            self.reach(body.saturating_add(u64::from(header.body_bytes)))?;
        }
        let rest = self.bytes.get(at..).unwrap_or_default();
        let record = record_in(rest, &self.reader.path, identity, offset)?;
        Ok(record.map(|(header, body)| (header, begin..begin + body.len())))
    }

    /// Whether a record was started at `offset`: every append leaves zeros in place of the next
    /// header.
    fn is_begun(&mut self, offset: u64) -> Result<bool> {
        self.reach(offset.saturating_add(wide(RecordHeader::BYTES)))?;
        let bytes = self.bytes.get(self.at(offset)?..).unwrap_or_default();
        Ok(bytes.iter().take(RecordHeader::BYTES).any(|byte| *byte != 0))
    }

    /// The largest horizon of any header after the last record, and the length of the torn tail.
    fn look_behind(&mut self, stop: u64, last: u64) -> Result<(u64, u64)> {
        self.reach(self.reader.identity.length)?;
        let bytes = self.bytes.get(self.at(stop)?..).unwrap_or_default();
        let (horizon, end) = headers_behind(bytes, &self.reader.identity, stop, last);
        let begun = self.at(stop)?..self.at(end)?;
        let begun = self.bytes.get(begun).unwrap_or_default();
        let cut = begun.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        Ok((horizon, wide(cut)))
    }
}
