//! The file formats that can be parsed.

use crate::raw::Reason;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Html,
    Pdf,
    Mail,
    Mailbox,
    /// Word, PowerPoint, OpenDocument, EPUB, or another ZIP archive.
    Office,
    Rtf,
    /// For tests: the bytes name a failure to simulate, such as a hang or a crash.
    #[cfg(test)]
    Trial,
}

impl Format {
    pub(super) const ALL: &[Self] = &[
        Self::Plain,
        Self::Html,
        Self::Pdf,
        Self::Mail,
        Self::Mailbox,
        Self::Office,
        Self::Rtf,
        #[cfg(test)]
        Self::Trial,
    ];

    /// The format's name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "text",
            Self::Html => "HTML",
            Self::Pdf => "PDF",
            Self::Mail | Self::Mailbox => "e-mail",
            Self::Office => "office document",
            Self::Rtf => "RTF",
            #[cfg(test)]
            Self::Trial => "X",
        }
    }
}

/// The reason for skipping a file that its parser refuses.
pub(super) fn refused(format: &str, why: impl std::fmt::Display) -> Reason {
    Reason::Refused(format!("{format}: {why}"))
}

/// The reason for skipping a file whose parser failed.
pub(super) fn failed(format: &str, why: impl std::fmt::Display) -> Reason {
    Reason::Failed(format!("{format}: {why}"))
}
