//! Rows that contain a question: decontamination of training data, exact by words.
//!
//! Pure: an index in memory of the questions' runs of three words, over which each row is rolled
//! once. What it finds is compared word by word.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use super::question_grams::QuestionGrams;
use super::question_rule::{ContainsQuestion, GRAM, gram_of};
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
        let Self { sketcher, rule, words, ends } = self;
        let grams = QuestionGrams::new(&words, &ends, rule);
        Questions { sketcher, rule, words, ends, grams }
    }
}

/// Finds the questions that a text contains: test questions in training data.
///
/// Exact by words: every text that meets the [`ContainsQuestion`] is found, and nothing else
/// (words are compared by hashes of 64 bits). Upper case, punctuation and white space do not count.
/// A question of fewer than eight words has to be in the text as a whole. Memory: at most 28 bytes
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
    words: Vec<u64>,
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
        size_of_val(&*self.words) + size_of_val(&*self.ends) + self.grams.bytes()
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
            let words = self.words_of(*question);
            let shared = compare(words, seeds, sums);
            if self.rule.is_met(shared.words, shared.longest, words.len()) {
                found.add(*question, words.len(), shared);
            }
        }
        seeds.clear();
    }

    fn words_of(&self, question: u32) -> &[u64] {
        let end_of = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let at = question as usize;
        let begin = at.checked_sub(1).map_or(0, end_of);
        self.words.get(begin..end_of(at)).unwrap_or_default()
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
/// question, ascending. `sums`: of all runs of the text.
fn compare(words: &[u64], seeds: &[(u32, usize)], sums: &[u64]) -> WordsShared {
    let stretch = STRETCH * words.len();
    let grams = words.windows(GRAM).map(|run| gram_of(run.iter().copied()));
    let mut grams: Vec<(u64, usize)> = grams.zip(0..).collect();
    grams.sort_unstable();
    let mut coverage = Coverage::new(words.len());
    let (mut best, mut open) = (WordsShared::default(), VecDeque::new());
    let mut next = 0;
    for (_, seed) in seeds {
        let last = (seed + stretch).min(sums.len());
        for at in next.max((seed + GRAM).saturating_sub(stretch))..last {
            let Some(sum) = sums.get(at) else { break };
            let begin = grams.partition_point(|(gram, _)| gram < sum);
            let behind = grams.get(begin..).unwrap_or_default();
            let count = behind.iter().take_while(|(gram, _)| gram == sum).count();
            let Some(same) = behind.get(..count).filter(|same| !same.is_empty()) else { continue };
            best.longest = best.longest.max(coverage.extend_runs(at, same));
            coverage.enter(begin, same);
            open.push_back((at, begin, same));
            while let Some((first, group, left)) = open.front().copied()
                && (first + stretch < at + GRAM || coverage.is_again(group))
            {
                coverage.leave(group, left);
                open.pop_front();
            }
            if coverage.words > best.words
                && let Some((first, ..)) = open.front()
            {
                best.words = coverage.words;
                best.stretch = (*first, at + GRAM);
            }
        }
        next = next.max(last);
    }
    best
}

/// Which words of a question are covered by the runs of a stretch.
struct Coverage {
    /// How often each group of equal runs is in the stretch, at the index of its first run.
    groups: Vec<u32>,
    /// By how many runs of the question each word is covered.
    covered: Vec<u32>,
    /// Number of words that are covered.
    words: usize,
    /// For each run of the question that the text had: the place behind that one, and the number
    /// of words that match up to it.
    runs: Vec<(usize, usize)>,
}

impl Coverage {
    fn new(words: usize) -> Self {
        let runs = vec![(usize::MAX, 0); words];
        Self { groups: vec![0; words], covered: vec![0; words], words: 0, runs }
    }

    fn enter(&mut self, group: usize, same: &[(u64, usize)]) {
        let Some(count) = self.groups.get_mut(group) else { return };
        *count += 1;
        if *count > 1 {
            return;
        }
        for (_, at) in same {
            for covered in self.covered.iter_mut().skip(*at).take(GRAM) {
                self.words += usize::from(*covered == 0);
                *covered += 1;
            }
        }
    }

    /// Whether a later run of the stretch is equal, so that the first one is not needed.
    fn is_again(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|count| *count > 1)
    }

    fn leave(&mut self, group: usize, same: &[(u64, usize)]) {
        let Some(count) = self.groups.get_mut(group) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        for (_, at) in same {
            for covered in self.covered.iter_mut().skip(*at).take(GRAM) {
                *covered -= 1;
                self.words -= usize::from(*covered == 0);
            }
        }
    }

    /// The longest run of words that ends with the run of the text at `at`.
    fn extend_runs(&mut self, at: usize, same: &[(u64, usize)]) -> usize {
        let mut longest = 0;
        // From the last one down: the run before is still that of the place before.
        for (_, place) in same.iter().rev() {
            let before = place.checked_sub(1).and_then(|before| self.runs.get(before));
            let matched = match before {
                Some((next, matched)) if *next == at => matched + 1,
                _ => GRAM,
            };
            longest = longest.max(matched);
            if let Some(run) = self.runs.get_mut(*place) {
                *run = (at + 1, matched);
            }
        }
        longest
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
