//! When a text contains a question.

use crate::{Error, Result};

/// Number of words in a run that is looked up. Words count as shared if they lie in such a run.
pub(super) const GRAM: usize = 3;
/// Minimum number of words that a share has to be: fewer are a common phrase. A question of fewer
/// words has to be in the row as a whole.
const WHOLE_WORDS: usize = 8;

/// When a row contains a question: it has a share of its words, or some consecutive words of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContainsQuestion {
    share: f64,
    run: usize,
}

impl Default for ContainsQuestion {
    /// 60 % of the words, or 12 consecutive words.
    fn default() -> Self {
        Self { share: 0.6, run: 12 }
    }
}

impl ContainsQuestion {
    /// A row contains a question if a stretch of the row at most twice as long as the question has
    /// this share of its words, above 0 to 1, and at least eight of them. Words count if they lie
    /// in a run of three words that both have.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    /// A row contains a question if both have these many consecutive words in common, at least 3,
    /// whatever the share.
    #[must_use]
    pub fn run(self, words: usize) -> Self {
        Self { run: words, ..self }
    }

    /// Number of runs of three words that a row must share with a question of so many words.
    pub(super) fn grams_needed(self, words: usize) -> usize {
        if words < WHOLE_WORDS {
            return words + 1 - GRAM;
        }
        let by_run = self.run.max(GRAM) + 1 - GRAM;
        self.words_needed(words).div_ceil(GRAM).min(by_run).max(1)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few words")]
    fn words_needed(self, words: usize) -> usize {
        // A share of 0.6 of 10 words are 6, not 6.000000000000001.
        let share = (self.share * words as f64 - 1e-9).ceil() as usize;
        share.max(words.min(WHOLE_WORDS))
    }

    pub(super) fn is_met(self, shared: usize, longest: usize, words: usize) -> bool {
        if words < WHOLE_WORDS {
            return longest >= words;
        }
        shared >= self.words_needed(words) || longest >= self.run
    }

    pub(super) fn check(self) -> Result<Self> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(Error::invalid("the share of a question is above 0, and at most 1"));
        }
        if self.run < GRAM {
            return Err(Error::invalid(format!("a run of a question has at least {GRAM} words")));
        }
        Ok(self)
    }
}

/// The sum of a run of words: equal for equal runs.
pub(super) fn gram_of(words: impl Iterator<Item = u64>) -> u64 {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    let sum = words.fold(0_u64, |sum, word| sum.wrapping_mul(BASE).wrapping_add(word));
    (sum ^ sum >> 29).wrapping_mul(BASE)
}
