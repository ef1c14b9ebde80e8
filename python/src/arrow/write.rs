//! Record batches made by this package, and their schemas.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};

use super::ffi::batch_of;

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
}

impl Kind {
    /// The name of the type in the C data interface. Pickled tables have it.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Integer => "l",
            Self::Float => "g",
            Self::Time => "tsm:UTC",
            Self::Bool => "b",
            Self::Text => "u",
            Self::Bytes => "z",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
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
}

/// The schema of batches of these columns.
pub(crate) fn schema_of(fields: &[Field]) -> SchemaRef {
    let field =
        |field: &Field| ArrowField::new(field.name.clone(), field.kind.data_type(), field.nullable);
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

/// A value of a row; `None` is null.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Integer(Option<i64>),
    Float(Option<f64>),
    Bool(Option<bool>),
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
    bool => Bool Some,
    Option<bool> => Bool |value| value,
    &'a [u8] => Bytes Some,
    &'a Vec<u8> => Bytes |value: &'a Vec<u8>| Some(value.as_slice()),
    &'a str => Bytes |value: &'a str| Some(value.as_bytes()),
    Option<&'a [u8]> => Bytes |value| value
}

/// The values of a column.
#[derive(Debug)]
enum Values {
    Integer(Int64Builder),
    Time(TimestampMillisecondBuilder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
}

impl Values {
    fn new(field: &Field) -> Self {
        match field.kind {
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Time => Self::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Kind::Float => Self::Float(Float64Builder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Bytes => Self::Bytes(BinaryBuilder::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Integer(values), Cell::Integer(value)) => values.append_option(value),
            (Self::Time(values), Cell::Integer(value)) => values.append_option(value),
            (Self::Float(values), Cell::Float(value)) => values.append_option(value),
            (Self::Bool(values), Cell::Bool(value)) => values.append_option(value),
            (Self::Bytes(values), Cell::Bytes(value)) => values.append_option(value),
            (Self::Text(values), Cell::Bytes(value)) => {
                values.append_option(value.map(String::from_utf8_lossy));
            }
            (_, cell) => unreachable!("a cell of another type than its column: {cell:?}"),
        }
    }

    fn builder(&mut self) -> &mut dyn ArrayBuilder {
        match self {
            Self::Integer(values) => values,
            Self::Time(values) => values,
            Self::Float(values) => values,
            Self::Bool(values) => values,
            Self::Text(values) => values,
            Self::Bytes(values) => values,
        }
    }

    /// Number of bytes of text or bytes so far.
    fn bytes(&self) -> usize {
        match self {
            Self::Text(values) => values.values_slice().len(),
            Self::Bytes(values) => values.values_slice().len(),
            _ => 0,
        }
    }
}

/// A batch is full at this number of rows.
const ROWS_MAX: usize = 65_536;
/// A batch is full when a column has this many bytes of text: far below the limit of 32-bit
/// offsets.
const STRING_BYTES_MAX: usize = 64 << 20;

/// Collects rows into batches.
#[derive(Debug)]
pub(crate) struct Builder {
    schema: SchemaRef,
    columns: Vec<Values>,
    rows: usize,
    full: Vec<RecordBatch>,
}

impl Builder {
    pub(crate) fn new(fields: &[Field]) -> Self {
        let columns = fields.iter().map(Values::new).collect();
        Self { schema: schema_of(fields), columns, rows: 0, full: Vec::new() }
    }

    /// Adds a row: a cell for each column; further cells are ignored. Ends the batch if it is full.
    pub(crate) fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        self.rows += 1;
        let mut is_full = self.rows >= ROWS_MAX;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
            is_full |= column.bytes() >= STRING_BYTES_MAX;
        }
        if is_full {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.columns.iter_mut().map(|column| column.builder().finish());
        let columns: Vec<ArrayRef> = columns.collect();
        self.full.push(batch_of(Arc::clone(&self.schema), columns, rows));
    }

    /// All batches, including an incomplete last one.
    pub(crate) fn finish(mut self) -> Vec<RecordBatch> {
        if self.rows > 0 {
            self.cut();
        }
        self.full
    }
}
