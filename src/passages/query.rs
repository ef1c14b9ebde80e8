//! Queries of a passage index: which texts quote a given text, where, and how much of it.
//!
//! Combines matches of passages into matches of texts. Only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use super::asked::Asked;
use super::cut::{self, PassageCutter, Prepared};
use super::view::{Contained, PassageAnswer, PassageMatch, PassageView, ratio};
use super::words::{Hit, QuotationRules, Tracer, WordRun};
use crate::format::bytes::wide;
use crate::index::setters;
use crate::{Conditions, DocumentView, Key, Match, Result, Signature, Snapshot};

/// Number of query windows per batch of queries, which bounds the memory.
const BATCH_PIECES: usize = small!(query::BATCH_PIECES, 256);

/// A builder of a passage query: which stored texts quote this text?
///
/// The threshold and the containment of its [`Conditions`] are those at which two windows match;
/// the bound on candidates is for each window of the query. Fingerprints have no threshold; the
/// containment is the share of the shorter text that is in the other, in words. `limit`, prefix,
/// times and filter are about texts: those with the largest share are returned, and a filter sees
/// the text's own key and payload. The time of a text is that of its first passage, which stays if
/// a new version of the text has the same first passage, payload and number of passages.
#[derive(Clone)]
#[must_use = "a query does nothing until it is run"]
pub struct PassageQuery<'a> {
    view: &'a PassageView,
    text: &'a str,
    conditions: Conditions<'a>,
}

setters!(PassageQuery);

impl PassageView {
    /// Wraps a snapshot of an index or of a reader.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is not a snapshot of a passage index.
    pub fn new(snapshot: &Snapshot) -> Result<Self> {
        let cutter = PassageCutter::new(snapshot.params())?;
        Ok(Self { snapshot: snapshot.clone(), cutter })
    }

    /// Starts a query for texts that quote `text`. See [`PassageQuery`].
    pub fn query<'a>(&'a self, text: &'a str) -> PassageQuery<'a> {
        PassageQuery { view: self, text, conditions: Conditions::default() }
    }

    /// The cutter of this index.
    pub fn cutter(&self) -> &PassageCutter {
        &self.cutter
    }

    /// Whether a text with this key is stored.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::contains`].
    pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        let key = key.into();
        cut::check_key(key.as_bytes())?;
        self.snapshot.contains(cut::inner_key(key.as_bytes(), 0))
    }

    /// Whether this text is stored, under its key, as it was cut: the texts are equal, but for what
    /// the index does not keep of them. Its payload does not matter.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::get`].
    pub fn holds(&self, text: &Prepared) -> Result<bool> {
        for (number, piece) in (0..).zip(&text.pieces) {
            let Some(stored) = self.snapshot.get(cut::inner_key(&text.key, number))? else {
                return Ok(false);
            };
            let first = match number {
                0 => Some(self.cutter.split_first(&stored.payload)?),
                _ => None,
            };
            if first.is_some_and(|(count, _)| wide(text.pieces.len()) != u64::from(count))
                || stored.signature != piece.signature
                || stored.payload != self.cutter.payload(piece, first)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the texts. The count is not stored: this reads all passages.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
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
        query.field("text_bytes", &self.text.len()).field("conditions", &self.conditions);
        query.field("change", &self.view.snapshot.change()).finish_non_exhaustive()
    }
}

impl PassageQuery<'_> {
    /// Runs the query. Costs one query of the index per query window, of which there is one per
    /// quarter of a stride. Parts that match also cost two signatures per word, and a look-up per
    /// matching passage. With fingerprints: two look-ups per word, and a comparison of words with
    /// each text that shares a fingerprint. A blank text matches nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Query::run`](crate::Query::run).
    pub fn run(&self) -> Result<PassageAnswer> {
        let Self { view: PassageView { snapshot, cutter }, conditions, .. } = self;
        if let Some(prints) = cutter.prints() {
            return Asked::new(self.view, prints, conditions).run(self.text);
        }
        let (places, pieces) = cutter.of_query(self.text)?;
        conditions.check(snapshot.params().threshold())?;
        let windows = conditions.of_parts();
        let mut complete = true;
        let mut found: BTreeMap<Vec<u8>, FoundPassage> = BTreeMap::new();
        for together in pieces.chunks(BATCH_PIECES) {
            let signatures: Vec<Signature> =
                together.iter().map(|piece| piece.signature.clone()).collect();
            let answers = snapshot.queries(&signatures).conditions(windows.clone()).run()?;
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
        let rules = QuotationRules::for_params(snapshot.params(), cutter.windows().window());
        let mut tracer = Tracer::new(self.text, &places, cutter.sketcher(), rules);
        let mut texts = Vec::new();
        let query = QuotationQuery { view: self.view, places: &places, rules, conditions };
        for (key, text) in found {
            if conditions.stop.is_due() {
                complete = false;
                break;
            }
            texts.extend(query.contained(key, &text, &mut tracer)?);
        }
        let count = wide(texts.len());
        // The sort is stable: texts with equal shares stay sorted by key.
        texts.sort_by(|a, b| b.share.total_cmp(&a.share));
        texts.truncate(conditions.limit);
        let change = snapshot.change();
        Ok(PassageAnswer { texts, found: count, words: wide(words), complete, change })
    }
}

/// A match between a query window and a stored passage.
struct Hold<'a> {
    number: u32,
    words: Range<usize>,
    matched: &'a Match,
}

/// The matches in one stored text.
#[derive(Debug, Default)]
struct FoundPassage {
    /// Byte range of each stored passage.
    places: BTreeMap<u32, Range<u64>>,
    /// For each match: the number of the stored passage, the words of the query window, and the
    /// similarity.
    alike: Vec<(u32, Range<usize>, f64)>,
}

impl FoundPassage {
    fn add(&mut self, hold: &Hold<'_>) -> Result<()> {
        let Hold { number, words, matched } = hold;
        self.alike.push((*number, words.clone(), matched.similarity));
        if !self.places.contains_key(number) {
            self.places.insert(*number, cut::split_place(&matched.payload)?.0);
        }
        Ok(())
    }
}

/// The context of one query.
#[derive(Clone, Copy)]
struct QuotationQuery<'a> {
    view: &'a PassageView,
    places: &'a [(usize, usize)],
    rules: QuotationRules,
    conditions: &'a Conditions<'a>,
}

impl QuotationQuery<'_> {
    /// The answer for one text. `None` if no word matches, if the text does not pass the
    /// conditions, or if it is incomplete (as it may be after a salvage).
    fn contained(
        &self,
        key: Vec<u8>,
        found: &FoundPassage,
        tracer: &mut Tracer<'_>,
    ) -> Result<Option<Contained>> {
        let Some(first) = self.view.snapshot.get(cut::inner_key(&key, 0))? else {
            return Ok(None);
        };
        let (count, payload) = self.view.cutter.split_first(&first.payload)?;
        let seen = DocumentView { key: &key, payload, time: first.time };
        if !self.conditions.pass(seen)? {
            return Ok(None);
        }
        let numbers: Vec<u32> = found.places.keys().copied().take_while(|n| *n < count).collect();
        let mut passages = Vec::new();
        let mut words = Vec::new();
        for side_by_side in numbers.chunk_by(|a, b| b - a <= 2) {
            let (Some(from), Some(to)) = (side_by_side.first(), side_by_side.last()) else {
                continue;
            };
            // The ends of a quotation may lie in neighbouring passages, which contain too little of
            // it to match.
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
        let payload = payload.to_vec();
        Ok(Some(Contained { key, payload, share, stored_share: None, passages }))
    }

    /// The words of the query that occur in consecutive stored passages.
    fn group(
        &self,
        key: &[u8],
        found: &FoundPassage,
        numbers: &Range<u32>,
        tracer: &mut Tracer<'_>,
    ) -> Result<PassageGroup> {
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
            // A window without a shingle (stop words only) is not stored.
            let Some(stored) = self.view.snapshot.get(cut::inner_key(key, number))? else {
                continue;
            };
            places.insert(number, cut::split_place(&stored.payload)?.0);
            for (_, piece) in pieces {
                tracer.hits(*piece, (number, &stored.signature), &mut hits)?;
            }
        }
        Ok(PassageGroup { runs: self.rules.runs(hits), places })
    }

    /// Makes the match of one run of words.
    fn passage(
        &self,
        run: &WordRun,
        group: &PassageGroup,
        found: &FoundPassage,
    ) -> Option<PassageMatch> {
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
            in_words: None,
            words: wide(union(&run.words)),
            longest: None,
            similarity: similarities.fold(0.0, f64::max),
        })
    }
}

/// Consecutive stored passages, and the runs of query words that they contain.
struct PassageGroup {
    runs: Vec<WordRun>,
    places: BTreeMap<u32, Range<u64>>,
}

impl PassageGroup {
    /// Byte range of a run in the stored text, bounded by the passages that contain its first and
    /// its last shingle.
    fn stored(&self, run: &WordRun, rules: QuotationRules) -> Option<Range<u64>> {
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
        // The words are in a different order, or a hit at the edge is accidental. Take all passages
        // that contain a part of the run.
        let has_part = |hit: &Hit| self.places.get(&hit.number);
        let parts = || run.hits.iter().filter_map(has_part);
        Some(parts().map(|place| place.start).min()?..parts().map(|place| place.end).max()?)
    }

    /// Byte ranges of the passages that contain the shingle ending at `word`. They must also
    /// contain enough of the other hits, so that the hit at `word` is not an accident.
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

/// Number of words in the union of the ranges, which are sorted by their starts.
fn union(ranges: &[Range<usize>]) -> usize {
    let (mut covered, mut end) = (0, 0);
    for range in ranges {
        covered += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    covered
}
