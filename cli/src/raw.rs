//! A document as it was read, where it was found, and why one is skipped.
//!
//! Plain types that all who read documents share; knows nobody who reads, and no signature.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::failure::Failure;
use crate::output;

/// The path that stands for stdin.
pub(crate) const STDIN: &str = "-";

/// A larger file or line is skipped, so that memory stays bounded: sketching takes up to ten
/// times a document's size.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 64 << 20;

/// The library's limit, checked here so that one bad key does not refuse a whole batch.
pub(crate) const KEY_BYTES_MAX: usize = 4_096;

/// The same for an index of passages.
pub(crate) const PASSAGE_KEY_BYTES_MAX: usize = KEY_BYTES_MAX - 4;

/// Whether a line ends in these bytes that is not blank: those are passed over, and what follows
/// them may have to be waited for.
pub(crate) fn has_line(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    !bytes[..end].trim_ascii_start().is_empty()
}

/// Where a document was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file, and the name it goes by: a key, or the name of a query.
    File { path: PathBuf, name: Vec<u8> },
    /// A line of JSON, counted from 1 in each file.
    Line { file: Arc<str>, number: u64 },
    /// A set of the rows of a table.
    Set { key: Vec<u8> },
}

/// A document as read: its bytes, or why there are none.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) origin: Origin,
    pub(crate) body: Result<Vec<u8>, Reason>,
}

/// A document that cannot be indexed; the others are.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) origin: Origin,
    pub(crate) reason: Reason,
}

/// Why a document is skipped, in the words of the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Not text: by what it is told.
    Binary(String),
    /// A format that this build, or any, does not read.
    Format(String),
    /// A parser that failed, was given up, or could not be started: the next time it may succeed.
    Failed(String),
    /// Nothing that could be compared.
    Empty,
    /// The operating system's words.
    Unreadable(String),
    TooLarge,
    /// A link or a device inside a folder.
    NotAFile(&'static str),
    /// Not the JSON that was expected.
    BadLine(String),
    /// A key that the index cannot hold.
    BadKey(String),
    /// `nearkin mirror` found a document under this key that it does not own.
    Taken,
}

impl Reason {
    /// What kind of reason it is, to count by.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Binary(_) => "binary",
            Self::Format(_) => "unread format",
            Self::Failed(_) => "parser failed",
            Self::Empty => "empty",
            Self::Unreadable(_) => "unreadable",
            Self::TooLarge => "too large",
            Self::NotAFile(_) => "not a file",
            Self::BadLine(_) => "bad line",
            Self::BadKey(_) => "bad key",
            Self::Taken => "taken",
        }
    }

    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Empty => "nothing to compare".to_owned(),
            Self::TooLarge => format!("more than {}", output::bytes(DOCUMENT_BYTES_MAX as u64)),
            Self::NotAFile(what) => (*what).to_owned(),
            Self::Taken => "its document has a payload of somebody's own, and stays".to_owned(),
            // It may quote what was read.
            Self::BadLine(detail) | Self::Format(detail) | Self::Failed(detail) => {
                output::visible(detail.as_bytes())
            }
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

/// The documents of a chunk up to the first that is skipped, if that is an error; and the error.
pub(crate) fn strictly<T>(
    strict: bool,
    mut chunk: Vec<Result<T, Skipped>>,
) -> (Vec<Result<T, Skipped>>, Result<(), Failure>) {
    let Some(first) = chunk.iter().position(Result::is_err).filter(|_| strict) else {
        return (chunk, Ok(()));
    };
    let skipped = chunk.drain(first..).next().and_then(Result::err);
    (chunk, skipped.map_or(Ok(()), |one| Err(stopped_at(&one))))
}

/// That a document is skipped, as an error.
pub(crate) fn stopped_at(skipped: &Skipped) -> Failure {
    Failure::new(
        skipped.to_string().replacen("skipped", "--strict: stopped at", 1),
        "mend or remove the line, or leave out --strict to pass over such lines",
    )
}

/// Skipped documents of which one note says all: one each, and runs of lines with the same fault,
/// since a field named wrongly makes every line of a file bad.
pub(crate) fn runs(skipped: &[Skipped]) -> impl Iterator<Item = &[Skipped]> {
    skipped
        .chunk_by(|one, next| one.reason == next.reason && is_next_line(&one.origin, &next.origin))
}

/// What to say of such a run.
pub(crate) fn note(run: &[Skipped]) -> String {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    let what = match (&first.origin, &last.origin) {
        (Origin::File { path, .. }, _) => output::visible(path.as_os_str().as_encoded_bytes()),
        (Origin::Line { file, number }, Origin::Line { number: end, .. }) if number < end => {
            format!("{file} lines {number} to {end}")
        }
        (Origin::Line { file, number }, _) => format!("{file} line {number}"),
        (Origin::Set { key }, _) => format!("the set {}", output::visible(key)),
    };
    format!("skipped {what}: {} ({})", first.reason.kind(), first.reason.detail())
}

fn is_next_line(one: &Origin, next: &Origin) -> bool {
    match (one, next) {
        (Origin::Line { file, number }, Origin::Line { file: other, number: next }) => {
            file == other && number + 1 == *next
        }
        _ => false,
    }
}

/// The key of a file: its path without `.`, empty parts and `folder/..`, with `/` between parts.
/// Lexical: asks no file system, so links do not matter and the key depends on the words alone.
pub(crate) fn key_of(path: &Path) -> Vec<u8> {
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
                // Above the root is the root; above where we are is `..`.
                _ if root.is_empty() => parts.push(b".."),
                _ => {}
            },
            Component::Normal(part) => parts.push(part.as_encoded_bytes()),
        }
    }
    root.extend(parts.join(&b'/'));
    root
}

/// The path that a key stands for.
pub(crate) fn path_of(key: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(std::ffi::OsStr::from_bytes(key))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(String::from_utf8_lossy(key).into_owned())
    }
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

    #[test]
    fn lines_with_the_same_fault_are_named_together() {
        let line = |number, reason: Reason| {
            let origin = Origin::Line { file: "l".into(), number };
            Skipped { origin, reason }
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
