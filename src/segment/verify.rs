//! The full check of segments and dead files: verifies every block, and all data that is derived
//! from other data.
//!
//! `table_check.rs` finds out whether the tables are right. Only if they are wrong does this module
//! recompute them, to report where.
//!
//! Reads from the disk instead of the map, so that it sees the same bytes as a reopen.

use super::blocks::BlockFile;
use super::reader::Segment;
use super::table_check::{ENTRIES_PER_READ, ExpectedSums, TableEntries};
use super::tables::{Need, Rebuild, Run, key_hash, u16_of, u32_of, u64_of};
use super::watch::{CHUNK_BYTES, Watch, fresh};
use super::{Dead, Ranks};
use crate::Result;
use crate::format::blocks::{
    BLOCK_BYTES, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, PAYLOAD_BYTES_MAX, STARTS_PER_BASE, Section,
};
use crate::format::bytes::{index, wide};
use std::collections::BTreeSet;
use std::ops::Range;

/// Memory for recomputing tables, in bytes.
const MEMORY_BYTES: usize = small!(verify::MEMORY_BYTES, 64 * 1024 * 1024);

impl Segment {
    /// The full check of a segment and its dead file. Reports problems to `watch`; `Err` only means
    /// that the check was cancelled. The content is checked only if all blocks are intact: problems
    /// with the content of a damaged file would only be consequences of the reported damage.
    pub(crate) fn verify(&self, dead: Option<&Dead>, watch: &mut Watch<'_>) -> Result<()> {
        if let Some(dead) = dead {
            dead.verify(watch)?;
        }
        if !blocks(&self.blocks, watch)? {
            return Ok(());
        }
        gaps(self, watch);
        times(self, watch)?;
        let mut sums = ExpectedSums::new(self);
        let keys_are_whole = documents(self, &mut sums, watch)?;
        let ranks = match dead.map(Dead::bits).transpose() {
            Ok(Some(bits)) => Some(Ranks::new(bits, self.docs())),
            Ok(None) => Some(Ranks::all_live(self.docs())),
            // The check of the dead file has already reported this error.
            Err(_) => None,
        };
        if !sums.add_signatures(self, watch)? {
            return Ok(());
        }
        let mut is_right = keys_are_whole;
        for table in 0..self.properties.tables {
            is_right = is_right && sums.is_right(self, table, watch)?;
        }
        if !is_right {
            return tables(self, ranks.as_ref(), keys_are_whole, watch);
        }
        if let Some(ranks) = &ranks {
            let mut live = LiveKeys::new(self, ranks);
            let last = self.properties.tables - 1;
            let mut entries = TableEntries::default();
            for first in (0..self.docs()).step_by(ENTRIES_PER_READ) {
                if let Err(error) = entries.read(self, last, first) {
                    (watch.problem)(error);
                    break;
                }
                live.check(&entries.fingerprints, &entries.ordinals, watch);
                watch.progress(0)?;
            }
        }
        Ok(())
    }

    /// Compares every block with its checksum again. Does not check what the blocks contain.
    pub(crate) fn verify_blocks(&self, watch: &mut Watch<'_>) -> Result<()> {
        blocks(&self.blocks, watch).map(drop)
    }
}

/// Verifies the header, the tail and every block again. Returns true if all are intact.
pub(super) fn blocks(file: &BlockFile, watch: &mut Watch<'_>) -> Result<bool> {
    let mut whole = true;
    let mut note = |result: Result<()>, watch: &mut Watch<'_>| {
        if let Err(error) = result {
            whole = false;
            (watch.problem)(error);
        }
    };
    note(file.verify_ends(), watch);
    for block in 0..file.tail.roots.len() {
        note(file.fetch_crcs(block).map(drop), watch);
        watch.progress(BLOCK_BYTES)?;
    }
    let mut buffer = Vec::new();
    for first in (0..file.blocks()).step_by(CHUNK_BYTES.div_ceil(BLOCK_BYTES)) {
        let part = first..file.blocks().min(first + CHUNK_BYTES.div_ceil(BLOCK_BYTES));
        buffer.resize(part.len() * BLOCK_BYTES, 0);
        if file.read_fresh(wide(first * BLOCK_BYTES), &mut buffer).is_err() {
            // Block by block, so that every damaged block is named.
            for block in part.clone() {
                note(file.fetch(block, &mut [0; BLOCK_BYTES]), watch);
            }
        }
        watch.progress(part.len() * BLOCK_BYTES)?;
    }
    Ok(whole)
}

/// Checks that the padding in this range of the body is zero.
pub(super) fn zeros(file: &BlockFile, gap: Range<u64>, watch: &mut Watch<'_>) {
    let mut bytes = [0; BLOCK_BYTES];
    let count = usize::try_from(gap.end.saturating_sub(gap.start)).unwrap_or(usize::MAX);
    let bytes = &mut bytes[..count.min(BLOCK_BYTES)];
    match file.read_fresh(gap.start, bytes) {
        Err(error) => (watch.problem)(error),
        Ok(()) if bytes.iter().any(|byte| *byte != 0) => {
            (watch.problem)(file.corrupt(gap.start, "a gap between sections is not zero"));
        }
        Ok(()) => {}
    }
}

fn gaps(segment: &Segment, watch: &mut Watch<'_>) {
    let layout = &segment.layout;
    let ends = layout.sections.iter().map(|section| section.offset + section.bytes);
    let begins = layout.sections.iter().skip(1).map(|section| section.offset);
    for (end, begin) in ends.zip(begins.chain([layout.body_bytes])) {
        zeros(&segment.blocks, end..begin, watch);
    }
    let docs = u64::from(segment.docs());
    let [.., tables, _] = &layout.sections;
    for table in 0..u64::from(segment.properties.tables) {
        let at = tables.offset + table * layout.table_stride;
        let ordinals = at + layout.table_ordinals;
        zeros(&segment.blocks, at + 2 * docs..ordinals, watch);
        zeros(&segment.blocks, ordinals + 4 * docs..at + layout.table_stride, watch);
    }
}

fn times(segment: &Segment, watch: &mut Watch<'_>) -> Result<()> {
    let [_, _, _, _, section, ..] = &segment.layout.sections;
    let (mut least, mut greatest) = (u64::MAX, 0);
    let mut chunk = Vec::new();
    let mut at = 0;
    while at < section.bytes {
        let count = (section.bytes - at).min(wide(CHUNK_BYTES));
        if let Err(error) = fresh(segment, section.offset + at, count, &mut chunk) {
            (watch.problem)(error);
            return Ok(());
        }
        for time in chunk.chunks_exact(8) {
            let time = u64_of(time);
            least = least.min(time);
            greatest = greatest.max(time);
        }
        watch.progress(chunk.len())?;
        at += count;
    }
    if (least, greatest) != segment.time_range() {
        let what = "minimum and maximum time differ from those of the documents";
        (watch.problem)(segment.blocks.corrupt(section.offset, what));
    }
    Ok(())
}

/// Checks start offsets and keys. Returns true if all keys are readable.
fn documents(segment: &Segment, sums: &mut ExpectedSums, watch: &mut Watch<'_>) -> Result<bool> {
    let mut whole = true;
    let mut chunk = DocumentWalk::default();
    let mut hashes = Vec::new();
    let mut from = 0;
    while from < segment.docs() {
        if let Err(error) = chunk.read(segment, from) {
            (watch.problem)(error);
            whole = false;
        } else {
            chunk.hashes(segment.shape.key_seed, &mut hashes);
            sums.add_keys(from, &hashes);
        }
        watch.progress(chunk.bytes.len())?;
        from = from.saturating_add(STARTS_PER_BASE);
    }
    Ok(whole)
}

/// The up to 64 documents that share a start base.
#[derive(Default)]
struct DocumentWalk {
    /// Start offsets of the documents in their section, and the end of the last one.
    starts: Vec<u64>,
    bytes: Vec<u8>,
    bases: KeyWindow,
    offsets: KeyWindow,
    entries: KeyWindow,
}

/// A read-ahead buffer for a section that is read sequentially.
#[derive(Default)]
struct KeyWindow {
    begin: u64,
    bytes: Vec<u8>,
}

impl KeyWindow {
    /// Reads bytes of a section from the disk and verifies them.
    fn read(&mut self, segment: &Segment, section: &Section, at: u64, count: u64) -> Result<&[u8]> {
        let held = self.begin..self.begin + wide(self.bytes.len());
        let end = at.saturating_add(count);
        if at < held.start || end > held.end {
            // Reads ahead, but not beyond the section, and reads the requested bytes in any case.
            // If the file is too short for them, the read returns the error.
            let rest = section.end().unwrap_or(end).saturating_sub(at);
            self.begin = at;
            let bytes = count.max(rest.min(wide(CHUNK_BYTES)));
            fresh(segment, at, bytes, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        }
        let begin = usize::try_from(at - self.begin).unwrap_or(usize::MAX);
        Ok(&self.bytes[begin..][..usize::try_from(count).unwrap_or(usize::MAX)])
    }
}

impl DocumentWalk {
    /// Reads and checks up to 64 documents, starting at ordinal `from`, which must be a multiple of
    /// 64.
    fn read(&mut self, segment: &Segment, from: u32) -> Result<()> {
        let [_, documents, bases, starts, ..] = &segment.layout.sections;
        let to = segment.docs().min(from.saturating_add(STARTS_PER_BASE));
        self.bytes.clear();
        self.starts.clear();
        let base_at = bases.offset + 8 * u64::from(from / STARTS_PER_BASE);
        let base = u64_of(self.bases.read(segment, bases, base_at, 8)?);
        let at = starts.offset + 4 * u64::from(from);
        let offsets = self.offsets.read(segment, starts, at, 4 * u64::from(to - from))?;
        for start in offsets.chunks_exact(4) {
            self.starts.push(base.saturating_add(u64::from(u32_of(start))));
        }
        if self.starts.first() != Some(&base) || (from == 0 && base != 0) {
            return Err(segment
                .blocks
                .corrupt(at, "the starts of documents disagree with their base"));
        }
        let end = if to == segment.docs() {
            documents.bytes
        } else {
            u64_of(self.bases.read(segment, bases, base_at + 8, 8)?)
        };
        self.starts.push(end);
        for pair in self.starts.windows(2) {
            let count = pair[1].checked_sub(pair[0]);
            if !count.is_some_and(|count| (3..=wide(DOCUMENT_BYTES_MAX)).contains(&count)) {
                let what = "document ends before it begins, or is too short or too long";
                return Err(segment.blocks.corrupt(at, what));
            }
        }
        let begin = documents.offset.saturating_add(base);
        let bytes = self.entries.read(segment, documents, begin, end - base)?;
        self.bytes.extend_from_slice(bytes);
        self.check_keys(segment)
    }

    fn check_keys(&self, segment: &Segment) -> Result<()> {
        for (document, start) in self.each().zip(&self.starts) {
            let key_bytes = usize::from(u16_of(document));
            let payload_bytes = (document.len() - 2).checked_sub(key_bytes);
            let fits = payload_bytes.is_some_and(|count| count <= PAYLOAD_BYTES_MAX);
            if !fits || !(1..=KEY_BYTES_MAX).contains(&key_bytes) {
                let at = segment.documents().offset + start;
                return Err(segment.blocks.corrupt(at, "key or payload has an impossible length"));
            }
        }
        Ok(())
    }

    /// The documents of the last read, with checked start offsets.
    fn each(&self) -> impl Iterator<Item = &[u8]> {
        let base = self.starts[0];
        self.starts.windows(2).map(move |pair| {
            // Both offsets are within `bytes`, which end at the last offset in `starts`.
            let at = |start: u64| usize::try_from(start - base).unwrap_or(usize::MAX);
            &self.bytes[at(pair[0])..at(pair[1])]
        })
    }

    /// The hashes of the keys. Only valid after a successful `read`.
    fn hashes(&self, seed: u64, out: &mut Vec<u64>) {
        out.clear();
        for document in self.each() {
            let key_bytes = usize::from(u16_of(document));
            out.push(key_hash(&document[2..2 + key_bytes], seed));
        }
    }
}

/// Recomputes all tables to report where they are wrong. Skips the table of keys unless all keys
/// are readable.
fn tables(
    segment: &Segment,
    ranks: Option<&Ranks>,
    keys_are_whole: bool,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let mut live = ranks.map(|ranks| LiveKeys::new(segment, ranks));
    let mut rebuild = Rebuild::new(&segment.shape, segment.docs(), MEMORY_BYTES);
    let mut run = Run::default();
    let mut chunk = Vec::new();
    let mut documents = DocumentWalk::default();
    let mut hashes = Vec::new();
    loop {
        let read = match rebuild.need() {
            Need::Done => return Ok(()),
            Need::Keys { .. } if !keys_are_whole => return Ok(()),
            Need::Keys { from } => {
                // `from` is a multiple of 64, because the keys of 64 documents are always fed
                // together.
                documents.read(segment, from).map(|()| {
                    documents.hashes(segment.shape.key_seed, &mut hashes);
                    rebuild.keys(&hashes);
                    documents.bytes.len()
                })
            }
            Need::Signatures { from } => {
                let [signatures, ..] = &segment.layout.sections;
                let stride = segment.shape.signature_bytes;
                let count = (CHUNK_BYTES / stride).max(1).min(index(segment.docs() - from));
                let at = signatures.offset + wide(index(from) * stride);
                fresh(segment, at, wide(count * stride), &mut chunk).map(|()| {
                    rebuild.signatures(&chunk);
                    chunk.len()
                })
            }
            Need::Emit => {
                rebuild.emit(&mut run);
                compare(segment, &run, &mut chunk, watch);
                if run.table + 1 == segment.properties.tables
                    && let Some(live) = &mut live
                {
                    live.check(&run.fingerprints, &run.ordinals, watch);
                }
                Ok(run.ordinals.len())
            }
        };
        match read {
            Ok(bytes) => watch.progress(bytes)?,
            Err(error) => {
                // These bytes were readable a moment ago: the disk is failing.
                (watch.problem)(error);
                return Ok(());
            }
        }
    }
}

/// Compares the bytes of a run with the bytes of the same directory, fingerprints and ordinals in
/// the file.
fn compare(segment: &Segment, run: &Run, chunk: &mut Vec<u8>, watch: &mut Watch<'_>) {
    let layout = &segment.layout;
    let [.., tables, directories] = &layout.sections;
    let table = tables.offset + u64::from(run.table) * layout.table_stride;
    let directory = directories.offset + u64::from(run.table) * layout.directory_stride;
    let entry = u64::from(run.first_entry);
    let places = [
        (&run.directory, directory + 4 * u64::from(run.first_group), "directory"),
        (&run.fingerprints, table + 2 * entry, "fingerprints"),
        (&run.ordinals, table + layout.table_ordinals + 4 * entry, "ordinals"),
    ];
    for (expected, at, what) in places {
        let result = fresh(segment, at, wide(expected.len()), chunk).and_then(|()| {
            if expected == chunk {
                return Ok(());
            }
            let first = expected.iter().zip(&*chunk).position(|(a, b)| a != b);
            Err(segment.blocks.corrupt(
                at + wide(first.unwrap_or(0)),
                format_args!("{what} of bucket table {} do not match its keys", run.table),
            ))
        });
        if let Err(error) = result {
            (watch.problem)(error);
        }
    }
}

/// Checks that live documents have distinct keys: equal keys are adjacent in the table of keys.
struct LiveKeys<'a> {
    segment: &'a Segment,
    ranks: &'a Ranks,
    /// The fingerprint of the last live entry.
    last: Option<u16>,
    /// The first live document with this fingerprint; `None` once its key was read.
    first: Option<u32>,
    /// The keys of the live documents with this fingerprint. Empty if there is only one such
    /// document.
    seen: BTreeSet<Vec<u8>>,
}

impl<'a> LiveKeys<'a> {
    fn new(segment: &'a Segment, ranks: &'a Ranks) -> Self {
        Self { segment, ranks, last: None, first: None, seen: BTreeSet::new() }
    }

    /// Checks the next entries of the table of keys.
    fn check(&mut self, fingerprints: &[u8], ordinals: &[u8], watch: &mut Watch<'_>) {
        for (fingerprint, ordinal) in fingerprints.chunks(2).zip(ordinals.chunks(4)) {
            let (fingerprint, ordinal) = (u16_of(fingerprint), u32_of(ordinal));
            if self.ranks.is_dead(ordinal) {
                continue;
            }
            if self.last != Some(fingerprint) {
                self.last = Some(fingerprint);
                self.first = Some(ordinal);
                self.seen.clear();
                continue;
            }
            // Keys are read only if adjacent live entries have the same fingerprint.
            for ordinal in self.first.take().into_iter().chain([ordinal]) {
                self.note(ordinal, watch);
            }
        }
    }

    fn note(&mut self, ordinal: u32, watch: &mut Watch<'_>) {
        match self.segment.document(ordinal).map(|document| document.key.into_owned()) {
            Err(error) => (watch.problem)(error),
            Ok(key) => {
                if !self.seen.insert(key) {
                    let at = self.segment.documents().offset;
                    let what = format_args!(
                        "document {ordinal} has the same key as another live document"
                    );
                    (watch.problem)(self.segment.blocks.corrupt(at, what));
                }
            }
        }
    }
}
