//! The next state of the index while it is being prepared, and its commit. This is the only place
//! where the catalog changes.
//!
//! Until a draft is committed, the files made for it are deleted on drop, so that a failure leaves
//! nothing behind.

use crate::format::catalog::{Listed, Row, SegmentEntry, WalEntry};
use crate::index::state::core::{Core, Writer};
use crate::index::state::running::{Input, Merge};
use crate::index::state::versions::{HeldDead, HeldFile, LiveSegment, State};
use crate::memtable::Memtable;
use crate::segment::{Bits, Builder, Dead, Segment, write_dead};
use crate::storage::names::Ending;
use crate::{ErrorKind, Result};
use std::sync::Arc;

/// Maximum length of segments that are read back after they were written. A longer segment may be
/// partly evicted from the page cache already, so that reading it would take as long as writing it.
const READ_BACK_BYTES_MAX: u64 = 1 << 30;

/// A state that is not committed yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) segments: Vec<Arc<LiveSegment>>,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) floor: u64,
    pub(crate) wal: Option<WalEntry>,
    /// The change that becomes visible with this state, and the number of live documents after it.
    /// Set if the segments hold changes that were never in a log.
    pub(crate) shown: Option<(u64, u64)>,
    /// Files made for this draft. The catalog lists them once the draft is committed.
    created: Vec<Arc<HeldFile>>,
    /// Files that the catalog lists now, but no longer once the draft is committed.
    dropped: Vec<Arc<HeldFile>>,
}

impl Draft {
    /// A draft that changes nothing yet.
    pub(crate) fn new(core: &Core, writer: &Writer) -> Self {
        let state = core.state();
        let row = writer.catalog.row();
        Self {
            segments: state.segments.clone(),
            memtable: Arc::clone(&state.memtable),
            floor: row.floor,
            wal: row.wal,
            shown: None,
            created: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Removes a file from this draft, so that the file is deleted when its last reference is
    /// dropped.
    pub(crate) fn discard(&mut self, file: &Arc<HeldFile>) {
        self.created.retain(|created| !Arc::ptr_eq(created, file));
    }

    /// Adds the file of a finished segment to the draft: the file is kept if the draft is
    /// committed.
    pub(crate) fn adopt(&mut self, built: &LiveSegment) {
        self.created.push(Arc::clone(&built.file));
    }

    /// Marks documents of a segment dead, in a new dead file.
    pub(crate) fn with_dead(
        &mut self,
        core: &Core,
        writer: &mut Writer,
        live: &LiveSegment,
        bits: &Bits,
    ) -> Result<LiveSegment> {
        let number = writer.next_number();
        let path = core.names.numbered(number, Ending::Dead);
        let listed = write_dead(
            &core.storage,
            &path,
            number,
            &core.shape,
            live.number(),
            live.entry.docs,
            bits.words(),
        )?;
        // The file is held only now that it was written: if writing failed, a file with this name
        // may not be ours.
        let file = core.hold_file(path);
        file.delete_on_drop();
        self.created.push(Arc::clone(&file));
        let dead = Some(open_dead(core, file, &listed, &live.entry)?);
        let entry = SegmentEntry { dead: bits.count(), dead_file: Some(listed), ..live.entry };
        if let Some(old) = &live.dead {
            self.dropped.push(Arc::clone(&old.file));
        }
        Ok(LiveSegment { dead, entry, ..live.clone() })
    }

    /// Drops a segment and its dead file from the draft.
    pub(crate) fn drop_segment(&mut self, number: u64) {
        let position = self.segments.iter().position(|live| live.number() == number);
        if let Some(position) = position {
            let live = self.segments.remove(position);
            self.dropped.push(Arc::clone(&live.file));
            self.dropped.extend(live.dead.as_ref().map(|held| Arc::clone(&held.file)));
        }
    }

    /// Number of documents and length in bytes of the segment made for this draft, if any.
    pub(crate) fn last_made(&self) -> Option<(u64, u64)> {
        let live = self.segments.iter().rev();
        let mut made =
            live.filter(|live| self.created.iter().any(|file| Arc::ptr_eq(file, &live.file)));
        made.next().map(|live| (u64::from(live.entry.docs), live.entry.length))
    }

    /// The catalog row with the files of this draft, for the catalog of another index.
    pub(crate) fn into_row(self, writer: &Writer) -> Row {
        self.created.iter().for_each(|file| file.keep());
        self.row(writer)
    }

    /// The committed row, with the segments of this draft.
    fn row(&self, writer: &Writer) -> Row {
        let segments = self.segments.iter().map(|live| live.entry).collect();
        Row { file_next: writer.file_next, segments, ..writer.catalog.row().clone() }
    }

    /// Commits the draft: the catalog lists it, readers see it, and dropped files are deleted with
    /// the last state that holds them. After an `Io` error nothing has changed.
    pub(crate) fn commit(self, core: &Core, writer: &mut Writer) -> Result<()> {
        let row = Row { floor: self.floor, wal: self.wal, ..self.row(writer) };
        if let Err(error) = writer.catalog.commit(row) {
            if error.kind() != ErrorKind::Io {
                // It is unknown whether the catalog lists the new files. So they must stay, and no
                // further change may be based on either answer.
                self.created.iter().for_each(|file| file.keep());
                core.group.poison(&error);
            }
            return Err(error);
        }
        self.created.iter().for_each(|file| file.keep());
        self.dropped.iter().for_each(|file| file.delete_on_drop());
        let params = Arc::clone(&core.params);
        core.view.replace_showing(State::new(params, self.segments, self.memtable), self.shown);
        Ok(())
    }
}

/// Starts a merge of inputs with at least one live document, which writes segment `number`.
pub(crate) fn begin_merge(core: &Core, number: u64, inputs: Vec<Input>) -> Result<Merge> {
    let docs = inputs.iter().map(Input::live_count).sum();
    let compacts = inputs.iter().all(|input| matches!(input, Input::Segment { .. }));
    let options = &core.options;
    let builder = Builder::create(
        &core.storage,
        &core.names.numbered(number, Ending::Segment),
        number,
        &core.shape,
        docs,
        options.merge_bytes_max,
        if compacts { options.compaction_write_bytes } else { options.flush_write_bytes },
    )?;
    Ok(Merge::begin(builder, inputs))
}

/// Opens a finished segment, which is deleted again unless a draft adopts it and is committed.
///
/// Reads the segment back and verifies it before queries use it and before its inputs are deleted.
/// So an incorrectly written segment ends the merge, and queries do not pay for the first access to
/// each of its blocks. A segment longer than `READ_BACK_BYTES_MAX` is only opened.
pub(crate) fn open_built(core: &Core, built: &SegmentEntry) -> Result<LiveSegment> {
    let file = core.hold_file(core.names.numbered(built.number, Ending::Segment));
    file.delete_on_drop();
    let live = open_live(core, file, built)?;
    if built.length <= READ_BACK_BYTES_MAX {
        live.segment.read_back(core.options.keep_mapped)?;
    } else {
        live.segment.request_directories();
    }
    Ok(live)
}

/// Opens a segment without its dead file.
pub(crate) fn open_live(
    core: &Core,
    file: Arc<HeldFile>,
    entry: &SegmentEntry,
) -> Result<LiveSegment> {
    let (listed, mode) = (entry.listed(), core.options.read_mode);
    let segment = Segment::open(&*core.storage, &file.path, &listed, &core.shape, mode)?;
    Ok(LiveSegment { segment: Arc::new(segment), file, dead: None, entry: *entry })
}

/// Opens the dead file of a segment.
pub(crate) fn open_dead(
    core: &Core,
    file: Arc<HeldFile>,
    listed: &Listed,
    of: &SegmentEntry,
) -> Result<HeldDead> {
    let (path, shape, mode) = (&file.path, &core.shape, core.options.read_mode);
    let dead = Dead::open(&*core.storage, path, listed, shape, of.number, of.docs, mode)?;
    Ok(HeldDead { dead: Arc::new(dead), file })
}
