//! Threads that run code of the caller under a lock of the index.

use crate::sync::{Mutex, PoisonError, thread};
use crate::{Error, Result};

/// The threads that run code of the caller while a call of theirs holds a lock. On such a thread, a
/// call that needs the lock would wait for itself.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    threads: Mutex<Vec<thread::ThreadId>>,
}

/// Removes a thread from the list, also after a panic of the caller's code.
struct Running<'a>(&'a Callbacks);

impl Callbacks {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<thread::ThreadId>) -> T) -> T {
        change(&mut self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs code of the caller.
    pub(crate) fn run<T>(&self, code: impl FnOnce() -> T) -> T {
        self.change(|threads| threads.push(thread::current().id()));
        let _running = Running(self);
        code()
    }

    /// Whether this thread runs code of the caller.
    pub(crate) fn is_within(&self) -> bool {
        self.change(|threads| threads.contains(&thread::current().id()))
    }

    /// An error if this thread runs code of the caller; `name` names the refused call.
    pub(crate) fn refuse_within(&self, name: &str) -> Result<()> {
        if !self.is_within() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{name} was called by a callback of a running call of the same index, and would wait for \
             the end of that call: call it afterwards"
        )))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let this = thread::current().id();
        self.0.change(|threads| {
            if let Some(at) = threads.iter().rposition(|thread| *thread == this) {
                threads.swap_remove(at);
            }
        });
    }
}
