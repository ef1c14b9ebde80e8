//! From what was read to a signature, and why some of it is skipped.
//!
//! Pure: does not know where bytes come from or what becomes of signatures.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nearkin::{Error, ErrorKind, Original, Passages, Prepared, Signature, Sketcher};

use crate::failure::{self, Failure};
use crate::lines::{Content, Fields};
use crate::output;
use crate::sets;
use crate::texts;

/// A larger file or line is skipped, so that memory stays bounded: sketching takes up to ten
/// times a document's size.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 64 << 20;

/// The library's limit, checked here so that one bad key does not refuse a whole batch.
pub(crate) const KEY_BYTES_MAX: usize = 4_096;

/// The same for an index of passages.
pub(crate) const PASSAGE_KEY_BYTES_MAX: usize = KEY_BYTES_MAX - 4;

/// The passages of a text must fit into one batch of the library.
const PREPARED_BYTES_MAX: usize = 15 << 20;

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

/// A document as indexed.
#[derive(Debug)]
pub(crate) struct Sketched {
    pub(crate) name: Vec<u8>,
    pub(crate) signature: Signature,
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
    /// A format that this build, or any, does not read, or a broken file of one that it does.
    Format(String),
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
    /// Of `nearkin mirror`: there is a document that somebody else keeps.
    Taken,
}

impl Reason {
    /// What kind of reason it is, to count by.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Binary(_) => "binary",
            Self::Format(_) => "unread format",
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
            Self::BadLine(detail) | Self::Format(detail) => output::visible(detail.as_bytes()),
            Self::Binary(detail) | Self::Unreadable(detail) | Self::BadKey(detail) => {
                detail.clone()
            }
        }
    }
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&notes(std::slice::from_ref(self)).concat())
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

/// What to say of skipped documents: one note each, and one for a run of lines with the same
/// fault, since a field named wrongly makes every line of a file bad.
pub(crate) fn notes(skipped: &[Skipped]) -> Vec<String> {
    skipped
        .chunk_by(|one, next| one.reason == next.reason && is_next_line(&one.origin, &next.origin))
        .map(|run| {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            let what = match (&first.origin, &last.origin) {
                (Origin::File { path, .. }, _) => {
                    output::visible(path.as_os_str().as_encoded_bytes())
                }
                (Origin::Line { file, number }, Origin::Line { number: end, .. })
                    if number < end =>
                {
                    format!("{file} lines {number} to {end}")
                }
                (Origin::Line { file, number }, _) => format!("{file} line {number}"),
                (Origin::Set { key }, _) => format!("the set {}", output::visible(key)),
            };
            format!("skipped {what}: {} ({})", first.reason.kind(), first.reason.detail())
        })
        .collect()
}

fn is_next_line(one: &Origin, next: &Origin) -> bool {
    match (one, next) {
        (Origin::Line { file, number }, Origin::Line { file: other, number: next }) => {
            file == other && number + 1 == *next
        }
        _ => false,
    }
}

/// Turns raw documents into signatures; used by all threads at once.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    sketcher: Sketcher,
    fields: Fields,
}

impl Reading {
    /// `fields` is where a line's key and content are; files do not need it.
    pub(crate) fn new(sketcher: Sketcher, fields: Fields) -> Self {
        Self { sketcher, fields }
    }

    pub(crate) fn sketch(&self, raw: Raw) -> Result<Sketched, Skipped> {
        let Raw { origin, body } = raw;
        match self.named(&origin, body, |content| self.signature(content)) {
            Ok((name, signature)) => Ok(Sketched { name, signature }),
            Err(reason) => Err(Skipped { origin, reason }),
        }
    }

    /// A document with all that is needed to compare it exactly; its name comes first.
    pub(crate) fn original(&self, raw: Raw) -> Result<(Vec<u8>, Original), Skipped> {
        let Raw { origin, body } = raw;
        self.named(&origin, body, |content| self.original_of(content))
            .map_err(|reason| Skipped { origin, reason })
    }

    /// A document's name, its signature, and its text to be shown: of a set its items.
    pub(crate) fn signed_text(&self, raw: Raw) -> Result<(Vec<u8>, Signature, String), Skipped> {
        let Raw { origin, body } = raw;
        let read = |content: &Content| Ok((self.signature(content)?, shown(content)));
        self.named(&origin, body, read)
            .map(|(name, (signature, text))| (name, signature, text))
            .map_err(|reason| Skipped { origin, reason })
    }

    /// A text cut into passages.
    pub(crate) fn prepare(&self, raw: Raw, cutter: &Passages) -> Result<Prepared, Skipped> {
        let Raw { origin, body } = raw;
        let text = |content: &Content| match content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(Reason::BadLine("no text, which passages are cut from".to_owned())),
        };
        self.named(&origin, body, text)
            .and_then(|(name, text)| match name.len() {
                0..=PASSAGE_KEY_BYTES_MAX => {
                    cutter.prepare(name, &text, b"").map_err(|error| reason_of(&error))
                }
                _ => Err(Reason::BadKey(format!("more than {PASSAGE_KEY_BYTES_MAX} bytes"))),
            })
            .and_then(|prepared| match prepared.wal_bytes() {
                0..=PREPARED_BYTES_MAX => Ok(prepared),
                _ => Err(Reason::TooLarge),
            })
            .map_err(|reason| Skipped { origin, reason })
    }

    /// A text and its name, to be asked about.
    pub(crate) fn text(&self, raw: Raw) -> Result<(Vec<u8>, String), Skipped> {
        let Raw { origin, body } = raw;
        let read = |content: &Content| match content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(Reason::BadLine("no text".to_owned())),
        };
        self.named(&origin, body, read).map_err(|reason| Skipped { origin, reason })
    }

    /// The fields that are read of a line.
    pub(crate) fn columns(&self) -> [&str; 2] {
        self.fields.names()
    }

    /// The key of a line, if it has one.
    pub(crate) fn key(&self, raw: &Raw) -> Option<Vec<u8>> {
        Some(self.fields.parse(raw.body.as_ref().ok()?).ok()?.0)
    }

    fn original_of(&self, content: &Content) -> Result<Original, Reason> {
        let original = match content {
            Content::Text(text) => self.sketcher.original_text(text),
            Content::Items(items) => self.sketcher.original_items(items),
            Content::Rows(_) => return Err(Reason::BadLine("a signature only".to_owned())),
        };
        original.map_err(|error| reason_of(&error))
    }

    fn named<T>(
        &self,
        origin: &Origin,
        body: Result<Vec<u8>, Reason>,
        make: impl Fn(&Content) -> Result<T, Reason>,
    ) -> Result<(Vec<u8>, T), Reason> {
        let body = body?;
        let (name, content) = match origin {
            Origin::File { path, name } => (name.clone(), Content::Text(texts::text(path, body)?)),
            Origin::Line { .. } => self.fields.parse(&body).map_err(Reason::BadLine)?,
            Origin::Set { key } => {
                let items = sets::unpack(&body).map(String::from_utf8_lossy);
                (key.clone(), Content::Items(items.map(Cow::into_owned).collect()))
            }
        };
        match name.len() {
            1..=KEY_BYTES_MAX => Ok((name, make(&content)?)),
            _ if self.fields.is_key_optional() => Ok((name, make(&content)?)),
            length => Err(Reason::BadKey(format!(
                "it has {}; 1 to {KEY_BYTES_MAX} can be stored",
                output::counted(length as u64, "byte")
            ))),
        }
    }

    fn signature(&self, content: &Content) -> Result<Signature, Reason> {
        let signature = match content {
            Content::Text(text) => self.sketcher.text(text),
            Content::Items(items) => self.sketcher.items(items),
            // How many shingles they come from is not said.
            Content::Rows(rows) => self.sketcher.rows(rows, 0),
        };
        signature.map_err(|error| reason_of(&error))
    }
}

/// A text as it is; the items of a set sorted, one a line.
fn shown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Items(items) => {
            let mut items: Vec<_> = items.iter().map(String::as_str).collect();
            items.sort_unstable();
            items.dedup();
            items.join("\n")
        }
        Content::Rows(_) => String::new(),
    }
}

fn reason_of(error: &Error) -> Reason {
    match error.kind() {
        ErrorKind::Empty => Reason::Empty,
        _ => Reason::BadLine(failure::with_causes(error)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::Params;

    fn reading() -> Reading {
        let params = Params::builder().build().unwrap();
        Reading::new(Sketcher::new(&params), Fields::text("id", "text"))
    }

    fn file(body: Result<Vec<u8>, Reason>) -> Result<Sketched, Skipped> {
        let origin = Origin::File { path: "a.txt".into(), name: b"a.txt".to_vec() };
        reading().sketch(Raw { origin, body })
    }

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
    fn text_is_sketched_and_named() {
        let sketched = file(Ok(b"four words of text".to_vec())).unwrap();
        assert_eq!(sketched.name, b"a.txt");
    }

    #[test]
    fn binary_and_empty_files_say_which() {
        let skipped = |body: &[u8]| file(Ok(body.to_vec())).unwrap_err().to_string();
        assert_eq!(skipped(b"ab\0c"), "skipped a.txt: binary (a NUL byte at 2)");
        assert_eq!(skipped(b" \n"), "skipped a.txt: empty (nothing to compare)");
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
        assert_eq!(notes(&skipped), expected);
        assert!(notes(&[]).is_empty());
    }

    #[test]
    fn a_line_with_a_key_too_long_is_skipped() {
        let raw = |key: &str| Raw {
            origin: Origin::Line { file: "l".into(), number: 3 },
            body: Ok(format!("{{\"id\":\"{key}\",\"text\":\"a b c\"}}").into_bytes()),
        };
        assert!(reading().sketch(raw(&"k".repeat(KEY_BYTES_MAX))).is_ok());
        let long = reading().sketch(raw(&"k".repeat(KEY_BYTES_MAX + 1))).unwrap_err().to_string();
        assert!(long.starts_with("skipped l line 3: bad key (it has 4,097 bytes"), "{long}");
        assert_eq!(reading().sketch(raw("")).unwrap_err().reason.kind(), "bad key");
    }
}
