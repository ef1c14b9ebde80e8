//! What a caller writes, and what became of it. Plain data.

use crate::sketch::Signature;

/// Operations that take effect together: after a crash either all of them are there or none.
///
/// If a key occurs more than once, the last operation on it wins.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub(crate) operations: Vec<Operation>,
}

#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Insert { key: Vec<u8>, signature: Signature, payload: Vec<u8> },
    Remove { key: Vec<u8> },
}

impl Operation {
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Self::Insert { key, .. } | Self::Remove { key } => key,
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
        mut self,
        key: impl AsRef<[u8]>,
        signature: &Signature,
        payload: impl AsRef<[u8]>,
    ) -> Self {
        self.operations.push(Operation::Insert {
            key: key.as_ref().to_vec(),
            signature: signature.clone(),
            payload: payload.as_ref().to_vec(),
        });
        self
    }

    /// Removes the document that has this key, if there is one.
    #[must_use]
    pub fn remove(mut self, key: impl AsRef<[u8]>) -> Self {
        self.operations.push(Operation::Remove { key: key.as_ref().to_vec() });
        self
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// About how many bytes the batch takes in the WAL, to be held against
    /// [`Options::batch_bytes_max`](crate::Options::batch_bytes_max).
    pub fn wal_bytes(&self) -> usize {
        let bytes = |operation: &Operation| match operation {
            Operation::Insert { key, signature, payload } => {
                20 + key.len() + signature.as_bytes().len() + payload.len()
            }
            Operation::Remove { key } => 20 + key.len(),
        };
        32 + self.operations.iter().map(bytes).sum::<usize>()
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
