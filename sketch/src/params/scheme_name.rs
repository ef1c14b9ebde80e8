//! The name of an external scheme.
//!
//! The name is stored inline, so that `Scheme` is `Copy`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::{Error, Result};

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The name of an external scheme: it identifies the program that makes the signatures of an index
/// with [`Scheme::External`](crate::Scheme::External). It has 1 to 64 ASCII letters, digits, `-`,
/// `_` and `.`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemeName {
    /// From 1 to `NAME_BYTES_MAX`.
    length: u8,
    /// Padded with zeros, so that equal names are equal values.
    bytes: [u8; NAME_BYTES_MAX],
}

impl SchemeName {
    pub(super) fn new(name: &str) -> Result<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        let mut bytes = [0; NAME_BYTES_MAX];
        match bytes.get_mut(..name.len()) {
            Some(held) if length > 0 && name.bytes().all(allowed) => {
                held.copy_from_slice(name.as_bytes());
                Ok(Self { length, bytes })
            }
            _ => Err(Error::invalid(format!(
                "the name of an external scheme has 1 to {NAME_BYTES_MAX} letters (a to z), \
                 digits, '-', '_' and '.'; {:?} does not fit",
                name.chars().take(NAME_BYTES_MAX + 1).collect::<String>()
            ))),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        // The bytes are ASCII: they come from a checked `str`.
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Display for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemeName({:?})", self.name())
    }
}

impl Serialize for SchemeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for SchemeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_as_it_is() {
        for name in ["a", "datasketch-2.0_sha1-Seed1", &"x".repeat(64)] {
            assert_eq!(SchemeName::new(name).unwrap().name(), name);
        }
        assert_ne!(SchemeName::new("a").unwrap(), SchemeName::new("b").unwrap());
    }

    #[test]
    fn a_name_that_could_forge_an_id_is_refused() {
        for name in ["", "a;seed=1", "a=b", "a b", "a\n", "caf\u{e9}", "a:b", &"x".repeat(65)] {
            assert!(SchemeName::new(name).is_err(), "{name:?}");
        }
        assert!(SchemeName::new(&"x".repeat(1 << 20)).unwrap_err().to_string().len() < 300);
    }
}
