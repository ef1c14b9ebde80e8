//! Detects files that hold many documents (JSON lines, tables, Parquet) but were given as texts.
//! Indexed as one text, such a file would be useless, and the command would seem to succeed. A file
//! within a folder is indexed, but named.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::collections::{self, Collection};
use super::fields::Fields;
use super::guess::{Guess, Spelling};
use super::source::{self, CsvTable, Mark, RowOptions, Source};
use crate::Error;

/// Bytes inspected at the beginning of a file.
const HEAD_BYTES: u64 = 64 << 10;

/// If the file name does not end in .csv, .tsv or .tab, a table must have at least this many rows,
/// and [`COLUMNS_MIN`] columns.
const ROWS_MIN: usize = 5;
const COLUMNS_MIN: usize = 3;

/// Rows inspected at the beginning of a table.
const ROWS_MAX: usize = 20;

/// The content of a file that holds many documents.
enum Seen {
    JsonLines(Guess),
    Table(String),
    Parquet,
    Collection(Collection),
}

/// What reads the documents of a file that holds many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOut {
    /// This option.
    Option(&'static str),
    /// Another program: what to do.
    Split(&'static str),
}

/// Fails for files that hold many documents, unless `as_text` is set. Files found inside folders
/// are named after they were read: see [`many_by_name`].
pub fn check_are_texts(paths: &[PathBuf], as_text: bool) -> Result<(), Error> {
    if as_text {
        return Ok(());
    }
    for path in paths {
        let name = path.display();
        let (what, more) = match look(path) {
            // Their documents are read.
            None | Some(Seen::Collection(Collection::Mailbox | Collection::Warc)) => continue,
            Some(Seen::Collection(collection)) => {
                return Err(Error::new(
                    format!(
                        "{name} holds many documents, not one text: it is {}",
                        collection.what()
                    ),
                    format!("{}, or add --as-text to index it as one text", collection.split()),
                ));
            }
            Some(Seen::Parquet) => ("a Parquet file", String::new()),
            Some(Seen::Table(columns)) => (
                "a table",
                format!(
                    " --key-field COLUMN --text-field COLUMN (columns: {columns}), as \
                     --transactions {name} if each row is an item of a set"
                ),
            ),
            Some(Seen::JsonLines(guess)) => {
                let options = guess.options(Spelling::Lines);
                ("lines of JSON", if options.is_empty() { options } else { format!(" {options}") })
            }
        };
        return Err(Error::new(
            format!("{name} holds many documents, not one text: it is {what}"),
            format!("give it as --jsonl {name}{more}, or add --as-text to index it as one text"),
        ));
    }
    Ok(())
}

/// What a file holds by its name and its text, and what reads it, if it holds many documents. For
/// files in folders, which are read as texts.
pub fn many_by_name(path: &Path, text: &str) -> Option<(&'static str, WayOut)> {
    let begin = text.as_bytes().get(..collections::HEAD_BYTES).unwrap_or(text.as_bytes());
    if let Some(collection) = Collection::of(begin) {
        return Some((collection.what(), WayOut::Split(collection.split())));
    }
    let name = path.file_name()?.to_str().unwrap_or_default().to_ascii_lowercase();
    if !ends_in(&name, &[".jsonl", ".ndjson", ".ldjson", ".json", ".csv", ".tsv", ".tab"]) {
        return None;
    }
    let bytes = text.as_bytes();
    let head = bytes.get(..usize::try_from(HEAD_BYTES).unwrap_or(0)).unwrap_or(bytes);
    let whole = memchr::memrchr(b'\n', head).filter(|_| head.len() < bytes.len());
    if let Some(lines) = source::lines_of_array(head) {
        let is_many = json_lines(&lines, &name).is_some();
        return is_many.then_some(("many documents (a JSON array)", WayOut::Option("--jsonl")));
    }
    let head = &head[..whole.map_or(head.len(), |end| end + 1)];
    match json_lines(head, &name).or_else(|| table(head, &name))? {
        Seen::JsonLines(_) => Some(("many documents (lines of JSON)", WayOut::Option("--jsonl"))),
        Seen::Table(_) => Some(("a table", WayOut::Option("--jsonl"))),
        Seen::Parquet | Seen::Collection(_) => None,
    }
}

/// Detects the content of a file; returns `None` for a text. Also returns `None` for a file that
/// cannot be read: the error is reported later, when the file is read as a document.
fn look(path: &Path) -> Option<Seen> {
    // A pipe can be read only once.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut magic = [0; 4];
    File::open(path).ok()?.read_exact(&mut magic).ok()?;
    if magic == *b"PAR1" {
        return Some(Seen::Parquet);
    }
    let mut head = Vec::new();
    let Source { reader, collection, .. } = source::open(path, None).ok()?;
    if let Some(collection) = collection {
        return Some(Seen::Collection(collection));
    }
    reader.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    if head.len() as u64 == HEAD_BYTES {
        let end = head.iter().rposition(|byte| *byte == b'\n')?;
        head.truncate(end + 1);
    }
    let name = path.file_name()?.to_str().unwrap_or_default().to_ascii_lowercase();
    json_lines(&head, &name).or_else(|| table(&head, &name))
}

fn ends_in(name: &str, endings: &[&str]) -> bool {
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|packed| name.strip_suffix(packed));
    endings.iter().any(|ending| plain.unwrap_or(name).ends_with(ending))
}

/// Detects JSON lines: the first two lines that are not blank are objects. A single line is enough
/// if the file name says JSON lines.
fn json_lines(head: &[u8], name: &str) -> Option<Seen> {
    let fields = Fields::text("id", "text");
    let lines = || head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let guess = Guess::from_line(&fields, lines().next()?)?;
    let second = lines().nth(1).map(|line| Guess::from_line(&fields, line).is_some());
    let is_named = ends_in(name, &[".jsonl", ".ndjson", ".ldjson"]);
    second.unwrap_or(is_named).then_some(Seen::JsonLines(guess))
}

/// Detects a table: all rows have as many cells as the first row. Unless the file name is that of a
/// table, the cells of the first row must also look like column names.
fn table(head: &[u8], name: &str) -> Option<Seen> {
    let is_named = ends_in(name, &[".csv", ".tsv", ".tab"]);
    let delimiters: &[u8] = match is_named {
        true if ends_in(name, &[".csv"]) => b",;",
        true => b"\t",
        false => b",;\t",
    };
    let (rows_min, columns_min) = if is_named { (2, 2) } else { (ROWS_MIN, COLUMNS_MIN) };
    delimiters.iter().find_map(|delimiter| {
        let options = RowOptions {
            delimiter: Some(*delimiter),
            quote: Some(Mark::Of(b'"')),
            escape: Some(Mark::None),
            lenient: false,
        };
        let mut table = CsvTable::open(Path::new(name), head, &options).ok()?;
        let (mut names, mut rows): (Vec<String>, _) = (Vec::new(), 0);
        while rows < ROWS_MAX
            && let Some(row) = table.row().ok()?
        {
            std::str::from_utf8(row.bytes).ok()?;
            match row.cells {
                Ok(cells) if rows == 0 => {
                    let name = |at| String::from_utf8_lossy(&cells.get(at)).into_owned();
                    names = (0..cells.count()).map(name).collect();
                }
                Ok(_) => {}
                // The number of its cells is unknown. Reading the table names such a row.
                Err(wrong) if rows > 0 && wrong.is_of_quotes() => {}
                Err(_) => return None,
            }
            rows += 1;
        }
        let fits = is_named || names.iter().all(|name| is_a_name(name));
        let enough = rows >= rows_min && names.len() >= columns_min;
        (fits && enough).then(|| Seen::Table(names.join(", ")))
    })
}

fn is_a_name(cell: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    cell.len() <= 40 && cell.starts_with(char::is_alphabetic) && cell.chars().all(fits)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

    use super::*;

    fn seen(name: &str, content: &[u8]) -> &'static str {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        match look(&path) {
            None => "text",
            Some(Seen::JsonLines(_)) => "lines",
            Some(Seen::Table(_)) => "table",
            Some(Seen::Parquet) => "Parquet",
            Some(Seen::Collection(_)) => "collection",
        }
    }

    #[test]
    fn sniffing_tells_lines_tables_parquet_and_text_apart() {
        let lines = "{\"id\":1}\n\n{\"id\":2}\n";
        for (name, content, expected) in [
            ("a", lines, "lines"),
            ("a.json", "{\"id\":1}\n", "text"),
            ("a.jsonl", "{\"id\":1}\n", "lines"),
            ("a.json", "{\n \"id\": 1\n}\n", "text"),
            ("a.csv", "id,text\n1,a\n", "table"),
            ("a.tsv", "id\ttext\n1\ta\n", "table"),
            ("a.csv", "id,text\n1,\"a\" b\n", "table"),
            ("a.csv", "id,text\n1,\"a,\n\"\"b\"\n", "table"),
            ("a.csv", "id,text\n1,a,b\n", "text"),
            ("a.csv", "one, word\nand another line", "text"),
            ("a.txt", "id;name;text\n1;2;3\n1;2;3\n1;2;3\n1;2;3\n", "table"),
            (
                "a.txt",
                "One, two, three\nA, b, c\nHere, it, ends\nYes, it, does\nno, no, no",
                "text",
            ),
            (
                "a.txt",
                "One, two: three\nA, b, c\nHere, it, ends\nYes, it, does\nno, no, no",
                "text",
            ),
            ("a.txt", "a,b,c\n1,2,3\n", "text"),
            ("a", "PAR1xxxx", "Parquet"),
            ("a", "[{\"id\":1},\n{\"id\":2}]", "lines"),
            ("a.json", "[1, 2]", "text"),
            ("a", "WARC/1.0\r\n", "collection"),
            ("a", "@book{a,\n}\n@book{b,\n}\n", "collection"),
            ("a", "@book{a,\n}\n", "text"),
            ("a", "PAR", "text"),
            ("a", "plain text\nof two lines", "text"),
            ("a", "", "text"),
        ] {
            assert_eq!(seen(name, content.as_bytes()), expected, "{name}: {content}");
        }
        let long = [b"{\"id\":1}\n{\"id\":\"", &vec![b'x'; 70_000][..], b"\"}\n"].concat();
        assert_eq!(seen("a", &long), "text", "the second line is not whole");
        assert_eq!(seen("a.jsonl", &long), "lines");
    }
}
