//! The columns of a Parquet file that JSON lines can hold, and their names.

use std::collections::BTreeMap;
use std::path::Path;

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::file::reader::FileReader as _;
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::bounded;
use super::wanted::Wanted;
use crate::Error as Failure;

/// A column that JSON lines can hold.
#[derive(Debug)]
pub(super) struct JsonColumn {
    pub(super) name: String,
    pub(super) place: usize,
    pub(super) unsigned: bool,
    /// The column's maximum definition level. A value is present at this level, and missing at all
    /// lower ones.
    pub(super) present: i16,
    /// For a list: the lowest definition level at which an item exists; the item may be null.
    pub(super) item: Option<i16>,
}

impl JsonColumn {
    /// Whether JSON represents this column faithfully.
    fn is_of_json(&self, leaf: &ColumnDescriptor) -> bool {
        let converted = leaf.converted_type();
        let number = matches!(
            leaf.physical_type(),
            Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE
        );
        let signed = [
            ConvertedType::INT_8,
            ConvertedType::INT_16,
            ConvertedType::INT_32,
            ConvertedType::INT_64,
        ];
        let plain = converted == ConvertedType::NONE && leaf.logical_type_ref().is_none();
        match leaf.physical_type() {
            Physical::BOOLEAN => true,
            Physical::BYTE_ARRAY => {
                [ConvertedType::UTF8, ConvertedType::ENUM, ConvertedType::JSON].contains(&converted)
            }
            _ => number && (plain || self.unsigned || signed.contains(&converted)),
        }
    }

    /// Returns `None` if the column is not text, numbers, booleans, or a list of these or of
    /// structs with them.
    fn from_schema(schema: &SchemaDescriptor, place: usize) -> Option<Self> {
        let leaf = &schema.columns()[place];
        let parts = leaf.path().parts();
        let (levels, present) = (leaf.max_rep_level(), leaf.max_def_level());
        let decimal = matches!(leaf.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || leaf.converted_type() == ConvertedType::DECIMAL;
        if levels > 1 || decimal || leaf.physical_type() == Physical::INT96 {
            return None;
        }
        let optional = leaf.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        let unsigned = [
            ConvertedType::UINT_8,
            ConvertedType::UINT_16,
            ConvertedType::UINT_32,
            ConvertedType::UINT_64,
        ];
        Some(Self {
            name: parts.first()?.clone(),
            place,
            unsigned: unsigned.contains(&leaf.converted_type()),
            present,
            item: (levels == 1).then_some(item_level(schema, place, present - i16::from(optional))),
        })
    }
}

/// Whether a column is a field of the structs in a list: list, its group, its element, the field.
fn is_in_structs(leaf: &ColumnDescriptor) -> bool {
    leaf.max_rep_level() == 1 && leaf.path().parts().len() > 3
}

/// The lowest definition level at which an item exists in a list, of which the items are structs or
/// `plain`.
fn item_level(schema: &SchemaDescriptor, place: usize, plain: i16) -> i16 {
    if !is_in_structs(&schema.columns()[place]) {
        return plain;
    }
    let list = schema.get_column_root(place).get_basic_info();
    let is_optional = list.has_repetition() && list.repetition() == Repetition::OPTIONAL;
    1 + i16::from(is_optional)
}

/// The name that selects a column: the path to it with dots, for a list the name of the list. The
/// field of structs in a list is named as in JSON: `messages.content`.
fn name_of(leaf: &ColumnDescriptor, leaves: &BTreeMap<&str, usize>) -> String {
    let parts = leaf.path().parts();
    let root = parts[0].as_str();
    if is_in_structs(leaf) {
        return [&parts[..1], &parts[3..]].concat().join(".");
    }
    if leaf.max_rep_level() > 0 && leaves[root] == 1 { root.to_owned() } else { parts.join(".") }
}

/// The number of leaves below each field.
fn leaves_of(schema: &SchemaDescriptor) -> BTreeMap<&str, usize> {
    let mut leaves = BTreeMap::new();
    for leaf in schema.columns() {
        *leaves.entry(leaf.path().parts()[0].as_str()).or_default() += 1;
    }
    leaves
}

/// The selected columns that JSON can hold, in the order of the file.
pub(super) fn columns(
    schema: &SchemaDescriptor,
    wanted: Option<&Wanted>,
    path: &Path,
) -> Result<Vec<JsonColumn>, Failure> {
    let leaves = leaves_of(schema);
    let all = schema.columns().iter().enumerate();
    let unsupported = |name: &str| {
        Failure::new(
            format!("the column {name:?} of {} has an unsupported type", path.display()),
            "use a column of text, numbers or lists of these",
        )
        .of_wrong_input()
    };
    let names: Vec<String> = schema.columns().iter().map(|leaf| name_of(leaf, &leaves)).collect();
    let mut places = None;
    if let Some(wanted) = wanted {
        let is_group =
            |name: &&String| !names.contains(*name) && leaves.contains_key(name.as_str());
        if let Some(group) = [&wanted.key].into_iter().chain(&wanted.content).find(is_group) {
            return Err(unsupported(group));
        }
        places = wanted.places(path, &names)?;
    }
    let Some(places) = places else {
        // A field with several leaves is a struct or a map.
        let single = all.filter(|(_, leaf)| {
            let parts = leaf.path().parts();
            leaves[parts[0].as_str()] == 1
                && (parts.len() == 1 || leaf.max_rep_level() > 0)
                && !is_in_structs(leaf)
        });
        return Ok(single
            .filter_map(|(place, _)| JsonColumn::from_schema(schema, place))
            .collect());
    };
    let column = |place: usize| {
        let column = JsonColumn::from_schema(schema, place);
        let column = column.map(|column| JsonColumn { name: names[place].clone(), ..column });
        column.ok_or_else(|| unsupported(&names[place]))
    };
    places.into_iter().map(column).collect()
}

/// The columns that JSON cannot represent faithfully: structs, maps, nested lists, and logical
/// types beyond text, numbers and booleans, such as timestamps and decimals.
pub fn not_for_json(path: &Path) -> Result<Vec<String>, Failure> {
    let file = bounded::open(path)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let mut found: Vec<String> = Vec::new();
    let leaves = leaves_of(schema);
    for (place, leaf) in schema.columns().iter().enumerate() {
        let name = &leaf.path().parts()[0];
        let is_flat = leaf.path().parts().len() == 1 || leaf.max_rep_level() > 0;
        let survives = leaves[name.as_str()] == 1
            && is_flat
            && !is_in_structs(leaf)
            && JsonColumn::from_schema(schema, place).is_some_and(|column| column.is_of_json(leaf));
        if !survives && !found.contains(name) {
            found.push(name.clone());
        }
    }
    Ok(found)
}
