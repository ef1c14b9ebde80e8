//! The fields of a JSON object: extracts key and content of a document.
//!
//! This module knows JSON, not signatures.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

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
    /// If set, a line without a valid key gets the empty key.
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

    /// Whether the key is optional. If so, a key of any length is accepted.
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

/// Message for a number that lost digits when it was parsed. Such a number cannot serve as a key,
/// because it could equal the key of another document.
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

/// Deserialises the fields named in [`Fields`] from an object. The object's other fields are only
/// checked for valid JSON: they take no memory, and numbers in them may be of any size.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Regression test, found in a code review: deduplication left out a line because of a huge
    /// number in a field that is not compared.
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
