//! Asking an index of passages: which texts hold what this one says, where, and how much of it.
//!
//! Knows how matches of passages add up. Does not write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use super::cut::{self, Passages};
use super::words::{Hit, Rules, Run, Tracer};
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

/// A passage of the query that stands in a stored text: a run of words, with small gaps between
/// them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassageMatch {
    /// Where it lies in the query, in bytes: from its first word to its last.
    pub query: Range<u64>,
    /// Where it lies in the stored text, in bytes as it was inserted. As far as windows tell: the
    /// range may begin and end up to a window farther out.
    pub stored: Range<u64>,
    /// How many words of the query in it match.
    pub words: u64,
    /// The greatest Jaccard similarity of two windows in it, an estimate.
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
    /// How much of the query is there: its words that match, of all its words.
    pub share: f64,
    /// The passages that match, in the order of the stored text.
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

    /// Runs the query. Costs a query of the index for every quarter of a stride of the text; where
    /// something is found, two signatures a word, and a look-up for each passage found. A text
    /// without a shingle finds nothing. Errors: those of [`Query::run`](crate::Query::run).
    pub fn run(&self) -> Result<PassageAnswer> {
        let snapshot = &self.view.snapshot;
        let cutter = &self.view.cutter;
        let places = cut::words_of(self.text);
        let pieces = cutter.of_query(self.text, &places)?;
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
                    let one = Hold { number, words: piece.words.clone(), matched: &matched };
                    match found.get_mut(key) {
                        Some(text) => text.add(&one)?,
                        None => found.entry(key.to_vec()).or_default().add(&one)?,
                    }
                }
            }
        }
        let words = places.len();
        let rules = Rules::of(snapshot.params(), cutter.windows().window());
        let mut tracer = Tracer::new(self.text, &places, cutter.sketcher(), rules);
        let mut texts = Vec::new();
        for (key, text) in found {
            let asked = Asked { view: self.view, places: &places, rules };
            texts.extend(asked.contained(key, &text, &mut tracer)?);
        }
        let count = wide(texts.len());
        // Stable: equal ones stay in the order of their keys.
        texts.sort_by(|a, b| b.share.total_cmp(&a.share));
        texts.truncate(self.limit);
        let change = snapshot.change();
        Ok(PassageAnswer { texts, found: count, words: wide(words), complete, change })
    }
}

/// A stored passage that a passage of the query is like.
struct Hold<'a> {
    number: u32,
    words: Range<usize>,
    matched: &'a Match,
}

/// What has been found of one text.
#[derive(Debug, Default)]
struct Found {
    /// Where stored passages lie.
    places: BTreeMap<u32, Range<u64>>,
    /// By stored passage: the words of the query in a passage that is like it, and how much.
    alike: Vec<(u32, Range<usize>, f64)>,
}

impl Found {
    fn add(&mut self, hold: &Hold<'_>) -> Result<()> {
        let Hold { number, words, matched } = hold;
        self.alike.push((*number, words.clone(), matched.similarity));
        if !self.places.contains_key(number) {
            self.places.insert(*number, cut::split_place(&matched.payload)?.0);
        }
        Ok(())
    }
}

/// What answers for one query.
#[derive(Clone, Copy)]
struct Asked<'a> {
    view: &'a PassageView,
    places: &'a [(usize, usize)],
    rules: Rules,
}

impl Asked<'_> {
    /// What is answered of a text; nothing if it is not whole there, as a salvage may leave it, or
    /// none of its words is that of the query.
    fn contained(
        &self,
        key: Vec<u8>,
        found: &Found,
        tracer: &mut Tracer<'_>,
    ) -> Result<Option<Contained>> {
        let Some(first) = self.view.snapshot.get(cut::inner_key(&key, 0))? else {
            return Ok(None);
        };
        let (count, payload) = cut::split_first(&first.payload)?;
        let numbers: Vec<u32> = found.places.keys().copied().take_while(|n| *n < count).collect();
        let mut passages = Vec::new();
        let mut words = Vec::new();
        for side_by_side in numbers.chunk_by(|a, b| b - a <= 2) {
            let (Some(from), Some(to)) = (side_by_side.first(), side_by_side.last()) else {
                continue;
            };
            // The ends of what is quoted may lie in passages that have too little of it.
            let numbers = from.saturating_sub(1)..to.saturating_add(2).min(count);
            let group = self.group(&key, found, &numbers, tracer)?;
            for run in &group.runs {
                passages.extend(self.passage(run, &group, found));
                words.extend_from_slice(&run.words);
            }
        }
        if words.is_empty() {
            return Ok(None);
        }
        words.sort_unstable_by_key(|words| (words.start, words.end));
        passages.sort_by_key(|passage| (passage.stored.start, passage.query.start));
        let share = ratio(union(&words), self.places.len());
        Ok(Some(Contained { key, payload: payload.to_vec(), share, passages }))
    }

    /// What the query has in common with stored passages that lie side by side.
    fn group(
        &self,
        key: &[u8],
        found: &Found,
        numbers: &Range<u32>,
        tracer: &mut Tracer<'_>,
    ) -> Result<Group> {
        let around = self.view.cutter.windows().stride();
        let mut compared = BTreeSet::new();
        for (number, words, _) in &found.alike {
            if numbers.contains(number) {
                let words = words.start.saturating_sub(around)
                    ..words.end.saturating_add(around).min(self.places.len());
                for piece in tracer.pieces(&words) {
                    let beside = number.saturating_sub(1)..number.saturating_add(2);
                    compared.extend(beside.map(|number| (number, piece)));
                }
            }
        }
        let (mut hits, mut places) = (Vec::new(), BTreeMap::new());
        for number in numbers.clone() {
            let pieces = compared.range((number, 0)..=(number, usize::MAX));
            // Left out for want of a shingle.
            let Some(stored) = self.view.snapshot.get(cut::inner_key(key, number))? else {
                continue;
            };
            places.insert(number, cut::split_place(&stored.payload)?.0);
            for (_, piece) in pieces {
                tracer.hits(*piece, (number, &stored.signature), &mut hits)?;
            }
        }
        Ok(Group { runs: self.rules.runs(hits), places })
    }

    /// What is answered of a run.
    fn passage(&self, run: &Run, group: &Group, found: &Found) -> Option<PassageMatch> {
        let extent = run.extent();
        let begin = self.places.get(extent.start)?.0;
        let end = self.places.get(extent.end.checked_sub(1)?)?.1;
        let is_of = |(number, words, _): &&(u32, Range<usize>, f64)| {
            let overlaps = words.start < extent.end && extent.start < words.end;
            group.places.contains_key(number) && overlaps
        };
        let similarities = found.alike.iter().filter(is_of).map(|(_, _, similarity)| *similarity);
        Some(PassageMatch {
            query: wide(begin)..wide(end),
            stored: group.stored(run, self.rules)?,
            words: wide(union(&run.words)),
            similarity: similarities.fold(0.0, f64::max),
        })
    }
}

/// Stored passages side by side, and the runs of the query's words that they have.
struct Group {
    runs: Vec<Run>,
    places: BTreeMap<u32, Range<u64>>,
}

impl Group {
    /// Where a run lies in the stored text: not before any passage that has its first shingle, nor
    /// behind any that has its last one.
    fn stored(&self, run: &Run, rules: Rules) -> Option<Range<u64>> {
        let (first, last) = (run.hits.first()?.word, run.hits.last()?.word);
        let first_ones = run.hits.iter().filter(|hit| hit.word <= first + rules.gap());
        let last_ones = run.hits.iter().filter(|hit| hit.word + rules.gap() >= last);
        let begin = self.with(first, first_ones).map(|place| place.start).max();
        let end = self.with(last, last_ones).map(|place| place.end).min();
        if let (Some(begin), Some(end)) = (begin, end)
            && begin < end
        {
            return Some(begin..end);
        }
        // Moved about in it, or an accident at its edge: all that have a part of the run.
        let has_part = |hit: &Hit| self.places.get(&hit.number);
        let parts = || run.hits.iter().filter_map(has_part);
        Some(parts().map(|place| place.start).min()?..parts().map(|place| place.end).max()?)
    }

    /// The places of passages with the shingle that ends at a word, and so many others of these
    /// hits that it is no accident.
    fn with<'a>(
        &'a self,
        word: usize,
        hits: impl Iterator<Item = &'a Hit>,
    ) -> impl Iterator<Item = &'a Range<u64>> {
        let mut counts: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for hit in hits {
            let (count, has_it) = counts.entry(hit.number).or_default();
            *count += 1;
            *has_it |= hit.word == word;
        }
        let most = counts.values().map(|(count, _)| *count).max().unwrap_or(0);
        let enough =
            move |(_, (count, has_it)): &(u32, (usize, bool))| *has_it && *count * 4 >= most;
        let numbers = counts.into_iter().filter(enough);
        numbers.filter_map(|(number, _)| self.places.get(&number))
    }
}

/// How many words lie in any of the ranges, which come in order of their begins.
fn union(ranges: &[Range<usize>]) -> usize {
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
