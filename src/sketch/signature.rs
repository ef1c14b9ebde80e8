//! The signature of one document: opaque bytes and what they may be compared with.
//!
//! Knows neither texts nor files.

use super::lane;
use crate::{Error, Params, Result, Scheme};
use std::fmt;

/// The MinHash signature of a document. Two signatures of equal ids are comparable; their bytes
/// are the same on every machine and in every version of this crate. (`Debug` shows the first.)
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    id: u64,
    shingle_count: u32,
    bytes: Box<[u8]>,
}

impl Signature {
    /// A signature of the values of its rows, made elsewhere, for indexes with
    /// [`Scheme::External`]: for instance of datasketch's `hashvalues`.
    ///
    /// The same value gives the same row as u32 and as u64. `shingle_count` is only carried along;
    /// 0 where it is not known. Errors: `Invalid` unless there are exactly [`Params::hashes`]
    /// values and the scheme is external: rows are mixed down to lanes here, and nobody should
    /// take the rows of one maker for those of another.
    pub fn from_rows<T: Into<u64> + Copy>(
        params: &Params,
        rows: &[T],
        shingle_count: u32,
    ) -> Result<Self> {
        let id = params.signature_id();
        Self::of_rows(id, params.scheme(), params.hashes(), params.lane_bits(), rows, shingle_count)
    }

    pub(super) fn of_rows<T: Into<u64> + Copy>(
        id: u64,
        scheme: Scheme,
        hashes: usize,
        lane_bits: u32,
        rows: &[T],
        shingle_count: u32,
    ) -> Result<Self> {
        if !matches!(scheme, Scheme::External(_)) {
            return Err(Error::invalid(format!(
                "the scheme is {scheme}, whose signatures are made here; rows made elsewhere need \
                 a scheme external:NAME"
            )));
        }
        if rows.len() != hashes {
            return Err(Error::invalid(format!(
                "a signature of these parameters has {hashes} rows, not {}",
                rows.len()
            )));
        }
        let values: Vec<u64> = rows.iter().map(|row| (*row).into()).collect();
        Ok(Self::from_parts(id, shingle_count, lane::store(&values, lane_bits)))
    }

    /// A signature stored earlier by [`Signature::as_bytes`].
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

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, shingle_count, bytes } = self;
        write!(f, "Signature({id:016x}, {shingle_count} shingles, {} bytes: ", bytes.len())?;
        for byte in bytes.iter().take(8) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Sketcher};

    const DOCUMENT: &str = include_str!("../../docs/SIGNATURES.md");

    fn external(name: &str, hashes: usize, lane_bits: u32) -> Params {
        let scheme = Scheme::external(name).unwrap();
        let builder = Params::builder().scheme(scheme).hashes(hashes).lane_bits(lane_bits);
        builder.bands(4, 4).build().unwrap()
    }

    #[test]
    fn rows_made_elsewhere_become_the_bytes_that_the_document_prints() {
        let (_, rest) = DOCUMENT.split_once("```external\n").unwrap();
        let (block, _) = rest.split_once("```").unwrap();
        for line in block.lines() {
            let [bits, values, bytes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let values: Vec<u64> = values.split(',').map(|value| value.parse().unwrap()).collect();
            let params = external("a", 16, bits.parse().unwrap());
            let made = Signature::from_rows(&params, &values, 4).unwrap();
            let hex: Vec<_> = made.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex.concat(), bytes);
            assert_eq!((made.id(), made.shingle_count()), (params.signature_id(), 4));
            let narrow: Option<Vec<u32>> =
                values.iter().map(|value| u32::try_from(*value).ok()).collect();
            if let Some(narrow) = narrow {
                assert_eq!(Signature::from_rows(&params, &narrow, 4).unwrap(), made);
            }
        }
        assert_eq!(block.lines().count(), 4);
    }

    #[test]
    fn rows_of_another_number_or_for_another_scheme_are_refused() {
        let params = external("a", 16, 8);
        for count in [0, 15, 17, 128] {
            let refused = Signature::from_rows(&params, &vec![1_u32; count], 0).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains("has 16 rows"), "{refused}");
        }
        let own = Params::builder().build().unwrap();
        let refused = Signature::from_rows(&own, &[1_u64; 128], 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("external:NAME"), "{refused}");
    }

    #[test]
    fn nothing_is_sketched_for_signatures_made_elsewhere() {
        let sketcher = Sketcher::new(&external("a", 16, 8));
        let tried = [sketcher.text("a b c"), sketcher.items(["a"]), sketcher.integers([1])];
        for refused in tried {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains("external:a are made elsewhere"), "{refused}");
        }
    }

    #[test]
    fn signatures_of_two_makers_are_not_comparable() {
        let (a, b) = (external("a", 16, 8), external("b", 16, 8));
        assert_ne!(a.signature_id(), b.signature_id());
        assert_eq!(a.signature_differences(&b), ["scheme: external:a here, external:b asked"]);
    }

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
