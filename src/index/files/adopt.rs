//! Adoption: sealed segments become segments of an index in one commit.
//!
//! The files are copied outside the write lock, each with a new header that names this index. Under
//! the lock, the keys of the segments are looked up among the live documents; then a single draft
//! lists all segments and all deaths, and its commit is one change. A failure before the commit
//! leaves files that are not listed.

use super::copy::Imported;
use crate::index::merge::commit;
use crate::index::merge::draft::{Draft, open_built};
use crate::index::merge::flush::{self, NextWal};
use crate::index::merge::parameters::shape_of;
use crate::index::state::core::{Core, Writer};
use crate::index::state::versions::{LiveSegment, Snapshot};
use crate::segment::Bits;
use crate::segment::{Segment, describe};
use crate::storage::Storage;
use crate::storage::names::Ending;
use crate::sync::Arc;
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// How to treat a key of a sealed segment that is already live in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopt {
    /// An error, `Exists`, that names the key; nothing is changed.
    Refuse,
    /// The segment's document replaces the stored one. If several segments contain the key, the
    /// last one counts.
    Replace,
}

/// Like [`crate::Index::adopt`], with the sealed files on any storage.
pub(crate) fn adopt_from(
    core: &Core,
    from: &Arc<dyn Storage>,
    paths: &[&Path],
    how: Adopt,
) -> Result<Imported> {
    commit::refuse_if_stopped(core)?;
    // Dropping `copied` deletes the copies that are not adopted.
    // A shared handle copies during its turn: another process would sweep what no catalog lists.
    let mut turn = core.sharing.is_some().then(|| core.to_write()).transpose()?;
    let copied = paths.iter().map(|path| {
        let number = match &mut turn {
            Some(writer) => writer.next_number(),
            None => core.writer().next_number(),
        };
        copy_sealed(core, from, path, number)
    });
    let copied = copied.collect::<Result<Vec<_>>>()?;
    if copied.is_empty() {
        return Ok(Imported::default());
    }
    let mut writer = turn.map_or_else(|| core.to_write(), Ok)?;
    // Dropped before the turn ends: what is not adopted is deleted.
    let copied = copied;
    // After this flush there is no WAL, so the commit below is the whole change.
    flush::flush_locked(core, &mut writer, NextWal::None)?;
    commit::refuse_if_stopped(core)?;
    let before = core.applied(&writer);
    let plan = AdoptionPlan::new(&before, &copied, how)?;
    let imported = plan.imported;
    let draft = draft_adopted(core, &mut writer, &copied, &plan)?;
    let (change, documents) = (writer.change, writer.documents);
    writer.change += 1;
    writer.documents = documents + imported.inserted;
    let committed = flush::commit_with_wal(core, &mut writer, draft, None);
    if committed.is_err() {
        (writer.change, writer.documents) = (change, documents);
    }
    drop(writer);
    committed?;
    core.wakeup.wake();
    Ok(imported)
}

/// Copies a sealed segment into this index. The segment is checked when it is read, and again
/// after it was written. The copy is deleted unless it is adopted.
fn copy_sealed(
    core: &Core,
    from: &Arc<dyn Storage>,
    path: &Path,
    number: u64,
) -> Result<LiveSegment> {
    let (header, listed) = describe(&**from, path)?;
    if header.params_id != core.shape.params_id {
        return Err(Error::about(ErrorKind::Mismatch, path, "a segment of other parameters"));
    }
    let shape = shape_of(&core.params, header.uuid);
    let sealed = Segment::open(&**from, path, &listed, &shape, core.options.read_mode)?;
    let target = core.names.numbered(number, Ending::Segment);
    let write_bytes = core.options.compaction_write_bytes;
    let built = sealed.rebind(&core.storage, &target, number, &core.shape, write_bytes)?;
    open_built(core, &built)
}

pub(crate) fn draft_adopted(
    core: &Core,
    writer: &mut Writer,
    copied: &[LiveSegment],
    plan: &AdoptionPlan,
) -> Result<Draft> {
    let mut draft = Draft::new(core, writer);
    flush::draft_dying(core, writer, &mut draft, &plan.dying)?;
    for (live, dead) in copied.iter().zip(&plan.superseded) {
        draft.adopt(live);
        match dead {
            Some(bits) if bits.count() == live.entry.docs => draft.discard(&live.file),
            Some(bits) => {
                let live = draft.with_dead(core, writer, live, bits)?;
                draft.segments.push(Arc::new(live));
            }
            None => draft.segments.push(Arc::new(live.clone())),
        }
    }
    let change = writer.change + 1;
    draft.floor = change;
    draft.wal = None;
    draft.shown = Some((change, writer.documents + plan.imported.inserted));
    Ok(draft)
}

/// The documents that die when segments are adopted.
#[derive(Debug, Default)]
pub(crate) struct AdoptionPlan {
    /// Documents of the index that are replaced, by the number of their segment.
    dying: BTreeMap<u64, Vec<u32>>,
    /// For each adopted segment, its documents that a later segment replaces.
    superseded: Vec<Option<Bits>>,
    pub(crate) imported: Imported,
}

impl AdoptionPlan {
    /// Requires that the memtable of `before` is empty.
    pub(crate) fn new(before: &Snapshot, copied: &[LiveSegment], how: Adopt) -> Result<Self> {
        let superseded = superseded(copied, how)?;
        let mut plan = Self { superseded, ..Self::default() };
        for (live, dead) in copied.iter().zip(&plan.superseded) {
            for ordinal in 0..live.entry.docs {
                if dead.as_ref().is_some_and(|dead| dead.is_set(ordinal)) {
                    continue;
                }
                let key = live.segment.key(ordinal)?;
                let Some(place) = before.locate(&key)? else {
                    plan.imported.inserted += 1;
                    continue;
                };
                if how == Adopt::Refuse {
                    return Err(exists(&key, "is live already"));
                }
                plan.imported.replaced += 1;
                if let Some(old) = before.state.segments.get(place.source) {
                    plan.dying.entry(old.number()).or_default().push(place.ordinal);
                }
            }
        }
        Ok(plan)
    }

    /// Appends the plan for the segments that follow.
    pub(crate) fn extend(&mut self, next: Self) {
        self.dying.extend(next.dying);
        self.superseded.extend(next.superseded);
        self.imported.inserted += next.imported.inserted;
        self.imported.replaced += next.imported.replaced;
    }
}

/// For each segment, the documents whose keys also occur in a later segment.
fn superseded(copied: &[LiveSegment], how: Adopt) -> Result<Vec<Option<Bits>>> {
    let mut dead: Vec<Option<Bits>> = copied.iter().map(|_| None).collect();
    if copied.len() < 2 {
        return Ok(dead);
    }
    let mut last: HashMap<Vec<u8>, (usize, u32), crate::keyed::RandomState> = HashMap::default();
    last.reserve(copied.iter().map(|live| live.entry.docs as usize).sum());
    for (at, live) in copied.iter().enumerate() {
        for ordinal in 0..live.entry.docs {
            let key = live.segment.key(ordinal)?.into_owned();
            if let Some((old, old_ordinal)) = last.insert(key, (at, ordinal)) {
                if how == Adopt::Refuse {
                    let key = live.segment.key(ordinal)?;
                    return Err(exists(&key, "is in two of the segments"));
                }
                let docs = copied[old].entry.docs;
                dead[old].get_or_insert_with(|| Bits::new(docs)).set(old_ordinal);
            }
        }
    }
    Ok(dead)
}

fn exists(key: &[u8], what: &str) -> Error {
    let key = key.escape_ascii();
    let message = format!("the key {key} {what}; nothing was adopted. Replace, or remove it first");
    Error::new(ErrorKind::Exists, message)
}
