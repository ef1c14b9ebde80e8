//! Synchronisation primitives: those of the standard library, or with `--cfg shuttle` those of the
//! schedule explorer. The explorer chooses the thread that runs next at each use.
//!
//! All primitives by which threads of the engine wait for each other or signal each other come from
//! here: locks, condition variables, channels, threads, and atomics that order memory. A direct use
//! of `std` needs one of two reasons: only one thread uses the primitive (the catalog's backend
//! during a commit), or a race only costs time (the bits of verified blocks, the choice of a copy
//! of the view). This module contains re-exports, and a sleep.
//!
//! In the explorer, condition variables have no timeouts and no spurious wake-ups, sleep only
//! yields, and all atomics are sequentially consistent.

#[cfg(not(all(shuttle, test)))]
mod chosen {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic, mpsc};
    pub(crate) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::thread;
}

#[cfg(all(shuttle, test))]
mod chosen {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic, mpsc};
    pub(crate) use shuttle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) mod thread {
        pub(crate) use shuttle::thread::*;

        /// Lets others run: the explorer's own lets the same thread go on for ever.
        pub(crate) fn sleep(_: std::time::Duration) {
            yield_now();
        }
    }
}

pub(crate) use chosen::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use chosen::{atomic, mpsc, thread};
// The explorer has no version of these. It needs none: here, reference counts do not synchronise
// threads, and what is set once is also right before it is set.
pub(crate) use std::sync::{Arc, OnceLock, PoisonError, TryLockError, Weak};
// Atomics without ordering requirements: a race on them only costs time, so the explorer need not
// see them. In the engine, only `index/state/view.rs` may use them.
pub(crate) use std::sync::atomic as unexplored;
// Threads that compute what they are given and end before the call returns: they neither wait for
// others nor signal them, so the explorer need not see them.
pub(crate) use std::thread as computing;
