//! What two texts share, word by word: runs of equal words, joined over small gaps.
//!
//! Pure: texts are bytes, one for each word.

use std::cmp::Reverse;
use std::ops::Range;

/// Runs shorter than this are accidents.
const RUN_MIN: usize = 4;
/// Two runs at most so many words apart in both texts are one passage: a word was replaced.
const GAP_MAX: usize = 4;
/// Number of pairs of equal words that are followed, at most, when two texts are compared. Only two
/// texts of thousands of repetitions have more.
const PAIRS_MAX: usize = 1 << 22;

/// Words of the one text that are equal to words of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EqualRun {
    ours: usize,
    theirs: usize,
    words: usize,
}

/// Runs in the same order in both texts, with small gaps. Words that do not count are gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The words from the first equal one to the last, in the text that compares and in the other.
    pub(super) ours: Range<usize>,
    pub(super) theirs: Range<usize>,
    /// Number of equal words that count.
    pub(super) words: usize,
    /// Equal words of the longest run that count.
    pub(super) longest: usize,
    runs: Vec<EqualRun>,
}

/// What two texts share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) stretches: Vec<Stretch>,
    /// Number of words of each text that are in the other, of those that count.
    pub(super) ours: usize,
    pub(super) theirs: usize,
    /// The longest run of equal words, of those that count.
    pub(super) longest: usize,
}

/// A text that is compared with others.
pub(super) struct Comparison<'a> {
    ids: &'a [u8],
    /// The words that do not count, ascending.
    common: &'a [Range<usize>],
    /// Number of words of a passage, at least; fewer in a shorter text.
    least: usize,
    /// Length of a seed: equal words from which a run is found.
    seed: usize,
    /// The seeds, ascending, each with its first word.
    seeds: Vec<(u32, usize)>,
    /// A bit for the low bits of each seed.
    filter: Vec<u64>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(ids: &'a [u8], common: &'a [Range<usize>], least: usize) -> Self {
        let seed = RUN_MIN.min(ids.len()).max(1);
        let at = ids.windows(seed).map(number).enumerate();
        let mut seeds: Vec<(u32, usize)> = at.map(|(at, seed)| (seed, at)).collect();
        seeds.sort_unstable();
        let mut filter = vec![0; (seeds.len() / 8).next_power_of_two()];
        for (seed, _) in &seeds {
            let (word, bit) = bit_of(*seed, filter.len());
            filter[word] |= bit;
        }
        Self { ids, common, least, seed, seeds, filter }
    }

    /// What this text and another share; `None` if they share no passage.
    pub(super) fn with(&self, theirs: &[u8]) -> Option<Shared> {
        let least = self.least.min(self.ids.len()).min(theirs.len());
        let mut stretches = joined(self.runs(theirs));
        stretches.retain(|one| one.words >= least);
        let longest = stretches.iter().map(|one| one.longest).max()?;
        stretches.sort_by_key(|one| {
            (Reverse((one.longest, one.words)), one.ours.start, one.theirs.start)
        });
        let (mut ours, mut others) = (Covered::new(self.ids.len()), Covered::new(theirs.len()));
        // A repeated phrase makes many stretches; those that say nothing new are dropped.
        stretches.retain(|one| {
            let mut is_new = false;
            for run in &one.runs {
                is_new |= ours.add(run.ours..run.ours + run.words);
                is_new |= others.add(run.theirs..run.theirs + run.words);
            }
            is_new
        });
        stretches.sort_by_key(|one| (one.theirs.start, one.ours.start));
        Some(Shared { stretches, ours: ours.count(), theirs: others.count(), longest })
    }

    /// All runs of equal words that cannot be made longer, in the order of this text.
    fn runs(&self, theirs: &[u8]) -> Vec<EqualRun> {
        let (ours, mut runs, mut budget) = (self.ids, Vec::new(), PAIRS_MAX);
        for (at, window) in theirs.windows(self.seed).enumerate() {
            let seed = number(window);
            let (word, bit) = bit_of(seed, self.filter.len());
            if self.filter[word] & bit == 0 {
                continue;
            }
            let first = self.seeds.partition_point(|(other, _)| *other < seed);
            let same = self.seeds.iter().skip(first).take_while(|(other, _)| *other == seed);
            for (_, own) in same {
                budget = budget.saturating_sub(1);
                let before = own.checked_sub(1).zip(at.checked_sub(1));
                if budget == 0 || before.is_some_and(|(own, at)| ours[own] == theirs[at]) {
                    continue;
                }
                let equal = ours[*own..].iter().zip(&theirs[at..]).take_while(|(a, b)| a == b);
                let run = EqualRun { ours: *own, theirs: at, words: equal.count() };
                runs.extend(self.counted(run));
            }
        }
        runs.sort_unstable();
        runs
    }

    /// The parts of a run that count.
    fn counted(&self, run: EqualRun) -> impl Iterator<Item = EqualRun> + '_ {
        let end = run.ours + run.words;
        let from = self.common.partition_point(|range| range.end <= run.ours);
        let between = self.common.iter().skip(from).take_while(move |range| range.start < end);
        let mut begin = run.ours;
        between.cloned().chain(std::iter::once(end..end)).filter_map(move |common| {
            let part = begin..common.start.max(begin).min(end);
            begin = common.end;
            let theirs = run.theirs + (part.start - run.ours);
            (!part.is_empty()).then_some(EqualRun { ours: part.start, theirs, words: part.len() })
        })
    }
}

/// Joins each run to the nearest stretch that ends a few words before it.
fn joined(runs: Vec<EqualRun>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    // Those that a later run may still join.
    let (mut open, mut budget) = (Vec::<usize>::new(), PAIRS_MAX * 8);
    for run in runs {
        open.retain(|at| stretches[*at].ours.end + GAP_MAX >= run.ours);
        let gap = |one: &Stretch| {
            let ours = run.ours.checked_sub(one.ours.end)?;
            let theirs = run.theirs.checked_sub(one.theirs.end)?;
            (ours.max(theirs) <= GAP_MAX).then_some(ours + theirs)
        };
        budget = budget.saturating_sub(open.len());
        let beside = open.iter().filter(|_| budget > 0);
        let near = beside.filter_map(|at| Some((gap(&stretches[*at])?, *at))).min();
        let (ours, theirs) = (run.ours + run.words, run.theirs + run.words);
        if let Some((_, at)) = near {
            let stretch = &mut stretches[at];
            (stretch.ours.end, stretch.theirs.end) = (ours, theirs);
            stretch.words += run.words;
            stretch.longest = stretch.longest.max(run.words);
            stretch.runs.push(run);
            continue;
        }
        open.push(stretches.len());
        stretches.push(Stretch {
            ours: run.ours..ours,
            theirs: run.theirs..theirs,
            words: run.words,
            longest: run.words,
            runs: vec![run],
        });
    }
    stretches
}

/// A bit for each word.
struct Covered(Vec<bool>);

impl Covered {
    fn new(words: usize) -> Self {
        Self(vec![false; words])
    }

    /// Whether one of these words is new.
    fn add(&mut self, words: Range<usize>) -> bool {
        let part = self.0.get_mut(words).unwrap_or_default();
        let is_new = part.contains(&false);
        part.fill(true);
        is_new
    }

    fn count(&self) -> usize {
        self.0.iter().filter(|is_covered| **is_covered).count()
    }
}

fn number(window: &[u8]) -> u32 {
    window.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn bit_of(seed: u32, words: usize) -> (usize, u64) {
    let mixed = seed.wrapping_mul(0x9e37_79b1);
    ((mixed >> 6) as usize & (words - 1), 1 << (mixed & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::Random;

    fn ids(text: &str) -> Vec<u8> {
        text.split(' ')
            .map(|word| word.bytes().fold(0, |id: u8, byte| id.wrapping_mul(31) ^ byte))
            .collect()
    }

    /// The longest run of equal words, and which words of `ours` lie in runs of `least` words.
    fn naive(ours: &[u8], theirs: &[u8], least: usize) -> (usize, Vec<bool>) {
        let (mut longest, mut covered) = (0, vec![false; ours.len()]);
        for a in 0..ours.len() {
            for b in 0..theirs.len() {
                let equal = ours[a..].iter().zip(&theirs[b..]).take_while(|(a, b)| a == b).count();
                longest = longest.max(equal);
                if equal >= least {
                    covered[a..a + equal].fill(true);
                }
            }
        }
        (longest, covered)
    }

    #[test]
    fn every_run_is_found_with_its_length() {
        let mut random = Random::new(3);
        for round in 0..400 {
            // Small alphabets repeat, large ones do not.
            let letters = [3, 6, 40, 250][round % 4];
            let mut text =
                |words: usize| -> Vec<u8> { (0..words).map(|_| random.byte(letters)).collect() };
            let (mut ours, theirs) = (text(60), text(80));
            ours.splice(20..20, theirs[30..30 + round % 25].iter().copied());
            let (longest, covered) = naive(&ours, &theirs, 8);
            let shared = Comparison::new(&ours, &[], 8).with(&theirs);
            let found = shared.as_ref().map_or(0, |one| one.longest);
            assert!(if longest >= 8 { found == longest } else { found < 8 }, "{round}");
            for (word, _) in covered.iter().enumerate().filter(|(_, is_in)| **is_in) {
                let mut of = shared.iter().flat_map(|one| &one.stretches);
                assert!(of.any(|one| one.ours.contains(&word)), "{round} {word}");
            }
        }
    }

    #[test]
    fn a_replaced_word_does_not_part_a_passage_and_does_not_count() {
        let ours = ids("so a quick brown fox jumps over the lazy dog that sleeps here");
        let theirs = ids("if the quick brown fox jumps high over the lazy dog that slept there");
        let comparison = Comparison::new(&ours, &[], 8);
        let shared = comparison.with(&theirs).unwrap();
        let [one] = &shared.stretches[..] else { panic!("{shared:?}") };
        assert_eq!((one.ours.clone(), one.theirs.clone()), (2..11, 2..12));
        assert_eq!((one.words, one.longest, shared.ours, shared.theirs), (9, 5, 9, 9));
        // Seven words are too few, unless a text has no more.
        assert!(comparison.with(&theirs[2..9]).is_none());
        assert_eq!(comparison.with(&theirs[7..12]).unwrap().longest, 5);
        assert!(comparison.with(&ids("z z over the lazy dog that z z")).is_none());
    }

    #[test]
    fn common_words_count_for_nothing() {
        let text = ids("name of the student and number of the course whales eat krill all day");
        let comparison = |common| Comparison::new(&text, common, 8).with(&text);
        assert_eq!(comparison(&[]).unwrap().ours, 14);
        assert!(comparison(&[0..4, 4..9]).is_none(), "five words are left");
        let shared = comparison(&[0..3, 5..6]).unwrap();
        assert_eq!((shared.ours, shared.theirs, shared.longest), (10, 10, 8));
    }
}
