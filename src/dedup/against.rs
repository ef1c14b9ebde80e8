//! Documents of an index that are never dropped: what is similar to one of them goes.

use super::{cancelled, refuse_partial};
use crate::{
    Alike, Conditions, Duplicate, Error, Fetch, Guard, Key, Original, Result, Signature, Snapshot,
};

/// Drops documents that are similar to a document of an index. The index is not changed.
///
/// Deduplication against an index has two steps, because the documents of the index are never
/// dropped: first, this type finds the documents that duplicate one of the index, and then
/// [`Dedup`](crate::Dedup) decides the rest. The answer for a document depends on nothing but the
/// index, so several threads may ask at once, in any order.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("archive.nearkin");
/// use nearkin::{Against, Index, Options, Params, Shingles};
///
/// let params = Params::for_threshold(0.7).shingles(Shingles::Words(1)).build()?;
/// let archive = Index::create(&dir, &params, Options::default())?;
/// let sketcher = archive.sketcher();
/// let stored = "the bridge is closed until further notice by order of the mayor";
/// archive.insert("notice 7", &sketcher.text(stored)?)?;
/// let against = Against::new(&archive.snapshot(), 0.7)?;
///
/// let new = sketcher.original_text("The bridge is closed until further notice, by the mayor")?;
/// let found = against.find(std::slice::from_ref(new.signature()))?;
/// assert_eq!(found[0].as_ref().unwrap().of.as_bytes(), b"notice 7");
///
/// // The same, by the documents themselves.
/// let found = against.find_exactly(&new, &mut |_| sketcher.original_text(stored).map(Some))?;
/// assert!(found.duplicate.unwrap().similarity > 0.8);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Against {
    snapshot: Snapshot,
    alike: Alike,
    guard: Guard,
    /// Only how a search is stopped.
    stopping: Conditions<'static>,
}

/// The result of comparing a document with those of an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    /// The most similar document of the index, if one is similar enough.
    pub duplicate: Option<Duplicate<Key<'static>>>,
    /// The most similar of those documents of the index that only the guard sets apart. If there
    /// is a duplicate, the search may end before it is found.
    pub apart: Option<Duplicate<Key<'static>>>,
    /// Number of candidates that could not be compared: `fetch` has no document, or one that
    /// differs from the indexed one. Nothing is dropped for such a candidate.
    pub unread: u32,
}

impl Against {
    /// Compares with the documents of this snapshot. `alike` makes a document a duplicate.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or a passage index).
    pub fn new(snapshot: &Snapshot, alike: impl Into<Alike>) -> Result<Self> {
        if snapshot.params().passages().is_some() {
            return Err(Error::invalid("documents are compared with an index of documents"));
        }
        let alike = alike.into().check()?;
        let (snapshot, guard) = (snapshot.clone(), Guard::None);
        Ok(Self { snapshot, alike, guard, stopping: Conditions::default() })
    }

    /// Keeps a document that the guard sets apart from a similar one of the index, unless another
    /// one of the index is similar and not set apart. Only [`Against::find_exactly`] does so, and
    /// only with documents that have their details
    /// ([`Sketcher::detailed_text`](crate::Sketcher::detailed_text)), on both sides.
    ///
    /// A deduplication has one guard, and single documents of an index do not tell what is rare: so
    /// [`Guard::Rare`] counts as [`Guard::Numbers`] here.
    #[must_use]
    pub fn guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    /// Ends a call with `Cancelled` as soon as this returns true. It is called as often as that of
    /// [`Conditions::cancel_if`]: between blocks of comparisons, also
    /// for a single document.
    #[must_use]
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stopping = self.stopping.cancel_if(cancel);
        self
    }

    /// For each signature, the most similar document of the index, if one is similar enough by the
    /// estimate.
    ///
    /// # Errors
    ///
    /// `Mismatch` (signatures made with other parameters), and the errors of a query.
    pub fn find(&self, signatures: &[Signature]) -> Result<Vec<Option<Duplicate<Key<'static>>>>> {
        let params = self.snapshot.params();
        let conditions = self.stopping.clone().alike(self.alike).limit(1);
        let answers = self.snapshot.queries(signatures).conditions(conditions).run()?;
        refuse_partial(&answers)?;
        let first = |answer: crate::Answer| {
            let found = answer.matches.into_iter().next()?;
            let containment = found.containment.map(|containment| containment.estimate);
            let key = Key::from(found.key);
            Some(Duplicate::estimated(key, params, found.equal_rows, containment))
        };
        Ok(answers.into_iter().map(first).collect())
    }

    /// The document of the index whose shingles are most similar, if one is similar enough. The
    /// candidates are fetched and compared.
    ///
    /// # Errors
    ///
    /// `Mismatch` (documents made with other parameters), the errors of a query and of `fetch`.
    pub fn find_exactly(&self, document: &Original, fetch: &mut Fetch<'_>) -> Result<Verified> {
        let conditions = self.stopping.clone().alike(self.alike.for_verification());
        let answer = self.snapshot.query(document.signature()).conditions(conditions).run()?;
        refuse_partial(std::slice::from_ref(&answer))?;
        let mut verified = Verified { duplicate: None, apart: None, unread: 0 };
        let mut alike = self.alike;
        for found in answer.matches {
            if self.stopping.stop.is_due() {
                return Err(cancelled());
            }
            let Ok(other) = self.snapshot.fetched(&found.key, fetch)? else {
                verified.unread += 1;
                continue;
            };
            let Some(overlap) = alike.overlap(document, &other) else { continue };
            let reason = Duplicate::between(Key::from(found.key), overlap, (document, &other));
            if self.guard.parts_by_numbers(document, &other) {
                if reason.is_better_than(verified.apart.as_ref()) {
                    verified.apart = Some(reason);
                }
            } else if reason.is_better_than(verified.duplicate.as_ref()) {
                alike = reason.or_better(self.alike);
                let is_whole = reason.is_whole();
                verified.duplicate = Some(reason);
                if is_whole {
                    // Candidates come in order of equal rows and key: no other one is better.
                    break;
                }
            }
        }
        Ok(verified)
    }
}
