//! Signals during a call of the engine: when a signal handler raises, the call ends.
//!
//! The engine asks [`is_interrupted`] within long work, on the thread of the call and on the
//! threads that help it. Python runs signal handlers on its main thread only, and only while that
//! thread has the interpreter lock: so the thread of the call takes the lock from time to time.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::called::call;

/// Interval between two looks for signals.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// A running call of this thread.
#[derive(Default)]
pub(crate) struct Running {
    looked: Option<Instant>,
    /// Whether handlers run on this thread; not known before the first look.
    is_main: Option<bool>,
    /// The exception of a handler.
    raised: Option<PyErr>,
}

thread_local! {
    /// The innermost call that this thread runs: code of the caller may call again.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
    /// On a thread that helps a call: whether that call has ended early.
    static HELPED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Begins a call on this thread. Returns the outer one.
pub(crate) fn begin() -> Option<Running> {
    RUNNING.with_borrow_mut(|running| running.replace(Running::default()))
}

/// Ends the call, and goes on with the outer one. Returns the exception of a signal handler.
pub(crate) fn end(outer: Option<Running>) -> Option<PyErr> {
    RUNNING.with_borrow_mut(|running| std::mem::replace(running, outer)).and_then(|own| own.raised)
}

/// Makes this thread one that helps a call; `ended` is set when that call ends early.
pub(crate) fn help(ended: Arc<AtomicBool>) {
    HELPED.with_borrow_mut(|helped| *helped = Some(ended));
}

/// Whether the call that this thread runs or helps is to end now. Called without the interpreter
/// lock, and without a lock of the engine: a signal handler may run.
pub(crate) fn is_interrupted() -> bool {
    let helped = HELPED
        .with_borrow(|helped| helped.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed)));
    helped || RUNNING.with_borrow_mut(Running::is_to_be_asked) && ask()
}

impl Running {
    /// Whether it is time for a look, or an earlier one found an exception.
    fn is_to_be_asked(running: &mut Option<Self>) -> bool {
        let Some(running) = running else { return false };
        if running.raised.is_some() {
            return true;
        }
        if running.is_main == Some(false) {
            return false;
        }
        match running.looked {
            // The first time, the call has hardly begun.
            None => {
                running.looked = Some(Instant::now());
                false
            }
            Some(looked) => looked.elapsed() >= PAUSE,
        }
    }
}

/// Runs the signal handlers. Returns whether one of them has raised in this call.
#[cold]
fn ask() -> bool {
    let raised = |running: &Option<Running>| {
        running.as_ref().map(|running| (running.raised.is_some(), running.is_main))
    };
    let is_main = match RUNNING.with_borrow(raised) {
        Some((false, is_main)) => is_main,
        Some((true, _)) => return true,
        None => return false,
    };
    // A handler may call the package: `RUNNING` is not borrowed meanwhile.
    let asked = Python::try_attach(|py| (py.check_signals(), is_main.unwrap_or_else(|| main(py))));
    // Without an interpreter there is nobody to return to.
    let Some((checked, is_main)) = asked else { return true };
    let raised = checked.err();
    let is_raised = raised.is_some();
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running {
            *running = Running { looked: Some(Instant::now()), is_main: Some(is_main), raised };
        }
    });
    is_raised
}

/// Whether this is the thread on which Python runs signal handlers.
fn main(py: Python<'_>) -> bool {
    let is_main = || {
        let threading = py.import("threading")?;
        let main = call(&threading.getattr("main_thread")?, ())?.getattr("ident")?;
        main.eq(call(&threading.getattr("get_ident")?, ())?)
    };
    is_main().unwrap_or(true)
}
