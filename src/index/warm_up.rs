//! What queries will touch first, checked before they do: the maintenance thread's work on segments
//! that were opened, and on those that were too long to be read back when they were made.
//!
//! Changes no answer, only who waits for the first look at a block. Maintenance goes first. With
//! one processor, too: the scheduler shares it between queries and this thread for a few seconds;
//! otherwise every query would check its own blocks.

use crate::index::core::Core;
use crate::index::state::HeldFile;
use crate::segment::Segment;
use crate::sync::{Arc, Weak};
use std::time::Duration;

/// Steps, of some 30 us at most, between two looks at the clock.
const STEPS_TOGETHER: usize = if cfg!(test) { 4 } else { 64 };

/// Which blocks are left to be looked at.
#[derive(Debug, Default)]
pub(crate) struct WarmUp {
    /// Not held: what a merge replaces meanwhile may go. With the file, which must not go while its
    /// segment is looked at.
    segments: Vec<(Weak<Segment>, Weak<HeldFile>)>,
    /// Where those of the last segment end that were not looked at; at first that is not known.
    end: Option<usize>,
    /// The numbers of those that were there when it was last looked: each is gone through once.
    entered: Vec<u64>,
}

impl WarmUp {
    /// Goes on, also with what is new, until nothing is left, or somebody rings, or it is time for
    /// maintenance to look after the index unasked. Whether there was anything to do.
    pub(crate) fn go_on(&mut self, core: &Core, patience: Duration) -> bool {
        self.enter_new(core);
        if self.segments.is_empty() {
            return false;
        }
        let now = || (core.options.clock)();
        let begin = now();
        while !self.segments.is_empty() {
            for _ in 0..STEPS_TOGETHER {
                if core.alarm.is_rung() {
                    return true;
                }
                self.step();
            }
            // Also if the clock was set back.
            if u128::from(now().wrapping_sub(begin)) >= patience.as_millis() {
                return true;
            }
        }
        true
    }

    /// Takes a few steps, some 4 ms, on a thread that serves other indexes, too. Whether there was
    /// anything to do.
    #[cfg(not(all(shuttle, test)))]
    pub(crate) fn go_on_briefly(&mut self, core: &Core) -> bool {
        self.enter_new(core);
        if self.segments.is_empty() {
            return false;
        }
        for _ in 0..2 * STEPS_TOGETHER {
            if core.alarm.is_rung() {
                break;
            }
            self.step();
        }
        true
    }

    fn enter_new(&mut self, core: &Core) {
        let state = core.state();
        // Not by the greatest number: what a compaction makes was numbered when it began.
        for live in state.segments.iter().filter(|live| !self.entered.contains(&live.number())) {
            self.segments.push((Arc::downgrade(&live.segment), Arc::downgrade(&live.file)));
        }
        self.entered = state.segments.iter().map(|live| live.number()).collect();
    }

    /// Looks at a few blocks.
    fn step(&mut self) {
        let Some((segment, file)) = self.segments.last() else { return };
        // Held until the segment is let go.
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

#[cfg(test)]
mod tests {
    use crate::index::options::Maintenance;
    use crate::index::state::LiveSegment;
    use crate::segment::Segment;
    use crate::storage::Storage;
    use crate::storage::sim::Sim;
    use crate::sync::Arc;
    use crate::{Batch, Index, Options, Params, Sketcher};
    use std::path::Path;
    use std::time::Duration;

    /// Which blocks were checked.
    fn checked(segment: &Segment) -> Vec<bool> {
        (0..segment.block_count()).map(|block| segment.is_verified(block)).collect()
    }

    /// An index of two segments of several hundred blocks, with nobody who checks unasked.
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

    /// How many blocks of all segments were checked.
    fn count(index: &Index) -> usize {
        let of = |segment: &Segment| checked(segment).iter().filter(|checked| **checked).count();
        index.core().state().segments.iter().map(|live| of(&live.segment)).sum()
    }

    #[test]
    fn maintenance_goes_first_and_nothing_is_gone_through_twice() {
        let index = two_segments(&(Arc::new(Sim::new()) as Arc<dyn Storage>));
        let core = index.core();
        let mut ahead = super::WarmUp::default();
        core.alarm.ring();
        assert!(ahead.go_on(core, Duration::MAX));
        assert_eq!(count(&index), 0, "somebody had rung");
        assert!(core.alarm.wait(Duration::ZERO), "not to stop");
        // It is always time for maintenance: some steps, each time.
        let mut rounds = vec![0];
        while ahead.go_on(core, Duration::ZERO) {
            rounds.push(count(&index));
            assert!(rounds.len() < 100, "it comes to an end: {rounds:?}");
        }
        assert!(rounds.is_sorted() && rounds[1] > 0, "{rounds:?}");
        let all = count(&index);
        assert!(!ahead.go_on(core, Duration::MAX) && ahead.segments.is_empty());
        assert_eq!(count(&index), all);
        // What is new is entered, and what is gone is let go.
        let before = ahead.entered.clone();
        index.compact().unwrap();
        ahead.enter_new(core);
        assert!(ahead.entered != before && ahead.segments.len() == 1);
        // Also with a number below one that was entered before.
        ahead.segments.clear();
        ahead.entered = vec![u64::MAX];
        ahead.enter_new(core);
        assert_eq!(ahead.segments.len(), 1);
        index.remove_before(u64::MAX).unwrap();
        index.compact().unwrap();
        assert!(core.state().segments.is_empty());
        assert!(core.alarm.wait(Duration::ZERO), "a flush has rung");
        assert!(ahead.go_on(core, Duration::MAX) && !ahead.go_on(core, Duration::MAX));
        index.close().unwrap();
    }

    #[test]
    fn after_opening_what_is_in_memory_is_checked_unasked() {
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        // By hand, what is to be expected.
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
