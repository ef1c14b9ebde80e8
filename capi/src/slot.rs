//! A place of the table of handles: one object at a time, and how many calls use it.
//!
//! One word holds the state: the generation of the place, whether an object is live, whether it is
//! being freed, and the number of its users. A lookup adds one to the word; the end of a call
//! subtracts one. The object is dropped by the call that frees the handle, or by the last call that
//! uses it.
//!
//! An empty place keeps its allocation, which the next object of the same type reuses.
//!
//! A lookup by a stale handle adds one, too, sees another generation, and subtracts one. So the
//! number of users may be above 0 for a moment at any time, and several threads may call `finish`
//! for the same object. `finish` compares and exchanges the whole word: one thread succeeds.

use crate::places::{PLACE_BITS, give_back};
use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocation of a place: an `Option` of an object.
trait Room: Any + Send + Sync {
    fn empty(&mut self);
}

impl<T: Send + Sync + 'static> Room for Option<T> {
    fn empty(&mut self) {
        *self = None;
    }
}

/// Bits of a handle that hold the generation: those between the place and the mark.
const GENERATION_BITS: u32 = usize::BITS - 1 - PLACE_BITS;
const GENERATION_MAX: usize = (1 << GENERATION_BITS) - 1;
const USERS_BITS: u32 = usize::BITS - GENERATION_BITS - 2;
const CLOSING: usize = 1 << USERS_BITS;
const LIVE: usize = CLOSING << 1;
const USERS: usize = CLOSING - 1;

fn generation_of(state: usize) -> usize {
    state >> (USERS_BITS + 2)
}

fn of_generation(generation: usize) -> usize {
    generation << (USERS_BITS + 2)
}

/// Whether a live object of this generation is in the slot, and is not being freed.
fn is_open(state: usize, generation: usize) -> bool {
    generation_of(state) == generation && state & (LIVE | CLOSING) == LIVE
}

/// A place of the table. It does not cross a cache line.
#[repr(align(32))]
pub(crate) struct Slot {
    state: AtomicUsize,
    room: UnsafeCell<Option<Box<dyn Room>>>,
    /// The number of the place in the table.
    pub(crate) place: usize,
}

// SAFETY: the object may be used by several threads at once (`Sync`) and dropped by any of them
// (`Send`). It is written only by `fill`, whose caller alone owns the empty slot, and taken only by
// the thread that succeeded in `finish`, when there are no users.
unsafe impl Sync for Slot {}

impl Slot {
    pub(crate) fn new(place: usize) -> Self {
        let state = AtomicUsize::new(of_generation(1));
        Self { state, room: UnsafeCell::new(None), place }
    }

    /// Stores an object in an empty slot, which the caller took from the list of free slots.
    /// Returns the generation of the new handle.
    pub(crate) fn fill<T: Send + Sync + 'static>(&self, object: T) -> usize {
        // SAFETY: the slot is empty and taken from the list of free slots, which gives it to one
        // thread. No user looks at the room of a slot that is not live.
        let place = unsafe { &mut *self.room.get() };
        let room = place.as_deref_mut().map(|room| room as &mut dyn Any);
        match room.and_then(|room| room.downcast_mut()) {
            Some(room) => *room = Some(object),
            None => *place = Some(Box::new(Some(object))),
        }
        generation_of(self.state.fetch_add(LIVE, Ordering::AcqRel))
    }

    /// The object, if it is live and of this generation.
    #[inline]
    pub(crate) fn get(&self, generation: usize) -> Option<Used<'_>> {
        let state = self.state.fetch_add(1, Ordering::AcqRel);
        // Dropping `used` subtracts this user again.
        let used = Used { slot: self };
        is_open(state, generation).then_some(used)
    }

    /// Frees the object, now or after its last user. `None` if the object is not live, or has
    /// another generation.
    pub(crate) fn close(&self, generation: usize) -> Option<()> {
        if !self.finish(generation, LIVE) {
            let mark = |state| is_open(state, generation).then_some(state | CLOSING);
            self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).ok()?;
            self.finish(generation, LIVE | CLOSING);
        }
        Some(())
    }

    /// Drops the object and frees the place if the slot is in this state and has no users. Returns
    /// whether this call did so.
    fn finish(&self, generation: usize, state: usize) -> bool {
        let before = of_generation(generation) | state;
        let after = of_generation(if generation == GENERATION_MAX { 1 } else { generation + 1 });
        let done =
            self.state.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if done {
            // SAFETY: this thread alone made the exchange, there were no users, and since then no
            // lookup succeeds; the slot is not on the list of free slots yet.
            let place = unsafe { &mut *self.room.get() };
            if let Some(room) = place {
                room.empty();
            }
            give_back(self.place);
        }
        done
    }

    /// Whether the slot holds an object.
    pub(crate) fn is_live(&self) -> bool {
        self.state.load(Ordering::Acquire) & LIVE != 0
    }
}

/// A user of a slot. The object is not dropped before its users.
pub(crate) struct Used<'a> {
    slot: &'a Slot,
}

impl Drop for Used<'_> {
    #[inline]
    fn drop(&mut self) {
        let state = self.slot.state.fetch_sub(1, Ordering::AcqRel);
        if state & CLOSING != 0 && state & USERS == 1 {
            last_user(self.slot, generation_of(state));
        }
    }
}

/// Empties a slot that was freed during the call.
#[cold]
fn last_user(slot: &Slot, generation: usize) {
    slot.finish(generation, LIVE | CLOSING);
}

impl<'a> Used<'a> {
    /// The object, if it is of this type.
    #[inline]
    pub(crate) fn downcast<T: 'static>(self) -> Option<Held<'a, T>> {
        // SAFETY: `Slot::get` gave this user for a live object, which no thread writes or takes
        // while there are users; it was written before the slot became live, and the addition that
        // made this user saw that.
        let place = unsafe { &*self.slot.room.get() };
        let room = place.as_deref().map(|room| room as &dyn Any);
        let object = room?.downcast_ref::<Option<T>>()?.as_ref()?;
        Some(Held { object: object.into(), _used: self })
    }
}

/// The object of a handle during a call.
pub(crate) struct Held<'a, T> {
    object: NonNull<T>,
    _used: Used<'a>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object is in a box, which is kept while the user `_used` exists.
        unsafe { self.object.as_ref() }
    }
}
