//! Reads the columns of a Parquet file in bounded memory, whatever its pages claim.
//!
//! A page is decompressed as a whole, and a dictionary stays in memory as long as its column is
//! read. The sizes stand in the header of each page: they are checked before memory is allocated.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader as _, Length, SerializedFileReader};
use ::parquet::file::serialized_reader::SerializedPageReader;
use bytes::Bytes;

use super::footer;
use crate::Error as Failure;
use crate::words;

/// Maximum size of the pages that are in memory at a time: the current page of each column, its
/// dictionary, and what is being decompressed.
const PAGES_BYTES_MAX: u64 = 512 << 20;

/// Maximum number of values in the pages that one step reads: a list of one row may have so many.
const VALUES_MAX: u64 = 16 << 20;

/// Maximum of the memory that the metadata at the end of a file takes, as `footer.rs` estimates it.
const METADATA_BYTES_MAX: u64 = 768 << 20;

/// Maximum number of rows of a step.
const ROWS: usize = 256;

/// Opens a file and reads its metadata.
pub fn open(path: &Path) -> Result<SerializedFileReader<File>, Failure> {
    let mut file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    let cannot = |why: &str| Failure::damaged(path.display(), None, why);
    match metadata_memory(&mut file) {
        Ok(bytes) if bytes > METADATA_BYTES_MAX => {
            let more = words::bytes(METADATA_BYTES_MAX);
            return Err(Failure::new(
                format!("the metadata of {} takes more than {more} of memory", path.display()),
                "write it with fewer columns, or with larger row groups",
            )
            .of_damage(format!("its metadata takes more than {more} of memory")));
        }
        Ok(_) => {}
        Err(error) => return Err(cannot(&error.to_string())),
    }
    SerializedFileReader::new(file).map_err(|error| cannot(&error.to_string()))
}

/// Estimates the memory that the metadata takes; 0 if there is none, which the crate then reports.
fn metadata_memory(file: &mut File) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let mut end = [0; 8];
    if bytes < 12 {
        return Ok(0);
    }
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut end)?;
    let length = end.first_chunk().map_or(0, |length| u64::from(u32::from_le_bytes(*length)));
    let Some(begin) = (bytes - 8).checked_sub(length) else { return Ok(0) };
    if !end.ends_with(b"PAR1") {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(begin))?;
    footer::memory(BufReader::with_capacity(256 << 10, file.take(length)), METADATA_BYTES_MAX)
}

/// The size of all pages in memory.
pub type PagesBytes = Arc<AtomicU64>;

/// A column of a row group.
pub struct BoundedColumn {
    /// Reads the values, by the steps.
    pub reader: ColumnReader,
    /// How much of it is read at a time.
    pub steps: Steps,
}

/// Reads a column in steps of a few rows, all of one page.
pub struct Steps {
    /// Maximum number of rows of a step.
    rows: usize,
    bounds: Arc<Bounds>,
}

/// Values, definition levels and repetition levels, to which a step appends.
pub type StepValues<'a, T> = (&'a mut Vec<T>, &'a mut Vec<i16>, &'a mut Vec<i16>);

impl Steps {
    /// Reads the next rows. Returns their number, 0 at the end of the column, and the number of
    /// values that are not null. Values that are in use keep their page in memory.
    ///
    /// # Errors
    ///
    /// If the column cannot be read, or its pages would take too much memory.
    pub fn read<T: DataType>(
        &self,
        column: &mut ColumnReaderImpl<T>,
        (values, defined, repeated): StepValues<'_, T::T>,
    ) -> Result<(usize, usize), ParquetError> {
        // First the rows that are left of the current page. A list may go on in the next pages.
        for pages in if self.bounds.is_list { [u64::MAX; 2] } else { [0, 1] } {
            self.bounds.begin(pages);
            let levels = (Some(&mut *defined), Some(&mut *repeated));
            let (rows, count, _) = column.read_records(self.rows, levels.0, levels.1, values)?;
            if rows > 0 {
                return Ok((rows, count));
            }
        }
        Ok((0, 0))
    }

    /// Size of all pages read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bounds.lock().read
    }
}

/// The pages of a column. Ends where a step has to end.
struct StepPages {
    pages: SerializedPageReader<BoundedFile>,
    bounds: Arc<Bounds>,
}

impl Iterator for StepPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for StepPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        if self.bounds.lock().pages_left == 0 {
            return Ok(None);
        }
        let page = self.pages.get_next_page()?;
        let is_dictionary = matches!(page, Some(Page::DictionaryPage { .. }));
        self.bounds.lock().pages_left -= u64::from(!is_dictionary);
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

impl BoundedColumn {
    /// Opens column `place` of row group `group`, each counted from 0.
    pub fn open(
        file: &SerializedFileReader<File>,
        path: &Path,
        (group, place): (usize, usize),
        pages_bytes: &PagesBytes,
    ) -> Result<Self, ParquetError> {
        let metadata = file.metadata();
        let rows = metadata.row_group(group);
        let chunk = rows.column(place);
        let descriptor = metadata.file_metadata().schema_descr().column(place);
        let bounds = Arc::new(Bounds {
            name: format!("column {:?}, row group {}", descriptor.path().string(), group + 1),
            is_list: descriptor.max_rep_level() > 0,
            held: Mutex::default(),
            pages_bytes: Arc::clone(pages_bytes),
        });
        let bounded = BoundedFile { file: File::open(path)?, bounds: Arc::clone(&bounds) };
        // A list has any number of values. Values of this encoding are copies of their beginnings.
        let is_one_by_one = bounds.is_list
            || chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY);
        let count = usize::try_from(rows.num_rows()).unwrap_or(0);
        let pages = SerializedPageReader::new(Arc::new(bounded), chunk, count, None)?;
        let pages = StepPages { pages, bounds: Arc::clone(&bounds) };
        let reader = get_column_reader(descriptor, Box::new(pages));
        let rows = if is_one_by_one { 1 } else { ROWS };
        Ok(Self { reader, steps: Steps { rows, bounds } })
    }
}

/// A file of which one column is read.
struct BoundedFile {
    file: File,
    bounds: Arc<Bounds>,
}

struct Bounds {
    /// The name of the column, for messages.
    name: String,
    /// Whether a row may have values in several pages.
    is_list: bool,
    held: Mutex<Held>,
    pages_bytes: PagesBytes,
}

/// What one column holds in memory, in bytes, and what the current step reads.
#[derive(Debug, Default)]
struct Held {
    dictionary: u64,
    page: u64,
    /// Pages before the current one, of which a row of the current step has values.
    earlier: u64,
    /// Number of values in the pages that the step has read.
    values: u64,
    /// Number of pages that the step may still read.
    pages_left: u64,
    /// All pages read so far.
    read: u64,
}

impl Held {
    fn sum(&self) -> u64 {
        self.dictionary.saturating_add(self.page).saturating_add(self.earlier)
    }
}

impl Bounds {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a step, which reads at most `pages` pages.
    fn begin(&self, pages: u64) {
        let mut held = self.lock();
        self.pages_bytes.fetch_sub(held.earlier, Ordering::Relaxed);
        (held.earlier, held.values, held.pages_left) = (0, 0, pages);
    }

    /// Fails if a page would take too much memory.
    fn check(&self, header: &PageHeader) -> Result<(), String> {
        let mut held = self.lock();
        let before = held.sum();
        if header.is_dictionary {
            held.dictionary = header.plain_bytes;
        } else {
            held.earlier += if self.is_list { held.page } else { 0 };
            held.page = header.plain_bytes;
            held.read += header.plain_bytes;
        }
        // Unsigned sums wrap: adding a negative difference is the same.
        let change = held.sum().wrapping_sub(before);
        let all = self.pages_bytes.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
        let needed = all.saturating_add(header.packed_bytes);
        if needed > PAGES_BYTES_MAX {
            let needed = words::bytes(needed);
            return Err(format!(
                "{}: its pages take {needed} of memory; rewrite the file with smaller pages",
                self.name
            ));
        }
        held.values = held.values.saturating_add(header.values);
        if held.values > VALUES_MAX {
            return Err(format!(
                "{}: {} values in a page or a row; {} can be read",
                self.name,
                words::grouped(held.values),
                words::grouped(VALUES_MAX)
            ));
        }
        Ok(())
    }
}

impl Drop for Bounds {
    fn drop(&mut self) {
        let held = self.lock().sum();
        self.pages_bytes.fetch_sub(held, Ordering::Relaxed);
    }
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        Length::len(&self.file)
    }
}

impl ChunkReader for BoundedFile {
    type T = HeaderReader;

    /// The crate reads headers of pages by this, and all else by [`ChunkReader::get_bytes`].
    fn get_read(&self, start: u64) -> Result<HeaderReader, ParquetError> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let inner = BufReader::with_capacity(8 << 10, file);
        Ok(HeaderReader { inner, bounds: Some(Arc::clone(&self.bounds)) })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.file.get_bytes(start, length)
    }
}

/// Reads a header, and checks it before it returns any of its bytes.
struct HeaderReader {
    inner: BufReader<File>,
    /// `None` once it is checked.
    bounds: Option<Arc<Bounds>>,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(bounds) = self.bounds.take() {
            let header = PageHeader::read(self.inner.fill_buf()?);
            header.map_or(Ok(()), |header| bounds.check(&header)).map_err(std::io::Error::other)?;
        }
        self.inner.read(buffer)
    }
}

/// What the header of a page says of its size.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    is_dictionary: bool,
    plain_bytes: u64,
    packed_bytes: u64,
    values: u64,
}

/// Types of fields in Thrift's compact encoding.
const I32: u8 = 5;
const STRUCT: u8 = 12;

impl PageHeader {
    /// Reads the first fields of a header: type, sizes, and the number of values. `None` if it is
    /// none; the crate then says what is wrong.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes.iter().copied();
        let mut header = Self::default();
        let mut field = 0;
        loop {
            let first = bytes.next()?;
            field += first >> 4;
            if first >> 4 == 0 {
                return None;
            }
            match (first & 0xf, field) {
                (I32, 1) => header.is_dictionary = number(&mut bytes)? == 2,
                (I32, 2) => header.plain_bytes = number(&mut bytes)?,
                (I32, 3) => header.packed_bytes = number(&mut bytes)?,
                (I32, _) => {
                    number(&mut bytes)?;
                }
                (STRUCT, _) if bytes.next()? == 1 << 4 | I32 => {
                    header.values = number(&mut bytes)?;
                    return Some(header);
                }
                _ => return None,
            }
        }
    }
}

/// A number in Thrift's compact encoding; the largest one if it is negative.
fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(if number & 1 == 0 { number >> 1 } else { u64::from(u32::MAX) });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn sizes_are_read_from_the_header_of_a_page() {
        // type DICTIONARY_PAGE, 300 and 7 bytes, dictionary header with 5 values.
        let bytes = [0x15, 4, 0x15, 0xd8, 4, 0x15, 14, 0x4c, 0x15, 10];
        let expected =
            PageHeader { is_dictionary: true, plain_bytes: 300, packed_bytes: 7, values: 5 };
        assert_eq!(PageHeader::read(&bytes), Some(expected));
        for end in 0..bytes.len() {
            assert_eq!(PageHeader::read(&bytes[..end]), None, "{end}");
        }
    }

    /// A file without rows, of so many columns.
    fn write_columns(path: &Path, columns: usize) {
        let mut metadata = vec![0x15, 2, 0x19, 0xfc];
        let byte = |number: usize| u8::try_from(number).unwrap();
        let varint = |number: usize| {
            let digit = |at: usize| number >> (7 * at);
            let last = (0..5).find(|at| digit(at + 1) == 0).unwrap();
            let more = move |at| byte(digit(at) & 0x7f | usize::from(at < last) << 7);
            (0..=last).map(more).collect::<Vec<_>>()
        };
        metadata.extend(varint(columns + 1));
        // The root: a name, and the number of its columns.
        metadata.extend([0x48, 1, b'm', 0x15]);
        metadata.extend(varint(2 * columns));
        metadata.push(0);
        for at in 0..columns {
            // Type INT32, required, a name.
            let name = format!("{at:x}");
            metadata.extend([0x15, 2, 0x25, 0, 0x18, byte(name.len())]);
            metadata.extend(name.bytes());
            metadata.push(0);
        }
        metadata.extend([0x16, 0, 0x19, 0x0c, 0]);
        let length = u32::try_from(metadata.len()).unwrap().to_le_bytes();
        let bytes = [b"PAR1", &*metadata, &length, b"PAR1"].concat();
        File::create(path).unwrap().write_all(&bytes).unwrap();
    }

    #[test]
    fn metadata_is_refused_by_the_memory_that_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        write_columns(&path, 1_000);
        assert_eq!(
            open(&path).unwrap().metadata().file_metadata().schema_descr().num_columns(),
            1_000
        );
        write_columns(&path, 1_300_000);
        let message = open(&path).err().unwrap().to_string();
        assert!(message.contains("x.parquet takes more than 768.0 MiB of memory"), "{message}");
    }
}
