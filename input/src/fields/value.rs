//! The values of the fields that are read.

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use serde::{Deserialize, Serialize};

/// The kind of content that lines hold beside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ContentKind {
    Text,
    Items,
    Rows,
}

/// Between joined texts.
const BETWEEN: char = '\n';

/// Message for a number that lost digits when it was parsed. Such a number cannot serve as a key,
/// because it could equal the key of another document.
pub(super) const TOO_LARGE: &str =
    "too large for an integer (-2^63 to 2^64 - 1 can be read); write it as a string";

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Whether a number is in the range where the parser no longer tells integers from fractions.
fn is_beyond_integers(number: f64) -> bool {
    !(-TWO_TO_63..2.0 * TWO_TO_63).contains(&number)
}

/// The value of a field that is read. Values that cannot be used take no memory.
#[derive(Debug, Clone)]
pub(super) enum Value {
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
pub(super) struct ReadValue {
    pub(super) kind: Option<ContentKind>,
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
                (Some(ContentKind::Text), Value::Text(text)) => texts.push(text),
                (Some(ContentKind::Text), Value::Null) => {}
                (Some(ContentKind::Text), other) => {
                    wrong.get_or_insert_with(|| other.described());
                }
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
            (None, Some(ContentKind::Text)) => {
                Value::Text(texts.into_iter().fold(String::new(), |all, text| joined(all, &text)))
            }
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

/// Two texts, one behind the other.
pub(super) fn joined(mut before: String, text: &str) -> String {
    if !before.is_empty() && !text.is_empty() {
        before.push(BETWEEN);
    }
    before.push_str(text);
    before
}

impl Value {
    /// The text of this value and of a later element of the same list. What is no text stays, so
    /// that it is refused.
    pub(super) fn with(self, later: Self) -> Self {
        match (self, later) {
            (Self::Text(before), Self::Text(text)) => Self::Text(joined(before, &text)),
            (Self::Null, other) | (other @ Self::Text(_), Self::Null) => other,
            (Self::Text(_), wrong) | (wrong, _) => wrong,
        }
    }

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
