//! Imports stored documents into another index with their signatures; no text is sketched.
//!
//! This module only decides which parameters fit a stored signature. Documents are written
//! through the same path as other writes.

use crate::index::Index;
use crate::index::batch::{Operation, Outcome};
use crate::index::core::Core;
use crate::index::options::{Durability, Options};
use crate::index::read::{Progress, ProgressReport};
use crate::index::state::{Place, Snapshot};
use crate::sketch::{convert_lanes, lanes_are_convertible};
use crate::{Error, ErrorKind, Params, Result};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

/// Maximum bytes of the documents of one batch: a compromise between the number of syncs and
/// memory.
const BATCH_BYTES: usize = if cfg!(test) { 2 << 10 } else { 4 << 20 };
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

impl Index {
    /// Inserts every document of another index. Keys, payloads (including empty ones), times,
    /// shingle counts and signatures are copied unchanged. A document replaces the one with the
    /// same key.
    ///
    /// The other index may have other bands and another threshold, but its signatures must have the
    /// same parameters. Documents are written in batches of about 4 MiB, and each batch is one
    /// change. After a crash or an error the batches written so far remain; import again to add the
    /// rest. Costs the same as inserting, without the sketching.
    ///
    /// # Errors
    ///
    /// `Mismatch`: nothing is written, and the message says what differs. Also the errors of
    /// reading the other index, and those of [`Index::write`].
    pub fn import(&self, from: &Snapshot) -> Result<Imported> {
        self.import_with(from, &mut |_| ControlFlow::Continue(()))
    }

    /// Imports with progress in documents. If `progress` breaks off, the error is `Cancelled`, and
    /// the documents written before remain.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::import`].
    pub fn import_with(
        &self,
        from: &Snapshot,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Imported> {
        check_of_documents(from.params())?;
        check_of_documents(self.params())?;
        let differences = self.params().signature_differences(from.params());
        if differences.is_empty() {
            let here = self.here()?;
            return Import::new(&here, from).run(progress);
        }
        Err(Error::new(
            ErrorKind::Mismatch,
            format!("the signatures have other parameters: {}", differences.join("; ")),
        ))
    }

    /// Creates a new index at `out` from the stored signatures of another index. Returns its number
    /// of documents.
    ///
    /// The new index may have other bands, another threshold, or rows of another width: 16 bits can
    /// become 8; whole rows (32 or 64 bits) can become 8 or 16; and 32 can become 64.
    ///
    /// The new index answers exactly as if it had been made from the texts. Other changes of the
    /// parameters need the texts: the error `Mismatch` names them. Everything is durable on return.
    /// After a crash or an error an incomplete index may remain at `out`: delete it. Costs the same
    /// as [`Index::import`].
    ///
    /// # Errors
    ///
    /// `Mismatch` if the new parameters need the texts. Also the errors of [`Index::create`], of
    /// [`Index::write`], and of reading the other index.
    pub fn rebuild(
        from: &Snapshot,
        out: impl AsRef<Path>,
        params: &Params,
        options: Options,
    ) -> Result<u64> {
        Self::rebuild_with(from, out, params, options, &mut |_| ControlFlow::Continue(()))
    }

    /// Rebuilds with progress in documents. If `progress` breaks off, the error is `Cancelled`, and
    /// an incomplete index remains at `out`.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::rebuild`].
    pub fn rebuild_with(
        from: &Snapshot,
        out: impl AsRef<Path>,
        params: &Params,
        options: Options,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<u64> {
        check_convertible(from.params(), params)?;
        // One sync at the end is enough: after an earlier crash, the call can be repeated, because
        // the other index still exists.
        let options = Options { durability: Durability::OsBuffer, ..options };
        let index = Self::create(out, params, options)?;
        Import::new(index.core(), from).run(progress)?;
        let documents = index.len();
        index.close()?;
        Ok(documents)
    }
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
fn check_convertible(from: &Params, to: &Params) -> Result<()> {
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
        let written = self.core.write_checked(&operations)?;
        self.imported.inserted += written.count(Outcome::Inserted);
        self.imported.replaced += written.count(Outcome::Replaced);
        self.imported.unchanged += written.count(Outcome::Unchanged);
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }
}
