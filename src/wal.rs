//! The write-ahead log: acknowledged changes that no segment holds yet.
//!
//! Knows records and their file. Does not know what an operation means, nor when to sync: that
//! is `index/`'s business, and so is what to do when a log is full.

#[cfg(test)]
mod boundary_tests;
mod reader;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use reader::Records;
pub(crate) use reader::{Believe, LogReader, Look};

use crate::format::bytes::{narrow, wide};
use crate::format::header::{FileHeader, FileKind};
use crate::format::wal::{
    Operations, RECORD_ALIGN, RECORDS_BEGIN, RecordBuilder, RecordHeader, RecordKind, WalHeader,
};
use crate::storage::{self, File, OpenMode, Storage};
use crate::{Error, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the catalog says of a WAL, and what its file must say of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalIdentity {
    pub(crate) uuid: [u8; 16],
    pub(crate) params_id: u64,
    pub(crate) number: u64,
    pub(crate) salt: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
    /// The change before the first this file may hold.
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

/// An open log that takes records.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Arc<dyn File>,
    path: PathBuf,
    salt: u64,
    length: u64,
    end: u64,
}

/// One part in this many of a log is its reserve.
const RESERVE_SHARE_INVERSE: u64 = 8;

/// The last part of a log, for removes on a disk so full that no other log can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserve {
    Kept,
    Used,
}

/// Why an append did not happen.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The record does not fit into what is left of the file.
    Full,
    /// The write failed: any part of the record may be in the file until [`Wal::roll_back`].
    Failed(io::Error),
}

impl Wal {
    /// Makes an empty log and publishes it under `path`: written in full, synced, named, the name
    /// synced. `spare` is an older log whose blocks it takes over, and what is in them: under the
    /// new salt none of it is a record. It must be listed before the first append.
    pub(crate) fn create(
        storage: &dyn Storage,
        path: &Path,
        spare: Option<&Path>,
        identity: &WalIdentity,
    ) -> Result<Self> {
        let tmp = storage::names::tmp_of(path);
        let file = Self::create_as(storage, &tmp, path, spare, identity).map_err(|error| {
            // A file that had the name before is somebody else's.
            let ours = (error.kind() != io::ErrorKind::AlreadyExists).then_some(path);
            // Best effort: a file that stays is unlisted, and swept at the next open.
            for left in [Some(&*tmp), ours, spare].into_iter().flatten() {
                let _ = storage.remove(left);
            }
            Error::io("create", path, error)
        })?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            salt: identity.salt,
            length: identity.length,
            end: RECORDS_BEGIN,
        })
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

    /// Whether a record of this many bytes fits.
    pub(crate) fn has_room(&self, record_bytes: u64, reserve: Reserve) -> bool {
        let length = match reserve {
            Reserve::Kept => self.length - (self.length - RECORDS_BEGIN) / RESERVE_SHARE_INVERSE,
            Reserve::Used => self.length,
        };
        self.end.checked_add(record_bytes).is_some_and(|end| end <= length)
    }

    /// The least length of a log that has room for a record of this many bytes and its reserve.
    pub(crate) fn length_for(record_bytes: u64) -> u64 {
        let record_bytes = record_bytes.saturating_add(record_bytes / (RESERVE_SHARE_INVERSE - 1));
        RECORDS_BEGIN.saturating_add(record_bytes.saturating_add(8)).next_power_of_two()
    }

    /// Appends a record of this change, and returns the offset after it. The bytes are durable only
    /// after a sync of [`Wal::file`] that began after this returned; before that, any of them may
    /// be.
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
        let written = self.write(record.sealed_and_end());
        planted!(FullIsSuccess => if tests::is_full(&written) {
            self.end += bytes;
            return Ok(self.end);
        });
        written.map_err(AppendError::Failed)?;
        self.end += bytes;
        Ok(self.end)
    }

    /// Writes at the end what fits: that the record does was seen before, and of the zeros that
    /// follow it the last ones may not.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.length - self.end).unwrap_or(usize::MAX);
        self.file.write_at(&bytes[..bytes.len().min(room)], self.end)
    }

    /// Undoes a failed append: no header of it must survive. Overwritten and synced, or this log
    /// cannot say what it holds and is finished.
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

/// Brings a file to exactly the length, every block of it written once, and puts the headers into
/// it, and zeros to where the first record's header ends.
fn fill(file: &dyn File, identity: &WalIdentity) -> io::Result<()> {
    /// The system keeps in one piece what it is given in one, and goes through the blocks of a
    /// whole piece for each record that is appended to it.
    const PIECE: usize = 64 << 10;
    /// What the disk begins with at once.
    const STARTED: u64 = 1 << 20;
    let mut offset = file.bytes()?.min(identity.length);
    let mut unasked = offset;
    file.set_bytes(identity.length)?;
    let zeros = vec![0; PIECE];
    while offset < identity.length {
        // Pieces begin at multiples of their length, as the system's do.
        let left = PIECE - usize::try_from(offset).unwrap_or(0) % PIECE;
        let left = usize::try_from(identity.length - offset).map_or(left, |all| all.min(left));
        file.write_at(&zeros[..left], offset)?;
        offset += wide(left);
        // The disk works on it while the next ones are copied. A log that fails here is given up.
        if offset == identity.length || offset.is_multiple_of(STARTED) {
            file.start_writing(unasked, offset - unasked)?;
            unasked = offset;
        }
    }
    let mut begin = identity.encode();
    let length = usize::try_from(RECORDS_BEGIN).unwrap_or(0) + RecordHeader::BYTES;
    begin.resize(length.min(usize::try_from(identity.length).unwrap_or(length)), 0);
    file.write_at(&begin, 0)
}

/// The largest horizon of any valid header behind the place where reading stopped (`bytes` are
/// what lies from there to the end of the log), and where the last of their records ends. Unsynced
/// pages reach a disk in any order, so a valid record there is not by itself damage; a horizon
/// above the place is. `last` is the last change before it.
fn headers_behind(bytes: &[u8], identity: &WalIdentity, stop: u64, last: u64) -> (u64, u64) {
    let mut horizon = 0;
    // Every append leaves zeros for the next header: if it is not zero, it was begun.
    let mut end = stop.saturating_add(wide(RecordHeader::BYTES));
    let mut offset = stop;
    let mut rest = bytes;
    while offset < identity.length {
        // An unknown kind behind the stop is no record to replay; it only cannot vouch.
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

/// Every change of a log that still validates, whatever lies between them: for salvage, which
/// takes what there is. The log says itself which it is.
pub(crate) fn salvage(storage: &dyn Storage, path: &Path) -> Result<Salvaged> {
    let fail = |error| Error::io("read", path, error);
    let file = storage.open(path, OpenMode::Read).map_err(fail)?;
    let length = file.bytes().map_err(fail)?;
    let count = narrow(length, "length").map_err(|error| error.in_file(path, 0))?;
    let mut bytes = vec![0; count];
    file.read_at(&mut bytes, 0).map_err(fail)?;
    let identity = decode_identity(&bytes).map_err(|error| error.in_file(path, 0))?;
    let mut salvaged = Salvaged { identity, bytes, bodies: Vec::new() };
    let mut offset = RECORDS_BEGIN;
    while offset < length {
        // An unknown kind is nothing that could be applied.
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = salvaged.bytes.get(at..).unwrap_or_default();
        let record = record_in(rest, path, &identity, offset).unwrap_or(None);
        offset = offset.saturating_add(match record {
            Some((header, body)) => {
                if header.kind == RecordKind::Change {
                    let begin = at + RecordHeader::BYTES;
                    salvaged.bodies.push((header.change, begin..begin + body.len()));
                }
                header.record_bytes()
            }
            None => wide(RECORD_ALIGN),
        });
    }
    Ok(salvaged)
}

/// What could be read of a log that need not be whole.
#[derive(Debug)]
pub(crate) struct Salvaged {
    pub(crate) identity: WalIdentity,
    bytes: Vec<u8>,
    bodies: Vec<(u64, std::ops::Range<usize>)>,
}

impl Salvaged {
    /// The changes in the order in which they lie: their number and operations.
    pub(crate) fn changes(
        &self,
        signature_bytes: usize,
    ) -> impl Iterator<Item = (u64, Operations<'_>)> {
        self.bodies.iter().map(move |(change, body)| {
            (*change, Operations::new(&self.bytes[body.clone()], signature_bytes))
        })
    }
}

/// The change that a log is at after this record, if it is the next one after `change`.
fn change_after(header: &RecordHeader, offset: u64, change: u64) -> Option<u64> {
    let after = match header.kind {
        RecordKind::Change => change.saturating_add(1),
        RecordKind::Idle => planted!(IdleUnchecked, header.change, change),
    };
    (header.horizon <= offset && header.change == after).then_some(after)
}

/// Refuses a change whose operations cannot be read. Its checksums hold, so it was written like
/// this: a fault no cut could have made.
fn check_operations(body: &[u8], path: &Path, offset: u64, signature_bytes: usize) -> Result<()> {
    for operation in Operations::new(body, signature_bytes) {
        operation.map_err(|error| error.in_file(path, offset))?;
    }
    Ok(())
}

/// Header and body of the record at `offset`, if a whole one is there; `bytes` are what lies from
/// there on.
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

/// Whether an unlisted log holds a valid record: a sign that the catalog went back, because a
/// log gets records only once it is listed.
pub(crate) fn holds_a_record(storage: &dyn Storage, path: &Path) -> Result<bool> {
    let fail = |error| Error::io("read", path, error);
    let file = storage.open(path, OpenMode::Read).map_err(fail)?;
    let mut bytes = vec![
        0;
        narrow(RECORDS_BEGIN, "").map_err(|error| error.in_file(path, 0))?
            + RecordHeader::BYTES
    ];
    match file.read_at(&mut bytes, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(fail(error)),
    }
    let Ok(identity) = decode_identity(&bytes) else { return Ok(false) };
    let first = bytes.split_off(bytes.len() - RecordHeader::BYTES);
    Ok(!matches!(RecordHeader::decode(&first, identity.salt, RECORDS_BEGIN), Ok(None)))
}
