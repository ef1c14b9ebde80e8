//! What a caller writes, and what became of it. Plain data.

use crate::Document;
use crate::format::wal::LoggedOperation;
use crate::index::key::Key;
use crate::sketch::Signature;
use std::fmt;

/// Operations that take effect together: after a crash either all of them are there or none.
///
/// If a key occurs more than once, the last operation on it wins.
#[derive(Clone, Default)]
pub struct Batch {
    entries: Vec<Entry>,
    /// What only inserts have, in their order: a remove is small, and often they are many.
    inserts: Vec<Insert>,
    /// Of each operation: signature, key, payload. In one piece, so that a batch of thousands
    /// takes no memory of its own for each.
    bytes: Vec<u8>,
}

/// Where an operation lies in the bytes of its batch. Of a remove the payload is empty.
#[derive(Debug, Clone, Copy)]
struct Entry {
    is_insert: bool,
    key_begin: usize,
    payload_begin: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct Insert {
    signature_id: u64,
    signature_begin: usize,
    /// None: that of the clock when the batch is written.
    time: Option<u64>,
    shingle_count: u32,
}

/// One operation of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation<'a> {
    entry: Entry,
    /// None of a remove.
    insert: Option<&'a Insert>,
    bytes: &'a [u8],
}

impl<'a> Operation<'a> {
    /// What the signature was made with; 0 of a remove.
    pub(crate) fn signature_id(&self) -> u64 {
        self.insert.map_or(0, |insert| insert.signature_id)
    }

    /// As the log will have it; `now` is the time of a document that brings none.
    pub(crate) fn logged(&self, now: u64) -> LoggedOperation<'a> {
        let Entry { key_begin, payload_begin, end, .. } = self.entry;
        let key = &self.bytes[key_begin..payload_begin];
        match self.insert {
            None => LoggedOperation::Remove { key },
            Some(insert) => LoggedOperation::Insert {
                key,
                payload: &self.bytes[payload_begin..end],
                time: insert.time.unwrap_or(now),
                shingle_count: insert.shingle_count,
                signature: &self.bytes[insert.signature_begin..key_begin],
            },
        }
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a document, or replaces the one that has this key.
    #[must_use]
    pub fn insert<'k>(self, key: impl Into<Key<'k>>, signature: &Signature) -> Self {
        self.insert_with_payload(key, signature, b"")
    }

    /// Inserts or replaces a document that carries up to 64 KiB of the caller's own bytes.
    #[must_use]
    pub fn insert_with_payload<'k>(
        self,
        key: impl Into<Key<'k>>,
        signature: &Signature,
        payload: impl AsRef<[u8]>,
    ) -> Self {
        self.push_signed(key.into().as_bytes(), signature, payload.as_ref(), None)
    }

    /// Inserts or replaces a document as it is, its time included, as it was in another index or
    /// in a file. What is there with the same signature and payload stays, with the time it has.
    #[must_use]
    pub fn insert_document(self, document: &Document) -> Self {
        let Document { key, payload, time, signature } = document;
        self.push_signed(key, signature, payload, Some(*time))
    }

    fn push_signed(
        mut self,
        key: &[u8],
        signature: &Signature,
        payload: &[u8],
        time: Option<u64>,
    ) -> Self {
        self.inserts.push(Insert {
            signature_id: signature.id(),
            signature_begin: self.bytes.len(),
            time,
            shingle_count: signature.shingle_count(),
        });
        self.bytes.extend_from_slice(signature.as_bytes());
        self.push(true, key, payload);
        self
    }

    /// Removes the document that has this key, if there is one.
    #[must_use]
    pub fn remove<'k>(mut self, key: impl Into<Key<'k>>) -> Self {
        self.push(false, key.into().as_bytes(), b"");
        self
    }

    fn push(&mut self, is_insert: bool, key: &[u8], payload: &[u8]) {
        let key_begin = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let payload_begin = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        let end = self.bytes.len();
        self.entries.push(Entry { is_insert, key_begin, payload_begin, end });
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let mut inserts = self.inserts.iter();
        self.entries.iter().map(move |entry| {
            let insert = if entry.is_insert { inserts.next() } else { None };
            Operation { entry: *entry, insert, bytes: &self.bytes }
        })
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how many bytes the batch takes in the WAL, to be held against
    /// [`Options::batch_bytes_max`](crate::Options::batch_bytes_max).
    pub fn wal_bytes(&self) -> usize {
        32 + 20 * self.entries.len() + self.bytes.len()
    }
}

/// What became of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Outcome {
    /// The key was new.
    Inserted,
    /// The key had another signature or payload; that version is gone.
    Replaced,
    /// The key had the same signature and payload: nothing was written.
    Unchanged,
    /// The document is gone.
    Removed,
    /// There was no document with the key to remove: nothing was written.
    Missing,
    /// A later operation of the same batch has the same key: nothing was written for this one.
    Superseded,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Written {
    /// The number of the change, or, if nothing had to be written, of the change whose state the
    /// outcomes describe.
    pub change: u64,
    /// One outcome per operation, in the order of the batch.
    pub outcomes: Vec<Outcome>,
}

impl Written {
    /// How many operations had this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        let count = self.outcomes.iter().filter(|seen| **seen == outcome).count();
        crate::format::bytes::wide(count)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut batch = f.debug_struct("Batch");
        batch.field("inserts", &self.inserts.len());
        batch.field("removes", &(self.entries.len() - self.inserts.len()));
        batch.field("bytes", &self.bytes.len()).finish()
    }
}
