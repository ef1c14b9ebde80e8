//! Lists the fields of a line, and guesses which of them hold key and text if the named ones are
//! missing.
//!
//! Guesses only appear in messages: no field is read unless the user named it.

use serde_json::{Map, Value};

use super::fields;
use super::fields::{ContentKind, Fields};

/// Common names of key and text fields, most common first.
const KEYS: [&str; 9] =
    ["id", "_id", "key", "uuid", "guid", "doc_id", "document_id", "url", "name"];
const TEXTS: [&str; 9] =
    ["text", "content", "body", "abstract", "description", "message", "article", "code", "title"];

/// Longer lines are not inspected: all of their values would be held in memory.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Maximum number of fields listed.
const NAMED_MAX: usize = 20;

/// The fields of a line, and guesses for the missing ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// All field names.
    fields: Vec<String>,
    /// A likely key field, if the named one is missing.
    key: Option<String>,
    /// Whether the named key field is missing, and no other field can be the key.
    lacks_key: bool,
    /// A likely content field, if the named one is missing, and the kind of its content.
    content: Option<(ContentKind, String)>,
}

/// The option names that a command uses for fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `--key-field`, `--text-field`, ...
    Lines,
    /// `--from-key-field`, `--from-field`.
    From,
}

impl Guess {
    /// Inspects a line. Returns `None` if it is not a JSON object. `fields` are the expected field
    /// names.
    pub fn from_line(fields: &Fields, line: &[u8]) -> Option<Self> {
        if line.len() > LINE_BYTES_MAX {
            return None;
        }
        let relaxed = fields::relaxed(line);
        let line = relaxed.as_ref().map_or(line, |relaxed| &relaxed.line);
        let object = flat(serde_json::from_slice(line).ok()?);
        let (key, names) = fields.names();
        let needs_key = !object.contains_key(key) && !fields.needs_no_key();
        let name = names.first().map_or("text", String::as_str);
        let is_there = names.iter().all(|name| object.contains_key(name));
        let content = if is_there { None } else { content(&object, fields.kind(), key) };
        let taken = content.as_ref().map_or(name, |(_, name)| name);
        let key = if needs_key { key_of(&object, taken) } else { None };
        let lacks_key = needs_key && key.is_none();
        Some(Self { fields: object.keys().cloned().collect(), key, lacks_key, content })
    }
}

/// An object with the fields of the objects within it, by their names with dots.
fn flat(object: Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, value) in object {
        match value {
            Value::Object(within) if !within.is_empty() => {
                let within = within.into_iter();
                all.extend(within.map(|(field, value)| (format!("{name}.{field}"), value)));
            }
            value => {
                all.insert(name, value);
            }
        }
    }
    all
}

fn content(
    object: &Map<String, Value>,
    kind: ContentKind,
    key: &str,
) -> Option<(ContentKind, String)> {
    let list = |kind| {
        let found = object.iter().find(|(_, value)| is_list(value));
        found.map(|(name, _)| (kind, name.clone()))
    };
    match kind {
        ContentKind::Text => text(object, key)
            .map(|name| (ContentKind::Text, name))
            .or_else(|| list(ContentKind::Items)),
        kind => list(kind),
    }
}

fn is_list(value: &Value) -> bool {
    let fits = |item: &Value| item.is_string() || item.is_u64() || item.is_i64();
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(fits))
}

/// The likely text field: one with a common name, else the longest string.
fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    let length = |name: &str| object.get(name).and_then(Value::as_str).map(str::len);
    let usual = TEXTS.into_iter().find(|name| *name != key && length(name).is_some());
    let others = || object.keys().filter(|name| *name != key && length(name).is_some());
    let longest = || others().max_by_key(|name| length(name)).cloned();
    usual.map(str::to_owned).or_else(longest)
}

/// The likely key field: one with a common name, else the first that can be a key.
fn key_of(object: &Map<String, Value>, content: &str) -> Option<String> {
    let fits = |name: &str| {
        let value = object.get(name);
        name != content && value.is_some_and(|v| v.is_string() || v.is_u64() || v.is_i64())
    };
    let usual = KEYS.into_iter().find(|name| fits(name)).map(str::to_owned);
    usual.or_else(|| object.keys().find(|name| fits(name)).cloned())
}

impl Guess {
    /// The field names as a list.
    pub fn fields(&self) -> String {
        let mut named: Vec<_> = self.fields.iter().take(NAMED_MAX).map(String::as_str).collect();
        if self.fields.len() > NAMED_MAX {
            named.push("...");
        }
        if named.is_empty() { "none".to_owned() } else { named.join(", ") }
    }

    /// The options that select the guessed fields; empty without a guess.
    pub fn options(&self, spelling: Spelling) -> String {
        let (of_key, of_content) = match (spelling, &self.content) {
            (Spelling::From, _) => ("--from-key-field", "--from-field"),
            (_, Some((ContentKind::Items, _))) => ("--key-field", "--items-field"),
            (_, Some((ContentKind::Rows, _))) => ("--key-field", "--rows-field"),
            _ => ("--key-field", "--text-field"),
        };
        let content = self.content.as_ref().map(|(_, name)| name);
        let all = [(of_key, self.key.as_ref()), (of_content, content)];
        let given = all.into_iter().filter_map(|(option, name)| Some((option, name?)));
        let mut given: Vec<_> = given.map(|(option, name)| format!("{option} {name}")).collect();
        if self.lacks_key {
            let by_line = match spelling {
                Spelling::Lines => "--line-keys",
                Spelling::From => "--from-line-keys",
            };
            given.push(by_line.to_owned());
        }
        given.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> String {
        Guess::from_line(&Fields::text("id", "text"), line.as_bytes())
            .unwrap()
            .options(Spelling::Lines)
    }

    #[test]
    fn only_missing_fields_are_guessed() {
        let line = r#"{"id":1,"title":"a","body":"words"}"#;
        assert_eq!(options(line), "--text-field body");
        assert_eq!(options(r#"{"uuid":"x","text":"words"}"#), "--key-field uuid");
        assert_eq!(
            options(r#"{"n":7,"notes":"some more words","by":"ann"}"#),
            "--key-field by --text-field notes"
        );
        assert_eq!(options(r#"{"id":1,"tags":["a",2]}"#), "--items-field tags");
        assert_eq!(options(r#"{"id":1,"text":"a"}"#), "");
        assert_eq!(options(r#"{"id":1,"n":1.5}"#), "");
        assert_eq!(options(r#"{"id":1,"n":NaN,"data":{"body":"a"}}"#), "--text-field data.body");
        let optional = Fields::text("id", "text").with_key_optional();
        assert_eq!(
            Guess::from_line(&optional, line.as_bytes()).unwrap().options(Spelling::From),
            "--from-field body"
        );
        assert_eq!(
            Guess::from_line(&optional, line.as_bytes()).unwrap().fields(),
            "body, id, title"
        );
        assert!(Guess::from_line(&optional, b"[1]").is_none());
    }
}
