//! The rows of one side, in temporary files: whatever they were read from, each can be read again.

#![expect(clippy::disallowed_types, reason = "temporary files of a run, never the index's")]

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use nearkin_input::raw::{Origin, Raw};
use nearkin_kit::failure::Failure;
use nearkin_kit::scratch::{self, read_exact_at};

/// Length of an entry: where the row begins, its length, its file and its line.
const ENTRY: usize = 24;

/// Writes rows, one after the other.
pub(super) struct Spool {
    rows: BufWriter<File>,
    entries: BufWriter<File>,
    bytes: u64,
}

/// Reads rows by their numbers. Several threads may do so at once.
pub(super) struct Spooled {
    rows: File,
    entries: File,
    names: Vec<String>,
}

/// A row of a user's file.
pub(super) struct SpooledRow<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) raw: Raw,
}

impl Spool {
    pub(super) fn new() -> Result<Self, Failure> {
        let create = || scratch::file().map(|file| BufWriter::with_capacity(1 << 20, file));
        let (rows, entries) = (create().map_err(|error| failed(&error))?, create());
        Ok(Self { rows, entries: entries.map_err(|error| failed(&error))?, bytes: 0 })
    }

    pub(super) fn push(&mut self, (file, line): (u32, u64), raw: &Raw) -> Result<(), Failure> {
        let row = raw.body.as_deref().unwrap_or_default();
        let length = u32::try_from(row.len()).unwrap_or(u32::MAX);
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&self.bytes.to_le_bytes());
        entry[8..12].copy_from_slice(&length.to_le_bytes());
        entry[12..16].copy_from_slice(&file.to_le_bytes());
        entry[16..].copy_from_slice(&line.to_le_bytes());
        self.bytes += u64::from(length);
        let written = self.rows.write_all(row).and_then(|()| self.entries.write_all(&entry));
        written.map_err(|error| failed(&error))
    }

    /// Ends writing. `names` are those of the input files.
    pub(super) fn finish(self, names: Vec<String>) -> Result<Spooled, Failure> {
        let end = |file: BufWriter<File>| file.into_inner().map_err(|error| failed(error.error()));
        Ok(Spooled { rows: end(self.rows)?, entries: end(self.entries)?, names })
    }
}

impl Spooled {
    pub(super) fn row(&self, number: u64) -> io::Result<SpooledRow<'_>> {
        let entry = read_exact_at(&self.entries, number * ENTRY as u64, ENTRY)?;
        let (at, length) = (number_of(&entry[..8]), number_of(&entry[8..12]));
        let (file, line) = (number_of(&entry[12..16]), number_of(&entry[16..]));
        let row = read_exact_at(&self.rows, at, usize::try_from(length).unwrap_or(0))?;
        let name = self.names.get(usize::try_from(file).unwrap_or(usize::MAX));
        let file = name.map_or("", String::as_str);
        let origin = Origin::Line { file: file.into(), file_number: 0, number: line, at: None };
        Ok(SpooledRow { file, line, raw: Raw { origin, body: Ok(row.into()) } })
    }
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn failed(error: &io::Error) -> Failure {
    let folder = std::env::temp_dir();
    Failure::new(
        format!("cannot write the rows to a temporary file in {}: {error}", folder.display()),
        "set TMPDIR to a folder with more free space",
    )
}
