//! The steps of a sketch, one by one, with buffers of their own: for tests.

use unicode_segmentation::UnicodeSegmentation;

use crate::sketch::split::{Cut, Kind, Split};
use crate::sketch::unit::UnitHash;
use crate::sketch::{distinct, fast, textbook, words};

pub(super) fn unit(bytes: &[u8], seed: u64) -> u64 {
    UnitHash::new(seed).of(bytes)
}

/// The words of a text, its letters as they are.
pub(super) fn words(text: &str) -> Vec<String> {
    let cut = Cut { kind: Kind::Words, lower: false };
    let words = |stretch: &str| {
        if stretch.is_ascii() {
            Split::units(stretch, cut)
        } else {
            stretch.unicode_words().map(str::to_owned).collect()
        }
    };
    words::stretches(text).flat_map(words).collect()
}

pub(super) fn set(sums: &mut Vec<u64>) {
    distinct::set(sums, &mut distinct::Seen::default(), None);
}

pub(super) fn fast_values(hashes: &[u64], rows: usize) -> Vec<u64> {
    let mut values = vec![7; rows];
    fast::values(&mut hashes.to_vec(), &mut values, &mut Vec::new(), None);
    values
}

pub(super) fn textbook_values(hashes: &[u64], functions: &[textbook::Function]) -> Vec<u64> {
    let mut values = vec![7; functions.len()];
    textbook::values(hashes, functions, &mut values);
    values
}
