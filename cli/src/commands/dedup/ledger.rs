//! The ledger: one entry of fixed size per input line, and a file of texts (keys, reasons for
//! skipping) that the entries point to.
//!
//! Entries are appended in input order, and can be read in any order. This module does not know
//! indexes.

#![expect(clippy::disallowed_types, reason = "writes the work folder of a run, never an index")]

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use nearkin_kit::scratch::{self, read_exact_at};

/// Size of an entry without its signature.
const HEAD_BYTES: usize = 52;
/// A flag bit in the field that stores the kind of a line: the text has few distinct shingles.
const REPETITIVE: u32 = 1 << 8;

/// The place in the input of a document whose line is in the file of texts.
const NOWHERE: u64 = u64::MAX;

/// Number of entries to read at a time when they are read in order.
const AHEAD: u64 = 64;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A document still to be decided.
    Document,
    /// A document that is similar to a document of the given index.
    Archived,
    /// A line that cannot be compared, and is left out.
    Skipped,
    /// A line with nothing to compare, which is kept.
    Blank,
    /// A document that contains a question of `--without`.
    WithQuestion,
}

/// An entry: everything that is known about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Whether the text has so few distinct shingles that unrelated texts look like copies.
    pub(super) repetitive: bool,
    /// Number of the input file, counted from 0. `line` is the line's number in the file, counted
    /// from 1.
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) shingles: u32,
    /// The byte of the input file where the line of a document begins; `None` if its line is in
    /// the file of texts.
    pub(super) at: Option<u64>,
    /// Number of bytes of the line; 0 if it is not read again.
    pub(super) line_bytes: u32,
    /// Number of rows (with `--exact` of shingles) that are shared with the similar document in the
    /// archive (the index given by `--index`).
    pub(super) equal_rows: u32,
    /// The key; for a skipped line, the kind of reason.
    pub(super) key: Text,
    /// The key of the similar document in the archive; for a skipped line, the reason; for other
    /// documents, with `--keep-by`, the value by which they are ordered; for one with a question,
    /// what is known about it.
    pub(super) other: Text,
    /// The signature of a document; zeros for other lines.
    pub(super) signature: Vec<u8>,
}

/// Where a text is in the file of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Text {
    begin: u64,
    bytes: u32,
}

/// Reads a little-endian number of an entry.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Entry {
    fn encode(&self, out: &mut Vec<u8>, signature_bytes: usize) {
        let kind: u32 = match self.kind {
            Kind::Document => 1,
            Kind::Archived => 2,
            Kind::Skipped => 3,
            Kind::Blank => 4,
            Kind::WithQuestion => 5,
        };
        let repetitive = if self.repetitive { REPETITIVE } else { 0 };
        out.extend_from_slice(&(kind | repetitive).to_le_bytes());
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.line.to_le_bytes());
        out.extend_from_slice(&self.key.begin.to_le_bytes());
        let numbers = [self.key.bytes, self.other.bytes, self.shingles, self.equal_rows];
        for number in numbers.into_iter().chain([self.line_bytes]) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.at.unwrap_or(NOWHERE).to_le_bytes());
        let end = out.len() + signature_bytes;
        out.extend_from_slice(&self.signature);
        out.resize(end, 0);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self { signature: bytes[HEAD_BYTES..].to_vec(), ..Self::decode_head(bytes)? })
    }

    /// Decodes an entry, but not its signature.
    fn decode_head(bytes: &[u8]) -> Option<Self> {
        let first = u32_at(bytes, 0);
        let kind = match first & !REPETITIVE {
            1 => Kind::Document,
            2 => Kind::Archived,
            3 => Kind::Skipped,
            4 => Kind::Blank,
            5 => Kind::WithQuestion,
            _ => return None,
        };
        let key = Text { begin: u64_at(bytes, 16), bytes: u32_at(bytes, 24) };
        let begin = key.begin.checked_add(u64::from(key.bytes))?;
        Some(Self {
            kind,
            repetitive: first & REPETITIVE != 0,
            file: u32_at(bytes, 4),
            line: u64_at(bytes, 8),
            shingles: u32_at(bytes, 32),
            equal_rows: u32_at(bytes, 36),
            line_bytes: u32_at(bytes, 40),
            at: Some(u64_at(bytes, 44)).filter(|at| *at != NOWHERE),
            key,
            other: Text { begin, bytes: u32_at(bytes, 28) },
            signature: Vec::new(),
        })
    }
}

/// The two files of the ledger.
pub(super) struct Ledger {
    entries: BufWriter<File>,
    texts: BufWriter<File>,
    /// The same files for reading: on Windows, each read moves the position of its handle.
    read_entries: File,
    read_texts: File,
    signature_bytes: usize,
    /// `count` is the number of entries, `texts_bytes` the size of the file of texts.
    pub(super) count: u64,
    pub(super) texts_bytes: u64,
    buffer: Vec<u8>,
}

impl Ledger {
    /// Opens the files in a folder, or creates them, and truncates them to `count` entries and
    /// `texts_bytes` of texts. Returns `None` if they are shorter than that.
    pub(super) fn open(
        folder: &Path,
        signature_bytes: usize,
        (count, texts_bytes): (u64, u64),
    ) -> io::Result<Option<Self>> {
        let entry_bytes = (HEAD_BYTES + signature_bytes) as u64;
        let entries = open_cut(&folder.join("lines"), count * entry_bytes)?;
        let texts = open_cut(&folder.join("texts"), texts_bytes)?;
        let (Some(entries), Some(texts)) = (entries, texts) else { return Ok(None) };
        let writer = |file| BufWriter::with_capacity(1 << 20, file);
        let (entries, texts) = (writer(entries), writer(texts));
        let [read_entries, read_texts] = ["lines", "texts"].map(|name| folder.join(name));
        Ok(Some(Self {
            entries,
            texts,
            read_entries: scratch::open_or_create(&read_entries)?,
            read_texts: scratch::open_or_create(&read_texts)?,
            signature_bytes,
            count,
            texts_bytes,
            buffer: Vec::new(),
        }))
    }

    /// Appends an entry, and sets the places of its texts. The line, which may be empty, is stored
    /// after the texts, unless it can be read from the input.
    pub(super) fn push(
        &mut self,
        mut entry: Entry,
        (key, other): (&[u8], &[u8]),
        line: &[u8],
    ) -> io::Result<()> {
        let length = |text: &[u8]| u32::try_from(text.len()).unwrap_or(u32::MAX);
        entry.key = Text { begin: self.texts_bytes, bytes: length(key) };
        entry.other = Text { begin: 0, bytes: length(other) };
        entry.line_bytes = length(line);
        let stored = if entry.at.is_some() { &b""[..] } else { line };
        for text in [key, other, stored] {
            self.texts.write_all(text)?;
            self.texts_bytes += text.len() as u64;
        }
        self.buffer.clear();
        entry.encode(&mut self.buffer, self.signature_bytes);
        self.count += 1;
        self.entries.write_all(&self.buffer)
    }

    /// Flushes everything to the operating system; required before reading.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.entries.flush()?;
        self.texts.flush()
    }

    /// Makes all appended data durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.texts.get_ref().sync_data()?;
        self.entries.get_ref().sync_data()
    }

    /// Reads entries by their numbers. Adjacent entries are read at once.
    pub(super) fn entries(&self, numbers: &[u64]) -> io::Result<Vec<Entry>> {
        let bytes = HEAD_BYTES + self.signature_bytes;
        let mut found = Vec::with_capacity(numbers.len());
        for run in runs(numbers) {
            let first = run.iter().min().copied().unwrap_or(0);
            let block = read_exact_at(&self.read_entries, first * bytes as u64, run.len() * bytes)?;
            for number in run {
                let at = usize::try_from(number - first).unwrap_or(usize::MAX) * bytes;
                let entry = Entry::decode(&block[at..at + bytes]);
                found.push(entry.ok_or_else(damaged)?);
            }
        }
        Ok(found)
    }

    /// Reads an entry without its signature.
    pub(super) fn head(&self, number: u64) -> io::Result<Entry> {
        let bytes = (HEAD_BYTES + self.signature_bytes) as u64;
        let head = read_exact_at(&self.read_entries, number * bytes, HEAD_BYTES)?;
        Entry::decode_head(&head).ok_or_else(damaged)
    }

    /// Reads several entries, beginning with number `first`, without their signatures.
    pub(super) fn heads(&self, first: u64) -> io::Result<Vec<Entry>> {
        let bytes = HEAD_BYTES + self.signature_bytes;
        let count = usize::try_from(self.count.saturating_sub(first).min(AHEAD)).unwrap_or(0);
        let block = read_exact_at(&self.read_entries, first * bytes as u64, count * bytes)?;
        let heads = block.chunks_exact(bytes).map(Entry::decode_head);
        heads.map(|head| head.ok_or_else(damaged)).collect()
    }

    /// The line of a document that is not in the input.
    pub(super) fn line(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let begin = entry.other.begin + u64::from(entry.other.bytes);
        read_exact_at(&self.read_texts, begin, entry.line_bytes as usize)
    }

    /// Reads a text.
    pub(super) fn text(&self, text: Text) -> io::Result<Vec<u8>> {
        read_exact_at(&self.read_texts, text.begin, text.bytes as usize)
    }
}

pub(super) fn damaged() -> io::Error {
    io::Error::other("an entry is damaged")
}

/// Splits numbers into runs of consecutive numbers, rising or falling.
pub(super) fn runs(numbers: &[u64]) -> impl Iterator<Item = &[u64]> {
    let mut rest = numbers;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let rising = rest.iter().zip(first..).take_while(|(number, next)| **number == *next);
        let falling = rest.iter().zip((0..=first).rev()).take_while(|(number, n)| **number == *n);
        let (run, behind) = rest.split_at(rising.count().max(falling.count()));
        rest = behind;
        Some(run)
    })
}

fn open_cut(path: &Path, bytes: u64) -> io::Result<Option<File>> {
    let mut file = scratch::open_or_create(path)?;
    if file.metadata()?.len() < bytes {
        return Ok(None);
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(Some(file))
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
