//! Computes the signature of a text or set. `Sketcher` is the entry point.
//!
//! Pure: no I/O, no clock, and no state between calls except empty buffers.
#![expect(
    clippy::inline_always,
    reason = "what `simd` inlines is compiled for the processor that is found, nothing else"
)]

use std::fmt;
use std::sync::Arc;

use crate::{Error, ErrorKind, Params, Result, Scheme, Shingles};

mod band;
mod compare;
mod distinct;
mod fast;
mod few;
mod fold;
mod hash;
mod item;
mod items;
mod lane;
mod large;
mod many;
mod masks;
mod normalise;
mod original;
mod scratch;
mod signature;
mod simd;
mod split;
mod textbook;
mod unit;
mod units;
mod variety;
mod words;

pub(crate) use band::{band_key, key_hash};
#[cfg(test)]
pub(crate) use compare::equal_rows;
pub(crate) use compare::{
    Agreement, BitWindow, count_equal_rows, equal_bits, first_shared_band, shares_a_band,
};
pub use item::{Item, ItemHash};
pub(crate) use lane::{convert as convert_lanes, is_convertible as lanes_are_convertible};
use large::Large;
pub(crate) use normalise::unicode_versions;
pub use original::{Original, Overlap};
pub(crate) use original::{needed_for_containment, needed_for_similarity};
use scratch::{Rows, Scratch};
pub use signature::Signature;
use simd::Processor;
use variety::Repeats;
pub use variety::Variety;

/// Makes signatures. Pure: the same input gives the same bytes on every machine. Cloning increments
/// a reference count, and threads may share one `Sketcher`.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Params, Sketcher};
///
/// let sketcher = Sketcher::new(&Params::for_threshold(0.7).build()?);
/// let text = sketcher.text("the quick brown fox jumps over the lazy dog")?;
/// let same = sketcher.text("The quick brown fox jumps over the lazy dog!")?;
/// assert_eq!(text.as_bytes(), same.as_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sketcher {
    inner: Arc<Inner>,
}

struct Inner {
    id: u64,
    rows: usize,
    lane_bits: u32,
    scheme: Scheme,
    shingles: Shingles,
    bag: bool,
    unit: unit::UnitHash,
    units: units::Units,
    /// Unit hashes of the stop words, sorted.
    stop: Vec<u64>,
    /// The hash functions of the textbook scheme; empty for others.
    functions: textbook::Functions,
    /// Proof of the processor's SIMD support; `None` selects the portable code.
    processor: Option<Processor>,
}

impl fmt::Debug for Sketcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { rows, lane_bits, scheme, shingles, .. } = &*self.inner;
        write!(f, "Sketcher({scheme}, {shingles}, {rows} rows of {lane_bits} bits)")
    }
}

impl Sketcher {
    /// A sketcher for indexes with these parameters.
    pub fn new(params: &Params) -> Self {
        let functions = match params.scheme() {
            // An external scheme has no hash functions.
            Scheme::Fast | Scheme::External(_) => textbook::Functions::default(),
            Scheme::Textbook => textbook::Functions::new(params.hashes(), params.seed()),
        };
        let unit = unit::UnitHash::new(params.seed());
        let units = units::Units::new(normalise::Rules::new(params), unit);
        let inner = Inner {
            id: params.signature_id(),
            rows: params.hashes(),
            lane_bits: params.lane_bits(),
            scheme: params.scheme(),
            shingles: params.shingles(),
            bag: params.bag(),
            unit,
            stop: stop_hashes(params, &units),
            units,
            functions,
            processor: Processor::detect(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The signature of a text.
    ///
    /// # Errors
    ///
    /// `Empty` if it is blank: normalised, it has white space at most. `Invalid` if the parameters
    /// are for items, or are of an external scheme.
    pub fn text(&self, text: &str) -> Result<Signature> {
        scratch::with(|scratch| self.text_in(text, scratch))
    }

    /// Same as `text`, but `None` for a text without units, even if it is not blank.
    pub(crate) fn text_with_units(&self, text: &str) -> Result<Option<Signature>> {
        scratch::with(|scratch| self.units_in(text, scratch))
    }

    #[inline]
    fn text_in(&self, text: &str, scratch: &mut Scratch) -> Result<Signature> {
        match self.units_in(text, scratch)? {
            Some(signature) => Ok(signature),
            None => self.inner.whole_text(text, scratch).ok_or_else(blank),
        }
    }

    #[inline]
    fn units_in(&self, text: &str, scratch: &mut Scratch) -> Result<Option<Signature>> {
        let inner = &*self.inner;
        self.check_made_here()?;
        if inner.shingles == Shingles::Items {
            return Err(Error::invalid(
                "the parameters are for items; a text needs other shingles",
            ));
        }
        Ok(match (inner.large(text), inner.processor) {
            (None, Some(processor)) => processor.text(inner, text, scratch),
            (None, None) => inner.text(None, text, scratch),
            (Some(large), Some(processor)) => processor.large_text(inner, text, large, scratch),
            (Some(large), None) => inner.large_text(None, text, large, scratch),
        })
    }

    /// The signature of a text and the variety of its shingles, which says whether the set of
    /// shingles is too small to tell texts of this kind apart ([`Variety::is_too_small`]).
    ///
    /// Costs the same as [`Sketcher::text`], unless at least a third of the shingles are repeats:
    /// then the text is cut into shingles a second time.
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::text`].
    pub fn text_with_variety(&self, text: &str) -> Result<(Signature, Variety)> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            let distinct = scratch.sums.len();
            let usual = Variety::of_usual(scratch.rows.shingles, distinct);
            if !usual.is_suspect() {
                return Ok((signature, usual));
            }
            Ok((signature, self.inner.count_repeats(text, usual, scratch)))
        })
    }

    /// The signature of a text with all its shingles, for exact comparison. Costs an additional
    /// sort of the shingles.
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::text`].
    pub fn original_text(&self, text: &str) -> Result<Original> {
        scratch::with(|scratch| {
            let signature = self.text_in(text, scratch)?;
            Ok(Original::new(signature, &scratch.sums))
        })
    }

    /// The signature with the given row values (u32 or u64), which another program computed.
    ///
    /// # Errors
    ///
    /// Same as [`Signature::from_rows`].
    pub fn rows<T: Into<u64> + Copy>(&self, rows: &[T], shingle_count: u32) -> Result<Signature> {
        let Inner { id, scheme, rows: hashes, lane_bits, .. } = *self.inner;
        Signature::of_rows((id, scheme, hashes, lane_bits), rows, shingle_count)
    }

    #[inline]
    fn check_made_here(&self) -> Result<()> {
        match self.inner.scheme {
            Scheme::Fast | Scheme::Textbook => Ok(()),
            Scheme::External(_) => Err(self.made_elsewhere()),
        }
    }

    #[cold]
    fn made_elsewhere(&self) -> Error {
        let scheme = self.inner.scheme;
        Error::invalid(format!(
            "signatures of {scheme} come from another program; give rows, not texts or items"
        ))
    }
}

impl Inner {
    /// The signature of a text, `None` if it has no units. Inlined into functions that are compiled
    /// for several processors.
    #[inline(always)]
    fn text(
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
    fn whole_text(&self, text: &str, scratch: &mut Scratch) -> Option<Signature> {
        scratch.sums.clear();
        scratch.sums.push(self.units.whole(text)?);
        self.sign(None, &mut scratch.sums, &mut scratch.rows)
    }

    /// The window sums of a text in order, including repeats.
    #[inline(always)]
    fn cut(&self, processor: Option<Processor>, text: &str, scratch: &mut Scratch) {
        let Scratch { sums, split, .. } = scratch;
        sums.clear();
        self.units_of(processor, text, split, sums);
        hash::windows(sums, self.shingles.units(), processor);
    }

    /// Same as `text`, section by section.
    #[inline(always)]
    fn large_text(
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
    fn count_repeats(&self, text: &str, usual: Variety, scratch: &mut Scratch) -> Variety {
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
    fn large(&self, text: &str) -> Option<Large> {
        if text.len() < large::BYTES_MIN || self.bag {
            return None;
        }
        Large::new(self.shingles, self.units.blank(), text.len())
    }

    /// Computes a signature from window sums, `None` if there are none.
    #[inline(always)]
    fn sign(
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

#[cold]
fn blank() -> Error {
    Error::new(ErrorKind::Empty, "nothing to compare: the text is blank")
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

#[cfg(test)]
pub(crate) mod tests;
#[cfg(all(fuzzing, not(test)))]
pub(crate) mod tests;
