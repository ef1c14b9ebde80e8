//! The compaction: segments become one, dead documents go. A state machine that its callers
//! advance in small steps, while writes and flushes go on.
//!
//! It drops only what was dead at the floor when it began. What died since is carried over to the
//! output: deaths that flushes committed go into its dead file, deaths above the floor are noted
//! for it in the memtable.

use super::core::{Core, Writer};
use super::draft::Draft;
use super::merge::{Input, Merge};
use super::policy;
use super::state::{Bits, LiveSegment};
use crate::format::bytes::index;
use crate::memtable::{Memtable, Step};
use crate::segment::Built;
use crate::{Error, ErrorKind, Progress, Result};
use std::ops::ControlFlow;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};

/// How much a step reads and writes, so that a flush that waits for it waits briefly.
const STEP_BYTES: usize = 16 << 20;
/// Ordinals per entry of [`Ranks`].
const RANK_STRIDE: u32 = 1024;

/// A compaction under way.
#[derive(Debug)]
pub(crate) struct Compaction {
    inputs: Vec<Arc<LiveSegment>>,
    /// None if nothing in the inputs is live: then there is no output.
    merge: Option<Merge>,
}

impl Core {
    pub(crate) fn compaction(&self) -> MutexGuard<'_, Option<Compaction>> {
        self.compaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one step of a compaction that is under way or due. `None`: nothing was due, or
    /// another thread is at it.
    pub(crate) fn compact_step(&self) -> Result<Option<bool>> {
        let mut slot = match self.compaction.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        if slot.is_none() {
            let mut writer = self.writer();
            let entries = &writer.catalog.row().segments;
            let Some(chosen) = policy::choose(entries, self.options.tier_segments_max) else {
                return Ok(None);
            };
            *slot = Some(self.begin_compaction(&mut writer, &chosen)?);
        }
        self.advance(&mut slot).map(Some)
    }

    /// Merges everything into one segment without a dead document.
    pub(crate) fn compact_all(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut slot = self.compaction();
        while slot.is_some() {
            self.advance(&mut slot)?;
        }
        {
            let mut writer = self.writer();
            self.flush_locked(&mut writer, super::flush::NextWal::None)?;
            let entries = &writer.catalog.row().segments;
            let Some(chosen) = policy::choose_all(entries) else { return Ok(()) };
            *slot = Some(self.begin_compaction(&mut writer, &chosen)?);
        }
        while let Some(compaction) = &*slot {
            if progress(compaction.progress()).is_break() {
                self.abandon(&mut slot);
                return Err(Error::new(ErrorKind::Cancelled, "the compaction was cancelled"));
            }
            self.advance(&mut slot)?;
        }
        Ok(())
    }

    fn begin_compaction(&self, writer: &mut Writer, chosen: &[u64]) -> Result<Compaction> {
        self.group.refuse_if_poisoned()?;
        let state = self.state();
        let listed = state.segments.iter();
        let inputs: Vec<_> =
            listed.filter(|live| chosen.contains(&live.number())).map(Arc::clone).collect();
        let number = writer.next_number();
        let live: u64 = inputs.iter().map(|i| u64::from(i.entry.docs - i.entry.dead)).sum();
        let merge = if live == 0 {
            None
        } else {
            let inputs = inputs.iter().map(|live| Input::Segment(Arc::clone(live))).collect();
            Some(Merge::begin(self, number, inputs)?)
        };
        writer.merging = inputs.iter().map(|live| live.number()).collect();
        Ok(Compaction { inputs, merge })
    }

    /// One step; true when the compaction has ended. A failed one is abandoned: nothing changed.
    fn advance(&self, slot: &mut Option<Compaction>) -> Result<bool> {
        let Some(compaction) = slot else { return Ok(true) };
        let result = match &mut compaction.merge {
            Some(merge) => merge.step(STEP_BYTES),
            None => Ok(true),
        };
        match result {
            Ok(false) => Ok(false),
            Ok(true) => {
                let ended = slot.take().map_or(Ok(()), |compaction| self.end(compaction));
                self.writer().merging.clear();
                ended.map(|()| true)
            }
            Err(error) => {
                self.abandon(slot);
                Err(error)
            }
        }
    }

    fn abandon(&self, slot: &mut Option<Compaction>) {
        *slot = None;
        self.writer().merging.clear();
    }

    /// Publishes the output and commits it in place of the inputs.
    fn end(&self, compaction: Compaction) -> Result<()> {
        let Compaction { inputs, merge } = compaction;
        let built = merge.map(Merge::finish).transpose()?;
        let mut writer = self.writer();
        self.group.refuse_if_poisoned()?;
        let mut draft = Draft::of(self, &writer);
        let ranks = Ranks::of(&inputs)?;
        let at = draft.segments.iter().position(|live| live.number() == inputs[0].number());
        let carried = deaths_since(&inputs, &ranks, &draft.segments)?;
        let deaths = deaths_above_floor(&inputs, &ranks, &draft.memtable)?;
        inputs.iter().for_each(|input| draft.drop_segment(input.number()));
        if let Some(built) = built {
            let output = self.draft_output(&mut writer, &mut draft, &built, &carried)?;
            if let Some(output) = output {
                // Nobody knows this number yet, so nobody can look these up too early; and who
                // sees the new state finds them there.
                for (ordinal, change) in deaths {
                    let segment = built.listed.number;
                    draft.memtable.apply(change, &[Step::SegmentDeath { segment, ordinal }]);
                }
                draft.segments.insert(at.unwrap_or(0), Arc::new(output));
            }
        }
        draft.commit(self, &mut writer)
    }

    /// The output as the catalog will list it; none if all of it has died meanwhile.
    fn draft_output(
        &self,
        writer: &mut Writer,
        draft: &mut Draft,
        built: &Built,
        carried: &[u32],
    ) -> Result<Option<LiveSegment>> {
        let output = draft.open_built(self, built)?;
        if carried.is_empty() {
            return Ok(Some(output));
        }
        let mut bits = Bits::new(built.docs);
        carried.iter().for_each(|ordinal| bits.set(*ordinal));
        if bits.count() == built.docs {
            draft.discard(&output.file);
            return Ok(None);
        }
        draft.with_dead(self, writer, &output, &bits).map(Some)
    }
}

impl Compaction {
    /// How far it is, in documents.
    fn progress(&self) -> Progress {
        let total = self.inputs.iter().map(|live| u64::from(live.entry.docs)).sum();
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

/// Where the documents of the inputs lie in the output: by rank among those that were live when
/// the compaction began, never by key.
struct Ranks {
    /// Per input: how many documents of earlier inputs are in the output.
    bases: Vec<u32>,
    /// Per input: how many of its documents were dead before every 1,024th.
    dead_before: Vec<Vec<u32>>,
}

impl Ranks {
    fn of(inputs: &[Arc<LiveSegment>]) -> Result<Self> {
        let mut ranks = Self { bases: Vec::new(), dead_before: Vec::new() };
        let mut base = 0;
        for input in inputs {
            ranks.bases.push(base);
            base += input.entry.docs - input.entry.dead;
            let mut before = Vec::new();
            let mut dead = 0;
            for ordinal in 0..input.entry.docs {
                if ordinal % RANK_STRIDE == 0 {
                    before.push(dead);
                }
                dead += u32::from(input.is_dead(ordinal)?);
            }
            ranks.dead_before.push(before);
        }
        Ok(ranks)
    }

    /// The place in the output of a document that was live when the compaction began.
    fn rank(&self, inputs: &[Arc<LiveSegment>], input: usize, ordinal: u32) -> Result<u32> {
        let begin = ordinal - ordinal % RANK_STRIDE;
        let mut dead = self.dead_before[input][index(ordinal / RANK_STRIDE)];
        for earlier in begin..ordinal {
            dead += u32::from(inputs[input].is_dead(earlier)?);
        }
        Ok(self.bases[input] + ordinal - dead)
    }
}

/// Documents of the output that flushes have found dead since the compaction began.
fn deaths_since(
    inputs: &[Arc<LiveSegment>],
    ranks: &Ranks,
    now: &[Arc<LiveSegment>],
) -> Result<Vec<u32>> {
    let mut carried = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        let current = now.iter().find(|live| live.number() == input.number());
        let Some(current) = current else { continue };
        if current.entry.dead_file == input.entry.dead_file {
            continue;
        }
        for ordinal in 0..input.entry.docs {
            if current.is_dead(ordinal)? && !input.is_dead(ordinal)? {
                carried.push(ranks.rank(inputs, at, ordinal)?);
            }
        }
    }
    Ok(carried)
}

/// Documents of the output that have died since the last flush, with the change they died at.
fn deaths_above_floor(
    inputs: &[Arc<LiveSegment>],
    ranks: &Ranks,
    memtable: &Memtable,
) -> Result<Vec<(u32, u64)>> {
    let content = memtable.read();
    let mut deaths = Vec::new();
    for (segment, ordinal, change) in content.segment_deaths() {
        if let Some(at) = inputs.iter().position(|input| input.number() == segment) {
            deaths.push((ranks.rank(inputs, at, ordinal)?, change));
        }
    }
    Ok(deaths)
}
