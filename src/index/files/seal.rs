//! Sealing: turns documents into one segment file, without an index. A pure function of its input,
//! so that a task that runs twice makes the same file twice.

use crate::format::DecodeError;
use crate::format::bytes::{ByteReader, NUMBER_MAX, with_crc};
use crate::format::catalog::{Listed, SegmentEntry};
use crate::index::merge::parameters::shape_of;
use crate::index::read::Document;
use crate::index::state::core::Core;
use crate::index::state::options::Options;
use crate::index::state::versions::check_signature;
use crate::index::write::write_path::{check_key, check_payload};
use crate::segment::Builder;
use crate::storage::{OpenMode, Storage};
use crate::sync::Arc;
use crate::{Error, ErrorKind, Params, Result};
use nearkin_sketch::engine::validate;
use std::path::Path;

/// The identity of the index and the file number, which go into the header of a sealed file. They
/// are fixed before the file is made, so that every attempt of a task makes the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) uuid: [u8; 16],
    pub(crate) number: u64,
}

impl Ticket {
    /// A ticket for file `number` of the index `uuid`. Within an index, no number is used twice;
    /// the manifest ensures that. For [`Index::adopt`](crate::Index::adopt) any number will do,
    /// because the segment gets a new header.
    ///
    /// # Errors
    ///
    /// `Invalid` (a number of 2^62 or more).
    pub fn new(uuid: [u8; 16], number: u64) -> Result<Self> {
        if number < NUMBER_MAX {
            return Ok(Self { uuid, number });
        }
        Err(Error::invalid(format!("the file number {number} is not below 2^62")))
    }

    /// The identity of the index.
    pub fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// The number of the file.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// The description of a sealed segment for a manifest: small, so that a task can return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    pub(crate) uuid: [u8; 16],
    pub(crate) params_id: u64,
    pub(crate) entry: SegmentEntry,
}

impl Sealed {
    /// Length of [`Sealed::to_bytes`].
    pub const BYTES: usize = 72;

    /// The number of the file.
    pub fn number(&self) -> u64 {
        self.entry.number
    }

    /// The number of documents in the segment.
    pub fn documents(&self) -> u64 {
        u64::from(self.entry.docs)
    }

    /// The length of the file, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.entry.length
    }

    /// The hash of the tail of the file, which holds the checksums of everything before it.
    pub fn hash(&self) -> u64 {
        self.entry.tail_hash
    }

    /// Serializes the description, so that a task can send it to the process that lists the file.
    /// The layout is in `docs/reference/FILE_FORMAT.md`.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let Self { uuid, params_id, entry } = self;
        with_crc(&[
            uuid,
            &params_id.to_le_bytes(),
            &entry.number.to_le_bytes(),
            &entry.length.to_le_bytes(),
            &entry.tail_hash.to_le_bytes(),
            &entry.time_min.to_le_bytes(),
            &entry.time_max.to_le_bytes(),
            &entry.docs.to_le_bytes(),
        ])
    }

    /// The inverse of [`Sealed::to_bytes`].
    ///
    /// # Errors
    ///
    /// `Invalid` (the bytes are damaged, or are not a description).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let decoded = Self::decode(bytes);
        decoded.map_err(|_| Error::invalid("these bytes do not describe a sealed segment"))
    }

    fn decode(bytes: &[u8]) -> std::result::Result<Self, DecodeError> {
        let damaged = |what| DecodeError::damaged(what, 0);
        let mut reader = ByteReader::new(bytes);
        let uuid = reader.array("uuid")?;
        let mut next = || reader.u64("field");
        let (params_id, number, length) = (next()?, next()?, next()?);
        let (tail_hash, time_min, time_max) = (next()?, next()?, next()?);
        let docs = reader.u32("documents")?;
        let covered = bytes.get(..Self::BYTES - 4).unwrap_or_default();
        if reader.u32("checksum")? != crc32fast::hash(covered) || reader.remaining() > 0 {
            return Err(damaged("checksum"));
        }
        if number >= NUMBER_MAX || docs == 0 || docs == u32::MAX || time_min > time_max {
            return Err(damaged("field out of range"));
        }
        let file = Listed { number, length, tail_hash };
        let entry = SegmentEntry::new(file, docs, (time_min, time_max));
        Ok(Self { uuid, params_id, entry })
    }
}

/// Writes documents to one immutable segment file at `path`, without an index, log or catalog.
///
/// A pure function of its arguments except for the path: every attempt, on every machine, makes the
/// same file, byte for byte. The order of the documents does not matter: they are stored in
/// ascending order of their keys. On return the file is complete and durable; during the call, its
/// name has the suffix `.tmp`, and beside it may be a file with the suffix `.entries.tmp`; files
/// that have these names already are overwritten. Use a separate path for every attempt of a task.
/// The file belongs to no index until [`Index::adopt`](crate::Index::adopt) takes it, or a manifest
/// of a sharded index lists it.
///
/// Memory: all documents of the segment, and 4 bytes per document.
///
/// # Errors
///
/// `Invalid` (no documents, a duplicate key, a key or payload of invalid length, parameters of a
/// passage index), `Mismatch` (a signature with other parameters), `Exists` (there is already a
/// file at `path`; nothing was written), `Io`.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// use nearkin::shards::{Adopt, Ticket, seal};
/// use nearkin::{Document, Index, Options, Params, Sketcher};
///
/// let params = Params::for_threshold(0.7).build()?;
/// let sketcher = Sketcher::new(&params);
/// let documents = vec![
///     Document::new("p2", sketcher.text("a text of this and that")?).with_time(1_700_000_000_000),
///     Document::new("p1", sketcher.text("a text of something else")?),
/// ];
/// let ticket = Ticket::new([7; 16], 1)?;
/// let sealed = seal(&params, documents, &ticket, folder.path().join("part"))?;
/// assert_eq!(sealed.documents(), 2);
///
/// let index = Index::create(folder.path().join("x.nearkin"), &params, Options::default())?;
/// let adopted = index.adopt(&[folder.path().join("part")], Adopt::Refuse)?;
/// assert_eq!(adopted.inserted, 2);
/// assert!(index.contains("p1")?);
/// # Ok(())
/// # }
/// ```
pub fn seal(
    params: &Params,
    documents: Vec<Document>,
    ticket: &Ticket,
    path: impl AsRef<Path>,
) -> Result<Sealed> {
    seal_on(&Core::disk(), params, documents, ticket, path.as_ref())
}

pub(crate) fn seal_on(
    storage: &Arc<dyn Storage>,
    params: &Params,
    mut documents: Vec<Document>,
    ticket: &Ticket,
    path: &Path,
) -> Result<Sealed> {
    check(params, &documents)?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    if let Some(twice) = documents.windows(2).find(|pair| pair[0].key == pair[1].key) {
        let key = twice[0].key.escape_ascii();
        return Err(Error::invalid(format!("two documents have the key {key}; give one of them")));
    }
    let docs = u32::try_from(documents.len()).ok().filter(|docs| (1..u32::MAX).contains(docs));
    let docs = docs.ok_or_else(|| Error::invalid("a segment has from 1 to 2^32 - 2 documents"))?;
    match storage.open(path, OpenMode::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(crate::io_error("look for", path, error)),
        Ok(_) => {
            let what = "the file exists; seal to a new path";
            return Err(Error::about(ErrorKind::Exists, path, what));
        }
    }
    let shape = shape_of(params, ticket.uuid);
    let options = Options::default();
    let (memory, write) = (options.merge_bytes_max, options.compaction_write_bytes);
    let mut builder = Builder::create(storage, path, ticket.number, &shape, docs, memory, write)?;
    for document in &documents {
        builder.push_signatures(document.signature.as_bytes())?;
    }
    for document in &documents {
        builder.push_document(&document.key, &document.payload)?;
    }
    for document in &documents {
        builder.push_time(document.time)?;
    }
    for document in &documents {
        builder.push_shingle_count(document.signature.shingle_count())?;
    }
    while !builder.step(usize::MAX)? {}
    Ok(Sealed { uuid: ticket.uuid, params_id: shape.params_id, entry: builder.finish()? })
}

fn check(params: &Params, documents: &[Document]) -> Result<()> {
    validate(params)?;
    if params.passages().is_some() {
        return Err(Error::invalid("passages cannot be sealed; insert the texts"));
    }
    for (number, document) in documents.iter().enumerate() {
        check_document(params, document)
            .map_err(|error| error.of_document(number, documents.len(), &document.key))?;
    }
    Ok(())
}

fn check_document(params: &Params, document: &Document) -> Result<()> {
    check_key(&document.key)?;
    check_signature(params, &document.signature)?;
    check_payload(&document.payload)
}
