//! The read path: finds the documents similar to a signature.
//!
//! The law: a query returns every live document that shares a band with it and has at least m0
//! equal rows, sorted by equal rows descending, then by key ascending. The storage location of
//! documents must not matter.

use crate::format::bytes::wide;
use crate::index::read::alike::Alike;
use crate::index::read::candidate::Found;
use crate::index::read::conditions::{Conditions, setters};
use crate::index::read::scratch::SearchScratch;
use crate::index::read::search::Search;
use crate::index::state::key::Key;
use crate::index::state::versions::Snapshot;
use crate::{Answer, Error, ErrorKind, Result, Signature};
use std::fmt;

/// A builder for a search for similar documents.
///
/// The answer reflects the snapshot that the builder was made from, however late the query is run.
/// (Methods of [`crate::Index`] take a snapshot when they are called.)
#[derive(Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct Query<'a> {
    snapshot: Snapshot,
    target: QueryTarget<'a>,
    conditions: Conditions<'a>,
}

setters!(Query);

#[derive(Clone)]
enum QueryTarget<'a> {
    Signature(&'a Signature),
    Keys(Vec<Key<'a>>),
}

impl Snapshot {
    /// A query for documents similar to this signature. See [`Query`].
    pub fn query<'a>(&self, signature: &'a Signature) -> Query<'a> {
        Query::new(self, QueryTarget::Signature(signature))
    }

    /// A query for documents similar to the document with this key, which is never a match itself.
    pub fn query_key<'a>(&self, key: impl Into<Key<'a>>) -> Query<'a> {
        Query::new(self, QueryTarget::Keys(vec![key.into()]))
    }

    /// A query for documents similar to any of the documents with these keys. Each document found
    /// is ranked by its similarity to the nearest of them. The documents with these keys are never
    /// matches themselves.
    ///
    /// Use it for recommendations: what may the reader of some documents want to read next? Costs
    /// one query per key.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("films.nearkin");
    /// use nearkin::{Index, Options, Params, Shingles};
    ///
    /// let params = Params::for_threshold(0.3).shingles(Shingles::Items).build()?;
    /// let index = Index::create(&dir, &params, Options::default())?;
    /// let fans = index.sketcher();
    /// index.insert("Alien", &fans.items(["ann", "bob", "cleo"])?)?;
    /// index.insert("Heat", &fans.items(["dora", "emil", "finn"])?)?;
    /// index.insert("Aliens", &fans.items(["ann", "bob", "cleo", "gwen"])?)?;
    /// index.insert("Ronin", &fans.items(["dora", "emil"])?)?;
    /// let answer = index.query_keys(&["Alien", "Heat"]).threshold(0.0).limit(10).run()?;
    /// let mut next: Vec<_> = answer.matches.iter().map(|found| &found.key[..]).collect();
    /// next.sort();
    /// assert_eq!(next, [&b"Aliens"[..], b"Ronin"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_keys<'a>(&self, keys: impl IntoIterator<Item = impl Into<Key<'a>>>) -> Query<'a> {
        Query::new(self, QueryTarget::Keys(keys.into_iter().map(Into::into).collect()))
    }
}

impl<'a> Query<'a> {
    fn new(snapshot: &Snapshot, target: QueryTarget<'a>) -> Self {
        Self { snapshot: snapshot.clone(), target, conditions: Conditions::default() }
    }

    /// Runs the query.
    ///
    /// Costs a probe per band and segment, and a comparison per candidate.
    ///
    /// # Errors
    ///
    /// `Invalid` (threshold not from 0 to 1), `Mismatch` (a signature made with other parameters),
    /// `NoSuchKey` (no document has the key), `Corrupt`, `Io`.
    pub fn run(&self) -> Result<Answer> {
        let snapshot = &self.snapshot;
        let checked = CheckedTerms::new(snapshot, &self.conditions)?;
        let signature = match &self.target {
            QueryTarget::Signature(signature) => signature,
            QueryTarget::Keys(keys) => return snapshot.answer_by_keys(keys, &checked),
        };
        snapshot.check_signature(signature)?;
        let mut scratch = SearchScratch::take();
        let mut search = checked.search(snapshot, &mut scratch);
        search.run(&[signature.as_bytes()], checked.equal_rows_min)?;
        let complete = !search.is_cut(0);
        let counts = [signature.shingle_count()];
        let answer = snapshot.answer(search.found(), &checked, &counts, complete)?;
        scratch.keep();
        Ok(answer)
    }
}

impl Snapshot {
    /// The documents similar to any of some stored documents.
    fn answer_by_keys(&self, keys: &[Key<'_>], checked: &CheckedTerms<'_>) -> Result<Answer> {
        let stop = &checked.conditions.stop;
        let (mut signatures, mut themselves) = (Vec::new(), Vec::new());
        let (mut counts, mut complete) = (Vec::new(), true);
        for key in keys {
            if stop.is_due() {
                // Which documents are asked for is not known, so none can be answered.
                signatures.clear();
                complete = false;
                break;
            }
            let key = key.as_bytes();
            let Some(place) = self.locate(key)? else {
                return Err(Error::new(
                    ErrorKind::NoSuchKey,
                    format!("no document has the key {:?}", String::from_utf8_lossy(key)),
                ));
            };
            signatures.push(self.signature_bytes(place)?);
            counts.push(self.shingle_count(place)?);
            themselves.push(place);
        }
        themselves.sort_unstable();
        let (mut found, mut scratch) = (Vec::new(), SearchScratch::take());
        let mut merged = 0;
        for (number, together) in signatures.chunks(BATCH_SIGNATURES).enumerate() {
            let bytes: Vec<&[u8]> = together.iter().map(AsRef::as_ref).collect();
            let mut search = checked.search(self, &mut scratch);
            let first = u32::try_from(number * BATCH_SIGNATURES).unwrap_or(u32::MAX);
            let of_all = |of: &Found| Found { probe: first.saturating_add(of.probe), ..*of };
            found.extend(search.run(&bytes, checked.equal_rows_min)?.iter().map(of_all));
            complete &= (0..bytes.len()).all(|number| !search.is_cut(number));
            if search.is_stopped() {
                break;
            }
            // What many keys find in a crowd would not fit into memory.
            if found.len() - merged > merged.max(FOUND_UNMERGED) {
                complete &= self.merge(&mut found, merged, checked, &counts)?;
                merged = found.len();
            }
        }
        if keys.len() > 1 {
            complete &= self.merge(&mut found, merged, checked, &counts)?;
        }
        scratch.keep();
        found.retain(|candidate| themselves.binary_search(&candidate.place).is_err());
        self.answer(&mut found, checked, &counts, complete)
    }

    /// Merges the candidates from the position `new` on with those before: each document once.
    /// Before that, drops new ones that are not contained, if containment is asked for. Returns
    /// whether it looked at all of them.
    fn merge(
        &self,
        found: &mut Vec<Found>,
        new: usize,
        checked: &CheckedTerms<'_>,
        counts: &[u32],
    ) -> Result<bool> {
        let mut is_whole = true;
        if checked.alike.asks_for_containment() {
            let mut these = found.split_off(new);
            let (kept, is_all) =
                self.keep_contained(&mut these, checked.alike, counts, &checked.conditions.stop)?;
            these.truncate(kept);
            found.append(&mut these);
            is_whole = is_all;
        }
        keep_best(found);
        Ok(is_whole)
    }
}

/// Merges what several probes found: each document once, with its largest count of equal rows, and
/// of the probes with that count the first.
fn keep_best(found: &mut Vec<Found>) {
    let order = |of: &Found| (of.place, std::cmp::Reverse(of.equal_rows), of.probe);
    found.sort_unstable_by_key(order);
    found.dedup_by_key(|found| found.place);
}

/// The checked conditions of a query in an index.
pub(super) struct CheckedTerms<'a> {
    conditions: &'a Conditions<'a>,
    alike: Alike,
    pub(super) equal_rows_min: u32,
}

impl<'a> CheckedTerms<'a> {
    pub(super) fn new(snapshot: &Snapshot, conditions: &'a Conditions<'a>) -> Result<Self> {
        snapshot.refuse_if_closed()?;
        let alike = conditions.check(snapshot.params().threshold())?;
        Ok(Self { conditions, alike, equal_rows_min: alike.equal_rows_min(snapshot.params()) })
    }

    pub(super) fn search<'s>(
        &self,
        snapshot: &'s Snapshot,
        scratch: &'s mut SearchScratch,
    ) -> Search<'s>
    where
        'a: 's,
    {
        let search = Search::new(snapshot, scratch).bounded(self.conditions.candidates_max);
        search.until(&self.conditions.stop)
    }
}

/// Number of candidates of many keys that are collected before they are merged.
const FOUND_UNMERGED: usize = small!(query::FOUND_UNMERGED, 1 << 16);

/// Number of signatures that are looked up together: enough to hide the memory latency.
pub(super) const BATCH_SIGNATURES: usize = small!(query::BATCH_SIGNATURES, 8);

impl Snapshot {
    /// Makes the answer from the findings. `counts[probe]` is the number of shingles of the query
    /// document with the index `probe`: see [`Found::probe`].
    pub(super) fn answer(
        &self,
        found: &mut [Found],
        checked: &CheckedTerms<'_>,
        counts: &[u32],
        complete: bool,
    ) -> Result<Answer> {
        let Conditions { selection, stop, limit, .. } = checked.conditions;
        let (mut passing, mut complete) = (found.len(), complete);
        let by_counts = checked.alike.asks_for_containment();
        if by_counts {
            let (count, is_whole) = self.keep_contained(found, checked.alike, counts, stop)?;
            (passing, complete) = (count, complete && is_whole);
        }
        let found = &mut found[..passing];
        if let Some(selection) = selection {
            let (count, is_whole) = self.keep_passing(found, selection, stop)?;
            (passing, complete) = (count, complete && is_whole);
        }
        let counts = by_counts.then_some(counts);
        let (matches, is_whole) = self.rank_until(&mut found[..passing], *limit, counts, stop)?;
        Ok(Answer {
            matches,
            found: wide(passing),
            threshold: checked.alike.threshold_in(self.params()),
            complete: complete && is_whole,
            change: self.visible,
        })
    }
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut query = f.debug_struct("Query");
        match &self.target {
            QueryTarget::Signature(_) => query.field("like", &format_args!("a signature")),
            QueryTarget::Keys(keys) => match &keys[..] {
                [key] => query.field("like", key),
                keys => query.field("like", &format_args!("{} keys", keys.len())),
            },
        };
        query.field("conditions", &self.conditions).field("change", &self.snapshot.visible).finish()
    }
}
