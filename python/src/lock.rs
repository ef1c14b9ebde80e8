//! Locks of the objects that Python holds.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. These locks are held only briefly, and only together with the interpreter lock. A
/// fork also needs the interpreter lock, so it always finds them free.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
