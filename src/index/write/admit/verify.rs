//! Admitting by the documents themselves: signatures find candidates, shingles decide.
//!
//! How candidates are looked at without a lock: `candidacy.rs`.

use super::candidacy::{Candidacy, Estimated, Verdict};
use super::conditions::{AdmitTerms, Keep};
use super::{Admission, Admit, Newcomer};
use crate::index::read::candidate::Found;
use crate::index::read::{Alike, Fetch, Guard};
use crate::index::state::core::Core;
use crate::index::state::versions::Snapshot;
use crate::index::write::admit;
use crate::index::write::operation::Operation;
use crate::keyed::RandomState;
use crate::{Error, Original, Result};
use std::collections::HashMap;
use std::fmt;

/// Number of candidates that are compared at least, if candidates are searched at the threshold.
pub(in crate::index) const COMPARED_MAX: usize = small!(admit::COMPARED_MAX, 32);

/// An [`Admit`] that decides by the documents themselves, made by [`Admit::verify`], for
/// [`Index::admit_verified`](crate::Index::admit_verified).
pub struct VerifiedAdmit<'a, 'f> {
    admit: Admit<'a>,
    fetch: &'f mut Fetch<'f>,
    rules: Rules,
}

/// How documents decide.
#[derive(Debug, Clone, Copy)]
struct Rules {
    guard: Guard,
    /// Whether the estimate decides on candidates that cannot be compared.
    or_by_estimate: bool,
    /// Whether only candidates are looked at whose estimates reach the thresholds themselves.
    at_threshold: bool,
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
    /// neither a duplicate nor related ([`VerifiedAdmit::or_by_estimate`] changes this):
    /// [`Admission::unverified`] lists it. `fetch` is not called for documents that the same call
    /// has admitted.
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
        let rules = Rules { guard: Guard::None, or_by_estimate: false, at_threshold: false };
        VerifiedAdmit { admit: self, fetch, rules }
    }
}

impl VerifiedAdmit<'_, '_> {
    /// Compares only the candidates that [`Admit`] finds without [`Admit::verify`]: their estimates
    /// reach the thresholds themselves. A true duplicate near the threshold is then missed as often
    /// as without `verify`.
    ///
    /// With [`Keep::First`](crate::Keep::First) and without a prefix, times or filter, a newcomer
    /// is compared only with the 32 candidates of the highest estimates, or with as many as the
    /// limit. If there are more, [`Admission::complete`] is false.
    #[must_use]
    pub fn search_at_threshold(mut self) -> Self {
        self.rules.at_threshold = true;
        self
    }

    /// Decides by the estimate on candidates that cannot be compared, as [`Admit`] does without
    /// [`Admit::verify`]. Such a match has no [`Match::overlap`](crate::Match::overlap), and
    /// [`Admission::unverified`] lists the candidates as before. In the order of matches, the
    /// estimate stands for the exact similarity.
    #[must_use]
    pub fn or_by_estimate(mut self) -> Self {
        self.rules.or_by_estimate = true;
        self
    }

    /// What a newcomer may differ in without being a duplicate. Default: [`Guard::None`]. With
    /// [`Guard::Numbers`], a newcomer that differs from a candidate in numbers, and in no other
    /// word, is no duplicate of it; it may be related. [`Admission::apart`] lists such candidates.
    /// Documents need details ([`Sketcher::detailed_text`](crate::Sketcher::detailed_text)):
    /// without them, and for candidates that decide by the estimate, the guard does nothing.
    ///
    /// [`Guard::Rare`] is refused when newcomers are admitted: which words are rare can only be
    /// said of a whole set of documents.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Admit, Guard, Index, Newcomer, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::temporary(&params, Options::default())?;
    /// let sketch = index.sketcher();
    /// let bill = |text| sketch.detailed_text(text);
    /// let first = bill("Dear customer, please pay 40 euros for the lessons of March")?;
    /// let second = bill("Dear customer, please pay 55 euros for the lessons of March")?;
    /// let mut fetch = |_: &[u8]| Ok(None);
    /// let mut terms = Admit::at(0.8).verify(&mut fetch).guard(Guard::Numbers);
    /// let bills = [Newcomer::original("1", &first), Newcomer::original("2", &second)];
    /// let admissions = index.admit_verified(&bills, &mut terms)?;
    /// assert!(admissions[1].is_admitted());
    /// assert_eq!(admissions[1].apart[0].key, b"1");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.rules.guard = guard;
        self
    }
}

impl fmt::Debug for VerifiedAdmit<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut admit = f.debug_struct("VerifiedAdmit");
        admit.field("admit", &self.admit).field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Decides on newcomers one after the other, by the documents themselves.
pub(crate) fn admit_verified(
    core: &Core,
    newcomers: &[Newcomer<'_>],
    admit: &mut VerifiedAdmit<'_, '_>,
) -> Result<Vec<Admission>> {
    let VerifiedAdmit { admit, fetch, rules } = admit;
    let snapshot = core.snapshot();
    let to_decide = admit.in_rows_to_decide(&snapshot)?;
    let terms = if rules.at_threshold {
        to_decide
    } else {
        admit.clone().for_verification().in_rows(&snapshot)?
    };
    drop(snapshot);
    let judge =
        NewcomerJudge { reject: terms.reject, relate: admit.relate, rules: *rules, to_decide };
    judge.refuse_guard()?;
    let operations = admit::operations_of(core, newcomers, admit)?;
    let mut originals = Vec::with_capacity(newcomers.len());
    let of_newcomer = |number: usize, error: Error| {
        let key = operations.get(number).map_or(&[][..], Operation::key);
        error.of_document(number, operations.len(), key)
    };
    for (number, newcomer) in newcomers.iter().enumerate() {
        originals.push(newcomer.original.ok_or_else(|| {
            let message = "verify needs the documents of newcomers: use Newcomer::original";
            of_newcomer(number, Error::invalid(message))
        })?);
    }
    let mut admissions = Vec::with_capacity(operations.len());
    let (mut fresh, mut last) = (HashMap::default(), None);
    let decided = operations.iter().zip(originals).try_for_each(|(operation, original)| {
        let mut documents = LentDocuments { fresh: &fresh, fetch };
        let newcomer = Candidacy::new(operation, admit, terms);
        let mut newcomer = newcomer.comparing_at_most(judge.compared_max(admit));
        let (admission, change) =
            newcomer.decide(core, &mut |before, found, key| match documents
                .of(before, found, key)?
            {
                Some(Lent::Fresh(other)) => Ok(judge.compare(original, other)),
                Some(Lent::Fetched(other)) => Ok(judge.compare(original, &other)),
                None => judge.estimated(original, before, found).map(Verdict::Unverified),
            })?;
        last = Some(change);
        if admission.is_admitted() {
            fresh.insert(operation.key(), original);
        }
        admissions.push(admission);
        Ok(())
    });
    let decided = decided.map_err(|error| of_newcomer(admissions.len(), error));
    admit::settle_admissions(core, decided.map(|()| admissions), last)
}

/// What has the documents of candidates.
struct LentDocuments<'d, 'f> {
    /// The documents that this call has admitted, by key.
    fresh: &'d HashMap<&'d [u8], &'d Original, RandomState>,
    fetch: &'d mut Fetch<'f>,
}

/// The document of a candidate.
enum Lent<'d> {
    Fresh(&'d Original),
    Fetched(Original),
}

impl<'d> LentDocuments<'d, '_> {
    /// The document that is stored under the key of a candidate, if it is at hand.
    fn of(&mut self, before: &Snapshot, found: Found, key: &[u8]) -> Result<Option<Lent<'d>>> {
        if let Some(other) = self.fresh.get(key)
            && before.is_stored_at(found.place, other)?
        {
            return Ok(Some(Lent::Fresh(other)));
        }
        let Some(other) = (self.fetch)(key)? else { return Ok(None) };
        Ok(before.is_stored_at(found.place, &other)?.then_some(Lent::Fetched(other)))
    }
}

/// Judges a newcomer and one candidate.
struct NewcomerJudge {
    reject: Alike,
    relate: Option<f64>,
    rules: Rules,
    /// The thresholds by which the estimate decides.
    to_decide: AdmitTerms,
}

impl NewcomerJudge {
    fn refuse_guard(&self) -> Result<()> {
        match self.rules.guard {
            Guard::None | Guard::Numbers | Guard::Agree => Ok(()),
            Guard::Rare => Err(Error::invalid(
                "admit compares single documents, so it cannot know which words are rare: use \
                 Guard::Numbers, or Dedup and Judge for a whole set of documents",
            )),
        }
    }

    /// Maximum number of candidates that are compared.
    fn compared_max(&self, admit: &Admit<'_>) -> Option<usize> {
        // What a filter hides must not use up places. Newer documents replace all duplicates.
        let is_bounded = self.rules.at_threshold
            && admit.keep == Keep::First
            && admit.conditions.selection.is_none();
        is_bounded.then_some(self.to_decide.limit.max(COMPARED_MAX))
    }

    fn compare(&self, newcomer: &Original, other: &Original) -> Verdict {
        if let Some(overlap) = self.reject.overlap(newcomer, other) {
            if self.rules.guard.parts_by_numbers(newcomer, other) {
                return Verdict::Apart(overlap);
            }
            return Verdict::Duplicate(overlap);
        }
        let related = |relate| Alike::similar(relate).overlap(newcomer, other);
        self.relate.and_then(related).map_or(Verdict::Unlike, Verdict::Related)
    }

    /// What a candidate without a document is by the estimate.
    fn estimated(&self, newcomer: &Original, before: &Snapshot, found: Found) -> Result<Estimated> {
        let AdmitTerms { reject, reject_min, relate_min, .. } = self.to_decide;
        if !self.rules.or_by_estimate {
            return Ok(Estimated::Neither);
        }
        let counts = (newcomer.signature().shingle_count(), before.shingle_count(found.place)?);
        if found.equal_rows >= reject_min && reject.holds(before.params(), found.equal_rows, counts)
        {
            return Ok(Estimated::Duplicate);
        }
        let is_related = relate_min.is_some_and(|least| found.equal_rows >= least);
        Ok(if is_related { Estimated::Related } else { Estimated::Neither })
    }
}
