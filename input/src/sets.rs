//! External sort of (key, item) rows into sets, in bounded memory with temporary files.
//!
//! This module works on bytes; it knows neither tables nor documents. Each set is returned once, in
//! key order.

#![expect(clippy::disallowed_types, reason = "temporary files of its own, never the index's")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};

use crate::Error;
use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

/// Rows are sorted and written to a run file when they exceed this size.
const ROWS_BYTES_MAX: usize = 128 << 20;

/// Rows in memory: one buffer with the bytes of all rows, and the place of each row in it.
#[derive(Debug, Default)]
struct SetRows {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// The place of a row in the buffer. The key lies from `begin` to `middle`, the item from `middle`
/// to `end`.
#[derive(Debug, Clone, Copy)]
struct Place {
    begin: u32,
    middle: u32,
    end: u32,
}

impl SetRows {
    fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }

    fn row(&self, place: Place) -> (&[u8], &[u8]) {
        let Place { begin, middle, end } = place;
        let part = |from: u32, to: u32| &self.bytes[from as usize..to as usize];
        (part(begin, middle), part(middle, end))
    }

    fn push(&mut self, key: &[u8], item: &[u8]) {
        // Cannot overflow: the buffer holds at most `ROWS_BYTES_MAX` bytes and one more row, which
        // is far below 4 GiB.
        let end = |bytes: &Vec<u8>| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let begin = end(&self.bytes);
        self.bytes.extend_from_slice(key);
        let middle = end(&self.bytes);
        self.bytes.extend_from_slice(item);
        self.places.push(Place { begin, middle, end: end(&self.bytes) });
    }

    fn sort(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        places.sort_unstable_by(|a, b| self.row(*a).cmp(&self.row(*b)));
        self.places = places;
    }
}

/// Collects and sorts rows.
pub struct Grouping {
    rows: SetRows,
    rows_bytes_max: usize,
    files: Vec<File>,
}

/// Writes sorted rows to a temporary file, and returns the file at its beginning.
fn write(rows: &SetRows) -> io::Result<File> {
    let mut file = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
    for place in &rows.places {
        let (key, item) = rows.row(*place);
        for part in [key, item] {
            file.write_all(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        }
        file.write_all(key)?;
        file.write_all(item)?;
    }
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

fn failed(error: &io::Error) -> Error {
    Error::new(
        format!("cannot sort rows in {}: {error}", std::env::temp_dir().display()),
        "set TMPDIR to a folder with more free space",
    )
}

impl Default for Grouping {
    /// Without rows.
    fn default() -> Self {
        Self::with_bytes_max(ROWS_BYTES_MAX)
    }
}

impl Grouping {
    fn with_bytes_max(rows_bytes_max: usize) -> Self {
        Self { rows: SetRows::default(), rows_bytes_max, files: Vec::new() }
    }

    /// Adds a row; on failure, no sets can be made.
    pub fn push(&mut self, key: &[u8], item: &[u8]) -> Result<(), Error> {
        self.rows.push(key, item);
        if self.rows.size() >= self.rows_bytes_max {
            self.write_run().map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.rows.sort();
        self.files.push(write(&self.rows)?);
        self.rows.bytes.clear();
        self.rows.places.clear();
        Ok(())
    }

    /// Ends the input and returns the sets.
    pub fn finish(mut self) -> Result<Sets, Error> {
        self.rows.sort();
        let mut runs = vec![SortedRun::Rows { rows: self.rows, next: 0 }];
        let mut heads = BinaryHeap::new();
        let buffered = |file| SortedRun::File(BufReader::with_capacity(256 << 10, file));
        runs.extend(self.files.into_iter().map(buffered));
        for (at, run) in runs.iter_mut().enumerate() {
            let head = run.next().map_err(|error| failed(&error))?;
            heads.extend(head.map(|(key, item)| Reverse((key, item, at))));
        }
        Ok(Sets { runs, heads, returned: 0 })
    }
}

/// Sorted rows, in memory or in a file.
enum SortedRun {
    Rows { rows: SetRows, next: usize },
    File(BufReader<File>),
}

type SetRow = (Vec<u8>, Vec<u8>);

impl SortedRun {
    fn next(&mut self) -> io::Result<Option<SetRow>> {
        match self {
            Self::Rows { rows, next } => {
                let place = rows.places.get(*next);
                *next += 1;
                Ok(place.map(|place| {
                    let (key, item) = rows.row(*place);
                    (key.to_vec(), item.to_vec())
                }))
            }
            Self::File(file) => {
                let mut key_bytes = [0; 4];
                match file.read_exact(&mut key_bytes) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                    read => read?,
                }
                let mut item_bytes = [0; 4];
                file.read_exact(&mut item_bytes)?;
                let mut part = |length: [u8; 4]| {
                    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
                    file.read_exact(&mut bytes).map(|()| bytes)
                };
                Ok(Some((part(key_bytes)?, part(item_bytes)?)))
            }
        }
    }
}

/// The first remaining row of a run and the number of the run, for the merge heap.
type Head = Reverse<(Vec<u8>, Vec<u8>, usize)>;

/// A set: its key, and its items as encoded by [`pack`].
pub(crate) type PackedSet = (Vec<u8>, Result<Vec<u8>, Reason>);

/// Merges the sorted runs and returns set after set.
pub struct Sets {
    runs: Vec<SortedRun>,
    heads: BinaryHeap<Head>,
    returned: u64,
}

impl Sets {
    /// The number of sets returned so far.
    pub fn returned(&self) -> u64 {
        self.returned
    }

    /// The next set. An item that occurs in several rows occurs several times in the set.
    pub fn next(&mut self) -> Result<Option<PackedSet>, Error> {
        let Some(Reverse((key, ..))) = self.heads.peek() else { return Ok(None) };
        let key = key.clone();
        let mut body = Ok(Vec::new());
        while let Some(Reverse((head, item, at))) = self.heads.peek()
            && *head == key
        {
            let at = *at;
            if let Ok(packed) = &mut body {
                pack(item, packed);
                if packed.len() > DOCUMENT_BYTES_MAX {
                    body = Err(Reason::TooLarge);
                }
            }
            self.heads.pop();
            let row = self.runs[at].next().map_err(|error| failed(&error))?;
            self.heads.extend(row.map(|(key, item)| Reverse((key, item, at))));
        }
        self.returned += 1;
        Ok(Some((key, body)))
    }
}

/// Appends an item to a packed set: length, then bytes.
fn pack(item: &[u8], packed: &mut Vec<u8>) {
    packed.extend_from_slice(&u32::try_from(item.len()).unwrap_or(u32::MAX).to_le_bytes());
    packed.extend_from_slice(item);
}

/// The items of a packed set.
pub fn unpack(mut packed: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = packed.split_first_chunk::<4>()?;
        let (item, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        packed = rest;
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sets(mut sets: Sets) -> Vec<(String, Vec<String>)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut found = Vec::new();
        while let Some((key, body)) = sets.next().unwrap() {
            found.push((text(&key), unpack(&body.unwrap()).map(text).collect()));
        }
        assert_eq!(sets.returned(), found.len() as u64);
        found
    }

    /// Groups 20,000 rows in random order. The memory limits are chosen so that no file, a few
    /// files, and many files are needed.
    #[test]
    fn sets_are_the_same_with_and_without_files() {
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let rows: Vec<(String, String)> = (0..20_000_u64)
            .map(|at| {
                let random = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                (format!("user {}", random % 700), format!("{}", random / 7 % 90))
            })
            .collect();
        for (key, item) in &rows {
            expected.entry(key.clone()).or_default().push(item.clone());
        }
        let sorted = |(key, mut items): (String, Vec<String>)| {
            items.sort();
            (key, items)
        };
        let expected: Vec<_> = expected.into_iter().map(sorted).collect();
        for (bytes_max, files) in [(1 << 20, 0), (200_000, 2), (10_000, 43)] {
            let mut grouping = Grouping::with_bytes_max(bytes_max);
            for (key, item) in &rows {
                grouping.push(key.as_bytes(), item.as_bytes()).unwrap();
            }
            assert_eq!(grouping.files.len(), files);
            assert_eq!(sets(grouping.finish().unwrap()), expected, "{bytes_max}");
        }
    }

    #[test]
    fn nothing_makes_no_sets_and_an_empty_item_is_one() {
        assert_eq!(sets(Grouping::default().finish().unwrap()), []);
        let mut grouping = Grouping::default();
        grouping.push(b"a", b"").unwrap();
        grouping.push(b"a", b"x").unwrap();
        let all = [("a".to_owned(), vec![String::new(), "x".to_owned()])];
        assert_eq!(sets(grouping.finish().unwrap()), all);
    }

    #[test]
    fn a_set_too_large_is_not_held_and_the_next_one_comes() {
        let mut grouping = Grouping::default();
        let item = vec![b'x'; 20 << 20];
        for key in [b"a", b"a", b"a", b"a", b"b"] {
            grouping.push(key, &item).unwrap();
        }
        let mut sets = grouping.finish().unwrap();
        assert_eq!(sets.next().unwrap(), Some((b"a".to_vec(), Err(Reason::TooLarge))));
        assert!(sets.next().unwrap().is_some_and(|(key, body)| key == b"b" && body.is_ok()));
        assert_eq!(sets.next().unwrap(), None);
    }
}
