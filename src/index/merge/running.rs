//! A running compaction: its progress, and where the documents of its inputs go in the output.

use crate::index::state::running::{Compaction, Merge, Source};
use crate::index::state::versions::LiveSegment;
use crate::memtable::Memtable;
use crate::segment::Ranks;
use crate::sync::Arc;
use crate::{Progress, Result};

impl Source {
    pub(in crate::index) fn number(&self) -> u64 {
        self.live.number()
    }

    /// The position in the output of a document that was live when the compaction started.
    pub(in crate::index) fn rank(&self, ordinal: u32) -> u32 {
        self.base + self.ranks.live_before(ordinal)
    }
}

impl Compaction {
    /// Decides whether this idle merge makes way for a compaction that is due. Returns `None` if
    /// the merge is at least half done: it is then finished first. Otherwise returns the number of
    /// bytes that it would still have written.
    pub(crate) fn bytes_if_abandoned(&self) -> Option<u64> {
        let progress = self.progress();
        let left = progress.total - progress.done;
        let bytes: u64 = self.inputs.iter().map(|source| source.live.entry.length).sum();
        let unused = u128::from(bytes) * u128::from(left) / u128::from(progress.total.max(1));
        (left > progress.done).then(|| u64::try_from(unused).unwrap_or(u64::MAX))
    }

    /// The progress in documents.
    pub(in crate::index) fn progress(&self) -> Progress {
        let total = self.inputs.iter().map(|source| u64::from(source.live.entry.docs)).sum();
        let share = self.merge.as_ref().map_or(1.0, Merge::share_done);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count, from 0 to 1; a float cast saturates"
        )]
        let done = (total as f64 * share) as u64;
        Progress { done: done.min(total), total }
    }
}

pub(crate) fn ranks(live: &LiveSegment) -> Result<Ranks> {
    Ok(Ranks::new(live.dead_bits()?, live.entry.docs))
}

/// Documents of the output that flushes have committed as dead since the compaction started.
pub(in crate::index) fn deaths_since(
    inputs: &[Source],
    now: &[Arc<LiveSegment>],
) -> Result<Vec<u32>> {
    let mut carried = Vec::new();
    for source in inputs {
        planted!(DeadFileNotCarried => continue);
        let current = now.iter().find(|live| live.number() == source.number());
        let Some(current) = current else { continue };
        if current.entry.dead_file == source.live.entry.dead_file {
            continue;
        }
        let current = ranks(current)?;
        let live_then = source.ranks.runs().flatten();
        let died_since = live_then.filter(|ordinal| current.is_dead(*ordinal));
        carried.extend(died_since.map(|ordinal| source.rank(ordinal)));
    }
    Ok(carried)
}

/// Documents of the output that have died since the last flush, each with the number of the change
/// that removed it.
pub(in crate::index) fn deaths_above_floor(
    inputs: &[Source],
    memtable: &Memtable,
) -> Vec<(u32, u64)> {
    let content = memtable.read();
    let mut deaths = Vec::new();
    for (segment, ordinal, change) in content.segment_deaths() {
        if let Some(source) = inputs.iter().find(|source| source.number() == segment) {
            deaths.push((source.rank(ordinal), change));
        }
    }
    deaths
}
