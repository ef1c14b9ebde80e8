//! JSON lines: reads them in bounded memory, and extracts key and content.
//!
//! This module knows JSON, not signatures.

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::failure::Failure;
use crate::raw::{DOCUMENT_BYTES_MAX, Origin, Raw, Reason, has_line};
use crate::source;

/// The content of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Items(Vec<String>),
    /// Rows of a signature computed by another program.
    Rows(Vec<u64>),
}

/// The kind of content that lines hold beside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ContentKind {
    Text,
    Items,
    Rows,
}

/// The names of the fields to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fields {
    key: String,
    content: String,
    kind: ContentKind,
    /// A line without a key, or with an invalid key, gets the empty key.
    key_optional: bool,
}

impl Fields {
    pub(crate) fn text(key: &str, text: &str) -> Self {
        Self::new(key, text, ContentKind::Text)
    }

    pub(crate) fn items(key: &str, items: &str) -> Self {
        Self::new(key, items, ContentKind::Items)
    }

    pub(crate) fn rows(key: &str, rows: &str) -> Self {
        Self::new(key, rows, ContentKind::Rows)
    }

    fn new(key: &str, content: &str, kind: ContentKind) -> Self {
        Self { key: key.to_owned(), content: content.to_owned(), kind, key_optional: false }
    }

    /// Makes the key optional.
    pub(crate) fn with_key_optional(self) -> Self {
        Self { key_optional: true, ..self }
    }

    /// Whether the key is optional; then any string is accepted as key.
    pub(crate) fn is_key_optional(&self) -> bool {
        self.key_optional
    }

    pub(crate) fn kind(&self) -> ContentKind {
        self.kind
    }

    /// The names of the fields that are read.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.key, &self.content]
    }

    /// Extracts key and content of a line, or explains the error.
    pub(crate) fn parse(&self, line: &[u8]) -> Result<(Vec<u8>, Content), String> {
        // Some programs start a file with a byte order mark.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let mut parser = serde_json::Deserializer::from_slice(line);
        let object = ReadFields(self).deserialize(&mut parser);
        let object = object.and_then(|object| parser.end().map(|()| object));
        let Object { key, content } = object.map_err(|error| not_an_object(&error))?;
        let name = &self.content;
        let key = match key {
            Some(Value::String(key)) => key.into_bytes(),
            Some(Value::Number(number)) if !number.is_f64() => number.to_string().into_bytes(),
            _ if self.key_optional => Vec::new(),
            Some(Value::Number(number)) if is_beyond_integers(&number) => {
                return Err(format!("{:?} is {TOO_LARGE}", self.key));
            }
            Some(_) => return Err(format!("{:?} is neither a string nor an integer", self.key)),
            None => return Err(format!("there is no {:?}", self.key)),
        };
        let content = match (content, self.kind) {
            (Some(Value::String(text)), ContentKind::Text) => Content::Text(text),
            (Some(Value::Array(items)), ContentKind::Items) => Content::Items(
                items.into_iter().map(|item| self.item(item)).collect::<Result<_, _>>()?,
            ),
            (Some(Value::Array(rows)), ContentKind::Rows) => {
                Content::Rows(rows.iter().map(|row| self.row(row)).collect::<Result<_, _>>()?)
            }
            (Some(_), ContentKind::Text) => return Err(format!("{name:?} is not a string")),
            (Some(_), _) => return Err(format!("{name:?} is not an array")),
            (None, _) => return Err(format!("there is no {name:?}")),
        };
        Ok((key, content))
    }

    fn row(&self, row: &Value) -> Result<u64, String> {
        row.as_u64().ok_or_else(|| {
            format!("a row of {:?} is not an integer from 0 to 2^64 - 1: {row}", self.content)
        })
    }

    fn item(&self, item: Value) -> Result<String, String> {
        match item {
            Value::String(item) => Ok(item),
            Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
            Value::Number(number) if is_beyond_integers(&number) => {
                Err(format!("an item of {:?} is {TOO_LARGE}", self.content))
            }
            other => {
                Err(format!("an item of {:?} is neither string nor integer: {other}", self.content))
            }
        }
    }
}

/// Message for a number that lost digits in parsing: as a key it could equal another key.
const TOO_LARGE: &str =
    "too large for an integer (-2^63 to 2^64 - 1 can be read); write it as a string";

/// Whether a number is in the range where the parser no longer tells integers from fractions.
fn is_beyond_integers(number: &Number) -> bool {
    number.as_f64().is_some_and(|value| !(-TWO_TO_63..2.0 * TWO_TO_63).contains(&value))
}

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// The two fields of a line that are read.
struct Object {
    key: Option<Value>,
    content: Option<Value>,
}

/// Deserialises these fields of an object. The others are only checked to be JSON: a number there
/// may be beyond any range, and no memory is taken for them.
struct ReadFields<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for ReadFields<'_> {
    type Value = Object;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Object, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReadFields<'_> {
    type Value = Object;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Object, A::Error> {
        let mut object = Object { key: None, content: None };
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            if name == self.0.content {
                object.content = Some(fields.next_value()?);
            } else if name == self.0.key {
                object.key = Some(fields.next_value()?);
            } else {
                let _: IgnoredAny = fields.next_value()?;
            }
        }
        if self.0.key == self.0.content {
            object.key.clone_from(&object.content);
        }
        Ok(object)
    }
}

fn not_an_object(error: &serde_json::Error) -> String {
    // serde_json sees one line only and always says "line 1"; the caller adds the real line number.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        "not a JSON object".to_owned()
    } else {
        format!("not JSON: {message} at column {}", error.column())
    }
}

/// Upper bound of the bytes of a block that a line keeps in memory, as a multiple of its length.
const SKIPPED_MAX: u64 = 8;

/// Reads line after line; a line that is too long is skipped without being stored.
pub(crate) struct Lines {
    reader: BufReader<Box<dyn Read>>,
    /// The rest of the block that was read last.
    block: Bytes,
    /// For messages: the file name, or "stdin".
    name: Arc<str>,
    bytes_max: usize,
    number: u64,
    bytes_read: u64,
    /// The value of `bytes_read` after the last line that was returned with its content.
    bytes_returned: u64,
    /// For a file that may be compressed: bytes read of the stored file.
    taken: Option<Arc<AtomicU64>>,
    /// For stdin: not 0 while lines beyond the current buffer have been read.
    ends_ahead: Option<Arc<AtomicUsize>>,
}

impl Lines {
    pub(crate) fn new(name: &str, reader: Box<dyn Read>) -> Self {
        Self::with_bytes_max(name, reader, DOCUMENT_BYTES_MAX)
    }

    fn with_bytes_max(name: &str, reader: Box<dyn Read>, bytes_max: usize) -> Self {
        let reader = BufReader::with_capacity(256 << 10, reader);
        let (name, block) = (name.into(), Bytes::new());
        Self {
            reader,
            block,
            name,
            bytes_max,
            number: 0,
            bytes_read: 0,
            bytes_returned: 0,
            taken: None,
            ends_ahead: None,
        }
    }

    /// Opens a file at line `number` and byte `at`, both counted from 0 in the uncompressed lines;
    /// `columns` selects columns of a Parquet file.
    pub(crate) fn open_at(
        path: &Path,
        columns: &[&str],
        (number, at): (u64, u64),
    ) -> Result<Self, Failure> {
        let source = source::open_at(path, columns, at)?;
        let mut lines = Self::new(&source.name, source.reader);
        (lines.number, lines.bytes_read, lines.bytes_returned) = (number, at, at);
        lines.taken = Some(source.taken);
        lines.ends_ahead = source.ends_ahead;
        Ok(lines)
    }

    /// Changes the name used in messages.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Uncompressed bytes read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Lines read so far, including blank ones.
    pub(crate) fn lines_read(&self) -> u64 {
        self.number
    }

    /// Stored (possibly compressed) bytes read so far.
    pub(crate) fn bytes_taken(&self) -> u64 {
        self.taken.as_ref().map_or(self.bytes_read, |taken| taken.load(Ordering::Relaxed))
    }

    /// Whether no complete line is buffered, so that reading the next one may block.
    pub(crate) fn would_wait(&self) -> bool {
        let none_ahead = |ahead: &Arc<AtomicUsize>| ahead.load(Ordering::Relaxed) == 0;
        !has_line(&self.block) && self.ends_ahead.as_ref().is_none_or(none_ahead)
    }

    /// The next line that is not blank, without its line end.
    pub(crate) fn next(&mut self) -> Result<Option<Raw>, Failure> {
        while let Some(mut body) = self.line()? {
            self.number += 1;
            if body.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
                continue;
            }
            if let Ok(line) = &mut body {
                // A line keeps its block in memory. If most of the block was skipped, a copy of the
                // line is smaller.
                if self.bytes_read - self.bytes_returned > SKIPPED_MAX * line.len() as u64 {
                    *line = Bytes::copy_from_slice(line);
                }
                self.bytes_returned = self.bytes_read;
            }
            let origin = Origin::Line { file: self.name.clone(), number: self.number };
            return Ok(Some(Raw { origin, body }));
        }
        Ok(None)
    }

    /// The next line: a part of a block, or put together if it goes on in the next block.
    fn line(&mut self) -> Result<Option<Result<Bytes, Reason>>, Failure> {
        let mut begun = Vec::new();
        let mut length = 0;
        loop {
            if self.block.is_empty() {
                self.block = self.next_block()?;
            }
            let end = memchr::memchr(b'\n', &self.block);
            let used = end.map_or(self.block.len(), |end| end + 1);
            let mut part = self.block.split_to(used);
            self.bytes_read += used as u64;
            part.truncate(end.unwrap_or(used));
            length += part.len();
            let fits = length <= self.bytes_max;
            if end.is_some() || used == 0 {
                if used == 0 && length == 0 {
                    return Ok(None);
                }
                if !begun.is_empty() {
                    begun.extend_from_slice(&part);
                    part = begun.into();
                }
                return Ok(Some(if fits { Ok(part) } else { Err(Reason::TooLarge) }));
            }
            if fits {
                begun.extend_from_slice(&part);
            } else {
                begun = Vec::new();
            }
        }
    }

    /// The next bytes, with some lines; none at the end.
    fn next_block(&mut self) -> Result<Bytes, Failure> {
        loop {
            match self.reader.fill_buf() {
                Ok(buffer) => {
                    let (block, count) = (Bytes::copy_from_slice(buffer), buffer.len());
                    self.reader.consume(count);
                    return Ok(block);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Failure::new(
                        format!("cannot read {} after line {}: {error}", self.name, self.number),
                        "",
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn lines(text: &str, bytes_max: usize) -> Vec<(u64, Result<String, Reason>)> {
        let reader = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let mut lines = Lines::with_bytes_max("test", reader, bytes_max);
        let mut found = Vec::new();
        while let Some(raw) = lines.next().unwrap() {
            let Origin::Line { number, .. } = raw.origin else { panic!("not a line") };
            found.push((number, raw.body.map(|line| String::from_utf8(line.to_vec()).unwrap())));
        }
        assert_eq!(lines.bytes_read(), text.len() as u64);
        found
    }

    #[test]
    fn nobody_waits_for_a_line_that_was_read_ahead() {
        let text = "{\"id\":1}\n{\"id\"";
        let mut lines = Lines::new("test", Box::new(Cursor::new(text)));
        let ends_ahead = Arc::new(AtomicUsize::new(1));
        lines.ends_ahead = Some(Arc::clone(&ends_ahead));
        assert!(lines.next().unwrap().is_some());
        assert!(!lines.would_wait());
        ends_ahead.store(0, Ordering::Relaxed);
        assert!(lines.would_wait(), "what is at hand is no whole line");
    }

    #[test]
    fn a_blank_line_at_hand_is_no_line() {
        for (text, is_line) in [("\n", false), (" \r\n\n", false), ("\na\n", true), ("a", false)] {
            assert_eq!(has_line(text.as_bytes()), is_line, "{text:?}");
            let mut lines = Lines::new("test", Box::new(Cursor::new(format!("first\n{text}"))));
            assert!(lines.next().unwrap().is_some());
            assert_eq!(lines.would_wait(), !is_line, "{text:?}");
        }
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let found = lines("a\n\n \r\nb", 10);
        assert_eq!(found, [(1, Ok("a".to_owned())), (4, Ok("b".to_owned()))]);
        assert!(lines("", 10).is_empty());
    }

    #[test]
    fn a_line_too_long_is_named_and_the_next_one_read() {
        let long = "x".repeat(600_000);
        let found = lines(&format!("12345\n{long}\n123456\nb\n{long}"), 5);
        assert_eq!(found[0], (1, Ok("12345".to_owned())));
        assert_eq!(found[1], (2, Err(Reason::TooLarge)));
        assert_eq!(found[2], (3, Err(Reason::TooLarge)));
        assert_eq!(found[3], (4, Ok("b".to_owned())));
        assert_eq!(found[4], (5, Err(Reason::TooLarge)));
    }

    #[test]
    fn a_line_that_goes_over_blocks_is_whole() {
        let (one, other) = ("x".repeat(300_000), "y".repeat(600_000));
        let found = lines(&format!("{one}\nb\n{other}\n{one}"), 1 << 20);
        let bodies: Vec<_> = found.into_iter().map(|(_, body)| body.unwrap()).collect();
        assert!(bodies == [&one, "b", &other, &one]);
    }

    /// Found by a reader: 7 MB of compressed blank lines took a gibibyte of memory.
    #[test]
    fn a_short_line_among_skipped_ones_does_not_keep_their_block() {
        let (blank, long) = (" ".repeat(2_000), "x".repeat(2_000));
        let text = format!("first\nsecond\n{blank}\nb\n{long}\nc\nd\n");
        let mut lines = Lines::with_bytes_max("test", Box::new(Cursor::new(text)), 1_000);
        let mut kept = Vec::new();
        while let Some(raw) = lines.next().unwrap() {
            kept.extend(raw.body.ok().map(|line| (line.is_unique(), line)));
        }
        let unique: Vec<_> = kept.iter().map(|(is_unique, line)| (*is_unique, &line[..])).collect();
        let expected =
            [(false, "first"), (false, "second"), (true, "b"), (true, "c"), (false, "d")];
        assert_eq!(unique, expected.map(|(is_unique, line)| (is_unique, line.as_bytes())));
    }

    fn parse(line: &str) -> Result<(Vec<u8>, Content), String> {
        Fields::text("id", "text").parse(line.as_bytes())
    }

    #[test]
    fn key_and_text_are_found_among_other_fields() {
        let line = r#"{"n":[1,{}],"text":"a\nb","id":"k"}"#;
        assert_eq!(parse(line), Ok((b"k".to_vec(), Content::Text("a\nb".to_owned()))));
        let (key, _) = parse("\u{feff}{\"id\":-7,\"text\":\"\"}").unwrap();
        assert_eq!(key, b"-7");
    }

    /// Found by a reader: the line was left out of what deduplication keeps.
    #[test]
    fn a_number_that_nobody_reads_may_be_beyond_all_ranges() {
        let (key, content) = parse(r#"{"n":1e400,"id":"k","text":"a","m":[-1e999]}"#).unwrap();
        assert_eq!((key, content), (b"k".to_vec(), Content::Text("a".to_owned())));
        assert!(parse(r#"{"n":1e,"id":"k","text":"a"}"#).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, wrong) in [
            ("[1]", "not a JSON object"),
            ("3", "not a JSON object"),
            ("{\"id\":", "not JSON: EOF while parsing a value at column 6"),
            ("garbage", "not JSON: expected value at column 1"),
            ("{\"text\":\"a\"}", "there is no \"id\""),
            ("{\"id\":\"a\"}", "there is no \"text\""),
            ("{\"id\":1.5,\"text\":\"a\"}", "\"id\" is neither a string nor an integer"),
            ("{\"id\":\"a\",\"text\":null}", "\"text\" is not a string"),
        ] {
            assert_eq!(parse(line), Err(wrong.to_owned()), "{line}");
        }
    }

    #[test]
    fn an_integer_that_is_too_large_is_said_to_be() {
        let line = |key: &str| format!("{{\"id\":{key},\"text\":\"a\"}}");
        for fits in ["18446744073709551615", "-9223372036854775808"] {
            assert_eq!(parse(&line(fits)).unwrap().0, fits.as_bytes());
        }
        for large in ["18446744073709551616", "-9223372036854777857", "1e300"] {
            let wrong = parse(&line(large)).unwrap_err();
            assert_eq!(wrong, format!("\"id\" is {TOO_LARGE}"), "{large}");
        }
        let fields = Fields::items("id", "items");
        let wrong = fields.parse(br#"{"id":1,"items":[1,18446744073709551616]}"#).unwrap_err();
        assert_eq!(wrong, format!("an item of \"items\" is {TOO_LARGE}"));
    }

    #[test]
    fn a_line_nested_too_deeply_is_said_to_be() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        let unread = format!("{{\"id\":1,\"text\":\"a\",\"n\":{}}}", nested(100_000));
        assert!(parse(&unread).is_ok());
        let wrong = parse(&format!("{{\"id\":1,\"text\":{}}}", nested(128))).unwrap_err();
        assert!(wrong.starts_with("not JSON: recursion limit exceeded"), "{wrong}");
    }

    #[test]
    fn rows_are_unsigned_integers() {
        let fields = Fields::rows("id", "rows");
        let parse = |rows: &str| fields.parse(format!("{{\"id\":1,\"rows\":{rows}}}").as_bytes());
        let (_, content) = parse("[0,4294967296,18446744073709551615]").unwrap();
        assert_eq!(content, Content::Rows(vec![0, 1 << 32, u64::MAX]));
        for bad in ["[-1]", "[1.0]", "[\"1\"]", "[18446744073709551616]", "7"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn items_are_strings_and_integers() {
        let fields = Fields::items("id", "items");
        let parse =
            |items: &str| fields.parse(format!("{{\"id\":1,\"items\":{items}}}").as_bytes());
        let (_, content) = parse(r#"["a",1,-2,18446744073709551615]"#).unwrap();
        let expected = ["a", "1", "-2", "18446744073709551615"].map(str::to_owned).to_vec();
        assert_eq!(content, Content::Items(expected));
        for bad in ["[1.5]", "[true]", "[null]", "[[1]]", "\"a\"", "[1e3]"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
