//! The read path: a signature in, the documents like it out.
//!
//! The law: every live document that shares a band with the query and has at least m0 equal rows,
//! by equal rows descending, then key ascending. Where documents lie must not matter.

use crate::format::bytes::{index, wide};
use crate::index::read::scratch::Scratch;
use crate::index::read::search::{Found, Search};
use crate::index::read::state::{Place, Snapshot};
use crate::sketch::Signature;
use crate::{Answer, Error, ErrorKind, Match, Result};

/// A question under construction: what is like this?
///
/// It answers for the state of the index when it was asked for, however late it is run.
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct Query<'a> {
    snapshot: Snapshot,
    target: Target<'a>,
    terms: Terms,
}

#[derive(Debug, Clone)]
enum Target<'a> {
    Signature(&'a Signature),
    Keys(Vec<&'a [u8]>),
}

/// What a query asks for, whatever it is the like of.
#[derive(Debug, Clone, Copy)]
struct Terms {
    threshold: Option<f64>,
    limit: usize,
    candidates_max: usize,
}

impl Terms {
    const DEFAULT: Self = Self { threshold: None, limit: usize::MAX, candidates_max: usize::MAX };
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

    /// What is like any of the documents with these keys? One answer, in which every document
    /// counts with the most similar of those asked about; it never finds these.
    ///
    /// What a reader of some documents may want to read next. Costs a query for each key.
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
    pub fn query_keys<'a>(&self, keys: &'a [impl AsRef<[u8]>]) -> Query<'a> {
        Query::of_keys(self.clone(), keys)
    }
}

impl<'a> Query<'a> {
    /// What is like this signature?
    pub(crate) fn of_signature(snapshot: Snapshot, signature: &'a Signature) -> Self {
        Self::new(snapshot, Target::Signature(signature))
    }

    /// What is like the document with this key?
    pub(crate) fn of_key(snapshot: Snapshot, key: &'a [u8]) -> Self {
        Self::new(snapshot, Target::Keys(vec![key]))
    }

    /// What is like any of the documents with these keys?
    pub(crate) fn of_keys(snapshot: Snapshot, keys: &'a [impl AsRef<[u8]>]) -> Self {
        Self::new(snapshot, Target::Keys(keys.iter().map(AsRef::as_ref).collect()))
    }

    fn new(snapshot: Snapshot, target: Target<'a>) -> Self {
        Self { snapshot, target, terms: Terms::DEFAULT }
    }

    /// The least similarity returned, from 0 to 1. Default: the index's own threshold. A lower one
    /// than the bands were chosen for finds only what shares a band: see
    /// [`Params::expected_recall`](crate::Params::expected_recall), and
    /// [`Answer::is_unlikely`]. With 0 everything is a match that shares a band and has more equal
    /// rows than chance makes: with a limit, the most similar ones, however similar they are.
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.terms.threshold = Some(threshold);
        self
    }

    /// The most matches returned, the most similar ones. Default: all.
    pub fn limit(mut self, limit: usize) -> Self {
        self.terms.limit = limit;
        self
    }

    /// The most candidates compared (with each document asked about): a bound on the time of a
    /// query that meets a crowd. A document counts once for every band that it shares. If there
    /// are more, [`Answer::complete`] is false, and of the matches some may be missing, others
    /// on different days: which ones are compared depends on where they lie. (Of several keys
    /// asked about, the most similar one may be among those not compared.) Default: all.
    pub fn max_candidates(mut self, candidates: usize) -> Self {
        self.terms.candidates_max = candidates;
        self
    }

    /// Runs the query.
    ///
    /// Costs a probe per band and segment, and a comparison per candidate. Errors: `Invalid`
    /// (threshold not from 0 to 1), `Mismatch` (a signature made with other parameters),
    /// `NotFound` (no document has the key), `Corrupt`, `Io`.
    pub fn run(&self) -> Result<Answer> {
        let snapshot = &self.snapshot;
        let asked = Asked::new(snapshot, self.terms)?;
        let signature = match &self.target {
            Target::Signature(signature) => signature,
            Target::Keys(keys) => return snapshot.answer_by_keys(keys, &asked),
        };
        snapshot.check_signature(signature)?;
        let mut scratch = Scratch::take();
        let mut search = asked.search(snapshot, &mut scratch);
        search.run(&[signature.as_bytes()], asked.equal_rows_min)?;
        let complete = !search.is_cut(0);
        let answer = snapshot.answer(search.found(), &asked, complete)?;
        scratch.keep();
        Ok(answer)
    }
}

impl Snapshot {
    /// What is like any of some stored documents.
    fn answer_by_keys(&self, keys: &[&[u8]], asked: &Asked) -> Result<Answer> {
        let (mut signatures, mut themselves) = (Vec::new(), Vec::new());
        for key in keys {
            let Some(place) = self.locate(key)? else {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("no document has the key {:?}", String::from_utf8_lossy(key)),
                ));
            };
            signatures.push(self.signature_bytes(place)?);
            themselves.push(place);
        }
        let (mut found, mut scratch) = (Vec::new(), Scratch::take());
        let mut complete = true;
        for together in signatures.chunks(TOGETHER) {
            let bytes: Vec<&[u8]> = together.iter().map(AsRef::as_ref).collect();
            let mut search = asked.search(self, &mut scratch);
            found.append(search.run(&bytes, asked.equal_rows_min)?);
            complete &= (0..bytes.len()).all(|number| !search.is_cut(number));
        }
        scratch.keep();
        themselves.sort_unstable();
        found.retain(|candidate| themselves.binary_search(&candidate.place).is_err());
        if keys.len() > 1 {
            keep_best(&mut found);
        }
        self.answer(&mut found, asked, complete)
    }
}

/// Of what was found for several probes: each document once, with the most equal rows.
fn keep_best(found: &mut Vec<Found>) {
    found.sort_unstable_by_key(|found| (found.place, std::cmp::Reverse(found.equal_rows)));
    found.dedup_by_key(|found| found.place);
}

/// The terms of a query, checked, in an index.
#[derive(Debug, Clone, Copy)]
struct Asked {
    threshold: f64,
    equal_rows_min: u32,
    limit: usize,
    candidates_max: usize,
}

impl Asked {
    fn new(snapshot: &Snapshot, terms: Terms) -> Result<Self> {
        let threshold = terms.threshold.unwrap_or(snapshot.params().threshold());
        Ok(Self {
            threshold,
            equal_rows_min: snapshot.equal_rows_min(terms.threshold)?,
            limit: terms.limit,
            candidates_max: terms.candidates_max,
        })
    }

    fn search<'a>(&self, snapshot: &'a Snapshot, scratch: &'a mut Scratch) -> Search<'a> {
        Search::new(snapshot, scratch).bounded(self.candidates_max)
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
    terms: Terms,
}

/// Signatures whose look-ups are under way at once: enough to hide the memory's delay.
const TOGETHER: usize = if cfg!(test) { 3 } else { 8 };

impl Snapshot {
    /// What is like each of these signatures? See [`Queries`].
    pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
        Queries::of(self.clone(), signatures)
    }
}

impl<'a> Queries<'a> {
    pub(crate) fn of(snapshot: Snapshot, signatures: &'a [Signature]) -> Self {
        Queries { snapshot, signatures, terms: Terms::DEFAULT }
    }

    /// The least similarity returned: see [`Query::threshold`].
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.terms.threshold = Some(threshold);
        self
    }

    /// The most matches returned for each: see [`Query::limit`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.terms.limit = limit;
        self
    }

    /// The most candidates compared with each: see [`Query::max_candidates`].
    pub fn max_candidates(mut self, candidates: usize) -> Self {
        self.terms.candidates_max = candidates;
        self
    }

    /// Runs the queries; the answers are in order of the signatures.
    ///
    /// Costs somewhat less than as many single queries. Starts no thread: to use several, give
    /// each a part of the signatures. Errors: those of [`Query::run`].
    pub fn run(&self) -> Result<Vec<Answer>> {
        let snapshot = &self.snapshot;
        let asked = Asked::new(snapshot, self.terms)?;
        for signature in self.signatures {
            snapshot.check_signature(signature)?;
        }
        let mut answers = Vec::with_capacity(self.signatures.len());
        let mut scratch = Scratch::take();
        let mut search = asked.search(snapshot, &mut scratch);
        let mut bytes: [&[u8]; TOGETHER] = [&[]; TOGETHER];
        for together in self.signatures.chunks(TOGETHER) {
            for (bytes, signature) in bytes.iter_mut().zip(together) {
                *bytes = signature.as_bytes();
            }
            search.run(&bytes[..together.len()], asked.equal_rows_min)?;
            let cut: [bool; TOGETHER] = std::array::from_fn(|number| search.is_cut(number));
            let mut rest = search.found().as_mut_slice();
            for (number, cut) in cut.iter().enumerate().take(together.len()) {
                let count = rest.partition_point(|found| index(found.probe) <= number);
                let (of_this, of_others) = rest.split_at_mut(count);
                let complete = planted!(AllComplete, true, !cut);
                answers.push(snapshot.answer(of_this, &asked, complete)?);
                rest = of_others;
            }
        }
        scratch.keep();
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
    pub(crate) fn equal_rows_min(&self, threshold: Option<f64>) -> Result<u32> {
        let threshold = threshold.unwrap_or(self.params().threshold());
        check_threshold(threshold)?;
        Ok(self.params().equal_rows_min(threshold))
    }

    fn answer(&self, found: &mut [Found], asked: &Asked, complete: bool) -> Result<Answer> {
        let count = wide(found.len());
        Ok(Answer {
            matches: self.rank(found, asked.limit)?,
            found: count,
            threshold: asked.threshold,
            complete,
            change: self.visible,
        })
    }

    /// The first `limit` in the order of the law. Only documents that may be among them have
    /// their keys read.
    pub(crate) fn rank(&self, found: &mut [Found], limit: usize) -> Result<Vec<Match>> {
        if limit == 0 || found.is_empty() {
            return Ok(Vec::new());
        }
        found.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.equal_rows));
        let worthy = match found.get(limit - 1).map(|last| last.equal_rows) {
            Some(least) => found.partition_point(|candidate| candidate.equal_rows >= least),
            None => found.len(),
        };
        let worthy = &found[..worthy];
        // One alone, too: the disk then gets to know all that reading it takes at once.
        for candidate in worthy.iter().take(TOGETHER) {
            self.ask_for_key(candidate.place)?;
        }
        let mut matches = Vec::with_capacity(worthy.len());
        for candidate in worthy {
            matches.push(self.complete(*candidate)?);
        }
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
