//! Exact similarities of what was found, where the caller still has the documents.
//!
//! Knows what is stored of them; the documents come from the caller.

use super::{Match, Pair, Snapshot};
use crate::Result;
use crate::sketch::Original;

/// What the documents themselves say of a match or a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Exact {
    /// Their Jaccard similarity.
    Similarity(f64),
    /// It is below the least that was asked for.
    Below,
    /// A document is no longer the one that was indexed: its signature is another.
    Stale,
    /// The caller does not have a document, or the index no longer does.
    Missing,
}

/// Fetches the original of a key, `None` if it is gone.
pub type Fetch<'a> = dyn FnMut(&[u8]) -> Result<Option<Original>> + 'a;

impl Snapshot {
    /// The exact similarity of each match of a query to the document that was asked for.
    ///
    /// `fetch` is called once a match. What it returns is believed only if it has the signature
    /// that is stored under the key. Below `least` (0 to ask for all) the comparison ends as soon
    /// as that is certain. Errors: those of `fetch`, and of reading signatures.
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
    /// let asked = sketch.original_text("the quick brown fox jumps over a lazy cow")?;
    /// let snapshot = index.snapshot();
    /// let answer = snapshot.query(asked.signature()).run()?;
    /// let mut fetch =
    ///     |key: &[u8]| texts.get(key).map(|text| sketch.original_text(text)).transpose();
    /// let exact = snapshot.exact_matches(&asked, &answer.matches, 0.0, &mut fetch)?;
    /// assert_eq!(exact, [Exact::Similarity(8.0 / 10.0)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn exact_matches(
        &self,
        asked: &Original,
        matches: &[Match],
        least: f64,
        fetch: &mut Fetch<'_>,
    ) -> Result<Vec<Exact>> {
        let one = |found: &Match| match self.fetched(&found.key, fetch)? {
            Ok(document) => Ok(compared(asked, &document, least)),
            Err(why) => Ok(why),
        };
        matches.iter().map(one).collect()
    }

    /// The exact similarity of a pair. Otherwise as [`Snapshot::exact_matches`].
    pub fn exact_pair(&self, pair: &Pair, least: f64, fetch: &mut Fetch<'_>) -> Result<Exact> {
        let a = match self.fetched(&pair.a, fetch)? {
            Ok(document) => document,
            Err(why) => return Ok(why),
        };
        Ok(match self.fetched(&pair.b, fetch)? {
            Ok(b) => compared(&a, &b, least),
            Err(why) => why,
        })
    }

    /// A document, if it is the one that was indexed.
    fn fetched(
        &self,
        key: &[u8],
        fetch: &mut Fetch<'_>,
    ) -> Result<std::result::Result<Original, Exact>> {
        let (Some(document), Some(place)) = (fetch(key)?, self.locate(key)?) else {
            return Ok(Err(Exact::Missing));
        };
        let signature = document.signature();
        self.check_signature(signature)?;
        let same = *self.signature_bytes(place)? == *signature.as_bytes();
        Ok(if same { Ok(document) } else { Err(Exact::Stale) })
    }
}

fn compared(a: &Original, b: &Original, least: f64) -> Exact {
    a.similarity_at_least(b, least).map_or(Exact::Below, Exact::Similarity)
}
