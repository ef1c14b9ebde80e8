//! A decoded text, and how its encoding was found.

use encoding_rs::{Encoding, UTF_8};

/// A decoded text, and how its encoding was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// How it was decoded.
    pub how: How,
}

impl Decoded {
    /// A text from a format that has only one encoding.
    pub(crate) fn exact(text: String) -> Self {
        Self { text, how: How::UTF_8 }
    }
}

/// How the encoding of a text was found, and what was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    pub(crate) encoding: &'static Encoding,
    pub(crate) evidence: Evidence,
    /// Number of invalid byte sequences, each replaced by U+FFFD.
    pub replaced: usize,
    /// Offset of the first one in the file.
    pub first: usize,
}

/// Why an encoding was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The user named it.
    Forced,
    /// The file begins with a byte order mark.
    Mark,
    /// The bytes are valid in no other encoding: UTF-8, or escape sequences.
    Bytes,
    /// The document declares it.
    Declared,
    /// UTF-16, recognised by its characters.
    Unmarked,
    /// It is the most likely one.
    Guessed,
}

impl Evidence {
    pub(crate) const ALL: [Self; 6] =
        [Self::Forced, Self::Mark, Self::Bytes, Self::Declared, Self::Unmarked, Self::Guessed];
}

impl How {
    pub(super) const fn new(encoding: &'static Encoding, evidence: Evidence) -> Self {
        Self { encoding, evidence, replaced: 0, first: 0 }
    }

    /// UTF-8 without an invalid byte: nothing to report.
    pub(crate) const UTF_8: Self = Self::new(UTF_8, Evidence::Bytes);

    /// An encoding that the document declares, and in which all bytes are valid.
    #[cfg(feature = "mail")]
    pub(crate) const DECLARED: Self = Self::new(UTF_8, Evidence::Declared);

    /// Whether the encoding is a guess.
    pub fn is_guessed(&self) -> bool {
        self.evidence == Evidence::Guessed
    }

    /// How a text of two parts was decoded: the more doubtful encoding, and all replaced bytes.
    #[cfg(any(test, feature = "mail", feature = "office"))]
    pub(crate) fn and(self, other: Self) -> Self {
        let doubt = |how: &Self| (how.is_guessed(), how.replaced > 0, how.encoding != UTF_8);
        let main = if doubt(&other) > doubt(&self) { other } else { self };
        let first = if self.replaced > 0 { self.first } else { other.first };
        Self { replaced: self.replaced + other.replaced, first, ..main }
    }
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let guessed = if self.evidence == Evidence::Guessed { "guessed: " } else { "" };
        write!(f, "{guessed}{}", self.encoding.name())?;
        match self.replaced {
            0 => Ok(()),
            1 => write!(f, ", an invalid byte at {} replaced", self.first),
            more => write!(f, ", {more} invalid bytes replaced, the first at {}", self.first),
        }
    }
}
