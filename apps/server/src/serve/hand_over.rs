//! Which requests are handed to threads that may block although their work may be brief.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Brief work that took longer has probably waited for the disk: the next requests are handed over.
const BRIEF_TIME_MAX: Duration = Duration::from_micros(500);

/// Number of requests that are handed over after that.
const HANDED_OVER: u32 = 32;

/// Number of requests that are still handed over.
#[derive(Debug, Default)]
pub(super) struct HandOver(AtomicU32);

impl HandOver {
    /// Whether a request is handed over; counts it.
    pub(super) fn is_due(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        if left > 0 {
            // Two requests at once may count as one.
            self.0.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    /// Notes how long brief work took.
    pub(super) fn note(&self, took: Duration) {
        if took > BRIEF_TIME_MAX {
            self.0.store(HANDED_OVER, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_handed_over_for_a_while_after_a_long_one() {
        let hand_over = HandOver::default();
        hand_over.note(BRIEF_TIME_MAX);
        assert!(!hand_over.is_due());
        hand_over.note(BRIEF_TIME_MAX * 2);
        assert_eq!((0..100).filter(|_| hand_over.is_due()).count(), 32);
    }
}
