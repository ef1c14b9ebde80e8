//! Recognises files that hold many documents, and says what reads or splits them.
//!
//! Pure: works on the first bytes of a file.

use crate::formats::begins_mailbox;

/// Number of bytes needed to recognise a collection.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// A file that holds many documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collection {
    /// Messages, each behind a line `From ...`.
    Mailbox,
    /// Messages between lines of four control characters.
    Mmdf,
    /// Pages of the web, as archives keep them (WARC), or their texts (WET).
    Warc,
    /// Pages of a wiki.
    MediaWiki,
    /// References of LaTeX.
    Bibliography,
    /// References of reference managers.
    Ris,
    /// Contacts.
    Cards,
}

impl Collection {
    /// What a file is that begins like this; `None` if it is no collection that is known, or holds
    /// a single document.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let has =
            |begin: &[u8]| head.get(..begin.len()).is_some_and(|it| it.eq_ignore_ascii_case(begin));
        let first = head.get(..1_024).unwrap_or(head);
        if begins_mailbox(head) {
            Some(Self::Mailbox)
        } else if has(b"\x01\x01\x01\x01\n") {
            Some(Self::Mmdf)
        } else if has(b"WARC/1.") || has(b"WARC/0.") {
            Some(Self::Warc)
        } else if has(b"<") && memchr::memmem::find(first, b"<mediawiki").is_some() {
            Some(Self::MediaWiki)
        } else if has(b"BEGIN:VCARD")
            && lines(head, |line| line.eq_ignore_ascii_case(b"BEGIN:VCARD"))
        {
            Some(Self::Cards)
        } else if has(b"TY  - ") && lines(head, |line| line.starts_with(b"TY  - ")) {
            Some(Self::Ris)
        } else if (has(b"@") || has(b"%")) && lines(head, is_entry) {
            Some(Self::Bibliography)
        } else {
            None
        }
    }

    /// What the file is.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Mailbox => "an mbox, many messages in one file",
            Self::Mmdf => "an MMDF mailbox, many messages in one file",
            Self::Warc => "a WARC or WET file, many pages in one file",
            Self::MediaWiki => "a MediaWiki dump, many pages in one file",
            Self::Bibliography => "a BibTeX file of many references",
            Self::Ris => "a RIS file of many references",
            Self::Cards => "a vCard file of many contacts",
        }
    }

    /// What makes documents of it.
    pub(crate) fn split(self) -> &'static str {
        match self {
            Self::Mailbox => {
                "`nearkin add INDEX FILE` reads its messages; elsewhere split it: `git mailsplit \
                 -oFOLDER FILE`, and give FOLDER"
            }
            Self::Mmdf => "split it into .eml files (Python: mailbox.MMDF)",
            Self::Warc => {
                "`nearkin add INDEX FILE` reads its pages; elsewhere convert it to lines of JSON \
                 (Python: warcio or fastwarc)"
            }
            Self::MediaWiki => "convert it to lines of JSON: `wikiextractor --json FILE`",
            Self::Bibliography => "convert it: `pandoc -f bibtex -t csljson FILE`, for --jsonl",
            Self::Ris => "convert it: `pandoc -f ris -t csljson FILE`, for --jsonl",
            Self::Cards => {
                "split it: `csplit -z -b %05d.vcf FILE '/^BEGIN:VCARD/' '{*}'`, and give the parts"
            }
        }
    }
}

/// Whether at least two lines are of a kind.
fn lines(head: &[u8], is_of_kind: impl Fn(&[u8]) -> bool) -> bool {
    head.split(|byte| *byte == b'\n').filter(|line| is_of_kind(line.trim_ascii())).nth(1).is_some()
}

/// Whether a line begins a reference, such as `@article{key,`.
fn is_entry(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"@") else { return false };
    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_other = ["comment", "preamble", "string"]
        .iter()
        .any(|other| rest[..letters].eq_ignore_ascii_case(other.as_bytes()));
    let Some(key) = rest[letters..].trim_ascii_start().strip_prefix(b"{") else { return false };
    // A key and a comma, which style sheets have not.
    letters > 2 && !is_other && memchr::memchr(b',', key).is_some_and(|end| end > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_told_from_single_documents() {
        let mail = "From x@y Mon Jan 1 00:00:00 2024\nSubject: s\nMessage-ID: <a@b>\n\ntext\n";
        let card = "BEGIN:VCARD\r\nFN:A\r\nEND:VCARD\r\n";
        let entry = "@article{key,\n title={T}\n}\n";
        for (head, expected) in [
            (mail.to_owned(), Some(Collection::Mailbox)),
            (format!("\n\n{mail}{mail}"), Some(Collection::Mailbox)),
            ("\x01\x01\x01\x01\nSubject: s\n".to_owned(), Some(Collection::Mmdf)),
            ("WARC/1.0\r\nWARC-Type: conversion\r\n".to_owned(), Some(Collection::Warc)),
            ("<mediawiki xmlns=\"x\">\n".to_owned(), Some(Collection::MediaWiki)),
            ("<?xml version=\"1.0\"?>\n<mediawiki>".to_owned(), Some(Collection::MediaWiki)),
            (card.repeat(2), Some(Collection::Cards)),
            (card.to_owned(), None),
            (format!("% refs\n{entry}\n{entry}"), Some(Collection::Bibliography)),
            (format!("\u{feff}{entry}{entry}"), Some(Collection::Bibliography)),
            (entry.to_owned(), None),
            ("@media {\n}\n@font {\n}\n".to_owned(), None),
            ("@string{a, b}\n@comment{c, d}\n".to_owned(), None),
            (
                "@misc{a, title={T}}\n@misc{b, title={U}}\n".to_owned(),
                Some(Collection::Bibliography),
            ),
            ("TY  - JOUR\nER  - \nTY  - JOUR\nER  -\n".to_owned(), Some(Collection::Ris)),
            ("A text about <mediawiki>".to_owned(), None),
            ("From here on, it is a text.\nTo: all\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Collection::of(head.as_bytes()), expected, "{head}");
        }
    }
}
