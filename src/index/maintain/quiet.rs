//! When a maintenance thread looks at an index again, and when an index is idle.

use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Options};
use crate::sync::OnceLock;
use std::time::{Duration, Instant};

/// Whether the schedule explorer runs the threads. It has no time: the clock of maintenance stands
/// still, no index is idle, and a pause only gives others a turn.
const IS_EXPLORED: bool = cfg!(all(shuttle, test));

/// How long a maintenance thread pauses so that a waiting writer can take over the compaction.
pub(crate) const TURN: Duration = Duration::from_millis(if IS_EXPLORED { 0 } else { 1 });

/// Time since the last write after which an index is idle, and the interval of the check.
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

/// The time of maintenance.
pub(crate) fn now() -> Instant {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    if IS_EXPLORED { *BEGIN.get_or_init(Instant::now) } else { Instant::now() }
}

/// Detects that an index has not been written to for a while.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// The last change seen, and the time when it was first seen.
    change: u64,
    since: Instant,
}

impl Quiet {
    /// Starts with the current last change.
    pub(crate) fn begin(core: &Core) -> Self {
        Self { change: core.snapshot().visible, since: now() }
    }

    /// The last change, if it is old enough for the index to be idle; otherwise the time of the
    /// next check.
    pub(crate) fn look(&mut self, core: &Core) -> std::result::Result<u64, Instant> {
        let (now, change) = (now(), core.snapshot().visible);
        if change != self.change {
            *self = Self { change, since: now };
        }
        let due = self.since + IDLE_PAUSE;
        if now < due { Err(due) } else { Ok(change) }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::index::state::options::Maintenance;
    use crate::{Index, Params};

    fn index() -> Index {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let options = Options::default().maintenance(Maintenance::Inline);
        Index::temporary(&params, options).expect("a disk with room")
    }

    fn long_ago() -> Instant {
        Instant::now().checked_sub(IDLE_PAUSE).expect("a clock that runs for a while")
    }

    #[test]
    fn an_index_is_idle_after_a_pause_and_busy_after_a_change() {
        let index = index();
        let mut quiet = Quiet::begin(index.core());
        let hour = Duration::from_secs(3_600);
        quiet.since = Instant::now() + hour;
        assert!(quiet.look(index.core()).is_err(), "the pause is not over");
        quiet.since = long_ago();
        assert_eq!(quiet.look(index.core()).expect("idle"), 0);
        let signature = index.sketcher().text("one two three four").expect("a text");
        index.insert("a", &signature).expect("a disk with room");
        assert!(quiet.look(index.core()).is_err(), "a change makes the index busy");
        quiet.since = long_ago();
        assert_eq!(quiet.look(index.core()).expect("idle again"), 1);
    }

    #[test]
    fn patience_is_the_interval_of_syncs_within_limits() {
        let patience = |durability| patience(&Options::default().durability(durability));
        assert_eq!(patience(Durability::Sync), PATIENCE);
        let interval = |millis| patience(Durability::Interval(Duration::from_millis(millis)));
        assert_eq!(interval(20), Duration::from_millis(20));
        assert_eq!(interval(0), Duration::from_millis(1));
        assert_eq!(interval(90_000), PATIENCE);
    }
}
