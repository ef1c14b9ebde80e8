//! Signals and progress reports during long operations of the library.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use nearkin::Progress;
use pyo3::prelude::*;

use crate::called::call;
use crate::error::{from_engine, raise, unlocked};

/// Interval between checks for signals, and between reports.
const PAUSE: Duration = Duration::from_millis(50);

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
    if said.is_exact_instance_of::<pyo3::types::PyBool>() && !said.is_truthy()? {
        return Err(raise(py, "CancelledError", "the progress callback returned False"));
    }
    Ok(())
}

/// Runs a long operation of the library without the interpreter lock. An exception from a signal
/// handler or from the callback cancels it.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl Send + FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> nearkin::Result<R>,
) -> PyResult<R> {
    let mut raised = None;
    let mut last = Instant::now();
    let mut tick = |progress: Progress| {
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
    // The exception is raised even if the operation has finished, because an interrupt must not be
    // lost.
    match raised {
        Some(raised) => Err(raised),
        None => done.map_err(|error| from_engine(py, &error)),
    }
}
