//! Exact similarities of matches and pairs, if the caller still has the documents.
//!
//! The index stores signatures and counts of shingles; the documents come from the caller.

#[cfg(doc)]
use super::Query;
use super::{Alike, Match, Pair, Snapshot};
use crate::index::state::versions::Place;
use crate::{Original, Overlap, Result};

/// The result of comparing the original documents of a match or a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Exact {
    /// Their Jaccard similarity.
    Similarity(f64),
    /// What they have in common, if containment was requested ([`Alike::contained`]).
    Contained(Overlap),
    /// The similarity or containment is below the requested minimum.
    Below,
    /// A document has changed since it was indexed: its signature or its number of shingles
    /// differs.
    Stale,
    /// The caller does not have a document, or the index no longer has it.
    Missing,
}

/// Fetches the original of a key; `None` if there is none.
pub type Fetch<'a> = dyn FnMut(&[u8]) -> Result<Option<Original>> + 'a;

impl Snapshot {
    /// The exact similarity between the query document and each match.
    ///
    /// `fetch` is called once per match. The returned document is used only if its signature and
    /// number of shingles equal the stored ones. `alike` is the condition of a match: a minimum
    /// similarity (0 for all), or an [`Alike`]. The comparison ends as soon as it is certain that
    /// the condition fails. Shingles are compared, not bytes: [`Shingles::Words`](crate::Shingles)
    /// does not see punctuation (`C++` and `C#`, `-5` and `5`), `Tokens` and `Chars` do.
    ///
    /// Some true matches have estimates below the minimum. To find these as well, query with
    /// [`Query::for_verification`] (for pairs and clusters, [`Alike::for_verification`]).
    ///
    /// # Errors
    ///
    /// `Invalid` if `alike` is outside 0 to 1; the errors of `fetch`; errors of reading signatures.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Exact, Index, Options, Params, Shingles};
    /// use std::collections::HashMap;
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let sketch = index.sketcher();
    /// let texts = HashMap::from([(b"p1".to_vec(), "the quick brown fox jumps over a lazy dog")]);
    /// for (key, text) in &texts {
    ///     index.insert(key, &sketch.text(text)?)?;
    /// }
    /// let query = sketch.original_text("the quick brown fox jumps over a lazy cow")?;
    /// let snapshot = index.snapshot();
    /// let answer = snapshot.query(query.signature()).threshold(0.75).for_verification().run()?;
    /// let mut fetch =
    ///     |key: &[u8]| texts.get(key).map(|text| sketch.original_text(text)).transpose();
    /// let exact = snapshot.exact_matches(&query, &answer.matches, 0.75, &mut fetch)?;
    /// assert_eq!(exact, [Exact::Similarity(8.0 / 10.0)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn exact_matches(
        &self,
        query: &Original,
        matches: &[Match],
        alike: impl Into<Alike>,
        fetch: &mut Fetch<'_>,
    ) -> Result<Vec<Exact>> {
        let alike = alike.into().check()?;
        let one = |found: &Match| match self.fetched(&found.key, fetch)? {
            Ok(document) => Ok(compared(query, &document, alike)),
            Err(why) => Ok(why),
        };
        matches.iter().map(one).collect()
    }

    /// The exact similarity of a pair. Works like [`Snapshot::exact_matches`].
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::exact_matches`].
    pub fn exact_pair(
        &self,
        pair: &Pair,
        alike: impl Into<Alike>,
        fetch: &mut Fetch<'_>,
    ) -> Result<Exact> {
        self.exactly((&pair.a, &pair.b), alike.into().check()?, fetch)
    }

    /// Compares two documents, and returns whether and how they satisfy the condition.
    pub(super) fn exactly(
        &self,
        (a, b): (&[u8], &[u8]),
        alike: Alike,
        fetch: &mut Fetch<'_>,
    ) -> Result<Exact> {
        let a = match self.fetched(a, fetch)? {
            Ok(document) => document,
            Err(why) => return Ok(why),
        };
        Ok(match self.fetched(b, fetch)? {
            Ok(b) => compared(&a, &b, alike),
            Err(why) => why,
        })
    }

    /// The fetched document, if it equals the indexed one.
    pub(crate) fn fetched(
        &self,
        key: &[u8],
        fetch: &mut Fetch<'_>,
    ) -> Result<std::result::Result<Original, Exact>> {
        let (Some(document), Some(place)) = (fetch(key)?, self.locate(key)?) else {
            return Ok(Err(Exact::Missing));
        };
        Ok(if self.is_stored_at(place, &document)? { Ok(document) } else { Err(Exact::Stale) })
    }

    /// Whether a document equals the one that was indexed, as far as the index can tell.
    pub(crate) fn is_stored_at(&self, place: Place, document: &Original) -> Result<bool> {
        let signature = document.signature();
        self.check_signature(signature)?;
        // An added word may leave the signature unchanged, so counts are compared, too. A stored
        // count of 0 means unknown.
        let count = self.shingle_count(place)?;
        Ok(*self.signature_bytes(place)? == *signature.as_bytes()
            && (count == 0 || count == signature.shingle_count()))
    }
}

fn compared(a: &Original, b: &Original, alike: Alike) -> Exact {
    match alike.overlap(a, b) {
        None => Exact::Below,
        Some(overlap) if alike.asks_for_containment() => Exact::Contained(overlap),
        Some(overlap) => Exact::Similarity(overlap.similarity),
    }
}
