//! Reads the rows of a Parquet file as JSON lines: one object per row, with the selected columns.
//!
//! Row groups are read one by one, a few rows at a time. Memory use: the pages of the columns,
//! which `bounded.rs` limits, plus about [`TEXT_BYTES`] of text: a large value is encoded in parts.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde::{Serialize, Serializer};
use serde_json::Number;

use super::bounded::{self, PagesBytes};
use super::columns::{self, JsonColumn};
use super::sound_rows;
use super::wanted::Wanted;
use crate::Error as Failure;
use crate::handed_out::hand_out;

/// Encoded text is returned when it reaches this size. It is also the size of the parts in which a
/// larger value is encoded.
const TEXT_BYTES: usize = 1 << 20;

/// Iterator state over the rows of a file.
pub(crate) struct Rows {
    file: SerializedFileReader<File>,
    path: PathBuf,
    columns: Vec<JsonColumn>,
    /// The next row group to read.
    group_next: usize,
    /// The columns of the current row group, in the order of `columns`; empty between row groups.
    readers: Vec<bounded::BoundedColumn>,
    pages_bytes: PagesBytes,
    /// Values that were read and are not yet encoded, of each column.
    values: Vec<VecDeque<ColumnValue>>,
    /// The next column to encode of the current row.
    column_next: usize,
    /// The value that is being encoded in parts.
    large: Option<LargeText>,
    /// Encoded text. The first `given` bytes have already been returned.
    text: Vec<u8>,
    given: usize,
    /// Why no more rows can be read. The rows before come first.
    failed: Option<String>,
    /// Whether all columns are checked.
    is_for_copy: bool,
    /// The number of rows of the current row group before the damage that a check of all columns
    /// has found, and what is damaged.
    sound: Option<(u64, ParquetError)>,
    taken: Arc<AtomicU64>,
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
        wanted: Option<&Wanted>,
        taken: Arc<AtomicU64>,
    ) -> Result<Self, Failure> {
        let file = bounded::open(path)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = columns::columns(schema, wanted, path)?;
        let (path, pages_bytes) = (path.to_owned(), PagesBytes::default());
        let (readers, values, text) = (Vec::new(), Vec::new(), Vec::new());
        let (group_next, column_next, given) = (0, 0, 0);
        Ok(Self {
            file,
            path,
            columns,
            group_next,
            readers,
            pages_bytes,
            values,
            column_next,
            large: None,
            text,
            given,
            failed: None,
            is_for_copy: wanted.is_some_and(|wanted| wanted.is_for_copy),
            sound: None,
            taken,
        })
    }

    /// Encodes the next rows as lines. Returns false at the end of the file.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        self.text.clear();
        self.given = 0;
        while self.text.len() < TEXT_BYTES {
            if self.large.is_some() || self.column_next > 0 {
                self.encode()?;
            } else if self.values.iter().all(|values| !values.is_empty()) && !self.values.is_empty()
            {
                if let Some((rows, wrong)) = &mut self.sound {
                    if *rows == 0 {
                        return Err(ParquetError::General(wrong.to_string()));
                    }
                    *rows -= 1;
                }
                self.text.push(b'{');
                self.encode()?;
            } else if !self.read()? {
                break;
            }
        }
        Ok(!self.text.is_empty())
    }

    /// Encodes the next rows; if that fails, those before the fault. Returns false if there are
    /// none, at the end of the file or at the fault.
    fn fill_or_fail(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if let Err(error) = self.fill() {
            self.failed = Some(explained(&error));
            let end = memchr::memrchr(b'\n', &self.text).map_or(0, |end| end + 1);
            self.text.truncate(end);
        }
        !self.text.is_empty()
    }

    /// Reads the next rows, if necessary from the next row group. Returns false at the end of the
    /// file.
    fn read(&mut self) -> Result<bool, ParquetError> {
        if self.readers.is_empty() {
            if self.group_next >= self.file.num_row_groups() || self.columns.is_empty() {
                return Ok(false);
            }
            let group = self.group_next;
            self.group_next += 1;
            if self.is_for_copy {
                let (rows, wrong) = sound_rows::count(&self.file, &self.path, group);
                self.sound = wrong.map(|wrong| (rows, wrong));
            }
            let open = |column: &JsonColumn| {
                let place = (group, column.place);
                bounded::BoundedColumn::open(&self.file, &self.path, place, &self.pages_bytes)
            };
            self.readers = self.columns.iter().map(open).collect::<Result<_, _>>()?;
            self.values = self.columns.iter().map(|_| VecDeque::new()).collect();
            let bytes = self.file.metadata().row_group(group).compressed_size();
            self.taken.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
        }
        for ((column, reader), values) in
            self.columns.iter().zip(&mut self.readers).zip(&mut self.values)
        {
            if values.is_empty() {
                column.read_rows(reader, values)?;
            }
        }
        if self.values.iter().any(VecDeque::is_empty) {
            if self.values.iter().any(|values| !values.is_empty()) {
                return Err(ParquetError::General("columns differ in length".to_owned()));
            }
            self.readers.clear();
        }
        Ok(true)
    }

    /// Encodes the next value of the current row, or the next part of a large one.
    fn encode(&mut self) -> Result<(), ParquetError> {
        let failed = |error: serde_json::Error| ParquetError::General(error.to_string());
        if let Some(large) = &mut self.large {
            if large.encode(&mut self.text).map_err(failed)? {
                return Ok(());
            }
            self.large = None;
        } else {
            let at = self.column_next;
            if at > 0 {
                self.text.push(b',');
            }
            serde_json::to_writer(&mut self.text, &self.columns[at].name).map_err(failed)?;
            self.text.push(b':');
            let cell = self.values[at].pop_front().unwrap_or(ColumnValue::Null);
            self.column_next += 1;
            if let Some(large) = LargeText::from_cell(&cell) {
                self.text.push(b'"');
                self.large = Some(large);
                return Ok(());
            }
            serde_json::to_writer(&mut self.text, &cell).map_err(failed)?;
        }
        if self.column_next == self.columns.len() {
            self.text.extend_from_slice(b"}\n");
            self.column_next = 0;
        }
        Ok(())
    }
}

/// A text that is encoded in parts: as JSON it would be in memory a second time.
struct LargeText {
    bytes: ByteArray,
    /// Number of bytes that are encoded.
    done: usize,
}

impl LargeText {
    /// Returns `None` if the value is small, or not a text.
    fn from_cell(cell: &ColumnValue) -> Option<Self> {
        let ColumnValue::Bytes(bytes) = cell else { return None };
        let is_large = bytes.len() > TEXT_BYTES && std::str::from_utf8(bytes.data()).is_ok();
        is_large.then(|| Self { bytes: bytes.clone(), done: 0 })
    }

    /// Appends the next part; at the end the quotation mark. Returns false at the end.
    fn encode(&mut self, text: &mut Vec<u8>) -> Result<bool, serde_json::Error> {
        let rest = &self.bytes.data()[self.done..];
        if rest.is_empty() {
            text.push(b'"');
            return Ok(false);
        }
        let part = rest.get(..TEXT_BYTES).unwrap_or(rest);
        // The whole value is UTF-8: only the last character of a part can be incomplete.
        let part = match std::str::from_utf8(part) {
            Ok(part) => part,
            Err(error) => std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.done += part.len();
        let encoded = serde_json::to_string(part)?;
        // Without the quotation marks around it.
        text.extend_from_slice(&encoded.as_bytes()[1..encoded.len() - 1]);
        Ok(true)
    }
}

/// A value that is not yet encoded. Bytes are not copied: many rows may have the same large value
/// of a dictionary.
#[derive(Debug)]
enum ColumnValue {
    Null,
    Bytes(ByteArray),
    Number(Number),
    Bool(bool),
    List(Vec<ColumnValue>),
}

impl Serialize for ColumnValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_none(),
            Self::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
                Ok(text) => to.serialize_str(text),
                Err(_) => to.serialize_none(),
            },
            Self::Number(number) => number.serialize(to),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::List(items) => to.collect_seq(items),
        }
    }
}

impl<T: Into<Number>> From<T> for ColumnValue {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

fn float(value: f64) -> ColumnValue {
    Number::from_f64(value).map_or(ColumnValue::Null, ColumnValue::Number)
}

impl JsonColumn {
    /// Reads the next rows; a missing value is null.
    fn read_rows(
        &self,
        column: &mut bounded::BoundedColumn,
        cells: &mut VecDeque<ColumnValue>,
    ) -> Result<(), ParquetError> {
        let bounded::BoundedColumn { reader, steps } = column;
        match reader {
            ColumnReader::ByteArrayColumnReader(column) => {
                self.read(column, steps, cells, |value| ColumnValue::Bytes(value.clone()))
            }
            ColumnReader::FixedLenByteArrayColumnReader(column) => {
                self.read(column, steps, cells, |value| ColumnValue::Bytes((**value).clone()))
            }
            ColumnReader::Int32ColumnReader(column) if self.unsigned => {
                self.read(column, steps, cells, |value| value.cast_unsigned().into())
            }
            ColumnReader::Int32ColumnReader(column) => {
                self.read(column, steps, cells, |value| (*value).into())
            }
            ColumnReader::Int64ColumnReader(column) if self.unsigned => {
                self.read(column, steps, cells, |value| value.cast_unsigned().into())
            }
            ColumnReader::Int64ColumnReader(column) => {
                self.read(column, steps, cells, |value| (*value).into())
            }
            ColumnReader::BoolColumnReader(column) => {
                self.read(column, steps, cells, |value| ColumnValue::Bool(*value))
            }
            ColumnReader::FloatColumnReader(column) => {
                self.read(column, steps, cells, |value| float(f64::from(*value)))
            }
            ColumnReader::DoubleColumnReader(column) => {
                self.read(column, steps, cells, |value| float(*value))
            }
            ColumnReader::Int96ColumnReader(_) => Err(ParquetError::General(format!(
                "the column {:?} has an unsupported type",
                self.name
            ))),
        }
    }

    fn read<T: DataType>(
        &self,
        column: &mut ColumnReaderImpl<T>,
        steps: &bounded::Steps,
        cells: &mut VecDeque<ColumnValue>,
        cell: impl Fn(&T::T) -> ColumnValue,
    ) -> Result<(), ParquetError> {
        let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        steps.read(column, (&mut values, &mut present, &mut repeated))?;
        let mut values = values.iter().map(cell);
        if self.present == 0 {
            cells.extend(values);
            return Ok(());
        }
        for (at, level) in present.iter().enumerate() {
            let found = (*level == self.present).then(|| values.next()).flatten();
            let found = found.unwrap_or(ColumnValue::Null);
            let Some(item) = self.item else {
                cells.push_back(found);
                continue;
            };
            if repeated.get(at).is_none_or(|again| *again == 0) {
                // The level just below `item` means an empty list; lower levels mean that there is
                // no list.
                let is_there = *level >= item - 1;
                cells.push_back(if is_there {
                    ColumnValue::List(Vec::new())
                } else {
                    ColumnValue::Null
                });
            }
            if *level >= item
                && let Some(ColumnValue::List(items)) = cells.back_mut()
            {
                items.push(found);
            }
        }
        Ok(())
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() && !self.fill_or_fail() {
            return self.failed.as_ref().map_or(Ok(0), |why| Err(io::Error::other(why.clone())));
        }
        Ok(hand_out(&self.text, &mut self.given, buffer))
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
