//! The conditions of a search in a request: the settings of the engine's table, as fields of a body
//! beside its own, or as parameters of a URL.

use std::fmt;

use nearkin::{ConditionSetting, Conditions, SettingValue};
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value, json};

use super::blob::Blob;
use super::error_response::ErrorResponse;

/// The settings that a search takes: all but those of `without`. `verify` is for callers that
/// compare the documents, as the server does for `exact`.
pub(crate) fn settings(
    without: &'static [&'static str],
) -> impl Iterator<Item = &'static ConditionSetting> {
    let is_taken = |name| name != "verify" && !without.contains(&name);
    Conditions::SETTINGS.iter().filter(move |setting| is_taken(setting.name))
}

/// A body that has conditions beside its own fields.
pub(crate) trait HasConditions {
    /// The settings that it does not take, or takes as fields of its own.
    const WITHOUT: &'static [&'static str];
}

/// A body, and the conditions beside its own fields. Not a flattened struct, whose errors would not
/// list the fields that there are.
#[derive(Debug)]
pub(crate) struct WithConditions<T> {
    pub(crate) own: T,
    pub(crate) conditions: GivenConditions,
}

/// Conditions as they were given.
#[derive(Debug, Default)]
pub(crate) struct GivenConditions {
    settings: Map<String, Value>,
    /// The beginning of keys, which is among the settings, too.
    pub(crate) prefix: Option<Blob>,
}

impl GivenConditions {
    /// The conditions of a search that begins now.
    pub(crate) fn begin(&self) -> Result<Conditions<'static>, ErrorResponse> {
        Conditions::deserialize(&Value::Object(self.settings.clone()))
            .map_err(|error| ErrorResponse::invalid(error.to_string()))
    }

    /// A setting that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.settings.get(name).and_then(Value::as_f64)
    }

    fn read<'de, M: MapAccess<'de>>(
        &mut self,
        setting: &ConditionSetting,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let value = match setting.value {
            SettingValue::Share | SettingValue::Span => json!(map.next_value::<Option<f64>>()?),
            SettingValue::Switch => json!(map.next_value::<Option<bool>>()?),
            SettingValue::Count => json!(map.next_value::<Option<usize>>()?),
            SettingValue::Time => json!(map.next_value::<Option<u64>>()?),
            _ => {
                let text = map.next_value::<Option<Blob>>()?;
                if setting.name == "prefix" {
                    self.prefix.clone_from(&text);
                }
                // Plain data has bytes that are no text as a list.
                let plain = |Blob(bytes)| match String::from_utf8(bytes) {
                    Ok(text) => json!(text),
                    Err(error) => json!(error.into_bytes()),
                };
                json!(text.map(plain))
            }
        };
        match self.settings.insert(setting.name.to_owned(), value) {
            Some(_) => Err(M::Error::duplicate_field(setting.name)),
            None => Ok(()),
        }
    }
}

impl<'de, T: Deserialize<'de> + HasConditions> Deserialize<'de> for WithConditions<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut conditions = GivenConditions::default();
        let own = T::deserialize(Split {
            inner: deserializer,
            fields: &[],
            without: T::WITHOUT,
            conditions: &mut conditions,
        })?;
        Ok(Self { own, conditions })
    }
}

/// A deserializer, visitor or map whose conditions are set aside, so that a type sees only its own
/// fields.
struct Split<'a, T> {
    inner: T,
    fields: &'static [&'static str],
    without: &'static [&'static str],
    conditions: &'a mut GivenConditions,
}

impl<'a, T> Split<'a, T> {
    /// The same around another value. Returns the former one, too.
    fn around<U>(self, fields: &'static [&'static str], inner: U) -> (T, Split<'a, U>) {
        let Self { inner: former, without, conditions, .. } = self;
        (former, Split { inner, fields, without, conditions })
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Split<'_, D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (deserializer, visitor) = self.around(fields, visitor);
        deserializer.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Split<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        let fields = self.fields;
        let (visitor, map) = self.around(fields, map);
        visitor.visit_map(map)
    }
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Split<'_, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        while let Some(name) = self.inner.next_key::<String>()? {
            if self.fields.contains(&name.as_str()) {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            let setting = settings(self.without).find(|setting| setting.name == name);
            let Some(setting) = setting else {
                let known = settings(self.without).map(|setting| setting.name);
                let known = self.fields.iter().copied().chain(known).collect::<Vec<_>>();
                let known = known.join("`, `");
                let message = format!("unknown field `{name}`, expected one of `{known}`");
                return Err(M::Error::custom(message));
            };
            self.conditions.read(setting, &mut self.inner)?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.inner.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, expecting = "a JSON object")]
    struct Sought {
        text: String,
    }

    impl HasConditions for Sought {
        const WITHOUT: &[&str] = &["limit"];
    }

    #[test]
    fn conditions_stand_beside_the_fields_of_a_body() {
        let parse = |json: &str| serde_json::from_str::<WithConditions<Sought>>(json);
        let all = r#"{"threshold":0.5,"after":7,"text":"a","prefix":"b/","before":null}"#;
        let WithConditions { own, conditions } = parse(all).unwrap();
        assert_eq!((own.text.as_str(), conditions.number("threshold")), ("a", Some(0.5)));
        let shown = format!("{:?}", conditions.begin().unwrap());
        assert_eq!(shown, "Conditions { threshold: 0.5, prefix: \"b/\", after: 7 }");
        let odd = parse(r#"{"text":"a","prefix":{"base64":"/w=="}}"#).unwrap().conditions;
        assert_eq!(odd.prefix.as_ref().unwrap().0, [0xff]);
        let shown = format!("{:?}", odd.begin().unwrap());
        assert_eq!(shown, format!("{:?}", Conditions::default().prefix([0xff])));
        for (bad, why) in [
            (r#"{"text":"a","limit":1}"#, "unknown field `limit`, expected one of `text`, `"),
            (r#"{"text":"a","verify":true}"#, "unknown field `verify`"),
            (r#"{"after":"now","text":"a"}"#, "invalid type: string \"now\", expected u64"),
            (r#"{"text":"a","after":1,"after":2}"#, "duplicate field `after`"),
            (r#"{"text":"a","prefix":"a","prefix":"b"}"#, "duplicate field `prefix`"),
            (r#"{"text":"a","text":"b"}"#, "duplicate field `text`"),
            (r#"{"after":1}"#, "missing field `text`"),
            ("[]", "expected a JSON object"),
        ] {
            let said = parse(bad).unwrap_err().to_string();
            assert!(said.contains(why), "{bad}: {said}");
        }
        let wrong = parse(r#"{"text":"a","deadline_ms":-1}"#).unwrap().conditions.begin();
        assert!(format!("{wrong:?}").contains("deadline_ms must be"), "{wrong:?}");
    }
}
