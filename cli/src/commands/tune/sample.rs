//! Measures band settings on sample documents: how many comparisons a query needs on average, and
//! how many known duplicates are found.
//!
//! Compares signatures by brute force, each query with all documents. No bucket table is involved,
//! so a bug in the tables cannot affect the result.

use std::collections::HashMap;

use nearkin::Signature;
use nearkin::shards::components;
use rayon::prelude::*;

use super::choices::Choice;

/// Maximum number of documents that are compared with all others.
const QUERIES_MAX: usize = 500;

/// The sampled signatures. Their rows have 16 bits; the high bytes are the rows of 8-bit
/// signatures.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// Number of documents that are not named in a known pair, in the sample or not.
    pub(super) offered: u64,
    rows: Vec<Vec<u16>>,
    places: HashMap<Vec<u8>, usize>,
}

/// A uniform sample of fixed size (Vitter, "Random sampling with a reservoir", algorithm R). It is
/// deterministic, so every run has the same sample.
pub(super) struct Reservoir {
    pub(super) documents: Vec<(Vec<u8>, Signature)>,
    most: usize,
    pub(super) offered: u64,
    random: u64,
}

impl Reservoir {
    pub(super) fn new(most: usize) -> Self {
        Self { documents: Vec::new(), most, offered: 0, random: 0 }
    }

    pub(super) fn offer(&mut self, key: Vec<u8>, signature: Signature) {
        self.offered += 1;
        if self.documents.len() < self.most {
            return self.documents.push((key, signature));
        }
        // Knuth's MMIX generator; its high bits are the most random ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let place = usize::try_from((self.random >> 32) % self.offered).unwrap_or(usize::MAX);
        if let Some(document) = self.documents.get_mut(place) {
            *document = (key, signature);
        }
    }
}

/// The keys of the two documents of a pair.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// What one choice costs on the sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    /// Number of comparisons, each of a query with another document.
    pub(super) compared: u64,
    /// Number of comparisons of pairs below the threshold.
    pub(super) in_vain: u64,
}

/// The costs of all choices.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub(super) queries: u64,
    /// Number of all pairs of a query and another document.
    pub(super) pairs: u64,
    /// One cost per choice, in the order of the choices.
    pub(super) each: Vec<Cost>,
}

impl Sample {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a document, or replaces the one with the same key.
    pub(super) fn add(&mut self, key: Vec<u8>, signature: &Signature) {
        let rows = signature.as_bytes().as_chunks().0.iter().map(|row| u16::from_le_bytes(*row));
        let rows = rows.collect();
        match self.places.get(&key) {
            Some(&place) => self.rows[place] = rows,
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(rows);
            }
        }
    }

    /// Uses evenly spaced documents as queries. For each choice, counts the documents that these
    /// queries would be compared with.
    pub(super) fn costs(&self, choices: &[Choice]) -> Costs {
        let count = self.rows.len();
        let queries = count.min(QUERIES_MAX);
        let bars = bars(choices);
        let none = || vec![Cost::default(); choices.len()];
        let costs = (0..queries).into_par_iter().map(|query| {
            let query = query * count / queries;
            let mut costs = none();
            for other in (0..count).filter(|other| *other != query) {
                let agreement = Agreement::compare(&self.rows[query], &self.rows[other]);
                for (cost, (choice, bar)) in costs.iter_mut().zip(choices.iter().zip(&bars)) {
                    if agreement.shares_a_band(choice) {
                        cost.compared += 1;
                        cost.in_vain += u64::from(agreement.equal_rows(choice) < *bar);
                    }
                }
            }
            costs
        });
        let sum = |mut sums: Vec<Cost>, costs: Vec<Cost>| {
            for (sum, cost) in sums.iter_mut().zip(costs) {
                sum.compared += cost.compared;
                sum.in_vain += cost.in_vain;
            }
            sums
        };
        let costs = costs.reduce(none, sum);
        let pairs = (queries * count.saturating_sub(1)) as u64;
        Costs { queries: queries as u64, pairs, each: costs }
    }

    /// The agreement of each pair whose two documents are in the sample.
    pub(super) fn agreements(&self, pairs: &[Pair]) -> Vec<Agreement> {
        let rows = |key: &Vec<u8>| self.places.get(key).map(|place| &self.rows[*place]);
        let known = pairs.iter().filter_map(|(a, b)| Some((rows(a)?, rows(b)?)));
        known.map(|(a, b)| Agreement::compare(a, b)).collect()
    }
}

/// Pairs of documents of which some are known to be copies.
pub(super) struct Known {
    pub(super) agreements: Vec<Agreement>,
    /// For each number of equal rows, how many pairs have it of a document that is named and one
    /// that no chain of known pairs connects with it. Counted on a sample, and scaled up.
    pub(super) strangers: Vec<f64>,
}

impl Sample {
    /// Compares the known pairs, and the documents that they name with all others.
    pub(super) fn known(&self, pairs: &[Pair], choice: &Choice) -> Known {
        let place = |key: &Vec<u8>| self.places.get(key).copied();
        let found = pairs.iter().filter_map(|(a, b)| Some((place(a)?, place(b)?)));
        let named = components(found);
        let mut group_of = vec![None; self.rows.len()];
        for (place, group) in &named {
            group_of[*place] = Some(*group);
        }
        let queries = named.len().min(QUERIES_MAX);
        // Two counts for each number of equal rows: pairs with a document that is not named, and
        // with one that is.
        let none = || vec![[0_u64; 2]; choice.params.hashes() + 1];
        let counted = (0..queries).into_par_iter().map(|query| {
            let mut counts = none();
            let (one, group) = named[query * named.len() / queries];
            for (other, others) in self.rows.iter().zip(&group_of) {
                if *others != Some(group) {
                    let equal = Agreement::compare(&self.rows[one], other).equal_rows(choice);
                    counts[equal as usize][usize::from(others.is_some())] += 1;
                }
            }
            counts
        });
        let sum = |mut sums: Vec<[u64; 2]>, counts: Vec<[u64; 2]>| {
            let all = sums.as_flattened_mut().iter_mut().zip(counts.as_flattened());
            all.for_each(|(sum, count)| *sum += count);
            sums
        };
        let scale = named.len() as f64 / queries.max(1) as f64;
        let unnamed = (self.rows.len() - named.len()).max(1) as f64;
        let each = self.offered.max(1) as f64 / unnamed;
        // A pair of two named documents is counted twice.
        let strangers = |[others, named]: [u64; 2]| {
            scale * (others as f64 * each.max(1.0) + named as f64 / 2.0)
        };
        Known {
            agreements: self.agreements(pairs),
            strangers: counted.reduce(none, sum).into_iter().map(strangers).collect(),
        }
    }
}

/// For each choice, the minimum number of equal rows of a pair that reaches its threshold.
fn bars(choices: &[Choice]) -> Vec<u32> {
    let bar = |choice: &Choice| choice.params.equal_rows_min(choice.params.threshold());
    choices.iter().map(bar).collect()
}

/// Which rows of two signatures are equal, one bit per row. `whole` compares 16-bit rows, `high`
/// only their high bytes.
#[derive(Debug, Clone)]
pub(super) struct Agreement {
    whole: Vec<u64>,
    high: Vec<u64>,
}

impl Agreement {
    fn compare(a: &[u16], b: &[u16]) -> Self {
        let bits = |equal: fn(u16, u16) -> bool| {
            let word = |(a, b): (&[u16], &[u16])| {
                a.iter().zip(b).rev().fold(0, |word, (a, b)| word << 1 | u64::from(equal(*a, *b)))
            };
            a.chunks(64).zip(b.chunks(64)).map(word).collect()
        };
        Self { whole: bits(|a, b| a == b), high: bits(|a, b| a >> 8 == b >> 8) }
    }

    fn of_choice(&self, choice: &Choice) -> &[u64] {
        if choice.params.lane_bits() == 8 { &self.high } else { &self.whole }
    }

    pub(super) fn equal_rows(&self, choice: &Choice) -> u32 {
        self.of_choice(choice).iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn shares_a_band(&self, choice: &Choice) -> bool {
        let words = self.of_choice(choice);
        let rows = choice.params.rows_per_band();
        // Fast exit for most pairs: with fewer equal rows than a band has, no band can be equal.
        if (self.equal_rows(choice) as usize) < rows {
            return false;
        }
        let is_equal = |row: usize| words[row / 64] >> (row % 64) & 1 == 1;
        let mut bands = (0..choice.params.bands()).map(|band| band * rows..(band + 1) * rows);
        bands.any(|mut band| band.all(is_equal))
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices;
    use super::*;
    use nearkin::{Batch, Index, Options, Params, Sketcher};

    #[test]
    fn counts_are_those_of_an_index() {
        let words = |from: u32| {
            let words: Vec<_> = (from..from + 40).map(|word| format!("w{word}")).collect();
            words.join(" ")
        };
        let texts: Vec<String> = (0..300).map(|text| words(text % 50 * 12)).collect();
        let params = Params::for_threshold(0.6).build().unwrap();
        let choices = choices::around(&params).unwrap();
        let wide = Sketcher::new(&params.to_builder().lane_bits(16).build().unwrap());
        let mut sample = Sample::default();
        for (key, text) in texts.iter().enumerate() {
            sample.add(key.to_string().into_bytes(), &wide.text(text).unwrap());
        }
        let costs = sample.costs(&choices);
        assert_eq!((costs.queries, costs.pairs), (300, 300 * 299));
        let scratch = tempfile::tempdir().unwrap();
        for (at, (choice, cost)) in choices.iter().zip(&costs.each).enumerate() {
            let dir = scratch.path().join(at.to_string());
            let index = Index::create(dir, &choice.params, Options::default()).unwrap();
            let sketcher = index.sketcher();
            let mut batch = Batch::new();
            for (key, text) in texts.iter().enumerate() {
                batch = batch.insert(key.to_string(), &sketcher.text(text).unwrap());
            }
            index.write(batch).unwrap();
            let found = |threshold: f64| {
                let found = |key: usize| {
                    let key = key.to_string();
                    index.query_key(&key).threshold(threshold).run().unwrap().found
                };
                (0..texts.len()).map(found).sum::<u64>()
            };
            assert_eq!(cost.compared, found(0.0), "{}", choice.name());
            assert_eq!(cost.compared - cost.in_vain, found(0.6), "{}", choice.name());
        }
    }

    #[test]
    fn a_key_given_twice_is_one_document() {
        let sketcher = Sketcher::new(&Params::builder().lane_bits(16).build().unwrap());
        let mut sample = Sample::default();
        for text in ["one two three", "four five six"] {
            sample.add(b"k".to_vec(), &sketcher.text(text).unwrap());
        }
        sample.add(b"l".to_vec(), &sketcher.text("four five six").unwrap());
        let pairs = [(b"k".to_vec(), b"l".to_vec()), (b"k".to_vec(), b"none".to_vec())];
        let agreements = sample.agreements(&pairs);
        assert_eq!((sample.len(), agreements.len()), (2, 1));
        assert_eq!(agreements[0].whole, [u64::MAX; 2]);
    }
}
