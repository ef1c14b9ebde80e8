//! Runs the work of a call: at once, or on libuv's pool.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use napi::bindgen_prelude::{AsyncTask, ClassInstance, Either, Either3, ToNapiValue, Unknown};
use napi::{Env, ScopedTask};
use napi_derive::napi;

use crate::failure::Failure;
use crate::keys::KeyType;

/// How JavaScript calls a method that may wait: `true` for at once; `false` for a promise; a `Stop`
/// for a promise that can be aborted.
pub(crate) type How<'a> = Either<bool, ClassInstance<'a, Stop>>;

/// The answer of such a method: a promise, the value, or the failure.
pub(crate) type Reply<'e> = Either3<AsyncTask<Job>, Unknown<'e>, Failure>;

/// A value that any thread makes, and that the JavaScript thread converts.
pub trait Shown: Send {
    fn show(self: Box<Self>, env: &Env, keys: KeyType) -> Result<Unknown<'_>, Failure>;
}

type Work = Box<dyn FnOnce() -> Result<Box<dyn Shown>, Failure> + Send>;

/// Stops a running call whose `AbortSignal` was triggered.
#[napi]
#[derive(Debug, Clone, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

#[napi]
impl Stop {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop.
    #[napi]
    pub fn abort(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// The answer of a progress callback: continue, unless the call was aborted.
pub(crate) fn go_on(stop: Option<&Stop>) -> ControlFlow<()> {
    if stop.is_some_and(Stop::is_set) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The failure of a call that was aborted.
pub(crate) fn refuse_aborted(stop: Option<&Stop>) -> Result<(), Failure> {
    if stop.is_some_and(Stop::is_set) { Err(Failure::aborted()) } else { Ok(()) }
}

/// A task of libuv's thread pool.
pub struct Job {
    work: Option<Work>,
    keys: KeyType,
}

impl Job {
    fn run(&mut self) -> Result<Box<dyn Shown>, Failure> {
        let Some(work) = self.work.take() else { return Err(Failure::aborted()) };
        caught(work)
    }
}

/// Runs work; a panic is a failure.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // This is unwind safe: the library checks its own state after a panic.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::panicked(&*panic)))
}

impl<'task> ScopedTask<'task> for Job {
    type Output = Result<Box<dyn Shown>, Failure>;
    type JsValue = Unknown<'task>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(self.run())
    }

    fn resolve(&mut self, env: &'task Env, output: Self::Output) -> napi::Result<Unknown<'task>> {
        let shown = output.and_then(|value| value.show(env, self.keys));
        shown.or_else(|failure| failure.into_unknown(env))
    }
}

/// Runs `work` at once or as a task, as `how` says. Keys in its value are shown as `keys` says. A
/// call that was aborted before its work began does nothing.
pub(crate) fn run<'e, T: Shown + 'static>(
    env: &'e Env,
    how: How<'_>,
    keys: KeyType,
    work: impl FnOnce(Option<&Stop>) -> Result<T, Failure> + Send + 'static,
) -> Reply<'e> {
    let (sync, stop) = match how {
        Either::A(sync) => (sync, None),
        Either::B(stop) => (false, Some(Stop::clone(&stop))),
    };
    let work = move || {
        refuse_aborted(stop.as_ref())?;
        work(stop.as_ref()).map(|value| Box::new(value) as Box<dyn Shown>)
    };
    let mut job = Job { work: Some(Box::new(work)), keys };
    if !sync {
        return Either3::A(AsyncTask::new(job));
    }
    match job.run().and_then(|value| value.show(env, keys)) {
        Ok(shown) => Either3::B(shown),
        Err(failure) => Either3::C(failure),
    }
}
