//! Starts threads. If the system refuses one, returns an error instead of panicking.

use std::error::Error as _;
use std::fmt::Display;
use std::sync::OnceLock;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;

/// The number of threads given by the user; otherwise one per processor.
static ASKED: OnceLock<usize> = OnceLock::new();

/// Sets the number of threads; to be called before the pool starts.
pub fn limit(threads: usize) {
    // The first call counts; there is no other.
    let _ = ASKED.set(threads);
}

/// Starts rayon's global pool. Without this call, rayon would start it at first use and panic if
/// threads are refused. Does nothing if the pool already runs.
pub fn start_pool() -> Result<(), Failure> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || {
        // 0 stands for the default of rayon.
        let threads = ASKED.get().copied().unwrap_or(0);
        match ThreadPoolBuilder::new().num_threads(threads).build_global() {
            // An error without a source means that the pool already runs.
            Err(error) if error.source().is_some() => Err(error.to_string()),
            _ => Ok(()),
        }
    };
    STARTED.get_or_init(start).clone().map_err(refused)
}

/// A pool beside rayon's global one, of half as many threads: what runs in it does not queue behind
/// the work of the global pool. `None` if the system refuses them.
pub fn pool_beside() -> Option<ThreadPool> {
    let threads = rayon::current_num_threads().div_ceil(2);
    ThreadPoolBuilder::new().num_threads(threads).build().ok()
}

/// Starts and joins one thread as a test. To be called before using a library that panics, or fails
/// silently, if it cannot start threads.
pub fn check() -> Result<(), Failure> {
    let thread = Builder::new().spawn(|| ()).map_err(refused)?;
    // The thread does nothing, so it cannot panic.
    let _ = thread.join();
    Ok(())
}

/// Spawns a scoped thread.
pub(crate) fn scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

/// Runs `other` on a thread of its own while `here` runs on this one. Returns what both return.
///
/// # Errors
///
/// The system refuses a thread; then neither has run.
pub fn beside<T: Send, H>(
    other: impl FnOnce() -> T + Send,
    here: impl FnOnce() -> H,
) -> Result<(T, H), Failure> {
    thread::scope(|scope| {
        let other = scoped(scope, other)?;
        let here = here();
        Ok((other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), here))
    })
}

/// The error if the system refuses a thread.
pub fn refused(error: impl Display) -> Failure {
    nearkin_input::Error::no_thread(error).into()
}
