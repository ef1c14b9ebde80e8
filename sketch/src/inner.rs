//! From a text or window sums to a signature: the steps, and what they need of the parameters.

use super::common::CommonSet;
use super::large::{self, Large};
use super::scratch::{self, Rows, Scratch};
use super::signature::Signature;
use super::simd::Processor;
use super::variety::{Repeats, Variety};
use super::{distinct, fast, lane, normalise, split, textbook, unit, units, windows};
use crate::{Params, Scheme, Shingles};

/// What a sketcher has of its parameters.
pub(crate) struct Inner {
    pub(crate) id: u64,
    pub(crate) rows: usize,
    pub(crate) lane_bits: u32,
    pub(crate) scheme: Scheme,
    pub(crate) shingles: Shingles,
    pub(crate) bag: bool,
    pub(crate) unit: unit::UnitHash,
    pub(crate) units: units::Units,
    /// Unit hashes of the stop words, sorted.
    pub(crate) stop: Vec<u64>,
    /// The common shingles, which are left out, if there is a list.
    common: Option<Box<CommonSet>>,
    /// The hash functions of the textbook scheme; empty for others.
    pub(crate) functions: textbook::Functions,
    /// Proof of the processor's SIMD support; `None` selects the portable code.
    pub(crate) processor: Option<Processor>,
}

impl Inner {
    pub(crate) fn new(params: &Params) -> Self {
        let functions = match params.scheme() {
            // The others have no hash functions.
            Scheme::Fast | Scheme::External(_) | Scheme::Winnow => textbook::Functions::default(),
            Scheme::Textbook => textbook::Functions::new(params.hashes(), params.seed()),
        };
        let unit = unit::UnitHash::new(params.seed());
        let units = units::Units::new(normalise::Rules::new(params), unit);
        Self {
            id: params.signature_id(),
            rows: params.hashes(),
            lane_bits: params.lane_bits(),
            scheme: params.scheme(),
            shingles: params.shingles(),
            bag: params.bag(),
            unit,
            stop: stop_hashes(params, &units),
            units,
            common: params.common().map(|common| Box::new(CommonSet::new(common))),
            functions,
            processor: Processor::detect(),
        }
    }

    /// The signature of a text, `None` if it has no units. Inlined into functions that are compiled
    /// for several processors.
    #[inline(always)]
    pub(crate) fn text(
        &self,
        processor: Option<Processor>,
        text: &str,
        scratch: &mut Scratch,
    ) -> Option<Signature> {
        self.cut(processor, text, scratch);
        self.sign(processor, &mut scratch.sums, &mut scratch.rows)
    }

    /// The signature of a text without units: its only shingle is its normalised text. `None` if it
    /// is blank.
    #[cold]
    pub(crate) fn whole_text(&self, text: &str, scratch: &mut Scratch) -> Option<Signature> {
        scratch.sums.clear();
        scratch.sums.push(self.units.whole(text)?);
        self.sign(None, &mut scratch.sums, &mut scratch.rows)
    }

    /// The window sums of a text in order, including repeats, without those of common shingles.
    #[inline(always)]
    pub(crate) fn cut(&self, processor: Option<Processor>, text: &str, scratch: &mut Scratch) {
        let Scratch { sums, split, .. } = scratch;
        sums.clear();
        self.units_of(processor, text, split, sums);
        windows::windows(sums, self.shingles.units(), processor);
        self.drop_common(sums);
    }

    /// Whether the shingle with this hash is in the list of common ones.
    pub(crate) fn is_common(&self, hash: u64) -> bool {
        self.common.as_ref().is_some_and(|common| common.contains(hash))
    }

    /// Drops the window sums of common shingles, unless there are no others.
    #[inline(always)]
    pub(crate) fn drop_common(&self, sums: &mut Vec<u64>) {
        if let Some(common) = &self.common {
            common.drop_from(sums);
        }
    }

    /// Same as `text`, section by section.
    #[inline(always)]
    pub(crate) fn large_text(
        &self,
        processor: Option<Processor>,
        text: &str,
        mut large: Large,
        scratch: &mut Scratch,
    ) -> Option<Signature> {
        let Scratch { sums, split, rows: Rows { picked, values, shingles, .. } } = scratch;
        sums.clear();
        let mut rest = text;
        while !rest.is_empty() {
            let section;
            (section, rest) = large.section(rest);
            self.units_of(processor, section, split, sums);
            large.deal(sums, rest.is_empty(), processor);
        }
        *shingles = large.finish(sums);
        if sums.is_empty() {
            return None;
        }
        values.resize(self.rows, 0);
        Some(self.sign_distinct(processor, sums, picked, values))
    }

    /// Counts the repeats of a text, of a large one section by section: all its windows together
    /// take more memory than the text.
    pub(crate) fn count_repeats(
        &self,
        text: &str,
        usual: Variety,
        scratch: &mut Scratch,
    ) -> Variety {
        let mut repeats = Repeats::new(usual);
        let Some(mut large) = self.large(text) else {
            self.cut(None, text, scratch);
            repeats.add(&scratch.sums);
            return repeats.finish();
        };
        let Scratch { sums, split, .. } = scratch;
        sums.clear();
        let mut rest = text;
        while !rest.is_empty() {
            let section;
            (section, rest) = large.section(rest);
            let is_last = rest.is_empty();
            self.units_of(None, section, split, sums);
            if large.windows(sums, is_last, None) {
                repeats.add(sums);
                large.carry_over(sums, is_last);
            }
        }
        repeats.finish()
    }

    /// Appends the unit hashes of a text, without stop words.
    #[inline(always)]
    fn units_of(
        &self,
        processor: Option<Processor>,
        text: &str,
        split: &mut split::Split,
        units: &mut Vec<u64>,
    ) {
        self.units.of_text(text, self.shingles, split, processor, units);
        if !self.stop.is_empty() {
            units.retain(|unit| self.stop.binary_search(unit).is_err());
        }
    }

    /// The state for sketching a text section by section, if the text is long enough.
    #[inline]
    pub(crate) fn large(&self, text: &str) -> Option<Large> {
        // Only the whole text shows whether it has other shingles than common ones.
        if text.len() < large::BYTES_MIN || self.bag || self.common.is_some() {
            return None;
        }
        Large::new(self.shingles, self.units.blank(), text.len())
    }

    /// Computes a signature from window sums, `None` if there are none.
    #[inline(always)]
    pub(crate) fn sign(
        &self,
        processor: Option<Processor>,
        sums: &mut Vec<u64>,
        rows: &mut Rows,
    ) -> Option<Signature> {
        if sums.is_empty() {
            return None;
        }
        let Rows { seen, picked, values, shingles } = rows;
        *shingles = sums.len();
        values.resize(self.rows, 0);
        if self.functions.rows() == 0
            && !self.bag
            && let Some((slots, own)) = fast::usual(values, sums.len(), processor)
        {
            distinct::set(sums, seen, |hash| fast::begin(slots, hash));
            fast::go_on(sums, slots, picked, own);
            return Some(self.signature(sums.len(), values));
        }
        if self.bag {
            distinct::bag(sums);
        } else {
            distinct::set(sums, seen, |_| ());
        }
        Some(self.sign_distinct(processor, sums, picked, values))
    }

    /// Computes a signature from distinct hashes. `values` has one element per row.
    #[inline(always)]
    fn sign_distinct(
        &self,
        processor: Option<Processor>,
        hashes: &mut Vec<u64>,
        picked: &mut Vec<u64>,
        values: &mut [u64],
    ) -> Signature {
        if self.functions.rows() == 0 {
            fast::values(hashes, values, picked, processor);
        } else {
            self.functions.values(hashes, values);
        }
        self.signature(hashes.len(), values)
    }

    #[inline(always)]
    fn signature(&self, shingles: usize, values: &[u64]) -> Signature {
        let count = u32::try_from(shingles).unwrap_or(u32::MAX);
        Signature::new(self.id, self.lane_bits, count, lane::store(values, self.lane_bits))
    }
}

/// The unit hashes of all stop words, sorted.
fn stop_hashes(params: &Params, units: &units::Units) -> Vec<u64> {
    let mut hashes = Vec::new();
    scratch::with(|Scratch { split, sums, .. }| {
        for word in params.stop_words() {
            sums.clear();
            units.of_text(word, params.shingles(), split, None, sums);
            hashes.extend_from_slice(sums);
        }
    });
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
