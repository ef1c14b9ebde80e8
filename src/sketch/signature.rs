//! The signature of one document: opaque bytes and what they may be compared with.
//!
//! Knows neither texts nor files.

use crate::{Error, Params, Result};

/// The MinHash signature of a document. Two signatures of equal ids are comparable; their bytes
/// are the same on every machine and in every version of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    id: u64,
    shingle_count: u32,
    bytes: Box<[u8]>,
}

impl Signature {
    /// A signature of rows made elsewhere, or stored earlier by [`Signature::as_bytes`].
    ///
    /// Whoever calls this says that the rows were made as `params` say: nothing can check it, and
    /// rows made otherwise are compared as if they were. `shingle_count` is only carried along.
    /// Errors: `Invalid` unless there are [`Params::signature_bytes`] bytes. Copies them.
    pub fn from_bytes(params: &Params, bytes: &[u8], shingle_count: u32) -> Result<Self> {
        let expected = params.signature_bytes();
        if bytes.len() != expected {
            return Err(Error::invalid(format!(
                "a signature of these parameters has {expected} bytes, not {}",
                bytes.len()
            )));
        }
        Ok(Self::from_parts(params.signature_id(), shingle_count, bytes.into()))
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Sketcher};

    #[test]
    fn bytes_become_the_signature_that_they_came_from() {
        let params = Params::builder().build().unwrap();
        let made = Sketcher::new(&params).text("a few words of no matter what").unwrap();
        let again = Signature::from_bytes(&params, made.as_bytes(), made.shingle_count());
        assert_eq!(again.unwrap(), made);
    }

    #[test]
    fn bytes_of_another_length_are_refused() {
        let params = Params::builder().build().unwrap();
        for length in [0, 127, 129, 256] {
            let refused = Signature::from_bytes(&params, &vec![7; length], 1).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{length}");
        }
    }
}
