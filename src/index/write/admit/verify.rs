//! Admitting by the documents themselves: signatures find candidates, shingles decide.
//!
//! The caller's closure runs without a lock. Candidates are compared on a snapshot; under the write
//! lock, only those that were written since are looked for. If there are any, the lock is released,
//! and they are compared, too.

use super::{Admission, Admit, AdmitTerms, Decision, Keep, Newcomer};
use crate::index::read::candidate::Found;
use crate::index::read::{Alike, Fetch, Match};
use crate::index::state::commit;
use crate::index::state::core::{Core, Writer};
use crate::index::state::versions::Snapshot;
use crate::index::write::admit;
use crate::index::write::batch::Operation;
use crate::sketch::{Original, Overlap};
use crate::{Error, ErrorKind, Result};
use ahash::RandomState;
use std::collections::HashMap;
use std::fmt;

/// Maximum number of attempts to decide on a newcomer. An attempt fails if candidates were written
/// while others were compared.
const ATTEMPTS: u32 = 16;

/// An [`Admit`] that decides by the documents themselves, made by [`Admit::verify`], for
/// [`Index::admit_verified`](crate::Index::admit_verified).
pub struct VerifiedAdmit<'f> {
    admit: Admit,
    fetch: &'f mut Fetch<'f>,
}

impl Admit {
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
    pub fn verify<'f>(self, fetch: &'f mut Fetch<'f>) -> VerifiedAdmit<'f> {
        VerifiedAdmit { admit: self, fetch }
    }
}

impl fmt::Debug for VerifiedAdmit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedAdmit").field("admit", &self.admit).finish_non_exhaustive()
    }
}

/// The result of comparing a newcomer with a candidate.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    Duplicate(Overlap),
    Related(Overlap),
    /// Below both thresholds.
    Unlike,
    /// The candidate's document is not available.
    Unverified,
}

/// The version of a candidate that was compared, and the result.
struct Compared {
    signature: Vec<u8>,
    shingle_count: u32,
    verdict: Verdict,
}

/// The newcomer that is being decided on.
struct Candidacy<'a> {
    operation: &'a Operation<'a>,
    original: &'a Original,
    /// The documents that this call has admitted, by key.
    fresh: &'a HashMap<&'a [u8], &'a Original, RandomState>,
    terms: AdmitTerms,
    /// The candidates compared so far, by key.
    compared: HashMap<Vec<u8>, Compared, RandomState>,
}

/// Decides on newcomers one after the other, by the documents themselves.
pub(crate) fn admit_verified(
    core: &Core,
    newcomers: &[Newcomer<'_>],
    admit: &mut VerifiedAdmit<'_>,
) -> Result<Vec<Admission>> {
    let lowered = Admit { reject: admit.admit.reject.for_verification(), ..admit.admit };
    let terms = lowered.in_rows(&core.snapshot())?;
    let operations = admit::operations_of(core, newcomers)?;
    let mut originals = Vec::with_capacity(newcomers.len());
    for newcomer in newcomers {
        originals.push(newcomer.original.ok_or_else(|| {
            Error::invalid("verify needs the documents of newcomers: use Newcomer::original")
        })?);
    }
    let mut admissions = Vec::with_capacity(operations.len());
    let (mut fresh, mut last) = (HashMap::default(), None);
    let decided = operations.iter().zip(originals).try_for_each(|(operation, original)| {
        let compared = HashMap::default();
        let mut newcomer = Candidacy { operation, original, fresh: &fresh, terms, compared };
        let (admission, change) = admit_compared(core, &mut newcomer, admit)?;
        last = Some(change);
        if admission.is_admitted() {
            fresh.insert(operation.key(), original);
        }
        admissions.push(admission);
        Ok(())
    });
    admit::settle_admissions(core, decided.map(|()| admissions), last)
}

/// Decides on a newcomer. Returns the last change, too.
fn admit_compared(
    core: &Core,
    newcomer: &mut Candidacy<'_>,
    admit: &mut VerifiedAdmit<'_>,
) -> Result<(Admission, u64)> {
    let mut before = core.applied(&core.writer());
    let mut found = newcomer.candidates(&before)?;
    for _ in 0..ATTEMPTS {
        let mut verdicts = Vec::with_capacity(found.len());
        for candidate in &found {
            verdicts.push(newcomer.verdict(&before, *candidate, admit)?);
        }
        let mut writer = core.writer();
        commit::refuse_if_stopped(core)?;
        if writer.change != before.change() {
            before = core.applied(&writer);
            found = newcomer.candidates(&before)?;
            let Some(known) = newcomer.known(&before, &found)? else { continue };
            verdicts = known;
        }
        let admission = decide(core, &mut writer, &before, newcomer, &found, &verdicts)?;
        return Ok((admission, writer.change));
    }
    Err(Error::new(
        ErrorKind::Unsettled,
        "documents like this one were written each time while others were compared with it; \
         try again",
    ))
}

/// Decides by the verdicts on all candidates, and writes the newcomer if it is admitted.
fn decide(
    core: &Core,
    writer: &mut Writer,
    before: &Snapshot,
    newcomer: &Candidacy<'_>,
    found: &[Found],
    verdicts: &[Verdict],
) -> Result<Admission> {
    let (mut duplicates, mut related, mut unverified) = (Vec::new(), Vec::new(), Vec::new());
    let count = newcomer.original.signature().shingle_count();
    let AdmitTerms { reject, keep, limit, .. } = newcomer.terms;
    let counts = &[count][..];
    let counts = reject.asks_for_counts().then_some(counts);
    for (found, verdict) in found.iter().zip(verdicts) {
        let told = |overlap| {
            let matched = before.matched(*found, counts)?;
            Ok::<_, Error>(Match { overlap: Some(overlap), ..matched })
        };
        match *verdict {
            Verdict::Duplicate(overlap) => duplicates.push(told(overlap)?),
            Verdict::Related(overlap) => related.push(told(overlap)?),
            Verdict::Unlike => {}
            Verdict::Unverified => unverified.push(before.key(found.place)?),
        }
    }
    sort(&mut duplicates);
    sort(&mut related);
    unverified.sort_unstable();
    related.truncate(limit);
    let change = writer.change;
    let is_longer = |than: &Match| than.overlap.is_some_and(|overlap| overlap.counts.1 < count);
    let stays = match keep {
        Keep::First => duplicates.is_empty(),
        Keep::Newest => true,
        Keep::Longest => duplicates.iter().all(is_longer),
    };
    let decision = if stays {
        let outcome = admit::write_newcomer(core, writer, newcomer.operation, &duplicates)?;
        Decision::Admitted { related, outcome, removed: duplicates }
    } else {
        duplicates.truncate(limit);
        Decision::Rejected { duplicates }
    };
    Ok(Admission { decision, change, unverified })
}

/// Sorts by exact similarity, the most similar first, ties by key.
fn sort(matches: &mut [Match]) {
    let similarity = |one: &Match| one.overlap.map_or(0.0, |overlap| overlap.similarity);
    matches.sort_unstable_by(|a, b| {
        similarity(b).total_cmp(&similarity(a)).then_with(|| a.key.cmp(&b.key))
    });
}

impl Candidacy<'_> {
    /// The live documents that may be duplicates or related.
    fn candidates(&self, before: &Snapshot) -> Result<Vec<Found>> {
        let mut found = before.search_newcomer(self.operation, self.terms)?;
        let counts = &[self.original.signature().shingle_count()][..];
        let counts = self.terms.reject.asks_for_counts().then_some(counts);
        let (duplicates, related) = self.terms.part(before, &mut found, counts)?;
        let count = duplicates.len() + related.len();
        found.truncate(count);
        Ok(found)
    }

    /// Compares the newcomer with a candidate, unless that was done.
    fn verdict(
        &mut self,
        before: &Snapshot,
        found: Found,
        admit: &mut VerifiedAdmit<'_>,
    ) -> Result<Verdict> {
        let key = before.key(found.place)?;
        if let Some(verdict) = self.known_of(before, found, &key)? {
            return Ok(verdict);
        }
        let signature = before.signature_bytes(found.place)?.into_owned();
        let shingle_count = before.shingle_count(found.place)?;
        let VerifiedAdmit { admit, fetch } = admit;
        let verdict = match self.fresh.get(&*key) {
            Some(other) if before.is_stored_at(found.place, other)? => self.compare(other, admit),
            _ => match fetch(&key)? {
                Some(other) if before.is_stored_at(found.place, &other)? => {
                    self.compare(&other, admit)
                }
                _ => Verdict::Unverified,
            },
        };
        self.compared.insert(key, Compared { signature, shingle_count, verdict });
        Ok(verdict)
    }

    fn compare(&self, other: &Original, admit: &Admit) -> Verdict {
        let of = |alike: Alike| alike.overlap(self.original, other);
        if let Some(overlap) = of(admit.reject) {
            return Verdict::Duplicate(overlap);
        }
        match admit.relate.and_then(|relate| of(Alike::similar(relate))) {
            Some(overlap) => Verdict::Related(overlap),
            None => Verdict::Unlike,
        }
    }

    /// The verdicts on these candidates, if all were compared.
    fn known(&self, before: &Snapshot, found: &[Found]) -> Result<Option<Vec<Verdict>>> {
        let known = |found: &Found| self.known_of(before, *found, &before.key(found.place)?);
        found.iter().map(known).collect()
    }

    /// The verdict on this version of a candidate, if it was compared.
    fn known_of(&self, before: &Snapshot, found: Found, key: &[u8]) -> Result<Option<Verdict>> {
        let Some(compared) = self.compared.get(key) else { return Ok(None) };
        let is_same = *before.signature_bytes(found.place)? == *compared.signature
            && before.shingle_count(found.place)? == compared.shingle_count;
        Ok(is_same.then_some(compared.verdict))
    }
}
