//! How an index wakes the pool of threads that maintains it.

use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A wakeup flag for maintenance, with a request to end and the last failure.
#[derive(Debug, Default)]
pub(crate) struct Wakeup(Mutex<WakeupState>);

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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        let mut state = self.lock();
        let pool = if state.work { None } else { state.pool.clone() };
        state.work = true;
        drop(state);
        if let Some(pool) = pool {
            pool.wake();
        }
    }

    /// Attaches the waker of a pool. The pool is woken now, and at every later wakeup.
    pub(crate) fn wake_pool(&self, pool: Waker) {
        self.lock().pool = Some(pool.clone());
        pool.wake();
    }

    pub(crate) fn stop(&self) {
        self.lock().stop = true;
    }

    /// Whether there is work, or a request to end.
    pub(crate) fn is_woken(&self) -> bool {
        let state = self.lock();
        state.work || state.stop
    }

    /// Whether there was a wakeup since the last call; `None` if maintenance is to end.
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
