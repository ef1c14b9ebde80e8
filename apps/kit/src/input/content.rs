//! Turns documents as read into signatures, or into a reason for skipping them.
//!
//! Pure: does not know where bytes come from or where signatures go.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use nearkin::passages::{PassageCutter, Prepared};
use nearkin::{Error, ErrorKind, Original, Signature, Sketcher, Variety};

use super::doubts;
use crate::args::machine;
use crate::output;
use crate::time;
use nearkin_input::fields::{Content, Fields};
use nearkin_input::formats;
use nearkin_input::formats::decode::Decoded;
use nearkin_input::guess::Guess;
use nearkin_input::raw::{
    DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, Origin, PASSAGE_KEY_BYTES_MAX, Raw, Reason, Skipped,
};
use nearkin_input::sets;
use nearkin_input::sniff;
use nearkin_input::source::Wanted;

/// Maximum size of a text's passages, which must fit into one batch of the library.
const PREPARED_BYTES_MAX: usize = 15 << 20;

/// Maximum size of a payload.
const PAYLOAD_BYTES_MAX: usize = 64 << 10;

/// Up to this size, the shingles of a text may be returned with its signature.
const SHINGLED_BYTES_MAX: usize = 256 << 10;

/// Texts from this size on are checked for growth by normalisation.
const GROWING_BYTES_MIN: usize = DOCUMENT_BYTES_MAX / 16;

/// A document's key and signature.
#[derive(Debug)]
pub struct Sketched {
    /// Its key, or the name of the query.
    pub name: Vec<u8>,
    /// Its signature.
    pub signature: Signature,
    /// Its payload and its time, if the line brings them: `Fields::with_stored`.
    pub payload: Option<String>,
    /// In milliseconds since 1970.
    pub time: Option<u64>,
}

impl Sketched {
    fn new(name: Vec<u8>, signature: Signature) -> Self {
        Self { name, signature, payload: None, time: None }
    }
}

/// A document; of a text also how varied its shingles are and, if it is not large, their hashes.
pub type Shingled = (Sketched, Option<Variety>, Option<Vec<u64>>);

/// Turns raw documents into signatures; shared by all worker threads.
#[derive(Debug, Clone)]
pub struct Reading {
    sketcher: Sketcher,
    fields: Fields,
    /// Shared by all clones, which work on the same input.
    first_fault: Arc<Mutex<Option<MalformedLine>>>,
    /// Number of texts in which halves of surrogate pairs were replaced; shared, too.
    replaced: Arc<AtomicU64>,
}

/// A malformed line.
#[derive(Debug, Clone)]
pub(crate) struct MalformedLine {
    pub file: Arc<str>,
    pub number: u64,
    pub why: String,
    /// The fields that the line does have; `None` if the line is not a JSON object.
    pub guess: Option<Guess>,
}

impl Reading {
    /// `fields`: the names of the key and content fields in JSON lines. Files do not need them.
    pub fn new(sketcher: Sketcher, fields: Fields) -> Self {
        Self { sketcher, fields, first_fault: Arc::default(), replaced: Arc::default() }
    }

    /// What makes signatures.
    pub fn sketcher(&self) -> &Sketcher {
        &self.sketcher
    }

    /// The first malformed line. With several files: the one with the lowest line number.
    pub(crate) fn first_fault(&self) -> Option<MalformedLine> {
        self.first_fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how many texts had halves of surrogate pairs, which were replaced.
    pub fn note_replaced(&self) {
        let replaced = self.replaced.load(Ordering::Relaxed);
        if replaced > 0 {
            let texts = output::counted(replaced, "text");
            output::note(format!(
                "{texts} with half of a surrogate pair (such as \\ud83d alone): compared with \
                 U+FFFD in its place"
            ));
        }
    }

    fn note_fault(&self, file: &Arc<str>, number: u64, why: &str, line: &[u8]) {
        let mut first = self.first_fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_some_and(|first| first.number <= number) {
            return;
        }
        let (file, why, guess) =
            (Arc::clone(file), why.to_owned(), Guess::from_line(&self.fields, line));
        *first = Some(MalformedLine { file, number, why, guess });
    }

    /// Extracts the content of a document and computes its signature.
    pub fn sketch(&self, raw: Raw) -> Result<Sketched, Skipped> {
        let (payload, time) = match self.stored(&raw) {
            Ok(stored) => stored,
            Err(why) => return Err(Skipped::new(raw.origin, Reason::BadLine(why))),
        };
        let (name, signature) = self.named(raw, |content| self.signature(content))?;
        Ok(Sketched { payload, time, ..Sketched::new(name, signature) })
    }

    /// The payload and the time that a line brings.
    fn stored(&self, raw: &Raw) -> Result<(Option<String>, Option<u64>), String> {
        let (Origin::Line { .. }, Ok(line)) = (&raw.origin, &raw.body) else {
            return Ok((None, None));
        };
        let [payload, time] = self.fields.stored(line)?;
        if payload.as_ref().is_some_and(|payload| payload.len() > PAYLOAD_BYTES_MAX) {
            return Err(format!("a payload has at most {PAYLOAD_BYTES_MAX} bytes"));
        }
        let wrong = |text: &str, why| format!("the time {text:?} {why}");
        let time = time.map(|text| time::parse(&text).map_err(|why| wrong(&text, why)));
        Ok((payload, time.transpose()?))
    }

    /// Sketches a document; for a text, also returns how varied its shingles are.
    pub fn sketch_varied(&self, raw: Raw) -> Result<(Sketched, Option<Variety>), Skipped> {
        let (name, (signature, variety)) = self.named(raw, |content| self.varied(content))?;
        Ok((Sketched::new(name, signature), variety))
    }

    /// The signature of a content; for a text, also how varied its shingles are.
    fn varied(&self, content: &Content) -> Result<(Signature, Option<Variety>), Reason> {
        match content {
            Content::Text(text) => match self.sketcher.text_with_variety(text) {
                Ok((signature, variety)) => Ok((signature, Some(variety))),
                Err(error) => Err(reason_of(&error)),
            },
            _ => Ok((self.signature(content)?, None)),
        }
    }

    /// Like [`Reading::sketch_varied`]; of a text that is not large, also returns the hashes of its
    /// shingles, in no particular order.
    pub fn sketch_shingled(&self, raw: Raw) -> Result<Shingled, Skipped> {
        let read = |content: &Content| match content {
            Content::Text(text) if text.len() <= SHINGLED_BYTES_MAX => {
                let made = self.sketcher.text_with_shingles(text);
                let (signature, variety, shingles) = made.map_err(|error| reason_of(&error))?;
                Ok((signature, Some(variety), Some(shingles)))
            }
            _ => self.varied(content).map(|(signature, variety)| (signature, variety, None)),
        };
        let (name, (signature, variety, shingles)) = self.named(raw, read)?;
        Ok((Sketched::new(name, signature), variety, shingles))
    }

    /// Sketches a document, and returns what `look` makes of its content.
    pub fn sketch_and<T>(
        &self,
        raw: Raw,
        look: impl Fn(&Content) -> T,
    ) -> Result<(Sketched, T), Skipped> {
        let read = |content: &Content| Ok((self.signature(content)?, look(content)));
        let (name, (signature, looks)) = self.named(raw, read)?;
        Ok((Sketched::new(name, signature), looks))
    }

    /// A document's name, and its content in the form for exact comparison.
    pub fn original(&self, raw: Raw) -> Result<(Vec<u8>, Original), Skipped> {
        self.named(raw, |content| self.original_of(content))
    }

    /// Like [`Reading::original`], with what can set a text apart from a similar one.
    pub fn detailed(&self, raw: Raw) -> Result<(Vec<u8>, Original), Skipped> {
        self.named(raw, |content| match content {
            Content::Text(text) => {
                self.sketcher.detailed_text(text).map_err(|error| reason_of(&error))
            }
            _ => self.original_of(content),
        })
    }

    /// Like [`Reading::detailed`]; for a text, also returns how varied its shingles are.
    pub fn detailed_varied(
        &self,
        raw: Raw,
    ) -> Result<(Vec<u8>, Original, Option<Variety>), Skipped> {
        let read = |content: &Content| match content {
            Content::Text(text) => match self.sketcher.detailed_text_with_variety(text) {
                Ok((original, variety)) => Ok((original, Some(variety))),
                Err(error) => Err(reason_of(&error)),
            },
            _ => Ok((self.original_of(content)?, None)),
        };
        let (name, (original, variety)) = self.named(raw, read)?;
        Ok((name, original, variety))
    }

    /// A document's name, its signature, and its text for display; a set shows its items.
    pub(crate) fn signed_text(&self, raw: Raw) -> Result<(Vec<u8>, Signature, String), Skipped> {
        let read = |content: &Content| Ok((self.signature(content)?, shown(content)));
        let (name, (signature, text)) = self.named(raw, read)?;
        Ok((name, signature, text))
    }

    /// A document's name, and its text for display; a set shows its items.
    pub fn shown_text(&self, raw: Raw) -> Result<(Vec<u8>, String), Skipped> {
        self.named(raw, |content| Ok(shown(content)))
    }

    /// Cuts a text into passages.
    pub fn prepare(&self, raw: Raw, cutter: &PassageCutter) -> Result<Prepared, Skipped> {
        let prepare = |name: &[u8], content: &Content| {
            let Content::Text(text) = content else {
                return Err(Reason::BadLine("no text to cut passages from".to_owned()));
            };
            if name.len() > PASSAGE_KEY_BYTES_MAX {
                return Err(Reason::BadKey(format!("more than {PASSAGE_KEY_BYTES_MAX} bytes")));
            }
            let prepared = cutter.prepare(name, text, None).map_err(|error| reason_of(&error))?;
            if prepared.wal_bytes() > machine::memory_part(17, PREPARED_BYTES_MAX) {
                return Err(Reason::TooLarge);
            }
            Ok(prepared)
        };
        Ok(self.made(raw, prepare)?.1)
    }

    /// A document's name and text, for a query.
    pub fn text(&self, raw: Raw) -> Result<(Vec<u8>, String), Skipped> {
        let read = |content: &Content| match content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(Reason::BadLine("no text".to_owned())),
        };
        self.named(raw, read)
    }

    /// The columns that are read from tables and Parquet files.
    pub fn wanted(&self) -> Wanted {
        self.fields.wanted()
    }

    /// The key of a line; `None` if the line lacks key or content.
    pub fn key(&self, raw: &Raw) -> Option<Vec<u8>> {
        let line = raw.body.as_ref().ok()?;
        match self.fields.parse(line) {
            Ok(parsed) => match &raw.origin {
                Origin::Line { file, number, .. } => {
                    Some(self.fields.key_of(parsed.key, file, *number))
                }
                _ => Some(parsed.key),
            },
            Err(why) => {
                if let Origin::Line { file, number, .. } = &raw.origin {
                    self.note_fault(file, *number, &why, line);
                }
                None
            }
        }
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
        raw: Raw,
        make: impl Fn(&Content) -> Result<T, Reason>,
    ) -> Result<(Vec<u8>, T), Skipped> {
        self.made(raw, |_, content| make(content))
    }

    /// A document's name, and what is made of its name and content.
    fn made<T>(
        &self,
        raw: Raw,
        make: impl Fn(&[u8], &Content) -> Result<T, Reason>,
    ) -> Result<(Vec<u8>, T), Skipped> {
        let Raw { origin, body } = raw;
        let (name, content) = match self.parsed(&origin, body) {
            Ok(parsed) => parsed,
            Err(reason) => return Err(Skipped::new(origin, reason)),
        };
        match make(&name, &content) {
            Ok(whole) => Ok((name, whole)),
            Err(reason) => Err(Skipped { origin, reason, key: Some(name) }),
        }
    }

    /// A document's name and content.
    fn parsed(
        &self,
        origin: &Origin,
        body: Result<Bytes, Reason>,
    ) -> Result<(Vec<u8>, Content), Reason> {
        let body = body?;
        let (name, content) = match origin {
            Origin::File { path, name } => (name.clone(), Content::Text(text_of(path, body)?)),
            Origin::Line { file, number, .. } => {
                let parsed = self.fields.parse(&body).map_err(|why| {
                    self.note_fault(file, *number, &why, &body);
                    Reason::BadLine(why)
                })?;
                self.replaced.fetch_add(u64::from(parsed.has_replaced), Ordering::Relaxed);
                (self.fields.key_of(parsed.key, file, *number), parsed.content)
            }
            Origin::Set { key } => {
                let items = sets::unpack(&body).map(String::from_utf8_lossy);
                (key.clone(), Content::Items(items.map(Cow::into_owned).collect()))
            }
        };
        match name.len() {
            1..=KEY_BYTES_MAX => Ok((name, content)),
            _ if self.fields.is_key_optional() => Ok((name, content)),
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
            // The number of shingles behind external rows is unknown, so it is stored as 0.
            Content::Rows(rows) => self.sketcher.rows(rows, 0),
        };
        signature.map_err(|error| reason_of(&error))
    }
}

/// The text of a file. Notes what makes it doubtful.
fn text_of(path: &Path, body: Bytes) -> Result<String, Reason> {
    let Decoded { text, how } = formats::text(path, body.into())?;
    if text.len() >= GROWING_BYTES_MIN && normalised_bytes(&text) > DOCUMENT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    doubts::note(path, &how);
    if let Some((what, way_out)) = sniff::many_by_name(path, &text) {
        doubts::note_many(path, what, way_out);
    }
    Ok(text)
}

/// Upper bound of a text's size after normalisation: a few characters stand for whole words, and
/// become them. U+FDFA grows most, to eleven times its size.
fn normalised_bytes(text: &str) -> usize {
    let bytes = |c: char| match c {
        '\u{fdfa}' => 33,
        '\u{fdfb}' | '\u{3300}'..='\u{33ff}' => 18,
        '\u{fdf0}'..='\u{fdfc}' | '\u{3200}'..='\u{32ff}' => 12,
        other => other.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

/// Text for display; a set shows its items, sorted, one per line.
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
        _ => Reason::BadLine(error.full_message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::Params;

    fn reading() -> Reading {
        let params = Params::builder().build().unwrap();
        Reading::new(Sketcher::new(&params), Fields::text("id", "text"))
    }

    fn file(body: Result<Bytes, Reason>) -> Result<Sketched, Skipped> {
        let origin = Origin::File { path: "a.txt".into(), name: b"a.txt".to_vec() };
        reading().sketch(Raw { origin, body })
    }

    #[test]
    fn text_is_sketched_and_named() {
        let sketched = file(Ok(Bytes::from("four words of text"))).unwrap();
        assert_eq!(sketched.name, b"a.txt");
    }

    #[test]
    fn a_text_that_grows_beyond_the_limit_is_too_large() {
        let text = "\u{fdfa}".repeat(DOCUMENT_BYTES_MAX / 33 + 1);
        assert_eq!(file(Ok(Bytes::from(text))).unwrap_err().reason, Reason::TooLarge);
        let text = "\u{fdfa} \u{628}".repeat(DOCUMENT_BYTES_MAX / 400);
        assert!(file(Ok(Bytes::from(text))).is_ok());
    }

    #[test]
    fn binary_and_empty_files_say_which() {
        let skipped = |body: &[u8]| file(Ok(Bytes::copy_from_slice(body))).unwrap_err().to_string();
        assert_eq!(skipped(b"ab\0c"), "skipped a.txt: binary (a NUL byte at 2)");
        assert_eq!(skipped(b" \n"), "skipped a.txt: empty (nothing to compare)");
    }

    #[test]
    fn a_line_with_a_key_too_long_is_skipped() {
        let raw = |key: &str| Raw {
            origin: Origin::Line { file: "l".into(), file_number: 0, number: 3, at: None },
            body: Ok(format!("{{\"id\":\"{key}\",\"text\":\"a b c\"}}").into()),
        };
        assert!(reading().sketch(raw(&"k".repeat(KEY_BYTES_MAX))).is_ok());
        let long = reading().sketch(raw(&"k".repeat(KEY_BYTES_MAX + 1))).unwrap_err().to_string();
        assert!(long.starts_with("skipped l line 3: bad key (it has 4,097 bytes"), "{long}");
        assert_eq!(reading().sketch(raw("")).unwrap_err().reason.kind(), "bad key");
    }
}
