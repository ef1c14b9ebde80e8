//! Live handles. A handle is a number: a place of a table, and the generation of that place. So a
//! handle that is null, freed or of another kind is found out at each call, without touching
//! memory that the caller may have got wrong.
//!
//! The table has shards, and each thread keeps some free places for itself, so that threads which
//! make and free handles do not wait for each other.

use crate::error::{Failure, nk_status};
use crate::slot::{Held, Slot, Used};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A type of the header, of which callers hold pointers.
pub(crate) trait Handle {
    /// What is stored for a handle of this type.
    type Object: Send + Sync + 'static;
    /// What calls use of it.
    type Part: 'static;
    /// Its name in messages.
    const NAME: &'static str;
    /// The part of an object; `None` if the handle is of another kind.
    fn part(object: &Self::Object) -> Option<&Self::Part>;
}

/// Says what a type of the header stands for: an object, or a part of one.
macro_rules! handle {
    ($handle:ty, $object:ty, $name:literal) => {
        $crate::table::handle!($handle, $object, $name, $object, |object| Some(object));
    };
    ($handle:ty, $object:ty, $name:literal, $part:ty, $find:expr) => {
        impl $crate::table::Handle for $handle {
            type Object = $object;
            type Part = $part;
            const NAME: &'static str = $name;

            #[inline]
            fn part<'o>(object: &'o $object) -> Option<&'o $part> {
                let find: fn(&'o $object) -> Option<&'o $part> = $find;
                find(object)
            }
        }
    };
}
pub(crate) use handle;

/// The places that are free.
struct Free {
    places: Vec<usize>,
    /// The first place that was never used.
    next: usize,
}

struct Shard {
    /// Chunk `i` has `CHUNK << i` places. A chunk never moves and is never freed.
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    free: Mutex<Free>,
}

const SHARDS: usize = 16;
const CHUNK: usize = 64;
/// The highest bit of every handle. No pointer of a program has it, so that neither is taken for
/// the other, by this library or by a garbage collector that looks at pointers.
const MARK: usize = 1 << (usize::BITS - 1);
/// Bits of a handle that say the place; those between them and the mark say the generation.
const PLACE_BITS: u32 = usize::BITS / 2 + if usize::BITS < 64 { 8 } else { 0 };
const CHUNKS: usize = (PLACE_BITS - SHARDS.ilog2() - CHUNK.ilog2()) as usize;
/// As many places as the chunks of a shard have.
const PLACES_MAX: usize = CHUNK * ((1 << CHUNKS) - 1);
pub(crate) const GENERATION_BITS: u32 = usize::BITS - 1 - PLACE_BITS;
pub(crate) const GENERATION_MAX: usize = (1 << GENERATION_BITS) - 1;

static TABLE: [Shard; SHARDS] = [const {
    Shard {
        chunks: [const { OnceLock::new() }; CHUNKS],
        free: Mutex::new(Free { places: Vec::new(), next: 0 }),
    }
}; SHARDS];

/// Locks. A panic of an earlier call does no harm: what this crate guards is changed by one call
/// of the engine.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// The slot with this number, if its chunk was made.
    #[inline]
    fn slot(&self, number: usize) -> Option<&Slot> {
        let (chunk, at) = chunk_of(number);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// Takes a free slot, or a new one, of the shard with this index; `None` if all are taken.
    fn take(&self, shard: usize) -> Option<&Slot> {
        let mut free = lock(&self.free);
        if let Some(number) = free.places.pop() {
            return self.slot(number);
        }
        let number = free.next;
        if number >= PLACES_MAX {
            return None;
        }
        free.next += 1;
        let (chunk, at) = chunk_of(number);
        let first = number - at;
        let new = |at| Slot::new((first + at) * SHARDS + shard);
        self.chunks[chunk].get_or_init(|| (0..CHUNK << chunk).map(new).collect()).get(at)
    }
}

/// The chunk of a place, and where it is in the chunk.
fn chunk_of(place: usize) -> (usize, usize) {
    let chunk = (place / CHUNK + 1).ilog2() as usize;
    (chunk, place - CHUNK * ((1 << chunk) - 1))
}

/// What a thread knows of the table.
struct Own {
    /// The shard in which it makes handles.
    shard: usize,
    /// Free places that it freed itself: its next handles need no lock.
    places: RefCell<Vec<usize>>,
}

/// The most free places that a thread keeps to itself.
const OWN_PLACES_MAX: usize = 64;

impl Own {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
        Self { shard, places: RefCell::new(Vec::with_capacity(OWN_PLACES_MAX)) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for place in self.places.take() {
            lock(&TABLE[place % SHARDS].free).places.push(place / SHARDS);
        }
    }
}

thread_local! {
    static OWN: Own = Own::new();
}

/// A free slot for this thread.
fn take() -> Option<&'static Slot> {
    // A thread that is ending has no variables of its own any more.
    let (own, shard) =
        OWN.try_with(|own| (own.places.borrow_mut().pop(), own.shard)).unwrap_or((None, 0));
    match own {
        Some(place) => TABLE[place % SHARDS].slot(place / SHARDS),
        None => TABLE[shard].take(shard),
    }
}

/// Keeps an empty slot for later handles, of this thread or of any.
pub(crate) fn give_back(place: usize) {
    let kept = OWN.try_with(|own| {
        let mut places = own.places.borrow_mut();
        let has_room = places.len() < OWN_PLACES_MAX;
        if has_room {
            places.push(place);
        }
        has_room
    });
    if !kept.unwrap_or(false) {
        lock(&TABLE[place % SHARDS].free).places.push(place / SHARDS);
    }
}

/// Makes a handle for an object. Fails if there are too many already.
pub(crate) fn make<H: Handle>(object: H::Object) -> Result<*mut H, Failure> {
    let slot = take().ok_or_else(|| {
        let message = "there are too many handles: free those that are not needed";
        Failure::new(nk_status::NK_OTHER, message)
    })?;
    let generation = slot.fill(Box::new(object));
    let handle = MARK | (generation << PLACE_BITS) | (slot.place + 1);
    Ok(std::ptr::without_provenance_mut(handle))
}

/// The slot and the generation of a handle.
#[inline]
fn decode(handle: usize) -> Option<(&'static Slot, usize)> {
    let place = (handle & ((1 << PLACE_BITS) - 1)).checked_sub(1)?;
    // Not a generation, if the mark is not there.
    let generation = (handle ^ MARK) >> PLACE_BITS;
    Some((TABLE[place % SHARDS].slot(place / SHARDS)?, generation))
}

/// The object of a handle, whatever its kind, or the error that says what is wrong with it.
#[inline]
pub(crate) fn object(handle: usize, name: &str) -> Result<Used<'static>, Failure> {
    let found = decode(handle).and_then(|(slot, generation)| slot.get(generation));
    found.ok_or_else(|| not_live(handle, name))
}

/// The object of a handle of this type, or the error that says what is wrong with the handle.
#[inline]
pub(crate) fn get<H: Handle>(handle: *const H) -> Result<Held<'static, H::Part>, Failure> {
    let object = object(handle.addr(), H::NAME)?.downcast::<H::Object>().ok();
    object.and_then(|object| object.part(H::part)).ok_or_else(|| other_kind(H::NAME))
}

/// Like [`get`], for an argument that may be null.
pub(crate) fn get_if<H: Handle>(
    handle: *const H,
) -> Result<Option<Held<'static, H::Part>>, Failure> {
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
    let closed = decode(handle)
        .and_then(|(slot, generation)| slot.close(generation).map(|is_empty| (slot, is_empty)));
    match closed {
        None => return Err(not_live(handle, "given")),
        Some((slot, true)) => give_back(slot.place),
        Some((_, false)) => {}
    }
    Ok(())
}

/// The number of live handles.
pub(crate) fn live() -> usize {
    let chunks = TABLE.iter().flat_map(|shard| shard.chunks.iter().filter_map(OnceLock::get));
    chunks.flat_map(|slots| slots.iter()).filter(|slot| slot.is_live()).count()
}

#[cfg(test)]
mod tests;
