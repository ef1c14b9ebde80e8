//! A document with its signature and all its shingles, for exact comparison.
//!
//! Shingles are represented by their hashes.

use super::details::Details;
use super::signature::Signature;
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// A document with its signature and the set of its shingles, for exact comparison. Made by
/// [`Sketcher::original_text`](crate::Sketcher::original_text) and
/// [`Sketcher::original_items`](crate::Sketcher::original_items). Clones share the shingles.
///
/// Shingles are stored as 64-bit hashes. For two documents with n distinct shingles in all, the
/// probability that two of them collide is below n^2 / 2^65.
#[derive(Clone, PartialEq, Eq)]
pub struct Original {
    signature: Signature,
    /// Ascending. The hashes of a set are distinct. A bag has one hash per window, and two of them
    /// may collide.
    shingles: Arc<[u64]>,
    details: Option<Arc<Details>>,
}

impl Original {
    pub(crate) fn new(signature: Signature, distinct: &[u64]) -> Self {
        let mut shingles: Arc<[u64]> = distinct.into();
        Arc::get_mut(&mut shingles).into_iter().for_each(<[u64]>::sort_unstable);
        Self { signature, shingles, details: None }
    }

    /// The signature of the document.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Rebuilds a document from its signature and its [`Original::shingle_hashes`].
    ///
    /// # Errors
    ///
    /// `Invalid` if the hashes are not in ascending order.
    pub fn from_shingle_hashes(signature: Signature, shingles: Vec<u64>) -> Result<Self> {
        if shingles.is_sorted() {
            return Ok(Self { signature, shingles: shingles.into(), details: None });
        }
        Err(Error::invalid("hashes of shingles must be in ascending order"))
    }

    /// The shingle hashes, ascending. They depend on the same parameters as the signature. Store
    /// them (8 bytes per shingle) to compare the document later without its text:
    /// [`Original::from_shingle_hashes`].
    pub fn shingle_hashes(&self) -> &[u64] {
        &self.shingles
    }

    pub(crate) fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Arc::new(details));
        self
    }

    /// The hashes of the document's runs of three words, ascending: its shingles, if it has no
    /// others.
    pub fn runs(&self) -> &[u64] {
        self.details().and_then(Details::runs).unwrap_or(&self.shingles)
    }

    /// What can set the document apart, if [`Sketcher::detailed_text`] made it.
    ///
    /// [`Sketcher::detailed_text`]: crate::Sketcher::detailed_text
    pub fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    /// The exact Jaccard similarity of two documents made with the same parameters.
    pub fn similarity(&self, other: &Self) -> f64 {
        self.overlap(other).similarity
    }

    /// The exact similarity, or `None` if it is below `least`. The comparison stops as soon as that
    /// is certain. Costs at most one step per shingle.
    pub fn similarity_at_least(&self, other: &Self, least: f64) -> Option<f64> {
        let needed = needed_for_similarity(self, other, least);
        let similarity = self.overlap_of(other, needed)?.similarity;
        Some(similarity).filter(|similarity| *similarity >= least)
    }

    /// The overlap of two documents made with the same parameters. Costs one step per shingle.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Shingles, Sketcher};
    ///
    /// let sketcher = Sketcher::new(&Params::builder().shingles(Shingles::Words(1)).build()?);
    /// let whole = sketcher.original_text("one two three four five six")?;
    /// let part = sketcher.original_text("two three four")?;
    /// let overlap = whole.overlap(&part);
    /// assert_eq!((overlap.shared, overlap.similarity, overlap.containment), (3, 0.5, 1.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn overlap(&self, other: &Self) -> Overlap {
        self.overlap_of(other, 0.0).unwrap_or(Overlap::of(0, self.len(), other.len()))
    }

    fn len(&self) -> usize {
        self.shingles.len()
    }

    /// The overlap, or `None` as soon as it is certain that fewer than `needed` shingles are
    /// shared.
    pub(crate) fn overlap_of(&self, other: &Self, needed: f64) -> Option<Overlap> {
        let (mut a, mut b) = (&self.shingles[..], &other.shingles[..]);
        let mut shared = 0;
        while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
            if ((shared + a.len().min(b.len())) as f64) < needed {
                return None;
            }
            shared += usize::from(first_a == first_b);
            if first_a <= first_b {
                a = rest_a;
            }
            if first_b <= first_a {
                b = rest_b;
            }
        }
        Some(Overlap::of(shared, self.len(), other.len()))
    }
}

/// The number of shared shingles that two documents of similarity `least` have, minus a margin for
/// rounding errors.
pub fn needed_for_similarity(a: &Original, b: &Original, least: f64) -> f64 {
    (least * (a.len() + b.len()) as f64 / (1.0 + least) - 1e-6).max(0.0)
}

/// The number of shared shingles that two documents of containment `least` have, minus a margin for
/// rounding errors.
pub fn needed_for_containment(a: &Original, b: &Original, least: f64) -> f64 {
    (least * a.len().min(b.len()) as f64 - 1e-6).max(0.0)
}

/// The exact overlap of two documents, counted in shingles.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Overlap {
    /// Number of shared shingles.
    pub shared: u32,
    /// The Jaccard similarity: shared shingles divided by all shingles.
    pub similarity: f64,
    /// Containment: shared shingles divided by the shingles of the smaller document. In a bag, a
    /// repeated shingle counts as often as it occurs.
    pub containment: f64,
    /// Number of shingles of each document, in the order in which they were compared.
    #[cfg_attr(feature = "serde", serde(default))]
    pub counts: (u32, u32),
}

impl Overlap {
    /// The overlap of two documents with `shared` shingles in common, from their shingle counts.
    pub fn of(shared: usize, a: usize, b: usize) -> Self {
        let by = |all: usize| shared as f64 / all.max(1) as f64;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            shared: count(shared),
            counts: (count(a), count(b)),
            similarity: by((a + b).saturating_sub(shared)),
            containment: by(a.min(b)),
        }
    }
}

impl fmt::Debug for Original {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Original").field("signature", &self.signature).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Params, Shingles, Sketcher};

    fn sets(
        a: std::ops::Range<u32>,
        b: std::ops::Range<u32>,
    ) -> (super::Original, super::Original) {
        let params = Params::builder().shingles(Shingles::Items).build().unwrap();
        let sketch = Sketcher::new(&params);
        let of = |range: std::ops::Range<u32>| {
            sketch.original_items(range.map(|item| item.to_string())).unwrap()
        };
        (of(a), of(b))
    }

    #[test]
    fn the_similarity_is_shared_by_all() {
        for (a, b, expected) in [
            (0..100, 0..100, 1.0),
            (0..100, 50..150, 50.0 / 150.0),
            (0..100, 100..200, 0.0),
            (0..1, 0..1_000, 0.001),
        ] {
            let (a, b) = sets(a, b);
            assert!((a.similarity(&b) - expected).abs() < 1e-12);
            assert!((b.similarity(&a) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn the_least_similarity_is_exact_at_its_edge() {
        for shared in 0..=40 {
            let (a, b) = sets(0..40, 40 - shared..80 - shared);
            let expected = f64::from(shared) / f64::from(80 - shared);
            assert_eq!(a.similarity_at_least(&b, expected), Some(expected), "{shared} shared");
            assert_eq!(a.similarity_at_least(&b, expected + 1e-9), None, "{shared} shared");
        }
    }

    #[test]
    fn the_containment_is_shared_by_the_smaller() {
        for (a, b, expected) in [
            (0..100, 0..50, 1.0),
            (0..100, 60..140, 0.5),
            (0..40, 0..1_000, 1.0),
            (0..9, 9..20, 0.0),
        ] {
            let (a, b) = sets(a, b);
            assert!((a.overlap(&b).containment - expected).abs() < 1e-12);
            let (one, other) = (a.overlap(&b), b.overlap(&a));
            assert_eq!((one.counts.0, one.counts.1), (other.counts.1, other.counts.0));
            assert_eq!(super::Overlap { counts: one.counts, ..other }, one);
        }
    }

    #[test]
    fn hashes_make_the_same_document_again_and_only_in_order() {
        let (a, b) = sets(0..40, 20..60);
        let again =
            |hashes: Vec<u64>| super::Original::from_shingle_hashes(a.signature().clone(), hashes);
        let same = again(a.shingle_hashes().to_vec()).unwrap();
        assert_eq!((&same, same.overlap(&b)), (&a, a.overlap(&b)));
        let turned: Vec<u64> = a.shingle_hashes().iter().rev().copied().collect();
        assert_eq!(again(turned).unwrap_err().kind(), crate::ErrorKind::Invalid);
    }

    /// The ledger of `nearkin dedup` depends on this.
    #[test]
    fn there_are_as_many_hashes_as_the_signature_counts() {
        for bag in [false, true] {
            let sketch = Sketcher::new(&Params::builder().bag(bag).build().unwrap());
            let text = "to be or not to be or not to be or not to be";
            let original = sketch.original_text(text).unwrap();
            let count = original.signature().shingle_count() as usize;
            assert_eq!((original.shingle_hashes().len(), bag), (count, count > 4), "{count}");
        }
    }

    #[test]
    fn repeats_count_in_a_bag_only() {
        for (bag, expected) in [(false, 1.0), (true, 1.0 / 3.0)] {
            let params = Params::builder().shingles(Shingles::Items).bag(bag).build().unwrap();
            let sketch = Sketcher::new(&params);
            let once = sketch.original_items(["a"]).unwrap();
            let thrice = sketch.original_items(["a", "a", "a"]).unwrap();
            assert!((once.similarity(&thrice) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn an_original_has_the_signature_of_its_text() {
        let sketch = Sketcher::new(&Params::builder().build().unwrap());
        let text = "What one man can do, another can do; what one man can do!";
        let original = sketch.original_text(text).unwrap();
        assert_eq!(*original.signature(), sketch.text(text).unwrap());
        assert_eq!(original.shingles.len(), original.signature().shingle_count() as usize);
    }
}
