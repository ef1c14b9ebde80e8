//! Admitting by the documents themselves: signatures find candidates, shingles decide.
//!
//! How candidates are looked at without a lock: `candidacy.rs`.

use super::candidacy::{Candidacy, Verdict};
use super::{Admission, Admit, Newcomer};
use crate::index::read::candidate::Found;
use crate::index::read::{Alike, Fetch};
use crate::index::state::core::Core;
use crate::index::state::versions::Snapshot;
use crate::index::write::admit;
use crate::keyed::RandomState;
use crate::{Error, Original, Result};
use std::collections::HashMap;
use std::fmt;

/// An [`Admit`] that decides by the documents themselves, made by [`Admit::verify`], for
/// [`Index::admit_verified`](crate::Index::admit_verified).
pub struct VerifiedAdmit<'a, 'f> {
    admit: Admit<'a>,
    fetch: &'f mut Fetch<'f>,
}

impl<'a> Admit<'a> {
    /// Decides by the documents themselves instead of estimates. Signatures only find candidates,
    /// down to three standard errors below the thresholds ([`Alike::for_verification`]).
    /// `fetch` returns the document of a key; it is compared with the newcomer shingle by shingle,
    /// by [`Admit::at`] and [`Admit::relate`]. So no newcomer is rejected, and no document is
    /// replaced, unless the two are that similar. [`Match::overlap`] is the evidence. Matches are
    /// ordered by their exact similarity, ties by key.
    ///
    /// A candidate that `fetch` does not return, or whose stored signature is another one, is
    /// neither a duplicate nor related: [`Admission::unverified`] lists it. `fetch` is not called
    /// for documents that the same call has admitted.
    ///
    /// `fetch` runs without a lock and may use the index. If several threads admit, a newcomer may
    /// be fetched by another thread as soon as it is admitted: make its document available before.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Admit, Decision, Index, Newcomer, Options, Params, Shingles};
    /// use std::collections::HashMap;
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let sketch = index.sketcher();
    /// let texts = HashMap::from([
    ///     (&b"p1"[..], sketch.original_text("the quick brown fox jumps over a lazy dog")?),
    ///     (&b"p2"[..], sketch.original_text("the quick brown fox jumps over a lazy cow")?),
    /// ]);
    /// let mut fetch = |key: &[u8]| Ok(texts.get(key).cloned());
    /// let mut terms = Admit::at(0.75).verify(&mut fetch);
    /// let first = Newcomer::original("p1", &texts[&b"p1"[..]]);
    /// assert!(index.admit_verified(&[first], &mut terms)?[0].is_admitted());
    /// let second = Newcomer::original("p2", &texts[&b"p2"[..]]);
    /// let admission = index.admit_verified(&[second], &mut terms)?.remove(0);
    /// let Decision::Rejected { duplicates, .. } = admission.decision else { panic!("similar") };
    /// let overlap = duplicates[0].overlap.unwrap();
    /// assert_eq!((overlap.shared, overlap.counts, overlap.similarity), (8, (9, 9), 0.8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Match::overlap`]: crate::Match::overlap
    #[must_use]
    pub fn verify<'f>(self, fetch: &'f mut Fetch<'f>) -> VerifiedAdmit<'a, 'f> {
        VerifiedAdmit { admit: self, fetch }
    }
}

impl fmt::Debug for VerifiedAdmit<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedAdmit").field("admit", &self.admit).finish_non_exhaustive()
    }
}

/// Decides on newcomers one after the other, by the documents themselves.
pub(crate) fn admit_verified(
    core: &Core,
    newcomers: &[Newcomer<'_>],
    admit: &mut VerifiedAdmit<'_, '_>,
) -> Result<Vec<Admission>> {
    let VerifiedAdmit { admit, fetch } = admit;
    let terms = admit.clone().for_verification().in_rows(&core.snapshot())?;
    let operations = admit::operations_of(core, newcomers, admit)?;
    let mut originals = Vec::with_capacity(newcomers.len());
    for newcomer in newcomers {
        originals.push(newcomer.original.ok_or_else(|| {
            Error::invalid("verify needs the documents of newcomers: use Newcomer::original")
        })?);
    }
    let mut admissions = Vec::with_capacity(operations.len());
    let (mut fresh, mut last) = (HashMap::default(), None);
    let decided = operations.iter().zip(originals).try_for_each(|(operation, original)| {
        let mut documents = LentDocuments { fresh: &fresh, fetch };
        let mut newcomer = Candidacy::new(operation, admit, terms);
        let (admission, change) = newcomer.decide(core, &mut |before, found, key| {
            documents.verdict(original, (terms.reject, admit.relate), before, found, key)
        })?;
        last = Some(change);
        if admission.is_admitted() {
            fresh.insert(operation.key(), original);
        }
        admissions.push(admission);
        Ok(())
    });
    admit::settle_admissions(core, decided.map(|()| admissions), last)
}

/// What has the documents of candidates.
struct LentDocuments<'d, 'f> {
    /// The documents that this call has admitted, by key.
    fresh: &'d HashMap<&'d [u8], &'d Original, RandomState>,
    fetch: &'d mut Fetch<'f>,
}

impl LentDocuments<'_, '_> {
    /// Compares the newcomer with the candidate that is stored under a key.
    fn verdict(
        &mut self,
        newcomer: &Original,
        thresholds: (Alike, Option<f64>),
        before: &Snapshot,
        found: Found,
        key: &[u8],
    ) -> Result<Verdict> {
        if let Some(other) = self.fresh.get(key)
            && before.is_stored_at(found.place, other)?
        {
            return Ok(compare(newcomer, other, thresholds));
        }
        match (self.fetch)(key)? {
            Some(other) if before.is_stored_at(found.place, &other)? => {
                Ok(compare(newcomer, &other, thresholds))
            }
            _ => Ok(Verdict::Unverified),
        }
    }
}

fn compare(
    newcomer: &Original,
    other: &Original,
    (reject, relate): (Alike, Option<f64>),
) -> Verdict {
    let of = |alike: Alike| alike.overlap(newcomer, other);
    if let Some(overlap) = of(reject) {
        return Verdict::Duplicate(overlap);
    }
    match relate.and_then(|relate| of(Alike::similar(relate))) {
        Some(overlap) => Verdict::Related(overlap),
        None => Verdict::Unlike,
    }
}
