//! Signals and progress reports during long operations of the library.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nearkin::{Error, Progress};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::called::call;
use crate::error::{from_engine, from_panic, raise, unlocked};
use crate::interrupt::{PAUSE, is_interrupted};

/// Time that an operation gets to end by itself after a signal handler has raised.
const GRACE: Duration = Duration::from_millis(100);

/// A Python callback for progress, made by `nearkin._progress` from the caller's argument.
pub(crate) fn callback(
    py: Python<'_>,
    given: Option<Bound<'_, PyAny>>,
    label: &str,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    let reporter = py.import("nearkin._progress")?.getattr("reporter")?;
    let made = call(&reporter, (given, label))?;
    Ok((!made.is_none()).then(|| made.unbind()))
}

/// Reports progress; fails with `CancelledError` if the callback returns `False`.
pub(crate) fn report(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    done: u64,
    total: u64,
) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(()) };
    let said = call(callback.bind(py), (done, total))?;
    if said.cast::<PyBool>().is_ok_and(|said| !said.is_true()) {
        return Err(raise(py, "CancelledError", "the progress callback returned False"));
    }
    Ok(())
}

/// A report of an operation, which may break it off.
pub(crate) type Tick<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Runs a long operation of the library without the interpreter lock. An exception from a signal
/// handler or from the callback cancels it.
///
/// The operation has a thread of its own, so that this one can look for signals however long a step
/// takes. If a handler raises, the operation is cancelled at its next report; what does not end
/// within `GRACE` goes on by itself, and its result is dropped.
pub(crate) fn run<R: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl Send + 'static + FnOnce(Tick<'_>) -> nearkin::Result<R>,
) -> PyResult<R> {
    let (said, messages) = sync_channel(1);
    let (go_on, answer) = sync_channel(1);
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let is_heard = callback.is_some();
    let operation = Operation { said, answer, is_cancelled: Arc::clone(&is_cancelled), is_heard };
    let thread = thread::Builder::new().name("nearkin-call".to_owned());
    if let Err(error) = thread.spawn(move || operation.run(work)) {
        let error = Error::other(format!("cannot start a thread for the call: {error}"));
        return Err(from_engine(py, &error));
    }
    let messages = Mutex::new(messages);
    let (mut raised, mut end) = (None, None);
    loop {
        let message = unlocked(py, || {
            messages.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PAUSE)
        })?;
        if raised.is_none()
            && let Err(error) = py.check_signals()
        {
            is_cancelled.store(true, Ordering::Relaxed);
            (raised, end) = (Some(error), Some(Instant::now() + GRACE));
        }
        match message {
            Ok(Message::Done(done)) => return finished(py, done, raised),
            Ok(Message::Progress(Progress { done, total, .. })) => {
                if raised.is_none()
                    && let Err(error) = report(py, callback, done, total)
                {
                    is_cancelled.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
                // The operation waits for this.
                let _ = go_on.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let message = "a thread of nearkin is gone: please report this bug";
                return Err(raise(py, "BugError", message));
            }
        }
        if let Some(error) = raised.take_if(|_| end.is_some_and(|end| Instant::now() >= end)) {
            return Err(error);
        }
    }
}

/// Like [`run`], for an operation that calls a filter of the caller: on this thread.
pub(crate) fn run_here<R: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl Send + FnOnce(Tick<'_>) -> nearkin::Result<R>,
) -> PyResult<R> {
    let mut raised = None;
    let mut last = Instant::now();
    let mut tick = |progress: Progress| {
        if is_interrupted() {
            return ControlFlow::Break(());
        }
        if last.elapsed() < PAUSE && progress.done < progress.total {
            return ControlFlow::Continue(());
        }
        last = Instant::now();
        let reported = Python::attach(|py| report(py, callback, progress.done, progress.total));
        match reported {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let done = unlocked(py, || work(&mut tick))?;
    finished(py, Ok(done), raised)
}

/// The result of an operation, unless an exception was raised meanwhile: an interrupt must not be
/// lost even if the operation has finished.
fn finished<R>(
    py: Python<'_>,
    done: thread::Result<nearkin::Result<R>>,
    raised: Option<PyErr>,
) -> PyResult<R> {
    match raised {
        Some(raised) => Err(raised),
        None => {
            done.map_err(|panic| from_panic(py, panic))?.map_err(|error| from_engine(py, &error))
        }
    }
}

/// What an operation says to the thread of the call.
enum Message<R> {
    Progress(Progress),
    Done(thread::Result<nearkin::Result<R>>),
}

/// The side of an operation that has a thread of its own.
struct Operation<R> {
    said: SyncSender<Message<R>>,
    /// One for each progress that was said.
    answer: Receiver<()>,
    is_cancelled: Arc<AtomicBool>,
    /// Whether there is a callback for the progress.
    is_heard: bool,
}

impl<R> Operation<R> {
    fn run(self, work: impl FnOnce(Tick<'_>) -> nearkin::Result<R>) {
        let mut last = Instant::now();
        let mut tick = |progress: Progress| {
            let is_due = last.elapsed() >= PAUSE || progress.done >= progress.total;
            if self.is_heard && is_due {
                last = Instant::now();
                // Fails if the call has ended without this operation.
                if self.said.send(Message::Progress(progress)).is_err()
                    || self.answer.recv().is_err()
                {
                    return ControlFlow::Break(());
                }
            }
            if self.is_cancelled.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        // This is unwind safe, as in `unlocked`.
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut tick)));
        // If this fails, the call has ended, and the result is dropped.
        let _ = self.said.send(Message::Done(done));
    }
}
