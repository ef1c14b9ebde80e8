//! When a maintenance thread looks at an index again, and when an index is idle.

use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Options};
use std::time::{Duration, Instant};

/// How long a maintenance thread pauses so that a waiting writer can take over the compaction.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// Time since the last write after which an index is idle, and the interval of the check.
#[cfg(not(all(shuttle, test)))]
pub(crate) const IDLE_PAUSE: Duration = Duration::from_millis(50);

/// Maximum sleep of a maintenance thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// Maximum time between two steps without a wakeup: interval syncs, expiry and the horizon are
/// delayed by at most this.
pub(crate) fn patience(options: &Options) -> Duration {
    match options.durability {
        Durability::Interval(interval) => interval.clamp(Duration::from_millis(1), PATIENCE),
        _ => PATIENCE,
    }
}

/// Detects that an index has not been written to for a while.
#[derive(Debug)]
#[cfg(not(all(shuttle, test)))]
pub(crate) struct Quiet {
    /// The last change seen, and the time when it was first seen.
    change: u64,
    since: Instant,
}

#[cfg(not(all(shuttle, test)))]
impl Quiet {
    /// Starts with the current last change.
    pub(crate) fn begin(core: &Core) -> Self {
        Self { change: core.snapshot().visible, since: Instant::now() }
    }

    /// The last change, if it is old enough for the index to be idle; otherwise the time of the
    /// next check.
    pub(crate) fn look(&mut self, core: &Core) -> std::result::Result<u64, Instant> {
        let (now, change) = (Instant::now(), core.snapshot().visible);
        if change != self.change {
            *self = Self { change, since: now };
        }
        let due = self.since + IDLE_PAUSE;
        if now < due { Err(due) } else { Ok(change) }
    }
}

/// The schedule explorer has no time, so no index is idle.
#[derive(Debug)]
#[cfg(all(shuttle, test))]
pub(crate) struct Quiet;

#[cfg(all(shuttle, test))]
impl Quiet {
    pub(crate) fn begin(_: &Core) -> Self {
        Self
    }

    pub(crate) fn look(&mut self, _: &Core) -> std::result::Result<u64, Instant> {
        Err(Instant::now() + PATIENCE)
    }
}
