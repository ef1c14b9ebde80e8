//! What queries will touch first, checked before they do: the background thread's work after
//! opening, and after a compaction that was too long to be read back. Everything else goes first.
//!
//! Changes no answer, only who waits for the first look at a block.

use crate::index::core::Core;
use crate::segment::Segment;
use crate::sync::{Arc, Weak};
use std::time::Duration;

/// The blocks that are left to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Not held: what a merge replaces meanwhile may go.
    segments: Vec<Weak<Segment>>,
    /// Where those of the last segment end that were not looked at; at first that is not known.
    end: Option<usize>,
    bytes: Vec<u8>,
}

impl Ahead {
    /// All blocks of what there is now; the newest segment first.
    pub(crate) fn of(core: &Core) -> Self {
        let segments = &core.state().segments;
        let segments = segments.iter().map(|live| Arc::downgrade(&live.segment)).collect();
        Self { segments, ..Self::default() }
    }

    /// Goes on until nothing is left, which is true then, or somebody rings, or it is time for
    /// maintenance to look after the index unasked.
    pub(crate) fn go_on(&mut self, core: &Core, patience: Duration) -> bool {
        let begin = (core.options.clock)();
        // Also if the clock was set back.
        let is_early =
            || u128::from((core.options.clock)().wrapping_sub(begin)) < patience.as_millis();
        while !self.step() {
            if core.alarm.is_rung() || !is_early() {
                return false;
            }
        }
        true
    }

    /// Looks at a few blocks; whether none is left.
    fn step(&mut self) -> bool {
        let Some(last) = self.segments.last() else {
            self.bytes = Vec::new();
            return true;
        };
        let left = last.upgrade().map_or(0, |segment| {
            let end = self.end.unwrap_or_else(|| segment.blocks_ahead());
            segment.check_ahead(end, &mut self.bytes)
        });
        self.end = Some(left);
        if left == 0 {
            self.segments.pop();
            self.end = None;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::index::options::Maintenance;
    use crate::index::read::state::LiveSegment;
    use crate::segment::Segment;
    use crate::storage::Storage;
    use crate::storage::sim::Sim;
    use crate::sync::Arc;
    use crate::{Batch, Index, Options, Params, Sketcher};
    use std::path::Path;
    use std::time::Duration;

    /// All blocks that the next touch need not look at.
    fn checked(segment: &Segment) -> Vec<bool> {
        (0..segment.blocks_ahead()).map(|block| segment.is_checked(block)).collect()
    }

    #[test]
    fn after_opening_what_is_in_memory_is_checked_unasked() {
        let sim: Arc<dyn Storage> = Arc::new(Sim::new());
        let dir = Path::new("index");
        let params = Params::for_threshold(0.7).build().unwrap();
        let sketcher = Sketcher::new(&params);
        let options = |maintenance| Options::default().maintenance(maintenance);
        let inline = options(Maintenance::Inline);
        let index = Index::create_on(sim.clone(), dir, &params, inline.clone()).unwrap();
        // Two segments of several hundred blocks.
        for first in [0, 2_000] {
            let keys = (first..first + 2_000_u32).map(u32::to_le_bytes);
            let insert = |batch: Batch, key: [u8; 4]| {
                batch.insert(key, &sketcher.text(&format!("text {key:?}")).unwrap())
            };
            index.write(keys.fold(Batch::new(), insert)).unwrap();
            index.flush().unwrap();
        }
        index.close().unwrap();
        // By hand, what is to be expected; nobody checks unasked there.
        let index = Index::open_on(sim.clone(), dir, inline).unwrap();
        let mut bytes = Vec::new();
        let by_hand = |live: &Arc<LiveSegment>| {
            assert!(!checked(&live.segment).contains(&true));
            let mut end = live.segment.blocks_ahead();
            while end > 0 {
                end = live.segment.check_ahead(end, &mut bytes);
            }
            checked(&live.segment)
        };
        let expected: Vec<_> = index.core().state().segments.iter().map(by_hand).collect();
        assert_eq!(expected.len(), 2);
        assert!(expected.iter().all(|checked| checked.contains(&true)), "{expected:?}");
        index.close().unwrap();
        let index = Index::open_on(sim, dir, options(Maintenance::Background)).unwrap();
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
