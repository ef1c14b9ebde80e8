//! Free places of the table of handles.
//!
//! Each thread keeps some free places of its own: most handles are made and freed without the lock.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bits of a handle that hold the place.
pub(crate) const PLACE_BITS: u32 = usize::BITS / 2 + if usize::BITS < 64 { 8 } else { 0 };

/// Number of places that a thread moves from or to the shared list at once. It keeps at most twice
/// as many.
const SHARE: usize = 32;

/// The shared list of free places.
struct Free {
    places: Vec<usize>,
    /// The first place that was never used.
    next: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { places: Vec::new(), next: 0 });

/// Locks, also after a panic: a single call of the engine changes what this crate guards, so that
/// no value is half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The free places of a thread.
#[derive(Default)]
struct Own(RefCell<Vec<usize>>);

impl Drop for Own {
    fn drop(&mut self) {
        lock(&FREE).places.append(self.0.get_mut());
    }
}

thread_local! {
    static OWN: Own = Own::default();
}

/// Changes the free places of this thread.
fn with_own<T>(change: impl Fn(&mut Vec<usize>) -> T) -> T {
    OWN.try_with(|own| change(&mut own.0.borrow_mut())).unwrap_or_else(|_| {
        // An ending thread has no thread-local variables any more.
        change(Own::default().0.get_mut())
    })
}

/// Fills `own` from the shared list, or with new places below `end`. It stays empty if all are
/// taken.
#[cold]
fn take_share(own: &mut Vec<usize>, end: usize) {
    let mut free = lock(&FREE);
    let kept = free.places.len().saturating_sub(SHARE);
    own.extend(free.places.drain(kept..));
    if own.is_empty() {
        let first = free.next;
        free.next = end.min(first + SHARE);
        own.extend((first..free.next).rev());
    }
}

/// Takes a free place below `end`.
pub(crate) fn take(end: usize) -> Option<usize> {
    with_own(|own| {
        if own.is_empty() {
            take_share(own, end);
        }
        own.pop()
    })
}

/// Returns a place to the free places of this thread.
pub(crate) fn give_back(place: usize) {
    with_own(|own| {
        if own.len() == 2 * SHARE {
            lock(&FREE).places.extend(own.drain(..SHARE));
        }
        own.push(place);
    });
}
