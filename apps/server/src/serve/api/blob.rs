//! Values in requests and answers that JSON has no type for: bytes, and items of sets.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use nearkin_kit::base64;
use nearkin_kit::output::JsonBytes;

/// Bytes in JSON: a string, or `{"base64": "..."}` if they are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BlobVisitor)
    }
}

struct BlobVisitor;

impl<'de> Visitor<'de> for BlobVisitor {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or {\"base64\": \"...\"}")
    }

    fn visit_str<E>(self, text: &str) -> Result<Blob, E> {
        Ok(Blob(text.as_bytes().to_vec()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Blob, M::Error> {
        let Some((name, text)) = map.next_entry::<String, String>()? else {
            return Err(M::Error::missing_field("base64"));
        };
        let more = map.next_key::<String>()?;
        if let Some(name) = Some(name).filter(|name| name != "base64").or(more) {
            return Err(M::Error::custom(format!("unknown field `{name}`, expected `base64`")));
        }
        let bytes = base64::decode(&text);
        bytes.map(Blob).ok_or_else(|| M::Error::custom("this is not base64 with its padding"))
    }
}

/// An item of a set: a string, or an integer, which stands for its digits.
#[derive(Debug)]
pub(crate) struct Item(String);

impl AsRef<[u8]> for Item {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl Visitor<'_> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer from -2^63 to 2^64 - 1")
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_strings_or_base64() {
        let blob = |json: &str| serde_json::from_str::<Blob>(json).map_err(|e| e.to_string());
        assert_eq!(blob("\"a\\u00e9\"").unwrap().0, "a\u{e9}".as_bytes());
        assert_eq!(blob("{\"base64\":\"/w==\"}").unwrap().0, [0xff]);
        assert_eq!(serde_json::to_string(&Blob(vec![0xff])).unwrap(), "{\"base64\":\"/w==\"}");
        assert_eq!(serde_json::to_string(&Blob(b"a".to_vec())).unwrap(), "\"a\"");
        for (bad, wrong) in [
            ("7", "expected a string or {\"base64\""),
            ("{\"base64\":\"/w\"}", "not base64"),
            ("{}", "missing field `base64`"),
            ("{\"hex\":\"ff\"}", "unknown field `hex`"),
            ("{\"base64\":\"/w==\",\"x\":\"\"}", "unknown field `x`"),
        ] {
            let said = blob(bad).unwrap_err();
            assert!(said.contains(wrong), "{bad}: {said}");
        }
    }
}
