//! Live handles. A handle is a number: a place of a table, and the generation of that place. Every
//! call detects a handle that is null, freed or of another kind: a handle is never dereferenced.

use crate::places::{self, PLACE_BITS};
use crate::slot::{Held, Slot, Used};
use crate::status::{Failure, nk_status};
use std::sync::OnceLock;

/// A handle type of the header.
pub(crate) trait Handle {
    /// The object of a handle of this type.
    type Object: Send + Sync + 'static;
    /// The name of the type in messages.
    const NAME: &'static str;
}

/// Declares a handle type: its object, and its name in messages.
macro_rules! handle {
    ($handle:ty, $object:ty, $name:literal) => {
        impl $crate::table::Handle for $handle {
            type Object = $object;
            const NAME: &'static str = $name;
        }
    };
}
pub(crate) use handle;

/// The highest bit of every handle. No pointer of a program has it: neither this library nor a
/// garbage collector mistakes a handle for a pointer, or a pointer for a handle. Below it are the
/// generation and the place.
const MARK: usize = 1 << (usize::BITS - 1);
const CHUNK: usize = 64;
const CHUNKS: usize = (PLACE_BITS - CHUNK.ilog2()) as usize;

/// Chunk `i` has `CHUNK << i` places. A chunk never moves and is never freed.
static TABLE: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// The first place of a chunk, which is the number of places before it.
const fn first_of(chunk: usize) -> usize {
    CHUNK * ((1 << chunk) - 1)
}

const PLACES_MAX: usize = first_of(CHUNKS);

/// The chunk of a place, and where it is in the chunk.
fn chunk_of(place: usize) -> (usize, usize) {
    let chunk = (place / CHUNK + 1).ilog2() as usize;
    (chunk, place - first_of(chunk))
}

/// Takes a free slot. Allocates its chunk on first use.
fn take() -> Option<&'static Slot> {
    let (chunk, at) = chunk_of(places::take(PLACES_MAX)?);
    let make = || (first_of(chunk)..first_of(chunk + 1)).map(Slot::new).collect();
    TABLE[chunk].get_or_init(make).get(at)
}

/// The slot of a place, if its chunk is allocated.
#[inline]
fn slot(place: usize) -> Option<&'static Slot> {
    let (chunk, at) = chunk_of(place);
    TABLE.get(chunk)?.get()?.get(at)
}

/// Makes a handle for an object. Fails if the table is full.
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
    // Without the mark, this is larger than every generation.
    let generation = (handle ^ MARK) >> PLACE_BITS;
    Some((slot(place)?, generation))
}

/// The object of a handle of any kind, or the error that says why there is none.
#[inline]
pub(crate) fn object(handle: usize, name: &str) -> Result<Used<'static>, Failure> {
    let found = decode(handle).and_then(|(slot, generation)| slot.get(generation));
    found.ok_or_else(|| not_live(handle, name))
}

/// The object of a handle of this type, or the error that says why there is none.
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
