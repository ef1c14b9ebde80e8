//! How a text is cut into passages: windows of words, one every so many words.
//!
//! Does not know what a word is; `passages` does.

use std::fmt;
use std::str::FromStr;

use super::shape::Shingles;
use crate::{Error, Result};

/// Most words of a window.
const WINDOW_WORDS_MAX: u32 = 1 << 20;

/// The windows that texts are cut into: so many words each, one every so many words. Spelt
/// `200:100`: windows of 200 words, every 100 words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Windows {
    window: u32,
    stride: u32,
}

impl Windows {
    /// What [`Preset::Quotes`](super::Preset::Quotes) has.
    pub(super) const QUOTES: Self = Self { window: 50, stride: 25 };

    /// Windows of `window` words (1 to 2^20), one every `stride` words (1 to `window`, so that no
    /// word is left out). `Invalid` outside these.
    pub fn new(window: u32, stride: u32) -> Result<Self> {
        if !(1..=WINDOW_WORDS_MAX).contains(&window) || !(1..=window).contains(&stride) {
            return Err(Error::invalid(format!(
                "passages have 1 to {WINDOW_WORDS_MAX} words, one every 1 to as many words; not \
                 {window}:{stride}"
            )));
        }
        Ok(Self { window, stride })
    }

    /// Words of a window.
    pub fn window(self) -> usize {
        self.window as usize
    }

    /// Words from the begin of a window to that of the next.
    pub fn stride(self) -> usize {
        self.stride as usize
    }

    pub(super) fn parts(self) -> (u32, u32) {
        (self.window, self.stride)
    }

    /// Refuses shingles that passages cannot have.
    pub(super) fn validate(self, shingles: Shingles) -> Result<()> {
        match shingles {
            Shingles::Words(units) if units <= self.window => Ok(()),
            Shingles::Words(units) => Err(Error::invalid(format!(
                "passages of {} words have no shingle of {units} words",
                self.window
            ))),
            _ => Err(Error::invalid(format!(
                "passages are cut at words and need shingles of words; these are {shingles}"
            ))),
        }
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
    fn passages_are_part_of_the_id_but_not_of_the_signatures_id() {
        let plain = Params::builder().build().unwrap();
        let passages = Params::builder().passages(Windows::new(50, 25).unwrap()).build().unwrap();
        assert_eq!(plain.signature_id(), passages.signature_id());
        assert_ne!(plain.id(), passages.id());
        assert!(passages.text().ends_with(";passages=50:25"), "{}", passages.text());
        assert_eq!(plain.differences(&passages), ["passages: none here, 50:25 asked"]);
        assert!(!passages.is_of_version_1());
        assert_eq!(passages.to_builder().build().unwrap(), passages);
        let chars = Params::builder().shingles(Shingles::Chars(5));
        assert!(chars.passages(Windows::new(50, 25).unwrap()).build().is_err());
        let short = Params::builder().passages(Windows::new(2, 1).unwrap());
        assert!(short.build().unwrap_err().to_string().contains("no shingle"));
    }
}
