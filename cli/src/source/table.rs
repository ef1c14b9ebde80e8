//! Reads the rows of a CSV table, either as JSON objects with the names from the first row, or as
//! raw bytes.
//!
//! This module knows quotes and delimiters. Memory is bounded by one row; rows above the maximum
//! document size are an error.

use std::collections::HashSet;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use csv::ByteRecord;

use crate::raw::DOCUMENT_BYTES_MAX;

/// Number of bytes inspected to detect the delimiter if the file name does not determine it.
const HEAD_BYTES: usize = 64 << 10;

/// Compression suffixes that may follow .csv or .tsv.
const PACKED: [&str; 3] = [".gz", ".zst", ".zstd"];

/// Whether the file name is the name of a table.
pub(crate) fn is_one(path: &Path) -> bool {
    ending(path).is_some()
}

/// The delimiter according to the file name: true for tabs, false for another delimiter. `None` if
/// the name is not that of a table.
fn ending(path: &Path) -> Option<bool> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = PACKED.iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "tsv" | "tab" => Some(true),
        "csv" => Some(false),
        _ => None,
    }
}

/// Bytes read ahead that are not yet part of a returned row. `before` is the number of bytes before
/// them.
#[derive(Default)]
struct Ahead {
    bytes: Vec<u8>,
    before: u64,
}

/// A reader that keeps a copy of the bytes it has returned until their row has been parsed.
struct Kept<R> {
    inner: R,
    ahead: Arc<Mutex<Ahead>>,
}

impl<R: Read> Read for Kept<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.bytes.extend_from_slice(&buffer[..count]);
        if ahead.bytes.len() > DOCUMENT_BYTES_MAX + (1 << 20) {
            return Err(io::Error::other(
                "a row is larger than 64 MiB: check for an unclosed quotation mark",
            ));
        }
        Ok(count)
    }
}

/// The rows of a table, one by one.
pub(crate) struct CsvTable<R> {
    reader: csv::Reader<Kept<io::Chain<Cursor<Vec<u8>>, R>>>,
    ahead: Arc<Mutex<Ahead>>,
    /// The raw bytes of the first row. `names` has the column names from it, made unique.
    pub(crate) header: Vec<u8>,
    /// Whether tabs separate the columns.
    pub(crate) has_tabs: bool,
    /// Whether lines end in CR LF.
    pub(crate) ends_in_return: bool,
    names: Vec<String>,
    record: ByteRecord,
}

impl<R: Read> CsvTable<R> {
    /// Opens a table and reads its first row.
    pub(crate) fn open(path: &Path, mut reader: R) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut reader).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let delimiter = match ending(path) {
            Some(true) => b'\t',
            _ => delimiter(&head),
        };
        let ahead = Arc::new(Mutex::new(Ahead::default()));
        let inner = Cursor::new(head).chain(reader);
        let kept = Kept { inner, ahead: Arc::clone(&ahead) };
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(HEAD_BYTES)
            .from_reader(kept);
        let (header, names, record) = (Vec::new(), Vec::new(), ByteRecord::new());
        let (ends_in_return, has_tabs) = (false, delimiter == b'\t');
        let mut table = Self { reader, ahead, header, has_tabs, ends_in_return, names, record };
        if let Some(row) = table.raw_row()? {
            table.header = row;
            table.names = names_of(&table.record);
        }
        Ok(table)
    }

    /// The next row as raw bytes, without its line end. Returns `None` at the end of the table.
    pub(crate) fn raw_row(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.reader.read_byte_record(&mut self.record).map_err(io::Error::other)? {
            return Ok(None);
        }
        let end = self.reader.position().byte();
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let count = usize::try_from(end.saturating_sub(ahead.before)).unwrap_or(usize::MAX);
        let count = count.min(ahead.bytes.len());
        // The bytes may begin with blank lines, or with the LF of a CR LF.
        let row = &ahead.bytes[..count];
        // The parser ends a row before the LF, so `row` includes the CR of a CR LF.
        self.ends_in_return |= row.ends_with(b"\r");
        let begin = row.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(count);
        let end = row.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(begin, |at| at + 1);
        let row = row[begin..end].to_vec();
        ahead.bytes.drain(..count);
        ahead.before += count as u64;
        Ok(Some(row))
    }

    /// Appends the next row as a JSON line, with its line end. Returns false at the end of the
    /// table.
    fn line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        if self.raw_row()?.is_none() {
            return Ok(false);
        }
        line.push(b'{');
        for (at, cell) in self.record.iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            match self.names.get(at) {
                Some(name) => serde_json::to_writer(&mut *line, name)?,
                None => serde_json::to_writer(&mut *line, &format!("column {}", at + 1))?,
            }
            line.push(b':');
            match std::str::from_utf8(cell) {
                Ok(cell) => serde_json::to_writer(&mut *line, cell)?,
                // Invalid UTF-8 makes this line invalid JSON: the parser will reject it and name
                // its position.
                Err(_) => {
                    line.push(b'"');
                    line.extend(cell.iter().filter(|byte| !b"\r\n".contains(byte)));
                    line.push(b'"');
                }
            }
        }
        line.extend_from_slice(b"}\n");
        Ok(true)
    }
}

/// Returns the delimiter (comma, semicolon or tab) that occurs most often in the first line.
fn delimiter(head: &[u8]) -> u8 {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| line.split(|byte| *byte == delimiter).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|one| count(*one)).unwrap_or(b',')
}

/// The column names, made unique: a second `a` becomes `a 2`.
fn names_of(record: &ByteRecord) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for (at, cell) in record.iter().enumerate() {
        let name = String::from_utf8_lossy(cell).trim().to_owned();
        let name = if name.is_empty() { format!("column {}", at + 1) } else { name };
        let again = (2..).map(|number| format!("{name} {number}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        names.push(free);
    }
    names
}

/// The rows of a table as JSON lines.
pub(crate) struct TableLines<R> {
    table: CsvTable<R>,
    /// The current line. The first `given` bytes have already been returned.
    line: Vec<u8>,
    given: usize,
}

impl<R: Read> TableLines<R> {
    pub(crate) fn open(path: &Path, reader: R) -> io::Result<Self> {
        Ok(Self { table: CsvTable::open(path, reader)?, line: Vec::new(), given: 0 })
    }
}

impl<R: Read> Read for TableLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.line.len() {
            self.line.clear();
            self.given = 0;
            if !self.table.line(&mut self.line)? {
                return Ok(0);
            }
        }
        let rest = &self.line[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, text: &[u8]) -> String {
        let mut lines = Vec::new();
        TableLines::open(Path::new(name), text).unwrap().read_to_end(&mut lines).unwrap();
        String::from_utf8_lossy(&lines).into_owned()
    }

    fn rows(text: &str) -> Vec<String> {
        let mut table = CsvTable::open(Path::new("a.csv"), text.as_bytes()).unwrap();
        let header = String::from_utf8(table.header.clone()).unwrap();
        let rows = std::iter::from_fn(move || table.raw_row().unwrap());
        let rows = rows.map(|row| String::from_utf8(row).unwrap());
        std::iter::once(header).chain(rows).collect()
    }

    #[test]
    fn rows_are_objects_of_their_cells() {
        let text = b"id,text,id\n1,\"a \"\"b\"\",\nc\",x\n\n2,d\n3,e,f,g\n";
        let expected = "{\"id\":\"1\",\"text\":\"a \\\"b\\\",\\nc\",\"id 2\":\"x\"}\n\
            {\"id\":\"2\",\"text\":\"d\"}\n\
            {\"id\":\"3\",\"text\":\"e\",\"id 2\":\"f\",\"column 4\":\"g\"}\n";
        assert_eq!(lines("a.csv", text), expected);
        assert_eq!(lines("a.csv", b"\xef\xbb\xbfid;t\n1;a,b\n"), "{\"id\":\"1\",\"t\":\"a,b\"}\n");
        assert_eq!(lines("a.tsv.gz", b"a,b\tc\n1,2\t3\n"), "{\"a,b\":\"1,2\",\"c\":\"3\"}\n");
        assert_eq!(lines("a.csv", b""), "");
        assert!(lines("a.csv", b"id\n\xff\n").contains('\u{fffd}'));
    }

    #[test]
    fn rows_are_given_as_they_are() {
        let long = format!("{},\"\n{}\n\"", "x".repeat(70_000), "\"\"".repeat(70_000));
        for end in ["\n", "\r\n"] {
            let all = ["id,text", " 1 ,\"a\"\"b\" ", "\"\n\",", &long, "2,", "3", "\"4\",5"];
            assert_eq!(rows(&all.join(end)), all);
            assert_eq!(rows(&(all.join(&end.repeat(3)) + end)), all);
        }
        assert_eq!(rows("\u{feff}a,b\n1,2"), ["\u{feff}a,b", "1,2"]);
    }

    #[test]
    fn a_quotation_mark_that_nothing_closes_is_an_error() {
        let text = [b"id,text\n1,\"".to_vec(), vec![b'x'; DOCUMENT_BYTES_MAX + (2 << 20)]].concat();
        let mut table = CsvTable::open(Path::new("a.csv"), &*text).unwrap();
        assert!(table.raw_row().unwrap_err().to_string().contains("unclosed quotation mark"));
    }
}
