//! What two texts share, word by word: runs of equal words, joined over small gaps.
//!
//! Pure: texts are bytes, one for each word.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::table::WordTable;

/// Runs shorter than this are accidents.
const RUN_MIN: usize = 4;
/// Two runs at most so many words apart in both texts are one passage: a word was replaced.
const GAP_MAX: usize = 4;
/// Number of pairs of places of four equal words that are all followed. Of more, each place of the
/// one text is followed to the first one that says something new: see [`RunSearch::follow_some`].
const PLACES_MAX: usize = 64 * 64;
/// Number of pairs and of equal words that are looked at, at most, when two texts are compared.
const STEPS_MAX: usize = 1 << 23;
/// Steps that a run costs besides its words, which bounds the memory.
const STEPS_OF_RUN: usize = 16;
/// Number of words between two looks at the clock.
const WORDS_UNSTOPPED: usize = 1 << 12;

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
    /// The passages; none if the texts share none.
    pub(super) stretches: Vec<Stretch>,
    /// Number of words of each text that are in the other, of those that count.
    pub(super) ours: usize,
    pub(super) theirs: usize,
    /// The longest run of equal words, of those that count.
    pub(super) longest: usize,
    /// Whether the texts were compared to their ends: they may share more if not.
    pub(super) complete: bool,
}

/// A text that is compared with others.
pub(super) struct Comparison<'a> {
    text: &'a WordTable,
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
    pub(super) fn new(text: &'a WordTable, least: usize) -> Self {
        let ids = text.ids();
        let seed = RUN_MIN.min(ids.len()).max(1);
        let at = ids.windows(seed).map(number).enumerate();
        let mut seeds: Vec<(u32, usize)> = at.map(|(at, seed)| (seed, at)).collect();
        seeds.sort_unstable();
        let mut filter = vec![0; (seeds.len() / 8).next_power_of_two()];
        for (seed, _) in &seeds {
            let (word, bit) = bit_of(*seed, filter.len());
            filter[word] |= bit;
        }
        Self { text, least, seed, seeds, filter }
    }

    /// What this text and another share.
    pub(super) fn with(&self, theirs: &WordTable, stop: &dyn Fn() -> bool) -> Shared {
        let (ours_len, theirs_len) = (self.text.ids().len(), theirs.ids().len());
        let least = self.least.min(ours_len).min(theirs_len);
        let (runs, complete) = self.runs(theirs, least, stop);
        let mut stretches = joined(runs);
        stretches.retain(|one| one.words >= least);
        let longest = stretches.iter().map(|one| one.longest).max().unwrap_or(0);
        if stretches.is_empty() {
            return Shared { stretches, ours: 0, theirs: 0, longest, complete };
        }
        stretches.sort_by_key(|one| {
            (Reverse((one.longest, one.words)), one.ours.start, one.theirs.start)
        });
        let (mut ours, mut others) = (Covered::new(ours_len), Covered::new(theirs_len));
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
        Shared { stretches, ours: ours.count(), theirs: others.count(), longest, complete }
    }

    /// The runs of equal words that cannot be made longer, in the order of this text, and whether
    /// the other text was read to its end.
    fn runs(
        &self,
        theirs: &WordTable,
        least: usize,
        stop: &dyn Fn() -> bool,
    ) -> (Vec<EqualRun>, bool) {
        let mut found = RunSearch::new(self.text.ids(), theirs.ids(), least);
        let mut complete = true;
        for (at, window) in theirs.ids().windows(self.seed).enumerate() {
            if found.steps == 0 || at.is_multiple_of(WORDS_UNSTOPPED) && stop() {
                complete = false;
                break;
            }
            let seed = number(window);
            let (word, bit) = bit_of(seed, self.filter.len());
            if self.filter[word] & bit == 0 {
                continue;
            }
            let first = self.seeds.partition_point(|(other, _)| *other < seed);
            let same = self.seeds.get(first..).unwrap_or_default();
            let same = &same[..same.partition_point(|(other, _)| *other == seed)];
            found.follow(first, same, at);
        }
        complete &= found.steps > 0;
        let counted = |run| counted(run, &self.text.common, &theirs.common);
        let mut runs: Vec<EqualRun> = found.runs.into_iter().flat_map(counted).collect();
        runs.sort_unstable();
        (runs, complete)
    }
}

/// Finds the runs: those that have been found, and what is left to do.
struct RunSearch<'a> {
    ours: &'a [u8],
    theirs: &'a [u8],
    /// Number of words of a run that is a passage by itself.
    least: usize,
    runs: Vec<EqualRun>,
    /// The end in our text of the last run of each diagonal.
    ends: HashMap<usize, usize>,
    /// How often each seed, by its first place in the list, was met in the other text.
    met: HashMap<usize, usize>,
    /// The end, in both texts, of the last run of a seed with too many places.
    chain: Option<(usize, usize)>,
    /// The end of all passages in the other text.
    reach: usize,
    /// Steps that are left.
    steps: usize,
}

impl<'a> RunSearch<'a> {
    fn new(ours: &'a [u8], theirs: &'a [u8], least: usize) -> Self {
        let (ends, met, runs) = (HashMap::new(), HashMap::new(), Vec::new());
        Self { ours, theirs, least, runs, ends, met, chain: None, reach: 0, steps: STEPS_MAX }
    }

    /// Follows a seed at a place of the other text to its places in ours; `seed` is its first place
    /// in the list.
    fn follow(&mut self, seed: usize, same: &[(u32, usize)], at: usize) {
        if let ([(_, own)], Some(last)) = (same, self.runs.last())
            && *own + last.theirs == at + last.ours
            && (last.ours..last.ours + last.words).contains(own)
        {
            return;
        }
        let met = self.met.entry(seed).or_default();
        *met += 1;
        let (is_first, pairs) = (*met == 1, met.saturating_mul(same.len()));
        if pairs > PLACES_MAX {
            return self.follow_some(same, at, is_first);
        }
        for (_, own) in same {
            if self.steps == 0 {
                return;
            }
            self.run(*own, at);
        }
    }

    /// Follows a seed with too many places: where it is met first, to all places that no run from
    /// there has covered; later, unless a passage covers it, to the place that continues the run
    /// before, or else to the first one.
    fn follow_some(&mut self, same: &[(u32, usize)], at: usize, is_first: bool) {
        let from = |least: usize| same.partition_point(|(_, own)| *own < least);
        if is_first {
            let mut next = 0;
            while let Some((_, own)) = same.get(next).filter(|_| self.steps > 0) {
                next = from(self.run(*own, at)).max(next + 1);
            }
            return;
        }
        self.steps = self.steps.saturating_sub(1);
        if at + RUN_MIN <= self.reach {
            return;
        }
        let continued = self.chain.filter(|(_, theirs)| (*theirs..=theirs + GAP_MAX).contains(&at));
        let own = continued.and_then(|(ours, _)| {
            let (_, own) = same.get(from(ours))?;
            (*own <= ours + GAP_MAX).then_some(*own)
        });
        if let Some(own) = own.or_else(|| same.first().map(|(_, own)| *own)) {
            let end = self.run(own, at);
            self.chain = Some((end, at + (end - own)));
        }
    }

    /// Follows two equal places to both sides. Returns where their run ends in our text.
    fn run(&mut self, own: usize, at: usize) -> usize {
        self.steps = self.steps.saturating_sub(1);
        let diagonal = own + self.theirs.len() - at;
        if let Some(end) = self.ends.get(&diagonal).filter(|end| own < **end) {
            return *end;
        }
        let is_equal = |(a, b): &(&u8, &u8)| a == b;
        let (ours, theirs) = (self.ours.split_at(own), self.theirs.split_at(at));
        let before = ours.0.iter().rev().zip(theirs.0.iter().rev()).take_while(is_equal).count();
        let after = ours.1.iter().zip(theirs.1).take_while(is_equal).count();
        let (end, words) = (own + after, before + after);
        self.ends.insert(diagonal, end);
        self.runs.push(EqualRun { ours: own - before, theirs: at - before, words });
        self.steps = self.steps.saturating_sub(words + STEPS_OF_RUN);
        if words >= self.least {
            self.reach = self.reach.max(at + after);
        }
        end
    }
}

/// The parts of a run that count: not the words that are common in both texts. (A word may be
/// common in one only, because of its neighbours.)
fn counted<'a>(
    run: EqualRun,
    ours: &'a [Range<usize>],
    theirs: &'a [Range<usize>],
) -> impl Iterator<Item = EqualRun> + 'a {
    let holds = |ranges: &[Range<usize>], word: usize| {
        let at = ranges.partition_point(|range| range.end <= word);
        ranges.get(at).is_some_and(|range| range.start <= word)
    };
    let counts =
        move |word: usize| !(holds(ours, run.ours + word) && holds(theirs, run.theirs + word));
    let mut rest = 0..run.words;
    std::iter::from_fn(move || {
        let begin = rest.find(|word| counts(*word))?;
        let words = 1 + rest.by_ref().take_while(|word| counts(*word)).count();
        Some(EqualRun { ours: run.ours + begin, theirs: run.theirs + begin, words })
    })
}

/// Joins each run to the nearest stretch that ends a few words before it.
fn joined(runs: Vec<EqualRun>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    // By their ends in both texts; no two end at the same.
    let mut ends: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for run in runs {
        let near = (0..=GAP_MAX).filter_map(|gap| {
            let ours = run.ours.checked_sub(gap)?;
            let least = run.theirs.saturating_sub(GAP_MAX);
            let (end, at) = ends.range((ours, least)..=(ours, run.theirs)).next_back()?;
            Some((gap + run.theirs - end.1, *at, *end))
        });
        let near = near.min();
        let (ours, theirs) = (run.ours + run.words, run.theirs + run.words);
        if let Some((_, at, end)) = near {
            let stretch = &mut stretches[at];
            (stretch.ours.end, stretch.theirs.end) = (ours, theirs);
            stretch.words += run.words;
            stretch.longest = stretch.longest.max(run.words);
            stretch.runs.push(run);
            ends.remove(&end);
            ends.insert((ours, theirs), at);
            continue;
        }
        ends.insert((ours, theirs), stretches.len());
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
    use nearkin_sketch::engine::Word;

    fn ids(text: &str) -> Vec<u8> {
        text.split(' ')
            .map(|word| word.bytes().fold(0, |id: u8, byte| id.wrapping_mul(31) ^ byte))
            .collect()
    }

    fn table(ids: &[u8], common: &[Range<usize>]) -> WordTable {
        let word = |(at, id): (usize, &u8)| Word {
            hash: u64::from(*id) << 56,
            bytes: 2 * at..2 * at + 1,
            is_common: common.iter().any(|range| range.contains(&at)),
        };
        WordTable::new(&ids.iter().enumerate().map(word).collect::<Vec<_>>())
    }

    fn compared(ours: &[u8], theirs: &[u8]) -> Shared {
        Comparison::new(&table(ours, &[]), 8).with(&table(theirs, &[]), &|| false)
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
            let shared = compared(&ours, &theirs);
            let found = shared.longest;
            assert!(if longest >= 8 { found == longest } else { found < 8 }, "{round}");
            for (word, _) in covered.iter().enumerate().filter(|(_, is_in)| **is_in) {
                let mut of = shared.stretches.iter();
                assert!(of.any(|one| one.ours.contains(&word)), "{round} {word}");
            }
        }
    }

    #[test]
    fn a_replaced_word_does_not_part_a_passage_and_does_not_count() {
        let ours = ids("so a quick brown fox jumps over the lazy dog that sleeps here");
        let theirs = ids("if the quick brown fox jumps high over the lazy dog that slept there");
        let shared = compared(&ours, &theirs);
        let [one] = &shared.stretches[..] else { panic!("{shared:?}") };
        assert_eq!((one.ours.clone(), one.theirs.clone()), (2..11, 2..12));
        assert_eq!((one.words, one.longest, shared.ours, shared.theirs), (9, 5, 9, 9));
        // Seven words are too few, unless a text has no more.
        assert!(compared(&ours, &theirs[2..9]).stretches.is_empty());
        assert_eq!(compared(&ours, &theirs[7..12]).longest, 5);
        assert!(compared(&ours, &ids("z z over the lazy dog that z z")).stretches.is_empty());
    }

    #[test]
    fn words_that_are_common_in_both_texts_count_for_nothing() {
        let text = ids("name of the student and number of the course whales eat krill all day");
        let compared = |ours: &[Range<usize>], theirs: &[Range<usize>]| {
            Comparison::new(&table(&text, ours), 8).with(&table(&text, theirs), &|| false)
        };
        assert_eq!(compared(&[], &[]).ours, 14);
        let (all, some) = ([0..4, 4..9], [0..3, 5..6]);
        assert!(compared(&all, &all).stretches.is_empty(), "five words are left");
        let shared = compared(&some, &some);
        assert_eq!((shared.ours, shared.theirs, shared.longest), (10, 10, 8));
        // Whichever text asks.
        for (ours, theirs) in [(&some, &all), (&all, &some)] {
            assert_eq!(compared(ours, theirs), shared);
        }
        assert_eq!(compared(&all, &[]), compared(&[], &all));
    }

    #[test]
    fn repetitive_texts_are_compared_in_a_bounded_time() {
        let text = vec![7; 200_000];
        let shared = compared(&text, &text);
        assert_eq!((shared.ours, shared.longest, shared.complete), (200_000, 200_000, true));
        // One of the texts is shorter, in either order.
        for (ours, theirs) in [(3_000, 100_000), (100_000, 3_000), (20, 100_000), (100_000, 20)] {
            let shared = compared(&text[..ours], &text[..theirs]);
            assert!(shared.complete && shared.ours <= ours && shared.theirs <= theirs);
            // Less than a passage is missed at the end.
            assert!(shared.ours + 8 > ours && shared.theirs + 8 > theirs, "{ours} {theirs}");
        }
        // A form that is filled in anew on each line.
        let mut random = Random::new(5);
        let mut form = |own: u8| -> Vec<u8> {
            (0..2_000).flat_map(|_| [1, 2, 3, 4, own + random.byte(90)]).collect()
        };
        let (ours, theirs) = (form(10), form(130));
        let shared = compared(&ours, &theirs);
        assert!(shared.ours > 7_500 && shared.theirs > 7_500 && shared.complete, "{shared:?}");
        assert_eq!(compared(&ours, &ours).longest, 10_000);
    }

    #[test]
    fn what_follows_many_repetitions_is_found() {
        let own: Vec<u8> = (100..120).collect();
        let text = |ours: std::ops::Range<u8>| -> Vec<u8> {
            vec![0; 2_100].into_iter().chain(ours).chain(own.iter().copied()).collect()
        };
        let shared = compared(&text(10..40), &text(50..90));
        assert!(shared.stretches.iter().any(|one| one.longest == 20), "{shared:?}");
        assert_eq!((shared.ours, shared.complete), (2_120, true));
    }

    #[test]
    fn a_comparison_that_ends_early_says_so() {
        let mut random = Random::new(7);
        let mut text = || -> Vec<u8> { (0..700_000).map(|_| random.byte(3)).collect() };
        let (ours, theirs) = (text(), text());
        assert!(!compared(&ours, &theirs).complete);
        let (ours, theirs) = (table(&ours, &[]), table(&theirs, &[]));
        let stopped = Comparison::new(&ours, 8).with(&theirs, &|| true);
        assert!(!stopped.complete && stopped.stretches.is_empty());
    }
}
