//! Long operations of the engine: signals and progress while they run.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use nearkin::Progress;
use pyo3::prelude::*;

use crate::error::{from_engine, raise, unlocked};

/// Time between two looks at signals, and between two reports.
const PAUSE: Duration = Duration::from_millis(50);

/// A callback of Python for progress, made by `nearkin._progress` of what the caller gave.
pub(crate) fn callback(
    py: Python<'_>,
    asked: Option<Bound<'_, PyAny>>,
    label: &str,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(asked) = asked.filter(|asked| !asked.is_none()) else { return Ok(None) };
    let made = py.import("nearkin._progress")?.getattr("reporter")?.call1((asked, label))?;
    Ok((!made.is_none()).then(|| made.unbind()))
}

/// Reports progress; `CancelledError` if the callback says `False`.
pub(crate) fn report(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    done: u64,
    total: u64,
) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(()) };
    let said = callback.bind(py).call1((done, total))?;
    if said.is_exact_instance_of::<pyo3::types::PyBool>() && !said.is_truthy()? {
        return Err(raise(py, "CancelledError", "the progress callback returned False"));
    }
    Ok(())
}

/// Runs an operation of the engine that reports its progress, without the interpreter lock. What a
/// signal's handler or the callback raises ends it.
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
    // Also if it was done all the same: an interrupt is not to be lost.
    match raised {
        Some(raised) => Err(raised),
        None => done.map_err(|error| from_engine(py, &error)),
    }
}
