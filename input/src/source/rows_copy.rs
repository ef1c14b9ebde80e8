//! Copies selected rows of Parquet files to another file, whatever the column types are.
//!
//! Copies stored values and levels, column by column. Lists, maps, structs and timestamps are
//! defined by the schema, which is copied too, so this code need not interpret them.

#![expect(clippy::disallowed_types, reason = "reads and writes the user's files")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{
    AsBytes as _, BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::bounded::{self, PagesBytes, Steps, open};
use super::rows::explained;
use crate::Error as Failure;

/// Values are written when they reach this size: pages end only between two writes.
const WRITTEN_BYTES: usize = 1 << 20;

/// Values are written, too, when so many bytes of pages were read: a small value keeps its page in
/// memory.
const READ_BYTES: u64 = 64 << 20;

/// A row group of an input file.
#[derive(Debug, Clone, Copy)]
pub struct SourceGroup {
    /// The index of the file in the input.
    pub file: usize,
    place: usize,
    /// Number of rows.
    pub rows: u64,
}

/// A Parquet file being written.
pub struct RowCopy<W: Write + Send> {
    files: Vec<PathBuf>,
    out: PathBuf,
    writer: SerializedFileWriter<W>,
    groups: Vec<SourceGroup>,
    /// Row groups not yet written, and which of their rows to keep. Small groups are combined into
    /// one.
    pending: Vec<(SourceGroup, Vec<bool>)>,
    pending_rows: u64,
    /// Maximum number of rows in an output row group: the size of the largest input row group.
    rows_max: u64,
}

fn reading(path: &Path, error: &ParquetError) -> Failure {
    Failure::new(format!("cannot read {}: {}", path.display(), explained(error)), "")
}

/// Fails if the files have different schemas. If `lenient`, damaged files are passed over.
pub fn check_same_columns(files: &[PathBuf], lenient: bool) -> Result<(), Failure> {
    let mut first = None;
    for path in files {
        let Some(file) = Failure::sound(open(path), lenient)? else { continue };
        let schema = file.metadata().file_metadata().schema_descr().root_schema_ptr();
        let (first, of) = first.get_or_insert_with(|| (Arc::clone(&schema), path));
        if first.get_fields() != schema.get_fields() {
            return Err(Failure::new(
                format!("{} and {} have different columns", of.display(), path.display()),
                "write lines of JSON instead (--out OUT.jsonl), or deduplicate in two runs",
            ));
        }
    }
    Ok(())
}

impl<W: Write + Send> RowCopy<W> {
    /// Starts a file with the schema and metadata of the first input file. If `lenient`, damaged
    /// files are passed over: they have no row groups.
    pub fn new(files: &[PathBuf], out: &Path, to: W, lenient: bool) -> Result<Self, Failure> {
        let (mut groups, mut schema) = (Vec::new(), None);
        for (file, path) in files.iter().enumerate() {
            let Some(reader) = Failure::sound(open(path), lenient)? else { continue };
            let metadata = reader.metadata();
            let rows = metadata.row_groups().iter().map(RowGroupMetaData::num_rows);
            groups.extend(rows.enumerate().map(|(place, rows)| SourceGroup {
                file,
                place,
                rows: u64::try_from(rows).unwrap_or(0),
            }));
            schema.get_or_insert_with(|| {
                let of_file = metadata.file_metadata();
                let mut properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_key_value_metadata(of_file.key_value_metadata().cloned());
                for column in
                    metadata.row_groups().first().into_iter().flat_map(RowGroupMetaData::columns)
                {
                    let path = column.column_path().clone();
                    properties = properties.set_column_compression(path, column.compression());
                }
                (of_file.schema_descr().root_schema_ptr(), Arc::new(properties.build()))
            });
        }
        let Some((schema, properties)) = schema else {
            return Err(Failure::new("there is no whole Parquet file to copy rows of", ""));
        };
        let writer = SerializedFileWriter::new(to, schema, properties)
            .map_err(|error| writing(out, &error))?;
        let rows_max = groups.iter().map(|group| group.rows).max().unwrap_or(0);
        let (files, out, pending) = (files.to_vec(), out.to_owned(), Vec::new());
        Ok(Self { files, out, writer, groups, pending, pending_rows: 0, rows_max })
    }

    /// The row groups of all files, in order.
    pub fn groups(&self) -> Vec<SourceGroup> {
        self.groups.clone()
    }

    /// Takes the next row group, and adds its rows for which `keep` is true.
    pub fn keep(&mut self, group: SourceGroup, keep: Vec<bool>) -> Result<(), Failure> {
        let rows = keep.iter().filter(|keep| **keep).count() as u64;
        if self.pending_rows + rows > self.rows_max {
            self.flush()?;
        }
        self.pending_rows += rows;
        if rows > 0 {
            self.pending.push((group, keep));
        }
        Ok(())
    }

    /// Writes the remaining rows and closes the file.
    pub fn finish(mut self) -> Result<W, Failure> {
        self.flush()?;
        let Self { writer, out, .. } = self;
        writer.into_inner().map_err(|error| writing(&out, &error))
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_rows = 0;
        if pending.is_empty() {
            return Ok(());
        }
        let failed = |error: ParquetError| writing(&self.out, &error);
        let mut readers: Vec<(usize, SerializedFileReader<File>)> = Vec::new();
        for (group, _) in &pending {
            if readers.last().is_none_or(|(file, _)| *file != group.file) {
                readers.push((group.file, open(&self.files[group.file])?));
            }
        }
        let mut to = self.writer.next_row_group().map_err(failed)?;
        let mut column = 0;
        while let Some(mut writer) = to.next_column().map_err(failed)? {
            for (group, keep) in &pending {
                let path = &self.files[group.file];
                let reader = readers.iter().find(|(file, _)| *file == group.file);
                let Some((_, reader)) = reader else { continue };
                let pages_bytes = PagesBytes::default();
                let place = (group.place, column);
                let rows = bounded::BoundedColumn::open(reader, path, place, &pages_bytes);
                let rows = rows.map_err(|error| reading(path, &error))?;
                copy_column(rows, &mut writer, keep).map_err(|error| {
                    Failure::new(
                        format!(
                            "cannot copy the rows of {} to {}: {}",
                            path.display(),
                            self.out.display(),
                            explained(&error)
                        ),
                        "",
                    )
                })?;
            }
            writer.close().map_err(failed)?;
            column += 1;
        }
        to.close().map(drop).map_err(failed)
    }
}

fn writing(path: &Path, error: &ParquetError) -> Failure {
    Failure::new(
        format!("cannot write {}: {error}", path.display()),
        "fix the cause and run the command again: it continues where it stopped",
    )
}

fn copy_column(
    from: bounded::BoundedColumn,
    to: &mut SerializedColumnWriter<'_>,
    keep: &[bool],
) -> Result<(), ParquetError> {
    let bounded::BoundedColumn { reader, steps } = from;
    let how = (&steps, keep);
    match reader {
        ColumnReader::BoolColumnReader(from) => copy(from, to.typed::<BoolType>(), how),
        ColumnReader::Int32ColumnReader(from) => copy(from, to.typed::<Int32Type>(), how),
        ColumnReader::Int64ColumnReader(from) => copy(from, to.typed::<Int64Type>(), how),
        ColumnReader::Int96ColumnReader(from) => copy(from, to.typed::<Int96Type>(), how),
        ColumnReader::FloatColumnReader(from) => copy(from, to.typed::<FloatType>(), how),
        ColumnReader::DoubleColumnReader(from) => copy(from, to.typed::<DoubleType>(), how),
        ColumnReader::ByteArrayColumnReader(from) => copy(from, to.typed::<ByteArrayType>(), how),
        ColumnReader::FixedLenByteArrayColumnReader(from) => {
            copy(from, to.typed::<FixedLenByteArrayType>(), how)
        }
    }
}

/// Values and levels of whole rows, to be written.
struct Kept<T: DataType> {
    values: Vec<T::T>,
    defined: Vec<i16>,
    repeated: Vec<i16>,
    bytes: usize,
}

impl<T: DataType> Kept<T> {
    fn write(&mut self, to: &mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError> {
        let descriptor = to.get_descriptor();
        let (present, repeats) = (descriptor.max_def_level() > 0, descriptor.max_rep_level() > 0);
        let defined = present.then_some(&*self.defined);
        let repeated = repeats.then_some(&*self.repeated);
        to.write_batch(&self.values, defined, repeated)?;
        self.values.clear();
        self.defined.clear();
        self.repeated.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Copies the values and levels of the rows for which `keep` is true.
fn copy<T: DataType>(
    mut from: ColumnReaderImpl<T>,
    to: &mut ColumnWriterImpl<'_, T>,
    (steps, keep): (&Steps, &[bool]),
) -> Result<(), ParquetError> {
    let descriptor = Arc::clone(to.get_descriptor());
    let (present, repeats) = (descriptor.max_def_level(), descriptor.max_rep_level() > 0);
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept: Kept<T> =
        Kept { values: Vec::new(), defined: Vec::new(), repeated: Vec::new(), bytes: 0 };
    let (mut row, mut read) = (0, 0);
    // What follows the last row may be damaged.
    let end = keep.iter().rposition(|keep| *keep).map_or(0, |last| last + 1);
    while row < end {
        values.clear();
        defined.clear();
        repeated.clear();
        if steps.bytes_read() - read >= READ_BYTES {
            read = steps.bytes_read();
            kept.write(to)?;
        }
        let (rows, _) = steps.read(&mut from, (&mut values, &mut defined, &mut repeated))?;
        let Some(keep) = keep.get(row..row + rows) else {
            return Err(ParquetError::General("columns differ in length".to_owned()));
        };
        if rows == 0 {
            break;
        }
        row += rows;
        let mut values = values.drain(..);
        let levels = if present > 0 { defined.len() } else { rows };
        let mut next = 0;
        for level in 0..levels {
            let is_row = !repeats || repeated.get(level) == Some(&0);
            next += usize::from(is_row);
            if is_row && kept.bytes >= WRITTEN_BYTES {
                kept.write(to)?;
            }
            let value = match present {
                0 => values.next(),
                _ => (defined[level] == present).then(|| values.next()).flatten(),
            };
            // Each row starts at repetition level 0, and `next` counts these starts. So the current
            // row is `keep[next - 1]`.
            if next == 0 || !keep.get(next - 1).copied().unwrap_or(false) {
                continue;
            }
            let bytes = value.as_ref().map_or(0, |value| value.as_bytes().len());
            kept.bytes += bytes + size_of::<T::T>() + 4;
            kept.values.extend(value);
            kept.defined.extend(defined.get(level));
            kept.repeated.extend(repeated.get(level));
        }
    }
    kept.write(to)?;
    if row < end {
        return Err(ParquetError::General("columns differ in length".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
    use ::parquet::file::metadata::KeyValue;
    use ::parquet::file::writer::SerializedRowGroupWriter;
    use ::parquet::schema::parser::parse_message_type;

    const ROWS: i64 = 3_000;

    fn column<T: DataType>(
        group: &mut SerializedRowGroupWriter<'_, File>,
        values: &[T::T],
        levels: (&[i16], &[i16]),
    ) {
        let mut column = group.next_column().unwrap().unwrap();
        let some = |levels: &[i16]| (!levels.is_empty()).then(|| levels.to_vec());
        let (defined, repeated) = (some(levels.0), some(levels.1));
        column.typed::<T>().write_batch(values, defined.as_deref(), repeated.as_deref()).unwrap();
        column.close().unwrap();
    }

    const SCHEMA: &str = "message m {
        required binary id (UTF8);
        optional int64 at (TIMESTAMP(MICROS, true));
        optional fixed_len_byte_array(5) price (DECIMAL(10, 2));
        required int96 old;
        optional group place { required double lat; optional binary name (UTF8); }
        optional group tags (LIST) { repeated group list {
            optional group element (LIST) { repeated group list { optional int32 element; } }
        } }
        optional group facts (MAP) { repeated group key_value {
            required binary key (UTF8); optional boolean value;
        } }
    }";

    fn bytes(row: i64) -> ByteArray {
        ByteArray::from(format!("r{row}").as_str())
    }

    /// Writes a file with columns of all types. Its row groups are not multiples of `READ_ROWS`.
    fn write(path: &Path, first: i64) {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(::parquet::basic::ZstdLevel::default()))
            .set_key_value_metadata(Some(vec![KeyValue::new("k".to_owned(), "v".to_owned())]));
        let (schema, properties) = (parse_message_type(SCHEMA).unwrap(), properties.build());
        let file = File::create(path).unwrap();
        let mut file =
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
        for rows in [first..first + 1_700, first + 1_700..first + ROWS] {
            let mut group = file.next_row_group().unwrap();
            let rows: Vec<i64> = rows.collect();
            flat(&mut group, &rows);
            lists(&mut group, &rows);
            maps(&mut group, &rows);
            group.close().unwrap();
        }
        file.close().unwrap();
    }

    fn flat(group: &mut SerializedRowGroupWriter<'_, File>, rows: &[i64]) {
        let all = |f: &dyn Fn(i64) -> i16| rows.iter().map(|row| f(*row)).collect::<Vec<_>>();
        let ids: Vec<_> = rows.iter().map(|row| bytes(*row)).collect();
        column::<ByteArrayType>(group, &ids, (&[], &[]));
        let some = all(&|row| i16::from(row % 3 != 0));
        let present: Vec<_> = rows.iter().copied().filter(|row| row % 3 != 0).collect();
        column::<Int64Type>(group, &present, (&some, &[]));
        let decimal = |row: &i64| FixedLenByteArray::from(row.to_le_bytes()[..5].to_vec());
        let decimals: Vec<_> = present.iter().map(decimal).collect();
        column::<FixedLenByteArrayType>(group, &decimals, (&some, &[]));
        let old = |row: &i64| Int96::from(vec![u32::try_from(*row).unwrap(), 1, 2]);
        let olds: Vec<_> = rows.iter().map(old).collect();
        column::<Int96Type>(group, &olds, (&[], &[]));
        let lats: Vec<_> = present.iter().map(|row| *row as f64 / 7.0).collect();
        column::<DoubleType>(group, &lats, (&some, &[]));
        // Definition level 0: there is no place; 1: a place without a name; 2: a place with a name.
        let placed = all(&|row| i16::try_from(row % 3).unwrap());
        let names: Vec<_> =
            rows.iter().filter(|row| **row % 3 == 2).map(|row| bytes(*row)).collect();
        column::<ByteArrayType>(group, &names, (&placed, &[]));
    }

    fn lists(group: &mut SerializedRowGroupWriter<'_, File>, rows: &[i64]) {
        let (mut values, mut defined, mut repeated) = (vec![], vec![], vec![]);
        for row in rows {
            // Cycles through null, [], [null], [[]], and [[row + 1, null], [row + 2]].
            let (add, levels): (&[i32], &[(i16, i16)]) = match row % 5 {
                0 => (&[], &[(0, 0)]),
                1 => (&[], &[(1, 0)]),
                2 => (&[], &[(2, 0)]),
                3 => (&[], &[(3, 0)]),
                _ => (&[1, 2], &[(5, 0), (4, 2), (5, 1)]),
            };
            values.extend(add.iter().map(|value| value + i32::try_from(*row).unwrap()));
            defined.extend(levels.iter().map(|(defined, _)| *defined));
            repeated.extend(levels.iter().map(|(_, repeated)| *repeated));
        }
        column::<Int32Type>(group, &values, (&defined, &repeated));
    }

    fn maps(group: &mut SerializedRowGroupWriter<'_, File>, rows: &[i64]) {
        let (mut keys, mut truths, mut of_keys, mut of_truths, mut repeated) =
            (vec![], vec![], vec![], vec![], vec![]);
        for row in rows {
            if row % 4 == 0 {
                of_keys.push(0);
                of_truths.push(0);
                repeated.push(0);
            }
            for fact in 0..row % 4 {
                keys.push(bytes(fact));
                of_keys.push(2);
                of_truths.push(2 + i16::from(fact > 0));
                truths.extend((fact > 0).then_some(row % 2 == 0));
                repeated.push(i16::from(fact > 0));
            }
        }
        column::<ByteArrayType>(group, &keys, (&of_keys, &repeated));
        column::<BoolType>(group, &truths, (&of_truths, &repeated));
    }

    fn rows(path: &Path) -> Vec<String> {
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn rows_are_copied_whole_whatever_their_columns() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, out] = ["a", "b", "out"].map(|name| dir.path().join(name));
        write(&a, 0);
        write(&b, ROWS);
        let all = [rows(&a), rows(&b)].concat();
        let files = [a, b];
        for (nth, of) in [(1, 1), (2, 7), (7, 1_000), (0, 2), (5, 0)] {
            let kept = |row: usize| of > 0 && row % of < nth;
            let file = File::create(&out).unwrap();
            let mut copy = RowCopy::new(&files, &out, file, false).unwrap();
            let mut row = 0;
            for group in copy.groups() {
                let keep = (0..group.rows).map(|_| {
                    row += 1;
                    kept(row - 1)
                });
                let keep = keep.collect();
                copy.keep(group, keep).unwrap();
            }
            copy.finish().unwrap();
            let expected: Vec<_> =
                all.iter().enumerate().filter(|(row, _)| kept(*row)).map(|(_, row)| row).collect();
            let found = rows(&out);
            assert_eq!(found.len(), expected.len(), "{nth} of {of}");
            assert!(found.iter().eq(expected), "{nth} of {of}");
            let [from, to] = [&files[0], &out].map(|path| open(path).unwrap());
            let [from, to] = [&from, &to].map(|file| file.metadata().file_metadata().clone());
            assert_eq!(from.schema(), to.schema());
            assert_eq!(from.key_value_metadata(), to.key_value_metadata());
        }
        assert!(check_same_columns(&files, false).is_ok());
    }
}
