//! Live handles. A handle is a number: the place of its object in a table, and the generation of
//! that place. So a handle that is null, freed or of another kind is found out at each call,
//! without touching memory that the caller may have got wrong.
//!
//! Looking up costs two atomic operations on the place and two on the object's reference count. The
//! table has shards, so that threads which make and free handles do not share a lock.

use crate::error::{Failure, nk_status};
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// A type of the header, of which callers hold pointers.
pub(crate) trait Handle {
    /// What a handle of this type stands for.
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

type Object = Arc<dyn Any + Send + Sync>;

/// One place of the table. A handle is live while its generation is that of the place, and the
/// place has an object.
struct Place {
    generation: usize,
    object: Option<Object>,
}

/// The places that are free.
struct Free {
    places: Vec<usize>,
    /// The first place that was never used.
    next: usize,
}

struct Shard {
    /// Chunk `i` has `CHUNK << i` places. A chunk never moves and is never freed.
    chunks: [OnceLock<Box<[RwLock<Place>]>>; CHUNKS],
    free: Mutex<Free>,
}

const SHARDS: usize = 16;
const CHUNK: usize = 64;
/// Bits of a handle that say the place; the others say the generation.
const PLACE_BITS: u32 = usize::BITS / 2 + if usize::BITS < 64 { 8 } else { 0 };
const PLACES_MAX: usize = (1 << PLACE_BITS) / SHARDS - 1;
const CHUNKS: usize = (PLACES_MAX / CHUNK).ilog2() as usize + 1;
const GENERATION_MAX: usize = usize::MAX >> PLACE_BITS;

static TABLE: [Shard; SHARDS] = [const {
    Shard {
        chunks: [const { OnceLock::new() }; CHUNKS],
        free: Mutex::new(Free { places: Vec::new(), next: 0 }),
    }
}; SHARDS];

impl Shard {
    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place with this number, if its chunk was made.
    fn place(&self, place: usize) -> Option<&RwLock<Place>> {
        let (chunk, at) = chunk_of(place);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// Takes a free place, or a new one.
    fn take(&self) -> usize {
        let mut free = self.free();
        if let Some(place) = free.places.pop() {
            return place;
        }
        let place = free.next;
        assert!(place < PLACES_MAX, "too many handles: free those that are not needed");
        free.next += 1;
        let (chunk, _) = chunk_of(place);
        let new = |_| RwLock::new(Place { generation: 1, object: None });
        self.chunks[chunk].get_or_init(|| (0..CHUNK << chunk).map(new).collect());
        place
    }
}

/// The chunk of a place, and where it is in the chunk.
fn chunk_of(place: usize) -> (usize, usize) {
    let chunk = (place / CHUNK + 1).ilog2() as usize;
    (chunk, place - CHUNK * ((1 << chunk) - 1))
}

/// The shard in which this thread makes handles.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let own = OWN.try_with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        own.get()
    });
    // A thread that is ending has no variables of its own any more.
    own.unwrap_or(0)
}

/// Makes a handle for an object.
pub(crate) fn make<H: Handle>(object: H::Object) -> *mut H {
    let shard = own_shard();
    let number = TABLE[shard].take();
    let Some(place) = TABLE[shard].place(number) else { return std::ptr::null_mut() };
    let mut place = place.write().unwrap_or_else(PoisonError::into_inner);
    place.object = Some(Arc::new(object));
    let place_bits = number * SHARDS + shard + 1;
    std::ptr::without_provenance_mut((place.generation << PLACE_BITS) | place_bits)
}

/// The place of a handle in its shard, and its generation.
fn decode(handle: usize) -> Option<(&'static Shard, usize, usize)> {
    let bits = (handle & ((1 << PLACE_BITS) - 1)).checked_sub(1)?;
    Some((&TABLE[bits % SHARDS], bits / SHARDS, handle >> PLACE_BITS))
}

/// The object of a live handle, whatever its kind.
fn object(handle: usize) -> Option<Object> {
    let (shard, number, generation) = decode(handle)?;
    let place = shard.place(number)?.read().unwrap_or_else(PoisonError::into_inner);
    if place.generation == generation { place.object.clone() } else { None }
}

/// The object of a handle, or the error that says what is wrong with the handle.
pub(crate) fn get<H: Handle>(handle: *const H) -> Result<Arc<H::Object>, Failure> {
    let object = object(handle.addr()).ok_or_else(|| not_live(handle.addr(), H::NAME))?;
    object.downcast().map_err(|_| other_kind(H::NAME))
}

/// Like [`get`], for an argument that may be null.
pub(crate) fn get_if<H: Handle>(handle: *const H) -> Result<Option<Arc<H::Object>>, Failure> {
    if handle.is_null() { Ok(None) } else { get(handle).map(Some) }
}

/// Like [`get`], but `None` if the handle is of another kind.
pub(crate) fn get_as<H: Handle>(handle: usize) -> Option<Arc<H::Object>> {
    object(handle)?.downcast().ok()
}

/// The error for a handle that cannot be looked up.
#[cold]
pub(crate) fn not_live(handle: usize, name: &str) -> Failure {
    let what = if handle == 0 { "is null" } else { "was freed, or is no handle" };
    Failure::new(nk_status::NK_BAD_HANDLE, &format!("the {name} handle {what}"))
}

#[cold]
fn other_kind(name: &str) -> Failure {
    let message = format!("the handle is of another kind: this call takes the handle of {name}");
    Failure::new(nk_status::NK_BAD_HANDLE, &message)
}

/// Frees a handle. Its object is dropped here, or by the last call that uses it.
pub(crate) fn free(handle: usize) -> Result<(), Failure> {
    if handle == 0 {
        return Ok(());
    }
    let found = decode(handle).and_then(|(shard, number, generation)| {
        let mut place = shard.place(number)?.write().unwrap_or_else(PoisonError::into_inner);
        let object = if place.generation == generation { place.object.take() } else { None };
        let object = object?;
        place.generation = if generation == GENERATION_MAX { 1 } else { generation + 1 };
        Some((shard, number, object))
    });
    let Some((shard, number, object)) = found else { return Err(not_live(handle, "given")) };
    shard.free().places.push(number);
    drop(object);
    Ok(())
}

/// The number of live handles.
pub(crate) fn live() -> usize {
    let live_in = |shard: &Shard| {
        let free = shard.free();
        free.next - free.places.len()
    };
    TABLE.iter().map(live_in).sum()
}
