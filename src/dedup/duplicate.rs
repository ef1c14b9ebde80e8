//! The reason why a document is dropped: which document it duplicates, and the evidence.

use crate::{Alike, Original, Overlap, Params};

/// The reason why a document is dropped. `K` identifies the other document: the rank of a kept one
/// ([`Dedup`](crate::Dedup)), or a key of the index ([`Against`](crate::Against)).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Duplicate<K = u64> {
    /// The most similar document. If several are equally similar, the one of the lowest rank, or of
    /// the smallest key.
    pub of: K,
    /// The similarity of the two documents: exact if shingles were compared, otherwise estimated.
    pub similarity: f64,
    /// How much of the smaller document the larger one contains: exact if shingles were compared,
    /// otherwise estimated, and only if the condition asks for containment.
    pub containment: Option<f64>,
    /// The counts from which these values were computed.
    pub evidence: Evidence,
}

/// The counts on which a decision rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Evidence {
    /// The signatures of the two documents have this many equal rows.
    EqualRows(u32),
    /// The shingles of the two documents were compared.
    #[non_exhaustive]
    Shingles {
        /// Number of shingles of the dropped document.
        own: u32,
        /// Number of shingles of the other document.
        other: u32,
        /// Number of shingles that both have.
        shared: u32,
    },
}

impl<K> Duplicate<K> {
    /// An exact decision on the first of two documents.
    pub(super) fn between(of: K, overlap: Overlap, pair: (&Original, &Original)) -> Self {
        let count = |one: &Original| u32::try_from(one.shingle_hashes().len()).unwrap_or(u32::MAX);
        let [own, other] = [pair.0, pair.1].map(count);
        let Overlap { shared, similarity, containment, .. } = overlap;
        let evidence = Evidence::Shingles { own, other, shared };
        Self { of, similarity, containment: Some(containment), evidence }
    }

    /// An exact decision, from the numbers of shingles of both documents, and of those they share.
    pub(super) fn of_counts(of: K, [own, other, shared]: [u32; 3]) -> Self {
        let [a, b, both] = [own, other, shared].map(|count| count as usize);
        let Overlap { similarity, containment, .. } = Overlap::of(both, a, b);
        let evidence = Evidence::Shingles { own, other, shared };
        Self { of, similarity, containment: Some(containment), evidence }
    }

    /// A decision by the estimate.
    pub(super) fn estimated(
        of: K,
        params: &Params,
        equal_rows: u32,
        containment: Option<f64>,
    ) -> Self {
        let (similarity, evidence) =
            (params.similarity(equal_rows), Evidence::EqualRows(equal_rows));
        Self { of, similarity, containment, evidence }
    }

    /// Number of equal rows, if this is an estimate.
    pub(super) fn equal_rows(&self) -> u32 {
        match self.evidence {
            Evidence::EqualRows(equal_rows) => equal_rows,
            Evidence::Shingles { .. } => 0,
        }
    }

    /// Whether this is a better reason than `best`: a higher similarity, or at equal similarity the
    /// document that comes first.
    pub(super) fn is_better_than(&self, best: Option<&Self>) -> bool
    where
        K: Ord,
    {
        best.is_none_or(|best| {
            self.similarity > best.similarity
                || self.similarity >= best.similarity && self.of < best.of
        })
    }

    /// Whether the two documents have the same shingles.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.evidence, Evidence::Shingles { own, shared, .. } if own == shared)
            && self.similarity >= 1.0
    }

    /// The condition that a better reason must satisfy.
    pub(super) fn or_better(&self, alike: Alike) -> Alike {
        alike.and_similar(self.similarity)
    }
}
