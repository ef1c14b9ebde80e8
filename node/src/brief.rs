//! Which awaited queries run at once: those that take less time than handing them to the pool.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use napi::bindgen_prelude::Either;

/// The recent brief queries of a handle.
#[derive(Default)]
pub(crate) struct Brief {
    /// Number of queries that are handed over, because one took long.
    handed_over: AtomicU32,
    /// Number of queries since the last one that was handed over.
    at_once: AtomicU32,
}

impl Brief {
    /// Maximum number of candidates of a brief query.
    pub(crate) const CANDIDATES_MAX: usize = 1_024;

    /// Maximum size of a text that is searched for at once, in bytes.
    const TEXT_BYTES_MAX: usize = 4 << 10;

    /// A query that took longer is not brief, or has waited for the disk.
    const TIME_MAX: Duration = Duration::from_micros(100);

    /// Number of queries that are handed over after that.
    const HANDED_OVER: u32 = 32;

    /// After so many queries at once, the next is handed over: a loop that awaits one query after
    /// the other must not keep the event loop from other work.
    const AT_ONCE_MAX: u32 = 15;

    /// Whether a query is handed over. Counts it.
    pub(crate) fn is_refused(&self, given: &Either<String, u32>, settings: &str) -> bool {
        let is_long = matches!(given, Either::A(text) if text.len() > Self::TEXT_BYTES_MAX);
        // Bounds of the caller: only they decide whether the answer is complete.
        let is_bounded =
            ["max_candidates", "deadline_ms"].iter().any(|name| settings.contains(name));
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed);
        let left = self.handed_over.load(Ordering::Relaxed);
        if at_once >= Self::AT_ONCE_MAX || left > 0 || is_long || is_bounded {
            self.at_once.store(0, Ordering::Relaxed);
            self.handed_over.store(left.saturating_sub(1), Ordering::Relaxed);
            return true;
        }
        false
    }

    /// Notes how long a query took.
    pub(crate) fn took(&self, took: Duration) {
        if took > Self::TIME_MAX {
            self.handed_over.store(Self::HANDED_OVER, Ordering::Relaxed);
        }
    }
}
