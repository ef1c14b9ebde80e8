//! The signature of one document: opaque bytes and what they may be compared with.
//!
//! Knows neither texts nor files.

/// The MinHash signature of a document. Two signatures of equal ids are comparable; their bytes
/// are the same on every machine and in every version of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    id: u64,
    shingle_count: u32,
    bytes: Box<[u8]>,
}

impl Signature {
    pub(crate) fn from_parts(id: u64, shingle_count: u32, bytes: Box<[u8]>) -> Self {
        Self { id, shingle_count, bytes }
    }

    /// The id of what it was made with: [`Params::signature_id`](crate::Params::signature_id).
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Distinct shingles of the document, or all where repeats count (`bag`).
    pub fn shingle_count(&self) -> u32 {
        self.shingle_count
    }

    /// The rows as stored: [`Params::signature_bytes`](crate::Params::signature_bytes) bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
