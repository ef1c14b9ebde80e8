//! Imports stored documents into another index with their signatures; no text is sketched.
//!
//! This module only decides which parameters fit a stored signature. Documents are written
//! through the same path as other writes.

use crate::index::maintain::steps;
use crate::index::read::{Progress, ProgressReport};
use crate::index::state::core::Core;
use crate::index::state::versions::{Place, Snapshot};
use crate::index::write::batch::{Operation, Outcome};
use crate::sketch::{convert_lanes, lanes_are_convertible};
use crate::{Error, ErrorKind, Params, Result};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Maximum bytes of the documents of one batch: a compromise between the number of syncs and
/// memory.
const BATCH_BYTES: usize = small!(import::BATCH_BYTES, 4 << 20);
/// Size of a document in a batch, not counting key, payload and signature.
const DOCUMENT_BYTES: usize = 20;

/// The number of imported documents by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Imported {
    /// Documents whose key was new.
    pub inserted: u64,
    /// Documents whose key was stored with a different signature or payload: the old version is
    /// gone.
    pub replaced: u64,
    /// Documents whose key was stored with the same signature and payload: nothing was written, and
    /// they keep their time.
    pub unchanged: u64,
}

/// Inserts every document of another index. See [`crate::Index::import_with`].
pub(crate) fn import(
    core: &Core,
    from: &Snapshot,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Imported> {
    check_of_documents(from.params())?;
    check_of_documents(&core.params)?;
    let differences = core.params.signature_differences(from.params());
    if differences.is_empty() {
        return copy_documents(core, from, progress);
    }
    Err(Error::new(
        ErrorKind::Mismatch,
        format!("the signatures have other parameters: {}", differences.join("; ")),
    ))
}

/// Inserts every document of an index whose signatures can be converted.
pub(crate) fn copy_documents(
    core: &Core,
    from: &Snapshot,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Imported> {
    Import::new(core, from).run(progress)
}

/// Refuses passage indexes. If a shorter text replaced a longer one there, the last passages of the
/// longer text would remain.
pub(crate) fn check_of_documents(params: &Params) -> Result<()> {
    match params.passages() {
        None => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::Mismatch,
            "a passage index cannot be imported, or imported into; insert the texts",
        )),
    }
}

/// `Mismatch` if signatures of `from` cannot be converted to those of `to`.
pub(crate) fn check_convertible(from: &Params, to: &Params) -> Result<()> {
    let is_convertible =
        lanes_are_convertible(from.lane_bits(), to.lane_bits()) && from.scheme() == to.scheme();
    let bits = if is_convertible { from.lane_bits() } else { to.lane_bits() };
    let mut differences = from.signature_differences(&to.to_builder().lane_bits(bits).build()?);
    if from.passages() != to.passages() {
        differences.push("passages: others asked".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Mismatch,
        format!(
            "stored signatures can only get other bands, another threshold or narrower rows; this \
             needs the texts: {}",
            differences.join("; ")
        ),
    ))
}

/// A document that is being copied. Its bytes are borrowed from the source's file if possible.
struct Carried<'a> {
    key: Cow<'a, [u8]>,
    payload: Cow<'a, [u8]>,
    time: u64,
    shingle_count: u32,
    signature: Cow<'a, [u8]>,
}

impl Carried<'_> {
    /// The operation that inserts the document unchanged, with its payload even if that is empty.
    fn operation(&self) -> Operation<'_> {
        Operation::Insert {
            key: &self.key,
            payload: Some(&self.payload),
            time: self.time,
            shingle_count: self.shingle_count,
            signature: &self.signature,
        }
    }
}

struct Import<'a> {
    core: &'a Core,
    from: &'a Snapshot,
    /// Bits per lane in the source and in the target.
    bits: (u32, u32),
    batch_bytes_max: usize,
    batch: Vec<Carried<'a>>,
    batch_bytes: usize,
    imported: Imported,
}

impl<'a> Import<'a> {
    fn new(core: &'a Core, from: &'a Snapshot) -> Self {
        let bits = (from.params().lane_bits(), core.params.lane_bits());
        let batch_bytes_max = BATCH_BYTES.min(core.options.batch_bytes_max);
        let (batch, batch_bytes, imported) = (Vec::new(), 0, Imported::default());
        Self { core, from, bits, batch_bytes_max, batch, batch_bytes, imported }
    }

    fn run(mut self, report: ProgressReport<'_>) -> Result<Imported> {
        let total = self.from.len();
        for place in self.from.places() {
            let place = place?;
            if !self.from.is_live(place)? {
                continue;
            }
            let carried = self.carry(place)?;
            let bytes = DOCUMENT_BYTES
                + carried.key.len()
                + carried.payload.len()
                + carried.signature.len();
            if self.batch_bytes + bytes > self.batch_bytes_max {
                self.write()?;
                let Imported { inserted, replaced, unchanged } = self.imported;
                let done = total.min(inserted + replaced + unchanged);
                if report(Progress { done, total }).is_break() {
                    return Err(Error::new(ErrorKind::Cancelled, "importing was cancelled"));
                }
            }
            self.batch_bytes += bytes;
            self.batch.push(carried);
        }
        self.write()?;
        Ok(self.imported)
    }

    fn carry(&self, place: Place) -> Result<Carried<'a>> {
        let Place { source, ordinal } = place;
        let from: &'a Snapshot = self.from;
        let signature = match (from.signature_bytes(place)?, self.bits) {
            (signature, (from, to)) if from == to => signature,
            (signature, (from, to)) => Cow::Owned(convert_lanes(&signature, from, to)),
        };
        Ok(match from.state.segments.get(source) {
            Some(live) => {
                let stored = live.segment.document(ordinal)?;
                Carried {
                    key: stored.key,
                    payload: stored.payload,
                    time: live.segment.time(ordinal)?,
                    shingle_count: live.segment.shingle_count(ordinal)?,
                    signature,
                }
            }
            None => {
                let content = from.state.memtable.read();
                Carried {
                    key: Cow::Owned(content.key(ordinal).to_vec()),
                    payload: Cow::Owned(content.payload(ordinal).to_vec()),
                    time: content.time(ordinal),
                    shingle_count: content.shingle_count(ordinal),
                    signature,
                }
            }
        })
    }

    /// Writes the collected documents as one change.
    fn write(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let operations: Vec<_> = self.batch.iter().map(Carried::operation).collect();
        let written = steps::write_checked(self.core, &operations)?;
        self.imported.inserted += written.count(Outcome::Inserted);
        self.imported.replaced += written.count(Outcome::Replaced);
        self.imported.unchanged += written.count(Outcome::Unchanged);
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }
}
