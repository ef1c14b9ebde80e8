//! The variety of a text's shingles: whether its set of shingles is large enough to be meaningful.
//!
//! Pure counting of window sums.

use crate::sketch::hash::finalise;

/// Maximum number of shingles that are counted. For longer texts, a sample chosen by hash is
/// counted.
const COUNTED_MAX: usize = 4_096;
/// A shingle that occurs this often is assumed to be as frequent in other texts of the kind.
const OFTEN: usize = 5;

/// The variety of a text's shingles, from
/// [`Sketcher::text_with_variety`](crate::Sketcher::text_with_variety).
///
/// A set does not record how often a shingle occurs. Tables of digits, sequences of ACGT and "spam
/// spam spam" contain nearly all shingles of their kind, so that any two such texts look like
/// near-copies.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Variety {
    /// Number of shingles of the text, including repeats.
    pub shingles: usize,
    /// Number of distinct shingles.
    pub distinct: usize,
    /// The expected Jaccard similarity with another text of this length whose shingles are drawn
    /// from the same distribution. Estimated by the method of Good and Turing: a shingle that
    /// occurs once is there by chance, a frequent shingle will occur again. 0 if fewer than a third
    /// of the shingles are repeats, and with `bag`, which counts repeats.
    pub by_chance: f64,
}

impl Variety {
    /// Whether unrelated texts of the same kind would reach `threshold`. Compare such texts by
    /// longer shingles or with `bag`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Shingles, Sketcher};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let (_, spam) = Sketcher::new(&params).text_with_variety(&"spam ".repeat(100))?;
    /// assert_eq!((spam.shingles, spam.distinct), (98, 1));
    /// assert!(spam.is_too_small(params.threshold()));
    ///
    /// let words: Vec<String> = (0..100).map(|word| format!("word{word}")).collect();
    /// let (_, usual) = Sketcher::new(&params).text_with_variety(&words.join(" "))?;
    /// assert!(!usual.is_too_small(params.threshold()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_too_small(&self, threshold: f64) -> bool {
        self.by_chance > 0.0 && self.by_chance >= threshold
    }

    pub(super) fn of_usual(shingles: usize, distinct: usize) -> Self {
        Self { shingles, distinct, by_chance: 0.0 }
    }

    /// Whether so many shingles are repeats (at least a third) that the set may be too small.
    pub(super) fn is_suspect(&self) -> bool {
        self.distinct * 3 <= self.shingles * 2
    }

    /// Counts repeats. `sums` are the window sums of all shingles; they are reordered.
    pub(super) fn count(self, sums: &mut Vec<u64>) -> Self {
        if sums.len() > COUNTED_MAX {
            let part = sums.len().div_ceil(COUNTED_MAX).next_power_of_two() as u64;
            sums.retain(|sum| finalise(*sum) & (part - 1) == 0);
        }
        sums.sort_unstable();
        // `counts[n]` is the number of distinct shingles that occur n times. `often` is the number
        // of those that occur more than `OFTEN` times.
        let mut counts = [0_usize; OFTEN + 1];
        let mut often = 0_usize;
        for equal in sums.chunk_by(|a, b| a == b) {
            match counts.get_mut(equal.len()) {
                Some(count) => *count += 1,
                None => often += 1,
            }
        }
        let all = counts.iter().sum::<usize>() + often;
        if all == 0 {
            return self;
        }
        // A shingle that occurs five times or more counts as shared: the probability that it is
        // absent from another text is only e^-5.
        let mut shared = (often + counts[OFTEN]) as f64;
        for times in 1..OFTEN {
            let (now, next) = (counts[times] as f64, counts[times + 1] as f64);
            if now > 0.0 {
                let expected = (times + 1) as f64 * next / now;
                shared += now * (1.0 - (-expected).exp());
            }
        }
        Self { by_chance: shared / (2.0 * all as f64 - shared), ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Params, Shingles, Sketcher};

    /// A text of random words of a vocabulary.
    fn drawn(seed: u64, words: usize, vocabulary: u64, space: &str) -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let letter = u32::try_from((state >> 33) % vocabulary).unwrap();
            char::from_digit(letter + 10, 36).unwrap().to_string() + space
        };
        (0..words).map(|_| next()).collect()
    }

    #[test]
    fn what_is_expected_is_what_other_texts_of_the_kind_have() {
        for (shingles, space) in [(Shingles::Words(3), " "), (Shingles::Chars(5), "")] {
            let params = Params::builder().shingles(shingles).build().unwrap();
            let sketcher = Sketcher::new(&params);
            for (words, vocabulary) in [(300, 5), (600, 5), (2_000, 5), (9_000, 6), (3_000, 4)] {
                // A single estimate has a large error for so few shingles; the mean of many does
                // not.
                let (mut real, mut told) = (0.0, 0.0);
                for seed in 0..10 {
                    let [a, b] =
                        [2 * seed, 2 * seed + 1].map(|seed| drawn(seed, words, vocabulary, space));
                    let other = sketcher.original_text(&b).unwrap();
                    let own = sketcher.original_text(&a).unwrap();
                    let (signature, variety) = sketcher.text_with_variety(&a).unwrap();
                    assert_eq!(signature, *own.signature());
                    assert_eq!(variety.distinct, signature.shingle_count() as usize);
                    assert!(variety.shingles.abs_diff(words) <= 5, "{variety:?}");
                    real += own.similarity(&other) / 10.0;
                    told += variety.by_chance / 10.0;
                }
                let close = (told - real).abs() < 0.05;
                assert!(
                    close || (real < 0.45 && told < 0.45),
                    "{words} {vocabulary}: {told} {real}"
                );
            }
        }
    }

    #[test]
    fn texts_of_few_shingles_are_too_small_and_usual_ones_are_not() {
        let sketcher = Sketcher::new(&Params::for_threshold(0.7).build().unwrap());
        let told = |text: &str| sketcher.text_with_variety(text).unwrap().1;
        for text in ["spam ".repeat(20), drawn(1, 500, 5, " "), drawn(2, 5_000, 10, " ")] {
            assert!(told(&text).is_too_small(0.7), "{:?}", told(&text));
        }
        // Three copies of a paragraph are not a small set.
        let paragraph = drawn(3, 400, 26, " ").repeat(3);
        for text in [drawn(4, 500, 26, " "), paragraph, "to be or not to be".to_owned()] {
            assert!(!told(&text).is_too_small(0.5), "{:?}", told(&text));
        }
        // The limit is the similarity that two such texts have by chance.
        let some = told(&drawn(5, 600, 7, " "));
        assert!((0.1..0.9).contains(&some.by_chance), "{some:?}");
        assert!(some.is_too_small(some.by_chance));
        assert!(!some.is_too_small(some.by_chance + 1e-9));
    }

    #[test]
    fn a_bag_counts_repeats_and_needs_no_warning() {
        let params = Params::for_threshold(0.7).bag(true).build().unwrap();
        let told = Sketcher::new(&params).text_with_variety(&"spam ".repeat(90)).unwrap().1;
        assert!(!told.is_too_small(0.1), "{told:?}");
    }
}
