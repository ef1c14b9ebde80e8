//! Writes a segment, section by section. Computes its bucket tables from the sections it has
//! written, or takes the tables from a caller that has the signatures in memory.
//!
//! Memory: bounded buffers, 0.1 bytes per document, and 4 bytes per block of the file. Before the
//! tables, also 4 bytes per document. Disk: beside the file, 8 bytes per document and table in a
//! temporary one, while the tables of a large segment are computed.

use super::Shape;
use super::divided::Divided;
use super::tables::{Need, Rebuild, Run, key_hash, u16_of, u32_of};
use super::writer::{Output, Stream, header};
use crate::format::blocks::{
    KEY_BYTES_MAX, PAYLOAD_BYTES_MAX, STARTS_PER_BASE, SegmentLayout, SegmentProperties,
};
use crate::format::bytes::{index, wide};
use crate::format::catalog::SegmentEntry;
use crate::format::header::{FileHeader, FileKind};
use crate::storage::Storage;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of bytes read back at a time to compute tables.
const CHUNK_BYTES: usize = small!(builder::CHUNK_BYTES, 256 * 1024);

/// A segment being written. Push every section completely, in the order of the methods. Then call
/// `step` until it returns true, and finally `finish`. Dropping the builder earlier removes the
/// temporary file.
#[derive(Debug)]
pub(crate) struct Builder {
    output: Output,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    shape: Shape,
    header: FileHeader,
    docs: u32,
    memory_bytes: usize,
    main: Stream,
    phase: BuildPhase,
    /// Number of documents pushed in this phase.
    pushed: u32,
    /// Start offsets of the documents, as bases and relative offsets. `starts` is empty once they
    /// are written: the table of keys reads them back.
    bases: Vec<u64>,
    starts: Vec<u32>,
    documents_bytes: u64,
    time_min: u64,
    time_max: u64,
    tables: Option<TableProgress>,
}

/// What to push next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildPhase {
    Signatures,
    Documents,
    Times,
    ShingleCounts,
    Tables,
}

/// The state of the last phase, which writes the tables.
#[derive(Debug)]
struct TableProgress {
    layout: SegmentLayout,
    /// `None` before the first `step`. The caller may push its own runs instead of calling `step`.
    rebuild: Option<Rebuild>,
    division: Division,
    /// Number of finished tables.
    ended: u32,
    run: Run,
    directories: Stream,
    fingerprints: Stream,
    ordinals: Stream,
    /// The bytes that are read back, and the hashes of the keys in them.
    chunk: Vec<u8>,
    hashes: Vec<u64>,
}

/// Whether the entries of many passes over the documents are divided.
#[derive(Debug)]
enum Division {
    /// They are if there are many passes.
    Possible,
    Under(Box<Divided>),
    /// Everything lies in memory, or the disk has no room.
    Impossible,
}

impl Builder {
    /// Starts the segment with file number `number` at `path`, for exactly `docs` documents.
    /// `merge_bytes_max` bounds the memory for computing tables. `write_bytes` is the size of a
    /// write; up to five buffers of this size exist.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        number: u64,
        shape: &Shape,
        docs: u32,
        merge_bytes_max: usize,
        write_bytes: usize,
    ) -> Result<Self> {
        assert!(docs > 0 && docs < u32::MAX, "a segment holds 1 to 2^32 - 2 documents");
        shape.assert_valid();
        let mut builder = Self {
            output: Output::create(storage, path, write_bytes)?,
            storage: Arc::clone(storage),
            path: path.to_path_buf(),
            shape: *shape,
            header: header(FileKind::Segment, number, shape),
            docs,
            memory_bytes: merge_bytes_max,
            main: Stream::at(0),
            phase: BuildPhase::Signatures,
            pushed: 0,
            bases: Vec::new(),
            starts: Vec::with_capacity(index(docs)),
            documents_bytes: 0,
            time_min: u64::MAX,
            time_max: 0,
            tables: None,
        };
        builder.write(&builder.header.encode())?;
        Ok(builder)
    }

    /// The section to push next. A phase ends with the last document of the segment.
    pub(crate) fn phase(&self) -> BuildPhase {
        self.phase
    }

    /// Step 1: the signatures of the next documents, any number of them. Like the next steps,
    /// returns the number of bytes.
    pub(crate) fn push_signatures(&mut self, signatures: &[u8]) -> Result<usize> {
        let count = signatures.len() / self.shape.signature_bytes;
        assert!(count * self.shape.signature_bytes == signatures.len(), "whole signatures");
        self.write(signatures)?;
        self.pushed(BuildPhase::Signatures, count).map(|()| signatures.len())
    }

    /// Step 2: the key and payload of the next document.
    pub(crate) fn push_document(&mut self, key: &[u8], payload: &[u8]) -> Result<usize> {
        assert!((1..=KEY_BYTES_MAX).contains(&key.len()), "keys have 1 to 4,096 bytes");
        assert!(payload.len() <= PAYLOAD_BYTES_MAX, "payloads have at most 65,536 bytes");
        if self.pushed.is_multiple_of(STARTS_PER_BASE) {
            self.bases.push(self.documents_bytes);
        }
        let base = self.bases.last().copied().unwrap_or(0);
        let start = u32::try_from(self.documents_bytes - base).expect("64 documents fit");
        self.starts.push(start);
        let key_bytes = u16::try_from(key.len()).expect("asserted above");
        self.write(&key_bytes.to_le_bytes())?;
        self.write(key)?;
        self.write(payload)?;
        let bytes = 2 + key.len() + payload.len();
        self.documents_bytes += wide(bytes);
        self.pushed(BuildPhase::Documents, 1).map(|()| bytes)
    }

    /// Step 3: the time of the next document.
    pub(crate) fn push_time(&mut self, time: u64) -> Result<usize> {
        self.time_min = self.time_min.min(time);
        self.time_max = self.time_max.max(time);
        self.write(&time.to_le_bytes())?;
        self.pushed(BuildPhase::Times, 1).map(|()| 8)
    }

    /// Step 4: the shingle count of the next document.
    pub(crate) fn push_shingle_count(&mut self, count: u32) -> Result<usize> {
        self.write(&count.to_le_bytes())?;
        self.pushed(BuildPhase::ShingleCounts, 1).map(|()| 4)
    }

    /// Step 5: computes and writes bucket tables. Reads and writes about `budget_bytes` per call,
    /// but always makes some progress. Returns true when all tables are done.
    pub(crate) fn step(&mut self, budget_bytes: usize) -> Result<bool> {
        assert!(self.phase == BuildPhase::Tables, "tables come after all documents");
        let mut spent = 0;
        loop {
            spent += match self.rebuild().need() {
                Need::Done => return Ok(true),
                Need::Emit => self.emit()?,
                need => self.feed(need)?,
            };
            if spent >= budget_bytes {
                return Ok(self.rebuild().need() == Need::Done);
            }
        }
    }

    fn rebuild(&mut self) -> &mut Rebuild {
        let tables = self.tables.as_mut().expect("made when the phase began");
        let new = || Rebuild::new(&self.shape, self.docs, self.memory_bytes);
        tables.rebuild.get_or_insert_with(new)
    }

    /// The finished share of the tables, from 0 to 1.
    pub(crate) fn share_done(&self) -> f64 {
        let tables = self.tables.as_ref();
        let Some((tables, rebuild)) =
            tables.and_then(|tables| Some((tables, tables.rebuild.as_ref()?)))
        else {
            return 0.0;
        };
        match &tables.division {
            Division::Under(divided) => divided.partitions.share_done(rebuild, divided.is_whole),
            _ => rebuild.share_done(),
        }
    }

    /// Publishes the file: afterwards it is complete and durable under its name.
    pub(crate) fn finish(mut self) -> Result<SegmentEntry> {
        let mut tables = self.tables.take().expect("tables are done before the segment is");
        assert!(tables.ended == self.shape.tables(), "tables are done before the segment is");
        let SegmentLayout { body_bytes, sections, .. } = &tables.layout;
        tables.directories.pad_to(*body_bytes, &mut self.output)?;
        tables.directories.flush(&mut self.output)?;
        let properties = self.properties().encode();
        let listed = self.output.publish(&self.header, *body_bytes, sections, properties)?;
        Ok(SegmentEntry::new(listed, self.docs, (self.time_min, self.time_max)))
    }

    fn properties(&self) -> SegmentProperties {
        SegmentProperties {
            docs: self.docs,
            tables: self.shape.tables(),
            signature_bytes: u32::try_from(self.shape.signature_bytes).expect("asserted valid"),
            time_min: self.time_min,
            time_max: self.time_max,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.main.push(bytes, &mut self.output)
    }

    /// Pads with zeros to a multiple of 64.
    fn align(&mut self) -> Result<()> {
        self.main.pad_to(self.main.position().next_multiple_of(64), &mut self.output)
    }

    /// Counts pushed documents, and starts the next phase after the last one.
    fn pushed(&mut self, phase: BuildPhase, count: usize) -> Result<()> {
        assert!(self.phase == phase, "sections are pushed whole and in order");
        let left = self.docs - self.pushed;
        assert!(count <= index(left), "more documents than were announced");
        self.pushed += u32::try_from(count).expect("at most the documents left");
        if self.pushed < self.docs {
            return Ok(());
        }
        self.pushed = 0;
        self.align()?;
        self.phase = match phase {
            BuildPhase::Signatures => BuildPhase::Documents,
            BuildPhase::Documents => {
                self.write_starts()?;
                BuildPhase::Times
            }
            BuildPhase::Times => BuildPhase::ShingleCounts,
            BuildPhase::ShingleCounts | BuildPhase::Tables => {
                self.begin_tables()?;
                BuildPhase::Tables
            }
        };
        Ok(())
    }

    fn write_starts(&mut self) -> Result<()> {
        for base in &self.bases {
            self.main.push(&base.to_le_bytes(), &mut self.output)?;
        }
        self.align()?;
        for start in std::mem::take(&mut self.starts) {
            self.main.push(&start.to_le_bytes(), &mut self.output)?;
        }
        self.align()
    }

    fn begin_tables(&mut self) -> Result<()> {
        let layout = SegmentLayout::for_segment(&self.properties(), self.documents_bytes);
        let layout = layout.ok_or_else(|| Error::invalid("segment is too large for any file"))?;
        let [.., tables, directories] = &layout.sections;
        assert!(self.main.position() == tables.offset, "sections are where the layout says");
        self.main.flush(&mut self.output)?;
        self.output.write_until(self.main.position())?;
        self.tables = Some(TableProgress {
            rebuild: None,
            division: if self.storage.is_in_memory() {
                Division::Impossible
            } else {
                Division::Possible
            },
            ended: 0,
            run: Run::default(),
            directories: Stream::at(directories.offset),
            fingerprints: Stream::at(tables.offset),
            ordinals: Stream::at(tables.offset + layout.table_ordinals),
            chunk: Vec::new(),
            hashes: Vec::new(),
            layout,
        });
        Ok(())
    }

    /// Feeds signatures, keys, or entries that were divided.
    fn feed(&mut self, need: Need) -> Result<usize> {
        self.divide();
        let tables = self.tables.as_mut().expect("in the last phase");
        let rebuild = tables.rebuild.as_mut().expect("tables are being rebuilt");
        let divided = match &mut tables.division {
            Division::Under(divided) if divided.is_whole => return divided.feed(rebuild),
            Division::Under(divided) if divided.partitions.ordinal() == self.docs => {
                let stored = divided.store(self.docs).ok();
                return Ok(self.stored(stored));
            }
            Division::Under(divided) => Some(divided.partitions.ordinal()),
            _ => None,
        };
        match need {
            Need::Keys { from } => self.feed_keys(divided.unwrap_or(from)),
            Need::Signatures { from } => self.feed_signatures(divided.unwrap_or(from)),
            Need::Emit | Need::Done => Ok(0),
        }
    }

    /// Begins to divide the entries of the following passes, if that is worthwhile.
    fn divide(&mut self) {
        let tables = self.tables.as_mut().expect("in the last phase");
        let rebuild = tables.rebuild.as_mut().expect("tables are being rebuilt");
        if let Division::Under(divided) = &tables.division
            && divided.partitions.are_done(rebuild)
        {
            tables.division = Division::Possible;
        }
        if !matches!(tables.division, Division::Possible) {
            return;
        }
        let Some(partitions) = rebuild.divide() else { return };
        match Divided::create(&self.storage, &self.path, partitions) {
            Ok(divided) => tables.division = Division::Under(Box::new(divided)),
            Err(_) => self.do_not_divide(),
        }
    }

    /// Goes on with passes over the documents: the disk may have no room for the entries. Whatever
    /// else is wrong with it, the segment itself meets.
    fn do_not_divide(&mut self) {
        let tables = self.tables.as_mut().expect("in the last phase");
        tables.division = Division::Impossible;
        tables.rebuild.as_mut().expect("tables are being rebuilt").do_not_divide();
    }

    /// After documents were divided: goes on with the first partition if they were the last, and
    /// without partitions if they could not be stored (`None`). Returns the number of stored bytes.
    fn stored(&mut self, stored: Option<usize>) -> usize {
        let Some(bytes) = stored else {
            self.do_not_divide();
            return 0;
        };
        let tables = self.tables.as_mut().expect("in the last phase");
        if let Division::Under(divided) = &tables.division
            && divided.is_whole
        {
            tables.rebuild.as_mut().expect("tables are being rebuilt").divided();
        }
        bytes
    }

    fn feed_signatures(&mut self, from: u32) -> Result<usize> {
        let tables = self.tables.as_mut().expect("in the last phase");
        let stride = self.shape.signature_bytes;
        let count = (CHUNK_BYTES / stride).max(1).min(index(self.docs - from));
        let [signatures, ..] = &tables.layout.sections;
        let begin = signatures.offset + wide(index(from) * stride);
        let range = begin..begin + wide(count * stride);
        let chunk = self.output.read_back(range, &mut tables.chunk)?;
        let rebuild = tables.rebuild.as_mut().expect("tables are being rebuilt");
        let fed = chunk.len();
        let Division::Under(divided) = &mut tables.division else {
            rebuild.signatures(chunk);
            return Ok(fed);
        };
        let stored = divided.signatures(rebuild, chunk, (stride, self.docs)).ok();
        Ok(fed + self.stored(stored))
    }

    fn feed_keys(&mut self, from: u32) -> Result<usize> {
        let starts = self.starts_from(from)?;
        let fits = |start: &u64| start - starts[0] <= wide(CHUNK_BYTES);
        let count = starts.partition_point(fits).saturating_sub(1).max(1);
        let tables = self.tables.as_mut().expect("in the last phase");
        let [_, documents, ..] = &tables.layout.sections;
        let range = documents.offset + starts[0]..documents.offset + starts[count];
        let chunk = self.output.read_back(range, &mut tables.chunk)?;
        tables.hashes.clear();
        for start in &starts[..count] {
            let at = usize::try_from(start - starts[0]).expect("within the chunk");
            let document = &chunk[at..];
            let key_bytes = usize::from(u16_of(document));
            tables.hashes.push(key_hash(&document[2..2 + key_bytes], self.shape.key_seed));
        }
        let rebuild = tables.rebuild.as_mut().expect("tables are being rebuilt");
        let (hashes, fed) = (&tables.hashes, chunk.len() + 4 * starts.len());
        let Division::Under(divided) = &mut tables.division else {
            rebuild.keys(hashes);
            return Ok(fed);
        };
        let stored = divided.keys(rebuild, hashes, self.docs).ok();
        Ok(fed + self.stored(stored))
    }

    /// Start offsets of some documents from `from` on in their section, and the end of the last.
    fn starts_from(&mut self, from: u32) -> Result<Vec<u64>> {
        let left = index(self.docs - from);
        let count = (CHUNK_BYTES / 32 + 2).min(left);
        let tables = self.tables.as_mut().expect("in the last phase");
        let [_, _, _, starts, ..] = &tables.layout.sections;
        let begin = starts.offset + 4 * u64::from(from);
        let range = begin..begin + 4 * wide(count);
        let bytes = self.output.read_back(range, &mut tables.chunk)?.chunks_exact(4);
        let base = |ordinal: usize| self.bases[ordinal / index(STARTS_PER_BASE)];
        let start = |(bytes, ordinal)| base(ordinal) + u64::from(u32_of(bytes));
        let mut starts: Vec<u64> = bytes.zip(index(from)..).map(start).collect();
        if count == left {
            starts.push(self.documents_bytes);
        }
        Ok(starts)
    }

    /// Computes the next run and writes it.
    fn emit(&mut self) -> Result<usize> {
        let tables = self.tables.as_mut().expect("in the last phase");
        let mut run = std::mem::take(&mut tables.run);
        tables.rebuild.as_mut().expect("it has one ready").emit(&mut run);
        let pushed = self.push_run(&run);
        let tables = self.tables.as_mut().expect("as above");
        tables.run = run;
        pushed
    }

    /// Step 5 for a caller that has its own [`Rebuild`], instead of `step`: writes the next run.
    /// Returns the length of the run in bytes.
    pub(crate) fn push_run(&mut self, run: &Run) -> Result<usize> {
        let output = &mut self.output;
        let tables = self.tables.as_mut().expect("tables come after all documents");
        assert!(run.table == tables.ended, "runs come in order");
        tables.directories.push(&run.directory, output)?;
        tables.fingerprints.push(&run.fingerprints, output)?;
        tables.ordinals.push(&run.ordinals, output)?;
        if run.ends_table {
            tables.ended += 1;
            let [.., section, _] = &tables.layout.sections;
            let next = section.offset + u64::from(run.table + 1) * tables.layout.table_stride;
            let ordinals = next - tables.layout.table_stride + tables.layout.table_ordinals;
            tables.fingerprints.pad_to(ordinals, output)?;
            tables.fingerprints.flush(output)?;
            // The next table, or the directories after the last table, are aligned to 64 bytes.
            tables.ordinals.pad_to(next, output)?;
            tables.ordinals.flush(output)?;
            tables.fingerprints = Stream::at(next);
            tables.ordinals = Stream::at(next + tables.layout.table_ordinals);
        }
        Ok(run.directory.len() + run.fingerprints.len() + run.ordinals.len())
    }
}
