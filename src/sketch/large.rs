//! Large texts, section by section: what is made of a section is dealt out while it is in the
//! cache, and memory is needed for hashes of shingles only.
//!
//! Knows where a text may be cut so that its sections have the units and windows of the whole.

use super::many::Many;
use super::simd::Processor;
use super::{distinct, hash};
use crate::Shingles;

/// Shorter texts are sketched at once.
pub(crate) const BYTES_MIN: usize = 256 << 10;
/// A section is a little longer than this.
const SECTION: usize = 32 << 10;
/// Bytes for each shingle of words, in most texts.
const BYTES_OF_WORD: usize = 6;

/// A text on its way.
#[derive(Debug)]
pub(crate) struct Large {
    many: Many,
    section: usize,
    width: usize,
    /// The unit that stands between two sections.
    between: Option<u64>,
    /// The last units of the section before, which windows begin with.
    tail: Vec<u64>,
    /// Whether there was a window.
    begun: bool,
}

impl Large {
    /// For a text of so many bytes. `None` for units that a blank may be within.
    pub(crate) fn new(shingles: Shingles, blank: u64, bytes: usize) -> Option<Self> {
        let (between, expected) = match shingles {
            Shingles::Words(_) | Shingles::Tokens(_) => (None, bytes / BYTES_OF_WORD),
            Shingles::Chars(_) => (Some(blank), bytes),
            Shingles::Lines(_) | Shingles::Items => return None,
        };
        let many = Many::new(expected);
        let width = shingles.units();
        Some(Self { many, section: SECTION, width, between, tail: Vec::new(), begun: false })
    }

    /// With sections of other lengths.
    #[cfg(test)]
    pub(crate) fn with_section(self, section: usize) -> Self {
        Self { section, ..self }
    }

    /// The first section of a text, and what follows the blank behind it. The blank is one of
    /// ASCII between two letters of ASCII: no rule of normalisation or of word boundaries sees
    /// both its sides, and white space is not made single there.
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

    /// Takes the units of a section, and those that were left in `units`: their windows are dealt
    /// out, and the units that the next windows begin with are left.
    #[inline(always)]
    pub(crate) fn deal(
        &mut self,
        units: &mut Vec<u64>,
        is_last: bool,
        processor: Option<Processor>,
    ) {
        if !is_last {
            units.extend(self.between);
        }
        // Fewer units than a window is wide are one, if they are all.
        if units.len() < self.width && (self.begun || !is_last) {
            if is_last {
                units.clear();
            }
            return;
        }
        self.tail.clear();
        self.tail.extend_from_slice(&units[(units.len() + 1).saturating_sub(self.width)..]);
        hash::windows(units, self.width, processor);
        distinct::deal(units, &mut self.many, processor);
        self.begun = true;
        units.clear();
        if !is_last {
            units.extend_from_slice(&self.tail);
        }
    }

    /// The hashes of the shingles, each once, into `out`, which is empty.
    pub(crate) fn finish(self, out: &mut Vec<u64>) {
        self.many.finish(out);
    }
}
