//! Limits the bytes of documents in progress: the reader blocks until the workers catch up.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::args::machine;

/// Maximum number of bytes in progress. A single larger document is allowed if it is alone.
fn bytes_max() -> usize {
    machine::memory_part(8, 16 << 20)
}

/// Documents smaller than this are not counted, because the number of documents in progress is
/// bounded anyway.
const COUNTED: usize = 64 << 10;

/// The bytes in progress, and whether the window is closed because the workers have ended.
#[derive(Debug, Default)]
struct WindowState {
    bytes: usize,
    closed: bool,
}

/// A limit on the bytes in progress.
#[derive(Debug, Default)]
pub(crate) struct Window {
    state: Mutex<WindowState>,
    changed: Condvar,
}

impl Window {
    /// Blocks while a document is in progress that is larger than the limit: the next one would be
    /// in memory beside it.
    pub(crate) fn wait_for_large(&self) {
        let is_large = |state: &mut WindowState| !state.closed && state.bytes > bytes_max();
        drop(self.changed.wait_while(self.lock(), is_large));
    }

    /// Counts a document of this size until its permit is dropped; `None` if it is so small that
    /// it is not counted. If the document has to wait, `before_waiting` is called first: it may
    /// start the work on other documents, which makes room.
    pub(crate) fn enter(&self, bytes: usize, before_waiting: impl FnOnce()) -> Option<Permit<'_>> {
        if bytes < COUNTED {
            return None;
        }
        let mut state = self.lock();
        if is_full_for(&state, bytes) {
            drop(state);
            before_waiting();
            let fits = self.changed.wait_while(self.lock(), |state| is_full_for(state, bytes));
            state = fits.unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += bytes;
        Some(Permit { window: self, bytes })
    }

    /// Lifts the limit once the workers have ended, because the reader must not block forever.
    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_full_for(state: &WindowState, bytes: usize) -> bool {
    !state.closed && state.bytes > 0 && state.bytes.saturating_add(bytes) > bytes_max()
}

/// The bytes of a document in progress. Dropping the permit releases them.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    window: &'a Window,
    bytes: usize,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.window.lock().bytes -= self.bytes;
        self.window.changed.notify_all();
    }
}

/// Closes a window on drop, also when the worker panics.
pub(crate) struct Closing<'a>(pub(crate) &'a Window);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_large_document_waits_until_it_is_alone_or_nobody_works() {
        let window = Window::default();
        assert!(window.enter(COUNTED - 1, || panic!("it waits")).is_none());
        let large = window.enter(bytes_max() * 2, || panic!("it waits"));
        let (done, entered) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _small = window.enter(COUNTED, || done.send(()).unwrap());
                done.send(()).unwrap();
                // This blocks: the document does not fit beside the small one.
                let _other = window.enter(bytes_max(), || done.send(()).unwrap());
                done.send(()).unwrap();
            });
            let waits = || entered.recv_timeout(Duration::from_millis(100)).is_err();
            entered.recv().unwrap();
            assert!(waits());
            drop(large);
            entered.recv().unwrap();
            entered.recv().unwrap();
            assert!(waits());
            drop(Closing(&window));
            entered.recv().unwrap();
        });
    }
}
