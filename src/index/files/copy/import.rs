//! Imports stored documents into another index with their signatures; no text is sketched.
//!
//! This module only decides which parameters fit a stored signature. Documents are written
//! through the same path as other writes.

use crate::index::maintain::steps;
use crate::index::read::Progress;
use crate::index::state::core::Core;
use crate::index::state::versions::{Place, Snapshot};
use crate::index::write::batch::{OPERATION_BYTES, Outcome};
use crate::index::write::operation::Operation;
use crate::index::write::write_path;
use crate::{Error, ErrorKind, Params, Result};
use nearkin_sketch::engine::{convert_lanes, lanes_are_convertible};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Maximum bytes of the documents of one batch: a compromise between the number of syncs and
/// memory.
const BATCH_BYTES: usize = small!(import::BATCH_BYTES, 4 << 20);

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
    let (total, bytes_max) = (from.len(), BATCH_BYTES.min(core.options.batch_bytes_max));
    let (mut batch, mut batch_bytes, mut imported) = (Vec::new(), 0, Imported::default());
    for place in from.places() {
        if !from.is_live(place)? {
            continue;
        }
        let next = carry(core, from, place)?;
        let bytes = OPERATION_BYTES + next.key.len() + next.payload.len() + next.signature.len();
        if batch_bytes + bytes > bytes_max {
            write(core, &batch, &mut imported)?;
            batch.clear();
            batch_bytes = 0;
            let Imported { inserted, replaced, unchanged } = imported;
            let done = total.min(inserted + replaced + unchanged);
            if progress(Progress { done, total }).is_break() {
                return Err(Error::new(ErrorKind::Cancelled, "importing was cancelled"));
            }
        }
        batch_bytes += bytes;
        batch.push(next);
    }
    write(core, &batch, &mut imported)?;
    Ok(imported)
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
            is_decided: false,
        }
    }
}

/// Reads a document, with its signature as the target stores it.
fn carry<'a>(core: &Core, from: &'a Snapshot, place: Place) -> Result<Carried<'a>> {
    let (signature, bits) = (from.signature_bytes(place)?, core.params.lane_bits());
    let signature = match from.params().lane_bits() {
        own if own == bits => signature,
        own => Cow::Owned(convert_lanes(&signature, own, bits)),
    };
    let (key, payload, time) = from.text(place)?;
    Ok(Carried { key, payload, time, shingle_count: from.shingle_count(place)?, signature })
}

/// Writes documents as one change.
fn write(core: &Core, batch: &[Carried<'_>], imported: &mut Imported) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let operations: Vec<_> = batch.iter().map(Carried::operation).collect();
    let written = write_path::write_checked(core, &operations)?;
    steps::after_write(core);
    imported.inserted += written.count(Outcome::Inserted);
    imported.replaced += written.count(Outcome::Replaced);
    imported.unchanged += written.count(Outcome::Unchanged);
    Ok(())
}
