//! The turns of a shared handle: what it knows of the files between two turns, and when a turn is
//! over. See `docs/reference/PROTOCOL.md`.

use super::follower::Follower;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a turn lasts at least while changes are written. So of a hundred writes of eight busy
/// processes about one waits for a turn.
const TURN: Duration = Duration::from_millis(20);
/// A turn ends when nothing was written for this time.
const IDLE_TURN: Duration = Duration::from_millis(20);
/// Time between two looks at a turn in which nothing is written.
const TICK: Duration = Duration::from_millis(5);
/// Time between two looks whether another process waits.
const LOOK: Duration = Duration::from_millis(1);

/// Whether to wait for a turn that another process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as the options say.
    Patiently,
    Never,
}

/// When a turn is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnds {
    Now,
    /// If another process waits.
    IfAwaited,
    /// Not yet: look again then.
    At(Instant),
}

/// What a shared handle keeps about its turns.
#[derive(Debug)]
pub(crate) struct Turns {
    follower: Mutex<Follower>,
    /// Held by the thread that waits for a turn, for all threads of this handle.
    pub(in crate::index) queue: Mutex<()>,
    times: Mutex<Times>,
}

/// The times of a turn, and the changes before and after it.
#[derive(Debug)]
struct Times {
    begun: Instant,
    used: Instant,
    looked: Instant,
    /// The last change before this turn.
    before: u64,
    /// The last change at the end of the last turn in which this handle wrote.
    written: u64,
}

impl Turns {
    pub(crate) fn new(follower: Follower) -> Self {
        let now = Instant::now();
        let times = Times { begun: now, used: now, looked: now, before: 0, written: 0 };
        Self { follower: Mutex::new(follower), queue: Mutex::new(()), times: Mutex::new(times) }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::index) fn follower(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the begin of a turn, and the last change before it.
    pub(in crate::index) fn note_begin(&self, change: u64) {
        let now = Instant::now();
        let mut times = self.times();
        (times.begun, times.used, times.looked) = (now, now, now);
        times.before = change;
    }

    /// Notes the end of a turn, and the last change in it.
    pub(in crate::index) fn note_end(&self, change: u64) {
        let mut times = self.times();
        if change > times.before {
            times.written = change;
        }
    }

    /// The last change at the end of the last turn in which this handle wrote.
    pub(in crate::index) fn written(&self) -> u64 {
        self.times().written
    }

    /// Notes that the turn was used now. Returns whether it is long enough to end, and it is time
    /// for a look whether another process waits.
    pub(in crate::index) fn note_use(&self) -> bool {
        let now = Instant::now();
        let mut times = self.times();
        times.used = now;
        let is_time = now >= times.begun + TURN && now >= times.looked + LOOK;
        if is_time {
            times.looked = now;
        }
        is_time
    }

    /// When a turn ends in which nothing is written.
    pub(in crate::index) fn ends(&self) -> TurnEnds {
        let (now, used) = (Instant::now(), self.times().used);
        if now >= used + IDLE_TURN {
            TurnEnds::Now
        } else if now >= used + LOOK {
            TurnEnds::IfAwaited
        } else {
            TurnEnds::At(now + TICK)
        }
    }

    /// The time of the next look after [`TurnEnds::IfAwaited`].
    pub(in crate::index) fn next_look() -> Instant {
        Instant::now() + TICK
    }
}
