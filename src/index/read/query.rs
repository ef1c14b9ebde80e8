//! The read path: a signature in, the documents like it out.
//!
//! The law: every live document that shares a band with the query and has at least m0 equal rows,
//! by equal rows descending, then key ascending. Where documents lie must not matter.

use crate::format::bytes::{index, wide};
use crate::index::read::search::{Found, Search};
use crate::index::read::state::{Place, Snapshot};
use crate::sketch::Signature;
use crate::{Answer, Error, ErrorKind, Match, Result};
use std::borrow::Cow;

/// A question under construction: what is like this?
///
/// It answers for the state of the index when it was asked for, however late it is run.
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct Query<'a> {
    snapshot: Snapshot,
    target: Target<'a>,
    threshold: Option<f64>,
    limit: usize,
}

#[derive(Debug, Clone)]
enum Target<'a> {
    Signature(&'a Signature),
    Key(&'a [u8]),
}

impl Snapshot {
    /// What is like this signature? See [`Query`].
    pub fn query<'a>(&self, signature: &'a Signature) -> Query<'a> {
        Query::of_signature(self.clone(), signature)
    }

    /// What is like the document with this key? It never finds itself.
    pub fn query_key<'a>(&self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Query<'a> {
        Query::of_key(self.clone(), key.as_ref())
    }
}

impl<'a> Query<'a> {
    /// What is like this signature?
    pub(crate) fn of_signature(snapshot: Snapshot, signature: &'a Signature) -> Self {
        Self::new(snapshot, Target::Signature(signature))
    }

    /// What is like the document with this key?
    pub(crate) fn of_key(snapshot: Snapshot, key: &'a [u8]) -> Self {
        Self::new(snapshot, Target::Key(key))
    }

    fn new(snapshot: Snapshot, target: Target<'a>) -> Self {
        Self { snapshot, target, threshold: None, limit: usize::MAX }
    }

    /// The least similarity returned, from 0 to 1. Default: the index's own threshold. A lower one
    /// than the bands were chosen for finds only what shares a band: see
    /// [`Params::expected_recall`](crate::Params::expected_recall).
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// The most matches returned, the most similar ones. Default: all.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the query.
    ///
    /// Costs a probe per band and segment, and a comparison per candidate. Errors: `Invalid`
    /// (threshold not from 0 to 1), `Mismatch` (a signature made with other parameters),
    /// `NotFound` (no document has the key), `Corrupt`, `Io`.
    pub fn run(&self) -> Result<Answer> {
        let snapshot = &self.snapshot;
        let equal_rows_min = snapshot.equal_rows_min(self.threshold)?;
        let (bytes, itself) = self.resolve()?;
        let mut search = Search::new(snapshot, 1);
        let found = search.run(&[&bytes], equal_rows_min)?;
        if itself.is_some() {
            found.retain(|candidate| Some(candidate.place) != itself);
        }
        snapshot.answer(found, self.limit)
    }

    /// The signature's bytes, and where the document lies if it is a stored one.
    fn resolve(&self) -> Result<(Cow<'_, [u8]>, Option<Place>)> {
        match self.target {
            Target::Signature(signature) => {
                self.snapshot.check_signature(signature)?;
                Ok((Cow::Borrowed(signature.as_bytes()), None))
            }
            Target::Key(key) => match self.snapshot.locate(key)? {
                Some(place) => Ok((self.snapshot.signature_bytes(place)?, Some(place))),
                None => Err(Error::new(
                    ErrorKind::NotFound,
                    format!("no document has the key {:?}", String::from_utf8_lossy(key)),
                )),
            },
        }
    }
}

/// Questions under construction, asked together: what is like each of these signatures?
///
/// The answers are those of a [`Query`] for each of them; asked together, they wait for memory
/// together, and all of them see the same state.
#[derive(Debug, Clone)]
#[must_use = "queries do nothing until they are run"]
pub struct Queries<'a> {
    snapshot: Snapshot,
    signatures: &'a [Signature],
    threshold: Option<f64>,
    limit: usize,
}

/// Signatures whose look-ups are under way at once: enough to hide the memory's delay.
const TOGETHER: usize = 8;

impl Snapshot {
    /// What is like each of these signatures? See [`Queries`].
    pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
        Queries::of(self.clone(), signatures)
    }
}

impl<'a> Queries<'a> {
    pub(crate) fn of(snapshot: Snapshot, signatures: &'a [Signature]) -> Self {
        Queries { snapshot, signatures, threshold: None, limit: usize::MAX }
    }

    /// The least similarity returned: see [`Query::threshold`].
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// The most matches returned for each: see [`Query::limit`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the queries; the answers are in order of the signatures.
    ///
    /// Costs somewhat less than as many single queries. Starts no thread: to use several, give
    /// each a part of the signatures. Errors: those of [`Query::run`].
    pub fn run(&self) -> Result<Vec<Answer>> {
        let snapshot = &self.snapshot;
        let least = snapshot.equal_rows_min(self.threshold)?;
        for signature in self.signatures {
            snapshot.check_signature(signature)?;
        }
        let mut answers = Vec::with_capacity(self.signatures.len());
        let mut search = Search::new(snapshot, TOGETHER.min(self.signatures.len()));
        let mut bytes: [&[u8]; TOGETHER] = [&[]; TOGETHER];
        for together in self.signatures.chunks(TOGETHER) {
            for (bytes, signature) in bytes.iter_mut().zip(together) {
                *bytes = signature.as_bytes();
            }
            let mut rest = search.run(&bytes[..together.len()], least)?.as_mut_slice();
            for number in 0..together.len() {
                let count = rest.partition_point(|found| index(found.probe) <= number);
                let (of_this, of_others) = rest.split_at_mut(count);
                answers.push(snapshot.answer(of_this, self.limit)?);
                rest = of_others;
            }
        }
        Ok(answers)
    }
}

/// Refuses a threshold that is not from 0 to 1.
pub(crate) fn check_threshold(threshold: f64) -> Result<()> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(());
    }
    Err(Error::invalid(format!("the threshold must be from 0 to 1, not {threshold}")))
}

impl Snapshot {
    /// The least number of equal rows at this threshold, or at the index's own.
    fn equal_rows_min(&self, threshold: Option<f64>) -> Result<u32> {
        let threshold = threshold.unwrap_or(self.params().threshold());
        check_threshold(threshold)?;
        Ok(self.params().equal_rows_min(threshold))
    }

    fn answer(&self, found: &mut [Found], limit: usize) -> Result<Answer> {
        let count = wide(found.len());
        Ok(Answer { matches: self.rank(found, limit)?, found: count, change: self.visible })
    }

    /// The first `limit` in the order of the law. Only documents that may be among them have
    /// their keys read.
    fn rank(&self, found: &mut [Found], limit: usize) -> Result<Vec<Match>> {
        if limit == 0 || found.is_empty() {
            return Ok(Vec::new());
        }
        found.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.equal_rows));
        let worthy = match found.get(limit - 1).map(|last| last.equal_rows) {
            Some(least) => found.partition_point(|candidate| candidate.equal_rows >= least),
            None => found.len(),
        };
        let worthy = &found[..worthy];
        for candidate in worthy.iter().take(TOGETHER) {
            self.ask_for_key(candidate.place)?;
        }
        let complete = |candidate: &Found| self.complete(*candidate);
        let mut matches = worthy.iter().map(complete).collect::<Result<Vec<_>>>()?;
        matches.sort_unstable_by(|a, b| {
            b.equal_rows.cmp(&a.equal_rows).then_with(|| a.key.cmp(&b.key))
        });
        matches.truncate(limit);
        Ok(matches)
    }

    fn ask_for_key(&self, place: Place) -> Result<()> {
        match self.state.segments.get(place.source) {
            Some(live) => live.segment.ask_for_key(place.ordinal),
            None => Ok(()),
        }
    }

    fn complete(&self, found: Found) -> Result<Match> {
        let Place { source, ordinal } = found.place;
        let (key, payload, time) = match self.state.segments.get(source) {
            Some(live) => {
                let stored = live.segment.document(ordinal)?;
                let time = live.segment.time(ordinal)?;
                (stored.key.into_owned(), stored.payload.into_owned(), time)
            }
            None => {
                let content = self.state.memtable.read();
                let (key, payload) = (content.key(ordinal), content.payload(ordinal));
                (key.to_vec(), payload.to_vec(), content.time(ordinal))
            }
        };
        Ok(Match {
            key,
            payload,
            time,
            equal_rows: found.equal_rows,
            similarity: self.params().similarity(found.equal_rows),
            standard_error: self.params().standard_error(found.equal_rows),
        })
    }
}
