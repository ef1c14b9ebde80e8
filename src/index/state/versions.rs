//! The state of an index at one time: segments, their dead documents and the memtable. A snapshot
//! is a state with the number of the last change that its reader sees.
//!
//! Locates documents, and tells which of them are live. Writes nothing and makes no decisions.

use super::key::Key;
use crate::format::bytes::index;
use crate::format::catalog::SegmentEntry;
use crate::memtable::Memtable;
use crate::segment::{Dead, Segment, StoredDocument};
use crate::storage::Storage;
use crate::storage::lock::{LockLost, LockPlace};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::{Document, Error, Params, Result, Signature};
use nearkin_sketch::engine::{key_hash, signature_from_parts};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

/// A published file. After `delete_on_drop`, it is deleted when the last state that holds it is
/// dropped.
#[derive(Debug)]
pub(crate) struct HeldFile {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    pub(crate) doomed: AtomicBool,
    /// The lock of the handle that opened the file. While it is not held, the file is not deleted:
    /// another writer may own the folder, and another file may have this name.
    lock: Arc<LockPlace>,
}

impl HeldFile {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        lock: &Arc<LockPlace>,
        path: PathBuf,
    ) -> Arc<Self> {
        let lock = Arc::clone(lock);
        Arc::new(Self { storage, path, doomed: AtomicBool::new(false), lock })
    }

    /// Notes that the catalog lists the file.
    pub(crate) fn keep(&self) {
        self.doomed.store(false, Ordering::Relaxed);
    }

    /// Notes that the catalog does not list the file, or no longer does.
    pub(crate) fn delete_on_drop(&self) {
        self.doomed.store(true, Ordering::Relaxed);
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        // Keeps the lock from being released until the file is deleted.
        let lock = self.lock.held();
        if self.doomed.load(Ordering::Relaxed) && lock.is_some() {
            // If the removal fails, or the handle ended before, the file is an orphan: the next
            // open deletes it.
            let _ = self.storage.remove(&self.path);
        }
    }
}

/// An open dead file.
#[derive(Debug, Clone)]
pub(crate) struct HeldDead {
    pub(crate) dead: Arc<Dead>,
    pub(crate) file: Arc<HeldFile>,
}

/// A segment with the set of its documents that were dead at the floor.
#[derive(Debug, Clone)]
pub(crate) struct LiveSegment {
    pub(crate) segment: Arc<Segment>,
    pub(crate) file: Arc<HeldFile>,
    pub(crate) dead: Option<HeldDead>,
    pub(crate) entry: SegmentEntry,
}

impl LiveSegment {
    /// One bit per document, 64 per word: whether it was dead at the floor.
    pub(crate) fn dead_bits(&self) -> Result<Vec<u64>> {
        match &self.dead {
            Some(held) => held.dead.bits(),
            None => Ok(vec![0; index(self.entry.docs).div_ceil(64)]),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.entry.number
    }

    /// Whether a document was dead at the floor.
    pub(crate) fn is_dead(&self, ordinal: u32) -> Result<bool> {
        match &self.dead {
            Some(held) => held.dead.is_dead(ordinal),
            None => Ok(false),
        }
    }
}

/// The complete state at one time. It is replaced as a whole and never changed. (The memtable does
/// grow, but each of its documents has the number of the change that inserted it, so that a
/// snapshot can ignore later documents.)
#[derive(Debug)]
pub(crate) struct State {
    /// Equal in every state. Stored here so that a snapshot needs only one `Arc`.
    pub(crate) params: Arc<Params>,
    pub(crate) segments: Vec<Arc<LiveSegment>>,
    pub(crate) memtable: Arc<Memtable>,
    /// Why queries are refused; the state is then empty.
    pub(crate) closed: Option<Closed>,
}

/// Why a state refuses queries.
#[derive(Debug, Clone)]
pub(crate) enum Closed {
    /// The handle of this folder was shut down.
    ShutDown(PathBuf),
    /// A thread of the parent process held the locks of the state when this process was forked.
    CutOff,
}

impl State {
    /// An empty state that refuses queries.
    pub(crate) fn closed(params: Arc<Params>, why: Closed) -> Self {
        let memtable = Memtable::new(params.signature_bytes(), params.bands(), 0, 0);
        Self { closed: Some(why), ..Self::new(params, Vec::new(), Arc::new(memtable)) }
    }

    pub(crate) fn new(
        params: Arc<Params>,
        segments: Vec<Arc<LiveSegment>>,
        memtable: Arc<Memtable>,
    ) -> Self {
        Self { params, segments, memtable, closed: None }
    }
}

/// A state as held by one copy of the view, with a reference count of its own.
#[derive(Debug)]
pub(crate) struct Held(pub(in crate::index) Arc<State>);

impl Deref for Held {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The place of a document in a state: the number of its source (the segments in order, then the
/// memtable), and its ordinal in that source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) source: usize,
    pub(crate) ordinal: u32,
}

/// A frozen view of the index: later writes do not change its answers.
///
/// Cheap to take and to clone. While a snapshot exists, its files stay on disk.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) state: Arc<Held>,
    pub(crate) visible: u64,
    pub(crate) documents: u64,
}

impl Snapshot {
    /// The number of the last change this snapshot sees.
    pub fn change(&self) -> u64 {
        self.visible
    }

    /// The number of live documents. Constant time.
    pub fn len(&self) -> u64 {
        self.documents
    }

    /// Whether no document is live.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.state.params
    }

    /// Whether there is a document with this key. Costs one probe of the memtable and one of each
    /// segment's key table.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::get`].
    pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        Ok(self.locate(key.into().as_bytes())?.is_some())
    }

    /// The document with this key.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document>> {
        self.locate(key.into().as_bytes())?.map(|place| self.document(place)).transpose()
    }

    /// The signature of the document with this key, to store it elsewhere or to compare it. Costs
    /// the same as [`Snapshot::get`] without reading the payload.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::get`].
    pub fn signature<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Signature>> {
        let Some(place) = self.locate(key.into().as_bytes())? else { return Ok(None) };
        let bytes = self.signature_bytes(place)?.into_owned().into_boxed_slice();
        let shingles = self.shingle_count(place)?;
        Ok(Some(signature_from_parts(self.params(), shingles, bytes)))
    }

    /// Refuses queries on a handle that was shut down, and in a child that was forked while a
    /// thread of the parent wrote.
    pub(crate) fn refuse_if_closed(&self) -> Result<()> {
        match &self.state.closed {
            Some(Closed::ShutDown(dir)) => Err(crate::closed_error(dir, LockLost::Released)),
            None if !self.state.memtable.is_cut_off() => Ok(()),
            Some(Closed::CutOff) | None => Err(Error::new(
                crate::ErrorKind::Closed,
                "this process was forked while another thread wrote to the index, so it cannot \
                 read through this handle; open the index in this process",
            )),
        }
    }

    /// The places of all documents, live and dead.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        (0..=self.state.segments.len()).flat_map(move |source| {
            (0..self.document_count(source)).map(move |ordinal| Place { source, ordinal })
        })
    }

    /// The number of documents of a source, including dead ones. If queries are refused, returns 1,
    /// so that an iteration tries to read a document and returns the error.
    pub(crate) fn document_count(&self, source: usize) -> u32 {
        if self.refuse_if_closed().is_err() {
            return 1;
        }
        match self.state.segments.get(source) {
            Some(live) => live.segment.docs(),
            None => self.state.memtable.read().document_count(),
        }
    }

    /// The total number of documents in all sources, including dead ones.
    pub(crate) fn place_count(&self) -> u64 {
        (0..=self.state.segments.len()).map(|source| u64::from(self.document_count(source))).sum()
    }

    pub(crate) fn is_live(&self, place: Place) -> Result<bool> {
        self.refuse_if_closed()?;
        let content = self.state.memtable.read();
        match self.state.segments.get(place.source) {
            Some(live) => Ok(!live.is_dead(place.ordinal)?
                && !content.segment_death(live.number(), place.ordinal, self.visible)),
            None => Ok(content.is_live(place.ordinal, self.visible)),
        }
    }

    /// Whether documents of segments may have died since the floor.
    pub(crate) fn has_segment_deaths(&self) -> bool {
        self.state.memtable.read().segment_deaths().next().is_some()
    }

    /// Prefetches a signature.
    pub(crate) fn prefetch_signature(&self, place: Place) {
        if let Some(live) = self.state.segments.get(place.source) {
            live.segment.prefetch_signature(place.ordinal);
        }
    }

    /// The place of the live document with this key. There is at most one.
    pub(crate) fn locate(&self, key: &[u8]) -> Result<Option<Place>> {
        self.refuse_if_closed()?;
        let hash = key_hash(key, self.params().seed());
        let memtable = self.state.segments.len();
        let recent = self.state.memtable.read().find_key(key, hash, self.visible);
        if let Some(ordinal) = recent {
            return Ok(Some(Place { source: memtable, ordinal }));
        }
        let mut found = Vec::new();
        for (source, live) in self.state.segments.iter().enumerate().rev() {
            found.clear();
            live.segment.find_key(key, &mut found)?;
            for &ordinal in &found {
                let place = Place { source, ordinal };
                if self.is_live(place)? {
                    return Ok(Some(place));
                }
            }
        }
        Ok(None)
    }

    /// The bytes of a document's signature.
    pub(crate) fn signature_bytes(&self, place: Place) -> Result<Cow<'_, [u8]>> {
        match self.state.segments.get(place.source) {
            Some(live) => live.segment.signature(place.ordinal),
            None => Ok(Cow::Owned(self.state.memtable.read().signature(place.ordinal).to_vec())),
        }
    }

    pub(crate) fn key(&self, place: Place) -> Result<Vec<u8>> {
        match self.state.segments.get(place.source) {
            Some(live) => Ok(live.segment.key(place.ordinal)?.into_owned()),
            None => Ok(self.state.memtable.read().key(place.ordinal).to_vec()),
        }
    }

    /// The time of a document, when it was inserted or last replaced, in milliseconds since the
    /// Unix epoch.
    pub(crate) fn time(&self, place: Place) -> Result<u64> {
        match self.state.segments.get(place.source) {
            Some(live) => live.segment.time(place.ordinal),
            None => Ok(self.state.memtable.read().time(place.ordinal)),
        }
    }

    /// The number of shingles of a document.
    pub(crate) fn shingle_count(&self, place: Place) -> Result<u32> {
        match self.state.segments.get(place.source) {
            Some(live) => live.segment.shingle_count(place.ordinal),
            None => Ok(self.state.memtable.read().shingle_count(place.ordinal)),
        }
    }

    /// Appends a document's payload to `out`.
    pub(crate) fn payload_onto(&self, place: Place, out: &mut Vec<u8>) -> Result<()> {
        match self.state.segments.get(place.source) {
            Some(live) => {
                out.extend_from_slice(&live.segment.document(place.ordinal)?.payload);
            }
            None => {
                out.extend_from_slice(self.state.memtable.read().payload(place.ordinal));
            }
        }
        Ok(())
    }

    pub(crate) fn document(&self, place: Place) -> Result<Document> {
        let bytes = self.signature_bytes(place)?.into_owned().into_boxed_slice();
        let signature = signature_from_parts(self.params(), self.shingle_count(place)?, bytes);
        let (key, payload, time) = self.text(place)?;
        let (key, payload) = (key.into_owned(), payload.into_owned());
        Ok(Document { key, payload, time, signature })
    }

    /// The key, the payload and the time of a document.
    #[inline]
    #[expect(clippy::type_complexity, reason = "two pieces of a file, and a time")]
    pub(crate) fn text(&self, place: Place) -> Result<(Cow<'_, [u8]>, Cow<'_, [u8]>, u64)> {
        let Place { source, ordinal } = place;
        if let Some(live) = self.state.segments.get(source) {
            let StoredDocument { key, payload } = live.segment.document(ordinal)?;
            return Ok((key, payload, live.segment.time(ordinal)?));
        }
        let content = self.state.memtable.read();
        let (key, payload) = (content.key(ordinal).to_vec(), content.payload(ordinal).to_vec());
        Ok((Cow::Owned(key), Cow::Owned(payload), content.time(ordinal)))
    }

    /// Refuses a signature that was made with other parameters.
    pub(crate) fn check_signature(&self, signature: &Signature) -> Result<()> {
        check_signature(self.params(), signature)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut snapshot = f.debug_struct("Snapshot");
        snapshot.field("change", &self.visible).field("documents", &self.documents);
        snapshot.field("segments", &self.state.segments.len()).finish_non_exhaustive()
    }
}

/// Refuses a signature that was made with parameters other than `params`.
pub(crate) fn check_signature(params: &Params, signature: &Signature) -> Result<()> {
    let of_this_index = signature.id() == params.signature_id()
        && signature.as_bytes().len() == params.signature_bytes();
    if of_this_index { Ok(()) } else { Err(other_parameters()) }
}

/// The error for a signature that was made with other parameters.
#[cold]
pub(crate) fn other_parameters() -> Error {
    Error::new(
        crate::ErrorKind::Mismatch,
        "the signature was made with other parameters; make it with this index's sketcher",
    )
}

/// The BandKeys of a signature, in order of the bands.
pub(crate) fn band_keys(params: &Params, signature: &[u8], out: &mut Vec<u64>) {
    let bands = signature.chunks_exact(params.band_bytes()).take(params.bands());
    out.extend(bands.map(nearkin_sketch::engine::band_key));
}
