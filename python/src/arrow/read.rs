//! Reads Arrow columns: rows of text, bytes, integers, and lists of these.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};

use crate::called::call;
use crate::error::{InvalidError, panic_text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::checked::{Checked, Fault, Layout, Width, dictionary_of, items_of};
use super::ffi::{Import, Node, take_array, take_schema};

fn layout_of(format: &str) -> Option<Layout> {
    Some(match format {
        "n" => Layout::Null,
        "u" | "z" => Layout::Narrow,
        "U" | "Z" => Layout::Wide,
        "vu" | "vz" => Layout::View,
        "c" => Layout::Integer(Width::I8),
        "C" => Layout::Integer(Width::U8),
        "s" => Layout::Integer(Width::I16),
        "S" => Layout::Integer(Width::U16),
        "i" => Layout::Integer(Width::I32),
        "I" => Layout::Integer(Width::U32),
        "l" => Layout::Integer(Width::I64),
        "L" => Layout::Integer(Width::U64),
        "+l" => Layout::NarrowList,
        "+L" => Layout::WideList,
        _ => Layout::Fixed(format.strip_prefix("w:")?.parse().ok()?),
    })
}

/// A readable name of a type that this module does not read.
fn name_of(format: &str) -> &str {
    match format {
        "+s" => "struct (a whole table? give one of its columns)",
        "b" => "bool",
        "e" | "f" | "g" => "float",
        "+r" => "run-end encoded",
        "+vl" | "+vL" => "list view",
        "+m" => "map",
        "" => "without a name",
        other if other.starts_with("+w:") => "fixed-size list",
        other if other.starts_with("+u") => "union",
        other if other.starts_with("d:") => "decimal",
        other if other.starts_with('t') => "time",
        other => other,
    }
}

/// The type of a column.
struct ColumnType {
    rows: Layout,
    /// For a dictionary, the type of its values; `rows` is then the type of its indexes.
    dictionary: Option<Layout>,
    /// For lists, the type of their items.
    items: Option<Layout>,
}

impl ColumnType {
    /// Fails with the name of a type that this module does not read.
    fn from_schema(schema: &FFI_ArrowSchema) -> Result<Self, String> {
        let layout = |schema: &FFI_ArrowSchema| {
            layout_of(schema.format()).ok_or_else(|| name_of(schema.format()).to_owned())
        };
        let mut found = Self { rows: layout(schema)?, dictionary: None, items: None };
        if let Some(values) = schema.dictionary() {
            let of_values = layout(values)?;
            if !matches!(found.rows, Layout::Integer(_)) {
                return Err(name_of(schema.format()).to_owned());
            }
            if of_values.is_list() || values.dictionary().is_some() {
                return Err("dictionary of lists or dictionaries".to_owned());
            }
            found.dictionary = Some(of_values);
        }
        if found.rows.is_list() {
            let items = schema.children().next().ok_or("list without a type of items")?;
            if items.dictionary().is_some() {
                return Err("list of dictionary".to_owned());
            }
            let of_items = layout(items)?;
            if of_items.is_list() {
                return Err("list of lists".to_owned());
            }
            found.items = Some(of_items);
        }
        Ok(found)
    }
}

/// One array of a column.
pub(crate) struct Chunk {
    rows: Checked,
    /// The values of a dictionary; `rows` are then indexes of them.
    dictionary: Option<Checked>,
    /// For lists, their items.
    items: Option<Checked>,
}

impl Chunk {
    fn new(array: FFI_ArrowArray, of: &ColumnType) -> Result<Self, Fault> {
        let root = Arc::new(array);
        let node = Node { root: &root, array: &root };
        let rows = Checked::new(node, of.rows)?;
        let dictionary = of.dictionary.map(|layout| dictionary_of(&rows, node, layout));
        let (dictionary, items) = (dictionary.transpose()?, of.items);
        let items = items.map(|layout| items_of(&rows, node, layout)).transpose()?;
        Ok(Self { rows, dictionary, items })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.rows()
    }

    /// The array that contains the value of row `row`, and the value's row there; in a dictionary
    /// column, that is the array of the dictionary's values. `None` if the value is null.
    #[inline]
    fn place(&self, row: usize) -> Option<(&Checked, usize)> {
        if !self.rows.is_valid(row) {
            return None;
        }
        let Some(values) = &self.dictionary else {
            return Some((&self.rows, row));
        };
        let index = usize::try_from(self.rows.integer(row)?).ok()?;
        values.is_valid(index).then_some((values, index))
    }

    fn layout(&self) -> Layout {
        self.dictionary.as_ref().unwrap_or(&self.rows).layout()
    }

    /// Whether rows are text or bytes.
    pub(crate) fn is_of_bytes(&self) -> bool {
        let layout = self.layout();
        let of_bytes = matches!(layout, Layout::Narrow | Layout::Wide | Layout::View);
        of_bytes || matches!(layout, Layout::Fixed(_) | Layout::Null)
    }

    /// Whether rows are integers.
    pub(crate) fn is_of_integers(&self) -> bool {
        matches!(self.layout(), Layout::Integer(_) | Layout::Null)
    }

    /// Whether rows are lists whose values can be items.
    pub(crate) fn is_of_lists(&self) -> bool {
        self.items.is_some()
    }

    /// The text or bytes of row `row`.
    #[inline]
    pub(crate) fn bytes(&self, row: usize) -> Option<&[u8]> {
        let (array, row) = self.place(row)?;
        Some(array.bytes(row))
    }

    /// The integer of row `row`.
    pub(crate) fn integer(&self, row: usize) -> Option<i128> {
        let (array, row) = self.place(row)?;
        array.integer(row)
    }

    /// The items of the list in row `row`, as a range of item numbers for `item`.
    pub(crate) fn list(&self, row: usize) -> Option<Range<usize>> {
        self.rows.is_valid(row).then(|| self.rows.range(row)).flatten()
    }

    /// An item of a list: its bytes or its integer.
    #[inline]
    pub(crate) fn item(&self, at: usize) -> Option<Item<'_>> {
        let items = self.items.as_ref().filter(|items| items.is_valid(at))?;
        Some(match items.integer(at) {
            Some(number) => Item::Integer(number),
            None => Item::Bytes(items.bytes(at)),
        })
    }
}

/// An item of a set.
pub(crate) enum Item<'a> {
    Bytes(&'a [u8]),
    Integer(i128),
}

/// The arrays of an object with `__arrow_c_stream__` or `__arrow_c_array__`, each with the number
/// of its first row; `None` if it has neither. `name` is that of the column in messages.
pub(crate) fn chunks_of(
    object: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<Option<Vec<(usize, Chunk)>>> {
    let py = object.py();
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        let capsule = call(&method, ())?;
        let mut stream = Import::take(&capsule)?;
        let read = py.detach(|| {
            let schema = stream.schema()?;
            let mut arrays = Vec::new();
            while let Some(array) = stream.next()? {
                arrays.push(array);
            }
            Ok::<_, String>((schema, arrays))
        });
        let (schema, arrays) = read.map_err(InvalidError::new_err)?;
        return py.detach(move || numbered(schema, arrays, name)).map(Some);
    }
    let Some(method) = object.getattr_opt("__arrow_c_array__")? else {
        return Ok(None);
    };
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = call(&method, ())?.extract()?;
    let (schema, array) = (take_schema(&schema)?, take_array(&array)?);
    py.detach(move || numbered(schema, vec![array], name)).map(Some)
}

fn numbered(
    schema: FFI_ArrowSchema,
    arrays: Vec<FFI_ArrowArray>,
    name: &str,
) -> PyResult<Vec<(usize, Chunk)>> {
    let column = catch_unwind(AssertUnwindSafe(|| ColumnType::from_schema(&schema)));
    let column = column.unwrap_or_else(|_| Err("without a name".to_owned()));
    let (mut chunks, mut first) = (Vec::with_capacity(arrays.len()), 0_usize);
    for array in arrays {
        let column = column.as_ref().map_err(|name| {
            PyTypeError::new_err(format!(
                "a column of Arrow type {name} is not read: cast it first"
            ))
        })?;
        // A null pointer to pointers panics.
        let chunk = catch_unwind(AssertUnwindSafe(|| Chunk::new(array, column)));
        let chunk = chunk.unwrap_or_else(|panic| {
            Err(Fault { row: None, what: format!("a pointer is missing: {}", panic_text(&*panic)) })
        });
        let chunk = chunk.map_err(|fault| broken(name, first, &fault))?;
        let rows = chunk.len();
        chunks.push((first, chunk));
        first = first.checked_add(rows).ok_or_else(|| {
            InvalidError::new_err(format!("{name}: more rows than memory can hold"))
        })?;
    }
    Ok(chunks)
}

/// The error for an array that begins with row `first` of a column.
fn broken(name: &str, first: usize, fault: &Fault) -> PyErr {
    let place = match fault.row {
        Some(row) => format!("{name}[{}]", first + row),
        None => format!("{name}[{first}..]"),
    };
    InvalidError::new_err(format!(
        "{place}: the Arrow array is invalid: {}\nfix its producer (pyarrow: validate(full=True))",
        fault.what
    ))
}
