//! Starts threads where a refusal by the system can still be told as an error.

use std::error::Error as _;
use std::fmt::Display;
use std::sync::OnceLock;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::failure::Failure;

/// Starts the pool that rayon works in, which would panic later if it could not. Costs nothing
/// once it has started.
pub(crate) fn start_pool() -> Result<(), Failure> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || match rayon::ThreadPoolBuilder::new().build_global() {
        // Without a cause it is there already.
        Err(error) if error.source().is_some() => Err(error.to_string()),
        _ => Ok(()),
    };
    STARTED.get_or_init(start).clone().map_err(refused)
}

/// Starts a thread and lets it end: what starts one next and would panic, or say nothing, can.
pub(crate) fn check() -> Result<(), Failure> {
    let thread = Builder::new().spawn(|| ()).map_err(refused)?;
    // It does nothing that could panic.
    let _ = thread.join();
    Ok(())
}

/// Starts a thread of a scope.
pub(crate) fn scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

/// The system has refused a thread.
pub(crate) fn refused(error: impl Display) -> Failure {
    Failure::new(
        format!("cannot start a thread: {error}"),
        "the system allows no more threads or memory: see `ulimit -u` and `ulimit -v`, or set \
         RAYON_NUM_THREADS=1",
    )
}
