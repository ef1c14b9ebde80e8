//! Warm-up: the maintenance thread verifies resident blocks before queries need them. It covers
//! segments that were opened, and new segments that are too long to be read back.
//!
//! The warm-up changes no answer; it only moves the cost of the first access to a block.
//! Maintenance has priority. The warm-up also runs if there is only one processor. It then competes
//! with queries for a few seconds; but without it, queries would verify these blocks themselves.

use crate::index::state::core::Core;
use crate::index::state::versions::{HeldFile, LiveSegment};
use crate::segment::Segment;
use crate::sync::{Arc, Weak};

/// Maximum number of steps of one turn. A step takes about 30 us at most.
const STEPS_MAX: usize = small!(warm_up::STEPS_MAX, 128);

/// The blocks left to examine.
#[derive(Debug, Default)]
pub(crate) struct WarmUp {
    /// The segments left, each with its file. The references are weak, so that segments replaced by
    /// a merge can be deleted.
    segments: Vec<(Weak<Segment>, Weak<HeldFile>)>,
    /// In the last segment, the blocks below this number are left to examine; `None` before its
    /// first step.
    end: Option<usize>,
    /// The numbers of the segments at the last check: each segment is warmed up only once.
    entered: Vec<u64>,
}

impl WarmUp {
    /// Continues the warm-up, also of new segments, for about 4 ms, or until maintenance is woken.
    /// Returns whether there was anything to do.
    pub(crate) fn go_on(&mut self, core: &Core) -> bool {
        self.enter_new(core);
        if self.segments.is_empty() {
            return false;
        }
        for _ in 0..STEPS_MAX {
            if core.wakeup.is_woken() {
                break;
            }
            self.step();
        }
        true
    }

    fn enter_new(&mut self, core: &Core) {
        if !core.options.keep_mapped {
            return;
        }
        let state = core.state();
        // A segment is new if its number is not in `entered`. Comparing with the largest number is
        // not enough: the output of a compaction got its number when the compaction started.
        for live in state.segments.iter().filter(|live| !self.entered.contains(&live.number())) {
            self.segments.push((Arc::downgrade(&live.segment), Arc::downgrade(&live.file)));
        }
        self.entered = state.segments.iter().map(|live| live.number()).collect();
    }

    /// Examines a few blocks.
    fn step(&mut self) {
        let Some((segment, file)) = self.segments.last() else { return };
        // Keeps the file from being deleted until the segment is released.
        let file = file.upgrade();
        let left = segment.upgrade().filter(|_| file.is_some()).map_or(0, |segment| {
            let end = self.end.unwrap_or_else(|| segment.warm_up_end());
            segment.warm_up(end)
        });
        self.end = Some(left);
        if left == 0 {
            self.segments.pop();
            self.end = None;
        }
    }
}

/// Starts read-ahead of the directories of the `wanted` segments: every query reads them first.
pub(crate) fn request_directories(core: &Core, wanted: impl Fn(&LiveSegment) -> bool) {
    for live in core.state().segments.iter().filter(|live| wanted(live)) {
        live.segment.request_directories();
    }
}

#[cfg(test)]
mod tests {
    use crate::index::state::options::Maintenance;
    use crate::index::state::versions::LiveSegment;
    use crate::segment::Segment;
    use crate::storage::Storage;
    use crate::sync::Arc;
    use crate::testing::sim::Sim;
    use crate::{Batch, Index, Options, Params, Sketcher};
    use std::path::Path;
    use std::time::Duration;

    /// For each block, whether it was verified.
    fn checked(segment: &Segment) -> Vec<bool> {
        (0..segment.block_count()).map(|block| segment.is_verified(block)).collect()
    }

    /// An index of two segments of several hundred blocks, without a maintenance thread.
    fn two_segments(sim: &Arc<dyn Storage>) -> Index {
        let dir = Path::new("index");
        let params = Params::for_threshold(0.7).build().unwrap();
        let sketcher = Sketcher::new(&params);
        let index =
            Index::create_on(sim.clone(), dir, &params, options(Maintenance::Inline)).unwrap();
        for first in [0, 2_000] {
            let keys = (first..first + 2_000_u32).map(u32::to_le_bytes);
            let insert = |batch: Batch, key: [u8; 4]| {
                batch.insert(key, &sketcher.text(&format!("text {key:?}")).unwrap())
            };
            index.write(keys.fold(Batch::new(), insert)).unwrap();
            index.flush().unwrap();
        }
        index.close().unwrap();
        Index::open_on(sim.clone(), dir, options(Maintenance::Inline)).unwrap()
    }

    fn options(maintenance: Maintenance) -> Options {
        Options::default().maintenance(maintenance)
    }

    /// The number of verified blocks in all segments.
    fn count(index: &Index) -> usize {
        let of = |segment: &Segment| checked(segment).iter().filter(|checked| **checked).count();
        index.core().state().segments.iter().map(|live| of(&live.segment)).sum()
    }

    #[test]
    fn maintenance_goes_first_and_nothing_is_gone_through_twice() {
        let index = two_segments(&(Arc::new(Sim::new()) as Arc<dyn Storage>));
        let core = index.core();
        let mut ahead = super::WarmUp::default();
        core.wakeup.wake();
        assert!(ahead.go_on(core));
        assert_eq!(count(&index), 0, "woken before the test");
        assert_eq!(core.wakeup.take(), Some(true), "not to stop");
        // Each call does only some steps.
        let mut rounds = vec![0];
        while ahead.go_on(core) {
            rounds.push(count(&index));
            assert!(rounds.len() < 100, "it comes to an end: {rounds:?}");
        }
        assert!(rounds.is_sorted() && rounds[1] > 0, "{rounds:?}");
        let all = count(&index);
        assert!(!ahead.go_on(core) && ahead.segments.is_empty());
        assert_eq!(count(&index), all);
        // New segments are entered, and deleted ones are dropped.
        let before = ahead.entered.clone();
        index.compact().unwrap();
        ahead.enter_new(core);
        assert!(ahead.entered != before && ahead.segments.len() == 1);
        // A segment is entered even if its number is lower than one that was entered before.
        ahead.segments.clear();
        ahead.entered = vec![u64::MAX];
        ahead.enter_new(core);
        assert_eq!(ahead.segments.len(), 1);
        index.remove_before(u64::MAX).unwrap();
        index.compact().unwrap();
        assert!(core.state().segments.is_empty());
        assert_eq!(core.wakeup.take(), Some(true), "a flush wakes it");
        assert!(ahead.go_on(core) && !ahead.go_on(core));
        index.close().unwrap();
    }

    #[test]
    fn after_opening_what_is_in_memory_is_checked_unasked() {
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        // The expected result, from calling `Segment::warm_up` directly.
        let index = two_segments(&sim);
        let by_hand = |live: &Arc<LiveSegment>| {
            assert!(!checked(&live.segment).contains(&true));
            let mut end = live.segment.warm_up_end();
            while end > 0 {
                end = live.segment.warm_up(end);
            }
            checked(&live.segment)
        };
        let expected: Vec<_> = index.core().state().segments.iter().map(by_hand).collect();
        assert_eq!(expected.len(), 2);
        assert!(expected.iter().all(|checked| checked.contains(&true)), "{expected:?}");
        index.close().unwrap();
        let options = options(Maintenance::Background);
        let index = Index::open_on(sim, Path::new("index"), options).unwrap();
        let state = index.core().state();
        let all = || state.segments.iter().map(|live| checked(&live.segment)).collect::<Vec<_>>();
        for _ in 0..10_000 {
            if all() == expected {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(all(), expected);
        index.close().unwrap();
    }
}
