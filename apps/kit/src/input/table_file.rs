//! Reads (key, item) pairs from the rows of a CSV file.
//!
//! This module knows CSV. It does not know what the rows are used for.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use super::documents::advised;
use crate::ended;
use crate::failure::Failure;
use crate::output;
use crate::output::progress::{Progress, Unit};
use nearkin_input::Error;
use nearkin_input::files;
use nearkin_input::raw::{Origin, Reason, Skipped};
use nearkin_input::sets::{Grouping, Sets};
use nearkin_input::source;
use nearkin_input::source::{Cells, CsvTable, Row, RowOptions, Wrong};

/// Two columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// The names of the columns.
    Names(String, String),
    /// Numbers of the columns, counted from 0.
    Places(usize, usize),
}

/// Groups the rows of a table into sets; also returns the number of unusable rows. A row that
/// cannot be read is an error, unless lenient. So is a table of which more than half of the rows
/// are unusable. `header`: the first row is no data, though columns have numbers; `transpose`:
/// items become the keys.
pub(crate) fn read(
    path: &Path,
    (columns, header, transpose): (Option<&Columns>, bool, bool),
    options: &RowOptions,
) -> Result<(Sets, u64), Failure> {
    let bytes = files::length(path)?;
    let source = source::open(path, None).map_err(advised)?;
    let name = source.name;
    let failed = |error: io::Error| advised(Error::damaged(&name, None, error));
    let mut table = CsvTable::open(path, source.reader, options).map_err(failed)?;
    let progress = Progress::start("reading", Unit::Bytes, bytes);
    let mut columns = match columns {
        Some(Columns::Places(key, item)) => {
            if header {
                table.row().map_err(failed)?;
            }
            (*key, *item)
        }
        Some(Columns::Names(key, item)) => named(table.row().map_err(failed)?, (key, item), &name)?,
        None => (0, 1),
    };
    if transpose {
        std::mem::swap(&mut columns.0, &mut columns.1);
    }
    let mut grouping = Grouping::default();
    let mut counts = RowCounts::default();
    loop {
        let line = table.next_line();
        let Some(row) = sound(table.row(), (&name, line), options)? else { break };
        let wrong = match row.cells {
            Ok(cells) => match (cell(&cells, columns.0), cell(&cells, columns.1)) {
                (Ok(Some(key)), Ok(Some(item))) => {
                    grouping.push(&key, &item)?;
                    None
                }
                (Err(why), _) | (_, Err(why)) => {
                    Some(Wrong { line: row.line, why, is_too_large: false })
                }
                _ => {
                    counts.unfit(row.line);
                    None
                }
            },
            Err(wrong) => Some(wrong),
        };
        match wrong {
            Some(wrong) if !options.lenient => {
                return Err(source::wrong_row(&name, &wrong).into());
            }
            Some(wrong) => counts.unfit(wrong.line),
            None => {}
        }
        counts.rows += 1;
        if counts.rows.is_multiple_of(4_096) {
            progress.reached(table.next_byte());
        }
    }
    if counts.unfit > counts.rows / 2 && !options.lenient {
        let (unfit, rows) = (output::grouped(counts.unfit), output::counted(counts.rows, "row"));
        return Err(Failure::new(
            format!("{unfit} of {rows} of {name} have no key or no item"),
            "check --columns and --delimiter, or give --lenient to skip any number of such rows",
        ));
    }
    if let Some(line) = counts.first_unfit {
        progress.note(format!(
            "skipped {} of {name} without key or item, the first at line {line}",
            output::counted(counts.unfit, "row")
        ));
    }
    Ok((grouping.finish()?, counts.unfit))
}

/// The row at this line. If lenient, damage ends the table, and is named.
fn sound<T>(
    row: io::Result<Option<T>>,
    (name, line): (&str, u64),
    options: &RowOptions,
) -> Result<Option<T>, Failure> {
    match row {
        Err(error) if options.lenient => {
            let (file, reason) = (name.into(), Reason::Damaged(error.to_string()));
            let origin = Origin::Line { file, file_number: 0, number: line, at: None };
            ended::note_damaged(&Skipped::new(origin, reason));
            Ok(None)
        }
        row => row.map_err(|error| advised(Error::damaged(name, Some(line - 1), error))),
    }
}

/// Counts of rows; `first_unfit` is the line of the first one without key or item.
#[derive(Default)]
struct RowCounts {
    rows: u64,
    unfit: u64,
    first_unfit: Option<u64>,
}

impl RowCounts {
    fn unfit(&mut self, line: u64) {
        self.unfit += 1;
        self.first_unfit.get_or_insert(line);
    }
}

/// A cell that can be a key or an item: not empty, and UTF-8. Fails if it is not UTF-8.
fn cell<'a>(cells: &Cells<'a>, place: usize) -> Result<Option<Cow<'a, [u8]>>, String> {
    let cell = cells.get(place);
    if std::str::from_utf8(&cell).is_err() {
        return Err(source::not_utf_8(&cell));
    }
    Ok(Some(cell).filter(|cell| !cell.is_empty()))
}

/// The places of two columns, by their names in the first row.
fn named(
    header: Option<Row<'_>>,
    (key, item): (&str, &str),
    name: &str,
) -> Result<(usize, usize), Failure> {
    let Some(Row { cells, .. }) = header else {
        return Err(Failure::new(format!("{name} is empty"), "give a table with a header"));
    };
    let cells = cells.map_err(|wrong| source::wrong_row(name, &wrong))?;
    let names: Vec<_> = (0..cells.count()).map(|place| cells.get(place)).collect();
    let place = |wanted: &str| {
        let mut found = names.iter().enumerate().filter(|(_, cell)| ***cell == *wanted.as_bytes());
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(Failure::new(
                format!("{name} has two columns {wanted:?}"),
                "give column numbers: --columns 1,2 --header",
            )),
            (None, _) => {
                let columns: Vec<_> = names.iter().map(|cell| output::visible(cell)).collect();
                Err(Failure::new(
                    format!(
                        "{name} has no column {wanted:?}; its first line is {}",
                        columns.join(", ")
                    ),
                    "give column names from that line, or column numbers: --columns 1,2",
                ))
            }
        }
    };
    Ok((place(key)?, place(item)?))
}
