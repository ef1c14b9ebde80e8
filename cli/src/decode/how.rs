//! A decoded text, and how its encoding was found.

use encoding_rs::{Encoding, UTF_8};

/// A decoded text, and how its encoding was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) how: How,
}

/// How the encoding of a text was found, and what was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) encoding: &'static Encoding,
    pub(crate) evidence: Evidence,
    /// Number of invalid byte sequences, each replaced by U+FFFD.
    pub(crate) replaced: usize,
    /// Offset of the first one in the file.
    pub(crate) first: usize,
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

impl How {
    pub(super) const fn new(encoding: &'static Encoding, evidence: Evidence) -> Self {
        Self { encoding, evidence, replaced: 0, first: 0 }
    }

    /// UTF-8 without an invalid byte: nothing to report.
    pub(crate) const UTF_8: Self = Self::new(UTF_8, Evidence::Bytes);

    /// Whether the text may differ from what its author wrote.
    #[cfg_attr(not(test), expect(dead_code, reason = "the summary of a run will say it"))]
    pub(crate) fn is_doubtful(&self) -> bool {
        self.replaced > 0 || matches!(self.evidence, Evidence::Guessed)
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
