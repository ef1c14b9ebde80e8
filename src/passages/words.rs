//! Finds exactly which words of a query occur in a stored text. Windows locate them only roughly.
//!
//! A row of a signature is the hash of one shingle. If a row is equal in two windows, both contain
//! that shingle. The query is divided into *pieces*, short ranges of words; each row of a piece is
//! traced to the word at which its shingle ends.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::cut;
use crate::{Params, Result, Signature, Sketcher};
use nearkin_sketch::engine::{text_with_units, units_of};

/// Maximum length of a traced piece, in words. Tracing costs one signature per word.
const PIECE_WORDS_MAX: usize = 50;
/// A piece and a stored window are taken to have words in common if they have at least this many
/// equal rows more than twice the number expected by chance.
const EQUAL_ROWS_MIN: f64 = 3.0;
/// Minimum number of hits per run. Fewer hits may be accidental.
const HITS_MIN: usize = 3;

/// A row of a stored passage that equals a row of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    /// Index of the query word at which the row's shingle ends.
    pub(super) word: usize,
    /// Number of the stored passage.
    pub(super) number: u32,
    row: usize,
}

/// A run of query words that occur in a stored text, with small gaps.
#[derive(Debug)]
pub(super) struct WordRun {
    /// Ranges of matching words, ascending.
    pub(super) words: Vec<Range<usize>>,
    pub(super) hits: Vec<Hit>,
}

impl WordRun {
    /// The range from the first matching word to the last.
    pub(super) fn extent(&self) -> Range<usize> {
        let begin = self.words.first().map_or(0, |words| words.start);
        begin..self.words.last().map_or(begin, |words| words.end)
    }
}

/// Finds shingles of one query in stored passages. A piece is traced when it is first needed.
pub(super) struct Tracer<'a> {
    text: &'a str,
    /// The byte range of each word.
    places: &'a [(usize, usize)],
    /// An id for each word. Words that differ only in case have the same id.
    same: Vec<u32>,
    sketcher: &'a Sketcher,
    rules: QuotationRules,
    traced: BTreeMap<usize, Option<Traced>>,
}

/// Constants that follow from the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuotationRules {
    /// Number of words in a shingle.
    units: usize,
    /// Length of a piece in words. Consecutive pieces overlap by half.
    piece: usize,
    /// Whether repeated shingles are distinct (`bag`).
    bag: bool,
    lane_bytes: usize,
    equal_rows_min: usize,
    /// Lower bound of the expected number of hits per matching word.
    hits_per_word: f64,
    /// Maximum distance in words between two hits of one run.
    gap: usize,
    /// Maximum number of consecutive shingles without a hit that still count as matching, since not
    /// every shingle determines a row.
    fill: usize,
}

/// The traced rows of a piece.
#[derive(Debug)]
struct Traced {
    signature: Signature,
    /// For each row, the words at which its shingle ends: several if the shingle is repeated.
    ends: Vec<Vec<usize>>,
}

impl QuotationRules {
    pub(super) fn for_params(params: &Params, window: usize) -> Self {
        let (units, rows) = (units_of(params.shingles()), params.hashes() as f64);
        let accidents = rows / 2f64.powf(f64::from(params.lane_bits()));
        let hits_per_word = rows / window as f64;
        // A stretch of matching words of this length has no hit with a probability of only 1/50
        // (`gap`) or 1/20 (`fill`).
        let (gap, fill) = (whole(4.0 / hits_per_word), whole(3.0 / hits_per_word));
        let has_stop_words = params.stop_words().next().is_some();
        Self {
            units,
            bag: params.bag(),
            piece: window.min(PIECE_WORDS_MAX).max(units),
            lane_bytes: (params.lane_bits() as usize).div_ceil(8),
            equal_rows_min: whole(EQUAL_ROWS_MIN + 2.0 * accidents),
            hits_per_word,
            gap: units + 2 + gap,
            // No shingle ends at a stop word, so hits in matching text lie further apart.
            fill: if has_stop_words { fill.max(2 * units) } else { fill },
        }
    }

    /// Maximum distance in words between two hits of one run.
    pub(super) fn gap(self) -> usize {
        self.gap
    }

    fn step(self) -> usize {
        (self.piece / 2).max(1)
    }

    /// Groups hits into runs and drops accidental ones. Runs are in the order of their words.
    pub(super) fn runs(self, mut hits: Vec<Hit>) -> Vec<WordRun> {
        hits.sort_unstable();
        hits.dedup();
        let mut runs = Vec::new();
        let apart = |a: &Hit, b: &Hit| b.word - a.word <= self.gap;
        for hits in hits.chunk_by(apart) {
            let hits = self.without_loose_ends(hits);
            let (Some(first), Some(last)) = (hits.first(), hits.last()) else { continue };
            let span = (last.word - first.word + 1) as f64;
            if hits.len() >= HITS_MIN && hits.len() as f64 >= 0.4 * self.hits_per_word * span {
                runs.push(WordRun { words: self.words(hits), hits: hits.to_vec() });
            }
        }
        runs
    }

    /// Strips hits at both ends that have too few neighbours: they are probably accidental.
    fn without_loose_ends(self, mut hits: &[Hit]) -> &[Hit] {
        let beside = self.units + 1 + self.fill;
        let enough = (0.5 * self.hits_per_word * beside as f64).max(2.0);
        while let [first, rest @ ..] = hits {
            let others = hits.iter().take_while(|hit| hit.word < first.word + beside);
            if others.count() as f64 >= enough {
                break;
            }
            hits = rest;
        }
        while let [rest @ .., last] = hits {
            let others = hits.iter().rev().take_while(|hit| hit.word + beside > last.word);
            if others.count() as f64 >= enough {
                break;
            }
            hits = rest;
        }
        hits
    }

    /// The words covered by the shingles of the hits.
    fn words(self, hits: &[Hit]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for hit in hits {
            let begin = (hit.word + 1).saturating_sub(self.units);
            match ranges.last_mut() {
                // Either the next shingle extends back over the gap, or the gap is short enough to
                // be filled.
                Some(last) if hit.word <= last.end + self.fill.max(self.units - 1) => {
                    last.end = hit.word + 1;
                }
                _ => ranges.push(begin..hit.word + 1),
            }
        }
        ranges
    }
}

impl<'a> Tracer<'a> {
    pub(super) fn new(
        text: &'a str,
        places: &'a [(usize, usize)],
        sketcher: &'a Sketcher,
        rules: QuotationRules,
    ) -> Self {
        let mut numbers = HashMap::new();
        let same = places.iter().map(|(begin, end)| {
            let word = text.get(*begin..*end).unwrap_or_default().to_lowercase();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(word).or_insert(next)
        });
        let same = same.collect();
        Self { text, places, same, sketcher, rules, traced: BTreeMap::new() }
    }

    /// Indexes of the pieces that contain any of these words.
    pub(super) fn pieces(&self, words: &Range<usize>) -> Range<usize> {
        let (step, piece) = (self.rules.step(), self.rules.piece);
        // Number of pieces. The last piece ends with the text.
        let all = self.places.len().saturating_sub(piece).div_ceil(step) + 1;
        let first = (words.start + 1).saturating_sub(piece).div_ceil(step).min(all - 1);
        first..words.end.div_ceil(step).clamp(first + 1, all.max(first + 1))
    }

    /// Compares a piece with a stored passage. Adds to `out` one hit for each equal row and each
    /// word at which the row's shingle ends; adds nothing if too few rows are equal.
    pub(super) fn hits(
        &mut self,
        piece: usize,
        (number, stored): (u32, &Signature),
        out: &mut Vec<Hit>,
    ) -> Result<()> {
        if !self.traced.contains_key(&piece) {
            let traced = self.trace(piece)?;
            self.traced.insert(piece, traced);
        }
        let Some(Some(Traced { signature, ends })) = self.traced.get(&piece) else {
            return Ok(());
        };
        let before = out.len();
        let own = signature.as_bytes().chunks_exact(self.rules.lane_bytes);
        let other = stored.as_bytes().chunks_exact(self.rules.lane_bytes);
        let mut equal_rows = 0;
        for ((row, words), (a, b)) in ends.iter().enumerate().zip(own.zip(other)) {
            if a == b {
                equal_rows += 1;
                out.extend(words.iter().map(|word| Hit { word: *word, number, row }));
            }
        }
        if equal_rows < self.rules.equal_rows_min {
            out.truncate(before);
        }
        Ok(())
    }

    /// Finds for each row of a piece the word at which the row's shingle ends. The piece is
    /// shortened word by word: the row stays the same as long as the piece contains the shingle.
    fn trace(&self, piece: usize) -> Result<Option<Traced>> {
        let begin = piece * self.rules.step();
        let end = (begin + self.rules.piece).min(self.places.len());
        let Some(whole) = self.sketch(begin..end)? else { return Ok(None) };
        let mut ends = vec![begin; whole.as_bytes().len() / self.rules.lane_bytes];
        let mut open: Vec<usize> = (0..ends.len()).collect();
        for last in (begin..end).rev() {
            // Fewer words than a shingle has would be sketched as a different shingle.
            let shorter = match last - begin {
                words if words >= self.rules.units => self.sketch(begin..last)?,
                _ => None,
            };
            open.retain(|row| {
                let lane = *row * self.rules.lane_bytes..(*row + 1) * self.rules.lane_bytes;
                let is_there = shorter.as_ref().is_some_and(|shorter| {
                    shorter.as_bytes().get(lane.clone()) == whole.as_bytes().get(lane)
                });
                if !is_there && let Some(end) = ends.get_mut(*row) {
                    *end = last;
                }
                is_there
            });
            if open.is_empty() {
                break;
            }
        }
        let ends = ends.into_iter().map(|word| self.repeats(word, begin..end)).collect();
        Ok(Some(Traced { signature: whole, ends }))
    }

    /// The words of a piece at which the same shingle ends as at `word`, including `word` itself.
    fn repeats(&self, word: usize, piece: Range<usize>) -> Vec<usize> {
        let shingle = |word: usize| {
            let begin = (word + 1).checked_sub(self.rules.units)?;
            self.same.get(begin.max(piece.start)..=word)
        };
        let own = shingle(word);
        if self.rules.bag || own.is_none() {
            return vec![word];
        }
        piece.clone().filter(|other| *other == word || shingle(*other) == own).collect()
    }

    /// The signature of these words, or `None` if they have no shingle.
    fn sketch(&self, words: Range<usize>) -> Result<Option<Signature>> {
        let first = self.places.get(words.start).map_or(0, |place| place.0);
        let last = words.end.checked_sub(1).and_then(|last| self.places.get(last));
        let text = last.and_then(|last| self.text.get(first..last.1)).unwrap_or_default();
        match text_with_units(self.sketcher, text)? {
            // The only word may be a whole text without words.
            None if self.places.len() == 1 && words == (0..1) => cut::whole(self.sketcher, text),
            signature => Ok(signature),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few words or rows")]
fn whole(number: f64) -> usize {
    number.floor().clamp(0.0, 1e9) as usize
}
