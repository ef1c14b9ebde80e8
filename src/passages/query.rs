//! Asking an index of passages: which texts hold what this one says, where, and how much of it.
//!
//! Knows how matches of passages add up. Does not write.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::cut::{self, Passages, Piece};
use crate::format::bytes::wide;
use crate::sketch::Signature;
use crate::{Key, Match, Result, Snapshot};

/// Passages of the query that are asked about at once: memory stays bounded.
const TOGETHER: usize = if cfg!(test) { 3 } else { 256 };

/// A frozen view of an index of passages.
#[derive(Debug, Clone)]
pub struct PassageView {
    pub(super) snapshot: Snapshot,
    pub(super) cutter: Passages,
}

/// A passage of the query and a stored one that are alike.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassageMatch {
    /// Where it lies in the query, in bytes.
    pub query: Range<u64>,
    /// Where it lies in the stored text, in bytes as it was inserted.
    pub stored: Range<u64>,
    /// The estimate of the passages' Jaccard similarity.
    pub similarity: f64,
}

/// A stored text that holds passages of the query.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Contained {
    /// The text's key.
    pub key: Vec<u8>,
    /// The caller's own bytes.
    pub payload: Vec<u8>,
    /// How much of the query is there: its words in passages that match, of all its words.
    pub share: f64,
    /// The stored passages that match, each with the passage of the query most like it, in the
    /// order of the stored text.
    pub passages: Vec<PassageMatch>,
}

/// The answer: the texts that hold most of the query first, equal ones by key.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassageAnswer {
    /// The texts, at most as many as the limit.
    pub texts: Vec<Contained>,
    /// How many texts hold some of it, the limit aside.
    pub found: u64,
    /// Words of the query.
    pub words: u64,
    /// Whether every candidate was compared: see
    /// [`Query::max_candidates`](crate::Query::max_candidates).
    pub complete: bool,
    /// The number of the last change that the answer takes into account.
    pub change: u64,
}

/// A question under construction: which texts hold parts of this one?
#[derive(Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct PassageQuery<'a> {
    view: &'a PassageView,
    text: &'a str,
    threshold: f64,
    limit: usize,
    candidates_max: usize,
}

impl PassageView {
    /// What a snapshot of an index sees, or a reader's; `Invalid` if it is not of passages.
    pub fn new(snapshot: &Snapshot) -> Result<Self> {
        let cutter = Passages::new(snapshot.params())?;
        Ok(Self { snapshot: snapshot.clone(), cutter })
    }

    /// Which texts hold parts of this one? See [`PassageQuery`].
    pub fn query<'a>(&'a self, text: &'a str) -> PassageQuery<'a> {
        PassageQuery {
            view: self,
            text,
            threshold: self.snapshot.params().threshold(),
            limit: usize::MAX,
            candidates_max: usize::MAX,
        }
    }

    /// Whether there is a text with this key.
    pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        let key = key.into();
        cut::check_key(key.as_bytes())?;
        self.snapshot.contains(cut::inner_key(key.as_bytes(), 0))
    }

    /// How many texts there are. Not stored anywhere: reads every passage.
    pub fn count_texts(&self) -> Result<u64> {
        let mut texts = 0;
        for document in self.snapshot.iter() {
            texts += u64::from(cut::split_key(&document?.key)?.1 == 0);
        }
        Ok(texts)
    }
}

impl fmt::Debug for PassageQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut query = f.debug_struct("PassageQuery");
        query.field("text_bytes", &self.text.len()).field("threshold", &self.threshold);
        query.field("change", &self.view.snapshot.change()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Contained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut contained = f.debug_struct("Contained");
        contained.field("key", &Key::from(&self.key)).field("payload_bytes", &self.payload.len());
        contained.field("share", &self.share).field("passages", &self.passages).finish()
    }
}

impl PassageQuery<'_> {
    /// The least similarity of two passages that counts, 0 to 1. Default: the index's threshold.
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// The most texts returned, those with the largest share. Default: all.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// The most candidates compared with each passage of the query. Default: all.
    pub fn max_candidates(mut self, candidates: usize) -> Self {
        self.candidates_max = candidates;
        self
    }

    /// Runs the query. Costs a query of the index for every quarter of a stride of the text, and
    /// a look-up per text found. A text without a shingle finds nothing. Errors: those of
    /// [`Query::run`](crate::Query::run).
    pub fn run(&self) -> Result<PassageAnswer> {
        let snapshot = &self.view.snapshot;
        let (pieces, words) = self.view.cutter.of_query(self.text)?;
        let mut complete = true;
        let mut found: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
        for together in pieces.chunks(TOGETHER) {
            let signatures: Vec<Signature> =
                together.iter().map(|piece| piece.signature.clone()).collect();
            let queries = snapshot.queries(&signatures).threshold(self.threshold);
            let answers = queries.max_candidates(self.candidates_max).run()?;
            for (piece, answer) in together.iter().zip(answers) {
                complete &= answer.complete;
                for matched in answer.matches {
                    let (key, number) = cut::split_key(&matched.key)?;
                    match found.get_mut(key) {
                        Some(text) => text.add(piece, number, &matched)?,
                        None => {
                            let mut text = Found::default();
                            text.add(piece, number, &matched)?;
                            found.insert(key.to_vec(), text);
                        }
                    }
                }
            }
        }
        let mut texts = Vec::new();
        for (key, text) in found {
            texts.extend(self.view.contained(key, text, words)?);
        }
        let count = wide(texts.len());
        // Stable: equal ones stay in the order of their keys.
        texts.sort_by(|a, b| b.share.total_cmp(&a.share));
        texts.truncate(self.limit);
        let change = snapshot.change();
        Ok(PassageAnswer { texts, found: count, words: wide(words), complete, change })
    }
}

/// What has been found of one text.
#[derive(Debug, Default)]
struct Found {
    /// By number: the words of the query in passages that match it are kept apart, in order of
    /// their begins.
    stored: BTreeMap<u32, PassageMatch>,
    words: Vec<(u32, Range<usize>)>,
}

impl Found {
    fn add(&mut self, piece: &Piece, number: u32, matched: &Match) -> Result<()> {
        self.words.push((number, piece.words.clone()));
        let better = |old: &PassageMatch| matched.similarity > old.similarity;
        if self.stored.get(&number).is_none_or(better) {
            let (stored, _) = cut::split_place(&matched.payload)?;
            let query = wide(piece.bytes.start)..wide(piece.bytes.end);
            let similarity = matched.similarity;
            self.stored.insert(number, PassageMatch { query, stored, similarity });
        }
        Ok(())
    }
}

impl PassageView {
    /// What is answered of a text; nothing if it is not whole there, as a salvage may leave it.
    fn contained(&self, key: Vec<u8>, found: Found, words: usize) -> Result<Option<Contained>> {
        let Some(first) = self.snapshot.get(cut::inner_key(&key, 0))? else { return Ok(None) };
        let (count, payload) = cut::split_first(&first.payload)?;
        let own = found.words.iter().filter(|(number, _)| *number < count);
        let covered = union(own.map(|(_, words)| words));
        if covered == 0 {
            return Ok(None);
        }
        let passages = found.stored.into_iter().filter(|(number, _)| *number < count);
        Ok(Some(Contained {
            key,
            payload: payload.to_vec(),
            share: ratio(covered, words),
            passages: passages.map(|(_, passage)| passage).collect(),
        }))
    }
}

/// How many words lie in any of the ranges, which come in order of their begins and are as long.
fn union<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> usize {
    let (mut covered, mut end) = (0, 0);
    for range in ranges {
        covered += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    covered
}

#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 words")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
