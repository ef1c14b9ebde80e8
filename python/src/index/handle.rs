//! The handle of an open index, which a forked child neither uses nor closes.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{raise, unlocked};
use crate::lock::lock;
use crate::progress::run;

/// An open index; `None` once it is closed.
pub(crate) struct Handle<T> {
    open: Mutex<Option<Arc<T>>>,
    callers: Arc<Callers>,
    process: u32,
}

/// The threads with a running call of an index, once for each call.
type Callers = Mutex<Vec<ThreadId>>;

/// An index during a call. A call may run the caller's code, and that may close the index: so the
/// thread is noted.
pub(crate) struct InUse<T> {
    index: Arc<T>,
    callers: Arc<Callers>,
    thread: ThreadId,
}

impl<T> InUse<T> {
    /// The index, for a thread that may outlive the call.
    pub(crate) fn shared(&self) -> Arc<T> {
        Arc::clone(&self.index)
    }
}

impl<T> Deref for InUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.index
    }
}

impl<T> Drop for InUse<T> {
    fn drop(&mut self) {
        let mut callers = lock(&self.callers);
        if let Some(at) = callers.iter().rposition(|thread| *thread == self.thread) {
            callers.swap_remove(at);
        }
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a forked child, the index is leaked and not closed: the parent's threads do not
            // exist here, and the lock of the index belongs to the parent.
            std::mem::forget(lock(&self.open).take());
        }
    }
}

impl<T: Send + Sync + 'static> Handle<T> {
    pub(crate) fn new(index: T) -> Self {
        let open = Mutex::new(Some(Arc::new(index)));
        Self { open, callers: Arc::default(), process: std::process::id() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.open).is_none()
    }

    /// The index, for a call of this thread. Fails with `ClosedError` if it was closed, or in a
    /// forked child.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<InUse<T>> {
        if self.process != std::process::id() {
            let message = "opened before a fork, by the parent: open a nearkin.Reader in the child";
            return Err(raise(py, "ClosedError", message));
        }
        let index = lock(&self.open).clone();
        let index = index.ok_or_else(|| raise(py, "ClosedError", "the index is closed"))?;
        let thread = thread::current().id();
        lock(&self.callers).push(thread);
        Ok(InUse { index, callers: Arc::clone(&self.callers), thread })
    }

    /// Closes the index by `close`, after the calls of other threads have ended. New calls find it
    /// closed already. Within a call of the same thread, it is an error: that call would never end.
    pub(crate) fn close(
        &self,
        py: Python<'_>,
        close: impl Send + 'static + FnOnce(T) -> nearkin::Result<()>,
    ) -> PyResult<()> {
        if self.is_closed() {
            return Ok(());
        }
        // In a forked child this fails, because the index belongs to the parent.
        drop(self.get(py)?);
        if lock(&self.callers).contains(&thread::current().id()) {
            let message = "close() was called by a function or an iterator that a call of this \
                index runs, and waits for the end of that call: close the index after it";
            return Err(raise(py, "InvalidError", message));
        }
        let Some(mut index) = lock(&self.open).take() else { return Ok(()) };
        loop {
            match Arc::try_unwrap(index) {
                Ok(index) => return run(py, None, move |_| close(index)),
                Err(shared) => index = shared,
            }
            unlocked(py, || std::thread::sleep(Duration::from_millis(1)))?;
            if let Err(interrupted) = py.check_signals() {
                *lock(&self.open) = Some(index);
                return Err(interrupted);
            }
        }
    }
}
