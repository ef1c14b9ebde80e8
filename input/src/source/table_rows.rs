//! The rows of a table as JSON objects, with the names from the first row.
//!
//! This module knows names of columns, not quotation marks and delimiters.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;

use super::dialect::RowOptions;
use super::table::{Cells, CsvTable, Wrong};
use super::wanted::Wanted;
use crate::Error;
use crate::formats::decode;
use crate::raw::DOCUMENT_BYTES_MAX;

/// A table with its header.
pub struct TableRows {
    table: CsvTable<Box<dyn Read>>,
    /// The bytes of the first row, with a byte order mark before it and a line that names the
    /// delimiter (`sep=;`).
    pub header: Vec<u8>,
    /// The line end of the first row.
    pub header_end: Vec<u8>,
    /// The columns of the objects: place in the row, and name as JSON.
    columns: Vec<(usize, Vec<u8>)>,
    /// The last row that could not be read.
    wrong_row: Vec<u8>,
}

/// A row as an object, or why there is none.
pub(crate) struct TableRow {
    pub line: u64,
    pub object: Result<Bytes, Wrong>,
}

impl TableRows {
    /// Opens a table and reads its first row. `has_mark`: a byte order mark stood before it.
    pub(crate) fn open(
        path: &Path,
        (reader, has_mark): (Box<dyn Read>, bool),
        options: &RowOptions,
        wanted: Option<&Wanted>,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::damaged(path.display(), None, error);
        let mut table = CsvTable::open(path, reader, options).map_err(failed)?;
        let mark = if has_mark { super::table::MARK } else { b"" };
        let naming = table.naming().to_vec();
        let (header, header_end, names) = match table.row().map_err(failed)? {
            None => (Vec::new(), Vec::new(), Vec::new()),
            Some(row) => match row.cells {
                Ok(cells) => {
                    let header = [mark, &naming, row.bytes].concat();
                    (header, row.line_end.to_vec(), names_of(&cells))
                }
                Err(wrong) => {
                    let error = wrong_row(&path.display().to_string(), &wrong);
                    return Err(error.of_damage(format!("line {}: {}", wrong.line, wrong.why)));
                }
            },
        };
        let places = match wanted {
            Some(wanted) if !header.is_empty() => wanted.places(path, &names)?,
            _ => None,
        };
        let names = unique(names);
        let places = places.unwrap_or_else(|| (0..names.len()).collect());
        let json = |place: usize| serde_json::to_vec(&names[place]).map(|name| (place, name));
        let columns = places.into_iter().map(json).collect::<Result<_, _>>();
        let columns = columns.map_err(|error| failed(error.into()))?;
        Ok(Self { table, header, header_end, columns, wrong_row: Vec::new() })
    }

    /// The first row, without what stands before it.
    pub fn names(&self) -> &[u8] {
        let header = self.header.strip_prefix(super::table::MARK).unwrap_or(&self.header);
        header.strip_prefix(self.table.naming()).unwrap_or(header)
    }

    /// The rows as they are stored.
    pub fn table(&mut self) -> &mut CsvTable<Box<dyn Read>> {
        &mut self.table
    }

    /// What separates the cells.
    pub fn delimiter(&self) -> u8 {
        self.table.delimiter()
    }

    /// Whether there is a column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        let name = serde_json::Value::from(name).to_string();
        self.columns.iter().any(|(_, column)| column == name.as_bytes())
    }

    pub(crate) fn next_line(&self) -> u64 {
        self.table.next_line()
    }

    pub(crate) fn next_byte(&self) -> u64 {
        self.table.next_byte()
    }

    pub(crate) fn ahead(&self) -> &[u8] {
        self.table.ahead()
    }

    /// The bytes of the last row that could not be read.
    pub(crate) fn wrong_row(&self) -> &[u8] {
        &self.wrong_row
    }

    /// The next row; `None` at the end of the table.
    pub(crate) fn next(&mut self) -> io::Result<Option<TableRow>> {
        let Some(row) = self.table.row()? else { return Ok(None) };
        let line = row.line;
        let cells = row.cells.and_then(|cells| {
            object(&self.columns, &cells).map_err(|why| Wrong { line, why, is_too_large: false })
        });
        if cells.is_err() {
            self.wrong_row = row.bytes.to_vec();
        }
        Ok(Some(TableRow { line, object: cells.map(Bytes::from) }))
    }
}

/// A row as a JSON object.
fn object(columns: &[(usize, Vec<u8>)], cells: &Cells<'_>) -> Result<Vec<u8>, String> {
    let mut line = Vec::new();
    line.push(b'{');
    for (at, (place, name)) in columns.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        line.extend_from_slice(name);
        line.push(b':');
        let cell = cells.get(*place);
        let Ok(cell) = std::str::from_utf8(&cell) else { return Err(not_utf_8(&cell)) };
        serde_json::to_writer(&mut line, cell).map_err(|error| error.to_string())?;
        if line.len() > 8 * DOCUMENT_BYTES_MAX {
            return Err("a row of more than 512 MiB with the names of its columns".to_owned());
        }
    }
    line.push(b'}');
    Ok(line)
}

/// Says that a row is not UTF-8, and which encoding it may have.
pub fn not_utf_8(row: &[u8]) -> String {
    match decode::likely(row) {
        Some(likely) => {
            let name = likely.name();
            let label = name.to_ascii_lowercase();
            format!("not UTF-8: {name}? If so, give --encoding {label}")
        }
        None => "not UTF-8".to_owned(),
    }
}

/// The error for a row that cannot be read.
pub fn wrong_row(name: &str, wrong: &Wrong) -> Error {
    let advice = match &*wrong.why {
        _ if wrong.is_of_quotes() => {
            "fix the row, or give --quote none or --escape '\\' if the table means that"
        }
        why if why.contains("not UTF-8") => "convert the file, or give --encoding NAME",
        _ => {
            "fix the row (a field that holds the delimiter needs quotation marks), or give \
              --delimiter"
        }
    };
    Error::new(
        format!("{name} line {}: {}", wrong.line, wrong.why),
        format!("{advice}; --lenient skips such rows"),
    )
    .of_wrong_input()
}

/// The names in the first row.
fn names_of(cells: &Cells<'_>) -> Vec<String> {
    let name = |at| {
        let name = String::from_utf8_lossy(&cells.get(at)).trim().to_owned();
        if name.is_empty() { format!("column {}", at + 1) } else { name }
    };
    (0..cells.count()).map(name).collect()
}

/// Makes names unique: a second `a` becomes `a 2`.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let free = |name: String| {
        let again = (2..).map(|number| format!("{name} {number}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        free
    };
    names.into_iter().map(free).collect()
}
