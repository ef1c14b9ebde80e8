//! What many texts begin or end with: notices, licences, menus.
//!
//! Pure: knows texts only.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Minimum length of a sentence that counts, in bytes.
const SENTENCE_MIN: usize = 30;
/// Minimum share and number of the texts that have a sentence of boilerplate.
const SHARE_MIN: f64 = 0.03;
const TEXTS_MIN: usize = 10;

/// Hashes of the first two and the last two sentences or lines of a text; 0 for those it lacks.
pub(super) type Ends = [u64; 4];

pub(super) fn ends(text: &str) -> Ends {
    let is_long = |one: &&str| one.len() >= SENTENCE_MIN;
    let sentences = || text.split(['\n', '.', '!', '?']).map(str::trim).filter(is_long);
    let hash = |one: &str| {
        let mut hash = DefaultHasher::new();
        one.hash(&mut hash);
        hash.finish()
    };
    let mut ends = [0; 4];
    let chosen = sentences().take(2).chain(sentences().rev().take(2));
    ends.iter_mut().zip(chosen.map(hash)).for_each(|(end, hash)| *end = hash);
    ends
}

/// Number of different texts that have a sentence of many others. Each text comes with a hash of
/// its words: copies count once.
pub(super) fn texts_with(texts: &[(u64, Ends)]) -> usize {
    let distinct = || {
        let mut seen = HashSet::new();
        texts.iter().filter(move |(words, _)| seen.insert(*words)).map(|(_, ends)| {
            let ends: HashSet<u64> = ends.iter().copied().filter(|end| *end != 0).collect();
            ends
        })
    };
    let (mut counts, mut all) = (HashMap::<u64, usize>::new(), 0_usize);
    for ends in distinct() {
        all += 1;
        for end in ends {
            *counts.entry(end).or_default() += 1;
        }
    }
    let is_common = |end: &u64| {
        let count = counts.get(end).copied().unwrap_or(0);
        count >= TEXTS_MIN && count as f64 >= SHARE_MIN * all as f64
    };
    distinct().filter(|ends| ends.iter().any(is_common)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_notice_are_counted_and_copies_are_not() {
        let notice = "This text may be copied by members of the agency only";
        let own = |at: usize| format!("What number {at} says is said by no other one at all. ");
        let count = |texts: Vec<String>| {
            let hashed = texts.iter().map(|text| {
                let mut hash = DefaultHasher::new();
                text.hash(&mut hash);
                (hash.finish(), ends(text))
            });
            texts_with(&hashed.collect::<Vec<_>>())
        };
        let with_notice = |at: usize| own(at) + if at.is_multiple_of(5) { notice } else { "" };
        assert_eq!(count((0..100).map(with_notice).collect()), 20);
        assert_eq!(count((0..100).map(own).collect()), 0);
        assert_eq!(count(vec![own(1) + notice; 100]), 0);
    }
}
