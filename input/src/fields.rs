//! The fields of a JSON object: extracts key and content of a document.
//!
//! This module knows JSON, not signatures.

mod cut;
mod object;
mod ordered;
mod relaxed;
mod value;

use serde::{Deserialize, Serialize};

use super::source::Wanted;
pub use cut::cut_text;
pub use object::FIELDS_MAX;
use object::{FieldPaths, Object};
pub use ordered::{has_field, order_of};
pub(crate) use relaxed::relaxed;
pub(crate) use value::ContentKind;
use value::{TOO_LARGE, Value};

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

/// The names of the fields to read. A name with dots is a path: `data.text` is the field `text` of
/// the object `data`, or a field of that name. For a text, a path may lead through lists, and a
/// list of strings is a text: the texts of all elements are joined by line ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    key: String,
    /// At least one; several only for texts.
    content: Vec<String>,
    kind: ContentKind,
    /// If set, a line without a valid key gets the empty key.
    key_optional: bool,
    /// Whether file and number of a line are its key.
    #[serde(default)]
    keyed_by_line: bool,
    /// What else is stored with the document: payload and time.
    #[serde(default)]
    stored: [Option<String>; 2],
}

impl Fields {
    /// Fields of a key and a text.
    pub fn text(key: &str, text: &str) -> Self {
        Self::new(key, text, ContentKind::Text)
    }

    /// Fields of a key and of texts that are joined by line ends, in this order. None are the field
    /// `text`.
    ///
    /// # Errors
    ///
    /// What is wrong if there are more than [`FIELDS_MAX`].
    pub fn texts(key: &str, texts: &[String]) -> Result<Self, String> {
        match texts {
            [] => Ok(Self::text(key, "text")),
            [first, ..] if texts.len() <= FIELDS_MAX => {
                Ok(Self { content: texts.to_vec(), ..Self::text(key, first) })
            }
            _ => Err(format!("at most {FIELDS_MAX} fields can be joined, not {}", texts.len())),
        }
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
        let (key, content) = (key.to_owned(), vec![content.to_owned()]);
        let stored = [None, None];
        Self { key, content, kind, key_optional: false, keyed_by_line: false, stored }
    }

    /// Reads a payload and a time, too, from the fields of these names.
    #[must_use]
    pub fn with_stored(self, payload: Option<String>, time: Option<String>) -> Self {
        Self { stored: [payload, time], ..self }
    }

    /// Whether a payload or a time is read.
    pub fn has_stored(&self) -> bool {
        self.stored.iter().any(Option::is_some)
    }

    /// The payload and the time of a line as texts; `None` where it has none.
    ///
    /// # Errors
    ///
    /// Which of them is neither a string nor an integer.
    pub fn stored(&self, line: &[u8]) -> Result<[Option<String>; 2], String> {
        let of = |name: &Option<String>| match name {
            Some(name) => ordered::plain(line, name),
            None => Ok(None),
        };
        let [payload, time] = &self.stored;
        Ok([of(payload)?, of(time)?])
    }

    /// The file and the number of a line become its key, whatever fields it has.
    #[must_use]
    pub fn with_line_keys(self) -> Self {
        Self { keyed_by_line: true, ..self }
    }

    /// The key of the line `number` of `file`, whose field of the key holds `key`.
    pub fn key_of(&self, key: Vec<u8>, file: &str, number: u64) -> Vec<u8> {
        if self.keyed_by_line { format!("{file}:{number}").into_bytes() } else { key }
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
    pub(crate) fn names(&self) -> (&str, &[String]) {
        (&self.key, &self.content)
    }

    /// Whether a line needs no field with a key.
    pub(crate) fn needs_no_key(&self) -> bool {
        self.key_optional || self.keyed_by_line
    }

    /// The columns to read from tables and Parquet files: no others.
    pub fn wanted(&self) -> Wanted {
        let (key, mut content) = (self.key.clone(), self.content.clone());
        content.extend(self.stored.iter().flatten().cloned());
        Wanted {
            key,
            content,
            is_key_optional: self.needs_no_key(),
            only: true,
            is_for_copy: false,
        }
    }

    /// Extracts key and content of a line, or explains the error.
    pub fn parse(&self, line: &[u8]) -> Result<Parsed, String> {
        let mut replaced = false;
        let paths = FieldPaths { key: &self.key, contents: &self.content, kind: self.kind };
        let object = Object::read(paths, line).or_else(|error| match relaxed(line) {
            Some(relaxed) => {
                replaced = relaxed.has_replaced;
                Object::read(paths, &relaxed.line).map_err(|error| not_an_object(line, &error))
            }
            None => Err(not_an_object(line, &error)),
        })?;
        if let Some(name) = object.twice {
            return Err(format!("there are two fields {name:?}"));
        }
        let key = match object.key {
            Some(Value::Text(key)) => key.into_bytes(),
            Some(Value::Integer(digits)) => digits.into_bytes(),
            _ if self.needs_no_key() => Vec::new(),
            Some(Value::TooLarge) => return Err(format!("{:?} is {TOO_LARGE}", self.key)),
            Some(_) => return Err(format!("{:?} is neither a string nor an integer", self.key)),
            None => return Err(format!("there is no {:?}", self.key)),
        };
        let mut contents = self.content.iter().zip(object.contents);
        let content = contents.try_fold(None, |before, (name, value)| {
            let content = self.content_of(name, value)?;
            Ok::<_, String>(Some(match (before, content) {
                (Some(Content::Text(before)), Content::Text(text)) => {
                    Content::Text(value::joined(before, &text))
                }
                (_, content) => content,
            }))
        })?;
        let content = content.unwrap_or_else(|| Content::Text(String::new()));
        let is_lossy = matches!(&content, Content::Text(text) if text.contains('\u{fffd}'));
        Ok(Parsed { key, content, has_replaced: replaced && is_lossy })
    }

    /// The content of the field `name`.
    fn content_of(&self, name: &str, value: Option<Value>) -> Result<Content, String> {
        Ok(match (value, self.kind) {
            (Some(Value::Text(text)), ContentKind::Text) => Content::Text(text),
            (Some(Value::Items(items)), ContentKind::Items) => Content::Items(items),
            (Some(Value::Rows(rows)), ContentKind::Rows) => Content::Rows(rows),
            (Some(Value::WrongItem(why)), ContentKind::Text) => {
                return Err(format!(
                    "{name:?} is not a string: an element is {why} (a field of objects in a list \
                     is named {name}.FIELD)"
                ));
            }
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
            (None, _) if self.content.len() > 1 => {
                return Err(format!("there is no {name:?} (a null counts as an empty text)"));
            }
            (None, _) => return Err(format!("there is no {name:?}")),
        })
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
mod tests;
