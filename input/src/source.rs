//! Opens a file of lines, or stdin. The file may be plain, compressed by gzip or Zstandard,
//! Parquet, or a table. Compression and Parquet are detected by the first bytes and not by the
//! name, tables by .csv or .tsv. Rows of tables and of Parquet files become JSON lines.
//!
//! This module knows file formats, not the content of lines. Memory is bounded whatever the data
//! claims: gzip needs 32 KiB, Zstandard one frame window; windows above 128 MiB are refused unless
//! the user accepts them.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

mod array;
#[cfg(feature = "parquet")]
mod bounded;
#[cfg(feature = "parquet")]
mod columns;
mod dialect;
#[cfg(feature = "parquet")]
mod footer;
mod magic;
#[cfg(not(feature = "parquet"))]
#[path = "source/no_rows.rs"]
mod rows;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(not(feature = "parquet"))]
#[path = "source/no_rows_copy.rs"]
mod rows_copy;
#[cfg(feature = "parquet")]
mod rows_copy;
mod scan;
#[cfg(feature = "parquet")]
mod sound_rows;
mod table;
mod table_rows;
mod unzstd;
mod wanted;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::Error;
use crate::collections::{self, Collection};
use crate::formats::decode;
use crate::formats::decode::Utf8Reader;
use crate::gunzip::GzipMembers;
use crate::raw::STDIN;
use crate::stdin::Stdin;
use crate::words;

pub(crate) use array::lines_of_array;
#[cfg(feature = "parquet")]
pub use bounded::{BoundedColumn, PagesBytes, StepValues, Steps, open as open_parquet};
#[cfg(feature = "parquet")]
pub use columns::not_for_json;
pub use dialect::{Mark, RowOptions, is_named_rows};
#[cfg(not(feature = "parquet"))]
pub use rows::not_for_json;
pub use rows_copy::{RowCopy, check_same_columns};
pub use table::{Cells, CsvTable, Row, Wrong};
pub use table_rows::{TableRows, not_utf_8, wrong_row};
pub use unzstd::set_window_max;
pub use wanted::Wanted;

/// Size of the reads from a decoder.
const BUFFER_BYTES: usize = 256 << 10;

/// An open line-based input: a file or stdin.
pub struct Source {
    /// For messages: the file name, or "stdin".
    pub name: String,
    /// The uncompressed lines.
    pub reader: Box<dyn Read>,
    /// Number of bytes of the stored file read so far (before decompression).
    pub taken: Arc<AtomicU64>,
    /// Whether the lines are the file's own bytes, so that reading can start at any offset.
    pub plain: bool,
    /// Whether a byte order mark of UTF-8 was removed from the beginning.
    pub(crate) has_mark: bool,
    /// What the file is, if it holds many documents that are not read.
    pub(crate) collection: Option<Collection>,
    /// See [`Stdin::ends_ahead`]. `None` unless the source is uncompressed stdin.
    pub(crate) ends_ahead: Option<Arc<AtomicUsize>>,
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstandard,
    Parquet,
}

impl Packing {
    /// Detects the compression from the first four bytes. A JSON line cannot begin with any of
    /// these magic numbers.
    fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // A Zstandard frame, or a skippable frame in front of one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstandard,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            _ => Self::None,
        }
    }

    /// Whether these bytes may be the prefix of a magic number, so that more must be read.
    fn may_follow(head: &[u8]) -> bool {
        head.len() < 4
            && Self::detect(head) == Self::None
            && match head {
                [] => true,
                [first, rest @ ..] => {
                    let rests: &[&[u8]] = match *first {
                        0x1f => &[b"\x8b"],
                        0x28 => &[b"\xb5\x2f\xfd"],
                        b'P' => &[b"\x2a\x4d\x18", b"AR1"],
                        0x51..=0x5f => &[b"\x2a\x4d\x18"],
                        _ => &[],
                    };
                    rests.iter().any(|whole| whole.starts_with(rest))
                }
            }
    }

    /// The compression that the file name suggests.
    fn promised(path: &Path) -> Self {
        let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstandard,
            Some("parquet") => Self::Parquet,
            _ => Self::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstandard => "Zstandard",
            Self::Parquet => "Parquet",
        }
    }
}

/// How a file of lines is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// JSON lines.
    Lines,
    /// A table, detected by the file name.
    Table,
    /// A Parquet file, detected by its first bytes.
    Parquet,
}

/// Detects how a file of lines is stored; fails if it cannot be read.
pub fn kind(path: &Path, options: &RowOptions) -> Result<SourceKind, Error> {
    let of_name = || if options.is_table(path) { SourceKind::Table } else { SourceKind::Lines };
    if path.as_os_str() == STDIN {
        return Ok(of_name());
    }
    // A damaged file is named when it is read.
    let begun = Error::sound(begin(path, Arc::default()), true)?;
    let packing = begun.map_or_else(|| Packing::promised(path), |(_, packing)| packing);
    Ok(if packing == Packing::Parquet { SourceKind::Parquet } else { of_name() })
}

/// Opens a file and decompresses it; `taken` counts the bytes that are read of it.
fn begin(path: &Path, taken: Arc<AtomicU64>) -> Result<(Box<dyn Read>, Packing), Error> {
    let name = path.display();
    if let Some(what) = magic::other_by_name(path) {
        return Err(Error::new(format!("cannot read {name}: it is {what}"), ""));
    }
    let inner = File::open(path).map_err(|error| Error::reading(path, &error))?;
    let (reader, packing) =
        unpacked(Counted { inner, taken }).map_err(|error| Error::damaged(&name, None, error))?;
    let promised = Packing::promised(path);
    if promised != Packing::None && promised != packing {
        let what = format!("is no {} file, despite its name", promised.name());
        return Err(Error::new(
            format!("{name} {what}"),
            "if it is truncated, restore it; if it is not compressed, remove the ending from its \
             name",
        )
        .of_damage(what));
    }
    Ok((reader, packing))
}

/// Whether a file is uncompressed lines of JSON in UTF-8, which can be read from any offset.
pub fn is_plain(path: &Path, options: &RowOptions) -> Result<bool, Error> {
    Ok(!options.is_table(path) && open(path, None)?.plain)
}

/// Opens a table for reading its rows unchanged.
pub fn open_table(path: &Path, options: &RowOptions) -> Result<TableRows, Error> {
    let Source { reader, has_mark, .. } = open(path, None)?;
    TableRows::open(path, (reader, has_mark), options, None)
}

/// The bytes of stdin as they are, to be copied to a file. Damage shows when that is read.
pub fn stdin_unchanged() -> Result<impl Read, Error> {
    Stdin::new().map_err(Error::no_thread)
}

/// The error for a Parquet file on stdin.
pub fn parquet_on_stdin() -> Error {
    let advice = "give the file by name: Parquet needs random access";
    Error::new("stdin is a Parquet file", advice)
}

/// Opens a file of lines, or stdin for `-`. The rows of a Parquet file become lines; those of a
/// table do not. `wanted`: the columns to read from a Parquet file; without it, all that JSON can
/// hold.
pub fn open(path: &Path, wanted: Option<&Wanted>) -> Result<Source, Error> {
    let taken = Arc::new(AtomicU64::new(0));
    if path.as_os_str() == STDIN {
        let stdin = Stdin::new().map_err(Error::no_thread)?;
        let ends_ahead = stdin.ends_ahead();
        let stdin = Counted { inner: stdin, taken: Arc::clone(&taken) };
        let (reader, packing) = unpacked(stdin)
            .map_err(|error| Error::new(format!("cannot read stdin before line 1: {error}"), ""))?;
        if packing == Packing::Parquet {
            return Err(parquet_on_stdin());
        }
        // In compressed data, the blocks that contain a line end are unknown before decompression,
        // so they cannot be counted.
        let ends_ahead = (packing == Packing::None).then_some(ends_ahead);
        let (reader, mark, _) = decoded(reader)
            .map_err(|error| Error::new(format!("cannot read stdin before line 1: {error}"), ""))?;
        let name = "stdin".to_owned();
        let stdin = Source {
            name,
            reader,
            taken,
            plain: false,
            has_mark: mark,
            collection: None,
            ends_ahead,
        };
        // Another read could block.
        return stdin
            .recognised(1)
            .map_err(|error| Error::new(format!("cannot read stdin before line 1: {error}"), ""));
    }
    let name = path.display().to_string();
    let (reader, packing) = begin(path, Arc::clone(&taken))?;
    let damaged = |error: io::Error| Error::damaged(path.display(), None, error);
    if packing == Packing::Parquet {
        let rows = rows::Rows::open(path, wanted, Arc::clone(&taken))?;
        let reader = Box::new(rows);
        let (plain, has_mark, collection) = (false, false, None);
        return Ok(Source { name, reader, taken, plain, has_mark, collection, ends_ahead: None });
    }
    let (reader, has_mark, is_unchanged) = decoded(reader).map_err(damaged)?;
    let plain = packing == Packing::None && is_unchanged;
    let collection = None;
    let source = Source { name, reader, taken, plain, has_mark, collection, ends_ahead: None };
    if dialect::is_named_table(path) {
        return Ok(source);
    }
    source.recognised(collections::HEAD_BYTES).map_err(damaged)
}

impl Source {
    /// Recognises by its beginning what the file is, of which at least `bytes` are read. The
    /// elements of a JSON array become lines.
    fn recognised(mut self, bytes: usize) -> io::Result<Self> {
        let mut head = vec![0; BUFFER_BYTES];
        let (mut filled, mut failed) = (0, None);
        while filled < bytes {
            match self.reader.read(&mut head[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What stands before the fault is read first.
                Err(error) if filled > 0 => {
                    failed = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        head.truncate(filled);
        self.collection = Collection::of(&head);
        let is_array = array::is_one(&head);
        let rest = Rest { failed, inner: self.reader };
        let whole = Cursor::new(head).chain(rest);
        if is_array {
            (self.reader, self.plain) = (Box::new(array::ArrayLines::new(whole)), false);
        } else {
            self.reader = Box::new(whole);
        }
        Ok(self)
    }
}

/// What follows the beginning of a file; an error that came with the beginning is returned first.
struct Rest {
    failed: Option<io::Error>,
    inner: Box<dyn Read>,
}

impl Read for Rest {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.failed.take().map_or_else(|| self.inner.read(buffer), Err)
    }
}

/// Like [`open`], but starts at byte `at` of the lines. A plain file is read from there; of any
/// other file, everything before is decompressed and discarded.
pub fn open_at(path: &Path, wanted: Option<&Wanted>, at: u64) -> Result<Source, Error> {
    let mut source = open(path, wanted)?;
    if at == 0 {
        return Ok(source);
    }
    let failed = |error: io::Error| Error::reading(path, &error);
    if source.plain {
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        source.taken = Arc::new(AtomicU64::new(at));
        let taken = Arc::clone(&source.taken);
        source.reader = Box::new(Counted { inner: file, taken });
        return Ok(source);
    }
    let passed = io::copy(&mut (&mut source.reader).take(at), &mut io::sink()).map_err(failed)?;
    if passed < at {
        return Err(has_shrunk(path, at));
    }
    Ok(source)
}

/// The error for a file that has become shorter than what was read of it.
pub(crate) fn has_shrunk(path: &Path, at: u64) -> Error {
    Error::new(
        format!("{} ends before byte {at} of its lines", path.display()),
        "it changed while it was read; run the command again",
    )
}

/// Decodes data to UTF-8. Also returns whether it begins with a byte order mark of UTF-8, and
/// whether no byte has changed. Invalid UTF-8 stays: the row with it is named later.
fn decoded(reader: Box<dyn Read>) -> io::Result<(Box<dyn Read>, bool, bool)> {
    let reader = Utf8Reader::open(reader, decode::forced())?.lenient();
    let (has_mark, is_unchanged) = (reader.has_mark(), reader.is_unchanged());
    Ok((Box::new(reader), has_mark, is_unchanged))
}

/// Decompresses the data if it is compressed.
pub(crate) fn unpacked(mut packed: impl Read + 'static) -> io::Result<(Box<dyn Read>, Packing)> {
    let mut head = Vec::with_capacity(16);
    while Packing::may_follow(&head) || magic::may_be_other(&head) {
        let mut bytes = [0; 4];
        match packed.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => head.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(what) = magic::other(&head) {
        return Err(io::Error::other(format!("it is {what}")));
    }
    let packing = Packing::detect(&head);
    let whole = Cursor::new(head).chain(packed);
    let buffered = |whole| BufReader::with_capacity(BUFFER_BYTES, whole);
    Ok(match packing {
        Packing::None | Packing::Parquet => (Box::new(whole), packing),
        Packing::Gzip => {
            let inner = GzipMembers::new(buffered(whole));
            (Box::new(Unpacked { inner, packing }), packing)
        }
        Packing::Zstandard => {
            let inner = unzstd::Frames::new(buffered(whole))?;
            (Box::new(Unpacked { inner, packing }), packing)
        }
    })
}

/// Counts the bytes read from a file.
struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Translates errors of the decoders into messages for users.
struct Unpacked<R> {
    inner: R,
    packing: Packing,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| explained(&error, self.packing))
    }
}

fn explained(error: &io::Error, packing: Packing) -> io::Error {
    let name = packing.name();
    let said = error.to_string();
    let message = match error.kind() {
        io::ErrorKind::Interrupted => said,
        io::ErrorKind::UnexpectedEof => format!("the {name} data is truncated"),
        _ if said.contains("incomplete frame") => format!("the {name} data is truncated"),
        _ if said.contains("invalid gzip header") || said.contains("Unknown frame descriptor") => {
            format!("extra bytes follow the {name} data")
        }
        _ if said.contains("too much memory") => {
            let most = words::bytes(unzstd::window_max());
            format!("the {name} data needs a window of more than {most}: give --zstd-window 2G")
        }
        _ if error.raw_os_error().is_some() => said,
        _ => format!("the {name} data is damaged: {said}"),
    };
    io::Error::new(error.kind(), message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(bytes: Vec<u8>) -> (Packing, String, Option<String>) {
        let (mut reader, packing) = unpacked(Cursor::new(bytes)).unwrap();
        let mut found = Vec::new();
        let mut buffer = [0; 7];
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(0) => break None,
                Ok(count) => found.extend_from_slice(&buffer[..count]),
                Err(error) => break Some(error.to_string()),
            }
        };
        (packing, String::from_utf8(found).unwrap(), error)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstandard(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).unwrap()
    }

    #[test]
    fn all_members_and_frames_are_read() {
        for (packing, pack) in
            [(Packing::Gzip, gzip as fn(&str) -> Vec<u8>), (Packing::Zstandard, zstandard)]
        {
            let two = [pack("one\n"), pack(""), pack("two\n")].concat();
            assert_eq!(read(two.clone()), (packing, "one\ntwo\n".to_owned(), None));
            let skippable = [b"\x5a\x2a\x4d\x18\x02\0\0\0ab".to_vec(), two].concat();
            if packing == Packing::Zstandard {
                assert_eq!(read(skippable).1, "one\ntwo\n");
            }
        }
    }

    #[test]
    fn sound_data_before_an_error_is_read_and_the_error_returned() {
        for pack in [gzip as fn(&str) -> Vec<u8>, zstandard] {
            let whole = [pack("one\n"), pack(&"two\n".repeat(1_000))].concat();
            for end in pack("one\n").len() + 4..whole.len() {
                let (_, text, error) = read(whole[..end].to_vec());
                assert!(text.starts_with("one\n"), "{end}");
                let error = error.unwrap();
                assert!(error.contains("is truncated"), "{end}: {error}");
            }
            let garbage = [pack("one\n"), b"garbage".to_vec()].concat();
            let (_, text, error) = read(garbage);
            assert_eq!(text, "one\n");
            assert!(error.as_ref().unwrap().contains("extra bytes follow"), "{error:?}");
        }
    }

    #[test]
    fn lines_of_json_are_read_as_they_are() {
        for text in ["", "{", "{}", "P", "PA", "PAR2", "(", "\u{50}*M", "{\"id\":1}\n"] {
            assert_eq!(read(text.as_bytes().to_vec()), (Packing::None, text.to_owned(), None));
        }
        assert!(!Packing::may_follow(b"{") && !Packing::may_follow(b"PX"));
    }
}
