//! `Sketcher`: the entry point.

use std::fmt;
use std::sync::Arc;

use super::inner::Inner;
use super::original::Original;
use super::scratch::{self, Scratch};
use super::signature::Signature;
use super::variety::Variety;
use crate::{Error, ErrorKind, Params, Result, Scheme, Shingles};

/// Makes signatures. Pure: the same input gives the same bytes on every machine. Cloning increments
/// a reference count, and threads may share one `Sketcher`.
///
/// ```
/// # use nearkin_sketch as nearkin;
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Params, Sketcher};
///
/// let sketcher = Sketcher::new(&Params::for_threshold(0.7).build()?);
/// let text = sketcher.text("the quick brown fox jumps over the lazy dog")?;
/// let same = sketcher.text("The quick brown fox jumps over the lazy dog!")?;
/// assert_eq!(text.as_bytes(), same.as_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sketcher {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Sketcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { rows, lane_bits, scheme, shingles, .. } = &*self.inner;
        write!(f, "Sketcher({scheme}, {shingles}, {rows} rows of {lane_bits} bits)")
    }
}

impl Sketcher {
    /// A sketcher for indexes with these parameters.
    pub fn new(params: &Params) -> Self {
        Self { inner: Arc::new(Inner::new(params)) }
    }

    /// The signature of a text.
    ///
    /// # Errors
    ///
    /// `Empty` if it is blank: normalised, it has white space at most. `Invalid` if the parameters
    /// are for items, or are of an external scheme.
    pub fn text(&self, text: &str) -> Result<Signature> {
        scratch::with(|scratch| self.text_in(text, scratch))
    }

    /// Same as `text`, but `None` for a text without units, even if it is not blank.
    pub(crate) fn text_with_units(&self, text: &str) -> Result<Option<Signature>> {
        scratch::with(|scratch| self.units_in(text, scratch))
    }

    #[inline]
    fn text_in(&self, text: &str, scratch: &mut Scratch) -> Result<Signature> {
        match self.units_in(text, scratch)? {
            Some(signature) => Ok(signature),
            None => self.inner.whole_text(text, scratch).ok_or_else(blank),
        }
    }

    #[inline]
    fn units_in(&self, text: &str, scratch: &mut Scratch) -> Result<Option<Signature>> {
        let inner = &*self.inner;
        self.check_made_here()?;
        if inner.shingles == Shingles::Items {
            return Err(Error::invalid(
                "the parameters are for items; a text needs other shingles",
            ));
        }
        Ok(match (inner.large(text), inner.processor) {
            (None, Some(processor)) => processor.text(inner, text, scratch),
            (None, None) => inner.text(None, text, scratch),
            (Some(large), Some(processor)) => processor.large_text(inner, text, large, scratch),
            (Some(large), None) => inner.large_text(None, text, large, scratch),
        })
    }

    /// The signature of a text and the variety of its shingles, which says whether the set of
    /// shingles is too small to tell texts of this kind apart ([`Variety::is_too_small`]).
    ///
    /// Costs the same as [`Sketcher::text`], unless at least a third of the shingles are repeats:
    /// then the text is cut into shingles a second time.
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::text`].
    pub fn text_with_variety(&self, text: &str) -> Result<(Signature, Variety)> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            Ok((signature, self.variety_in(text, scratch)))
        })
    }

    /// Like [`Sketcher::text_with_variety`]; also returns the hashes of the shingles, in no
    /// particular order. Sorted, they make the document without another look at the text:
    /// [`Original::from_shingle_hashes`](crate::Original::from_shingle_hashes).
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::text`].
    pub fn text_with_shingles(&self, text: &str) -> Result<(Signature, Variety, Vec<u64>)> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            let shingles = scratch.sums.clone();
            Ok((signature, self.variety_in(text, scratch), shingles))
        })
    }

    /// The document of a text, for exact comparison, and the variety of its shingles.
    pub(crate) fn original_with_variety(&self, text: &str) -> Result<(Original, Variety)> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            let original = Original::new(signature, &scratch.sums);
            Ok((original, self.variety_in(text, scratch)))
        })
    }

    /// The variety of the text that was sketched last. Overwrites the shingles.
    fn variety_in(&self, text: &str, scratch: &mut Scratch) -> Variety {
        let distinct = scratch.sums.len();
        let usual = Variety::of_usual(scratch.rows.shingles, distinct);
        if usual.is_suspect() { self.inner.count_repeats(text, usual, scratch) } else { usual }
    }

    /// The signature of a text with all its shingles, for exact comparison. Costs an additional
    /// sort of the shingles.
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::text`].
    pub fn original_text(&self, text: &str) -> Result<Original> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            Ok(Original::new(signature, &scratch.sums))
        })
    }

    /// The signature with the given row values (u32 or u64), which another program computed.
    ///
    /// # Errors
    ///
    /// Same as [`Signature::from_rows`].
    pub fn rows<T: Into<u64> + Copy>(&self, rows: &[T], shingle_count: u32) -> Result<Signature> {
        let Inner { id, scheme, rows: hashes, lane_bits, .. } = *self.inner;
        Signature::of_rows((id, scheme, hashes, lane_bits), rows, shingle_count)
    }

    #[inline]
    pub(crate) fn check_made_here(&self) -> Result<()> {
        match self.inner.scheme {
            Scheme::Fast | Scheme::Textbook => Ok(()),
            Scheme::External(_) => Err(self.made_elsewhere()),
            Scheme::Winnow => Err(Error::invalid(
                "fingerprints are no signature of a whole text; write and ask through PassageIndex",
            )),
        }
    }

    #[cold]
    fn made_elsewhere(&self) -> Error {
        let scheme = self.inner.scheme;
        Error::invalid(format!(
            "signatures of {scheme} come from another program; give rows, not texts or items"
        ))
    }
}

#[cold]
fn blank() -> Error {
    Error::new(ErrorKind::Empty, "nothing to compare: the text is blank")
}
