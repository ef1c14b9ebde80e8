//! The places of handles that are free.
//!
//! Each thread keeps some free places for itself, so that threads which make and free handles
//! rarely wait for each other.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bits of a handle that say the place.
pub(crate) const PLACE_BITS: u32 = usize::BITS / 2 + if usize::BITS < 64 { 8 } else { 0 };

/// The number of places that a thread takes or gives at once; it keeps at most twice as many.
const SHARE: usize = 32;

/// The places that no thread keeps for itself.
struct Free {
    places: Vec<usize>,
    /// The first place that was never used.
    next: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { places: Vec::new(), next: 0 });

/// Locks. A panic of an earlier call does no harm: what this crate guards is changed by one call
/// of the engine.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Free places that a thread keeps for itself: most of its handles need no lock.
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
        // A thread that is ending has no variables of its own any more.
        change(Own::default().0.get_mut())
    })
}

/// Takes free places, or new ones below `end`; none if all are taken.
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

/// A free place for this thread, one below `end`.
pub(crate) fn take(end: usize) -> Option<usize> {
    with_own(|own| {
        if own.is_empty() {
            take_share(own, end);
        }
        own.pop()
    })
}

/// Keeps a place for later handles, of this thread or of any.
pub(crate) fn give_back(place: usize) {
    with_own(|own| {
        if own.len() == 2 * SHARE {
            lock(&FREE).places.extend(own.drain(..SHARE));
        }
        own.push(place);
    });
}
