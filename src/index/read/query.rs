//! The read path: a signature in, the documents like it out.
//!
//! The law: every live document that shares a band with the query and has at least m0 equal rows,
//! by equal rows descending, then key ascending. Where documents lie must not matter.

use crate::index::read::state::{Place, Snapshot, band_keys};
use crate::sketch::{Signature, equal_rows};
use crate::{Answer, Error, ErrorKind, Match, Params, Result};
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
        Query::new(self.clone(), Target::Signature(signature))
    }

    /// What is like the document with this key? It never finds itself.
    pub fn query_key<'a>(&self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Query<'a> {
        Query::new(self.clone(), Target::Key(key.as_ref()))
    }
}

impl<'a> Query<'a> {
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
        let threshold = self.threshold.unwrap_or(snapshot.params.threshold());
        check_threshold(threshold)?;
        let (bytes, itself) = self.resolve()?;
        let probe = Probe::new(&snapshot.params, &bytes, threshold);
        let mut found = Vec::new();
        snapshot.find(&probe, Which::All, &mut Vec::new(), &mut found)?;
        found.retain(|candidate| Some(candidate.place) != itself);
        let count = crate::format::bytes::wide(found.len());
        let matches = snapshot.rank(found, self.limit)?;
        Ok(Answer { matches, found: count, change: snapshot.visible })
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

/// Refuses a threshold that is not from 0 to 1.
pub(crate) fn check_threshold(threshold: f64) -> Result<()> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(());
    }
    Err(Error::invalid(format!("the threshold must be from 0 to 1, not {threshold}")))
}

/// A signature with its BandKeys, ready to be held against others.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    signature: &'a [u8],
    band_keys: Vec<u64>,
    band_bytes: usize,
    lane_bits: u32,
    equal_rows_min: u32,
}

/// A live document that satisfies the law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: Place,
    pub(crate) equal_rows: u32,
}

/// Which places a search looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Only places behind this one: so that a pair is found from one side only.
    Behind(Place),
}

impl<'a> Probe<'a> {
    pub(crate) fn new(params: &Params, signature: &'a [u8], threshold: f64) -> Self {
        let mut keys = Vec::with_capacity(params.bands());
        band_keys(params, signature, &mut keys);
        Self {
            signature,
            band_keys: keys,
            band_bytes: params.band_bytes(),
            lane_bits: params.lane_bits(),
            equal_rows_min: params.equal_rows_min(threshold),
        }
    }

    /// The equal rows of a candidate found in `band`, if it counts there: the band really is
    /// equal, no earlier one is (else it was found before), and there are enough equal rows.
    fn score(&self, band: usize, candidate: &[u8]) -> Option<u32> {
        let mut ours = self.signature.chunks_exact(self.band_bytes);
        let mut theirs = candidate.chunks_exact(self.band_bytes);
        let first = ours.by_ref().zip(theirs.by_ref()).take(band + 1).position(|(a, b)| a == b);
        if first != Some(band) {
            return None;
        }
        let equal = equal_rows(self.signature, candidate, self.lane_bits);
        (equal >= self.equal_rows_min).then_some(equal)
    }
}

impl Snapshot {
    /// Appends every document that satisfies the law to `found`, in no particular order, each
    /// once. `bucket` is scratch space.
    pub(crate) fn find(
        &self,
        probe: &Probe<'_>,
        which: Which,
        bucket: &mut Vec<u32>,
        found: &mut Vec<Found>,
    ) -> Result<()> {
        let begin = found.len();
        for source in 0..self.state.segments.len() {
            self.find_in_segment(source, probe, which, bucket, found)?;
        }
        self.find_in_memtable(probe, which, begin, found);
        Ok(())
    }

    fn find_in_segment(
        &self,
        source: usize,
        probe: &Probe<'_>,
        which: Which,
        bucket: &mut Vec<u32>,
        found: &mut Vec<Found>,
    ) -> Result<()> {
        let live = &self.state.segments[source];
        if which.skips_all_of(source) {
            return Ok(());
        }
        for (band, key) in probe.band_keys.iter().enumerate() {
            bucket.clear();
            live.segment.bucket(band, *key, bucket)?;
            for &ordinal in bucket.iter() {
                let place = Place { source, ordinal };
                if which.skips(place) {
                    continue;
                }
                let candidate = live.segment.signature(ordinal)?;
                if let Some(equal_rows) = probe.score(band, &candidate)
                    && !live.is_dead(ordinal)?
                {
                    found.push(Found { place, equal_rows });
                }
            }
        }
        Ok(())
    }

    /// Takes back what has died in segments since the floor, and adds what the memtable has.
    fn find_in_memtable(
        &self,
        probe: &Probe<'_>,
        which: Which,
        begin: usize,
        found: &mut Vec<Found>,
    ) {
        let content = self.state.memtable.read();
        if content.is_empty() {
            return;
        }
        let mut kept = begin;
        for at in begin..found.len() {
            let Found { place, .. } = found[at];
            let number = self.state.segments[place.source].number();
            if !content.segment_death(number, place.ordinal, self.visible) {
                found.swap(kept, at);
                kept += 1;
            }
        }
        found.truncate(kept);
        let source = self.state.segments.len();
        for (band, key) in probe.band_keys.iter().enumerate() {
            for ordinal in content.bucket(band, *key) {
                let place = Place { source, ordinal };
                if which.skips(place) || !content.is_live(ordinal, self.visible) {
                    continue;
                }
                if let Some(equal_rows) = probe.score(band, content.signature(ordinal)) {
                    found.push(Found { place, equal_rows });
                }
            }
        }
    }

    /// The first `limit` in the order of the law. Only documents that may be among them have
    /// their keys read.
    fn rank(&self, mut found: Vec<Found>, limit: usize) -> Result<Vec<Match>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        found.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.equal_rows));
        if let Some(last) = found.get(limit - 1).copied() {
            found.retain(|candidate| candidate.equal_rows >= last.equal_rows);
        }
        let mut ranked = found
            .into_iter()
            .map(|candidate| Ok((candidate, self.key(candidate.place)?)))
            .collect::<Result<Vec<_>>>()?;
        ranked.sort_unstable_by(|(a, a_key), (b, b_key)| {
            b.equal_rows.cmp(&a.equal_rows).then_with(|| a_key.cmp(b_key))
        });
        ranked.truncate(limit);
        ranked.into_iter().map(|(candidate, key)| self.complete(candidate, key)).collect()
    }

    fn complete(&self, found: Found, key: Vec<u8>) -> Result<Match> {
        let Place { source, ordinal } = found.place;
        let (payload, time) = match self.state.segments.get(source) {
            Some(live) => {
                let stored = live.segment.document(ordinal)?;
                (stored.payload.into_owned(), live.segment.time(ordinal)?)
            }
            None => {
                let content = self.state.memtable.read();
                (content.payload(ordinal).to_vec(), content.time(ordinal))
            }
        };
        Ok(Match {
            key,
            payload,
            time,
            equal_rows: found.equal_rows,
            similarity: self.params.similarity(found.equal_rows),
            standard_error: self.params.standard_error(found.equal_rows),
        })
    }
}

impl Which {
    fn skips(self, place: Place) -> bool {
        match self {
            Self::All => false,
            Self::Behind(first) => place <= first,
        }
    }

    fn skips_all_of(self, source: usize) -> bool {
        match self {
            Self::All => false,
            Self::Behind(first) => source < first.source,
        }
    }
}
