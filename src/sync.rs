//! What threads share and wait for: the standard library's, or, in tests compiled with
//! `--cfg shuttle`, that of the schedule explorer, which then decides at each of them who goes on.
//!
//! Whatever one thread of the engine may wait for another at, or tells it by, comes from here:
//! locks, condition variables, channels, threads, and atomics that others go by. What comes from
//! `std` directly has to give its reason, which is one of two: only one thread ever touches it (the
//! catalog's backend inside a commit), or a race in it costs time only (the checked bits of blocks;
//! whose turn it is to take which copy of the view). Nothing else belongs here; nothing here is
//! written by us.
//!
//! The explorer's condition variables never time out and never wake for nothing, its sleep only
//! lets others go first, and its atomics are all in one order.

#[cfg(not(all(shuttle, test)))]
mod chosen {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, atomic, mpsc};
    pub(crate) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::thread;
}

#[cfg(all(shuttle, test))]
mod chosen {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic, mpsc};
    pub(crate) use shuttle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use shuttle::thread;
}

pub(crate) use chosen::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
// Only the pool of maintenance threads has one, which the explorer does not see.
#[cfg(not(all(shuttle, test)))]
pub(crate) use chosen::OnceLock;
pub(crate) use chosen::{atomic, mpsc, thread};
// The explorer has none of its own: counting owners is no place where threads meet.
pub(crate) use std::sync::{Arc, PoisonError, TryLockError, Weak};
// Atomics that no thread goes by: a race costs time only, so the explorer need not see them. Of the
// engine's files only `index/view.rs` may say so.
pub(crate) use std::sync::atomic as unexplored;
