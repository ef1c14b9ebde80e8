//! Names and stored forms of text normalisations.
//!
//! `sketch` implements them; `docs/reference/SIGNATURES.md` is normative.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::shape::Shingles;
use crate::{Error, Result};

/// The normalisation of a text's characters, applied before the text is cut into shingles. White
/// space is handled separately: see
/// [`ParamsBuilder::keep_space`](crate::ParamsBuilder::keep_space).
///
/// `Display` and [`FromStr`] use `none`, `lower`, `nfc`, `case`, or `fold` followed by the names of
/// its options, each after a comma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normalise {
    /// No normalisation.
    None,
    /// Lower case.
    Lower,
    /// Unicode's normalisation form C.
    Nfc,
    /// Lower case and form C. This was the default before `Fold` existed.
    Case,
    /// Unicode's `NFKC_Casefold`; then typographic quotes, dashes and similar characters are
    /// replaced by their ASCII forms. Texts that look the same to people become equal.
    Fold(FoldOptions),
}

/// Options of [`Normalise::Fold`]. Default: all off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is on or off")]
pub struct FoldOptions {
    /// Removes the marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters: accents, points,
    /// harakat.
    pub diacritics: bool,
    /// Joins words that are hyphenated at the end of a line, as in scanned texts and PDF files.
    pub dehyphenate: bool,
    /// Folds capital I to dotless small i, as in Turkish.
    pub turkish: bool,
    /// Replaces every number by `0`, so that texts that differ only in numbers become equal: log
    /// lines, for instance. Dates, times, addresses and hexadecimal numbers count as numbers.
    pub digits: bool,
    /// Reads Cyrillic and Greek letters within Latin words as the Latin letters that they look
    /// like, so that a text disguised by them is similar to the original.
    pub lookalikes: bool,
}

impl Normalise {
    /// `Fold` without options.
    pub const FOLD: Self = Self::Fold(FoldOptions {
        diacritics: false,
        dehyphenate: false,
        turkish: false,
        digits: false,
        lookalikes: false,
    });

    /// The default for a new index. For items it is `Case`, which leaves them unchanged.
    pub(crate) fn default_of(shingles: Shingles) -> Self {
        if shingles == Shingles::Items { Self::Case } else { Self::FOLD }
    }

    pub(crate) fn is_fold(self) -> bool {
        matches!(self, Self::Fold(_))
    }
}

impl FoldOptions {
    /// The options with their names, in the order of their stored bits.
    fn all(&mut self) -> [(&'static str, &mut bool); 5] {
        [
            ("diacritics", &mut self.diacritics),
            ("dehyphenate", &mut self.dehyphenate),
            ("turkish", &mut self.turkish),
            ("digits", &mut self.digits),
            ("lookalikes", &mut self.lookalikes),
        ]
    }

    /// Sets the option `diacritics`.
    #[must_use]
    pub fn diacritics(mut self, diacritics: bool) -> Self {
        self.diacritics = diacritics;
        self
    }

    /// Sets the option `dehyphenate`.
    #[must_use]
    pub fn dehyphenate(mut self, dehyphenate: bool) -> Self {
        self.dehyphenate = dehyphenate;
        self
    }

    /// Sets the option `turkish`.
    #[must_use]
    pub fn turkish(mut self, turkish: bool) -> Self {
        self.turkish = turkish;
        self
    }

    /// Sets the option `digits`.
    #[must_use]
    pub fn digits(mut self, digits: bool) -> Self {
        self.digits = digits;
        self
    }

    /// Sets the option `lookalikes`.
    #[must_use]
    pub fn lookalikes(mut self, lookalikes: bool) -> Self {
        self.lookalikes = lookalikes;
        self
    }
}

impl fmt::Display for Normalise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.pad("none"),
            Self::Lower => f.pad("lower"),
            Self::Nfc => f.pad("nfc"),
            Self::Case => f.pad("case"),
            Self::Fold(mut options) => {
                let given = options.all().into_iter().filter(|(_, on)| **on).map(|(name, _)| name);
                f.pad(&["fold"].into_iter().chain(given).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl FromStr for Normalise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, mut given) = match text.split_once(',') {
            Some((name, given)) => (name, Some(given)),
            None => (text, None),
        };
        let unknown = || {
            Error::invalid(format!(
                "unknown normalisation {text:?}: use none, lower, nfc, case, or fold with options \
                 from diacritics, dehyphenate, turkish, digits and lookalikes, as fold,diacritics"
            ))
        };
        if name == "fold" {
            let mut options = FoldOptions::default();
            while let Some(rest) = given {
                let (option, after) = match rest.split_once(',') {
                    Some((option, after)) => (option, Some(after)),
                    None => (rest, None),
                };
                let mut all = options.all().into_iter();
                *all.find(|(name, _)| *name == option).ok_or_else(unknown)?.1 = true;
                given = after;
            }
            return Ok(Self::Fold(options));
        }
        match (name, given) {
            ("none", None) => Ok(Self::None),
            ("lower", None) => Ok(Self::Lower),
            ("nfc", None) => Ok(Self::Nfc),
            ("case", None) => Ok(Self::Case),
            _ => Err(unknown()),
        }
    }
}

/// The stored form of the normalisation, in the field `keep_case`: a boolean as in earlier
/// versions, or `fold`. Binary formats store a byte: 0 or 1 for the boolean, or 2 plus the bits of
/// the options. Readable formats store a boolean or the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StoredNormalise {
    KeepCase(bool),
    Fold(FoldOptions),
}

/// The byte that stands for `fold` without options.
const FOLD: u8 = 2;
/// The bits of the options, in their order.
const BITS: [u8; 5] = [1, 2, 4, 8, 16];

impl StoredNormalise {
    pub(super) fn new(normalise: Normalise) -> Self {
        match normalise {
            Normalise::Fold(options) => Self::Fold(options),
            other => Self::KeepCase(matches!(other, Normalise::None | Normalise::Nfc)),
        }
    }

    /// The normalisation that this field and the field `no_nfc` mean together.
    pub(super) fn with(self, no_nfc: bool) -> Result<Normalise> {
        match (self, no_nfc) {
            (Self::KeepCase(false), false) => Ok(Normalise::Case),
            (Self::KeepCase(false), true) => Ok(Normalise::Lower),
            (Self::KeepCase(true), false) => Ok(Normalise::Nfc),
            (Self::KeepCase(true), true) => Ok(Normalise::None),
            (Self::Fold(options), false) => Ok(Normalise::Fold(options)),
            (Self::Fold(_), true) => Err(Error::invalid(
                "normalisation fold includes form C, so no_nfc cannot be used with it",
            )),
        }
    }
}

impl Serialize for StoredNormalise {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match *self {
            Self::KeepCase(keep_case) => serializer.serialize_bool(keep_case),
            Self::Fold(options) if serializer.is_human_readable() => {
                serializer.collect_str(&Normalise::Fold(options))
            }
            Self::Fold(mut options) => {
                let bits = options.all().into_iter().zip(BITS);
                let bits = bits.map(|((_, on), bit)| if *on { bit } else { 0 });
                serializer.serialize_u8(FOLD + bits.sum::<u8>())
            }
        }
    }
}

impl<'de> Deserialize<'de> for StoredNormalise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(Readable);
        }
        let byte = u8::deserialize(deserializer)?;
        match (byte, byte.checked_sub(FOLD)) {
            (0 | 1, _) => Ok(Self::KeepCase(byte == 1)),
            (_, Some(bits @ 0..32)) => {
                let mut options = FoldOptions::default();
                for ((_, on), bit) in options.all().into_iter().zip(BITS) {
                    *on = bits & bit != 0;
                }
                Ok(Self::Fold(options))
            }
            _ => Err(de::Error::custom("unknown normalisation")),
        }
    }
}

/// Deserialises a boolean, or the text of `fold` with its options.
struct Readable;

impl de::Visitor<'_> for Readable {
    type Value = StoredNormalise;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean, or \"fold\" with options")
    }

    fn visit_bool<E: de::Error>(self, keep_case: bool) -> std::result::Result<Self::Value, E> {
        Ok(StoredNormalise::KeepCase(keep_case))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
        match text.parse() {
            Ok(Normalise::Fold(options)) => Ok(StoredNormalise::Fold(options)),
            Ok(other) => Err(E::custom(format!("{other} is stored as booleans"))),
            Err(error) => Err(E::custom(error)),
        }
    }
}
