//! Brute force: the documents in a map, and the law evaluated by scanning all of them.
//!
//! Written from the law, not from the engine: it shares no code with the engine that it judges.

use crate::{Alike, Index, Outcome, Result, Signature};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A stored document without its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doc {
    pub(super) signature: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) time: u64,
    pub(super) shingle_count: u32,
}

/// One operation of a batch, as the law defines it.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Inserts or replaces a document, possibly keeping the stored payload.
    Put {
        doc: Doc,
        keeps_payload: bool,
    },
    SetPayload(Vec<u8>),
    Remove,
}

impl Act {
    /// The document after the operation. A put that repeats the document keeps its time.
    fn on(&self, old: Option<Doc>) -> Option<Doc> {
        match (self, old) {
            (Self::Put { doc, keeps_payload }, old) => {
                let kept = old.as_ref().map_or(Vec::new(), |old| old.payload.clone());
                let payload = if *keeps_payload { kept } else { doc.payload.clone() };
                let new = Doc { payload, ..doc.clone() };
                Some(old.filter(|old| old.repeats(&new)).unwrap_or(new))
            }
            (Self::SetPayload(payload), old) => {
                old.map(|old| Doc { payload: payload.clone(), ..old })
            }
            (Self::Remove, _) => None,
        }
    }
}

impl Doc {
    /// Whether two documents differ in nothing but the time.
    fn repeats(&self, other: &Self) -> bool {
        Self { time: other.time, ..self.clone() } == *other
    }

    pub(super) fn signed(&self) -> Signed<'_> {
        (&self.signature, self.shingle_count)
    }
}

/// A signature, and its number of shingles.
pub(super) type Signed<'a> = (&'a [u8], u32);

pub(super) fn signed(signature: &Signature) -> Signed<'_> {
    (signature.as_bytes(), signature.shingle_count())
}

/// The minimum of a match: its similarity and, if that counts too, its containment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Least {
    pub(super) similarity: f64,
    pub(super) contained: Option<f64>,
}

impl Least {
    /// The same for the engine.
    pub(super) fn alike(self) -> Alike {
        let alike = self.contained.map_or(Alike::similar(0.0), Alike::contained);
        alike.and_similar(self.similarity)
    }
}

impl From<f64> for Least {
    fn from(similarity: f64) -> Self {
        Self { similarity, contained: None }
    }
}

/// A match as the law defines it: key, payload, time, equal rows.
pub(super) type Like = (Vec<u8>, Vec<u8>, u64, u32);

/// The shape of signatures, and the law for signatures of this shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    pub(super) hashes: usize,
    pub(super) bands: usize,
    pub(super) rows: usize,
    pub(super) lane_bytes: usize,
    /// Whether questions never ask for containment, whose estimate depends on the lanes' width.
    pub(super) is_plain: bool,
}

impl Law {
    /// The similarity estimated from `equal` equal rows. Negative if fewer rows are equal than by
    /// chance.
    pub(super) fn estimate(&self, equal: u32) -> f64 {
        // Lanes of more than two bytes are whole rows, which hardly agree by chance.
        let chance = [1.0 / 256.0, 1.0 / 65_536.0, 0.0][self.lane_bytes.min(3) - 1];
        (f64::from(equal) / self.hashes as f64 - chance) / (1.0 - chance)
    }

    /// m0: the minimum number of equal rows for a threshold.
    fn least_rows(&self, threshold: f64) -> u32 {
        let mut equal = 0;
        while self.estimate(equal) < threshold - 1e-9 {
            equal += 1;
        }
        equal
    }

    /// A threshold that `equal` equal rows reach and fewer do not. If even threshold zero needs
    /// more rows, returns zero.
    pub(super) fn threshold_of(&self, equal: u32) -> f64 {
        self.estimate(equal).clamp(0.0, 1.0)
    }

    /// What a question for this many equal rows asks for: every third one, for containment.
    pub(super) fn least_of(&self, rows: u32) -> Least {
        if self.is_plain || rows % 3 != 1 {
            return self.threshold_of(rows).into();
        }
        let contained = Some(f64::from(rows % 11) / 10.0);
        Least { similarity: self.threshold_of(rows / 8), contained }
    }

    /// The share of the smaller document that the larger one has, estimated from `equal` equal
    /// rows and the numbers of shingles.
    fn containment(&self, equal: u32, a: u32, b: u32) -> f64 {
        let similarity = self.estimate(equal).max(0.0);
        let shared = similarity / (1.0 + similarity) * f64::from(a + b);
        let all = if equal as usize == self.hashes { 1.0 } else { shared / f64::from(a.min(b)) };
        all.min(1.0)
    }

    fn lane<'a>(&self, signature: &'a [u8], row: usize) -> &'a [u8] {
        &signature[row * self.lane_bytes..(row + 1) * self.lane_bytes]
    }

    fn equal_rows(&self, a: &[u8], b: &[u8]) -> u32 {
        (0..self.hashes).map(|row| u32::from(self.lane(a, row) == self.lane(b, row))).sum()
    }

    fn shares_a_band(&self, a: &[u8], b: &[u8]) -> bool {
        let whole = |band: usize| {
            let mut rows = band * self.rows..(band + 1) * self.rows;
            rows.all(|row| self.lane(a, row) == self.lane(b, row))
        };
        (0..self.bands).any(whole)
    }

    /// The number of equal rows if the documents match each other: they share a band, at least
    /// `rows` rows are equal, and one contains enough of the other.
    fn like(&self, a: Signed<'_>, b: Signed<'_>, rows: u32, least: Least) -> Option<u32> {
        let equal = self.equal_rows(a.0, b.0);
        let contains = |least| self.containment(equal, a.1, b.1) >= least - 1e-9;
        let is_alike = equal >= rows && least.contained.is_none_or(contains);
        (is_alike && self.shares_a_band(a.0, b.0)).then_some(equal)
    }
}

/// The documents after a change.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) change: u64,
    pub(super) docs: BTreeMap<Arc<[u8]>, Arc<Doc>>,
}

impl Model {
    /// Applies a batch: the operations of each key in order. The number of the change advances if
    /// anything changes.
    pub(super) fn write(&mut self, edits: &[(Vec<u8>, Act)]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let mut after = self.docs.clone();
        for (at, (key, _)) in edits.iter().enumerate() {
            if edits[at + 1..].iter().any(|(later, _)| later == key) {
                outcomes.push(Outcome::Superseded);
                continue;
            }
            let stored = self.get(key);
            // Whether the document that is left is a new one, and not the stored one.
            let (mut new, mut is_new) = (stored.cloned(), false);
            for (_, act) in edits[..=at].iter().filter(|(other, _)| other == key) {
                let old = new.take();
                new = act.on(old.clone());
                is_new |= matches!(act, Act::Put { .. }) && new != old;
            }
            outcomes.push(match (stored, &new) {
                (None, None) => Outcome::Missing,
                (Some(_), None) => Outcome::Removed,
                (None, Some(_)) => Outcome::Inserted,
                (Some(old), Some(new)) if !is_new && old.repeats(new) => Outcome::Unchanged,
                (Some(_), Some(_)) => Outcome::Replaced,
            });
            match (outcomes[at], new) {
                (Outcome::Inserted | Outcome::Replaced, Some(new)) => {
                    after.insert(Arc::from(&key[..]), Arc::new(new));
                }
                (Outcome::Removed, _) => drop(after.remove(&key[..])),
                _ => {}
            }
        }
        let nothing = [Outcome::Missing, Outcome::Unchanged, Outcome::Superseded];
        self.change += u64::from(!outcomes.iter().all(|outcome| nothing.contains(outcome)));
        self.docs = after;
        outcomes
    }

    /// Removes all documents whose key has a prefix, as one change if there are any. Returns their
    /// number.
    pub(super) fn remove_prefix(&mut self, prefix: &[u8]) -> usize {
        let before = self.docs.len();
        self.docs.retain(|key, _| !key.starts_with(prefix));
        let removed = before - self.docs.len();
        self.change += u64::from(removed > 0);
        removed
    }

    /// Removes all documents older than a time, as one change if there are any. Returns their
    /// number.
    pub(super) fn remove_before(&mut self, time: u64) -> usize {
        let before = self.docs.len();
        self.docs.retain(|_, doc| doc.time >= time);
        let removed = before - self.docs.len();
        self.change += u64::from(removed > 0);
        removed
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Doc> {
        self.docs.get(key).map(|doc| &**doc)
    }

    /// All matches of `signature` in order, except `itself`.
    pub(super) fn query(
        &self,
        law: &Law,
        signature: Signed<'_>,
        least: Least,
        itself: Option<&[u8]>,
    ) -> Vec<Like> {
        let rows = law.least_rows(least.similarity);
        let mut likes = Vec::new();
        for (key, doc) in &self.docs {
            if itself == Some(key) {
                continue;
            }
            if let Some(equal) = law.like(signature, doc.signed(), rows, least) {
                likes.push((key.to_vec(), doc.payload.clone(), doc.time, equal));
            }
        }
        likes.sort_by(|a, b| b.3.cmp(&a.3).then_with(|| a.0.cmp(&b.0)));
        likes
    }

    /// All matches of any of the documents with these keys, in order; `None` if a key is missing.
    pub(super) fn query_keys(
        &self,
        law: &Law,
        keys: &[Vec<u8>],
        least: Least,
    ) -> Option<Vec<Like>> {
        let mut best: BTreeMap<Vec<u8>, Like> = BTreeMap::new();
        for key in keys {
            for like in self.query(law, self.get(key)?.signed(), least, Some(key)) {
                let known = best.entry(like.0.clone()).or_insert_with(|| like.clone());
                if like.3 > known.3 {
                    *known = like;
                }
            }
        }
        let mut likes: Vec<_> = best.into_values().collect();
        likes.retain(|like| !keys.contains(&like.0));
        likes.sort_by(|a, b| b.3.cmp(&a.3).then_with(|| a.0.cmp(&b.0)));
        Some(likes)
    }

    pub(super) fn pairs(&self, law: &Law, least: Least) -> BTreeSet<(Vec<u8>, Vec<u8>, u32)> {
        let rows = law.least_rows(least.similarity);
        let mut pairs = BTreeSet::new();
        for (at, (a, one)) in self.docs.iter().enumerate() {
            for (b, other) in self.docs.iter().skip(at + 1) {
                if let Some(equal) = law.like(one.signed(), other.signed(), rows, least) {
                    pairs.insert((a.to_vec(), b.to_vec(), equal));
                }
            }
        }
        pairs
    }

    /// The clusters of two or more connected documents. Each cluster is sorted, and the clusters
    /// are sorted by their first key.
    pub(super) fn clusters(&self, law: &Law, least: Least) -> BTreeSet<Vec<Vec<u8>>> {
        let mut clusters: BTreeSet<Vec<Vec<u8>>> = BTreeSet::new();
        for (a, b, _) in self.pairs(law, least) {
            let of = |key: &Vec<u8>| clusters.iter().find(|cluster| cluster.contains(key)).cloned();
            let mut joined = BTreeSet::from([a.clone(), b.clone()]);
            for cluster in [of(&a), of(&b)].into_iter().flatten() {
                clusters.remove(&cluster);
                joined.extend(cluster);
            }
            clusters.insert(joined.into_iter().collect());
        }
        clusters
    }
}

/// Removes the documents with a prefix, all if it is empty.
pub(super) fn remove_prefix(index: &Index, prefix: &[u8]) -> Result<u64> {
    if prefix.is_empty() { index.clear() } else { index.remove_prefix(prefix) }
}

/// An insert. Without a payload, the stored payload is kept.
pub(super) fn put(signature: &Signature, payload: Option<&[u8]>, time: u64) -> Act {
    let doc = Doc {
        signature: signature.as_bytes().to_vec(),
        payload: payload.unwrap_or_default().to_vec(),
        time,
        shingle_count: signature.shingle_count(),
    };
    Act::Put { doc, keeps_payload: payload.is_none() }
}
