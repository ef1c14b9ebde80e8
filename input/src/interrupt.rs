//! Whether a signal asked this process to stop. The caller handles signals; reading ends soon after
//! [`signal`] was called.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);

/// Ends the parser processes that a thread may be waiting for.
static END_CHILDREN: OnceLock<fn()> = OnceLock::new();

/// Records that a signal has arrived; returns whether one had arrived before. The caller then calls
/// [`end_children`].
pub fn signal() -> bool {
    CAME.swap(true, Ordering::Relaxed)
}

/// Whether a signal has arrived.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Ends the parser processes, so that no thread waits for them after a signal.
pub fn end_children() {
    if let Some(end) = END_CHILDREN.get() {
        end();
    }
}

/// Sets what ends the parser processes.
pub(crate) fn end_children_by(end: fn()) {
    // Only the first call counts; all calls pass the same function.
    let _ = END_CHILDREN.set(end);
}
