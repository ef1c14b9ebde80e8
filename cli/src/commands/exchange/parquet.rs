//! An export as a Parquet file: one column per field, and the header as file metadata `nearkin`.
//!
//! Also reads files that other programs have rewritten: columns are found by name, and columns may
//! be optional as long as no value is missing.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use nearkin::{Document, Params, Signature};

use super::header::Header;
use nearkin_input::files;
use nearkin_input::source;
use nearkin_input::source::{BoundedColumn, PagesBytes, Steps};
use nearkin_kit::failure::Failure;
use nearkin_kit::output::counted;
use nearkin_kit::target::Target;

/// Key under which the header is stored in the file metadata.
const HEADER: &str = "nearkin";
/// The columns in file order.
const COLUMNS: [&str; 5] = ["key", "time", "shingle_count", "payload", "signature"];
/// A row group ends when it reaches one of these limits. They are large enough for few groups, and
/// bound the memory.
const GROUP_BYTES: usize = 32 << 20;
const GROUP_DOCUMENTS: usize = 100_000;

fn failed(path: &Path, doing: &str, error: &ParquetError) -> Failure {
    Failure::new(format!("cannot {doing} {}: {error}", path.display()), "")
}

/// Writes a file, row group by row group.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<Target>,
    path: std::path::PathBuf,
    group: Vec<Document>,
    group_bytes: usize,
}

impl ParquetWriter {
    pub(crate) fn create(path: &Path, header: &Header, params: &Params) -> Result<Self, Failure> {
        let schema = format!(
            "message nearkin {{
                required binary key;
                required int64 time (INTEGER(64, false));
                required int32 shingle_count (INTEGER(32, false));
                required binary payload;
                required fixed_len_byte_array({}) signature;
            }}",
            params.signature_bytes()
        );
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("nearkin ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![KeyValue::new(
                HEADER.to_owned(),
                header.to_json()?,
            )]));
        // Values rarely repeat, and nobody filters by them: no dictionary, no min/max statistics.
        for column in ["key", "payload", "signature"] {
            let column = ColumnPath::from(column);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_statistics_enabled(column, EnabledStatistics::None);
        }
        // Hash values are random, so they do not compress.
        let signature = ColumnPath::from("signature");
        let properties =
            properties.set_column_compression(signature, Compression::UNCOMPRESSED).build();
        let target = Target::create(path)?;
        let file = parse_message_type(&schema)
            .and_then(|schema| {
                SerializedFileWriter::new(target, Arc::new(schema), Arc::new(properties))
            })
            .map_err(|error| failed(path, "write", &error))?;
        Ok(Self { file, path: path.to_owned(), group: Vec::new(), group_bytes: 0 })
    }

    pub(crate) fn write(&mut self, document: Document) -> Result<(), Failure> {
        self.group_bytes +=
            document.key.len() + document.payload.len() + document.signature.as_bytes().len();
        self.group.push(document);
        if self.group_bytes >= GROUP_BYTES || self.group.len() >= GROUP_DOCUMENTS {
            self.end_group()?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.end_group()?;
        let Self { file, path, .. } = self;
        file.into_inner().map_err(|error| failed(&path, "write", &error))?.finish()
    }

    fn end_group(&mut self) -> Result<(), Failure> {
        if self.group.is_empty() {
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        self.group_bytes = 0;
        self.write_group(group).map_err(|error| failed(&self.path, "write", &error))
    }

    fn write_group(&mut self, group: Vec<Document>) -> Result<(), ParquetError> {
        let times = group.iter().map(|document| document.time.cast_signed()).collect();
        let counts = group.iter().map(|d| d.signature.shingle_count().cast_signed()).collect();
        let signature = |d: &Document| ByteArray::from(d.signature.as_bytes().to_vec()).into();
        let signatures = group.iter().map(signature).collect();
        let (mut keys, mut payloads) = (Vec::new(), Vec::new());
        for Document { key, payload, .. } in group {
            keys.push(ByteArray::from(key));
            payloads.push(ByteArray::from(payload));
        }
        let mut rows = self.file.next_row_group()?;
        let mut column = GroupColumns { rows: &mut rows };
        column.write::<ByteArrayType>(keys)?;
        column.write::<Int64Type>(times)?;
        column.write::<Int32Type>(counts)?;
        column.write::<ByteArrayType>(payloads)?;
        column.write::<FixedLenByteArrayType>(signatures)?;
        rows.close().map(|_| ())
    }
}

/// The columns of a row group, written one after the other.
struct GroupColumns<'a, 'b> {
    rows: &'a mut ::parquet::file::writer::SerializedRowGroupWriter<'b, Target>,
}

impl GroupColumns<'_, '_> {
    #[expect(clippy::needless_pass_by_value, reason = "a column is freed once it is written")]
    fn write<T: DataType>(&mut self, values: Vec<T::T>) -> Result<(), ParquetError> {
        let column = self.rows.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("no column".to_owned()))?;
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()
    }
}

/// Reads a file, a batch of documents at a time.
pub(crate) struct ParquetReader {
    file: SerializedFileReader<File>,
    path: std::path::PathBuf,
    /// Position in the file of each of [`COLUMNS`].
    places: [usize; 5],
    /// The next row group to read.
    group_next: usize,
    columns: Option<Vec<BoundedColumn>>,
    pages_bytes: PagesBytes,
    values: StoredValues,
    documents: u64,
}

/// Values that were read and are not yet given back, of each column.
#[derive(Default)]
struct StoredValues {
    keys: VecDeque<ByteArray>,
    times: VecDeque<i64>,
    counts: VecDeque<i32>,
    payloads: VecDeque<ByteArray>,
    signatures: VecDeque<ByteArray>,
}

impl StoredValues {
    /// Reads the next values of each column of which none is left. Returns false at the end of the
    /// row group.
    fn fill(&mut self, columns: &mut [BoundedColumn]) -> Result<bool, ParquetError> {
        let [keys, times, counts, payloads, signatures] = columns else { return Ok(false) };
        bytes(keys, "key", &mut self.keys)?;
        match &mut times.reader {
            ColumnReader::Int64ColumnReader(column) => {
                values(column, &times.steps, "time", &mut self.times)?;
            }
            _ => return Err(unfit("time")),
        }
        match &mut counts.reader {
            ColumnReader::Int32ColumnReader(column) => {
                values(column, &counts.steps, "shingle_count", &mut self.counts)?;
            }
            _ => return Err(unfit("shingle_count")),
        }
        bytes(payloads, "payload", &mut self.payloads)?;
        bytes(signatures, "signature", &mut self.signatures)?;
        let (times, counts) = (self.times.len(), self.counts.len());
        let rest = [times, counts, self.payloads.len(), self.signatures.len()];
        let is_end = self.keys.is_empty();
        if rest.iter().any(|length| (*length == 0) != is_end) {
            return Err(ParquetError::General("columns differ in length".to_owned()));
        }
        Ok(!is_end)
    }

    /// The next row; `None` if a column has no value.
    fn row(&mut self) -> Option<StoredRow> {
        Some(StoredRow {
            key: self.keys.pop_front()?,
            time: self.times.pop_front()?.cast_unsigned(),
            shingle_count: self.counts.pop_front()?.cast_unsigned(),
            payload: self.payloads.pop_front()?,
            signature: self.signatures.pop_front()?,
        })
    }
}

/// A document before its signature is decoded with the parameters. Its bytes are those of a page:
/// many documents may have the same large value of a dictionary.
struct StoredRow {
    key: ByteArray,
    time: u64,
    shingle_count: u32,
    payload: ByteArray,
    signature: ByteArray,
}

impl ParquetReader {
    pub(crate) fn open(path: &Path) -> Result<(Header, Self), Failure> {
        files::length(path)?;
        let name = path.display();
        let file = source::open_parquet(path)?;
        let metadata = file.metadata().file_metadata();
        let values = metadata.key_value_metadata().into_iter().flatten();
        let header = values.filter(|pair| pair.key == HEADER).find_map(|pair| pair.value.clone());
        let Some(header) = header else {
            return Err(Failure::new(
                format!("{name} has no metadata {HEADER:?}: `nearkin export` did not write it"),
                "",
            ));
        };
        let header = Header::parse(header.as_bytes(), &name.to_string())?;
        let schema = metadata.schema_descr();
        let mut places = [0; 5];
        for (place, wanted) in places.iter_mut().zip(COLUMNS) {
            let mut columns = schema.columns().iter();
            let found = columns.position(|column| column.path().parts() == [wanted]);
            let column = found.filter(|at| schema.column(*at).max_rep_level() == 0);
            *place = column.ok_or_else(|| {
                Failure::new(format!("{name} has no column {wanted:?} of single values"), "")
            })?;
        }
        let (values, path) = (StoredValues::default(), path.to_owned());
        let (columns, pages_bytes) = (None, PagesBytes::default());
        let (group_next, documents) = (0, 0);
        let reader =
            Self { file, path, places, group_next, columns, pages_bytes, values, documents };
        Ok((header, reader))
    }

    pub(crate) fn next(&mut self, params: &Params) -> Result<Option<Document>, Failure> {
        let row = self.row().map_err(|error| failed(&self.path, "read", &error))?;
        let Some(row) = row else { return Ok(None) };
        self.documents += 1;
        let StoredRow { key, time, shingle_count, payload, signature } = row;
        let signature =
            Signature::from_bytes(params, signature.data(), shingle_count).map_err(|error| {
                let before = counted(self.documents - 1, "document");
                let wrong = error.full_message();
                Failure::new(format!("{}, after {before}: {wrong}", self.path.display()), "")
            })?;
        let (key, payload) = (key.data(), payload.data());
        Ok(Some(Document::new(key, signature).with_payload(payload).with_time(time)))
    }

    /// The next row. Returns `None` at the end of the file.
    fn row(&mut self) -> Result<Option<StoredRow>, ParquetError> {
        loop {
            if let Some(columns) = &mut self.columns {
                if self.values.fill(columns)? {
                    return Ok(self.values.row());
                }
                self.columns = None;
            }
            if self.group_next >= self.file.num_row_groups() {
                return Ok(None);
            }
            let group = self.group_next;
            self.group_next += 1;
            let open = |place: &usize| {
                BoundedColumn::open(&self.file, &self.path, (group, *place), &self.pages_bytes)
            };
            self.columns = Some(self.places.iter().map(open).collect::<Result<_, _>>()?);
        }
    }
}

fn unfit(name: &str) -> ParquetError {
    ParquetError::General(format!("the column {name:?} has an unsupported type"))
}

/// Reads the next values of a column unless some are left. A missing value is an error.
fn values<T: DataType, V: From<T::T>>(
    column: &mut ColumnReaderImpl<T>,
    steps: &Steps,
    name: &str,
    to: &mut VecDeque<V>,
) -> Result<(), ParquetError> {
    if !to.is_empty() {
        return Ok(());
    }
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, present) = steps.read(column, (&mut values, &mut defined, &mut repeated))?;
    if rows != present {
        return Err(ParquetError::General(format!("a value of the column {name:?} is missing")));
    }
    to.extend(values.into_iter().map(V::from));
    Ok(())
}

fn bytes(
    column: &mut BoundedColumn,
    name: &str,
    to: &mut VecDeque<ByteArray>,
) -> Result<(), ParquetError> {
    let BoundedColumn { reader, steps } = column;
    match reader {
        ColumnReader::ByteArrayColumnReader(column) => values(column, steps, name, to),
        ColumnReader::FixedLenByteArrayColumnReader(column) => values(column, steps, name, to),
        _ => Err(unfit(name)),
    }
}
