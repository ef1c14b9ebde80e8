//! Maintenance: one due step at a time.

use crate::index::maintain::expiry;
use crate::index::merge::commit;
use crate::index::merge::flush::{self, NextWal};
use crate::index::merge::{compaction, cover};
use crate::index::read::Maintained;
use crate::index::state::core::{Core, Sharing};
use crate::index::state::event::Event;
use crate::index::state::options::Maintenance;
use crate::index::state::turns::Wait;
use crate::index::write::write_path;
use crate::wal::Reserve;
use crate::{Error, Result};

/// With more full tiers of segments than this, writers help with the compaction.
const LAGGING_TIERS: usize = 8;

/// Runs the most urgent due step. Also records the horizon every time: readers in other
/// processes wait for it, and the other steps may take long or fail. See
/// [`crate::Index::maintain`].
pub(crate) fn maintain(core: &Core) -> Result<Maintained> {
    maintain_quiet(core, None)
}

/// Like [`maintain`]. If `quiet` is still the last change, the step may be an idle merge.
pub(crate) fn maintain_quiet(core: &Core, quiet: Option<u64>) -> Result<Maintained> {
    if let Some(sharing) = &core.sharing
        && core.lock().is_none()
        && let Some(done) = between_turns(core, sharing, quiet)?
    {
        return Ok(done);
    }
    let step = advance_merges(core, quiet);
    let noted = write_path::note_horizon(core);
    match step {
        Ok(Maintained::Nothing) if noted? => Ok(Maintained::Noted),
        // If recording the horizon failed, the error is returned by a later call that has no
        // other step to run.
        step => step,
    }
}

/// A step of a shared handle that has no turn. `None` if it has one now: to end a compaction, or,
/// if nobody writes now, to remove expired documents, or to merge after its own last changes.
fn between_turns(core: &Core, sharing: &Sharing, quiet: Option<u64>) -> Result<Option<Maintained>> {
    match compaction::needs_turn(core) {
        Some(false) => {
            let step = compaction::compact_step(core, quiet)?;
            return Ok(Some(step.map_or(Maintained::Nothing, |_| Maintained::Compacting)));
        }
        Some(true) => return (sharing.begin)(core, Wait::Patiently).map(|_| None),
        None => {}
    }
    let is_own = quiet.is_some_and(|change| change == sharing.turns.written());
    let may_merge = is_own && core.options.merge_when_idle;
    if (may_merge || core.options.ttl.is_some()) && (sharing.begin)(core, Wait::Never)? {
        return Ok(None);
    }
    cover::cover_small(core)?;
    Ok(Some(Maintained::Nothing))
}

/// Runs one step that earlier writes made due: a flush, an interval sync, expiry or compaction.
fn advance_merges(core: &Core, quiet: Option<u64>) -> Result<Maintained> {
    commit::refuse_if_stopped(core)?;
    if flush::memtable_is_full(core) {
        let mut writer = core.to_write()?;
        // Another thread may have flushed the memtable before this one got the lock.
        if flush::memtable_is_full(core) {
            flush::flush_locked(
                core,
                &mut writer,
                NextWal::Ready { record_bytes: 0, reserve: Reserve::Kept },
            )?;
            return Ok(Maintained::Flushed);
        }
    }
    if commit::sync_if_due(core)? {
        return Ok(Maintained::Synced);
    }
    if expiry::expire_step(core)? {
        return Ok(Maintained::Expired);
    }
    // If covering or the idle flush fails, the steps that are due still run: on a full disk they
    // free space.
    let covered = cover::cover_small(core);
    let idle = flush::flush_idle(core, quiet);
    if matches!(idle, Ok(true)) {
        return Ok(Maintained::Flushed);
    }
    let quiet = quiet.filter(|_| idle.is_ok());
    let mut step = compaction::compact_step(core, quiet)?;
    // Other processes cannot compact before this handle has ended its compaction, and nobody else
    // would do the next step.
    let is_alone = core.sharing.is_some() && core.options.maintenance == Maintenance::Inline;
    while is_alone && step == Some(false) {
        step = compaction::compact_step(core, quiet)?;
    }
    Ok(match step {
        Some(true) => Maintained::Compacted,
        Some(false) => Maintained::Compacting,
        None => covered.and(idle).map(|_| Maintained::Nothing)?,
    })
}

/// Makes all earlier writes durable, and lets readers see them. See [`crate::Index::sync`].
pub(crate) fn sync(core: &Core) -> Result<u64> {
    let change = commit::sync_all(core)?;
    write_path::note_horizon(core)?;
    Ok(change)
}

/// Every call that writes ends with this: does a maintenance step on the writing thread, or wakes
/// the background thread, or neither. If the step fails, the write is complete all the same;
/// `stats` reports the failure.
pub(crate) fn after_write(core: &Core) {
    match core.options.maintenance {
        // The background thread cannot keep up: the writer waits for the running step and does
        // the next one. This bounds the number of segments.
        Maintenance::Shared | Maintenance::Background if has_too_many_segments(core) => {
            let begun = core.events.now();
            let failure = compaction::compact_step_awaited(core).err();
            core.events.note_stall(begun);
            note_maintenance(core, failure.as_ref());
        }
        // Wake the thread only for a full memtable. It needs no wakeup for the other steps: a
        // flush wakes it for those that the flush makes due, and the horizon is recorded when
        // its sleep ends.
        Maintenance::Shared | Maintenance::Background if flush::memtable_is_full(core) => {
            core.wakeup.wake();
        }
        Maintenance::Shared | Maintenance::Background => {}
        Maintenance::Inline => {
            let failure = advance_merges(core, None).err();
            note_maintenance(core, failure.as_ref());
        }
    }
}

/// Records the result of maintenance for `stats` and listeners.
pub(crate) fn note_maintenance(core: &Core, failure: Option<&Error>) {
    let is_news = core.wakeup.note_failure(failure.map(|error| format!("{error:?}")));
    if let Some(error) = failure.filter(|_| is_news) {
        let (kind, message) = (error.kind(), error.to_string());
        core.events.note(|| Event::MaintenanceFailed { kind, message });
    }
}

pub(crate) fn has_too_many_segments(core: &Core) -> bool {
    core.state().segments.len() > core.options.tier_segments_max.saturating_mul(LAGGING_TIERS)
}

#[cfg(test)]
mod tests {
    use crate::index::state::options::{Durability, Maintenance};
    use crate::{Index, Maintained, Options, Params, Sketcher};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn tiers_without_a_bound_never_lag() {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::for_threshold(0.7).build().unwrap();
        for maintenance in [Maintenance::Inline, Maintenance::Background] {
            let options = Options::default()
                .durability(Durability::OsBuffer)
                .maintenance(maintenance)
                .merge_when_idle(false)
                .tier_segments_max(usize::MAX);
            let path = folder.path().join(format!("{maintenance:?}"));
            let index = Index::create(path, &params, options).unwrap();
            let signature = Sketcher::new(&params).text("a text").unwrap();
            for key in 0..3_u8 {
                index.insert([key], &signature).unwrap();
                index.flush().unwrap();
            }
            assert_eq!(index.stats().unwrap().segments, 3);
            index.close().unwrap();
        }
    }

    #[test]
    fn readers_need_not_wait_until_nothing_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::for_threshold(0.7).build().unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let of = Arc::clone(&clock);
        let options = Options::default()
            .maintenance(Maintenance::Inline)
            .clock(move || of.load(Ordering::Relaxed))
            .ttl(Duration::from_millis(100));
        let index = Index::create(folder.path().join("i"), &params, options).unwrap();
        let signature = Sketcher::new(&params).text("a text").unwrap();
        index.insert("k", &signature).unwrap();
        clock.fetch_add(200, Ordering::Relaxed);
        assert!(index.core().group.horizon_is_news());
        assert_eq!(index.maintain().unwrap(), Maintained::Expired);
        assert!(!index.core().group.horizon_is_news());
        assert_eq!(index.maintain().unwrap(), Maintained::Nothing);
    }
}
