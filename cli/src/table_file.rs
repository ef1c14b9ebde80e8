//! Reads (key, item) pairs from the rows of a CSV file.
//!
//! This module knows CSV. It does not know what the rows are used for.

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use crate::args::{Columns, TableGiven};
use crate::failure::Failure;
use crate::files;
use crate::output;
use crate::progress::{Progress, Unit};
use crate::raw::DOCUMENT_BYTES_MAX;
use crate::sets::{Grouping, Sets};

/// Groups the rows of a table into sets; also returns the number of unusable rows. Fails if more
/// than half of the rows are unusable, unless `lenient`.
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
                "check for an unclosed quotation mark",
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
            "check --columns and --delimiter, or give --lenient to skip any number of such rows",
        ));
    }
    if let Some(line) = first_unfit {
        progress.note(format!(
            "skipped {} of {name} without key or item, the first at line {line}",
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

/// A cell that can be a key or an item: non-empty UTF-8.
fn cell(record: &ByteRecord, place: usize) -> Option<&[u8]> {
    let cell = record.get(place)?;
    (!cell.is_empty() && std::str::from_utf8(cell).is_ok()).then_some(cell)
}

fn named(header: &ByteRecord, wanted: &str, name: &str) -> Result<usize, Failure> {
    header.iter().position(|cell| cell == wanted.as_bytes()).ok_or_else(|| {
        let columns: Vec<_> = header.iter().map(output::visible).collect();
        Failure::new(
            format!("{name} has no column {wanted:?}; its first line is {}", columns.join(", ")),
            "give column names from that line, or column numbers: --columns 1,2",
        )
    })
}
