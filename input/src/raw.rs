//! A document as read: its content, its origin, and why it may be skipped.
//!
//! Plain types shared by all modules that read documents. No signatures here.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::words;

/// The path that stands for stdin.
pub const STDIN: &str = "-";

/// Maximum size of a file or line. Larger ones are skipped to bound memory: sketching takes up to
/// ten times the size of a document.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 20;

/// The library's maximum key length. The tool checks it early, because one bad key would fail a
/// whole batch.
pub const KEY_BYTES_MAX: usize = 4_096;

/// The maximum key length in an index of passages.
pub const PASSAGE_KEY_BYTES_MAX: usize = KEY_BYTES_MAX - 4;

/// The kind of [`Reason::Damaged`].
pub const DAMAGED: &str = "damaged file";

/// Whether the bytes contain a complete line that is not blank. If so, the next line can be read
/// without blocking. Blank lines do not count: they are skipped, and reading on after them may
/// block.
pub(crate) fn has_line(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    !bytes[..end].trim_ascii_start().is_empty()
}

/// Where a document was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File {
        /// Where the file is.
        path: PathBuf,
        /// Its key, or the name of the query.
        name: Vec<u8>,
    },
    /// A line of JSON.
    Line {
        /// The name of its file, or "stdin".
        file: Arc<str>,
        /// The index of the file in the input.
        file_number: u32,
        /// The number of the line in its file, counted from 1.
        number: u64,
        /// The byte of the file where the line begins; `None` if it cannot be read from there, as
        /// in a compressed file.
        at: Option<u64>,
    },
    /// A set grouped from table rows.
    Set {
        /// The key that its rows share.
        key: Vec<u8>,
    },
}

/// A document as read: its bytes, or the reason why there are none.
#[derive(Debug)]
pub struct Raw {
    /// Where it was found.
    pub origin: Origin,
    /// Its bytes, or why there are none.
    pub body: Result<Bytes, Reason>,
}

/// A document that cannot be indexed; the run continues with the others.
#[derive(Debug)]
pub struct Skipped {
    /// Where it was found.
    pub origin: Origin,
    /// Why it is skipped.
    pub reason: Reason,
    /// The document's key, if it is known.
    pub key: Option<Vec<u8>>,
}

impl Skipped {
    /// The key of the origin is known; that of a line is in the line.
    pub fn new(origin: Origin, reason: Reason) -> Self {
        let key = match &origin {
            Origin::File { name, .. } => Some(name.clone()),
            Origin::Set { key } => Some(key.clone()),
            Origin::Line { .. } => None,
        };
        Self { origin, reason, key }
    }

    /// The key under which a document may be stored whose text is blank now.
    pub fn emptied(&self) -> Option<&[u8]> {
        let key = self.key.as_deref().filter(|key| (1..=KEY_BYTES_MAX).contains(&key.len()))?;
        self.reason.is_empty().then_some(key)
    }
}

/// Why a document is skipped. The variants are the categories of the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Not a text. Holds the evidence.
    Binary(String),
    /// A file format that is not supported, by this build or at all.
    Format(String),
    /// A parser refuses the bytes of the file, and would refuse them again.
    Refused(String),
    /// A parser exceeded its limits, was ended or could not be started. A retry may succeed.
    Failed(String),
    /// The document has no content to compare.
    Empty,
    /// A PDF without text, as a scanner makes it.
    NoTextLayer,
    /// The file cannot be read. Holds the message of the operating system.
    Unreadable(String),
    /// The rest of a file of lines or rows cannot be read. Holds the message.
    Damaged(String),
    /// The document is larger than [`DOCUMENT_BYTES_MAX`].
    TooLarge,
    /// A link or a device inside a folder.
    NotAFile(&'static str),
    /// The line is not the expected JSON.
    BadLine(String),
    /// The index cannot hold such a key.
    BadKey(String),
    /// `nearkin mirror`: the document stored under this key has a payload that mirror did not
    /// write.
    Taken,
}

/// The number of skipped files by the kind of reason and its detail, see [`Reason::advice`].
pub type Reasons = BTreeMap<(&'static str, String), u64>;

/// The number of skipped files by the kind of reason.
pub fn by_kind(reasons: &Reasons) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for ((kind, _), files) in reasons {
        *kinds.entry(*kind).or_default() += files;
    }
    kinds
}

/// Names of skipped files by the kind of reason: three of each, or all on request.
pub type Names = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// Maximum number of names of a kind, unless all are wanted.
const NAMES_MAX: usize = 3;

/// Adds the name of a skipped file, unless there are enough and not `all` are wanted.
pub fn add_name(names: &mut Names, kind: &'static str, name: &[u8], all: bool) {
    let names = names.entry(kind).or_default();
    if names.len() < NAMES_MAX || all {
        names.push(name.to_vec());
    }
}

/// The files that were skipped: how many and why, and the names of some.
#[derive(Debug, Clone, Default)]
pub struct SkippedFiles {
    /// How many, by reason.
    pub reasons: Reasons,
    /// The names of some, by reason.
    pub names: Names,
}

/// Maximum number of characters of a detail that are kept.
const ADVICE_CHARS_MAX: usize = 200;

impl Reason {
    /// The detail, if it says what the user may do; otherwise empty. It is kept with an unchanged
    /// file, so that later runs say it, too.
    pub fn advice(&self) -> String {
        let (Self::Format(_) | Self::Refused(_) | Self::Failed(_) | Self::NoTextLayer) = self
        else {
            return String::new();
        };
        self.detail().chars().take(ADVICE_CHARS_MAX).collect()
    }

    /// Whether the file can be read, and has nothing to compare.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty | Self::NoTextLayer)
    }

    /// The kind of reason, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Binary(_) => "binary",
            Self::Format(_) => "unread format",
            Self::Refused(_) => "unparsable",
            Self::Failed(_) => "parser failed",
            Self::Empty => "empty",
            Self::NoTextLayer => "no text layer",
            Self::Unreadable(_) => "unreadable",
            Self::Damaged(_) => DAMAGED,
            Self::TooLarge => "too large",
            Self::NotAFile(_) => "not a file",
            Self::BadLine(_) => "bad line",
            Self::BadKey(_) => "bad key",
            Self::Taken => "taken",
        }
    }

    /// What exactly is wrong, for a message.
    pub fn detail(&self) -> String {
        match self {
            Self::Empty => "nothing to compare".to_owned(),
            Self::NoTextLayer => {
                "scanned pages, it seems: an OCR program such as `ocrmypdf` adds one".to_owned()
            }
            Self::TooLarge => format!("more than {}", words::bytes(DOCUMENT_BYTES_MAX as u64)),
            Self::NotAFile(what) => (*what).to_owned(),
            Self::Taken => {
                "its document has a payload that mirror did not write, and is kept".to_owned()
            }
            // The detail may quote the file, which is untrusted: control characters are escaped.
            Self::BadLine(detail)
            | Self::Format(detail)
            | Self::Refused(detail)
            | Self::Damaged(detail)
            | Self::Failed(detail) => words::visible(detail.as_bytes()),
            Self::Binary(detail) | Self::Unreadable(detail) | Self::BadKey(detail) => {
                detail.clone()
            }
        }
    }
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&note(std::slice::from_ref(self)))
    }
}

/// Groups skipped documents for messages. Consecutive lines with the same fault share a note,
/// because one wrong field name makes every line of a file bad.
pub fn runs(skipped: &[Skipped]) -> impl Iterator<Item = &[Skipped]> {
    skipped
        .chunk_by(|one, next| one.reason == next.reason && is_next_line(&one.origin, &next.origin))
}

/// The note for a group that [`runs`] returns.
pub fn note(run: &[Skipped]) -> String {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    let what = match (&first.origin, &last.origin) {
        (Origin::File { path, .. }, _) => words::visible(path.as_os_str().as_encoded_bytes()),
        (Origin::Line { file, number, .. }, Origin::Line { number: end, .. }) if number < end => {
            format!("{file} lines {number} to {end}")
        }
        (Origin::Line { file, number, .. }, _) if matches!(first.reason, Reason::Damaged(_)) => {
            format!("{file} from line {number} on")
        }
        (Origin::Line { file, number, .. }, _) => format!("{file} line {number}"),
        (Origin::Set { key }, _) => format!("the set {}", words::visible(key)),
    };
    format!("skipped {what}: {} ({})", first.reason.kind(), first.reason.detail())
}

fn is_next_line(one: &Origin, next: &Origin) -> bool {
    match (one, next) {
        (Origin::Line { file, number, .. }, Origin::Line { file: other, number: next, .. }) => {
            file == other && number + 1 == *next
        }
        _ => false,
    }
}

/// The key of a file: its path without `.`, empty parts and `folder/..`, with `/` as separator.
/// Computed from the given path only: links are not resolved.
pub fn key_of(path: &Path) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let mut root: Vec<u8> = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => root.extend(prefix.as_os_str().as_encoded_bytes()),
            Component::RootDir => root.push(b'/'),
            Component::CurDir => {}
            Component::ParentDir => match parts.last() {
                Some(&last) if last != b".." => {
                    parts.pop();
                }
                // The parent of the root is the root itself. A relative path can lead above the
                // current directory, so its `..` stays.
                _ if root.is_empty() => parts.push(b".."),
                _ => {}
            },
            Component::Normal(part) => parts.push(part.as_encoded_bytes()),
        }
    }
    root.extend(parts.join(&b'/'));
    root
}

/// The path of the file with this key.
pub fn path_of(key: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(std::ffi::OsStr::from_bytes(key))
    }
    #[cfg(not(unix))]
    {
        native(Path::new(&*String::from_utf8_lossy(key)))
    }
}

/// The path with the separators of the system. Windows takes `/`, too, but not behind `\\?\`, and
/// a file in a folder `docs/sub` would be shown as `docs/sub\a`. A path that begins with `/` stays
/// as it is: wine takes it for a path of Unix.
pub fn native(path: &Path) -> PathBuf {
    let written = path.to_str().filter(|path| cfg!(windows) && !path.starts_with('/'));
    written.map_or_else(|| path.to_path_buf(), |path| PathBuf::from(path.replace('/', "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_path_cleaned() {
        for (path, key) in [
            ("a/b.txt", "a/b.txt"),
            ("./a//b.txt", "a/b.txt"),
            ("a/./c/../b.txt", "a/b.txt"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("../../a/..", "../.."),
            ("/a/../../b", "/b"),
            ("/a/b/", "/a/b"),
            ("a/..", ""),
        ] {
            assert_eq!(key_of(Path::new(path)), key.as_bytes(), "{path}");
        }
    }

    #[cfg(windows)]
    #[test]
    fn a_key_leads_to_its_file() {
        for (path, key) in
            [(r"\\?\C:\docs\a", r"\\?\C:/docs/a"), (r"C:\docs\a", "C:/docs/a"), (r"a\b", "a/b")]
        {
            assert_eq!(key_of(Path::new(path)), key.as_bytes());
            assert_eq!(path_of(key.as_bytes()).as_os_str(), path);
        }
    }

    #[test]
    fn lines_with_the_same_fault_are_named_together() {
        let line = |number, reason: Reason| {
            let origin = Origin::Line { file: "l".into(), file_number: 0, number, at: None };
            Skipped::new(origin, reason)
        };
        let bad = || Reason::BadLine("no".to_owned());
        let skipped = [
            line(1, bad()),
            line(2, bad()),
            line(3, Reason::Empty),
            line(4, bad()),
            line(6, bad()),
        ];
        let expected = [
            "skipped l lines 1 to 2: bad line (no)",
            "skipped l line 3: empty (nothing to compare)",
            "skipped l line 4: bad line (no)",
            "skipped l line 6: bad line (no)",
        ];
        assert!(runs(&skipped).map(note).eq(expected));
        assert_eq!(runs(&[]).count(), 0);
    }
}
