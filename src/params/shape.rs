//! The two names in the parameters: what a shingle is, and how shingles become rows.
//!
//! Knows their spelling and sizes. Does not know how either is computed; `sketch` does.

use std::fmt;
use std::str::FromStr;

use super::maker::Maker;
use crate::{Error, Result};

/// Most units in a shingle.
const UNITS_MAX: u32 = 64;

/// The pieces that two texts are compared by: the Jaccard similarity is that of the sets of their
/// shingles, so a threshold means something only together with this. A text of fewer units than
/// the shingle size is one shingle. Spelt `words:3`, `tokens:3`, `chars:5`, `lines:1`, `items`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Shingles {
    /// This many consecutive words as Unicode's UAX #29 finds them, without punctuation. Scripts
    /// without spaces (Han, Thai, ...) come one character a word: prefer `Chars` for them.
    Words(u32),
    /// This many consecutive tokens between white space, punctuation included.
    Tokens(u32),
    /// This many consecutive characters (Unicode scalar values).
    Chars(u32),
    /// This many consecutive lines that are not empty.
    Lines(u32),
    /// The caller's own set of strings or integers; texts are refused.
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

    /// Units in a shingle; one for items.
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

/// How the shingles of a document become the rows of its signature. Spelt `fast`, `textbook`,
/// `external:NAME`. Variants are stored by their number: new ones come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Scheme {
    /// Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017): time proportional to
    /// shingles + k log k, and more accurate than `Textbook`, most of all on short texts.
    Fast,
    /// k hash functions (a x + b) mod p, the least value of each (Broder 1997; Mining of Massive
    /// Datasets, section 3.3.5): time proportional to shingles x k. For comparison and teaching.
    Textbook,
    /// Not here: the caller brings the rows of signatures made elsewhere, for
    /// [`Signature::from_rows`](crate::Signature::from_rows), and texts are refused. The name says
    /// which program made them and how; signatures of different names are not comparable.
    External(Maker),
}

impl Scheme {
    /// `External` with a name for the program that makes the signatures. The name should tell all
    /// that they depend on, as in `datasketch-seed1-words3`. `Invalid` unless it has 1 to 64
    /// letters, digits, `-`, `_` and `.`, all of them ASCII.
    pub fn external(name: &str) -> Result<Self> {
        Maker::new(name).map(Self::External)
    }

    /// Whether the caller brings the rows.
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
        }
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "fast" => Ok(Self::Fast),
            "textbook" => Ok(Self::Textbook),
            _ => match text.strip_prefix("external:") {
                Some(name) => Self::external(name),
                None => Err(Error::invalid(format!(
                    "scheme must be fast, textbook or external:NAME, not {text:?}"
                ))),
            },
        }
    }
}
