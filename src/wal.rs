//! The write-ahead log: acknowledged changes that are not in a segment yet.
//!
//! Handles records and their file. `index/` decides what operations mean, when to sync, and what to
//! do when a log is full.

#[cfg(test)]
mod boundary_tests;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use reader::{Believe, LogReader, Look, Records};

use crate::format::bytes::wide;
use crate::format::header::{FileHeader, FileKind};
use crate::format::wal::{
    Operations, RECORD_ALIGN, RECORDS_BEGIN, RecordBuilder, RecordHeader, RecordKind, WalHeader,
};
use crate::storage::{self, File, OpenMode, Storage};
use crate::{Error, OrIo, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The identity of a WAL: listed in the catalog, and repeated in the header of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalIdentity {
    pub(crate) uuid: [u8; 16],
    pub(crate) params_id: u64,
    pub(crate) number: u64,
    pub(crate) salt: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
    /// The number of the last change before the first change in this file.
    pub(crate) floor: u64,
}

impl WalIdentity {
    fn encode(&self) -> Vec<u8> {
        let header = FileHeader {
            kind: FileKind::Wal,
            uuid: self.uuid,
            number: self.number,
            params_id: self.params_id,
        };
        let own = WalHeader { salt: self.salt, length: self.length, floor: self.floor };
        [&header.encode()[..], &own.encode()[..]].concat()
    }
}

/// A log open for appending.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Arc<dyn File>,
    path: PathBuf,
    salt: u64,
    length: u64,
    end: u64,
}

/// The reserve of a log is its space for records, divided by this number.
const RESERVE_SHARE_INVERSE: u64 = 8;

/// Whether an append may use the reserve: the last part of a log, kept for removes when the disk is
/// too full for another log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserve {
    Kept,
    Used,
}

/// Why an append failed.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The record does not fit into the remaining part of the file.
    Full,
    /// The write failed: parts of the record may be in the file until [`Wal::roll_back`].
    Failed(io::Error),
}

impl Wal {
    /// Makes an empty log and publishes it under `path`: writes it in full, syncs it, renames it
    /// and syncs the rename. `spare` is an older log whose blocks are reused; its content stays,
    /// but is not valid under the new salt. The catalog must list the log before the first append.
    pub(crate) fn create(
        storage: &dyn Storage,
        path: &Path,
        spare: Option<&Path>,
        identity: &WalIdentity,
    ) -> Result<Self> {
        let tmp = storage::names::tmp_of(path);
        let file = Self::create_as(storage, &tmp, path, spare, identity).map_err(|error| {
            // If the name was taken, the file with that name is not ours and must stay.
            let ours = (error.kind() != io::ErrorKind::AlreadyExists).then_some(path);
            // Best effort: a file that cannot be removed is unlisted, so the next open deletes it.
            for left in [Some(&*tmp), ours, spare].into_iter().flatten() {
                let _ = storage.remove(left);
            }
            crate::io_error("create", path, error)
        })?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            salt: identity.salt,
            length: identity.length,
            end: RECORDS_BEGIN,
        })
    }

    /// Opens a log to append after its records, which end at `end`, are all synced, and of which no
    /// other handle appends.
    pub(crate) fn resume(
        storage: &dyn Storage,
        path: &Path,
        identity: &WalIdentity,
        end: u64,
    ) -> Result<Self> {
        let file = storage.open(path, OpenMode::ReadWrite).or_io("open", path)?;
        let (path, salt, length) = (path.to_path_buf(), identity.salt, identity.length);
        Ok(Self { file, path, salt, length, end })
    }

    fn create_as(
        storage: &dyn Storage,
        tmp: &Path,
        path: &Path,
        spare: Option<&Path>,
        identity: &WalIdentity,
    ) -> io::Result<Arc<dyn File>> {
        let mode = match spare {
            Some(spare) => storage.rename_new(spare, tmp).map(|()| OpenMode::ReadWrite)?,
            None => OpenMode::Create,
        };
        let file = storage.open(tmp, mode)?;
        fill(&*file, identity)?;
        storage::publish(storage, &*file, tmp, path)?;
        Ok(file)
    }

    /// Whether a record of this length fits.
    pub(crate) fn has_room(&self, record_bytes: u64, reserve: Reserve) -> bool {
        let length = match reserve {
            Reserve::Kept => self.length - (self.length - RECORDS_BEGIN) / RESERVE_SHARE_INVERSE,
            Reserve::Used => self.length,
        };
        self.end.checked_add(record_bytes).is_some_and(|end| end <= length)
    }

    /// The minimum length of a log that has room for a record of this length in addition to the
    /// reserve.
    pub(crate) fn length_for(record_bytes: u64) -> u64 {
        let record_bytes = record_bytes.saturating_add(record_bytes / (RESERVE_SHARE_INVERSE - 1));
        RECORDS_BEGIN.saturating_add(record_bytes.saturating_add(8)).next_power_of_two()
    }

    /// Appends a record of this change, and returns the offset after it. The record is durable only
    /// after a sync of [`Wal::file`] that starts after this call. Before that, a power cut may
    /// leave any part of it.
    pub(crate) fn append(
        &mut self,
        record: &mut RecordBuilder,
        kind: RecordKind,
        change: u64,
        horizon: u64,
    ) -> std::result::Result<u64, AppendError> {
        if !self.has_room(record.record_bytes(), Reserve::Used) {
            return Err(AppendError::Full);
        }
        let bytes = wide(record.seal(kind, change, horizon, self.salt, self.end).len());
        self.write(record.sealed_and_end()).map_err(AppendError::Failed)?;
        self.end += bytes;
        Ok(self.end)
    }

    /// Writes at the end of the records, but not beyond the end of the file. The caller has checked
    /// that the record fits; some of the zeros that follow it may not.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.length - self.end).unwrap_or(usize::MAX);
        self.file.write_at(&bytes[..bytes.len().min(room)], self.end)
    }

    /// Undoes a failed append: the header of its record must not survive. If the overwrite or the
    /// sync fails, the content of the log is unknown, and the log must not be used any more.
    pub(crate) fn roll_back(&self) -> io::Result<()> {
        self.file.write_at(&[0; RecordHeader::BYTES], self.end)?;
        self.file.sync()
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The offset after the last record.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// Gives the file the length in `identity`, with every block written once. Then writes the headers
/// of the file, and zeros from there to the end of the first record's header.
fn fill(file: &dyn File, identity: &WalIdentity) -> io::Result<()> {
    /// Bytes per write. The page cache keeps each write as one piece, and every later append walks
    /// all blocks of the piece that it writes to, so pieces are small.
    const PIECE: usize = 64 << 10;
    /// Number of bytes to write before their writeback is started.
    const STARTED: u64 = 1 << 20;
    let mut offset = file.bytes()?.min(identity.length);
    let mut unasked = offset;
    file.set_bytes(identity.length)?;
    let zeros = vec![0; PIECE];
    while offset < identity.length {
        // Pieces are aligned to their length, like the pieces of the page cache.
        let left = PIECE - usize::try_from(offset).unwrap_or(0) % PIECE;
        let left = usize::try_from(identity.length - offset).map_or(left, |all| all.min(left));
        file.write_at(&zeros[..left], offset)?;
        offset += wide(left);
        // Start writeback, so that it runs while the next pieces are written. If it cannot be
        // started, no log is created. (The last pieces are synced at once.)
        if offset < identity.length && offset.is_multiple_of(STARTED) {
            file.start_writing(unasked, offset - unasked)?;
            unasked = offset;
        }
    }
    let mut begin = identity.encode();
    let length = usize::try_from(RECORDS_BEGIN).unwrap_or(0) + RecordHeader::BYTES;
    begin.resize(length.min(usize::try_from(identity.length).unwrap_or(length)), 0);
    file.write_at(&begin, 0)
}

/// Scans the log after the place `stop`, where reading stopped. Returns the largest horizon in any
/// valid header there, and the end of the last record with such a header. `bytes` is the log from
/// `stop` to its end; `last` is the last change before it. Unsynced pages reach the disk in any
/// order, so a valid record after `stop` is not by itself a sign of damage; a horizon above `stop`
/// is.
fn headers_behind(bytes: &[u8], identity: &WalIdentity, stop: u64, last: u64) -> (u64, u64) {
    let mut horizon = 0;
    // The torn tail includes the place of the next header: every append leaves zeros there, so any
    // other bytes belong to a record that was started.
    let mut end = stop.saturating_add(wide(RecordHeader::BYTES));
    let mut offset = stop;
    let mut rest = bytes;
    while offset < identity.length {
        // A record of unknown kind after `stop` is not replayed, so its horizon does not count.
        if RecordHeader::may_be(rest)
            && let Ok(Some(header)) = RecordHeader::decode(rest, identity.salt, offset)
        {
            let fits = header.record_bytes() <= identity.length - offset;
            let later = header.change > last || header.kind == RecordKind::Idle;
            if fits && later && header.horizon <= offset {
                horizon = horizon.max(header.horizon);
                end = end.max(offset.saturating_add(header.record_bytes()));
            }
        }
        offset = offset.saturating_add(wide(RECORD_ALIGN));
        rest = rest.get(RECORD_ALIGN..).unwrap_or_default();
    }
    (horizon, end.min(identity.length))
}

/// For salvage: returns every change of a log that is still valid, whatever lies in between. The
/// identity is the one that the catalog lists; without a catalog, it is read from the log itself.
pub(crate) fn salvage(
    storage: &dyn Storage,
    path: &Path,
    listed: Option<WalIdentity>,
) -> Result<SalvagedLog> {
    let bytes = storage::read_start(storage, path, u64::MAX).or_io("read", path)?;
    let length = wide(bytes.len());
    let (identity, damage) =
        match (decode_identity(&bytes).map_err(|error| error.in_file(path, 0)), listed) {
            (Ok(identity), Some(listed)) if identity != listed => {
                (listed, Some(Error::corrupt(path, 0, "not the log that the catalog lists")))
            }
            (Ok(identity), _) => (identity, None),
            (Err(error), Some(identity)) => (identity, Some(error)),
            (Err(error), None) => return Err(error),
        };
    let mut salvaged = SalvagedLog { identity, damage, bytes, bodies: Vec::new() };
    let (mut offset, mut end) = (RECORDS_BEGIN, RECORDS_BEGIN);
    while offset < length {
        // A record of unknown kind cannot be applied, so it is skipped like damage.
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = salvaged.bytes.get(at..).unwrap_or_default();
        let record = record_in(rest, path, &identity, offset).unwrap_or(None);
        offset = offset.saturating_add(match record {
            Some((header, body)) => {
                if header.kind == RecordKind::Change {
                    let begin = at + RecordHeader::BYTES;
                    salvaged.bodies.push((header.change, begin..begin + body.len()));
                }
                end = offset.saturating_add(header.record_bytes());
                header.record_bytes()
            }
            None => wide(RECORD_ALIGN),
        });
    }
    // Every append leaves zeros where the next record begins.
    let next = usize::try_from(end).ok().and_then(|end| salvaged.bytes.get(end..));
    let next = next.map(|next| &next[..next.len().min(RecordHeader::BYTES)]).unwrap_or_default();
    if length < identity.length {
        let what = format!("the log has lost its end: {length} bytes of {}", identity.length);
        salvaged.damage.get_or_insert_with(|| Error::corrupt(path, length, what));
    } else if next.iter().any(|byte| *byte != 0) {
        let what = "the last record is damaged, or was never finished";
        salvaged.damage.get_or_insert_with(|| Error::corrupt(path, end, what));
    }
    Ok(salvaged)
}

/// The readable part of a log that may be damaged.
#[derive(Debug)]
pub(crate) struct SalvagedLog {
    pub(crate) identity: WalIdentity,
    /// The damage of its header or of its end, if there is any.
    pub(crate) damage: Option<Error>,
    bytes: Vec<u8>,
    bodies: Vec<(u64, std::ops::Range<usize>)>,
}

impl SalvagedLog {
    /// The changes in file order: their number and operations.
    pub(crate) fn changes(
        &self,
        signature_bytes: usize,
    ) -> impl Iterator<Item = (u64, Operations<'_>)> {
        self.bodies.iter().map(move |(change, body)| {
            (*change, Operations::new(&self.bytes[body.clone()], signature_bytes))
        })
    }
}

/// The number of the last change after this record. `None` if the record cannot follow `change`.
fn change_after(header: &RecordHeader, offset: u64, change: u64) -> Option<u64> {
    let after = match header.kind {
        RecordKind::Change => change.saturating_add(1),
        RecordKind::Idle => change,
    };
    (header.horizon <= offset && header.change == after).then_some(after)
}

/// Refuses a change whose operations cannot be parsed. The checksums of the record are valid, so it
/// was written like this: a torn write cannot be the cause.
fn check_operations(body: &[u8], path: &Path, offset: u64, signature_bytes: usize) -> Result<()> {
    for operation in Operations::new(body, signature_bytes) {
        operation.map_err(|error| error.in_file(path, offset))?;
    }
    Ok(())
}

/// Header and body of the record at `offset`, if it is complete. `bytes` is the log from `offset`
/// on.
fn record_in<'b>(
    bytes: &'b [u8],
    path: &Path,
    identity: &WalIdentity,
    offset: u64,
) -> Result<Option<(RecordHeader, &'b [u8])>> {
    let header = RecordHeader::decode(bytes, identity.salt, offset);
    let Some(header) = header.map_err(|error| error.in_file(path, 0))? else { return Ok(None) };
    let body = usize::try_from(header.body_bytes).ok();
    let body = body.and_then(|count| bytes.get(RecordHeader::BYTES..)?.get(..count));
    Ok(body.filter(|body| header.matches(body, identity.salt, offset)).map(|body| (header, body)))
}

fn decode_identity(bytes: &[u8]) -> std::result::Result<WalIdentity, crate::format::DecodeError> {
    let header = FileHeader::decode(bytes, true)?;
    let own = WalHeader::decode(bytes.get(FileHeader::BYTES..).unwrap_or_default())?;
    if header.kind != FileKind::Wal {
        return Err(crate::format::DecodeError::damaged("not a WAL", 8));
    }
    Ok(WalIdentity {
        uuid: header.uuid,
        params_id: header.params_id,
        number: header.number,
        salt: own.salt,
        length: own.length,
        floor: own.floor,
    })
}

/// Whether an unlisted log contains a valid record. A log gets records only after it was listed, so
/// such a record shows that the catalog was replaced by an older one.
pub(crate) fn holds_a_record(storage: &dyn Storage, path: &Path) -> Result<bool> {
    let bytes = storage::read_start(storage, path, RECORDS_BEGIN + wide(RecordHeader::BYTES))
        .or_io("read", path)?;
    let Ok(identity) = decode_identity(&bytes) else { return Ok(false) };
    let first = usize::try_from(RECORDS_BEGIN).ok().and_then(|begin| bytes.get(begin..));
    let first = RecordHeader::decode(first.unwrap_or_default(), identity.salt, RECORDS_BEGIN);
    Ok(!matches!(first, Ok(None)))
}
