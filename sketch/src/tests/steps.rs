//! The single steps of sketching, each with its own buffers, for tests.

use crate::distinct::{self, Seen};
use crate::masks::{Cut, UnitKind};
use crate::split::Split;
use crate::unit::UnitHash;
use crate::{fast, textbook, unicode, words};

pub(super) fn unit(bytes: &[u8], seed: u64) -> u64 {
    UnitHash::new(seed).hash_bytes(bytes)
}

/// The words of a text, with unchanged letters.
pub(super) fn words(text: &str) -> Vec<String> {
    let cut = Cut { kind: UnitKind::Words, lower: false };
    let words = |stretch: &str| {
        if stretch.is_ascii() {
            Split::units(stretch, cut)
        } else {
            unicode::words::words(stretch).map(|(_, word)| word.to_owned()).collect()
        }
    };
    words::stretches(text).flat_map(words).collect()
}

/// Removes repeats.
pub(super) fn set(sums: &mut Vec<u64>) {
    distinct::set(sums, &mut Seen::default(), |_| ());
}

pub(super) fn fast_values(hashes: &[u64], rows: usize) -> Vec<u64> {
    let mut values = vec![7; rows];
    fast::values(&mut hashes.to_vec(), &mut values, &mut Vec::new(), None);
    values
}

pub(super) fn textbook_values(hashes: &[u64], functions: &textbook::Functions) -> Vec<u64> {
    let mut values = vec![7; functions.rows()];
    functions.values(hashes, &mut values);
    values
}
