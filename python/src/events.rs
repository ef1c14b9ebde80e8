//! Events of indexes, for Python's module `logging`: the logger "nearkin".
//!
//! An event happens on any thread, possibly while Python waits for that thread to end, so the
//! listener takes no interpreter lock: events wait here until the next call of the package ends.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use nearkin::Event;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::called::call_method;

/// Maximum number of events that wait; later ones are dropped.
const WAITING_MAX: usize = 1_024;

/// Levels of `logging`, and messages.
static WAITING: Mutex<VecDeque<(u8, String)>> = Mutex::new(VecDeque::new());
/// Whether `WAITING` may be non-empty. Every call reads this.
static MAY_WAIT: AtomicBool = AtomicBool::new(false);
static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// How often the lock is tried. It is held for a push or a pop; a thread that holds it for longer
/// was left behind by a fork, and no longer exists.
const TRIES: usize = 10_000;

/// The events that wait; `None` in a child whose parent had the lock at the fork.
fn waiting() -> Option<MutexGuard<'static, VecDeque<(u8, String)>>> {
    for _ in 0..TRIES {
        match WAITING.try_lock() {
            Ok(waiting) => return Some(waiting),
            Err(TryLockError::Poisoned(poisoned)) => {
                return Some(PoisonError::into_inner(poisoned));
            }
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    None
}

/// The listener of the index at `path`.
pub(crate) fn listener(path: &Path) -> impl Fn(&Event) + Send + Sync + 'static {
    let path = path.to_owned();
    move |event| {
        let level = match event {
            Event::MaintenanceFailed { .. } | Event::Poisoned { .. } | Event::LockLost { .. } => 40,
            Event::Recovered { .. } | Event::WriterStalled { .. } => 30,
            _ => 20,
        };
        let message = format!("{}: {event}", path.display());
        if let Some(mut waiting) = waiting()
            && waiting.len() < WAITING_MAX
        {
            waiting.push_back((level, message));
            MAY_WAIT.store(true, Ordering::Release);
        }
    }
}

/// Logs the events that wait. An exception of `logging` itself is shown, and does not end the call.
pub(crate) fn log(py: Python<'_>) {
    if !MAY_WAIT.swap(false, Ordering::AcqRel) {
        return;
    }
    // A handler may call the package, so the lock is not held.
    while let Some((level, message)) = waiting().and_then(|mut waiting| waiting.pop_front()) {
        let logged = logger(py).and_then(|logger| call_method(logger, "log", (level, message)));
        match logged {
            Ok(_) => {}
            Err(error) if error.is_instance_of::<PyException>(py) => {
                error.write_unraisable(py, None);
            }
            // Ctrl-C came while a handler ran: it is raised at the next check for signals.
            Err(_) => interrupt(py),
        }
    }
}

fn logger(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let logger = LOGGER.get_or_try_init(py, || {
        let logging = py.import("logging")?;
        let logger = logging.call_method1("getLogger", ("nearkin",))?;
        // As libraries do: without it, warnings go to stderr even in a program that logs nothing.
        logger.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
        Ok::<_, PyErr>(logger.unbind())
    });
    logger.map(|logger| logger.bind(py))
}

fn interrupt(py: Python<'_>) {
    let interrupted = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    if let Err(error) = interrupted {
        error.write_unraisable(py, None);
    }
}
