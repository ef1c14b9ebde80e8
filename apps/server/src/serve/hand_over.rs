//! Which requests are handed to threads that may block although their work may be brief.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Brief work that took longer has probably waited for the disk: the next requests are handed over.
const BRIEF_TIME_MAX: Duration = Duration::from_micros(500);

/// Number of requests that are handed over after that.
const HANDED_OVER: u32 = 32;

/// What is known of brief work.
#[derive(Debug)]
pub(super) struct HandOver {
    /// Number of requests that are still handed over.
    left: AtomicU32,
    running: AtomicUsize,
    /// One thread of the runtime is always left for what does not block.
    running_max: usize,
}

/// Brief work that is running.
pub(super) struct RunningBrief<'a>(&'a HandOver);

impl Drop for RunningBrief<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HandOver {
    pub(super) fn new() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self::of_threads(threads)
    }

    fn of_threads(threads: usize) -> Self {
        let (left, running) = (AtomicU32::default(), AtomicUsize::default());
        Self { left, running, running_max: threads - 1 }
    }

    /// Begins brief work. `None` if the request is handed over; counts it.
    pub(super) fn begin(&self) -> Option<RunningBrief<'_>> {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            // Two requests at once may count as one.
            self.left.store(left - 1, Ordering::Relaxed);
            return None;
        }
        let before = self.running.fetch_add(1, Ordering::Relaxed);
        let running = RunningBrief(self);
        (before < self.running_max).then_some(running)
    }

    /// Notes how long brief work took.
    pub(super) fn note(&self, took: Duration) {
        if took > BRIEF_TIME_MAX {
            self.left.store(HANDED_OVER, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_handed_over_for_a_while_after_a_long_one() {
        let hand_over = HandOver::of_threads(2);
        hand_over.note(BRIEF_TIME_MAX);
        assert!(hand_over.begin().is_some());
        hand_over.note(BRIEF_TIME_MAX * 2);
        assert_eq!((0..100).filter(|_| hand_over.begin().is_none()).count(), 32);
    }

    #[test]
    fn one_thread_is_left_for_what_does_not_block() {
        let hand_over = HandOver::of_threads(3);
        let (one, other) = (hand_over.begin(), hand_over.begin());
        assert!(one.is_some() && other.is_some() && hand_over.begin().is_none());
        drop(one);
        assert!(hand_over.begin().is_some());
        assert!(HandOver::of_threads(1).begin().is_none());
    }
}
