//! Sketches large texts section by section, so that a section stays in the cache, and only the
//! shingle hashes need memory.
//!
//! Cuts a text where the sections together have the same units and windows as the whole.

use super::many::Many;
use super::simd::Processor;
use super::{distinct, windows};
use crate::Shingles;

/// Shorter texts are sketched in one section.
pub(crate) const BYTES_MIN: usize = 256 << 10;
/// Minimum length of a section in bytes. A section extends to the next possible cut.
const SECTION: usize = 32 << 10;
/// Typical number of bytes per shingle of words.
const BYTES_OF_WORD: usize = 6;

/// A text that is being sketched.
#[derive(Debug)]
pub(crate) struct Large {
    many: Many,
    section: usize,
    width: usize,
    /// The hash of the space between two sections, if spaces are units (`Shingles::Chars`).
    between: Option<u64>,
    /// The last units of the previous section, where the next windows start.
    tail: Vec<u64>,
    /// Whether any section so far had a complete window.
    begun: bool,
    /// Number of windows so far, including repeats.
    shingles: usize,
}

impl Large {
    /// Starts a text of `bytes` bytes. `blank` is the hash of a space as a unit. Returns `None` for
    /// kinds of units that may contain a space.
    pub(crate) fn new(shingles: Shingles, blank: u64, bytes: usize) -> Option<Self> {
        let (between, expected) = match shingles {
            Shingles::Words(_) | Shingles::Tokens(_) => (None, bytes / BYTES_OF_WORD),
            Shingles::Chars(_) => (Some(blank), bytes),
            Shingles::Lines(_) | Shingles::Items => return None,
        };
        let many = Many::new(expected);
        let width = shingles.units();
        let (tail, section) = (Vec::new(), SECTION);
        Some(Self { many, section, width, between, tail, begun: false, shingles: 0 })
    }

    /// Sets another section length, for tests.
    #[cfg(test)]
    pub(crate) fn with_section(self, section: usize) -> Self {
        Self { section, ..self }
    }

    /// Splits a text into its first section and the rest after the following space. The space is an
    /// ASCII space between two ASCII letters: no rule of normalisation or of word boundaries looks
    /// across it, and it is not part of a longer run of white space.
    pub(crate) fn section<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let is_cut = |around: &[u8]| {
            matches!(around, [before, b' ', after]
                if before.is_ascii_alphabetic() && after.is_ascii_alphabetic())
        };
        let beyond = text.as_bytes().get(self.section..).unwrap_or_default();
        let cut = beyond.windows(3).position(is_cut).map(|at| self.section + at + 1);
        match cut.and_then(|cut| Some((text.get(..cut)?, text.get(cut + 1..)?))) {
            Some(sections) => sections,
            None => (text, ""),
        }
    }

    /// Adds the windows of a section to the result. `units` must hold the units carried over from
    /// the previous section, then those of this one. Afterwards it holds the units carried over to
    /// the next section.
    #[inline(always)]
    pub(crate) fn deal(
        &mut self,
        units: &mut Vec<u64>,
        is_last: bool,
        processor: Option<Processor>,
    ) {
        if self.windows(units, is_last, processor) {
            self.many.make_room(units.len());
            distinct::deal(units, &mut self.many);
            self.carry_over(units, is_last);
        }
    }

    /// Replaces the units of a section by its windows. If there are none yet, returns false, and
    /// `units` holds what the next section needs. Otherwise [`Large::carry_over`] must follow.
    #[inline(always)]
    pub(crate) fn windows(
        &mut self,
        units: &mut Vec<u64>,
        is_last: bool,
        processor: Option<Processor>,
    ) -> bool {
        if !is_last {
            units.extend(self.between);
        }
        // If there are too few units for a window, they wait for the next section; after the last
        // section they are dropped. Only if the whole text has too few do they form one window.
        if units.len() < self.width && (self.begun || !is_last) {
            if is_last {
                units.clear();
            }
            return false;
        }
        self.tail.clear();
        self.tail.extend_from_slice(&units[(units.len() + 1).saturating_sub(self.width)..]);
        windows::windows(units, self.width, processor);
        self.shingles += units.len();
        self.begun = true;
        true
    }

    /// Replaces the windows of a section by the units that the next section begins with.
    #[inline(always)]
    pub(crate) fn carry_over(&self, units: &mut Vec<u64>, is_last: bool) {
        units.clear();
        if !is_last {
            units.extend_from_slice(&self.tail);
        }
    }

    /// Writes the distinct shingle hashes to `out`, which must be empty. Returns the number of
    /// shingles including repeats.
    pub(crate) fn finish(self, out: &mut Vec<u64>) -> usize {
        self.many.finish(out);
        self.shingles
    }
}
