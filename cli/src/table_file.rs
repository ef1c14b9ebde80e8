//! The rows of a CSV file: two cells of each, a key and an item.
//!
//! Knows CSV. Does not know what becomes of the rows.

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use crate::args::{Columns, TableGiven};
use crate::failure::Failure;
use crate::files;
use crate::output;
use crate::progress::{Progress, Unit};
use crate::raw::DOCUMENT_BYTES_MAX;
use crate::sets::{Grouping, Sets};

/// The sets that the rows of a table make, and how many rows were of no use.
/// More than half of them are an error, unless that is accepted.
pub(crate) fn read(path: &Path, given: &TableGiven, lenient: bool) -> Result<(Sets, u64), Failure> {
    let bytes = files::length(path)?;
    let (name, reader) = files::open(path)?;
    let mut reader = ReaderBuilder::new()
        .delimiter(given.delimiter.unwrap_or_else(|| usual_delimiter(path)))
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(256 << 10)
        .from_reader(reader);
    let cannot_read = |error: &csv::Error| Failure::new(format!("cannot read {name}: {error}"), "");
    let progress = Progress::start("reading", Unit::Bytes, bytes);
    let mut record = ByteRecord::new();
    let (mut key, mut item) = match &given.columns {
        Some(Columns::Places(key, item)) => {
            if given.header {
                reader.read_byte_record(&mut record).map_err(|error| cannot_read(&error))?;
            }
            (*key, *item)
        }
        Some(Columns::Names(key, item)) => {
            reader.read_byte_record(&mut record).map_err(|error| cannot_read(&error))?;
            (named(&record, key, &name)?, named(&record, item, &name)?)
        }
        None => (0, 1),
    };
    if given.transpose {
        std::mem::swap(&mut key, &mut item);
    }
    let mut grouping = Grouping::new();
    let (mut rows, mut unfit, mut first_unfit) = (0_u64, 0, None);
    while reader.read_byte_record(&mut record).map_err(|error| cannot_read(&error))? {
        if record.as_slice().len() > DOCUMENT_BYTES_MAX {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(Failure::new(
                format!("the row at line {line} of {name} is too large"),
                "is there a quotation mark that nothing closes?",
            ));
        }
        match (cell(&record, key), cell(&record, item)) {
            (Some(key), Some(item)) => grouping.push(key, item)?,
            _ => {
                unfit += 1;
                first_unfit.get_or_insert_with(|| record.position().map_or(0, csv::Position::line));
            }
        }
        rows += 1;
        if rows.is_multiple_of(4_096) {
            progress.reached(reader.position().byte());
        }
    }
    if unfit > rows / 2 && !lenient {
        let (unfit, rows) = (output::grouped(unfit), output::counted(rows, "row"));
        return Err(Failure::new(
            format!("{unfit} of {rows} of {name} have no key or no item"),
            "are these the columns (--columns), and is that the delimiter (--delimiter)? \
             --lenient passes over any number of rows",
        ));
    }
    if let Some(line) = first_unfit {
        progress.note(format!(
            "passed over {} of {name} without key or item, the first at line {line}",
            output::counted(unfit, "row")
        ));
    }
    Ok((grouping.finish()?, unfit))
}

fn usual_delimiter(path: &Path) -> u8 {
    let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match ending.as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("tsv" | "tab") => b'\t',
        _ => b',',
    }
}

/// A cell that can be a key or an item: text that is not empty.
fn cell(record: &ByteRecord, place: usize) -> Option<&[u8]> {
    let cell = record.get(place)?;
    (!cell.is_empty() && std::str::from_utf8(cell).is_ok()).then_some(cell)
}

fn named(header: &ByteRecord, wanted: &str, name: &str) -> Result<usize, Failure> {
    header.iter().position(|cell| cell == wanted.as_bytes()).ok_or_else(|| {
        let columns: Vec<_> = header.iter().map(output::visible).collect();
        Failure::new(
            format!("{name} has no column {wanted:?}; its first line is {}", columns.join(", ")),
            "where the first line names no columns, give their numbers: --columns 1,2",
        )
    })
}
