//! How an index wakes the thread that maintains it: its own thread, or one of a pool.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// A wakeup flag for one maintenance thread, with a request to end and the last failure.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    state: Mutex<WakeupState>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct WakeupState {
    work: bool,
    stop: bool,
    /// The message of the last failed maintenance.
    failure: Option<String>,
    /// Wakes the pool that maintains the index, if one does.
    pool: Option<Waker>,
}

impl Wakeup {
    fn lock(&self) -> MutexGuard<'_, WakeupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        let mut state = self.lock();
        let pool = if state.work { None } else { state.pool.clone() };
        state.work = true;
        drop(state);
        self.woken.notify_all();
        if let Some(pool) = pool {
            pool.wake();
        }
    }

    /// Attaches the waker of a pool. The pool is woken now, and at every later wakeup.
    #[cfg(not(all(shuttle, test)))]
    pub(crate) fn wake_pool(&self, pool: Waker) {
        self.lock().pool = Some(pool.clone());
        pool.wake();
    }

    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.woken.notify_all();
    }

    /// Whether there is work, or a request to end.
    pub(crate) fn is_woken(&self) -> bool {
        let state = self.lock();
        state.work || state.stop
    }

    /// Sleeps until woken, for at most `patience`. Returns false if the thread is to end.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let mut state = self.lock();
        if !state.work && !state.stop && !patience.is_zero() {
            let woken = self.woken.wait_timeout(state, patience);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.work = false;
        !state.stop
    }

    /// Whether there was a wakeup since the last call; `None` if the thread is to end.
    #[cfg(not(all(shuttle, test)))]
    pub(crate) fn take(&self) -> Option<bool> {
        let mut state = self.lock();
        let was_woken = std::mem::take(&mut state.work);
        (!state.stop).then_some(was_woken)
    }

    pub(crate) fn stopping(&self) -> bool {
        self.lock().stop
    }

    /// Records the result of maintenance; returns whether it is a new failure.
    pub(crate) fn note_failure(&self, failure: Option<String>) -> bool {
        let mut state = self.lock();
        let is_news = failure.is_some() && state.failure != failure;
        state.failure = failure;
        is_news
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }
}
