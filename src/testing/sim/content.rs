//! The content of a simulated file: copy-on-write pages, which make crash images cheap.
//!
//! Independent of names, syncs and crashes.

use crate::format::bytes::wide;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(super) const PAGE: u64 = 4_096;
const PAGE_BYTES: usize = 4_096;

/// A page; `None` is a page of zeros, the most frequent page of a WAL.
pub(super) type Page = Option<Arc<[u8; PAGE_BYTES]>>;

static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// The content of a file. Clones share all pages until they are written.
#[derive(Clone, Default)]
pub(super) struct FileContent {
    /// Just enough pages for `bytes`. In the last page, everything after the end of the file is
    /// zero.
    pages: Arc<Vec<Page>>,
    bytes: u64,
}

/// The data of a write, split at page boundaries, so that whole pages are shared.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    range: Range<u64>,
    pieces: Vec<PatchPiece>,
}

#[derive(Debug, Clone)]
enum PatchPiece {
    Whole(Page),
    Part(Arc<[u8]>),
}

/// Converts an offset. Simulated files are far smaller than the address space.
pub(super) fn at(offset: u64) -> usize {
    usize::try_from(offset).expect("a simulated file fits in memory")
}

impl FileContent {
    pub(super) fn from_bytes(data: &[u8]) -> Self {
        let mut content = Self::default();
        let patch = Patch::new(data, 0);
        content.apply(&patch, patch.range());
        content
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut buffer = vec![0; at(self.bytes)];
        assert!(self.read(&mut buffer, 0));
        buffer
    }

    /// Fills `buffer`. Returns false if the file is too short.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> bool {
        match offset.checked_add(wide(buffer.len())) {
            Some(end) if end <= self.bytes => {}
            _ => return false,
        }
        let mut from = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let within = at(from % PAGE);
            let count = rest.len().min(PAGE_BYTES - within);
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(&self.page(from / PAGE)[within..within + count]);
            rest = later;
            from += wide(count);
        }
        true
    }

    /// Truncates the file, or extends it with zeros.
    pub(super) fn resize(&mut self, bytes: u64) {
        if bytes < self.bytes && !bytes.is_multiple_of(PAGE) {
            let end = bytes.next_multiple_of(PAGE).min(self.bytes);
            self.copy(bytes..end, |_| &ZEROS);
        }
        let count = at(bytes.div_ceil(PAGE));
        if count != self.pages.len() {
            Arc::make_mut(&mut self.pages).resize(count, None);
        }
        self.bytes = bytes;
    }

    /// Writes the bytes of `patch` that lie in `range`, and extends the file if needed.
    pub(super) fn apply(&mut self, patch: &Patch, range: Range<u64>) {
        assert!(patch.range.start <= range.start && range.end <= patch.range.end);
        if range.is_empty() {
            return;
        }
        if range.end > self.bytes {
            self.resize(range.end);
        }
        let first = patch.range.start / PAGE;
        for number in range.start / PAGE..range.end.div_ceil(PAGE) {
            let page = number * PAGE..(number + 1) * PAGE;
            let part = page.start.max(range.start)..page.end.min(range.end);
            match &patch.pieces[at(number - first)] {
                PatchPiece::Whole(whole) if part == page => {
                    Arc::make_mut(&mut self.pages)[at(number)].clone_from(whole);
                }
                PatchPiece::Whole(whole) => {
                    let source = whole.as_deref().unwrap_or(&ZEROS);
                    self.splice(&part, &source[at(part.start - page.start)..]);
                }
                PatchPiece::Part(source) => {
                    let start = page.start.max(patch.range.start);
                    self.splice(&part, &source[at(part.start - start)..]);
                }
            }
        }
    }

    /// Fills `range`, which must lie within the file, with the bytes at the same offsets of the
    /// pages that `source` returns.
    pub(super) fn fill(&mut self, range: Range<u64>, source: impl Fn(u64) -> Page) {
        assert!(range.end <= self.bytes);
        if range.is_empty() {
            return;
        }
        for number in range.start / PAGE..range.end.div_ceil(PAGE) {
            let page = number * PAGE..(number + 1) * PAGE;
            let part = page.start.max(range.start)..page.end.min(range.end);
            let from = source(number);
            if part == page {
                Arc::make_mut(&mut self.pages)[at(number)] = from;
            } else {
                let from = from.as_deref().unwrap_or(&ZEROS);
                self.splice(&part, &from[at(part.start - page.start)..]);
            }
        }
    }

    /// Some page of the file: `number` modulo the number of pages. A source of stale bytes.
    pub(super) fn some_page(&self, number: u64) -> Page {
        match wide(self.pages.len()) {
            0 => None,
            count => self.pages[at(number % count)].clone(),
        }
    }

    fn page(&self, number: u64) -> &[u8; PAGE_BYTES] {
        self.pages[at(number)].as_deref().unwrap_or(&ZEROS)
    }

    fn copy(&mut self, range: Range<u64>, source: impl Fn(u64) -> &'static [u8; PAGE_BYTES]) {
        let number = range.start / PAGE;
        self.splice(&range, &source(number)[at(range.start % PAGE)..]);
    }

    /// Copies bytes into one page.
    fn splice(&mut self, part: &Range<u64>, source: &[u8]) {
        let within = at(part.start % PAGE);
        let source = &source[..at(part.end - part.start)];
        let page = &mut Arc::make_mut(&mut self.pages)[at(part.start / PAGE)];
        if page.is_none() && source.iter().all(|byte| *byte == 0) {
            return;
        }
        let page = Arc::make_mut(page.get_or_insert_with(|| Arc::new(ZEROS)));
        page[within..within + source.len()].copy_from_slice(source);
    }
}

impl PartialEq for FileContent {
    fn eq(&self, other: &Self) -> bool {
        let same = |number| self.page(number) == other.page(number);
        self.bytes == other.bytes
            && (Arc::ptr_eq(&self.pages, &other.pages) || (0..wide(self.pages.len())).all(same))
    }
}

impl fmt::Debug for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.bytes)
    }
}

impl Patch {
    pub(super) fn new(data: &[u8], offset: u64) -> Self {
        let range = offset..offset + wide(data.len());
        let mut pieces = Vec::new();
        let mut rest = data;
        let mut from = offset;
        while !rest.is_empty() {
            let count = rest.len().min(PAGE_BYTES - at(from % PAGE));
            let (now, later) = rest.split_at(count);
            pieces.push(PatchPiece::from_bytes(now));
            rest = later;
            from += wide(count);
        }
        Self { range, pieces }
    }

    pub(super) fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

impl PatchPiece {
    fn from_bytes(data: &[u8]) -> Self {
        match <&[u8; PAGE_BYTES]>::try_from(data) {
            Ok(page) if *page == ZEROS => Self::Whole(None),
            Ok(page) => Self::Whole(Some(Arc::new(*page))),
            Err(_) => Self::Part(Arc::from(data)),
        }
    }
}

/// A page of garbage, one of a few that all images share.
pub(super) fn noise(number: u64) -> Page {
    static PAGES: OnceLock<Vec<Page>> = OnceLock::new();
    let pages = PAGES.get_or_init(|| {
        let mut random = super::random::Random::new(0x6e6f_6973_6500);
        let mut page = || {
            let mut bytes = ZEROS;
            for word in bytes.chunks_exact_mut(8) {
                word.copy_from_slice(&random.next().to_le_bytes());
            }
            Some(Arc::new(bytes))
        };
        (0..16).map(|_| page()).collect()
    });
    pages[at(number % wide(pages.len()))].clone()
}
