//! Which questions have a run of three words.
//!
//! A text that contains a question shares a minimum number of runs with it. So it has at least one
//! of the others: of each question, only the rarest runs are indexed, as many as that takes.

use super::question_rule::{ContainsQuestion, GRAM, gram_of};

/// The runs that are indexed, sorted.
#[derive(Debug, Clone)]
pub(super) struct QuestionGrams {
    grams: Vec<u64>,
    /// The question of each run.
    questions: Vec<u32>,
    /// Where the runs with these high bits begin; one more at the end.
    begins: Vec<u32>,
    shift: u32,
}

impl QuestionGrams {
    /// Indexes questions, given by the hashes of their words and the ends of each.
    pub(super) fn new(words: &[u64], ends: &[u32], rule: ContainsQuestion) -> Self {
        let mut all: Vec<(u64, u32, u32)> = Vec::new();
        let mut begin = 0;
        for (question, end) in (0..).zip(ends) {
            let own = words.get(begin..*end as usize).unwrap_or_default();
            let grams = own.windows(GRAM).map(|run| gram_of(run.iter().copied()));
            all.extend(grams.zip(0..).map(|(gram, at)| (gram, question, at)));
            begin = *end as usize;
        }
        all.sort_unstable();
        // For each run of each question: how many runs are equal to it.
        let mut counted: Vec<(u32, u32, u32, u64)> = Vec::with_capacity(all.len());
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            counted.extend(same.iter().map(|(gram, question, at)| (*question, count, *at, *gram)));
        }
        drop(all);
        counted.sort_unstable();
        let mut kept: Vec<(u64, u32)> = Vec::new();
        for own in counted.chunk_by(|a, b| a.0 == b.0) {
            let needed = rule.grams_needed(own.len() + GRAM - 1);
            let rarest = own.iter().take((own.len() + 1).saturating_sub(needed));
            kept.extend(rarest.map(|(question, _, _, gram)| (*gram, *question)));
        }
        drop(counted);
        kept.sort_unstable();
        kept.dedup();
        let (grams, questions): (Vec<u64>, Vec<u32>) = kept.into_iter().unzip();
        let bits = (usize::BITS - grams.len().leading_zeros()).max(1);
        let shift = 64 - bits;
        let mut begins = vec![0; (1 << (64 - shift)) + 1];
        for gram in &grams {
            if let Some(count) = begins.get_mut(bucket(*gram, shift) + 1) {
                *count += 1_u32;
            }
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        Self { grams, questions, begins, shift }
    }

    /// The questions of which this run is indexed.
    pub(super) fn questions(&self, gram: u64) -> &[u32] {
        let bucket = bucket(gram, self.shift);
        let begin = |bucket: usize| self.begins.get(bucket).map_or(0, |begin| *begin as usize);
        let (begin, end) = (begin(bucket), begin(bucket + 1));
        let grams = self.grams.get(begin..end).unwrap_or_default();
        if grams.is_empty() {
            return &[];
        }
        let first = begin + grams.partition_point(|other| *other < gram);
        let count = grams.partition_point(|other| *other <= gram) + begin - first;
        self.questions.get(first..first + count).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> usize {
        let places = size_of_val(&*self.questions) + size_of_val(&*self.begins);
        size_of_val(&*self.grams) + places
    }
}

#[expect(clippy::cast_possible_truncation, reason = "fewer bits than a usize")]
fn bucket(gram: u64, shift: u32) -> usize {
    (gram >> shift) as usize
}
