//! The compaction: merges segments and drops dead documents. It is a state machine that its callers
//! advance in small steps, concurrently with writes and flushes.
//!
//! It drops only documents that were dead at the floor when it started. Later deaths are carried
//! over to the output. Deaths that flushes committed meanwhile go into the output's dead file;
//! deaths above the floor are recorded in the memtable, for the output's segment number.

use super::policy;
use crate::format::bytes::wide;
use crate::index::merge::commit;
use crate::index::merge::draft::{Draft, begin_merge, open_built};
use crate::index::merge::running::{deaths_above_floor, deaths_since, ranks};
use crate::index::merge::{flush, parameters};
use crate::index::state::core::{Core, Writer};
use crate::index::state::event::Event;
use crate::index::state::running::{Compaction, Input, Merge, Source};
use crate::index::state::versions::LiveSegment;
use crate::memtable::Step;
use crate::segment::Bits;
use crate::storage::lock::Lock;
use crate::sync::{Arc, MutexGuard, PoisonError, TryLockError, thread};
use crate::{Error, ErrorKind, OrIo, Progress, Result};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two looks whether another process still compacts.
const CLAIM_PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn compaction(core: &Core) -> MutexGuard<'_, Option<Compaction>> {
    core.compaction.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a compaction within the report of a compaction, for which it would wait for ever. (The
/// event listener is called without locks, so it may compact.)
fn refuse_in_report(core: &Core) -> Result<()> {
    if core.is_reporting() {
        return Err(Error::invalid(
            "compact was called by the progress report of a compaction of the same index, and \
             would wait for it: call it after that has returned",
        ));
    }
    Ok(())
}

/// Does one step of the running compaction, or starts one if it is due. If `quiet` is still the
/// last change, the step may be one of an idle merge. Returns whether the compaction has ended;
/// `None` if there was nothing to do, or if another thread is doing a step.
pub(crate) fn compact_step(core: &Core, quiet: Option<u64>) -> Result<Option<bool>> {
    let slot = match core.compaction.try_lock() {
        Ok(slot) => slot,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Ok(None),
    };
    compact_step_in(core, slot, quiet)
}

/// Like `compact_step`, but waits for another thread's step first, and does not start an idle
/// merge.
pub(crate) fn compact_step_awaited(core: &Core) -> Result<Option<bool>> {
    if core.is_reporting() {
        // A compaction that reports its progress is under way, and waits for this thread.
        return Ok(None);
    }
    compact_step_in(core, compaction(core), None)
}

fn compact_step_in(
    core: &Core,
    mut slot: MutexGuard<'_, Option<Compaction>>,
    quiet: Option<u64>,
) -> Result<Option<bool>> {
    match &*slot {
        None => {
            let mut writer = core.to_write()?;
            let due = due(core, &writer);
            if let Some(chosen) = idle_merge(core, &mut writer, quiet, due.as_deref()) {
                let merge = begin_compaction(core, &mut writer, &chosen)?;
                *slot = merge.map(|merge| Compaction { is_idle: true, ..merge });
            } else if let Some(chosen) = due {
                *slot = begin_compaction(core, &mut writer, &chosen)?;
            }
            if slot.is_none() {
                return Ok(None);
            }
        }
        Some(compaction) if compaction.is_idle => {
            let mut writer = core.writer();
            if quiet != Some(writer.change) {
                if due(core, &writer).is_none() {
                    return Ok(None);
                }
                if let Some(unused) = compaction.bytes_if_abandoned() {
                    writer.idle_bytes = writer.idle_bytes.saturating_add(unused);
                    // Deletes an unfinished file, which may be large: not under the write lock.
                    drop(writer);
                    abandon(core, &mut slot);
                    return compact_step_in(core, slot, quiet);
                }
            }
        }
        Some(_) => {}
    }
    advance(core, &mut slot).map(Some)
}

/// The segments of the compaction that is due, whether or not the index is idle.
fn due(core: &Core, writer: &Writer) -> Option<Vec<u64>> {
    let (segments, options) = (&writer.catalog.row().segments, &core.options);
    policy::choose(segments, options.tier_segments_max, options.segment_docs_max)
}

/// The segments of an idle merge, if one is worthwhile. Deducts their bytes from the allowance
/// of idle merging.
///
/// If a compaction is due (`due`), returns `None` unless the segments include those of `due`.
/// If they do, the idle merge takes the place of that compaction: otherwise it would soon
/// rewrite the compaction's output.
fn idle_merge(
    core: &Core,
    writer: &mut Writer,
    quiet: Option<u64>,
    due: Option<&[u64]>,
) -> Option<Vec<u64>> {
    // There may have been a write while this thread waited for the lock.
    if quiet != Some(writer.change) || !core.options.merge_when_idle {
        return None;
    }
    let entries = &writer.catalog.row().segments;
    let chosen = policy::choose_idle(entries, writer.idle_bytes, core.options.segment_docs_max)?;
    if !due.unwrap_or_default().iter().all(|number| chosen.contains(number)) {
        return None;
    }
    let inputs = entries.iter().filter(|entry| chosen.contains(&entry.number));
    let bytes: u64 = inputs.map(|entry| entry.length).sum();
    writer.idle_bytes = writer.idle_bytes.saturating_sub(bytes);
    Some(chosen)
}

/// Merges everything into one segment without dead documents, or into as few as the options allow.
pub(crate) fn compact_all(
    core: &Core,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<()> {
    refuse_in_report(core)?;
    match try_compact_all(core, progress) {
        Err(error) if flush::gave_up_spare(core, &mut *core.to_write()?, &error) => {
            try_compact_all(core, progress)?;
        }
        compacted => compacted?,
    }
    parameters::mend_parameters(core)
}

fn try_compact_all(
    core: &Core,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<()> {
    let mut slot = compaction(core);
    while slot.is_some() {
        match advance(core, &mut slot) {
            // The failed step has abandoned the compaction, which frees its disk space.
            Err(error) if error.kind() == ErrorKind::Io => {}
            advanced => drop(advanced?),
        }
    }
    let groups = {
        let mut writer = core.to_write()?;
        flush::flush_locked(core, &mut writer, crate::index::merge::flush::NextWal::None)?;
        policy::choose_all(&writer.catalog.row().segments, core.options.segment_docs_max)
    };
    for group in groups {
        *slot = begin_awaited(core, &group, progress)?;
        while let Some(compaction) = &*slot {
            if core.report(|| progress(compaction.progress())).is_break() {
                abandon(core, &mut slot);
                return Err(cancelled());
            }
            advance(core, &mut slot)?;
        }
    }
    Ok(())
}

/// Like [`begin_compaction`], but waits for another process that compacts. `None` if no segment is
/// left.
fn begin_awaited(
    core: &Core,
    chosen: &[u64],
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Compaction>> {
    let begun = Instant::now();
    loop {
        let compaction = begin_compaction(core, &mut *core.to_write()?, chosen)?;
        let is_left = |live: &Arc<LiveSegment>| chosen.contains(&live.number());
        if compaction.is_some() || !core.state().segments.iter().any(is_left) {
            return Ok(compaction);
        }
        // Without a turn, so that others can write meanwhile.
        while claim(core)?.is_none() {
            commit::refuse_if_shut_down(core)?;
            if core.report(|| progress(Progress { done: 0, total: 0 })).is_break() {
                return Err(cancelled());
            }
            let waited = begun.elapsed();
            if waited >= core.options.patience() || core.options.gives_up(waited) {
                let what = "another process compacts the index; try again later";
                return Err(Error::about(ErrorKind::Locked, core.names.root(), what));
            }
            thread::sleep(CLAIM_PAUSE);
        }
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the compaction was cancelled")
}

/// Starts a compaction of the chosen segments that are still there. `None` if there is none, or if
/// another process compacts.
fn begin_compaction(
    core: &Core,
    writer: &mut Writer,
    chosen: &[u64],
) -> Result<Option<Compaction>> {
    commit::refuse_if_stopped(core)?;
    let claim = match &core.sharing {
        None => None,
        Some(_) => match claim(core)? {
            None => return Ok(None),
            claim => claim,
        },
    };
    let mut inputs = Vec::new();
    let mut base = 0;
    for live in &core.state().segments {
        if chosen.contains(&live.number()) {
            let ranks = Arc::new(ranks(live)?);
            inputs.push(Source { live: Arc::clone(live), ranks: Arc::clone(&ranks), base });
            base += ranks.live();
        }
    }
    if inputs.is_empty() {
        // Another process has merged them meanwhile, or their documents have died.
        return Ok(None);
    }
    let merge = if base == 0 {
        None
    } else {
        let read = |source: &Source| Input::Segment {
            live: Arc::clone(&source.live),
            ranks: Arc::clone(&source.ranks),
        };
        let number = writer.next_number();
        if core.sharing.is_some() {
            // Others draw numbers before the output is listed.
            Draft::new(core, writer).commit(core, writer)?;
        }
        Some(begin_merge(core, number, inputs.iter().map(read).collect())?)
    };
    writer.merging = inputs.iter().map(Source::number).collect();
    let segments = wide(inputs.len());
    core.events.note(|| Event::CompactionBegun { segments, documents: u64::from(base) });
    let begun = core.events.now();
    Ok(Some(Compaction { inputs, merge, begun, is_idle: false, is_merged: false, _claim: claim }))
}

/// The right of a shared handle to compact, unless another one has it.
pub(crate) fn claim(core: &Core) -> Result<Option<Lock>> {
    let path = core.names.merging_lock();
    match core.storage.lock(&path) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(crate::io_error("lock", &path, error)),
    }
}

/// Whether the next step of the running compaction needs a turn; `None` if none is running. While
/// another thread does a step, none does.
pub(crate) fn needs_turn(core: &Core) -> Option<bool> {
    let slot = core.compaction.try_lock().ok()?;
    slot.as_ref().map(|compaction| compaction.is_merged)
}

/// Does one step. Returns true if the compaction has ended. A compaction that fails is
/// abandoned and changes nothing.
fn advance(core: &Core, slot: &mut Option<Compaction>) -> Result<bool> {
    let Some(compaction) = slot else { return Ok(true) };
    let is_merged = compaction.is_merged;
    let result = commit::refuse_if_stopped(core).and_then(|()| match &mut compaction.merge {
        Some(merge) if !is_merged => {
            let stepped = merge.step(core.options.step_bytes);
            if !core.options.keep_mapped && merge.is_release_due() {
                for input in &compaction.inputs {
                    input.live.segment.release();
                }
            }
            stepped
        }
        _ => Ok(true),
    });
    match result {
        Ok(false) => Ok(false),
        Ok(true) if !is_merged && core.lock().is_none() => {
            // The end needs a turn.
            compaction.is_merged = true;
            Ok(false)
        }
        Ok(true) => {
            let ended = slot.take().map_or(Ok(()), |compaction| end(core, compaction));
            core.writer().merging.clear();
            ended.map(|()| true)
        }
        Err(error) => {
            abandon(core, slot);
            Err(error)
        }
    }
}

fn abandon(core: &Core, slot: &mut Option<Compaction>) {
    *slot = None;
    core.writer().merging.clear();
}

/// Publishes the output and commits it in place of the inputs.
fn end(core: &Core, compaction: Compaction) -> Result<()> {
    let Compaction { inputs, merge, begun, _claim, .. } = compaction;
    let finish = |merge: Merge| {
        // A shared handle publishes during a turn.
        let turn = core.sharing.is_some().then(|| core.to_write()).transpose()?;
        let finished = merge.finish();
        drop(turn);
        open_built(core, &finished?)
    };
    let built = merge.map(finish).transpose()?;
    let mut writer = core.to_write()?;
    commit::refuse_if_stopped(core)?;
    if let (Some(_), Some(built)) = (&core.sharing, &built) {
        // A recovery by another process may have swept it.
        core.storage.bytes_of(&built.file.path).or_io("find", &built.file.path)?;
    }
    let mut draft = Draft::new(core, &writer);
    let is_listed = |number| draft.segments.iter().any(|live| live.number() == number);
    if !inputs.iter().all(|input| is_listed(input.number())) {
        // An ordinary handle has merged them since. What was built is deleted.
        return Ok(());
    }
    let at = draft.segments.iter().position(|live| live.number() == inputs[0].number());
    let carried = deaths_since(&inputs, &draft.segments)?;
    let deaths = deaths_above_floor(&inputs, &draft.memtable);
    for input in &inputs {
        draft.drop_segment(input.number());
    }
    if let Some(built) = built {
        let dead = planted!(
            LateDeathsCommitted,
            deaths.iter().map(|(ordinal, _)| *ordinal).chain(carried).collect(),
            carried
        );
        let output = draft_output(core, &mut writer, &mut draft, built, &dead)?;
        if let Some(output) = output {
            // No reader knows the number of the new segment yet, so none can look these deaths
            // up too early. Readers of the new state find them.
            for (ordinal, change) in deaths {
                planted!(DeathLostInMerge => continue);
                let segment = output.number();
                draft.memtable.apply(change, &[Step::SegmentDeath { segment, ordinal }]);
            }
            draft.segments.insert(at.unwrap_or(0), Arc::new(output));
        }
    }
    let made = draft.last_made();
    draft.commit(core, &mut writer)?;
    if !core.options.keep_mapped {
        // Releases the mapped pages of the inputs now, because deleting their files takes
        // longer, and meanwhile queries already map pages of the output.
        for input in &inputs {
            input.live.segment.release();
        }
    }
    let (segments, (documents, bytes)) = (wide(inputs.len()), made.unwrap_or_default());
    let duration = begun.map(|begun| begun.elapsed()).unwrap_or_default();
    core.events.note(|| Event::Compacted { segments, documents, bytes, duration });
    Ok(())
}

/// The output as the catalog will list it, or `None` if all of its documents have died
/// meanwhile.
fn draft_output(
    core: &Core,
    writer: &mut Writer,
    draft: &mut Draft,
    output: LiveSegment,
    carried: &[u32],
) -> Result<Option<LiveSegment>> {
    draft.adopt(&output);
    if carried.is_empty() {
        return Ok(Some(output));
    }
    let mut bits = Bits::new(output.entry.docs);
    for ordinal in carried {
        bits.set(*ordinal);
    }
    if bits.count() == output.entry.docs {
        draft.discard(&output.file);
        return Ok(None);
    }
    draft.with_dead(core, writer, &output, &bits).map(Some)
}
