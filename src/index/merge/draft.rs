//! The next state of the index while it is prepared, and its commit: the one place where the
//! catalog changes.
//!
//! Files made for a draft are doomed until it is committed, so that whatever fails before leaves
//! nothing behind.

use crate::format::catalog::{DeadEntry, Row, SegmentEntry, WalEntry};
use crate::index::core::{Core, Writer};
use crate::index::state::{HeldDead, HeldFile, LiveSegment, State};
use crate::memtable::Memtable;
use crate::segment::Bits;
use crate::segment::{Built, Dead, Listed, Segment, write_dead};
use crate::storage::names::Ending;
use crate::{ErrorKind, Result};
use std::sync::Arc;

/// Segments up to this length are read back: longer ones may have left the memory already, and
/// reading them would take as long as writing them did.
const READ_BACK_BYTES_MAX: u64 = 1 << 30;

/// A state that does not exist yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) segments: Vec<Arc<LiveSegment>>,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) floor: u64,
    pub(crate) wal: Option<WalEntry>,
    /// The change, and how many documents are live after it, that readers see with this state:
    /// where segments hold what no log held before.
    pub(crate) shown: Option<(u64, u64)>,
    /// Made for this draft; listed once it is committed.
    created: Vec<Arc<HeldFile>>,
    /// Listed so far; not once it is committed.
    dropped: Vec<Arc<HeldFile>>,
}

impl Draft {
    /// A draft that changes nothing yet.
    pub(crate) fn of(core: &Core, writer: &Writer) -> Self {
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

    /// Takes a file of this draft back: it goes when nobody holds it.
    pub(crate) fn discard(&mut self, file: &Arc<HeldFile>) {
        self.created.retain(|created| !Arc::ptr_eq(created, file));
    }

    /// Takes a finished segment into the draft's care: from now on it stays if the draft is
    /// committed.
    pub(crate) fn adopt(&mut self, built: &LiveSegment) {
        self.created.push(Arc::clone(&built.file));
    }

    /// A segment with these documents dead: written as a new dead file.
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
            &*core.storage,
            &path,
            number,
            &core.shape,
            live.number(),
            live.entry.docs,
            bits.words(),
        )?;
        // Only now: where writing failed, a file of this name may be somebody else's.
        let file = core.hold_file(path);
        file.doom();
        self.created.push(Arc::clone(&file));
        let dead = open_dead(core, &file, &listed, &live.entry)?;
        let dead_file = DeadEntry { number, length: listed.length, tail_hash: listed.tail_hash };
        let entry = SegmentEntry { dead: bits.count(), dead_file: Some(dead_file), ..live.entry };
        if let Some(old) = &live.dead {
            self.dropped.push(Arc::clone(&old.file));
        }
        Ok(LiveSegment {
            segment: Arc::clone(&live.segment),
            file: Arc::clone(&live.file),
            dead: Some(HeldDead { dead: Arc::new(dead), file }),
            entry,
        })
    }

    /// Leaves a segment and its dead file out.
    pub(crate) fn drop_segment(&mut self, number: u64) {
        let position = self.segments.iter().position(|live| live.number() == number);
        if let Some(position) = position {
            let live = self.segments.remove(position);
            self.dropped.push(Arc::clone(&live.file));
            self.dropped.extend(live.dead.as_ref().map(|held| Arc::clone(&held.file)));
        }
    }

    /// Documents and bytes of the segment that was made for this draft, if one was.
    pub(crate) fn last_made(&self) -> Option<(u64, u64)> {
        let live = self.segments.iter().rev();
        let mut made =
            live.filter(|live| self.created.iter().any(|file| Arc::ptr_eq(file, &live.file)));
        made.next().map(|live| (u64::from(live.entry.docs), live.entry.length))
    }

    /// The row of a catalog that another index will have, with the files of this draft.
    pub(crate) fn into_row(self, writer: &Writer) -> Row {
        self.created.iter().for_each(|file| file.keep());
        Row {
            file_next: writer.file_next,
            segments: self.segments.iter().map(|live| live.entry).collect(),
            ..writer.catalog.row().clone()
        }
    }

    /// Commits the draft: afterwards the catalog lists it, readers see it, and what it dropped
    /// goes with the last state that holds it. After an `Io` error nothing has changed.
    pub(crate) fn commit(self, core: &Core, writer: &mut Writer) -> Result<()> {
        let row = Row {
            floor: self.floor,
            wal: self.wal,
            file_next: writer.file_next,
            segments: self.segments.iter().map(|live| live.entry).collect(),
            ..writer.catalog.row().clone()
        };
        planted!(InputsDeletedEarly => {
            self.dropped.iter().for_each(|file| drop(core.storage.remove(&file.path)));
        });
        if let Err(error) = writer.catalog.commit(row) {
            if error.kind() != ErrorKind::Io {
                // The catalog may list the files after all: they must stay, and nothing more
                // may build on either answer.
                self.created.iter().for_each(|file| file.keep());
                core.group.poison(&error);
            }
            return Err(error);
        }
        // Before anything that the last one lists goes.
        core.publish_copy(writer);
        self.created.iter().for_each(|file| file.keep());
        self.dropped.iter().for_each(|file| file.doom());
        let params = Arc::clone(&core.params);
        core.view.replace_showing(State::new(params, self.segments, self.memtable), self.shown);
        Ok(())
    }
}

/// Opens a finished segment, which goes again unless a draft adopts it and is committed.
///
/// Reads it back whole, and checks it, before anybody can ask it and before its inputs go: a
/// segment that was not written as it should be ends the merge, and queries do not have to pay for
/// the first look at each of its blocks just when everything else of them is new, too.
pub(crate) fn open_built(core: &Core, built: &Built) -> Result<LiveSegment> {
    let file = core.hold_file(core.names.numbered(built.listed.number, Ending::Segment));
    file.doom();
    let segment = Segment::open(
        &*core.storage,
        &file.path,
        &built.listed,
        &core.shape,
        core.options.read_mode,
    )?;
    if built.listed.length <= READ_BACK_BYTES_MAX {
        segment.read_back()?;
    } else {
        segment.request_directories();
    }
    let entry = entry_of(built);
    Ok(LiveSegment { segment: Arc::new(segment), file, dead: None, entry })
}

/// A finished segment as a catalog lists it, with all of its documents live.
pub(crate) fn entry_of(built: &Built) -> SegmentEntry {
    SegmentEntry {
        number: built.listed.number,
        length: built.listed.length,
        tail_hash: built.listed.tail_hash,
        docs: built.docs,
        dead: 0,
        time_min: built.time_min,
        time_max: built.time_max,
        dead_file: None,
    }
}

/// Opens the dead file of a segment.
pub(crate) fn open_dead(
    core: &Core,
    file: &HeldFile,
    listed: &Listed,
    entry: &SegmentEntry,
) -> Result<Dead> {
    Dead::open(
        &*core.storage,
        &file.path,
        listed,
        &core.shape,
        entry.number,
        entry.docs,
        core.options.read_mode,
    )
}
