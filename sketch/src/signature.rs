//! The signature of a document: opaque bytes, and the id of the parameters it was made with.
//!
//! Independent of texts and files.

use super::compare::count_equal_rows;
use super::lane;
use crate::{Error, ErrorKind, Params, Result, Scheme};
use std::fmt;

/// The MinHash signature of a document. Signatures with equal ids are comparable. Their bytes are
/// the same on every machine and in every version of this crate. `Debug` shows the first bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    id: u64,
    shingle_count: u32,
    lane_bits: u32,
    bytes: Box<[u8]>,
}

impl Signature {
    /// Makes a signature from row values that another program computed, such as datasketch's
    /// `hashvalues`, for indexes with [`Scheme::External`].
    ///
    /// A value gives the same row as u32 and as u64. Lanes of 32 and 64 bits store whole values;
    /// lanes of 8 and 16 bits store hashes of them. `shingle_count` is stored with the signature;
    /// pass 0 if it is unknown.
    ///
    /// # Errors
    ///
    /// `Invalid`: the number of values is not [`Params::hashes`], a value does not fit into its
    /// lane, or the scheme is not external.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Scheme, Signature};
    ///
    /// let scheme = Scheme::external("datasketch-seed1")?;
    /// let params = Params::builder().scheme(scheme).hashes(16).bands(4, 4).lane_bits(32).build()?;
    /// let rows: Vec<u32> = (0..16).map(|row| row * 1_000_003).collect();
    /// let signature = Signature::from_rows(&params, &rows, 0)?;
    /// assert!(signature.rows().eq(rows.iter().map(|row| u64::from(*row))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_rows<T: Into<u64> + Copy>(
        params: &Params,
        rows: &[T],
        shingle_count: u32,
    ) -> Result<Self> {
        let made = (params.signature_id(), params.scheme(), params.hashes(), params.lane_bits());
        Self::of_rows(made, rows, shingle_count)
    }

    /// Same as `from_rows`, with the id, scheme, number of rows and lane bits of the parameters as
    /// a tuple.
    pub(crate) fn of_rows<T: Into<u64> + Copy>(
        (id, scheme, hashes, lane_bits): (u64, Scheme, usize, u32),
        rows: &[T],
        shingle_count: u32,
    ) -> Result<Self> {
        if !matches!(scheme, Scheme::External(_)) {
            return Err(Error::invalid(format!(
                "the scheme is {scheme}, which computes its own signatures; rows of another \
                 program need the scheme external:NAME"
            )));
        }
        if rows.len() != hashes {
            return Err(Error::invalid(format!(
                "these parameters need a signature of {hashes} rows, not {}",
                rows.len()
            )));
        }
        let values: Vec<u64> = rows.iter().map(|row| (*row).into()).collect();
        let bytes = if lane::is_whole(lane_bits) {
            lane::store_whole(&values, lane_bits)?
        } else {
            lane::store(&values, lane_bits)
        };
        Ok(Self::new(id, lane_bits, shingle_count, bytes))
    }

    /// Restores a signature from the bytes of [`Signature::as_bytes`].
    ///
    /// The bytes must have been made with `params`: this cannot be checked, and other bytes give
    /// wrong similarities. `shingle_count` is stored with the signature. Copies the bytes.
    ///
    /// # Errors
    ///
    /// `Invalid` unless there are [`Params::signature_bytes`] bytes.
    pub fn from_bytes(params: &Params, bytes: &[u8], shingle_count: u32) -> Result<Self> {
        let expected = params.signature_bytes();
        if bytes.len() != expected {
            return Err(Error::invalid(format!(
                "these parameters need a signature of {expected} bytes, not {}",
                bytes.len()
            )));
        }
        Ok(Self::from_parts(params, shingle_count, bytes.into()))
    }

    pub(crate) fn from_parts(params: &Params, shingle_count: u32, bytes: Box<[u8]>) -> Self {
        Self::new(params.signature_id(), params.lane_bits(), shingle_count, bytes)
    }

    #[inline(always)]
    pub(crate) fn new(id: u64, lane_bits: u32, shingle_count: u32, bytes: Box<[u8]>) -> Self {
        Self { id, shingle_count, lane_bits, bytes }
    }

    /// The id of its parameters: [`Params::signature_id`](crate::Params::signature_id).
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Number of distinct shingles of the document, or of all shingles with `bag`.
    pub fn shingle_count(&self) -> u32 {
        self.shingle_count
    }

    /// The rows in their stored form: [`Params::signature_bytes`](crate::Params::signature_bytes)
    /// bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The rows as numbers, row 0 first: whole values for lanes of 32 and 64 bits, otherwise the
    /// stored 8 or 16 bits.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let lane_bytes = lane::bytes(self.lane_bits);
        self.bytes.chunks_exact(lane_bytes).map(lane::number)
    }

    /// The number of rows that are equal in two signatures, of which
    /// [`Params::similarity`](crate::Params::similarity) makes the estimate.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Sketcher};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let sketch = Sketcher::new(&params);
    /// let (a, b) = (sketch.text("one two three four")?, sketch.text("One  two three, four!")?);
    /// assert_eq!(params.similarity(a.equal_rows(&b)?), 1.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Mismatch`: the signatures have different ids.
    pub fn equal_rows(&self, other: &Self) -> Result<u32> {
        self.check_same(other)?;
        Ok(count_equal_rows(&self.bytes, &other.bytes, self.lane_bits))
    }

    fn check_same(&self, other: &Self) -> Result<()> {
        if self.id == other.id {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Mismatch, "the two signatures have different parameters"))
    }

    /// The signature of the union of two sets: the minimum of each row.
    ///
    /// Exact if each row is the minimum of a hash over the set, as in MinHash; this cannot be
    /// checked. The shingle count of the union is unknown, so it is 0.
    ///
    /// # Errors
    ///
    /// `Invalid`: the lanes have 8 or 16 bits, which do not tell which of two values is smaller.
    /// `Mismatch`: the signatures have different ids.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Scheme, Signature};
    ///
    /// let scheme = Scheme::external("datasketch-seed1")?;
    /// let params = Params::builder().scheme(scheme).hashes(16).bands(4, 4).lane_bits(64).build()?;
    /// let (a, b) = ([9_u64; 16], [3_u64, 20].repeat(8));
    /// let (a, b) = (Signature::from_rows(&params, &a, 0)?, Signature::from_rows(&params, &b, 0)?);
    /// assert!(a.union(&b)?.rows().eq([3, 9].repeat(8)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn union(&self, other: &Self) -> Result<Self> {
        self.check_same(other)?;
        if !lane::is_whole(self.lane_bits) {
            return Err(Error::invalid(format!(
                "a union needs whole rows, but these have {} bits; make the signatures with 32 or \
                 64 lane bits, or from the union of the sets",
                self.lane_bits
            )));
        }
        let least = self.rows().zip(other.rows()).map(|(a, b)| a.min(b)).collect::<Vec<_>>();
        let bytes = lane::store_whole(&least, self.lane_bits)?;
        Ok(Self::new(self.id, self.lane_bits, 0, bytes))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, shingle_count, bytes, .. } = self;
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

    const DOCUMENT: &str = include_str!("../../docs/reference/SIGNATURES.md");

    fn external(name: &str, hashes: usize, lane_bits: u32) -> Params {
        let scheme = Scheme::external(name).unwrap();
        let builder = Params::builder().scheme(scheme).hashes(hashes).lane_bits(lane_bits);
        builder.bands(4, 4).build().unwrap()
    }

    #[test]
    fn rows_made_elsewhere_become_the_documented_bytes() {
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
        assert_eq!(block.lines().count(), 6);
    }

    #[test]
    fn whole_rows_are_kept_and_narrow_ones_are_what_is_left() {
        let values: Vec<u64> = (0..16).map(|row| (row << 28) + 7 * row).collect();
        for bits in [32, 64] {
            let made = Signature::from_rows(&external("a", 16, bits), &values, 4).unwrap();
            assert_eq!(made.as_bytes().len(), 16 * lane::bytes(bits));
            assert_eq!(made.rows().collect::<Vec<_>>(), values, "{bits}");
            assert_eq!(made.rows().len(), 16);
        }
        let wide = Signature::from_rows(&external("a", 16, 16), &values, 4).unwrap();
        let narrow = Signature::from_rows(&external("a", 16, 8), &values, 4).unwrap();
        assert!(narrow.rows().eq(wide.rows().map(|row| row >> 8)));
        let greatest = vec![u64::MAX; 16];
        let made = Signature::from_rows(&external("a", 16, 64), &greatest, 4).unwrap();
        assert!(made.rows().eq(greatest.iter().copied()));
        let refused = Signature::from_rows(&external("a", 16, 32), &greatest, 4).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("row 0 is 18446744073709551615"), "{refused}");
    }

    #[test]
    fn a_union_takes_the_least_of_whole_rows_and_refuses_others() {
        let of = |bits, begin: u64| {
            let values: Vec<u64> =
                (0..16).map(|row| begin.wrapping_mul(row * row + 1) % 97).collect();
            Signature::from_rows(&external("a", 16, bits), &values, 4).unwrap()
        };
        for bits in [32, 64] {
            let (a, b) = (of(bits, 5), of(bits, 1 << 40));
            let union = a.union(&b).unwrap();
            assert!(union.rows().eq(a.rows().zip(b.rows()).map(|(a, b)| a.min(b))));
            assert!(union != a && union != b);
            assert_eq!((union.id(), union.shingle_count()), (a.id(), 0));
            assert_eq!(b.union(&a).unwrap(), union);
        }
        for bits in [8, 16] {
            let refused = of(bits, 5).union(&of(bits, 6)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        }
        let refused = of(32, 5).union(&of(64, 5)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
    }

    #[test]
    fn rows_of_another_number_or_for_another_scheme_are_refused() {
        let params = external("a", 16, 8);
        for count in [0, 15, 17, 128] {
            let refused = Signature::from_rows(&params, &vec![1_u32; count], 0).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains("a signature of 16 rows"), "{refused}");
        }
        let own = Params::builder().build().unwrap();
        let refused = Signature::from_rows(&own, &[1_u64; 128], 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("external:NAME"), "{refused}");
    }

    #[test]
    fn nothing_is_sketched_for_signatures_made_elsewhere() {
        let sketcher = Sketcher::new(&external("a", 16, 8));
        let tried = [sketcher.text("a b c"), sketcher.items(["a"]), sketcher.items([1])];
        for refused in tried {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(
                refused.to_string().contains("external:a come from another program"),
                "{refused}"
            );
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
