//! Counts the rows of a row group that stand before the first damage, in all of its columns.

use std::fs::File;
use std::path::Path;

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::bounded::{BoundedColumn, PagesBytes, Steps};

/// The number of rows of a row group that every column has, and what is wrong behind them.
pub(super) fn count(
    file: &SerializedFileReader<File>,
    path: &Path,
    group: usize,
) -> (u64, Option<ParquetError>) {
    let metadata = file.metadata().row_group(group);
    let mut sound = u64::try_from(metadata.num_rows()).unwrap_or(0);
    let mut wrong = None;
    for place in 0..metadata.num_columns() {
        let (rows, error) =
            match BoundedColumn::open(file, path, (group, place), &PagesBytes::default()) {
                Ok(BoundedColumn { reader, steps }) => in_column(reader, &steps),
                Err(error) => (0, Some(error)),
            };
        if rows < sound {
            sound = rows;
            let differs = || ParquetError::General("columns differ in length".to_owned());
            wrong = Some(error.unwrap_or_else(differs));
        }
    }
    (sound, wrong)
}

fn in_column(reader: ColumnReader, steps: &Steps) -> (u64, Option<ParquetError>) {
    match reader {
        ColumnReader::BoolColumnReader(column) => rows(column, steps),
        ColumnReader::Int32ColumnReader(column) => rows(column, steps),
        ColumnReader::Int64ColumnReader(column) => rows(column, steps),
        ColumnReader::Int96ColumnReader(column) => rows(column, steps),
        ColumnReader::FloatColumnReader(column) => rows(column, steps),
        ColumnReader::DoubleColumnReader(column) => rows(column, steps),
        ColumnReader::ByteArrayColumnReader(column) => rows(column, steps),
        ColumnReader::FixedLenByteArrayColumnReader(column) => rows(column, steps),
    }
}

fn rows<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    steps: &Steps,
) -> (u64, Option<ParquetError>) {
    let mut count = 0;
    loop {
        let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        match steps.read(&mut column, (&mut values, &mut defined, &mut repeated)) {
            Ok((0, _)) => return (count, None),
            Ok((rows, _)) => count += rows as u64,
            Err(error) => return (count, Some(error)),
        }
    }
}
