//! The windows of a passage index: length and stride in words.
//!
//! This module only defines the windows; `passages` cuts the texts.

use std::fmt;
use std::str::FromStr;

use super::Params;
use super::shape::{Scheme, Shingles};
use crate::{Error, Result};

/// Maximum length of a window in words.
const WINDOW_WORDS_MAX: u32 = 1 << 20;

/// The windows that texts are cut into. `200:100` means windows of 200 words, one every 100 words.
/// With [`Scheme::Winnow`](super::Scheme::Winnow), `8:1` means every run of 8 words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Windows {
    window: u32,
    stride: u32,
}

impl Windows {
    /// Every run of eight words: what [`Preset::Quotes`](super::Preset::Quotes) finds.
    pub(super) const QUOTES: Self = Self { window: 8, stride: 1 };

    /// Windows of `window` words (1 to 2^20), one every `stride` words (1 to `window`, so that
    /// every word is in a window).
    ///
    /// # Errors
    ///
    /// `Invalid` if a number is outside its range.
    pub fn new(window: u32, stride: u32) -> Result<Self> {
        if !(1..=WINDOW_WORDS_MAX).contains(&window) || !(1..=window).contains(&stride) {
            return Err(Error::invalid(format!(
                "a window has 1 to {WINDOW_WORDS_MAX} words, and the stride is at most the \
                 window; not {window}:{stride}"
            )));
        }
        Ok(Self { window, stride })
    }

    /// The length of a window, in words.
    pub fn window(self) -> usize {
        self.window as usize
    }

    /// The distance between the starts of two consecutive windows, in words.
    pub fn stride(self) -> usize {
        self.stride as usize
    }

    /// The distance between the starts of two consecutive windows of a query: a quarter of the
    /// stride.
    pub(crate) fn query_stride(self) -> usize {
        (self.stride() / 4).max(1)
    }

    pub(super) fn parts(self) -> (u32, u32) {
        (self.window, self.stride)
    }

    /// Returns an error if the shingles are not words, which passages need. Fingerprints may be of
    /// tokens, too.
    pub(super) fn validate(self, shingles: Shingles, scheme: Scheme) -> Result<()> {
        match shingles {
            Shingles::Words(units) if units <= self.window => Ok(()),
            Shingles::Tokens(units) if units <= self.window && scheme == Scheme::Winnow => Ok(()),
            Shingles::Words(units) | Shingles::Tokens(units) if units > self.window => {
                Err(Error::invalid(format!(
                    "passages of {} words have no shingle of {units} words",
                    self.window
                )))
            }
            _ => Err(Error::invalid(format!(
                "passages are cut at words and need shingles of words; these are {shingles}"
            ))),
        }
    }
}

/// Maximum number of start positions within a stride over which the estimate averages.
const BEGINS: usize = 8;

impl Params {
    /// The length in words from which a quotation is found at `threshold` with the probability
    /// [`Params::recall_target`]. Returns `None` for an index of documents, and if no length is
    /// found with that probability.
    ///
    /// The quotation is assumed to be verbatim, surrounded by other words, and to start at any
    /// position. Shorter quotations need smaller windows or a lower threshold.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::Params;
    ///
    /// let words = |windows: &str, threshold| {
    ///     let params = Params::for_threshold(threshold).passages(windows.parse()?).build()?;
    ///     Ok::<_, nearkin::Error>(params.quotation_words(threshold).unwrap())
    /// };
    /// assert!((25..35).contains(&words("50:25", 0.3)?));
    /// assert!((150..200).contains(&words("200:100", 0.5)?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn quotation_words(&self, threshold: f64) -> Option<usize> {
        let windows = self.passages()?;
        if self.scheme() == Scheme::Winnow {
            return Some(windows.window());
        }
        let most = windows.window() + windows.stride();
        let is_found =
            |words: usize| self.quotation_chance(windows, words, threshold) >= self.recall_target();
        let (mut below, mut enough) = (0, most);
        if !is_found(most) {
            return None;
        }
        while below + 1 < enough {
            let middle = below.midpoint(enough);
            if is_found(middle) {
                enough = middle;
            } else {
                below = middle;
            }
        }
        Some(enough)
    }

    /// The probability that a quotation of `words` words is found, averaged over all start
    /// positions.
    fn quotation_chance(&self, windows: Windows, words: usize, threshold: f64) -> f64 {
        let (window, stride) = (windows.window(), windows.stride());
        let units = self.shingles().units();
        // Number of words that a stored window has in common with the nearest query window, which
        // starts at most half the query stride away.
        let aligned = window.saturating_sub(windows.query_stride() / 2);
        let all = (window + 1).saturating_sub(units).max(1) as f64;
        let chance = |begin: usize| {
            let ends_before = |from: usize| (from + window).min(begin + words);
            // The stored windows that start at 0, at one stride and at two strides. The quotation
            // starts within the first stride.
            let shared = [0, stride, 2 * stride].map(|from| {
                let words = ends_before(from).saturating_sub(from.max(begin)).min(aligned);
                let shingles = (words + 1).saturating_sub(units) as f64;
                self.expected_recall(shingles / (2.0 * all - shingles), threshold)
            });
            shared.into_iter().fold(0.0, f64::max)
        };
        let step = stride.div_ceil(BEGINS);
        let chances: Vec<f64> = (0..stride).step_by(step).map(chance).collect();
        chances.iter().sum::<f64>() / chances.len().max(1) as f64
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.window, self.stride)
    }
}

impl FromStr for Windows {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text
            .split_once(':')
            .and_then(|(window, stride)| Some((window.parse().ok()?, stride.parse().ok()?)));
        let (window, stride) = parts.ok_or_else(|| {
            Error::invalid(format!("passages are WINDOW:STRIDE in words, as 200:100, not {text:?}"))
        })?;
        Self::new(window, stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    #[test]
    fn windows_are_read_as_they_are_written() {
        let windows: Windows = "200:100".parse().unwrap();
        assert_eq!((windows.to_string().as_str(), windows.window()), ("200:100", 200));
        for bad in ["200", "200:", "0:0", "10:11", "10:0", "2000000:1", "a:b"] {
            assert!(bad.parse::<Windows>().is_err(), "{bad}");
        }
    }

    #[test]
    fn words_of_a_quotation_grow_with_window_and_threshold() {
        let needed = |windows: &str, threshold: f64| {
            let params = Params::for_threshold(threshold).passages(windows.parse().unwrap());
            params.build().unwrap().quotation_words(threshold)
        };
        for (smaller, larger) in [
            (needed("20:10", 0.3), needed("50:25", 0.3)),
            (needed("50:25", 0.3), needed("50:25", 0.5)),
            (needed("50:25", 0.5), needed("100:50", 0.5)),
            (needed("50:10", 0.5), needed("50:50", 0.5)),
        ] {
            assert!(smaller.is_some() && smaller < larger, "{smaller:?} {larger:?}");
        }
        let documents = Params::for_threshold(0.5).build().unwrap();
        assert_eq!(documents.quotation_words(0.5), None);
        // A query window and the nearest stored window may start several words apart, and then have
        // too few shingles in common to reach 0.98.
        assert_eq!(needed("40:40", 0.98), None);
    }

    #[test]
    fn passages_are_part_of_the_id_but_not_of_the_signatures_id() {
        let plain = Params::builder().build().unwrap();
        let passages = Params::builder().passages(Windows::new(50, 25).unwrap()).build().unwrap();
        assert_eq!(plain.signature_id(), passages.signature_id());
        assert_ne!(plain.id(), passages.id());
        assert!(passages.text().ends_with(";passages=50:25"), "{}", passages.text());
        assert_eq!(plain.differences(&passages), ["passages: none here, 50:25 asked"]);
        assert_eq!(passages.to_builder().build().unwrap(), passages);
        let chars = Params::builder().shingles(Shingles::Chars(5));
        assert!(chars.passages(Windows::new(50, 25).unwrap()).build().is_err());
        let short = Params::builder().passages(Windows::new(2, 1).unwrap());
        assert!(short.build().unwrap_err().to_string().contains("no shingle"));
    }
}
