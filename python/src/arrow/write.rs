//! Record batches made by this package, and their export as Arrow arrays that share their memory.

use std::borrow::Cow;
use std::sync::Arc;

use super::ffi::{ArrowArray, ArrowSchema, Buffers, bytes_of};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Float,
    /// Milliseconds since 1970, UTC.
    Time,
    Bool,
    /// Text.
    Text,
    Bytes,
    /// Fixed-size bytes.
    Fixed(usize),
}

impl Kind {
    /// The name of the type in the C data interface.
    pub(crate) fn format(self) -> String {
        match self {
            Self::Integer => "l".to_owned(),
            Self::Float => "g".to_owned(),
            Self::Time => "tsm:UTC".to_owned(),
            Self::Bool => "b".to_owned(),
            Self::Text => "u".to_owned(),
            Self::Bytes => "z".to_owned(),
            Self::Fixed(width) => format!("w:{width}"),
        }
    }
}

/// A column's name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

impl Field {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, nullable: false }
    }

    pub(crate) const fn nullable(name: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), kind, nullable: true }
    }

    pub(crate) fn schema(&self) -> ArrowSchema {
        ArrowSchema::export(&self.kind.format(), &self.name, self.nullable, Vec::new())
    }
}

/// Text or bytes, concatenated.
#[derive(Debug, Default, Clone)]
pub(crate) struct Strings {
    /// The start of each value, followed by the end of the last one.
    pub(crate) offsets: Vec<i32>,
    pub(crate) data: Vec<u8>,
}

impl Strings {
    fn push(&mut self, value: &[u8]) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.data.extend_from_slice(value);
        self.offsets.push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let offset = |at: usize| {
            self.offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0)
        };
        self.data.get(offset(row)..offset(row + 1)).unwrap_or(&[])
    }
}

/// The values of a column.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Integer(Vec<i64>),
    Float(Vec<f64>),
    /// One bit per value.
    Bool(Vec<u8>),
    Strings(Strings),
    /// Fixed-size bytes; other objects may share them.
    Fixed(Arc<Vec<u8>>),
}

/// A value of a row; `None` is null.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Integer(Option<i64>),
    Float(Option<f64>),
    Bool(bool),
    Bytes(Option<&'a [u8]>),
}

macro_rules! cell_from {
    ($($from:ty => $kind:ident $make:expr),*) => {$(
        impl<'a> From<$from> for Cell<'a> {
            fn from(value: $from) -> Self {
                Self::$kind($make(value))
            }
        }
    )*};
}

cell_from! {
    i64 => Integer Some,
    u64 => Integer |value| i64::try_from(value).ok(),
    u32 => Integer |value| Some(i64::from(value)),
    usize => Integer |value| i64::try_from(value).ok(),
    Option<i64> => Integer |value| value,
    Option<u32> => Integer |value: Option<u32>| value.map(i64::from),
    Option<usize> => Integer |value: Option<usize>| value.and_then(|value| value.try_into().ok()),
    f64 => Float Some,
    Option<f64> => Float |value| value,
    bool => Bool |value| value,
    &'a [u8] => Bytes Some,
    &'a Vec<u8> => Bytes |value: &'a Vec<u8>| Some(value.as_slice()),
    &'a str => Bytes |value: &'a str| Some(value.as_bytes()),
    Option<&'a [u8]> => Bytes |value| value
}

/// A column of a batch.
#[derive(Debug, Clone)]
pub(crate) struct ArrowColumn {
    pub(crate) field: Field,
    pub(crate) values: Values,
    length: usize,
    nulls: usize,
    /// One bit per row. Used only if there are nulls.
    validity: Vec<u8>,
}

fn set_bit(bits: &mut Vec<u8>, at: usize, is_set: bool) {
    if bits.len() <= at / 8 {
        bits.push(0);
    }
    if let (true, Some(byte)) = (is_set, bits.last_mut()) {
        *byte |= 1 << (at % 8);
    }
}

impl ArrowColumn {
    pub(crate) fn new(field: Field) -> Self {
        let values = match field.kind {
            Kind::Integer | Kind::Time => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Text | Kind::Bytes => Values::Strings(Strings::default()),
            Kind::Fixed(_) => Values::Fixed(Arc::default()),
        };
        Self { field, values, length: 0, nulls: 0, validity: Vec::new() }
    }

    /// A column of existing fixed-size bytes; `validity` has one bit per row.
    pub(crate) fn of_fixed(
        field: Field,
        values: Arc<Vec<u8>>,
        length: usize,
        validity: Vec<u8>,
    ) -> Self {
        let set: u32 = validity.iter().map(|byte| byte.count_ones()).sum();
        let nulls = length.saturating_sub(usize::try_from(set).unwrap_or(length));
        Self { field, values: Values::Fixed(values), length, nulls, validity }
    }

    fn push(&mut self, cell: Cell<'_>) {
        let at = self.length;
        let is_valid = match (&mut self.values, cell) {
            (Values::Integer(values), Cell::Integer(value)) => {
                values.push(value.unwrap_or(0));
                value.is_some()
            }
            (Values::Float(values), Cell::Float(value)) => {
                values.push(value.unwrap_or(f64::NAN));
                value.is_some()
            }
            (Values::Bool(values), Cell::Bool(value)) => {
                set_bit(values, at, value);
                true
            }
            (Values::Strings(values), Cell::Bytes(value)) => {
                values.push(value.unwrap_or_default());
                value.is_some()
            }
            // A cell of another type than the column: no caller makes one.
            _ => return,
        };
        set_bit(&mut self.validity, at, is_valid);
        self.nulls += usize::from(!is_valid);
        self.length += 1;
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls > 0 && self.validity.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 0)
    }

    /// Number of bytes of text in this column so far. A batch ends before this number exceeds what
    /// 32-bit offsets can express.
    fn string_bytes(&self) -> usize {
        if let Values::Strings(strings) = &self.values { strings.data.len() } else { 0 }
    }
}

/// A record batch: columns of equal length. The columns are shared, so that an export copies
/// nothing.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) columns: Vec<Arc<ArrowColumn>>,
    pub(crate) rows: usize,
}

/// A batch is full at this number of rows.
const ROWS_MAX: usize = 65_536;
/// A batch is full when a column has this many bytes of text: far below the limit of 32-bit
/// offsets.
const STRING_BYTES_MAX: usize = 64 << 20;

/// Collects rows into batches.
#[derive(Debug)]
pub(crate) struct Builder {
    fields: Vec<Field>,
    columns: Vec<ArrowColumn>,
    full: Vec<Batch>,
}

impl Builder {
    pub(crate) fn new(fields: &[Field]) -> Self {
        let columns = fields.iter().cloned().map(ArrowColumn::new).collect();
        Self { fields: fields.to_vec(), columns, full: Vec::new() }
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.length)
    }

    /// Adds a row: a cell for each column; further cells are ignored. Ends the batch if it is full.
    pub(crate) fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        let mut is_full = false;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
            is_full |= column.string_bytes() >= STRING_BYTES_MAX || column.length >= ROWS_MAX;
        }
        if is_full {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let rows = self.rows();
        let fresh = self.fields.iter().cloned().map(ArrowColumn::new).collect();
        let columns = std::mem::replace(&mut self.columns, fresh);
        let columns = columns.into_iter().map(Arc::new).collect();
        self.full.push(Batch { columns, rows });
    }

    /// All batches, including an incomplete last one.
    pub(crate) fn finish(mut self) -> Vec<Batch> {
        if self.rows() > 0 {
            self.cut();
        }
        self.full
    }
}

/// A column kept alive by an exported array.
struct ExportedColumn(Arc<ArrowColumn>);

impl Buffers for ExportedColumn {
    fn buffers(&self) -> Vec<Option<&[u8]>> {
        let column = &*self.0;
        let validity = (column.nulls > 0).then_some(column.validity.as_slice());
        match &column.values {
            Values::Integer(values) => vec![validity, Some(bytes_of(values))],
            Values::Float(values) => vec![validity, Some(bytes_of(values))],
            Values::Bool(values) => vec![validity, Some(values)],
            Values::Strings(Strings { offsets, data }) => {
                // The format requires one offset even without rows.
                let offsets = if offsets.is_empty() { &[0][..] } else { offsets };
                vec![validity, Some(bytes_of(offsets)), Some(data)]
            }
            Values::Fixed(values) => vec![validity, Some(values)],
        }
    }
}

/// The struct array of a batch has no buffers of its own.
struct StructRows;

impl Buffers for StructRows {
    fn buffers(&self) -> Vec<Option<&[u8]>> {
        vec![None]
    }
}

pub(crate) fn column_array(column: &Arc<ArrowColumn>) -> ArrowArray {
    let (length, nulls) = (column.length, column.nulls);
    ArrowArray::export(Box::new(ExportedColumn(Arc::clone(column))), length, nulls, Vec::new())
}

impl Batch {
    /// Exports the batch as an array of structs, as Arrow passes record batches.
    pub(crate) fn export(&self) -> ArrowArray {
        let children = self.columns.iter().map(column_array).collect();
        ArrowArray::export(Box::new(StructRows), self.rows, 0, children)
    }
}

/// The schema of batches of these columns.
pub(crate) fn schema_of(fields: &[Field]) -> ArrowSchema {
    let children = fields.iter().map(Field::schema).collect();
    ArrowSchema::export("+s", "", false, children)
}
