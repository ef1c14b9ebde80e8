//! Live handles. A handle is a number: a place of a table, and the generation of that place. So a
//! handle that is null, freed or of another kind is found out at each call, without touching
//! memory that the caller may have got wrong.
//!
//! Each thread keeps some free places for itself, so that threads which make and free handles
//! rarely wait for each other.

use crate::error::{Failure, nk_status};
use crate::slot::{Held, Slot, Used};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A type of the header, of which callers hold pointers.
pub(crate) trait Handle {
    /// What is stored for a handle of this type.
    type Object: Send + Sync + 'static;
    /// Its name in messages.
    const NAME: &'static str;
}

/// Says what a type of the header stands for.
macro_rules! handle {
    ($handle:ty, $object:ty, $name:literal) => {
        impl $crate::table::Handle for $handle {
            type Object = $object;
            const NAME: &'static str = $name;
        }
    };
}
pub(crate) use handle;

/// The places that no thread keeps for itself.
struct Free {
    places: Vec<usize>,
    /// The first place that was never used.
    next: usize,
}

const CHUNK: usize = 64;
/// The highest bit of every handle. No pointer of a program has it, so that neither is taken for
/// the other, by this library or by a garbage collector that looks at pointers.
const MARK: usize = 1 << (usize::BITS - 1);
/// Bits of a handle that say the place; those between them and the mark say the generation.
const PLACE_BITS: u32 = usize::BITS / 2 + if usize::BITS < 64 { 8 } else { 0 };
const CHUNKS: usize = (PLACE_BITS - CHUNK.ilog2()) as usize;
/// As many places as all chunks have.
const PLACES_MAX: usize = CHUNK * ((1 << CHUNKS) - 1);
pub(crate) const GENERATION_BITS: u32 = usize::BITS - 1 - PLACE_BITS;
pub(crate) const GENERATION_MAX: usize = (1 << GENERATION_BITS) - 1;

/// Chunk `i` has `CHUNK << i` places. A chunk never moves and is never freed.
static TABLE: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free { places: Vec::new(), next: 0 });

/// Locks. A panic of an earlier call does no harm: what this crate guards is changed by one call
/// of the engine.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The chunk of a place, and where it is in the chunk.
fn chunk_of(place: usize) -> (usize, usize) {
    let chunk = (place / CHUNK + 1).ilog2() as usize;
    (chunk, place - CHUNK * ((1 << chunk) - 1))
}

/// The slot of a place, if its chunk was made.
#[inline]
fn slot(place: usize) -> Option<&'static Slot> {
    let (chunk, at) = chunk_of(place);
    TABLE.get(chunk)?.get()?.get(at)
}

/// Free places that a thread keeps for itself: most of its handles need no lock.
#[derive(Default)]
struct Own(RefCell<Vec<usize>>);

/// The number of places that a thread takes or gives at once; it keeps at most twice as many. A
/// divisor of `CHUNK`, so that places that are taken together are of one chunk.
const SHARE: usize = 32;

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

/// Takes free places, or new ones; none if all are taken.
#[cold]
fn take_share(own: &mut Vec<usize>) {
    let mut free = lock(&FREE);
    let kept = free.places.len().saturating_sub(SHARE);
    own.extend(free.places.drain(kept..));
    if own.is_empty() && free.next < PLACES_MAX {
        let (first, (chunk, at)) = (free.next, chunk_of(free.next));
        let new = |number| Slot::new(first - at + number);
        TABLE[chunk].get_or_init(|| (0..CHUNK << chunk).map(new).collect());
        free.next += SHARE;
        own.extend((first..free.next).rev());
    }
}

/// A free slot for this thread.
fn take() -> Option<&'static Slot> {
    let place = with_own(|own| {
        if own.is_empty() {
            take_share(own);
        }
        own.pop()
    });
    slot(place?)
}

/// Keeps an empty slot for later handles, of this thread or of any.
pub(crate) fn give_back(place: usize) {
    with_own(|own| {
        if own.len() == 2 * SHARE {
            lock(&FREE).places.extend(own.drain(..SHARE));
        }
        own.push(place);
    });
}

/// Makes a handle for an object. Fails if there are too many already.
pub(crate) fn make<H: Handle>(object: H::Object) -> Result<*mut H, Failure> {
    let slot = take().ok_or_else(|| {
        let message = "there are too many handles: free those that are not needed";
        Failure::new(nk_status::NK_OTHER, message)
    })?;
    let generation = slot.fill(object);
    let handle = MARK | (generation << PLACE_BITS) | (slot.place + 1);
    Ok(std::ptr::without_provenance_mut(handle))
}

/// The slot and the generation of a handle.
#[inline]
fn decode(handle: usize) -> Option<(&'static Slot, usize)> {
    let place = (handle & ((1 << PLACE_BITS) - 1)).checked_sub(1)?;
    // Not a generation, if the mark is not there.
    let generation = (handle ^ MARK) >> PLACE_BITS;
    Some((slot(place)?, generation))
}

/// The object of a handle, whatever its kind, or the error that says what is wrong with it.
#[inline]
pub(crate) fn object(handle: usize, name: &str) -> Result<Used<'static>, Failure> {
    let found = decode(handle).and_then(|(slot, generation)| slot.get(generation));
    found.ok_or_else(|| not_live(handle, name))
}

/// The object of a handle of this type, or the error that says what is wrong with the handle.
#[inline]
pub(crate) fn get<H: Handle>(handle: *const H) -> Result<Held<'static, H::Object>, Failure> {
    object(handle.addr(), H::NAME)?.downcast().ok_or_else(|| other_kind(H::NAME))
}

/// Like [`get`], for an argument that may be null.
pub(crate) fn get_if<H: Handle>(
    handle: *const H,
) -> Result<Option<Held<'static, H::Object>>, Failure> {
    if handle.is_null() { Ok(None) } else { get(handle).map(Some) }
}

/// The error for a handle that cannot be looked up.
#[cold]
fn not_live(handle: usize, name: &str) -> Failure {
    let what = if handle == 0 { "is null" } else { "was freed, or is no handle" };
    Failure::new(nk_status::NK_BAD_HANDLE, format!("the {name} handle {what}"))
}

/// The error for a handle of another kind.
#[cold]
pub(crate) fn other_kind(name: &str) -> Failure {
    let message = format!("the handle is of another kind: this call takes the handle of {name}");
    Failure::new(nk_status::NK_BAD_HANDLE, message)
}

/// Frees a handle. Its object is dropped here, or by the last call that uses it.
pub(crate) fn free(handle: usize) -> Result<(), Failure> {
    if handle == 0 {
        return Ok(());
    }
    let closed = decode(handle).and_then(|(slot, generation)| slot.close(generation));
    closed.ok_or_else(|| not_live(handle, "given"))
}

/// The number of live handles.
pub(crate) fn live() -> usize {
    let slots = TABLE.iter().filter_map(OnceLock::get).flatten();
    slots.filter(|slot| slot.is_live()).count()
}

#[cfg(test)]
mod tests;
