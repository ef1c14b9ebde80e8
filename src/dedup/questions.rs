//! Rows that contain a question: decontamination of training data, exact by words.
//!
//! Pure: an index in memory of the questions' runs of three words, over which each row is rolled
//! once. What it finds is compared word by word.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;

use super::question_grams::QuestionGrams;
use super::question_rule::{ContainsQuestion, GRAM, gram_of};
use crate::keyed::RandomState;
use crate::{Error, Result, Sketcher};
use nearkin_sketch::engine::{Word, words_in};

/// How many times longer than a question the stretch of the row may be that contains it.
const STRETCH: usize = 2;
/// Number of runs that are found in a row before they are compared. Bounds the memory.
const SEEDS_MAX: usize = 1 << 16;

/// Collects questions for [`Questions`].
#[derive(Clone)]
pub struct QuestionsBuilder {
    sketcher: Sketcher,
    rule: ContainsQuestion,
    /// The hashes of the words of all questions, one question after the other.
    words: Vec<u64>,
    /// Where the words of each question end.
    ends: Vec<u32>,
}

impl fmt::Debug for QuestionsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestionsBuilder").field("added", &self.ends.len()).finish_non_exhaustive()
    }
}

impl QuestionsBuilder {
    /// A builder for questions whose words are normalised by this sketcher. Words are those of
    /// [`Shingles::Words`](crate::Shingles::Words), each character in scripts without spaces; with
    /// shingles of tokens, they are tokens.
    ///
    /// # Errors
    ///
    /// `Invalid` for a rule out of range.
    pub fn new(sketcher: &Sketcher, rule: ContainsQuestion) -> Result<Self> {
        let (sketcher, rule) = (sketcher.clone(), rule.check()?);
        Ok(Self { sketcher, rule, words: Vec::new(), ends: Vec::new() })
    }

    /// Adds a question; questions are numbered from 0. Returns the number of its words. One of
    /// fewer than 3 words is never found.
    ///
    /// # Errors
    ///
    /// `Invalid` if all questions together have 2^32 words.
    pub fn add(&mut self, question: &str) -> Result<usize> {
        let words = words_in(&self.sketcher, question);
        self.words.extend(words.iter().map(|word| word.hash));
        let end = u32::try_from(self.words.len());
        self.ends.push(end.map_err(|_| Error::invalid("the questions have 2^32 words"))?);
        Ok(words.len())
    }

    /// Indexes the questions. Takes some 60 bytes of memory for each of their words while it works.
    pub fn build(self) -> Questions {
        let Self { sketcher, rule, words: mut sums, ends } = self;
        let grams = QuestionGrams::new(&sums, &ends, rule);
        let (mut places, mut begin) = (vec![0; sums.len()], 0);
        for end in &ends {
            let words = sums.get_mut(begin..*end as usize).unwrap_or_default();
            let runs = words.windows(GRAM).map(|run| gram_of(run.iter().copied()));
            let mut runs: Vec<(u64, u32)> = runs.zip(0..).collect();
            runs.sort_unstable();
            let sorted = words.iter_mut().zip(places.iter_mut().skip(begin));
            sorted.zip(runs).for_each(|((sum, place), run)| (*sum, *place) = run);
            begin = *end as usize;
        }
        Questions { sketcher, rule, sums, places, ends, grams }
    }
}

/// Finds the questions that a text contains: test questions in training data.
///
/// Exact by words: every text that meets the [`ContainsQuestion`] is found, and nothing else
/// (words are compared by hashes of 64 bits). Upper case, punctuation and white space do not count.
/// A question of fewer than eight words has to be in the text as a whole. Memory: at most 32 bytes
/// for each word of the questions.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{ContainsQuestion, Params, QuestionsBuilder, Sketcher};
///
/// let sketcher = Sketcher::new(&Params::builder().build()?);
/// let mut questions = QuestionsBuilder::new(&sketcher, ContainsQuestion::default())?;
/// questions.add("In which year was the bridge over the river at the old mill finished?")?;
/// let questions = questions.build();
///
/// let row = "Quiz: in WHICH year was the bridge over the river at the new mill finished? 1904.";
/// let found = questions.find(row).unwrap();
/// assert_eq!((found.question, found.words, found.shared, found.longest), (0, 14, 11, 11));
/// assert!(row[found.bytes].starts_with("in WHICH year"));
/// assert!(questions.find("The bridge over the river was finished in 1904.").is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Questions {
    sketcher: Sketcher,
    rule: ContainsQuestion,
    /// The runs of three words of each question, sorted, and where each begins in its question. A
    /// question has as many elements as words, so the last two are no runs.
    sums: Vec<u64>,
    places: Vec<u32>,
    /// Where the words of each question end.
    ends: Vec<u32>,
    grams: QuestionGrams,
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Questions").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A question that a text contains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionFound {
    /// The number of the question. If the text contains several, the one with most words shared; of
    /// several such questions the shortest, then the first.
    pub question: usize,
    /// Number of words of the question.
    pub words: usize,
    /// Number of its words that a stretch of the text has, in runs of three words and more.
    pub shared: usize,
    /// Number of words of the longest run that question and text have in common.
    pub longest: usize,
    /// The stretch: the index of its first word in the text, and its bytes.
    pub word: usize,
    /// The bytes of the stretch.
    pub bytes: Range<usize>,
    /// Number of questions that the text contains.
    pub questions: usize,
}

/// The runs of a question, sorted.
struct QuestionRuns<'a> {
    sums: &'a [u64],
    places: &'a [u32],
    /// Number of words of the question.
    words: usize,
}

impl<'a> QuestionRuns<'a> {
    /// Where the question has this run, ascending.
    fn places_of(&self, sum: u64) -> &'a [u32] {
        let begin = self.sums.partition_point(|other| *other < sum);
        let count = self.sums.iter().skip(begin).take_while(|other| **other == sum).count();
        self.places.get(begin..begin + count).unwrap_or_default()
    }
}

/// What a text has of one question.
#[derive(Debug, Clone, Copy, Default)]
struct WordsShared {
    words: usize,
    longest: usize,
    /// The first word of the stretch, and the one behind it.
    stretch: (usize, usize),
}

impl Questions {
    /// Number of questions.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Memory of the words and their index, in bytes.
    pub fn bytes(&self) -> usize {
        let runs = size_of_val(&*self.sums) + size_of_val(&*self.places);
        runs + size_of_val(&*self.ends) + self.grams.bytes()
    }

    /// The questions that a text contains. Costs a look-up for each word of the text, and a
    /// comparison for each question of which the text has one of the rarest runs of three words.
    pub fn find(&self, text: &str) -> Option<QuestionFound> {
        let words = words_in(&self.sketcher, text);
        let sums: Vec<u64> =
            words.windows(GRAM).map(|run| gram_of(run.iter().map(|w| w.hash))).collect();
        let (mut seeds, mut found) = (Vec::new(), FoundInText::default());
        for (at, sum) in sums.iter().enumerate() {
            seeds.extend(self.grams.questions(*sum).iter().map(|question| (*question, at)));
            if seeds.len() >= SEEDS_MAX {
                self.compare_all(&mut seeds, &sums, &mut found);
            }
        }
        self.compare_all(&mut seeds, &sums, &mut found);
        found.into_answer(&words)
    }

    /// Compares each question with the text around its runs.
    fn compare_all(&self, seeds: &mut Vec<(u32, usize)>, sums: &[u64], found: &mut FoundInText) {
        seeds.sort_unstable();
        for seeds in seeds.chunk_by(|a, b| a.0 == b.0) {
            let Some((question, _)) = seeds.first() else { continue };
            let runs = self.runs_of(*question);
            let shared = compare(&runs, seeds, sums);
            if self.rule.is_met(shared.words, shared.longest, runs.words) {
                found.add(*question, runs.words, shared);
            }
        }
        seeds.clear();
    }

    fn runs_of(&self, question: u32) -> QuestionRuns<'_> {
        let end_of = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let at = question as usize;
        let begin = at.checked_sub(1).map_or(0, end_of);
        let words = end_of(at) - begin;
        let runs = begin..begin + (words + 1).saturating_sub(GRAM);
        let sums = self.sums.get(runs.clone()).unwrap_or_default();
        QuestionRuns { sums, places: self.places.get(runs).unwrap_or_default(), words }
    }
}

/// The questions found so far in a text.
#[derive(Default)]
struct FoundInText {
    best: Option<(u32, usize, WordsShared)>,
    /// All of them.
    questions: Vec<u32>,
}

impl FoundInText {
    fn add(&mut self, question: u32, words: usize, shared: WordsShared) {
        let rank = |question: u32, words: usize, shared: WordsShared| {
            (Reverse(shared.words), words, question, Reverse(shared.longest))
        };
        let is_better = |(best, length, other): (u32, usize, WordsShared)| {
            rank(question, words, shared) < rank(best, length, other)
        };
        if self.best.is_none_or(is_better) {
            self.best = Some((question, words, shared));
        }
        self.questions.push(question);
    }

    fn into_answer(mut self, words: &[Word]) -> Option<QuestionFound> {
        let (question, length, WordsShared { words: shared, longest, stretch }) = self.best?;
        self.questions.sort_unstable();
        self.questions.dedup();
        let begin = words.get(stretch.0).map_or(0, |word| word.bytes.start);
        let last = stretch.1.checked_sub(1).and_then(|last| words.get(last));
        Some(QuestionFound {
            question: question as usize,
            words: length,
            shared,
            longest,
            word: stretch.0,
            bytes: begin..last.map_or(begin, |word| word.bytes.end),
            questions: self.questions.len(),
        })
    }
}

/// What a text has of a question around these places. `seeds`: places of the text with a run of the
/// question, ascending. `sums`: of all runs of the text. The cost does not grow with the length of
/// the question, except by a binary search for each run of the text.
fn compare(question: &QuestionRuns<'_>, seeds: &[(u32, usize)], sums: &[u64]) -> WordsShared {
    let stretch = STRETCH * question.words;
    let mut coverage = Coverage::new(question.words <= sums.len());
    let (mut best, mut open) = (WordsShared::default(), VecDeque::new());
    let mut next = 0;
    for (_, seed) in seeds {
        let last = (seed + stretch).min(sums.len());
        for at in next.max((seed + GRAM).saturating_sub(stretch))..last {
            let Some(sum) = sums.get(at) else { break };
            let same = question.places_of(*sum);
            if same.is_empty() {
                continue;
            }
            best.longest = best.longest.max(coverage.extend_runs(at, same));
            coverage.enter(same);
            open.push_back((at, same));
            while let Some((first, left)) = open.front().copied()
                && (first + stretch < at + GRAM || coverage.is_again(left))
            {
                coverage.leave(left);
                open.pop_front();
            }
            if coverage.words > best.words
                && let Some((first, _)) = open.front()
            {
                best.words = coverage.words;
                best.stretch = (*first, at + GRAM);
            }
        }
        next = next.max(last);
    }
    best
}

/// What the runs of a stretch have at a place of the question.
#[derive(Clone, Copy, Default)]
struct PlaceShared {
    /// How often the run that begins here is in the stretch; of equal runs, the first one counts.
    count: u32,
    /// By how many runs of the question the word is covered.
    covered: u32,
    /// The number of words that match up to the run that begins here, and the place of the text
    /// behind the beginning of that run.
    matched: usize,
    behind: usize,
}

/// Which words of a question are covered by the runs of a stretch.
struct Coverage {
    /// The places that were met: at their own number, or in the order of `numbers`.
    places: Vec<PlaceShared>,
    /// For a question that is longer than the text.
    numbers: Option<HashMap<usize, usize, RandomState>>,
    /// Number of words that are covered.
    words: usize,
}

impl Coverage {
    fn new(is_dense: bool) -> Self {
        let numbers = (!is_dense).then(HashMap::default);
        Self { places: Vec::new(), numbers, words: 0 }
    }

    fn at(&mut self, place: usize) -> &mut PlaceShared {
        let number = match &mut self.numbers {
            None => place,
            Some(numbers) => {
                let next = numbers.len();
                *numbers.entry(place).or_insert(next)
            }
        };
        if self.places.len() <= number {
            self.places.resize(number + 1, PlaceShared::default());
        }
        &mut self.places[number]
    }

    fn group(&mut self, same: &[u32]) -> &mut PlaceShared {
        self.at(same.first().map_or(0, |first| *first as usize))
    }

    fn enter(&mut self, same: &[u32]) {
        let group = self.group(same);
        group.count += 1;
        if group.count > 1 {
            return;
        }
        for begin in same.iter().map(|begin| *begin as usize) {
            for word in begin..begin + GRAM {
                let covered = &mut self.at(word).covered;
                *covered += 1;
                self.words += usize::from(*covered == 1);
            }
        }
    }

    /// Whether a later run of the stretch is equal, so that the first one is not needed.
    fn is_again(&mut self, same: &[u32]) -> bool {
        self.group(same).count > 1
    }

    fn leave(&mut self, same: &[u32]) {
        let group = self.group(same);
        group.count -= 1;
        if group.count > 0 {
            return;
        }
        for begin in same.iter().map(|begin| *begin as usize) {
            for word in begin..begin + GRAM {
                let covered = &mut self.at(word).covered;
                *covered -= 1;
                self.words -= usize::from(*covered == 0);
            }
        }
    }

    /// The longest run of words that ends with the run of the text at `at`.
    fn extend_runs(&mut self, at: usize, same: &[u32]) -> usize {
        let mut longest = 0;
        // From the last one down: the run before is still that of the place before.
        for place in same.iter().rev().map(|place| *place as usize) {
            let before = place.checked_sub(1).map(|before| *self.at(before)).unwrap_or_default();
            let is_next = before.matched > 0 && before.behind == at;
            let matched = if is_next { before.matched + 1 } else { GRAM };
            longest = longest.max(matched);
            let own = self.at(place);
            (own.matched, own.behind) = (matched, at + 1);
        }
        longest
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
