//! What maintains an index: the shared pool, a pool of its own, or its writers.

use super::pool::Seat;
use super::warm_up;
use crate::index::state::core::Core;
use crate::index::state::options::Maintenance;
use crate::sync::{Arc, Weak};

/// The maintenance of an index. On drop, the index leaves its pool.
#[derive(Debug)]
pub(crate) struct Background {
    core: Weak<Core>,
    /// `None`: writers do the steps.
    seat: Option<Seat>,
}

impl Background {
    /// Enters the index into the pool that the options require, if they require one. The pool
    /// begins with a warm-up of the segments, whose duration depends on the size of the index.
    pub(crate) fn start(core: &Arc<Core>) -> std::io::Result<Self> {
        let seat = match core.options.maintenance {
            Maintenance::Inline => {
                warm_up::request_directories(core, |_| true);
                None
            }
            // The turns of a shared handle must not wait for steps of other indexes.
            Maintenance::Shared if core.sharing.is_none() => Some(Seat::take_shared(core)?),
            Maintenance::Shared | Maintenance::Background => Some(Seat::take_own(core)?),
        };
        if let Some(seat) = &seat {
            core.wakeup.wake_pool(seat.waker());
        }
        Ok(Self { core: Arc::downgrade(core), seat })
    }

    /// Ends the maintenance. Waits for its current step at most.
    pub(crate) fn stop(&self) {
        let core = self.core.upgrade();
        if core.as_ref().is_some_and(|core| core.is_in_child()) {
            // A forked child has no maintenance threads.
            return;
        }
        if let Some(core) = core {
            core.wakeup.stop();
        }
        if let Some(seat) = &self.seat {
            seat.leave();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}
