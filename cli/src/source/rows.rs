//! Reads the rows of a Parquet file as JSON lines: one object per row, with the selected columns.
//!
//! Row groups are read one by one, a few rows at a time. Memory use: one page per column, plus
//! these rows.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use serde_json::Value;

use crate::failure::Failure;

/// Rows decoded at a time.
const READ_ROWS: usize = 256;

/// Iterator state over the rows of a file.
pub(crate) struct Rows {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// The next row group to read.
    group_next: usize,
    /// Column readers of the current row group, in the order of `columns`; empty between row
    /// groups.
    readers: Vec<ColumnReader>,
    /// Encoded lines. The first `given` bytes have already been returned.
    text: Vec<u8>,
    given: usize,
    taken: Arc<AtomicU64>,
}

/// A column that JSON lines can hold.
#[derive(Debug)]
struct Column {
    name: String,
    place: usize,
    unsigned: bool,
    /// The column's maximum definition level. A value is present at this level, and missing at all
    /// lower ones.
    present: i16,
    /// For a list: the lowest definition level at which an item exists; the item may be null.
    item: Option<i16>,
}

impl Column {
    /// Returns `None` if the column is not text, numbers, booleans, or a list of these.
    fn of(leaf: &ColumnDescriptor, place: usize) -> Option<Self> {
        let parts = leaf.path().parts();
        let (levels, present) = (leaf.max_rep_level(), leaf.max_def_level());
        let decimal = matches!(leaf.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || leaf.converted_type() == ConvertedType::DECIMAL;
        let structure = levels > 1 || (levels == 0 && parts.len() > 1) || parts.len() > 3;
        if structure || decimal || leaf.physical_type() == Physical::INT96 {
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
            item: (levels == 1).then_some(present - i16::from(optional)),
        })
    }
}

/// The selected columns that JSON can hold, in the order of the file.
fn columns(
    schema: &SchemaDescriptor,
    wanted: &[&str],
    path: &Path,
) -> Result<Vec<Column>, Failure> {
    let mut leaves: BTreeMap<&str, usize> = BTreeMap::new();
    for leaf in schema.columns() {
        *leaves.entry(leaf.path().parts()[0].as_str()).or_default() += 1;
    }
    for name in wanted {
        if !leaves.contains_key(name) {
            let names: Vec<_> = leaves.keys().copied().collect();
            return Err(Failure::new(
                format!("{} has no column {name:?}, only {}", path.display(), names.join(", ")),
                "name the columns: --key-field NAME --text-field NAME",
            ));
        }
    }
    let mut found = Vec::new();
    for (place, leaf) in schema.columns().iter().enumerate() {
        let name = leaf.path().parts()[0].as_str();
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        // A column with several leaves is a struct or a map.
        match Column::of(leaf, place).filter(|_| leaves[name] == 1) {
            Some(column) => found.push(column),
            None if wanted.is_empty() => {}
            None => {
                return Err(Failure::new(
                    format!("the column {name:?} of {} has an unsupported type", path.display()),
                    "use a column of text, integers or lists of these",
                ));
            }
        }
    }
    Ok(found)
}

fn file_of(path: &Path) -> Result<SerializedFileReader<File>, Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    SerializedFileReader::new(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display()), ""))
}

/// The column names of a file.
pub(crate) fn column_names(path: &Path) -> Result<Vec<String>, Failure> {
    let file = file_of(path)?;
    let fields = file.metadata().file_metadata().schema_descr().root_schema().get_fields();
    Ok(fields.iter().map(|field| field.name().to_owned()).collect())
}

/// The columns that JSON cannot represent faithfully: structs, maps, nested lists, and logical
/// types beyond text, numbers and booleans, such as timestamps and decimals.
pub(crate) fn not_for_json(path: &Path) -> Result<Vec<String>, Failure> {
    let file = file_of(path)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let mut found: Vec<String> = Vec::new();
    let mut leaves: BTreeMap<&str, usize> = BTreeMap::new();
    for leaf in schema.columns() {
        *leaves.entry(leaf.path().parts()[0].as_str()).or_default() += 1;
    }
    for (place, leaf) in schema.columns().iter().enumerate() {
        let name = &leaf.path().parts()[0];
        let survives = leaves[name.as_str()] == 1
            && Column::of(leaf, place).is_some_and(|column| column.is_of_json(leaf));
        if !survives && !found.contains(name) {
            found.push(name.clone());
        }
    }
    Ok(found)
}

/// Describes a Parquet error, and says what to do.
pub(crate) fn explained(error: &ParquetError) -> String {
    match error.to_string() {
        said if said.contains("Disabled feature") => format!(
            "its columns are compressed with {}; rewrite it with Snappy, Zstandard, gzip or none",
            said.rsplit(' ').next().unwrap_or_default()
        ),
        said => said,
    }
}

impl Rows {
    pub(crate) fn open(
        path: &Path,
        wanted: &[&str],
        taken: Arc<AtomicU64>,
    ) -> Result<Self, Failure> {
        let file = file_of(path)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = columns(schema, wanted, path)?;
        let (readers, text) = (Vec::new(), Vec::new());
        Ok(Self { file, columns, group_next: 0, readers, text, given: 0, taken })
    }

    /// Encodes the next rows as lines. Returns false at the end of the file.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        self.text.clear();
        self.given = 0;
        while self.text.is_empty() {
            if self.readers.is_empty() {
                if self.group_next >= self.file.num_row_groups() || self.columns.is_empty() {
                    return Ok(false);
                }
                let group = self.file.get_row_group(self.group_next)?;
                self.group_next += 1;
                let readers = self.columns.iter().map(|one| group.get_column_reader(one.place));
                self.readers = readers.collect::<Result<_, _>>()?;
                let bytes = u64::try_from(group.metadata().compressed_size()).unwrap_or(0);
                self.taken.fetch_add(bytes, Ordering::Relaxed);
            }
            let mut read = Vec::with_capacity(self.columns.len());
            for (column, reader) in self.columns.iter().zip(&mut self.readers) {
                read.push(column.values(reader)?.into_iter());
            }
            let rows = read[0].len();
            if read.iter().any(|values| values.len() != rows) {
                return Err(ParquetError::General("columns differ in length".to_owned()));
            }
            if rows == 0 {
                self.readers.clear();
            }
            for _ in 0..rows {
                self.line(&mut read)?;
            }
        }
        Ok(true)
    }

    /// Encodes one line from the next value of each column.
    fn line(&mut self, values: &mut [std::vec::IntoIter<Value>]) -> Result<(), ParquetError> {
        let failed = |error: serde_json::Error| ParquetError::General(error.to_string());
        for (at, (column, values)) in self.columns.iter().zip(values).enumerate() {
            self.text.push(if at == 0 { b'{' } else { b',' });
            serde_json::to_writer(&mut self.text, &column.name).map_err(failed)?;
            self.text.push(b':');
            serde_json::to_writer(&mut self.text, &values.next()).map_err(failed)?;
        }
        self.text.extend_from_slice(b"}\n");
        Ok(())
    }
}

impl Column {
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

    /// The values of the next rows; null where a value is missing.
    fn values(&self, reader: &mut ColumnReader) -> Result<Vec<Value>, ParquetError> {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).map_or(Value::Null, Value::from);
        match reader {
            ColumnReader::ByteArrayColumnReader(column) => self.read(column, |v| text(v.data())),
            ColumnReader::FixedLenByteArrayColumnReader(column) => {
                self.read(column, |value| text(value.data()))
            }
            ColumnReader::Int32ColumnReader(column) if self.unsigned => {
                self.read(column, |value| Value::from(value.cast_unsigned()))
            }
            ColumnReader::Int32ColumnReader(column) => self.read(column, |v| Value::from(*v)),
            ColumnReader::Int64ColumnReader(column) if self.unsigned => {
                self.read(column, |value| Value::from(value.cast_unsigned()))
            }
            ColumnReader::Int64ColumnReader(column) => self.read(column, |v| Value::from(*v)),
            ColumnReader::BoolColumnReader(column) => self.read(column, |v| Value::from(*v)),
            ColumnReader::FloatColumnReader(column) => self.read(column, |v| Value::from(*v)),
            ColumnReader::DoubleColumnReader(column) => self.read(column, |v| Value::from(*v)),
            ColumnReader::Int96ColumnReader(_) => Err(ParquetError::General(format!(
                "the column {:?} has an unsupported type",
                self.name
            ))),
        }
    }

    fn read<T: DataType>(
        &self,
        column: &mut ColumnReaderImpl<T>,
        value: impl Fn(&T::T) -> Value,
    ) -> Result<Vec<Value>, ParquetError> {
        let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        column.read_records(READ_ROWS, Some(&mut present), Some(&mut repeated), &mut values)?;
        let mut values = values.iter().map(value);
        if self.present == 0 {
            return Ok(values.collect());
        }
        let mut rows: Vec<Value> = Vec::new();
        for (at, level) in present.iter().enumerate() {
            let found = (*level == self.present).then(|| values.next()).flatten();
            let found = found.unwrap_or(Value::Null);
            let Some(item) = self.item else {
                rows.push(found);
                continue;
            };
            if repeated.get(at).is_none_or(|again| *again == 0) {
                // The level just below `item` means an empty list; lower levels mean that there is
                // no list.
                let is_there = *level >= item - 1;
                rows.push(if is_there { Value::Array(Vec::new()) } else { Value::Null });
            }
            if *level >= item
                && let Some(Value::Array(items)) = rows.last_mut()
            {
                items.push(found);
            }
        }
        Ok(rows)
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            let filled = self.fill().map_err(|error| io::Error::other(explained(&error)))?;
            if !filled {
                return Ok(0);
            }
        }
        let rest = &self.text[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use ::parquet::schema::parser::parse_message_type;

    fn column<T: DataType>(
        group: &mut SerializedRowGroupWriter<'_, File>,
        values: &[T::T],
        levels: (&[i16], &[i16]),
    ) {
        let mut column = group.next_column().unwrap().unwrap();
        let (present, repeated) = levels;
        let some = |levels: &'static [i16]| Some(levels).filter(|levels| !levels.is_empty());
        let (present, repeated) = (present.to_vec().leak(), repeated.to_vec().leak());
        column.typed::<T>().write_batch(values, some(present), some(repeated)).unwrap();
        column.close().unwrap();
    }

    fn bytes(texts: &[&str]) -> Vec<ByteArray> {
        texts.iter().map(|text| ByteArray::from(*text)).collect()
    }

    /// Writes two row groups of three rows each, with all supported column types.
    fn write(path: &Path) {
        let schema = "message m {
            required binary id (UTF8);
            optional binary text (UTF8);
            required int32 number (INTEGER(32, false));
            optional group items (LIST) { repeated group list { optional binary element (UTF8); } }
            repeated int64 plain;
            required double share;
            required group deep { required int64 a; required int64 b; }
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        for _ in 0..2 {
            let mut group = writer.next_row_group().unwrap();
            column::<ByteArrayType>(&mut group, &bytes(&["a", "b\n", "c"]), (&[], &[]));
            column::<ByteArrayType>(&mut group, &bytes(&["one", "two"]), (&[1, 0, 1], &[]));
            column::<Int32Type>(&mut group, &[1, -1, 3], (&[], &[]));
            // The lists of the three rows: [x, null], null, [].
            let levels: (&[i16], &[i16]) = (&[3, 2, 0, 1], &[0, 1, 0, 0]);
            column::<ByteArrayType>(&mut group, &bytes(&["x"]), levels);
            // The lists of the three rows: [], [-7, 8], [9].
            column::<Int64Type>(&mut group, &[-7, 8, 9], (&[0, 1, 1, 1], &[0, 0, 1, 0]));
            column::<DoubleType>(&mut group, &[0.5, f64::NAN, 2.0], (&[], &[]));
            for _ in 0..2 {
                column::<Int64Type>(&mut group, &[1, 2, 3], (&[], &[]));
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    fn read(path: &Path, wanted: &[&str]) -> String {
        let mut text = String::new();
        Rows::open(path, wanted, Arc::default()).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn rows_are_lines_of_json() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.parquet");
        write(&path);
        let all = "{\"id\":\"a\",\"text\":\"one\",\"number\":1,\"items\":[\"x\",null],\
            \"plain\":[],\"share\":0.5}\n\
            {\"id\":\"b\\n\",\"text\":null,\"number\":4294967295,\"items\":null,\"plain\":[-7,8],\
            \"share\":null}\n\
            {\"id\":\"c\",\"text\":\"two\",\"number\":3,\"items\":[],\"plain\":[9],\
            \"share\":2.0}\n";
        assert_eq!(read(&path, &[]), all.repeat(2));
        let two = "{\"id\":\"a\",\"plain\":[]}\n{\"id\":\"b\\n\",\"plain\":[-7,8]}\n\
            {\"id\":\"c\",\"plain\":[9]}\n";
        assert_eq!(read(&path, &["plain", "id"]), two.repeat(2));
        let wrong = |wanted: &str| {
            let rows = Rows::open(&path, &[wanted], Arc::default());
            rows.err().unwrap().to_string()
        };
        assert!(wrong("typo").contains("no column \"typo\", only deep, id, items"));
        assert!(wrong("deep").contains("an unsupported type"));
    }
}
