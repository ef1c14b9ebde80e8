//! Memory of the caller: arguments are read, results are written.
//!
//! Every function of the header has the same contract, which its first comment states: a pointer
//! with a length leads to that many readable bytes during the call; a pointer to a result is null
//! or leads to a variable of its type, and no two results are the same variable.

use crate::status::Failure;
use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;

/// Bytes. In a result they belong to a handle, in an argument to the caller.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_bytes {
    /// The first byte. Null is allowed if `len` is 0.
    pub data: *const c_void,
    /// The number of bytes.
    pub len: usize,
}

// SAFETY: the bytes of a result are never changed, and live as long as the object that holds this
// pointer beside their owner. Threads only copy the pointer.
unsafe impl Send for nk_bytes {}
// SAFETY: as above.
unsafe impl Sync for nk_bytes {}

impl nk_bytes {
    /// Bytes for a result. Their owner must neither move nor change them.
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

/// A pointer of the caller to a result; not null.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// The pointer, or the error that it is null.
    pub(crate) fn required(place: *mut T, name: &str) -> Result<Self, Failure> {
        let place = NonNull::new(place);
        place.map(Self).ok_or_else(|| Failure::invalid(format!("{name}: the pointer is null")))
    }

    pub(crate) fn put(self, value: T) {
        // SAFETY: not null, and by the contract of the header a variable of this type that nothing
        // else uses during the call. What it holds has no destructor: results are plain data.
        unsafe { self.0.write(value) }
    }
}

/// Stores a result, unless the pointer is null.
pub(crate) fn put_if_wanted<T>(place: *mut T, value: T) {
    if let Some(place) = NonNull::new(place) {
        Out(place).put(value);
    }
}

/// The elements of an argument; `name` is for the message if the pointer is null.
pub(crate) fn lent<'a, T>(data: *const T, len: usize, name: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::invalid(format!("{name}: the pointer is null, the length {len}")));
    }
    if len > isize::MAX.unsigned_abs() / size_of::<T>().max(1) {
        let message = format!("{name}: the length {len} is negative or too large");
        return Err(Failure::invalid(message));
    }
    // SAFETY: not null, of a length that memory can have, and by the contract of the header
    // readable and unchanged during the call. No caller keeps the slice beyond the call.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Copies results to an array of the caller: as many as fit.
pub(crate) fn fill<T: Copy>(data: *mut T, capacity: usize, values: &[T]) {
    if !data.is_null() {
        // SAFETY: by the contract of the header, `capacity` variables of this type begin at `data`,
        // and nothing else uses them during the call.
        unsafe { data.copy_from_nonoverlapping(values.as_ptr(), values.len().min(capacity)) }
    }
}

/// The bytes of an argument, such as a key.
pub(crate) fn bytes<'a>(data: *const c_void, len: usize, name: &str) -> Result<&'a [u8], Failure> {
    lent(data.cast(), len, name)
}

/// The payload of an argument, for which null is allowed: the stored one is kept.
pub(crate) fn payload<'a>(data: *const c_void, len: usize) -> Result<Option<&'a [u8]>, Failure> {
    let payload = bytes(data, len, "payload")?;
    Ok((!data.is_null()).then_some(payload))
}

/// The text of an argument.
pub(crate) fn text<'a>(data: *const c_char, len: usize, name: &str) -> Result<&'a str, Failure> {
    str::from_utf8(lent(data.cast(), len, name)?)
        .map_err(|error| Failure::invalid(format!("{name}: not UTF-8: {error}")))
}

/// The path of an argument: on Unix any bytes but zero, elsewhere UTF-8.
pub(crate) fn path<'a>(data: *const c_char, len: usize) -> Result<&'a Path, Failure> {
    if len == 0 {
        return Err(Failure::invalid("path: it is empty"));
    }
    #[cfg(unix)]
    {
        let bytes: &[u8] = lent(data.cast(), len, "path")?;
        Ok(Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        Ok(Path::new(text(data, len, "path")?))
    }
}
