//! Finds the fields that are read in an object.

use std::borrow::Cow;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::value::{ContentKind, ReadValue, Value};

/// Maximum number of fields whose texts are joined.
pub const FIELDS_MAX: usize = 8;

/// The paths to the fields that are read.
#[derive(Clone, Copy)]
pub(super) struct FieldPaths<'f> {
    pub(super) key: &'f str,
    pub(super) contents: &'f [String],
    pub(super) kind: ContentKind,
}

/// The fields of a line that are read.
#[derive(Default)]
pub(super) struct Object {
    pub(super) key: Option<Value>,
    /// In the order of the names.
    pub(super) contents: [Option<Value>; FIELDS_MAX],
    /// The name of a field that occurs twice.
    pub(super) twice: Option<String>,
}

impl Object {
    pub(super) fn read(paths: FieldPaths<'_>, line: &[u8]) -> Result<Self, serde_json::Error> {
        let mut parser = serde_json::Deserializer::from_slice(line);
        let mut object = Self::default();
        let mut names = PathRests { key: Some(paths.key), ..PathRests::default() };
        for (name, content) in names.contents.iter_mut().zip(paths.contents) {
            *name = Some(content);
        }
        let read = ReadFields { paths, names, in_list: false, object: &mut object };
        (&mut parser).deserialize_map(read)?;
        parser.end()?;
        Ok(object)
    }
}

/// The rest of the paths to the fields; `None` if this object is not on the path.
#[derive(Clone, Copy, Default)]
struct PathRests<'f> {
    key: Option<&'f str>,
    contents: [Option<&'f str>; FIELDS_MAX],
}

impl<'f> PathRests<'f> {
    /// The paths within the field `name`; `None` if it is on none of them.
    fn within(self, name: &str, count: usize) -> Option<Self> {
        let within = |wanted: Option<&'f str>| wanted?.strip_prefix(name)?.strip_prefix('.');
        let mut inner = Self { key: within(self.key), ..Self::default() };
        let mut is_any = inner.key.is_some();
        for (inner, wanted) in inner.contents.iter_mut().zip(&self.contents[..count]) {
            *inner = within(*wanted);
            is_any |= inner.is_some();
        }
        is_any.then_some(inner)
    }
}

/// Deserialises the fields of these paths from an object. The object's other fields are only
/// checked for valid JSON: they take no memory, and numbers in them may be of any size.
struct ReadFields<'f, 'o> {
    paths: FieldPaths<'f>,
    names: PathRests<'f>,
    /// Whether this object is an element of a list: then the texts of all elements are joined.
    in_list: bool,
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
        let (kind, count) = (self.paths.kind, self.paths.contents.len());
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            let is_key = self.names.key == Some(&*name);
            let wanted = &self.names.contents[..count];
            if wanted.contains(&Some(&*name)) {
                let value = fields.next_value_seed(ReadValue { kind: Some(kind) })?;
                if is_key {
                    self.object.key = Some(value.clone());
                }
                let all = self.paths.contents.iter().zip(&mut self.object.contents);
                for ((path, content), _) in
                    all.zip(wanted).filter(|(_, wanted)| **wanted == Some(&*name))
                {
                    match content.take() {
                        Some(before) if self.in_list => *content = Some(before.with(value.clone())),
                        Some(before) => {
                            *content = Some(before);
                            self.object.twice = Some(path.clone());
                        }
                        None => *content = Some(value.clone()),
                    }
                }
            } else if is_key {
                let value = fields.next_value_seed(ReadValue { kind: None })?;
                if self.object.key.replace(value).is_some() {
                    self.object.twice = Some(self.paths.key.to_owned());
                }
            } else if let Some(names) = self.names.within(&name, count) {
                let (in_list, object) = (self.in_list, &mut *self.object);
                fields.next_value_seed(ReadFields { paths: self.paths, names, in_list, object })?;
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
        let ReadFields { paths, names, object, .. } = self.0;
        let names = PathRests { key: None, ..names };
        if paths.kind != ContentKind::Text || names.contents.iter().all(Option::is_none) {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let mut is_empty = true;
        loop {
            let element = ReadFields { paths, names, in_list: true, object: &mut *object };
            if items.next_element_seed(element)?.is_none() {
                break;
            }
            is_empty = false;
        }
        // An empty list is an empty text; elements without the field are none.
        let wanted = object.contents.iter_mut().zip(names.contents);
        for (content, _) in wanted.filter(|(_, name)| is_empty && name.is_some()) {
            content.get_or_insert(Value::Null);
        }
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
