//! A document at hand: its signature, and its shingles to compare exactly.
//!
//! Knows hashes of shingles; does not know where documents come from.

use super::Signature;
use std::fmt;

/// A document that is at hand: its signature, and the set of its shingles, by which two of them
/// are compared exactly. Made by [`Sketcher::original_text`](crate::Sketcher::original_text) and
/// [`Sketcher::original_items`](crate::Sketcher::original_items).
///
/// Shingles are held as hashes of 64 bits, 8 bytes each: of two documents of n different shingles
/// in all, two that differ are taken for one with a chance below n^2 / 2^65.
#[derive(Clone, PartialEq, Eq)]
pub struct Original {
    signature: Signature,
    /// Ascending, each once; of a bag those of all windows, of which two may be equal.
    shingles: Vec<u64>,
}

impl Original {
    pub(super) fn new(signature: Signature, distinct: &[u64]) -> Self {
        let mut shingles = distinct.to_vec();
        shingles.sort_unstable();
        Self { signature, shingles }
    }

    /// Its signature: that of the same text or items.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The Jaccard similarity of two documents of the same parameters: shared shingles by all.
    pub fn similarity(&self, other: &Self) -> f64 {
        self.similarity_at_least(other, 0.0).unwrap_or(0.0)
    }

    /// The same, or `None` if it is below `least`: then the comparison ends as soon as that is
    /// certain. Costs a step per shingle at most.
    pub fn similarity_at_least(&self, other: &Self, least: f64) -> Option<f64> {
        let (mut a, mut b) = (&self.shingles[..], &other.shingles[..]);
        let all = a.len() + b.len();
        // Of `shared` shared shingles the similarity is shared / (all - shared).
        let similarity = |shared: usize| shared as f64 / (all - shared).max(1) as f64;
        // With what can still be shared: it must reach `least`, give or take a rounding.
        let needed = (least * all as f64 / (1.0 + least) - 1e-6).max(0.0);
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
        Some(similarity(shared)).filter(|similarity| *similarity >= least)
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
