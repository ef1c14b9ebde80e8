//! Reads Arrow columns: rows of text, bytes, integers, and lists of these.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::ffi::{ARRAY_NAME, ArrowArray, ArrowSchema, ArrowStream, SCHEMA_NAME, STREAM_NAME};

/// The memory layout of the rows of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    Null,
    /// Text or bytes with 32-bit offsets.
    Narrow,
    /// Text or bytes with 64-bit offsets.
    Wide,
    /// Text or bytes as views.
    View,
    /// Fixed-size bytes.
    Fixed(usize),
    Integer(Width),
    NarrowList,
    WideList,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Width {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

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
        "" => "list of dictionary",
        other if other.starts_with("+w:") => "fixed-size list",
        other if other.starts_with("+u") => "union",
        other if other.starts_with("d:") => "decimal",
        other if other.starts_with('t') => "time",
        other => other,
    }
}

/// One array of a column.
pub(crate) struct Chunk {
    array: ArrowArray,
    layout: Layout,
    /// For a dictionary, the layout of its indexes; `layout` is then the layout of its values.
    indexes: Option<Width>,
    /// For lists, the layout of their items.
    items: Option<Layout>,
    _schema: Arc<ArrowSchema>,
}

impl Chunk {
    fn new(array: ArrowArray, schema: &Arc<ArrowSchema>) -> PyResult<Self> {
        let refuse = |format: &str| {
            let message =
                format!("a column of Arrow type {} is not read: cast it first", name_of(format));
            Err(PyTypeError::new_err(message))
        };
        let format = schema.format();
        let Some(own) = layout_of(format) else { return refuse(format) };
        let (mut layout, mut indexes, mut items) = (own, None, None);
        if let Some(dictionary) = schema.dictionary() {
            let Layout::Integer(width) = own else { return refuse(format) };
            let of_values = layout_of(dictionary.format());
            let Some(of_values) = of_values else { return refuse(dictionary.format()) };
            (layout, indexes) = (of_values, Some(width));
        }
        if matches!(layout, Layout::NarrowList | Layout::WideList) {
            let child = schema.child(0).map_or("", ArrowSchema::format);
            items = layout_of(child);
            if schema.child(0).is_some_and(|child| child.dictionary().is_some()) {
                return refuse("");
            }
            if items.is_none() {
                return refuse(child);
            }
        }
        Ok(Self { array, layout, indexes, items, _schema: Arc::clone(schema) })
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    /// The array that contains the value of row `row`, and the value's row there; in a dictionary
    /// column, that is the array of the dictionary's values. `None` if the value is null.
    fn place(&self, row: usize) -> Option<(&ArrowArray, usize)> {
        if self.layout == Layout::Null || !self.array.is_valid(row) {
            return None;
        }
        let Some(width) = self.indexes else { return Some((&self.array, row)) };
        let index = integer(&self.array, width, row);
        let values = self.array.dictionary()?;
        let index = usize::try_from(index).ok().filter(|index| *index < values.len())?;
        values.is_valid(index).then_some((values, index))
    }

    /// Whether rows are text or bytes.
    pub(crate) fn is_of_bytes(&self) -> bool {
        let layout = self.layout;
        let of_bytes = matches!(layout, Layout::Narrow | Layout::Wide | Layout::View);
        of_bytes || matches!(layout, Layout::Fixed(_) | Layout::Null)
    }

    /// Whether rows are integers.
    pub(crate) fn is_of_integers(&self) -> bool {
        matches!(self.layout, Layout::Integer(_) | Layout::Null)
    }

    /// Whether rows are lists whose values can be items.
    pub(crate) fn is_of_lists(&self) -> bool {
        self.items.is_some()
    }

    /// The text or bytes of row `row`.
    #[inline]
    pub(crate) fn bytes(&self, row: usize) -> Option<&[u8]> {
        let (array, row) = self.place(row)?;
        Some(bytes(array, self.layout, row))
    }

    /// The integer of row `row`.
    pub(crate) fn integer(&self, row: usize) -> Option<i128> {
        let (array, row) = self.place(row)?;
        let Layout::Integer(width) = self.layout else { return None };
        Some(integer(array, width, row))
    }

    /// The items of the list in row `row`, as a range of item numbers for `item`.
    pub(crate) fn list(&self, row: usize) -> Option<Range<usize>> {
        let (array, row) = self.place(row)?;
        let at = array.offset() + row;
        let offset = |at| match self.layout {
            Layout::NarrowList => usize::try_from(array.value::<i32>(1, at)).unwrap_or(0),
            _ => usize::try_from(array.value::<i64>(1, at)).unwrap_or(0),
        };
        Some(offset(at)..offset(at + 1))
    }

    /// An item of a list: its bytes or its integer.
    pub(crate) fn item(&self, at: usize) -> Option<Item<'_>> {
        let (items, layout) = (self.array.child(0)?, self.items?);
        if layout == Layout::Null || !items.is_valid(at) {
            return None;
        }
        Some(match layout {
            Layout::Integer(width) => Item::Integer(integer(items, width, at)),
            _ => Item::Bytes(bytes(items, layout, at)),
        })
    }
}

/// An item of a set.
pub(crate) enum Item<'a> {
    Bytes(&'a [u8]),
    Integer(i128),
}

#[inline]
fn bytes(array: &ArrowArray, layout: Layout, row: usize) -> &[u8] {
    let at = array.offset() + row;
    let wide = |offset: i64| usize::try_from(offset).unwrap_or(0);
    match layout {
        Layout::Narrow => {
            let (begin, end) = (array.value::<i32>(1, at), array.value::<i32>(1, at + 1));
            array.bytes(2, wide(begin.into()), wide(end.into()))
        }
        Layout::Wide => {
            let (begin, end) = (array.value::<i64>(1, at), array.value::<i64>(1, at + 1));
            array.bytes(2, wide(begin), wide(end))
        }
        Layout::View => view(array, at),
        Layout::Fixed(width) => array.bytes(1, at * width, (at + 1) * width),
        _ => &[],
    }
}

/// The bytes of a view element. Values of up to 12 bytes are stored inline; for longer ones the
/// view contains the buffer's number and the offset.
fn view(array: &ArrowArray, at: usize) -> &[u8] {
    let view = array.view(at);
    let part = |begin: usize| {
        let bytes = view.get(begin..begin + 4).and_then(|part| part.try_into().ok());
        usize::try_from(i32::from_le_bytes(bytes.unwrap_or_default())).unwrap_or(0)
    };
    let length = part(0);
    match view.get(4..4 + length) {
        Some(inside) if length <= 12 => inside,
        _ => array.bytes(2 + part(8), part(12), part(12) + length),
    }
}

fn integer(array: &ArrowArray, width: Width, row: usize) -> i128 {
    let at = array.offset() + row;
    match width {
        Width::I8 => array.value::<i8>(1, at).into(),
        Width::U8 => array.value::<u8>(1, at).into(),
        Width::I16 => array.value::<i16>(1, at).into(),
        Width::U16 => array.value::<u16>(1, at).into(),
        Width::I32 => array.value::<i32>(1, at).into(),
        Width::U32 => array.value::<u32>(1, at).into(),
        Width::I64 => array.value::<i64>(1, at).into(),
        Width::U64 => array.value::<u64>(1, at).into(),
    }
}

/// The arrays of an object with `__arrow_c_stream__` or `__arrow_c_array__`; `None` if it has
/// neither.
pub(crate) fn chunks_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Chunk>>> {
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        let capsule = method.call0()?;
        let mut stream = ArrowStream::take(capsule.cast::<PyCapsule>()?, STREAM_NAME)?;
        let read = object.py().detach(|| {
            let schema = Arc::new(stream.schema()?);
            let mut arrays = Vec::new();
            while let Some(array) = stream.next()? {
                arrays.push(array);
            }
            Ok::<_, String>((schema, arrays))
        });
        let (schema, arrays) = read.map_err(PyValueError::new_err)?;
        let chunks = arrays.into_iter().map(|array| Chunk::new(array, &schema));
        return chunks.collect::<PyResult<Vec<_>>>().map(Some);
    }
    let Some(method) = object.getattr_opt("__arrow_c_array__")? else { return Ok(None) };
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = method.call0()?.extract()?;
    let schema = Arc::new(ArrowSchema::take(schema.cast::<PyCapsule>()?, SCHEMA_NAME)?);
    let array = ArrowArray::take(array.cast::<PyCapsule>()?, ARRAY_NAME)?;
    Ok(Some(vec![Chunk::new(array, &schema)?]))
}
