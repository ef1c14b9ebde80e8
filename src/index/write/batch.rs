//! Batches of operations and their outcomes. Plain data.

use super::operation::Operation;
use crate::format::wal::{OPERATION_HEAD_BYTES, RecordHeader};
use crate::index::state::key::Key;
use crate::{Document, Signature};
use nearkin_sketch::engine::Excerpt;
use std::fmt;

/// Operations that take effect together: after a crash, either all of them or none are stored.
///
/// Operations on the same key apply in order and leave one version of the document; the outcome of
/// the last of them covers all. A batch is built in a chain, or in place:
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("papers.nearkin");
/// use nearkin::{Batch, Edit, Index, Options, Params};
///
/// let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?;
/// let text = index.sketcher().text("the quick brown fox")?;
/// let mut batch = Batch::new();
/// for page in 0..1_000_u64 {
///     let edit = Edit::insert(page, &text);
///     if batch.bytes() + edit.bytes() > index.batch_bytes_max() {
///         index.write(std::mem::take(&mut batch))?;
///     }
///     batch.push(edit);
/// }
/// batch.extend((0..10_u64).map(Edit::remove));
/// index.write(batch)?;
/// assert_eq!(index.len(), 990);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Batch {
    entries: Vec<EditEntry>,
    /// Fields that only inserts have, in the order of the operations. They are stored apart so that
    /// a remove stays small: a batch may have many removes.
    inserts: Vec<Insert>,
    /// The signature, key and payload of each operation, concatenated: one allocation for a
    /// batch of thousands.
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditKind {
    Insert,
    /// An insert that keeps the stored payload.
    InsertOnly,
    SetPayload,
    Remove,
}

/// The position of an operation in the bytes of its batch.
#[derive(Debug, Clone, Copy)]
struct EditEntry {
    kind: EditKind,
    key_begin: usize,
    payload_begin: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct Insert {
    signature_id: u64,
    signature_begin: usize,
    /// `None`: the time at which the batch is written.
    time: Option<u64>,
    shingle_count: u32,
}

/// One operation of a [`Batch`]: for [`Batch::push`] and [`Batch::extend`].
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("papers.nearkin");
/// # use nearkin::{Batch, Edit, Index, Options, Params};
/// # let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?;
/// let text = index.sketcher().text("the quick brown fox")?;
/// let edits = [
///     Edit::insert("p1", &text).payload("page 1").time(1_700_000_000_000),
///     Edit::insert("p2", &text),
///     Edit::set_payload("p2", "page 2"),
///     Edit::remove("p3"),
/// ];
/// index.write(edits.into_iter().collect::<Batch>())?;
/// assert_eq!(index.get("p2")?.unwrap().payload, b"page 2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Edit<'a> {
    key: Key<'a>,
    what: What<'a>,
    payload: Option<&'a [u8]>,
    time: Option<u64>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Insert(&'a Signature),
    SetPayload,
    Remove,
}

impl<'a> Edit<'a> {
    /// Inserts a document, or replaces the one with this key (1 to 4,096 bytes), keeping its
    /// payload.
    #[inline]
    pub fn insert(key: impl Into<Key<'a>>, signature: &'a Signature) -> Self {
        Self { key: key.into(), what: What::Insert(signature), payload: None, time: None }
    }

    /// Stores the current state of a document whose text may have become blank: an insert, or,
    /// without a signature ([`Empty`](crate::ErrorKind::Empty)), a remove. Otherwise the document
    /// would still be found by a text that it no longer has.
    #[inline]
    pub fn put(key: impl Into<Key<'a>>, signature: Option<&'a Signature>) -> Self {
        match signature {
            Some(signature) => Self::insert(key, signature),
            None => Self::remove(key),
        }
    }

    /// Replaces the payload of the document with this key; everything else stays.
    #[inline]
    pub fn set_payload(key: impl Into<Key<'a>>, payload: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        let payload = Some(payload.as_ref());
        Self { key: key.into(), what: What::SetPayload, payload, time: None }
    }

    /// Removes the document with this key, if there is one.
    #[inline]
    pub fn remove(key: impl Into<Key<'a>>) -> Self {
        Self { key: key.into(), what: What::Remove, payload: None, time: None }
    }

    /// The payload, at most 64 KiB. An empty payload clears the stored one. A remove has no
    /// payload.
    #[must_use]
    #[inline]
    pub fn payload(mut self, payload: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        if !matches!(self.what, What::Remove) {
            self.payload = Some(payload.as_ref());
        }
        self
    }

    /// The time of the document, in milliseconds since the Unix epoch, in place of the time from
    /// the clock. Only inserts have a time.
    #[must_use]
    #[inline]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }

    /// The bytes that this operation adds to a batch: see [`Batch::bytes`].
    pub fn bytes(&self) -> usize {
        let signature = match self.what {
            What::Insert(signature) => signature.as_bytes().len(),
            What::SetPayload | What::Remove => 0,
        };
        let payload = self.payload.map_or(0, <[u8]>::len);
        OPERATION_BYTES + signature + self.key.as_bytes().len() + payload
    }
}

impl<'a> From<&'a Document> for Edit<'a> {
    /// The complete document, with its time and its payload, even if the payload is empty.
    fn from(document: &'a Document) -> Self {
        Self::insert(&document.key, &document.signature)
            .payload(&document.payload)
            .time(document.time)
    }
}

/// Overhead in the log: `RECORD_BYTES` per batch; `OPERATION_BYTES` per operation, in addition to
/// its signature, key and payload.
pub(crate) const RECORD_BYTES: usize = RecordHeader::BYTES;
pub(crate) const OPERATION_BYTES: usize = OPERATION_HEAD_BYTES;

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a document, or replaces the one that has this key, keeping its payload.
    #[must_use]
    pub fn insert<'k>(self, key: impl Into<Key<'k>>, signature: &Signature) -> Self {
        self.with(&Edit::insert(key.into(), signature))
    }

    /// Inserts or replaces a document with a payload: up to 64 KiB of the caller's own bytes. An
    /// empty payload clears the stored one.
    #[must_use]
    pub fn insert_with_payload<'k>(
        self,
        key: impl Into<Key<'k>>,
        signature: &Signature,
        payload: impl AsRef<[u8]>,
    ) -> Self {
        self.with(&Edit::insert(key.into(), signature).payload(&payload))
    }

    /// Inserts or replaces a complete document with its time and payload, for example from another
    /// index or a file. A stored document with the same signature and payload stays, and keeps its
    /// time.
    #[must_use]
    pub fn insert_document(self, document: &Document) -> Self {
        self.with(&Edit::from(document))
    }

    /// Replaces the payload of the document with this key, up to 64 KiB; signature and time stay.
    /// If the document is neither stored nor inserted earlier in this batch, the outcome is
    /// [`Outcome::Missing`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Batch, Index, Options, Outcome, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// let batch = Batch::new().set_payload("p1", "read").set_payload("p2", "read");
    /// let written = index.write(batch)?;
    /// assert_eq!(written.outcomes, [Outcome::Replaced, Outcome::Missing]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn set_payload<'k>(self, key: impl Into<Key<'k>>, payload: impl AsRef<[u8]>) -> Self {
        self.with(&Edit::set_payload(key.into(), &payload))
    }

    /// Removes the document that has this key, if there is one.
    #[must_use]
    pub fn remove<'k>(self, key: impl Into<Key<'k>>) -> Self {
        self.with(&Edit::remove(key.into()))
    }

    /// Adds an operation, in place.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "as extend takes it, and nobody needs it after"
    )]
    pub fn push(&mut self, edit: Edit<'_>) {
        self.add(&edit);
    }

    fn with(mut self, edit: &Edit<'_>) -> Self {
        self.add(edit);
        self
    }

    fn add(&mut self, edit: &Edit<'_>) {
        let signature_begin = self.bytes.len();
        let kind = match edit.what {
            What::Insert(signature) => {
                self.inserts.push(Insert {
                    signature_id: signature.id(),
                    signature_begin,
                    time: edit.time,
                    shingle_count: signature.shingle_count(),
                });
                self.bytes.extend_from_slice(signature.as_bytes());
                if edit.payload.is_some() { EditKind::Insert } else { EditKind::InsertOnly }
            }
            What::SetPayload => EditKind::SetPayload,
            What::Remove => EditKind::Remove,
        };
        let key_begin = self.bytes.len();
        self.bytes.extend_from_slice(edit.key.as_bytes());
        let payload_begin = self.bytes.len();
        self.bytes.extend_from_slice(edit.payload.unwrap_or_default());
        let end = self.bytes.len();
        self.entries.push(EditEntry { kind, key_begin, payload_begin, end });
    }

    /// The operations, each with the fingerprint of its signature's parameters (0 without a
    /// signature); `now` is the default time.
    pub(crate) fn operations(&self, now: u64) -> impl Iterator<Item = (Operation<'_>, u64)> {
        let mut inserts = self.inserts.iter();
        self.entries.iter().map(move |entry| {
            let EditEntry { kind, key_begin, payload_begin, end } = *entry;
            let key = &self.bytes[key_begin..payload_begin];
            let payload = &self.bytes[payload_begin..end];
            let insert = match kind {
                EditKind::Insert | EditKind::InsertOnly => inserts.next(),
                EditKind::SetPayload => return (Operation::SetPayload { key, payload }, 0),
                EditKind::Remove => None,
            };
            let Some(insert) = insert else { return (Operation::Remove { key }, 0) };
            let operation = Operation::Insert {
                key,
                payload: (kind == EditKind::Insert).then_some(payload),
                time: insert.time.unwrap_or(now),
                shingle_count: insert.shingle_count,
                signature: &self.bytes[insert.signature_begin..key_begin],
                is_decided: false,
            };
            (operation, insert.signature_id)
        })
    }

    /// Removes all operations, and keeps the memory for the next ones.
    pub fn clear(&mut self) {
        let Self { entries, inserts, bytes } = self;
        entries.clear();
        inserts.clear();
        bytes.clear();
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the batch has no operations.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The approximate size of the batch in the log, not counting stored payloads that are kept. At
    /// most [`Index::batch_bytes_max`](crate::Index::batch_bytes_max) bytes can be written at once.
    pub fn bytes(&self) -> usize {
        RECORD_BYTES + OPERATION_BYTES * self.entries.len() + self.bytes.len()
    }
}

impl<'a> Extend<Edit<'a>> for Batch {
    fn extend<I: IntoIterator<Item = Edit<'a>>>(&mut self, edits: I) {
        for edit in edits {
            self.add(&edit);
        }
    }
}

impl<'a> FromIterator<Edit<'a>> for Batch {
    fn from_iter<I: IntoIterator<Item = Edit<'a>>>(edits: I) -> Self {
        let mut batch = Self::new();
        batch.extend(edits);
        batch
    }
}

/// The outcome of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Outcome {
    /// The key was new.
    Inserted,
    /// The key had another signature, number of shingles or payload; that version is gone.
    Replaced,
    /// The key had the same signature, number of shingles and payload: nothing was written, and the
    /// time stays.
    Unchanged,
    /// The document was removed.
    Removed,
    /// No document has the key, so there was nothing to remove, or no document to give the payload
    /// to. Nothing was written.
    Missing,
    /// A later operation of the same batch has the same key; its outcome covers both.
    Superseded,
}

impl Outcome {
    /// The outcome as one word, for logs and protocols: `inserted`, `replaced`, `unchanged`,
    /// `removed`, `missing` or `superseded`. The word of an outcome never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Replaced => "replaced",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::Missing => "missing",
            Self::Superseded => "superseded",
        }
    }
}

/// The result of writing a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Written {
    /// The number of the change. If nothing had to be written, the number of the last earlier
    /// change, whose state the outcomes describe.
    pub change: u64,
    /// One outcome per operation, in the order of the batch.
    pub outcomes: Vec<Outcome>,
}

impl Written {
    /// The number of operations with this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        let count = self.outcomes.iter().filter(|seen| **seen == outcome).count();
        crate::format::bytes::wide(count)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut batch = f.debug_struct("Batch");
        let removes = self.entries.iter().filter(|entry| entry.kind == EditKind::Remove).count();
        batch.field("inserts", &self.inserts.len()).field("removes", &removes);
        batch.field("bytes", &self.bytes.len()).finish()
    }
}

impl fmt::Debug for Edit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut edit = f.debug_struct("Edit");
        let what = match self.what {
            What::Insert(_) => "insert",
            What::SetPayload => "set_payload",
            What::Remove => "remove",
        };
        edit.field("what", &what).field("key", &self.key);
        edit.field("payload", &self.payload.map(Excerpt)).field("time", &self.time).finish()
    }
}
