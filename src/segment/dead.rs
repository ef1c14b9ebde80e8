//! Dead files and ranks. A dead file lists the dead documents of a segment; ranks are how a merge
//! renumbers documents.
//!
//! Independent of why and when documents died.

use super::blocks::BlockFile;
use super::writer::{Output, Stream, header};
use super::{Listed, ReadMode, Shape, Watch};
use crate::Result;
use crate::format::blocks::{DeadProperties, Section};
use crate::format::bytes::index;
use crate::format::header::FileKind;
use crate::storage::{File, Storage};
use std::path::Path;
use std::sync::Arc;

/// Size of a write. Most dead files fit into one.
const WRITE_BYTES: usize = small!(dead::WRITE_BYTES, 256 << 10);

/// An open dead file.
#[derive(Debug)]
pub(crate) struct Dead {
    blocks: BlockFile,
    properties: DeadProperties,
    section: Section,
}

impl Dead {
    /// The file, which stays readable after its name is removed.
    pub(crate) fn file(&self) -> &dyn File {
        self.blocks.file()
    }

    /// Opens a published dead file of the segment `segment`, which has `docs` documents.
    pub(crate) fn open(
        storage: &dyn Storage,
        path: &Path,
        listed: &Listed,
        shape: &Shape,
        segment: u64,
        docs: u32,
        mode: ReadMode,
    ) -> Result<Self> {
        let expected = header(FileKind::Dead, listed.number, shape);
        let blocks = BlockFile::open(storage, path, listed, &expected, mode)?;
        let tail_offset = blocks.footer.tail_offset;
        let properties = DeadProperties::decode(&blocks.tail.properties)
            .map_err(|error| error.in_file(path, tail_offset))?;
        if properties.segment != segment || properties.docs != docs {
            return Err(blocks.corrupt(tail_offset, "dead file belongs to another segment"));
        }
        match properties.layout() {
            Some((section, body_bytes))
                if blocks.tail.sections == [section] && body_bytes == blocks.footer.body_bytes =>
            {
                Ok(Self { blocks, properties, section })
            }
            _ => Err(blocks.corrupt(tail_offset, "sections are at wrong offsets")),
        }
    }

    /// Number of dead documents.
    pub(crate) fn count(&self) -> u32 {
        self.properties.dead
    }

    #[inline]
    pub(crate) fn is_dead(&self, ordinal: u32) -> Result<bool> {
        assert!(ordinal < self.properties.docs, "no such ordinal");
        let [byte] = self.blocks.array(self.section.offset + u64::from(ordinal / 8))?;
        Ok(byte >> (ordinal % 8) & 1 == 1)
    }

    /// All bits, 64 per word: for a merge, or to write the next dead file.
    pub(crate) fn bits(&self) -> Result<Vec<u64>> {
        let words = index(self.properties.docs).div_ceil(64);
        let bytes = self.blocks.read(self.section.offset, words * 8)?;
        let words = bytes.as_chunks().0;
        let bits: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let set: u64 = bits.iter().map(|word| u64::from(word.count_ones())).sum();
        if set != u64::from(self.properties.dead) || beyond(&bits, self.properties.docs) {
            return Err(self.blocks.corrupt(self.section.offset, "dead documents are miscounted"));
        }
        Ok(bits)
    }

    /// Checks the whole file: all blocks and the count.
    pub(crate) fn verify(&self, watch: &mut Watch<'_>) -> Result<()> {
        if !super::verify::blocks(&self.blocks, watch)? {
            return Ok(());
        }
        let end = self.section.offset + self.section.bytes;
        super::verify::zeros(&self.blocks, end..self.blocks.footer.body_bytes, watch);
        if let Err(error) = self.bits() {
            (watch.problem)(error);
        }
        Ok(())
    }
}

/// Writes and publishes the dead file `number` at `path`. Bit `ordinal % 64` of word `ordinal / 64`
/// marks a dead document of `segment`.
pub(crate) fn write_dead(
    storage: &Arc<dyn Storage>,
    path: &Path,
    number: u64,
    shape: &Shape,
    segment: u64,
    docs: u32,
    bits: &[u64],
) -> Result<Listed> {
    assert!(bits.len() == index(docs).div_ceil(64), "one bit per document");
    assert!(!beyond(bits, docs), "no bits beyond the documents");
    let dead = bits.iter().map(|word| word.count_ones()).sum();
    let properties = DeadProperties { segment, docs, dead };
    let (section, body_bytes) = properties.layout().expect("32 bits of documents fit in a file");
    let header = header(FileKind::Dead, number, shape);
    let mut output = Output::create(storage, path, WRITE_BYTES)?;
    let mut stream = Stream::at(0);
    stream.push(&header.encode(), &mut output)?;
    for word in bits {
        stream.push(&word.to_le_bytes(), &mut output)?;
    }
    stream.pad_to(body_bytes, &mut output)?;
    stream.flush(&mut output)?;
    output.publish(&header, body_bytes, &[section], properties.encode())
}

fn beyond(bits: &[u64], docs: u32) -> bool {
    let last = bits.last().copied().unwrap_or(0);
    !docs.is_multiple_of(64) && last >> (docs % 64) != 0
}

/// One bit per document, for deaths that will be written to a dead file.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: u32,
}

impl Bits {
    pub(crate) fn new(docs: u32) -> Self {
        Self { words: vec![0; index(docs).div_ceil(64)], count: 0 }
    }

    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        let count = words.iter().map(|word| word.count_ones()).sum();
        Self { words, count }
    }

    pub(crate) fn is_set(&self, ordinal: u32) -> bool {
        self.words[index(ordinal / 64)] >> (ordinal % 64) & 1 == 1
    }

    /// Sets a bit. If it is set already, nothing changes.
    pub(crate) fn set(&mut self, ordinal: u32) {
        let word = &mut self.words[index(ordinal / 64)];
        let bit = 1 << (ordinal % 64);
        self.count += u32::from(*word & bit == 0);
        *word |= bit;
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// Ranks of the live documents of a segment: a merge renumbers documents by them.
#[derive(Debug)]
pub(crate) struct Ranks {
    bits: Vec<u64>,
    /// Number of live documents before each word.
    before: Vec<u32>,
    docs: u32,
}

impl Ranks {
    /// Ranks in a segment of `docs` documents with these dead bits.
    pub(crate) fn new(bits: Vec<u64>, docs: u32) -> Self {
        assert!(bits.len() == index(docs).div_ceil(64), "one bit per document");
        assert!(!beyond(&bits, docs), "no bits beyond the documents");
        let mut before = Vec::with_capacity(bits.len());
        let mut live = 0;
        for word in &bits {
            before.push(live);
            live += word.count_zeros();
        }
        Self { bits, before, docs }
    }

    /// Ranks in a segment without dead documents.
    pub(crate) fn all_live(docs: u32) -> Self {
        Self::new(vec![0; index(docs).div_ceil(64)], docs)
    }

    pub(crate) fn is_dead(&self, ordinal: u32) -> bool {
        assert!(ordinal < self.docs, "no such ordinal");
        self.bits[index(ordinal / 64)] >> (ordinal % 64) & 1 == 1
    }

    /// Number of live documents before `ordinal`. A merge gives a live document this number as its
    /// ordinal, counted from the first document of its segment. If `ordinal` is `docs`, this is the
    /// number of all live documents.
    pub(crate) fn live_before(&self, ordinal: u32) -> u32 {
        assert!(ordinal <= self.docs, "no such ordinal");
        let word = index(ordinal / 64);
        match (self.bits.get(word), self.before.get(word)) {
            (Some(bits), Some(before)) => {
                let below = (1_u64 << (ordinal % 64)) - 1;
                before + (!bits & below).count_ones()
            }
            // `ordinal` is `docs`, and the last word is full: no word contains bit `docs`.
            _ => self
                .before
                .last()
                .map_or(0, |before| before + self.bits.last().map_or(0, |bits| bits.count_zeros())),
        }
    }

    /// Number of live documents.
    pub(crate) fn live(&self) -> u32 {
        self.live_before(self.docs)
    }

    /// The maximal runs of live documents, ascending. A merge copies one run at a time.
    pub(crate) fn runs(&self) -> impl Iterator<Item = std::ops::Range<u32>> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let begin = self.seek(next, false);
            let end = self.seek(begin, true);
            next = end;
            (begin < end).then_some(begin..end)
        })
    }

    /// The first ordinal at or after `from` that is dead (or live, if `dead` is false); `docs` if
    /// there is none.
    pub(crate) fn seek(&self, from: u32, dead: bool) -> u32 {
        let mut ordinal = from;
        while ordinal < self.docs {
            let word = self.bits[index(ordinal / 64)];
            let wanted = if dead { word } else { !word } >> (ordinal % 64);
            if wanted != 0 {
                return (ordinal + wanted.trailing_zeros()).min(self.docs);
            }
            ordinal = ordinal.saturating_add(64 - ordinal % 64);
        }
        self.docs
    }
}
