//! The merge machine: the only code that makes segments. A flush merges the memtable; a compaction
//! merges segments.
//!
//! A merge copies the live documents of its inputs in order, section by section, then builds the
//! tables. It can be interrupted at any point. It does not know whether it serves a flush or a
//! compaction, and commits nothing.

use crate::Result;
use crate::format::bytes::index;
use crate::format::catalog::SegmentEntry;
use crate::index::state::running::{Input, Merge};
use crate::memtable::Content;
use crate::segment::{BuildPhase, Builder};
use std::ops::Range;

/// Number of memtable documents that are copied each time the memtable's lock is taken.
const DOCS_PER_HOLD: usize = small!(merging::DOCS_PER_HOLD, 256);
/// Maximum number of signatures that are copied at once.
const RUN_DOCS_MAX: u32 = small!(merging::RUN_DOCS_MAX, 8192);
/// Number of copied bytes after which the pages of the inputs are released. Queries use the same
/// pages and map them again, so that this must not happen often.
const RELEASED_BYTES: usize = small!(merging::RELEASED_BYTES, 64 << 20);

impl Input {
    /// The number of positions to visit: indices into `live` for a memtable, ordinals for a
    /// segment.
    fn positions(&self) -> usize {
        match self {
            Self::Memtable { live, .. } => live.len(),
            Self::Segment { live, .. } => index(live.entry.docs),
        }
    }

    /// The number of documents that the input contributes to the merge.
    pub(crate) fn live_count(&self) -> u32 {
        match self {
            Self::Memtable { live, .. } => u32::try_from(live.len()).unwrap_or(u32::MAX),
            Self::Segment { ranks, .. } => ranks.live(),
        }
    }
}

impl Merge {
    /// Starts a merge of inputs with at least one live document. `builder` expects as many
    /// documents as the inputs contribute.
    pub(crate) fn begin(builder: Builder, inputs: Vec<Input>) -> Self {
        Self { inputs, builder, input: 0, position: 0, unreleased: 0 }
    }

    /// Does about `budget` bytes of work. Returns true if everything is done but `finish`.
    pub(crate) fn step(&mut self, budget: usize) -> Result<bool> {
        match self.copy(budget)? {
            Some(left) => self.builder.step(left.max(1)),
            None => Ok(false),
        }
    }

    /// Copies sections. Returns the budget left when all sections are copied, or `None` if the
    /// budget was used up before.
    pub(in crate::index) fn copy(&mut self, budget: usize) -> Result<Option<usize>> {
        let mut left = budget;
        while self.builder.phase() != BuildPhase::Tables {
            if left == 0 {
                return Ok(None);
            }
            let (phase, input) = (self.builder.phase(), &self.inputs[self.input]);
            let moved = copy(&mut self.builder, phase, input, &mut self.position, left)?;
            left = left.saturating_sub(moved);
            self.unreleased += moved;
            if self.builder.phase() != phase {
                (self.input, self.position) = (0, 0);
            } else if self.position == input.positions() {
                (self.input, self.position) = (self.input + 1, 0);
            }
        }
        Ok(Some(left))
    }

    /// Whether so much was copied, or all that there is, that the mapped pages of the inputs are to
    /// be released. Tables are built without the inputs.
    pub(crate) fn is_release_due(&mut self) -> bool {
        let is_copied = self.builder.phase() == BuildPhase::Tables;
        let is_due = self.unreleased >= RELEASED_BYTES || is_copied && self.unreleased > 0;
        if is_due {
            self.unreleased = 0;
        }
        is_due
    }

    /// Publishes the segment.
    pub(crate) fn finish(self) -> Result<SegmentEntry> {
        self.builder.finish()
    }

    /// The fraction done, from 0 to 1: half of the work is copying, the other half the tables.
    pub(crate) fn share_done(&self) -> f64 {
        let pass = match self.builder.phase() {
            BuildPhase::Signatures => 0.0,
            BuildPhase::Documents => 1.0,
            BuildPhase::Times => 2.0,
            BuildPhase::ShingleCounts => 3.0,
            BuildPhase::Tables => return 0.5 + 0.5 * self.builder.share_done(),
        };
        let all: usize = self.inputs.iter().map(Input::positions).sum();
        let before: usize = self.inputs[..self.input].iter().map(Input::positions).sum();
        (pass + (before + self.position) as f64 / all.max(1) as f64) / 8.0
    }
}

/// Copies from `position` on until the budget is used up or the input ends. Returns the number of
/// bytes copied.
fn copy(
    builder: &mut Builder,
    phase: BuildPhase,
    input: &Input,
    position: &mut usize,
    budget: usize,
) -> Result<usize> {
    let mut moved = 0;
    match input {
        Input::Memtable { memtable, live } => {
            while moved < budget && *position < live.len() {
                moved += copy_some(builder, phase, &memtable.read(), live, position)?;
            }
        }
        Input::Segment { live, ranks } => {
            let docs = live.entry.docs;
            let mut next = u32::try_from(*position).unwrap_or(u32::MAX);
            while moved < budget {
                let ordinal = ranks.seek(next, false);
                next = ordinal;
                if ordinal == docs {
                    break;
                }
                next += 1;
                let segment = &live.segment;
                moved += match phase {
                    BuildPhase::Signatures => {
                        let end = ranks.seek(ordinal, true).min(ordinal + RUN_DOCS_MAX);
                        next = end;
                        let run = planted!(
                            FullRunShifted,
                            if end - ordinal == RUN_DOCS_MAX && ordinal > 0 {
                                ordinal - 1..end - 1
                            } else {
                                ordinal..end
                            },
                            ordinal..end
                        );
                        builder.push_signatures(&segment.signatures(run)?)?
                    }
                    BuildPhase::Documents => {
                        let stored = segment.document(ordinal)?;
                        builder.push_document(&stored.key, &stored.payload)?
                    }
                    BuildPhase::Times => builder.push_time(segment.time(ordinal)?)?,
                    BuildPhase::ShingleCounts | BuildPhase::Tables => {
                        builder.push_shingle_count(segment.shingle_count(ordinal)?)?
                    }
                };
            }
            *position = index(next);
        }
    }
    Ok(moved)
}

/// Copies some documents from `position` on. Returns the number of bytes copied. The caller holds
/// the memtable's lock for these documents and for the file writes that they cause. Between two
/// calls writers can proceed: during a backup they still use this memtable.
fn copy_some(
    builder: &mut Builder,
    phase: BuildPhase,
    content: &Content,
    live: &[u32],
    position: &mut usize,
) -> Result<usize> {
    let rest = &live[*position..];
    if phase == BuildPhase::Signatures {
        let run = run(rest);
        *position += run.len();
        return builder.push_signatures(content.signatures(run));
    }
    let some = &rest[..rest.len().min(DOCS_PER_HOLD)];
    *position += some.len();
    let mut moved = 0;
    for &ordinal in some {
        moved += match phase {
            BuildPhase::Documents => {
                builder.push_document(content.key(ordinal), content.payload(ordinal))?
            }
            BuildPhase::Times => builder.push_time(content.time(ordinal))?,
            _ => builder.push_shingle_count(content.shingle_count(ordinal))?,
        };
    }
    Ok(moved)
}

/// The first run of consecutive ordinals, up to a maximum length.
pub(in crate::index) fn run(live: &[u32]) -> Range<u32> {
    let Some(first) = live.first().copied() else { return 0..0 };
    let follows = |(ordinal, expected): &(&u32, u32)| **ordinal == *expected;
    let most = first.saturating_add(RUN_DOCS_MAX);
    first..live.iter().zip(first..most).take_while(follows).last().map_or(first, |(_, at)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::{Memtable, NewDocument, Step};
    use crate::segment::Shape;
    use crate::storage::{Disk, Storage};
    use crate::sync::Arc;

    const SHAPE: Shape = Shape {
        signature_bytes: 16,
        band_bytes: 4,
        bands: 3,
        key_seed: 7,
        uuid: [1; 16],
        params_id: 5,
    };

    /// Queries map the pages of the inputs again: releasing them at each step, and while tables are
    /// built, took half of the processor time.
    #[test]
    fn pages_are_released_while_the_inputs_are_copied_and_seldom() {
        let memtable = Memtable::new(SHAPE.signature_bytes, SHAPE.bands, 11, 0);
        for at in 0..500_u32 {
            let document = NewDocument {
                key: &at.to_le_bytes(),
                payload: b"",
                time: 0,
                shingle_count: 1,
                signature: &[at.to_le_bytes()[0]; 16],
                table_keys: &[0, 0, 0, u64::from(at)],
            };
            memtable.apply(1, &[Step::Birth(document)]);
        }
        let folder = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(Disk::default());
        let path = folder.path().join("a.seg");
        let builder = Builder::create(&storage, &path, 3, &SHAPE, 500, 1 << 10, 1 << 18).unwrap();
        let live: Arc<[u32]> = (0..500).collect();
        let input = Input::Memtable { memtable: Arc::new(memtable), live };
        let mut merge = Merge::begin(builder, vec![input]);
        // In each phase: steps, and how often pages are released.
        let (mut copying, mut building) = ((0, 0), (0, 0));
        let mut is_done = false;
        while !is_done {
            let was_copying = merge.builder.phase() != BuildPhase::Tables;
            is_done = merge.step(200).unwrap();
            let phase = if was_copying { &mut copying } else { &mut building };
            phase.0 += 1;
            phase.1 += usize::from(merge.is_release_due());
        }
        // 34 bytes for each document, and 5,000 between two releases; and one at the end.
        assert_eq!(copying.1, 500 * 34 / RELEASED_BYTES + 1, "{copying:?}");
        assert!(copying.0 > 5 * copying.1, "{copying:?}");
        assert!(building.0 > 10 && building.1 == 0, "{building:?}");
    }
}
