//! Fingerprints as documents of the engine: each document has a row, and a band, per *slot*, and a
//! fingerprint lies in one of its two slots. A text has as many documents as its fullest slot
//! needs.
//!
//! Pure. `docs/reference/FILE_FORMAT.md` is normative.

use super::table::WordTable;
use crate::{Params, Result, Scheme, Signature};
use nearkin_sketch::engine::{Fingerprint, Winnowed, Winnower, signature_from_parts};

/// Number of slots of a document: the rows of its signature.
pub(super) const SLOTS: usize = 32;
/// The rows of empty slots, by their two highest bits, so that no stored row equals one of a query.
const EMPTY_STORED: u32 = 0b10 << 30;
const EMPTY_ASKED: u32 = 0b11 << 30;

/// A fingerprint as it is stored: 31 bits of its hash, and one of its two slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Print {
    value: u32,
    slot: usize,
}

impl Print {
    fn new(of: &Fingerprint) -> Self {
        let [low, .., d, c, b, a] = of.hash.to_le_bytes();
        let value = u32::from_le_bytes([d, c, b, a]) >> 1;
        Self { value, slot: usize::from(low) % SLOTS }.least()
    }

    /// The other slot follows from the slot and the value, so a stored row tells both.
    fn other(self) -> usize {
        self.slot ^ (1 + self.value as usize % (SLOTS - 1))
    }

    /// The same with the smaller slot.
    fn least(self) -> Self {
        Self { slot: self.slot.min(self.other()), ..self }
    }

    /// The fingerprints of a stored document.
    pub(super) fn stored(signature: &Signature) -> impl Iterator<Item = Self> + '_ {
        let rows = signature.rows().enumerate();
        rows.filter_map(|(slot, row)| {
            let value = u32::try_from(row).ok().filter(|value| *value < EMPTY_STORED)?;
            Some(Self { value, slot }.least())
        })
    }
}

/// Makes the documents of texts, and those that ask for them.
#[derive(Debug, Clone)]
pub(super) struct Prints {
    winnower: Winnower,
    params: Params,
    /// Number of words of a run that is found for certain.
    pub(super) run: usize,
}

impl Prints {
    /// `None` if the parameters have no fingerprints.
    pub(super) fn new(params: &Params) -> Result<Option<Self>> {
        let Some(windows) = params.passages().filter(|_| params.scheme() == Scheme::Winnow) else {
            return Ok(None);
        };
        let run = windows.window();
        let winnower = Winnower::new(params, run)?;
        Ok(Some(Self { winnower, params: params.clone(), run }))
    }

    pub(super) fn cut(&self, text: &str) -> Winnowed {
        self.winnower.winnow(text)
    }

    /// The signatures and the table of a text that is to be stored, at least one.
    pub(super) fn stored(&self, text: &Winnowed) -> (Vec<Signature>, WordTable) {
        let mut slots: [Vec<u32>; SLOTS] = Default::default();
        for print in distinct(&text.fingerprints) {
            let (one, other) = (print.slot, print.other());
            let slot = if slots[one].len() <= slots[other].len() { one } else { other };
            slots[slot].push(print.value);
        }
        level(&mut slots);
        (self.signatures(&slots, 1, EMPTY_STORED, text.words.len()), WordTable::new(&text.words))
    }

    /// The signature of a document without fingerprints.
    pub(super) fn empty(&self, words: usize) -> Signature {
        let words = u32::try_from(words).unwrap_or(u32::MAX);
        let rows = (0..SLOTS).flat_map(|slot| (EMPTY_STORED | filler(0, slot)).to_le_bytes());
        signature_from_parts(&self.params, words, rows.collect())
    }

    /// The signatures that ask for all shingles of a text, each in both of its slots: then a short
    /// stored text, which has one fingerprint, is found in a long query.
    pub(super) fn asked(&self, text: &Winnowed) -> Vec<Signature> {
        let mut slots: [Vec<u32>; SLOTS] = Default::default();
        for print in distinct(&text.shingles) {
            slots[print.slot].push(print.value);
            slots[print.other()].push(print.value);
        }
        self.signatures(&slots, 0, EMPTY_ASKED, text.words.len())
    }

    /// The n-th document has the n-th value of each slot.
    fn signatures(
        &self,
        slots: &[Vec<u32>; SLOTS],
        least: usize,
        empty: u32,
        words: usize,
    ) -> Vec<Signature> {
        let count = slots.iter().map(Vec::len).max().unwrap_or(0).max(least);
        let words = u32::try_from(words).unwrap_or(u32::MAX);
        let first = slots.iter().flatten().next().copied().unwrap_or_default();
        let one = |number: usize| {
            let rows = slots.iter().enumerate().flat_map(|(slot, values)| {
                let value = values.get(number).copied();
                value.unwrap_or_else(|| empty | filler(first, number * SLOTS + slot)).to_le_bytes()
            });
            signature_from_parts(&self.params, words, rows.collect())
        };
        (0..count).map(one).collect()
    }
}

/// 30 bits that differ from one empty slot to the next: equal ones would crowd one bucket.
fn filler(first: u32, place: usize) -> u32 {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    (first ^ place.wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b) >> 2
}

/// Moves values to their other slot, as long as the fullest slot gets emptier.
fn level(slots: &mut [Vec<u32>; SLOTS]) {
    loop {
        let fullest = slots.iter().map(Vec::len).max().unwrap_or(0);
        let mut has_moved = false;
        for slot in 0..SLOTS {
            if slots[slot].len() < fullest {
                continue;
            }
            let to = |value: u32| Print { value, slot }.other();
            let movable = |value: &u32| slots[to(*value)].len() + 2 <= fullest;
            if let Some(at) = slots[slot].iter().position(movable) {
                let value = slots[slot].remove(at);
                slots[to(value)].push(value);
                has_moved = true;
            }
        }
        let still = slots.iter().map(Vec::len).max().unwrap_or(0);
        if !has_moved || still == fullest {
            return;
        }
    }
}

fn distinct(of: &[Fingerprint]) -> Vec<Print> {
    let mut prints: Vec<Print> = of.iter().map(Print::new).collect();
    prints.sort_unstable();
    prints.dedup();
    prints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use std::collections::BTreeSet;

    fn prints() -> Prints {
        Prints::new(&Params::preset(Preset::Quotes).build().unwrap()).unwrap().unwrap()
    }

    fn text(words: u64) -> String {
        (0..words).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn each_fingerprint_lies_in_one_slot_and_is_asked_for_in_both() {
        let prints = prints();
        for words in [0, 1, 5, 9, 300, 3_000] {
            let cut = prints.cut(&text(words));
            let (stored, asked) = (prints.stored(&cut).0, prints.asked(&cut));
            let expected: BTreeSet<Print> = cut.fingerprints.iter().map(Print::new).collect();
            let found: Vec<Print> = stored.iter().flat_map(Print::stored).collect();
            assert_eq!(found.len(), expected.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
            let rows = |all: &[Signature]| -> BTreeSet<(usize, u64)> {
                all.iter().flat_map(|one| one.rows().enumerate().collect::<Vec<_>>()).collect()
            };
            let (stored, asked) = (rows(&stored), rows(&asked));
            let shared = stored.intersection(&asked).count();
            assert_eq!(shared, expected.len(), "{words} words: nothing but fingerprints is equal");
        }
    }

    #[test]
    fn slots_are_filled_evenly() {
        let prints = prints();
        let cut = prints.cut(&text(3_000));
        let (count, documents) = (cut.fingerprints.len(), prints.stored(&cut).0.len());
        assert!(documents <= count.div_ceil(SLOTS) + 1, "{count} in {documents}");
    }
}
