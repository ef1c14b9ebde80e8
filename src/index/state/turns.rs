//! The turns of a shared handle: when it holds the lock of the index's folder, and what it knows of
//! the files between two turns.
//!
//! `files/turns.rs` begins and ends them; the functions are kept here, because the floors below call
//! them. See `docs/reference/PROTOCOL.md`.

use super::core::{Core, Writer};
use super::follower::Follower;
use super::options::Maintenance;
use crate::Result;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// How long a turn lasts at least while changes are written.
const TURN: Duration = Duration::from_millis(5);
/// A turn ends when nothing was written for this time.
const IDLE_TURN: Duration = Duration::from_millis(20);
/// Time between two looks whether another process waits.
const LOOK: Duration = Duration::from_millis(1);

/// Whether to wait for a turn that another process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as the options say.
    Patiently,
    Never,
}

/// What a shared handle needs to take turns.
pub(crate) struct Turns {
    pub(in crate::index) follower: Mutex<Follower>,
    /// Held by the thread that waits for a turn, for all threads of this handle.
    pub(in crate::index) queue: Mutex<()>,
    /// Begins a turn. Returns false if another process has one and the call does not wait for it.
    pub(in crate::index) begin: fn(&Core, Wait) -> Result<bool>,
    /// Ends the turn.
    pub(in crate::index) end: fn(&Core, &Turns, &mut Writer),
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
    pub(crate) fn new(
        follower: Follower,
        begin: fn(&Core, Wait) -> Result<bool>,
        end: fn(&Core, &Self, &mut Writer),
    ) -> Self {
        let now = Instant::now();
        let times = Times { begun: now, used: now, looked: now, before: 0, written: 0 };
        let (follower, times) = (Mutex::new(follower), Mutex::new(times));
        Self { follower, queue: Mutex::new(()), begin, end, times }
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

    /// Notes that the turn was used now. Returns whether it is to end: another process waits, and
    /// the turn was long enough.
    fn is_over(&self, core: &Core) -> bool {
        if core.options.maintenance == Maintenance::Inline {
            return true;
        }
        let now = Instant::now();
        let mut times = self.times();
        times.used = now;
        if now < times.begun + TURN || now < times.looked + LOOK {
            return false;
        }
        times.looked = now;
        drop(times);
        is_awaited(core)
    }

    /// Ends a turn in which nothing is written. Returns the time of the next look, while there is a
    /// turn.
    pub(in crate::index) fn end_if_idle(&self, core: &Core) -> Option<Instant> {
        core.lock()?;
        let (now, used) = (Instant::now(), self.times().used);
        if now < used + IDLE_TURN && (now < used + LOOK || !is_awaited(core)) {
            return Some(now + TURN);
        }
        let mut writer = core.writer();
        if core.lock().is_some() {
            (self.end)(core, self, &mut writer);
        }
        None
    }
}

/// Whether another process waits for its turn. If that cannot be found out, it does.
fn is_awaited(core: &Core) -> bool {
    match core.storage.lock_shared(&core.names.waiting_lock()) {
        Ok(_) => false,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("times", &self.times).finish_non_exhaustive()
    }
}

/// The write lock of a handle that may write. A turn that is over ends when this is dropped.
pub(crate) struct Writing<'a> {
    core: &'a Core,
    writer: MutexGuard<'a, Writer>,
}

impl<'a> Writing<'a> {
    pub(in crate::index) fn begin(core: &'a Core) -> Result<Self> {
        loop {
            let writer = core.writer();
            match &core.turns {
                // A turn may have ended between the call and the lock.
                Some(turns) if core.lock().is_none() => {
                    drop(writer);
                    (turns.begin)(core, Wait::Patiently)?;
                }
                _ => return Ok(Self { core, writer }),
            }
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(turns) = &self.core.turns
            && self.core.lock().is_some()
            && turns.is_over(self.core)
        {
            (turns.end)(self.core, turns, &mut self.writer);
        }
    }
}

impl Deref for Writing<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}
