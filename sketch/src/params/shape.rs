//! Names of the kinds of shingles and of the schemes.
//!
//! This module defines spelling and ranges; `sketch` computes the shingles and the signatures.

use std::fmt;
use std::str::FromStr;

use super::scheme_name::SchemeName;
use crate::{Error, Result};

/// Maximum number of units in a shingle.
const UNITS_MAX: u32 = 64;

/// The kind of shingles. The Jaccard similarity of two texts is that of their sets of shingles, so
/// a threshold only has a meaning together with the kind of shingles.
///
/// A text shorter than one shingle counts as one shingle. Spelt `words:3`, `tokens:3`, `chars:5`,
/// `lines:1`, `items`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Shingles {
    /// A number of consecutive words, without punctuation, as defined by Unicode's UAX #29. In
    /// scripts without spaces (Han, Thai, ...) every character is a word: prefer `Chars` for them.
    /// `C++` and `C#`, `-5` and `5` are the same words: prefer `Tokens` or `Chars` if signs matter.
    Words(u32),
    /// A number of consecutive tokens, separated by white space and including punctuation.
    Tokens(u32),
    /// A number of consecutive characters (Unicode scalar values).
    Chars(u32),
    /// A number of consecutive non-empty lines.
    Lines(u32),
    /// A set of strings or integers that the caller gives. Texts are not accepted.
    Items,
}

impl Shingles {
    fn parts(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Words(units) => ("words", Some(units)),
            Self::Tokens(units) => ("tokens", Some(units)),
            Self::Chars(units) => ("chars", Some(units)),
            Self::Lines(units) => ("lines", Some(units)),
            Self::Items => ("items", None),
        }
    }

    /// Number of units per shingle; 1 for items.
    pub(crate) fn units(self) -> usize {
        self.parts().1.map_or(1, |units| units as usize)
    }

    pub(crate) fn validate(self) -> Result<()> {
        match self.parts().1 {
            Some(units) if !(1..=UNITS_MAX).contains(&units) => Err(Error::invalid(format!(
                "the shingle size must be 1 to {UNITS_MAX}, not {units}"
            ))),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shingles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (name, Some(units)) => write!(f, "{name}:{units}"),
            (name, None) => f.write_str(name),
        }
    }
}

impl FromStr for Shingles {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!(
                "shingles must be words:N, tokens:N, chars:N, lines:N or items, not {text:?}"
            ))
        };
        if text == "items" {
            return Ok(Self::Items);
        }
        let (name, units) = text.split_once(':').ok_or_else(unknown)?;
        let units = units.parse().map_err(|_| unknown())?;
        let shingles = match name {
            "words" => Self::Words(units),
            "tokens" => Self::Tokens(units),
            "chars" => Self::Chars(units),
            "lines" => Self::Lines(units),
            _ => return Err(unknown()),
        };
        shingles.validate()?;
        Ok(shingles)
    }
}

/// The algorithm that computes a signature from shingles. Spelt `fast`, `textbook`, `winnow`,
/// `external:NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Scheme {
    /// Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017). Takes time
    /// proportional to shingles + k log k. More accurate than `Textbook`, above all for short
    /// texts.
    Fast,
    /// The minimum of each of k hash functions (a x + b) mod p (Broder 1997; Mining of Massive
    /// Datasets, section 3.3.5). Takes time proportional to shingles x k. Meant for comparison and
    /// teaching.
    Textbook,
    /// Another program makes the signatures, and the caller passes their rows to
    /// [`Signature::from_rows`](crate::Signature::from_rows). Texts are not accepted. The name
    /// identifies the program and its settings; signatures with different names are not comparable.
    External(SchemeName),
    /// Winnowed fingerprints (Schleimer, Wilkerson and Aiken 2003), for an index of passages that
    /// finds every shared run of words. A text has as many signatures as its fingerprints need, so
    /// a [`Sketcher`](crate::Sketcher) makes none. Everything else is fixed:
    /// [`Preset::Quotes`](crate::Preset::Quotes) has these settings.
    Winnow,
}

impl Scheme {
    /// An external scheme with this name. The name should contain everything that the signatures
    /// depend on, for instance `datasketch-seed1-words3`.
    ///
    /// # Errors
    ///
    /// `Invalid` unless the name has 1 to 64 ASCII letters, digits, `-`, `_` and `.`.
    pub fn external(name: &str) -> Result<Self> {
        SchemeName::new(name).map(Self::External)
    }

    /// Whether another program computes the rows.
    pub(crate) fn is_external(self) -> bool {
        matches!(self, Self::External(_))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fast => f.write_str("fast"),
            Self::Textbook => f.write_str("textbook"),
            Self::External(maker) => write!(f, "external:{maker}"),
            Self::Winnow => f.write_str("winnow"),
        }
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "fast" => Ok(Self::Fast),
            "textbook" => Ok(Self::Textbook),
            "winnow" => Ok(Self::Winnow),
            _ => match text.strip_prefix("external:") {
                Some(name) => Self::external(name),
                None => Err(Error::invalid(format!(
                    "scheme must be fast, textbook, winnow or external:NAME, not {text:?}"
                ))),
            },
        }
    }
}
