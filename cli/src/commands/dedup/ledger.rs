//! The ledger: one entry of fixed size per input line, and a file of texts (keys, reasons for
//! skipping) that the entries point to.
//!
//! Entries are appended in input order, and can be read in any order. This module does not know
//! indexes.

#![expect(clippy::disallowed_types, reason = "writes the work folder of a run, never an index")]

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use nearkin_kit::scratch;

/// Size of an entry without its signature.
const HEAD_BYTES: usize = 40;
/// A flag bit in the field that stores the kind of a line: the text has few distinct shingles.
const REPETITIVE: u32 = 1 << 8;

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
    /// Number of rows (with `--exact` of shingles) that are shared with the similar document in the
    /// archive (the index given by `--index`).
    pub(super) equal_rows: u32,
    /// The key; for a skipped line, the kind of reason.
    pub(super) key: Text,
    /// The key of the similar document in the archive; for a skipped line, the reason; otherwise
    /// empty.
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
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Entry {
    fn encode(&self, out: &mut Vec<u8>, signature_bytes: usize) {
        let kind: u32 = match self.kind {
            Kind::Document => 1,
            Kind::Archived => 2,
            Kind::Skipped => 3,
            Kind::Blank => 4,
        };
        let repetitive = if self.repetitive { REPETITIVE } else { 0 };
        out.extend_from_slice(&(kind | repetitive).to_le_bytes());
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.line.to_le_bytes());
        out.extend_from_slice(&self.key.begin.to_le_bytes());
        for number in [self.key.bytes, self.other.bytes, self.shingles, self.equal_rows] {
            out.extend_from_slice(&number.to_le_bytes());
        }
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
        let buffer = Vec::new();
        Ok(Some(Self { entries, texts, signature_bytes, count, texts_bytes, buffer }))
    }

    /// Appends an entry, and sets the places of its texts. The shingle hashes, if given, are stored
    /// after the texts; the entry holds their number.
    pub(super) fn push(
        &mut self,
        mut entry: Entry,
        (key, other): (&[u8], &[u8]),
        shingles: &[u64],
    ) -> io::Result<()> {
        let length = |text: &[u8]| u32::try_from(text.len()).unwrap_or(u32::MAX);
        entry.key = Text { begin: self.texts_bytes, bytes: length(key) };
        entry.other = Text { begin: 0, bytes: length(other) };
        self.texts.write_all(key)?;
        self.texts.write_all(other)?;
        self.texts_bytes += (key.len() + other.len() + size_of_val(shingles)) as u64;
        for hash in shingles {
            self.texts.write_all(&hash.to_le_bytes())?;
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
            let block = read_at(self.entries.get_ref(), first * bytes as u64, run.len() * bytes)?;
            for number in run {
                let at = usize::try_from(number - first).unwrap_or(usize::MAX) * bytes;
                let entry = Entry::decode(&block[at..at + bytes]);
                found.push(entry.ok_or_else(damaged)?);
            }
        }
        Ok(found)
    }

    /// Reads an entry without its signature.
    fn head(&self, number: u64) -> io::Result<Entry> {
        let bytes = (HEAD_BYTES + self.signature_bytes) as u64;
        let head = read_at(self.entries.get_ref(), number * bytes, HEAD_BYTES)?;
        Entry::decode_head(&head).ok_or_else(damaged)
    }

    /// Reads several entries, beginning with number `first`, without their signatures.
    fn heads(&self, first: u64) -> io::Result<Vec<Entry>> {
        let bytes = HEAD_BYTES + self.signature_bytes;
        let count = usize::try_from(self.count.saturating_sub(first).min(AHEAD)).unwrap_or(0);
        let block = read_at(self.entries.get_ref(), first * bytes as u64, count * bytes)?;
        let heads = block.chunks_exact(bytes).map(Entry::decode_head);
        heads.map(|head| head.ok_or_else(damaged)).collect()
    }

    /// The shingle hashes stored with a document.
    pub(super) fn shingles(&self, entry: &Entry) -> io::Result<Vec<u64>> {
        let begin = entry.other.begin + u64::from(entry.other.bytes);
        let bytes = read_at(self.texts.get_ref(), begin, entry.shingles as usize * 8)?;
        Ok(bytes.chunks_exact(8).map(|bytes| u64_at(bytes, 0)).collect())
    }

    /// Reads a text.
    fn text(&self, text: Text) -> io::Result<Vec<u8>> {
        read_at(self.texts.get_ref(), text.begin, text.bytes as usize)
    }
}

fn damaged() -> io::Error {
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

/// May move the file position, which is harmless: nothing is appended while entries are read.
fn read_at(file: &File, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let mut block = vec![0; bytes];
    if bytes == 0 {
        return Ok(block);
    }
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut block, at)?;
    #[cfg(not(unix))]
    {
        use std::io::Read as _;
        let mut file = file;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut block)?;
    }
    Ok(block)
}

/// The decision on a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not a document, or not decided yet.
    None,
    Kept,
    /// Dropped as a duplicate of the kept document whose ledger entry has the number `of`. `equal`
    /// is the number of equal rows or, with `--exact`, of common shingles.
    Dropped {
        of: u64,
        equal: u32,
    },
}

/// Size of a stored verdict.
pub(super) const VERDICT_BYTES: u64 = 16;

impl Verdict {
    fn encode(self) -> [u8; 16] {
        let (kind, equal, of) = match self {
            Self::None => (0, 0, 0),
            Self::Kept => (1, 0, 0),
            Self::Dropped { of, equal } => (2_u64, equal, of),
        };
        (u128::from(of) << 64 | u128::from(u64::from(equal) << 32 | kind)).to_le_bytes()
    }

    fn decode(bytes: [u8; 16]) -> Self {
        match u32_at(&bytes, 0) {
            1 => Self::Kept,
            2 => Self::Dropped { of: u64_at(&bytes, 8), equal: u32_at(&bytes, 4) },
            _ => Self::None,
        }
    }
}

/// The verdicts on all lines, in the order of the lines.
pub(super) struct Verdicts {
    file: File,
}

impl Verdicts {
    /// Opens or creates the file in a folder, for this many lines.
    pub(super) fn open(folder: &Path, lines: u64) -> io::Result<Self> {
        let file = scratch::open_or_create(&folder.join("verdicts"))?;
        file.set_len(lines * VERDICT_BYTES)?;
        Ok(Self { file })
    }

    pub(super) fn write(&mut self, numbers: &[u64], verdicts: &[Verdict]) -> io::Result<()> {
        let mut written = 0;
        for run in runs(numbers) {
            let mut block: Vec<_> =
                verdicts[written..written + run.len()].iter().map(|one| one.encode()).collect();
            if run.len() > 1 && run[0] > run[1] {
                block.reverse();
            }
            let first = run.iter().min().copied().unwrap_or(0);
            self.file.seek(SeekFrom::Start(first * VERDICT_BYTES))?;
            self.file.write_all(block.as_flattened())?;
            written += run.len();
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Returns a reader of all verdicts from `number` on.
    fn read_from(mut self, number: u64) -> io::Result<BufReader<File>> {
        self.file.seek(SeekFrom::Start(number * VERDICT_BYTES))?;
        Ok(BufReader::with_capacity(256 << 10, self.file))
    }
}

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineOutcome {
    Kept,
    Dropped(Dropped),
    /// The line could not be compared.
    Skipped {
        file: u32,
        line: u64,
        kind: Vec<u8>,
        reason: Vec<u8>,
    },
}

/// A duplicate, and the document that it duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Number of the input file, counted from 0; `line` counts from 1.
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) key: Vec<u8>,
    pub(super) shingles: u32,
    pub(super) repetitive: bool,
    /// The number of equal rows or, with `--exact`, of shared shingles.
    pub(super) equal: u32,
    pub(super) of_key: Vec<u8>,
    /// The other line; `None` if the document is in the archive.
    pub(super) of: Option<OfLine>,
}

/// The line of a kept document that another line duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfLine {
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) shingles: u32,
}

/// Reads what becomes of each line, in the order of the lines.
pub(super) struct Outcomes {
    verdicts: BufReader<File>,
    /// Number of the next line.
    number: u64,
    /// The entries that were read ahead, and the number of the first of them.
    ahead: (u64, std::vec::IntoIter<Entry>),
}

impl Outcomes {
    /// Opens the verdicts beside the ledger in `folder`, at line `number`. Nothing is appended to
    /// the ledger from now on.
    pub(super) fn open(folder: &Path, ledger: &mut Ledger, number: u64) -> io::Result<Self> {
        ledger.flush()?;
        let verdicts = Verdicts::open(folder, ledger.count)?.read_from(number)?;
        Ok(Self { verdicts, number, ahead: (number, Vec::new().into_iter()) })
    }

    /// What becomes of the next line.
    pub(super) fn next(&mut self, ledger: &Ledger) -> io::Result<LineOutcome> {
        let mut bytes = [0; 16];
        self.verdicts.read_exact(&mut bytes)?;
        let (number, verdict) = (self.number, Verdict::decode(bytes));
        self.number += 1;
        if verdict == Verdict::Kept {
            return Ok(LineOutcome::Kept);
        }
        let Entry { kind, repetitive, file, line, key, other, shingles, equal_rows, .. } =
            self.head(ledger, number)?;
        if kind == Kind::Blank {
            return Ok(LineOutcome::Kept);
        }
        let (key, other) = (ledger.text(key)?, ledger.text(other)?);
        if kind == Kind::Skipped {
            return Ok(LineOutcome::Skipped { file, line, kind: key, reason: other });
        }
        let (equal, of_key, of) = match verdict {
            Verdict::Dropped { of, equal } => {
                let of = ledger.head(of)?;
                let of_line = OfLine { file: of.file, line: of.line, shingles: of.shingles };
                (equal, ledger.text(of.key)?, Some(of_line))
            }
            _ => (equal_rows, other, None),
        };
        Ok(LineOutcome::Dropped(Dropped {
            file,
            line,
            key,
            shingles,
            repetitive,
            equal,
            of_key,
            of,
        }))
    }

    /// Reads an entry without its signature, and reads several entries ahead.
    fn head(&mut self, ledger: &Ledger, number: u64) -> io::Result<Entry> {
        let (first, ahead) = &self.ahead;
        let between = number.checked_sub(*first).and_then(|between| usize::try_from(between).ok());
        let mut between = between.unwrap_or(usize::MAX);
        if between >= ahead.len() {
            (self.ahead, between) = ((number, ledger.heads(number)?.into_iter()), 0);
        }
        self.ahead.0 = number + 1;
        self.ahead.1.nth(between).ok_or_else(damaged)
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
