//! The shingles of a text with their words, for people.

use std::fmt;

use super::hash::{finalise, sum_of};
use super::inner::Inner;
use super::sketcher::Sketcher;
use crate::{Error, Result, Shingles};

/// The shingles of a text in order, as they are compared: see [`Sketcher::text_shingles`].
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextShingles {
    /// The units of the text (words, tokens, characters or lines), normalised, without stop words.
    pub units: Vec<String>,
    /// The hash of each shingle. Shingle `i` begins with unit `i`.
    pub hashes: Vec<u64>,
    width: usize,
    between: &'static str,
}

impl fmt::Debug for TextShingles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextShingles({} of {} units)", self.hashes.len(), self.units.len())
    }
}

impl TextShingles {
    /// The units of `count` consecutive shingles from the shingle `first` on.
    pub fn text(&self, first: usize, count: usize) -> String {
        let end = (first + count + self.width).saturating_sub(1).min(self.units.len());
        self.units.get(first..end).unwrap_or_default().join(self.between)
    }
}

impl Sketcher {
    /// The shingles of a text with their units, repeats and common shingles included. For messages
    /// and tools: takes more time and memory than a signature. A text without units has none.
    ///
    /// # Errors
    ///
    /// `Invalid` if the parameters are for items, or are of an external scheme.
    pub fn text_shingles(&self, text: &str) -> Result<TextShingles> {
        self.check_made_here()?;
        let Inner { shingles, units, unit, stop, .. } = &*self.inner;
        let between = match shingles {
            Shingles::Words(_) | Shingles::Tokens(_) => " ",
            Shingles::Chars(_) => "",
            Shingles::Lines(_) => "\n",
            Shingles::Items => {
                return Err(Error::invalid("the parameters are for items, which are not cut"));
            }
        };
        let mut found: Vec<(u64, String)> = Vec::new();
        units.each(text, *shingles, |text| {
            let hash = unit.hash_bytes(text.as_bytes());
            if stop.binary_search(&hash).is_err() {
                found.push((hash, text.to_owned()));
            }
        });
        let (unit_hashes, units): (Vec<u64>, Vec<String>) = found.into_iter().unzip();
        let width = shingles.units().min(unit_hashes.len()).max(1);
        let hashes = unit_hashes.windows(width).map(|window| finalise(sum_of(window))).collect();
        Ok(TextShingles { units, hashes, width, between })
    }
}
