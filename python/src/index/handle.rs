//! The handle of an open index, which a forked child neither uses nor closes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{engine, raise, unlocked};
use crate::lock::lock;

/// An open index; `None` once it is closed.
pub(crate) struct Handle<T> {
    open: Mutex<Option<Arc<T>>>,
    process: u32,
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

impl<T: Send + Sync> Handle<T> {
    pub(crate) fn new(index: T) -> Self {
        Self { open: Mutex::new(Some(Arc::new(index))), process: std::process::id() }
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.open).is_none()
    }

    /// The index. Fails with `ClosedError` if it was closed, or in a forked child.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<T>> {
        if self.process != std::process::id() {
            let message = "opened before a fork, by the parent: open a nearkin.Reader in the child";
            return Err(raise(py, "ClosedError", message));
        }
        let index = lock(&self.open).clone();
        index.ok_or_else(|| raise(py, "ClosedError", "the index is closed"))
    }

    /// Closes the index by `close`, after the calls of other threads have ended. New calls find it
    /// closed already.
    pub(crate) fn close(
        &self,
        py: Python<'_>,
        close: impl Send + FnOnce(T) -> nearkin::Result<()>,
    ) -> PyResult<()> {
        if self.is_closed() {
            return Ok(());
        }
        // In a forked child this fails, because the index belongs to the parent.
        self.get(py)?;
        let Some(mut index) = lock(&self.open).take() else { return Ok(()) };
        loop {
            match Arc::try_unwrap(index) {
                Ok(index) => return engine(py, || close(index)),
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
