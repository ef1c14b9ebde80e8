//! The variety of a text's shingles: whether its set of shingles is large enough to be meaningful.
//!
//! Pure counting of window sums.

use crate::hash::finalise;

/// Maximum number of shingles that are counted. For longer texts, a sample chosen by hash is
/// counted.
const COUNTED_MAX: usize = 4_096;
/// A shingle that occurs this often is assumed to be as frequent in other texts of the kind.
const OFTEN: usize = 5;
/// Number of counted shingles from which they are made fewer.
const SHORTEN_AT: usize = 64 << 10;

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
    /// # use nearkin_sketch as nearkin;
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

    pub(crate) fn of_usual(shingles: usize, distinct: usize) -> Self {
        Self { shingles, distinct, by_chance: 0.0 }
    }

    /// Whether so many shingles are repeats (at least a third) that the set may be too small.
    pub(crate) fn is_suspect(&self) -> bool {
        self.distinct * 3 <= self.shingles * 2
    }

    /// `counts[n]` is the number of distinct shingles that occur n times, `often` the number of
    /// those that occur more than `OFTEN` times.
    fn of_counts(self, counts: &[usize; OFTEN + 1], often: usize) -> Self {
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

/// Counts the repeats of a text from the window sums of its shingles, which come in parts.
pub(crate) struct Repeats {
    usual: Variety,
    /// Only shingles whose hash has none of these bits are counted.
    mask: u64,
    /// The window sums that are counted.
    sums: Vec<u64>,
    /// Length of `sums` from which it is made shorter.
    shorten_at: usize,
}

impl Repeats {
    /// `usual`: the variety of the text if it has no repeats.
    pub(crate) fn new(usual: Variety) -> Self {
        let part = match usual.shingles {
            0..=COUNTED_MAX => 1,
            more => more.div_ceil(COUNTED_MAX).next_power_of_two() as u64,
        };
        Self { usual, mask: part - 1, sums: Vec::new(), shorten_at: SHORTEN_AT }
    }

    pub(crate) fn add(&mut self, sums: &[u64]) {
        self.sums.extend(sums.iter().filter(|sum| finalise(**sum) & self.mask == 0));
        if self.sums.len() >= self.shorten_at {
            self.shorten();
            self.shorten_at = SHORTEN_AT.max(2 * self.sums.len());
        }
    }

    /// Sorts the sums, and removes what does not change the result: a shingle that occurs more than
    /// `OFTEN` times counts the same however often it occurs.
    fn shorten(&mut self) {
        self.sums.sort_unstable();
        let (mut last, mut times) = (None, 0);
        self.sums.retain(|sum| {
            times = if last == Some(*sum) { times + 1 } else { 1 };
            last = Some(*sum);
            times <= OFTEN + 1
        });
    }

    pub(crate) fn finish(mut self) -> Variety {
        self.sums.sort_unstable();
        let mut counts = [0_usize; OFTEN + 1];
        let mut often = 0_usize;
        for equal in self.sums.chunk_by(|a, b| a == b) {
            match counts.get_mut(equal.len()) {
                Some(count) => *count += 1,
                None => often += 1,
            }
        }
        self.usual.of_counts(&counts, often)
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
    fn similarity_by_chance_is_near_that_of_random_texts() {
        for (shingles, space) in [(Shingles::Words(3), " "), (Shingles::Chars(5), "")] {
            let params = Params::builder().shingles(shingles).build().unwrap();
            let sketcher = Sketcher::new(&params);
            for (words, vocabulary) in [(300, 5), (600, 5), (2_000, 5), (9_000, 6), (3_000, 4)] {
                // A single estimate has a large error for so few shingles; the mean of many does
                // not.
                let (mut real, mut estimated) = (0.0, 0.0);
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
                    estimated += variety.by_chance / 10.0;
                }
                let close = (estimated - real).abs() < 0.05;
                assert!(
                    close || (real < 0.45 && estimated < 0.45),
                    "{words} {vocabulary}: {estimated} {real}"
                );
            }
        }
    }

    #[test]
    fn texts_of_few_shingles_are_too_small_and_usual_ones_are_not() {
        let sketcher = Sketcher::new(&Params::for_threshold(0.7).build().unwrap());
        let variety = |text: &str| sketcher.text_with_variety(text).unwrap().1;
        for text in ["spam ".repeat(20), drawn(1, 500, 5, " "), drawn(2, 5_000, 10, " ")] {
            assert!(variety(&text).is_too_small(0.7), "{:?}", variety(&text));
        }
        // Three copies of a paragraph are not a small set.
        let paragraph = drawn(3, 400, 26, " ").repeat(3);
        for text in [drawn(4, 500, 26, " "), paragraph, "to be or not to be".to_owned()] {
            assert!(!variety(&text).is_too_small(0.5), "{:?}", variety(&text));
        }
        // The limit is the similarity that two such texts have by chance.
        let some = variety(&drawn(5, 600, 7, " "));
        assert!((0.1..0.9).contains(&some.by_chance), "{some:?}");
        assert!(some.is_too_small(some.by_chance));
        assert!(!some.is_too_small(some.by_chance + 1e-9));
    }

    /// A large text is counted section by section, and counted shingles are made fewer on the way.
    #[test]
    fn a_large_text_has_the_variety_of_all_its_shingles() {
        for shingles in [Shingles::Words(3), Shingles::Tokens(2), Shingles::Chars(5)] {
            let sketcher = Sketcher::new(&Params::builder().shingles(shingles).build().unwrap());
            let once = drawn(6, 100_000, 26, " ");
            for text in ["w ".repeat(400_000), drawn(7, 400_000, 9, " "), once.repeat(3)] {
                assert!(text.len() >= crate::large::BYTES_MIN);
                let mut scratch = super::super::scratch::Scratch::default();
                sketcher.inner.cut(None, &text, &mut scratch);
                let (signature, variety) = sketcher.text_with_variety(&text).unwrap();
                assert_eq!(variety.shingles, scratch.sums.len());
                let distinct = signature.shingle_count() as usize;
                let usual = super::Variety::of_usual(scratch.sums.len(), distinct);
                let mut repeats = super::Repeats::new(usual);
                repeats.shorten_at = usize::MAX;
                repeats.add(&scratch.sums);
                assert_eq!(variety, repeats.finish(), "{shingles} {:?}", &text[..40]);
            }
        }
        let usual = super::Variety::of_usual(4_000, 1);
        let (mut some, mut all) = (super::Repeats::new(usual), super::Repeats::new(usual));
        let sums: Vec<u64> = (0..4_000).map(|at| at * at % 700 / (1 + at % 3)).collect();
        for sums in sums.chunks(7) {
            some.add(sums);
            some.shorten();
        }
        all.add(&sums);
        assert!(some.sums.len() < all.sums.len());
        assert_eq!(some.finish(), all.finish());
    }

    #[test]
    fn a_bag_counts_repeats_and_needs_no_warning() {
        let params = Params::for_threshold(0.7).bag(true).build().unwrap();
        let variety = Sketcher::new(&params).text_with_variety(&"spam ".repeat(90)).unwrap().1;
        assert!(!variety.is_too_small(0.1), "{variety:?}");
    }
}
