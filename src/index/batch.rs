//! What a caller writes, and what became of it. Plain data.

use crate::Document;
use crate::format::wal::LoggedOperation;
use crate::sketch::Signature;

/// Operations that take effect together: after a crash either all of them are there or none.
///
/// If a key occurs more than once, the last operation on it wins.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    entries: Vec<Entry>,
    /// Of each operation: signature, key, payload. In one piece, so that a batch of thousands
    /// takes no memory of its own for each.
    bytes: Vec<u8>,
}

/// Where an operation lies in the bytes of its batch.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// None of a remove.
    signature: Option<SignatureEntry>,
    /// None: that of the clock when the batch is written.
    time: Option<u64>,
    key_begin: usize,
    payload_begin: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct SignatureEntry {
    id: u64,
    shingle_count: u32,
    begin: usize,
}

/// One operation of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation<'a> {
    /// What the signature was made with; 0 of a remove.
    pub(crate) signature_id: u64,
    entry: Entry,
    bytes: &'a [u8],
}

impl<'a> Operation<'a> {
    /// As the log will have it; `now` is the time of a document that brings none.
    pub(crate) fn logged(&self, now: u64) -> LoggedOperation<'a> {
        let Entry { signature, time, key_begin, payload_begin, end } = self.entry;
        let key = &self.bytes[key_begin..payload_begin];
        match signature {
            None => LoggedOperation::Remove { key },
            Some(SignatureEntry { shingle_count, begin, .. }) => LoggedOperation::Insert {
                key,
                payload: &self.bytes[payload_begin..end],
                time: time.unwrap_or(now),
                shingle_count,
                signature: &self.bytes[begin..key_begin],
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
    pub fn insert(self, key: impl AsRef<[u8]>, signature: &Signature) -> Self {
        self.insert_with_payload(key, signature, b"")
    }

    /// Inserts or replaces a document that carries up to 64 KiB of the caller's own bytes.
    #[must_use]
    pub fn insert_with_payload(
        self,
        key: impl AsRef<[u8]>,
        signature: &Signature,
        payload: impl AsRef<[u8]>,
    ) -> Self {
        self.push_signed(key.as_ref(), signature, payload.as_ref(), None)
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
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(signature.as_bytes());
        let (id, shingle_count) = (signature.id(), signature.shingle_count());
        let signature = Some(SignatureEntry { id, shingle_count, begin });
        self.push(signature, time, key, payload)
    }

    /// Removes the document that has this key, if there is one.
    #[must_use]
    pub fn remove(self, key: impl AsRef<[u8]>) -> Self {
        self.push(None, None, key.as_ref(), b"")
    }

    fn push(
        mut self,
        signature: Option<SignatureEntry>,
        time: Option<u64>,
        key: &[u8],
        payload: &[u8],
    ) -> Self {
        let key_begin = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let payload_begin = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        let end = self.bytes.len();
        self.entries.push(Entry { signature, time, key_begin, payload_begin, end });
        self
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let bytes = self.bytes.as_slice();
        self.entries.iter().map(move |entry| {
            let signature_id = entry.signature.map_or(0, |signature| signature.id);
            Operation { signature_id, entry: *entry, bytes }
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
