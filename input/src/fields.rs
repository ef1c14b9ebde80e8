//! The fields of a JSON object: extracts key and content of a document.
//!
//! This module knows JSON, not signatures.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::source::Wanted;

/// The content of a document.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// The items of a set.
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
pub struct Fields {
    key: String,
    content: String,
    kind: ContentKind,
    /// If set, a line without a valid key gets the empty key.
    key_optional: bool,
}

impl Fields {
    /// Fields of a key and a text.
    pub fn text(key: &str, text: &str) -> Self {
        Self::new(key, text, ContentKind::Text)
    }

    /// Fields of a key and the items of a set.
    pub fn items(key: &str, items: &str) -> Self {
        Self::new(key, items, ContentKind::Items)
    }

    /// Fields of a key and the rows of a signature.
    pub fn rows(key: &str, rows: &str) -> Self {
        Self::new(key, rows, ContentKind::Rows)
    }

    fn new(key: &str, content: &str, kind: ContentKind) -> Self {
        Self { key: key.to_owned(), content: content.to_owned(), kind, key_optional: false }
    }

    /// Makes the key optional.
    #[must_use]
    pub fn with_key_optional(self) -> Self {
        Self { key_optional: true, ..self }
    }

    /// Whether the key is optional. If so, a key of any length is accepted.
    pub fn is_key_optional(&self) -> bool {
        self.key_optional
    }

    pub(crate) fn kind(&self) -> ContentKind {
        self.kind
    }

    /// The names of the fields that are read.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.key, &self.content]
    }

    /// The columns to read from tables and Parquet files: no others.
    pub fn wanted(&self) -> Wanted {
        let (key, content) = (self.key.clone(), self.content.clone());
        Wanted { key, content, is_key_optional: self.key_optional, only: true }
    }

    /// Extracts key and content of a line, or explains the error.
    pub fn parse(&self, line: &[u8]) -> Result<Parsed, String> {
        let mut replaced = false;
        let object = self.object(line).or_else(|error| match relaxed(line) {
            Some(relaxed) => {
                replaced = relaxed.has_replaced;
                self.object(&relaxed.line).map_err(|error| not_an_object(line, &error))
            }
            None => Err(not_an_object(line, &error)),
        })?;
        if let Some(name) = object.twice {
            return Err(format!("there are two fields {name:?}"));
        }
        let key = match object.key {
            Some(Value::Text(key)) => key.into_bytes(),
            Some(Value::Integer(digits)) => digits.into_bytes(),
            _ if self.key_optional => Vec::new(),
            Some(Value::TooLarge) => return Err(format!("{:?} is {TOO_LARGE}", self.key)),
            Some(_) => return Err(format!("{:?} is neither a string nor an integer", self.key)),
            None => return Err(format!("there is no {:?}", self.key)),
        };
        let name = &self.content;
        let content = match (object.content, self.kind) {
            (Some(Value::Text(text)), ContentKind::Text) => Content::Text(text),
            (Some(Value::Items(items)), ContentKind::Items) => Content::Items(items),
            (Some(Value::Rows(rows)), ContentKind::Rows) => Content::Rows(rows),
            (Some(Value::WrongItem(why)), ContentKind::Items) => {
                return Err(format!("an item of {name:?} is {why}"));
            }
            (Some(Value::WrongItem(why)), ContentKind::Rows) => {
                return Err(format!("a row of {name:?} is {why}"));
            }
            // A null is a document without content, as an empty text or set is.
            (Some(Value::Null), ContentKind::Text) => Content::Text(String::new()),
            (Some(Value::Null), ContentKind::Items) => Content::Items(Vec::new()),
            (Some(_), ContentKind::Text) => return Err(format!("{name:?} is not a string")),
            (Some(_), _) => return Err(format!("{name:?} is not an array")),
            (None, _) => return Err(format!("there is no {name:?}")),
        };
        let is_lossy = matches!(&content, Content::Text(text) if text.contains('\u{fffd}'));
        Ok(Parsed { key, content, has_replaced: replaced && is_lossy })
    }

    fn object(&self, line: &[u8]) -> Result<Object, serde_json::Error> {
        let mut parser = serde_json::Deserializer::from_slice(line);
        let mut object = Object::default();
        let names = [Some(self.key.as_str()), Some(self.content.as_str())];
        let fields = ReadFields { fields: self, names, object: &mut object };
        (&mut parser).deserialize_map(fields)?;
        parser.end()?;
        Ok(object)
    }
}

/// The key and the content of a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The key.
    pub key: Vec<u8>,
    /// The content.
    pub content: Content,
    /// Whether the text had halves of surrogate pairs, each of which became U+FFFD.
    pub has_replaced: bool,
}

/// Message for a number that lost digits when it was parsed. Such a number cannot serve as a key,
/// because it could equal the key of another document.
const TOO_LARGE: &str =
    "too large for an integer (-2^63 to 2^64 - 1 can be read); write it as a string";

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Whether a number is in the range where the parser no longer tells integers from fractions.
fn is_beyond_integers(number: f64) -> bool {
    !(-TWO_TO_63..2.0 * TWO_TO_63).contains(&number)
}

/// The two fields of a line that are read.
#[derive(Default)]
struct Object {
    key: Option<Value>,
    content: Option<Value>,
    /// The name of a field that occurs twice.
    twice: Option<String>,
}

/// The value of a field that is read. Values that cannot be used take no memory.
#[derive(Debug, Clone)]
enum Value {
    Text(String),
    /// The digits of an integer.
    Integer(String),
    /// A number in the range where the parser loses digits of integers.
    TooLarge,
    Items(Vec<String>),
    Rows(Vec<u64>),
    /// An array with an item that cannot be used, and what it is.
    WrongItem(String),
    Null,
    /// Anything else. Holds a description.
    Other(String),
}

/// Deserialises a value; arrays as items or rows.
#[derive(Clone, Copy)]
struct ReadValue {
    kind: Option<ContentKind>,
}

impl<'de> DeserializeSeed<'de> for ReadValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadValue {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Integer(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        let is_large = is_beyond_integers(number);
        Ok(if is_large { Value::TooLarge } else { Value::Other(number.to_string()) })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Other(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let (mut texts, mut rows, mut wrong) = (Vec::new(), Vec::new(), None);
        while let Some(item) = items.next_element_seed(ReadValue { kind: None })? {
            match (self.kind, item) {
                (Some(ContentKind::Items), Value::Text(item) | Value::Integer(item)) => {
                    texts.push(item);
                }
                (Some(ContentKind::Items), Value::TooLarge) => {
                    wrong.get_or_insert(TOO_LARGE.to_owned());
                }
                (Some(ContentKind::Items), other) => {
                    let what = other.described();
                    wrong.get_or_insert_with(|| {
                        format!("neither string nor integer: {what}; write it as a string")
                    });
                }
                (Some(ContentKind::Rows), Value::Integer(digits))
                    if digits.parse::<u64>().is_ok() =>
                {
                    rows.extend(digits.parse::<u64>());
                }
                (Some(ContentKind::Rows), other) => {
                    let what = other.described();
                    wrong.get_or_insert_with(|| {
                        format!("not an integer from 0 to 2^64 - 1: {what}")
                    });
                }
                _ => {}
            }
        }
        Ok(match (wrong, self.kind) {
            (Some(why), _) => Value::WrongItem(why),
            (None, Some(ContentKind::Items)) => Value::Items(texts),
            (None, Some(ContentKind::Rows)) => Value::Rows(rows),
            (None, _) => Value::Other("an array".to_owned()),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("an object".to_owned()))
    }
}

impl Value {
    fn described(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(digits) => digits.clone(),
            Self::TooLarge => "a large number".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Other(what) => what.clone(),
            Self::Items(_) | Self::Rows(_) | Self::WrongItem(_) => "an array".to_owned(),
        }
    }
}

/// Deserialises the fields named in [`Fields`] from an object. The object's other fields are only
/// checked for valid JSON: they take no memory, and numbers in them may be of any size.
///
/// A name with dots is a path: `data.text` is the field `text` of the object `data`, or a field of
/// that name.
struct ReadFields<'f, 'o> {
    fields: &'f Fields,
    /// The rest of the paths to key and content; `None` if this object is not on the path.
    names: [Option<&'f str>; 2],
    object: &'o mut Object,
}

impl<'de> DeserializeSeed<'de> for ReadFields<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(Within(self))
    }
}

impl<'de> Visitor<'de> for ReadFields<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let kind = self.fields.kind;
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            let [is_key, is_content] = self.names.map(|wanted| wanted == Some(&*name));
            let within = self.names.map(|wanted| wanted?.strip_prefix(&*name)?.strip_prefix('.'));
            if is_content {
                let value = fields.next_value_seed(ReadValue { kind: Some(kind) })?;
                if is_key {
                    self.object.key = Some(value.clone());
                }
                if self.object.content.replace(value).is_some() {
                    self.object.twice = Some(self.fields.content.clone());
                }
            } else if is_key {
                let value = fields.next_value_seed(ReadValue { kind: None })?;
                if self.object.key.replace(value).is_some() {
                    self.object.twice = Some(self.fields.key.clone());
                }
            } else if within != [None, None] {
                let (names, object) = (within, &mut *self.object);
                fields.next_value_seed(ReadFields { fields: self.fields, names, object })?;
            } else {
                let _: IgnoredAny = fields.next_value()?;
            }
        }
        Ok(())
    }
}

/// Reads the fields of an object within an object; any other value has none of them.
struct Within<'f, 'o>(ReadFields<'f, 'o>);

impl<'de> Visitor<'de> for Within<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<(), A::Error> {
        self.0.visit_map(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A line whose deviations from JSON are replaced. No byte changes its place.
pub struct Relaxed {
    pub(crate) line: Vec<u8>,
    /// Whether halves of surrogate pairs were replaced.
    has_replaced: bool,
}

/// Replaces what Python's `json.dumps` writes and JSON lacks: NaN and infinities become a number
/// that is no key and no item, halves of surrogate pairs U+FFFD. Returns `None` if the line has
/// none of these.
pub(crate) fn relaxed(line: &[u8]) -> Option<Relaxed> {
    let mut relaxed = Relaxed { line: line.to_vec(), has_replaced: false };
    let (mut at, mut has_changed, mut is_string) = (0, false, false);
    while let Some(&byte) = line.get(at) {
        at += match byte {
            b'"' => {
                is_string = !is_string;
                1
            }
            b'\\' if is_string => {
                let (bytes, is_half) = escape_at(&line[at..]);
                if is_half {
                    relaxed.line[at..at + bytes].copy_from_slice(b"\\uFFFD");
                    (relaxed.has_replaced, has_changed) = (true, true);
                }
                bytes
            }
            b'N' | b'I' | b'-' if !is_string => match constant_at(line, at) {
                Some(bytes) => {
                    relaxed.line[at..at + bytes].fill(b' ');
                    relaxed.line[at..at + 3].copy_from_slice(b"0.5");
                    has_changed = true;
                    bytes
                }
                None => 1,
            },
            _ => 1,
        };
    }
    has_changed.then_some(relaxed)
}

/// The length of the escape at the beginning of `text`, and whether it is half of a surrogate pair.
fn escape_at(text: &[u8]) -> (usize, bool) {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match unit(text) {
        Some(0xd800..=0xdbff) if matches!(unit(&text[6..]), Some(0xdc00..=0xdfff)) => (12, false),
        Some(0xd800..=0xdfff) => (6, true),
        Some(_) => (6, false),
        None => (2, false),
    }
}

/// The length of NaN, Infinity or -Infinity as a whole value at `at`.
fn constant_at(line: &[u8], at: usize) -> Option<usize> {
    let is_delimiter = |byte: &u8| b" \t\r,:[]{}".contains(byte);
    let constant = [&b"NaN"[..], b"Infinity", b"-Infinity"].into_iter();
    let bytes = constant.filter(|one| line[at..].starts_with(one)).map(<[u8]>::len).next()?;
    let before = at.checked_sub(1).is_none_or(|before| is_delimiter(&line[before]));
    let behind = line.get(at + bytes).is_none_or(is_delimiter);
    (before && behind).then_some(bytes)
}

fn not_an_object(line: &[u8], error: &serde_json::Error) -> String {
    let line = line.trim_ascii_start();
    if line.starts_with(b"[") {
        return "a JSON array, not an object: `jq -c '.[]'` makes lines of objects".to_owned();
    }
    if line.trim_ascii_end() == b"{" {
        return "an object over several lines: `jq -c .` puts it on one".to_owned();
    }
    let first = [b'|', b'\t', b';', b','].into_iter().find(|mark| line.contains(mark));
    match first.filter(|_| !line.starts_with(b"{")) {
        Some(b'\t') => return "not JSON; if it is a table: --delimiter tab".to_owned(),
        Some(mark) => {
            return format!("not JSON; if it is a table: --delimiter '{}'", char::from(mark));
        }
        None => {}
    }
    if error.is_data() {
        return "not a JSON object".to_owned();
    }
    // serde_json sees one line only and always says "line 1"; the caller adds the real line number.
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {message} at column {}", error.column())
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
